/* SPDX-License-Identifier: Apache-2.0 */
/* One PTX statement to one Instruction; the list of what is known. */
#ifndef LP_TESTS_PTX_DECODE_HPP
#define LP_TESTS_PTX_DECODE_HPP

#include <functional>
#include <string>

#include "ptx_program.hpp"

namespace ptx {

struct Decoded {
    Instruction instruction;
    std::string label; /* of bra, or of brx's table; resolved by the caller */
};

/* Throws Error, with the statement in its text, for what is unknown. operand turns text into an
 * operand: the caller knows names. */
Decoded decode(const std::string &statement,
               const std::function<Operand(const std::string &)> &operand);

/* "u32", "pred", ...; false: not a type. */
bool parse_type(const std::string &text, Type &ret_type);

} /* namespace ptx */

#endif
