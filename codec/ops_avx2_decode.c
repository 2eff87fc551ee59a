/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding lane records with AVX2 and BMI2, level by level from the last to the first, as the
 * AVX-512 tier does: PDEP makes eight codes of eight bits of each plane, a byte shuffle looks them
 * up, and PDEP again puts the next level's exponents where the codes are zero. */
#include "codec/lane_level.h"
#include "codec/ops_avx2.h"
#include "codec/ops_avx2_vector.h"

/* Eight codes to bytes. The table has 0 for code 0. */
static LP_ALWAYS_INLINE uint64_t look_up(__m128i table, uint64_t codes)
{
    return (uint64_t)_mm_cvtsi128_si64(_mm_shuffle_epi8(table, _mm_cvtsi64_si128((int64_t)codes)));
}

static LP_ALWAYS_INLINE void decode_level_of(const struct lane_level *level, const uint32_t width,
                                             uint8_t *dst)
{
    const __m128i table = _mm_cvtsi64_si128((int64_t)level->table);
    const uint8_t *next = level->next, *ahead = level->ahead;

    for (uint32_t i = 0; i < level->count; i += 64) {
        uint64_t plane[3];

        for (uint32_t p = 0; p < width; p++)
            plane[p] = lp_lane_load_bits(level->src, level->bit + (uint64_t)p * level->count + i);
        for (uint32_t j = i; j < i + 64 && j < level->count; j += 8) {
            uint64_t codes = 0, any = 0, gaps;

            for (uint32_t p = 0; p < width; p++) {
                codes |= _pdep_u64(plane[p], LP_AVX2_EACH_BYTE << p);
                any |= plane[p];
                plane[p] >>= 8;
            }
            gaps = ~any & 0xff;
            lp_store_u64(dst + j, look_up(table, codes) |
                                      _pdep_u64(lp_load_u64(next), lp_avx2_spread_mask(gaps)));
            next += _mm_popcnt_u64(gaps);
        }
        ahead = lane_prefetch(level, ahead);
    }
}

#include "codec/lane_widths.h"

#define find_wide lane_find_wide
#include "codec/lane_column.h"
#include "codec/lane_decode.h"

int lp_codec_avx2_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                              uint32_t align_bytes, void *dst, uint32_t n, const void *ahead)
{
    if (!lp_lane_fits_tiers(lane, n))
        return lp_codec_scalar_lane_decode(lane, src, src_bytes, align_bytes, dst, n, NULL);
    return decode_record(lane, src, src_bytes, align_bytes, dst, n, ahead);
}

void lp_codec_avx2_exponent_shift(const struct lp_lane *lane, void *elements, uint32_t n,
                                  const void *bases, uint32_t phase, bool subtract)
{
    shift(lane, elements, n, bases, phase, subtract);
}
