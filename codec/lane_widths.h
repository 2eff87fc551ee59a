/* SPDX-License-Identifier: Apache-2.0 */
/* What tiers without a mask register do alike with a level's codes: count those that are zero, and
 * have a decoder of their own for each width. Included once by a file of a tier, which has defined
 * before
 *
 *   decode_level_of(level, width, dst)
 *                         decode_level() as codec/lane_level.h asks for it; always inline, and
 *                         width is constant where it is called */
#ifndef LP_CODEC_LANE_WIDTHS_H
#define LP_CODEC_LANE_WIDTHS_H

#include "codec/lane_bits.h"
#include "codec/lane_level.h"

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

static void decode_level(const struct lane_level *level, uint32_t width, uint8_t *dst)
{
    switch (width) {
    case 1:
        decode_level_of(level, 1, dst);
        break;
    case 2:
        decode_level_of(level, 2, dst);
        break;
    default:
        decode_level_of(level, 3, dst);
    }
}

#endif
