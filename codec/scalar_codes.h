/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of the cascade, one bit at a time: what the reference tier of codecs lane and dict shares.
 * Source: docs/FORMAT.md, section 5, part 3. */
#ifndef LP_CODEC_SCALAR_CODES_H
#define LP_CODEC_SCALAR_CODES_H

#include <stdint.h>

static inline uint32_t lp_scalar_load_bit(const uint8_t *src, uint64_t bit)
{
    return src[bit / 8] >> (bit % 8) & 1;
}

/* Code i of a level of count codes: one bit from each of its planes. */
static inline uint32_t lp_scalar_load_code(const uint8_t *src, uint64_t level_bit, uint32_t width,
                                           uint32_t count, uint32_t i)
{
    uint32_t code = 0;

    for (uint32_t p = 0; p < width; p++)
        code |= lp_scalar_load_bit(src, level_bit + (uint64_t)p * count + i) << p;
    return code;
}

/* As lp_lane_count_zeros. */
static inline uint32_t lp_scalar_count_zeros(const uint8_t *src, uint64_t bit, uint32_t width,
                                             uint32_t count)
{
    uint32_t zeros = 0;

    for (uint32_t i = 0; i < count; i++)
        zeros += lp_scalar_load_code(src, bit, width, count, i) == 0;
    return zeros;
}

#endif
