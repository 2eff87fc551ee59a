/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting PTX text: comments, words, lists, numbers. */
#ifndef LP_TESTS_PTX_TEXT_HPP
#define LP_TESTS_PTX_TEXT_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

std::string without_comments(const std::string &text); /* line ends stay */
std::string trim(const std::string &s);
bool starts_with(const std::string &s, const char *prefix);

/* Pieces between separators that stand outside brackets; trimmed; an empty text has none. */
std::vector<std::string> split(const std::string &s, char separator);
std::vector<std::string> words(const std::string &s);

/* Decimal, 0x, 0b, 0f and 0d (IEEE bits) numbers with sign; throws Error on anything else. */
int64_t number(const std::string &s);
bool is_number(const std::string &s);

} /* namespace ptx */

#endif
