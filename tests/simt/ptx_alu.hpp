/* SPDX-License-Identifier: Apache-2.0 */
/* What one lane computes: pure functions from operand values to a result. */
#ifndef LP_TESTS_PTX_ALU_HPP
#define LP_TESTS_PTX_ALU_HPP

#include <cstdint>

#include "ptx_program.hpp"

namespace ptx {

/* A register's bits as a value of the type: sign- or zero-extended to 64 bits. Here for its speed:
 * each operand of each lane passes through. */
inline uint64_t extend(uint64_t bits, Type type)
{
    if (type.bytes >= 8) {
        return bits;
    }
    if (type.kind == Kind::pred) {
        return bits & 1;
    }
    const unsigned unused = 64 - type.bits();
    return type.is_signed() ? (uint64_t)((int64_t)(bits << unused) >> unused)
                            : bits << unused >> unused;
}

/* The result of an arithmetic, logic, compare, select or convert instruction, from values extended
 * by Instruction::from. Throws Error on a division by zero. */
uint64_t compute(const Instruction &in, const uint64_t s[4]);
uint64_t compute_float(const Instruction &in, const uint64_t s[4]);
uint64_t convert(const Instruction &in, uint64_t value);

/* Integers by sign, floats by IEEE; without combining. */
bool compare(const Instruction &in, uint64_t a, uint64_t b);
bool compare_float(const Instruction &in, uint64_t a, uint64_t b);
bool less(Type type, uint64_t a, uint64_t b);

/* Number formats of 16 bits, round to nearest even; NaN stays NaN. */
float half_to_float(uint16_t bits);
uint16_t float_to_half(double value);
uint16_t float_to_bf16(float value);

/* What an atomic leaves in memory. */
uint64_t atomic_result(const Instruction &in, uint64_t old, uint64_t b, uint64_t c);

} /* namespace ptx */

#endif
