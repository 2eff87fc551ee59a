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

#include "codec/lane_level.h"
#include "codec/zero_codes.h"

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
