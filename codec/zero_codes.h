/* SPDX-License-Identifier: Apache-2.0 */
/* Counting zero codes of the cascade 64 at a time, as vector tiers do that have no better way.
 * Included once by a file of a tier. */
#ifndef LP_CODEC_ZERO_CODES_H
#define LP_CODEC_ZERO_CODES_H

#include "codec/lane_bits.h"

/* As lp_lane_count_zeros of codec/lane_parts.h. */
static uint32_t count_zeros(const uint8_t *src, uint64_t bit, uint32_t width, uint32_t count)
{
    uint32_t non_zero = 0;

    for (uint32_t i = 0; i < count; i += 64) {
        uint64_t any = lp_lane_load_bits(src, bit + i);

        for (uint32_t p = 1; p < width; p++)
            any |= lp_lane_load_bits(src, bit + (uint64_t)p * count + i);
        if (count - i < 64)
            any &= (UINT64_C(1) << (count - i)) - 1;
        non_zero += (uint32_t)__builtin_popcountll(any);
    }
    return count - non_zero;
}

#endif
