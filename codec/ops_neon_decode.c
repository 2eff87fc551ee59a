/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding lane records with NEON, level by level from the last to the first, as the other vector
 * tiers do: planes become 64 codes, a byte table looks them up, and the next level's bytes are put
 * where codes are zero. */
#include "codec/lane_level.h"
#include "codec/ops_neon_gaps.h"
#include "codec/ops_neon_vector.h"

static LP_ALWAYS_INLINE void decode_level_of(const struct lane_level *level, const uint32_t width,
                                             uint8_t *dst)
{
    const uint8x16_t table = vcombine_u8(vcreate_u8(level->table), vcreate_u8(0));
    const uint32_t count = level->count;
    const uint8_t *next = level->next;

    for (uint32_t i = 0; i < count; i += 64) {
        const uint64_t valid = count - i < 64 ? (UINT64_C(1) << (count - i)) - 1 : UINT64_MAX;
        struct bytes codes;
        const uint64_t some = load_codes(level->src, level->bit + i, count, width, valid, &codes);

        for (uint32_t k = 0; k < 4; k++)
            vst1q_u8(dst + i + 16 * (size_t)k, vqtbl1q_u8(table, codes.part[k]));
        next = open_gaps(1, ~some & valid, next, dst + i);
    }
}

#include "codec/lane_widths.h"

#define find_wide lane_find_wide
#include "codec/lane_column.h"
#include "codec/lane_decode.h"

int lp_codec_neon_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                              uint32_t align_bytes, void *dst, uint32_t n, const void *ahead)
{
    (void)ahead;
    if (!lp_lane_fits_tiers(lane, n))
        return lp_codec_scalar_lane_decode(lane, src, src_bytes, align_bytes, dst, n, NULL);
    return decode_record(lane, src, src_bytes, align_bytes, dst, n, NULL);
}

void lp_codec_neon_exponent_shift(const struct lp_lane *lane, void *elements, uint32_t n,
                                  const void *bases, uint32_t phase, bool subtract)
{
    shift(lane, elements, n, bases, phase, subtract);
}
