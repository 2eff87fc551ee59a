/* SPDX-License-Identifier: Apache-2.0 */
/* The text tools of the PTX parser. */
#include "ptx_text.hpp"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ptx.hpp"

namespace ptx {

std::string without_comments(const std::string &text)
{
    std::string out;

    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
        if (text.compare(i, 2, "//") == 0) {
            i = std::min(text.find('\n', i), text.size());
        } else if (text.compare(i, 2, "/*") == 0) {
            const size_t end = text.find("*/", i);
            if (end == std::string::npos) {
                throw Error("ptx: a comment does not end");
            }
            i = end + 2;
        } else {
            out += text[i++];
        }
    }
    return out;
}

std::string trim(const std::string &s)
{
    const char *const space = " \t\r\n";
    const size_t begin = s.find_first_not_of(space), end = s.find_last_not_of(space);
    return begin == std::string::npos ? "" : s.substr(begin, end - begin + 1);
}

bool starts_with(const std::string &s, const char *prefix)
{
    return s.compare(0, strlen(prefix), prefix) == 0;
}

std::vector<std::string> split(const std::string &s, char separator)
{
    std::vector<std::string> parts(1);
    int depth = 0;

    for (const char c : s) {
        depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
        if (c == separator && depth == 0) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    for (std::string &p : parts) {
        p = trim(p);
    }
    if (parts.size() == 1 && parts[0].empty()) {
        parts.clear();
    }
    return parts;
}

std::vector<std::string> words(const std::string &s)
{
    std::vector<std::string> result;
    std::string word;

    for (const char c : s + " ") {
        if (!isspace((unsigned char)c)) {
            word += c;
        } else if (!word.empty()) {
            result.push_back(word);
            word.clear();
        }
    }
    return result;
}

bool is_number(const std::string &s)
{
    const size_t at = !s.empty() && s[0] == '-' ? 1 : 0;
    return at < s.size() && isdigit((unsigned char)s[at]);
}

int64_t number(const std::string &s)
{
    const bool negative = !s.empty() && s[0] == '-';
    std::string digits = s.substr(negative ? 1 : 0);
    int base = 10;
    char *end = nullptr;

    if (digits.size() > 2 && digits[0] == '0') {
        const char c = (char)tolower((unsigned char)digits[1]);
        if (c == 'x' || ((c == 'f' || c == 'd') && digits.size() > 8)) {
            base = 16;
            digits = digits.substr(2);
        } else if (c == 'b') {
            base = 2;
            digits = digits.substr(2);
        } else {
            base = 8;
        }
    }
    errno = 0;
    const unsigned long long value = strtoull(digits.c_str(), &end, base);
    if (errno || end == digits.c_str() || (*end && strcmp(end, "U") != 0)) {
        throw Error("ptx: not a number: " + s);
    }
    return (int64_t)(negative ? 0 - value : value);
}

} /* namespace ptx */
