/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of codec lane for tests: every shape that the format allows, not only what learning
 * would choose. */
#ifndef LP_TESTS_LANES_H
#define LP_TESTS_LANES_H

#include "codec/lane.h"

#include <stdbool.h>

#define LANES_SHAPES 12u

/* Shape number shape < LANES_SHAPES with this window, ranks in the order of the counts of n
 * elements, or with scrambled set in a random order. False: dtype has too few exponents for it. */
bool lanes_make(struct lp_lane *ret_lane, uint32_t dtype, uint32_t shape, uint32_t window,
                bool scrambled, const void *elements, uint32_t n);

/* What else the metadata tells: the field of i8 and u8 (else 0 will do), the sign, trailing bits.
 */
struct lanes_bits {
    uint32_t exponent_bits, sign, trailing_bits;
};

/* The same with such bits, ranks not scrambled. */
bool lanes_make_bits(struct lp_lane *ret_lane, uint32_t dtype, const struct lanes_bits *bits,
                     uint32_t shape, uint32_t window, const void *elements, uint32_t n);

#endif
