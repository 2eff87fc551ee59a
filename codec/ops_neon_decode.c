/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding lane records with NEON, level by level from the last to the first, as the other vector
 * tiers do: bit tests make 16 codes, a byte table looks them up, and another, whose indices are the
 * running number of the zero codes, puts the next level's bytes in their place. */
#include "codec/lane_level.h"
#include "codec/ops_neon_vector.h"

/* Byte i gets how many of bytes 0 to i are 1; all are 0 or 1. */
static LP_ALWAYS_INLINE uint8x16_t count_up_to(uint8x16_t ones)
{
    const uint8x16_t zero = vdupq_n_u8(0);

    ones = vaddq_u8(ones, vextq_u8(zero, ones, 15));
    ones = vaddq_u8(ones, vextq_u8(zero, ones, 14));
    ones = vaddq_u8(ones, vextq_u8(zero, ones, 12));
    return vaddq_u8(ones, vextq_u8(zero, ones, 8));
}

static LP_ALWAYS_INLINE void decode_level_of(const struct lane_level *level, const uint32_t width,
                                             uint8_t *dst)
{
    const uint8x16_t table = vcombine_u8(vcreate_u8(level->table), vcreate_u8(0));
    const uint8x16_t one = vdupq_n_u8(1);
    const uint32_t count = level->count;
    const uint8_t *next = level->next;

    for (uint32_t i = 0; i < count; i += 64) {
        uint64_t plane[3];

        for (uint32_t p = 0; p < width; p++)
            plane[p] = lp_lane_load_bits(level->src, level->bit + (uint64_t)p * count + i);
        for (uint32_t j = i; j < i + 64 && j < count; j += LP_NEON_BLOCK) {
            uint8x16_t codes = vdupq_n_u8(0), zero, index;

            for (uint32_t p = 0; p < width; p++) {
                codes =
                    vorrq_u8(codes, vandq_u8(spread_16(plane[p]), vdupq_n_u8((uint8_t)(1u << p))));
                plane[p] >>= LP_NEON_BLOCK;
            }
            zero = vceqzq_u8(codes);
            index = count_up_to(vandq_u8(zero, one));
            vst1q_u8(dst + j, vbslq_u8(zero, vqtbl1q_u8(vld1q_u8(next), vsubq_u8(index, one)),
                                       vqtbl1q_u8(table, codes)));
            next += vgetq_lane_u8(index, 15);
        }
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
