/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding lane records with AVX-512, level by level from the last to the first.
 *
 * A level turns 64 codes into 64 exponents: mask bits build an index, a byte shuffle looks it up,
 * and VPEXPANDB puts the next level's exponents, which are already there as bytes, where the codes
 * are zero. No step depends on the one before by more than a pointer, and levels that few elements
 * reach cost little. A last step joins exponents and other bits. */
#include "codec/lane_level.h"
#include "codec/ops_avx512_planes.h"
#include "codec/ops_avx512_vector.h"

static LP_ALWAYS_INLINE uint32_t count_zeros(const uint8_t *src, uint64_t bit, uint32_t width,
                                             uint32_t count)
{
    switch (width) {
    case 1:
        return lp_avx512_count_zeros_of(src, bit, 1, count);
    case 2:
        return lp_avx512_count_zeros_of(src, bit, 2, count);
    default:
        return lp_avx512_count_zeros_of(src, bit, 3, count);
    }
}

static LP_ALWAYS_INLINE void decode_level_of(const struct lane_level *level, const uint32_t width,
                                             uint8_t *dst)
{
    const __m512i table = _mm512_broadcast_i32x4(_mm_cvtsi64_si128((int64_t)level->table));
    const uint8_t *const end = dst + level->count;
    const uint8_t *next = level->next, *ahead = level->ahead;
    struct lp_avx512_reader plane[3];

    for (uint32_t p = 0; p < width; p++)
        plane[p] = lp_avx512_read_from(level->src, level->bit + (uint64_t)p * level->count);
    for (; dst < end; dst += LP_AVX512_BLOCK) {
        uint64_t any = lp_avx512_next_bits(&plane[0]);
        __m512i code = _mm512_maskz_set1_epi8(any, 1);

        for (uint32_t p = 1; p < width; p++) {
            const uint64_t bits = lp_avx512_next_bits(&plane[p]);

            code = _mm512_mask_add_epi8(code, bits, code, _mm512_set1_epi8((char)(1 << p)));
            any |= bits;
        }
        code = _mm512_shuffle_epi8(table, code);
        code = _mm512_mask_expand_epi8(code, ~any, lp_avx512_load_apart(next));
        next += _mm_popcnt_u64(~any);
        _mm512_storeu_si512(dst, code);
        ahead = lane_prefetch(level, ahead);
    }
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

/* All places in two registers; raw exponents are put in between by VPEXPANDW. */
static void find_wide(const struct lp_lane *lane, uint32_t base, const uint8_t *raw, uint32_t n_raw,
                      const uint8_t *places, uint32_t n, uint8_t *dst)
{
    const __m512i mask = _mm512_set1_epi16((short)lane->exponent_mask);
    const __m512i by = _mm512_set1_epi16((short)base);
    const __m512i first =
        _mm512_and_si512(_mm512_add_epi16(_mm512_loadu_si512(lane->rank_at), by), mask);
    const __m512i last =
        _mm512_and_si512(_mm512_add_epi16(_mm512_zextsi256_si512(_mm256_loadu_si256(
                                              (const __m256i *)(const void *)(lane->rank_at + 32))),
                                          by),
                         mask);
    const __m512i raw_place = _mm512_set1_epi16((short)(lane->n_levels << LP_LANE_LEVEL_SHIFT));
    uint32_t taken = 0;

    for (uint32_t i = 0; i < n; i += 32) {
        const __m512i at = (__m512i)lane_widen_8_16(places + i);
        const __mmask32 is_raw = _mm512_cmpeq_epi16_mask(at, raw_place);
        /* A source that has changed meanwhile may have more such places than raw exponents. */
        const uint8_t *const next = raw + 2 * (size_t)LP_MIN(taken, n_raw);

        _mm512_storeu_si512(dst + 2 * (size_t)i,
                            _mm512_mask_expand_epi16(_mm512_permutex2var_epi16(first, at, last),
                                                     is_raw, lp_avx512_load_apart(next)));
        taken += (uint32_t)_mm_popcnt_u32(is_raw);
    }
}

#include "codec/lane_column.h"
#include "codec/lane_decode.h"

static int decode_short(const struct lp_lane *lane, const uint8_t *src, uint32_t src_bytes,
                        uint32_t align_bytes, uint8_t *dst, uint32_t n)
{
    const struct lane_record record = {src, src, (uint64_t)lp_lane_head_bytes(lane, n) * 8, n};
    uint8_t exponents[LP_AVX512_SHORT_MAX];
    const int rc =
        lp_codec_avx512_lane_decode_short(lane, src, src_bytes, align_bytes, dst, n, exponents);

    if (rc != LP_AVX512_NOT_JOINED)
        return rc;
    join(lane, &record, exponents, dst);
    return 0;
}

int lp_codec_avx512_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n, const void *ahead)
{
    int rc;

    if (!lp_lane_fits_tiers(lane, n))
        return lp_codec_scalar_lane_decode(lane, src, src_bytes, align_bytes, dst, n, NULL);
    if (n >= LP_AVX512_SHORT_MIN && n <= LP_AVX512_SHORT_MAX && lane->exponent_bits <= 8) {
        rc = decode_short(lane, src, src_bytes, align_bytes, dst, n);
        if (rc != LP_AVX512_NOT_SHORT)
            return rc;
    }
    return decode_record(lane, src, src_bytes, align_bytes, dst, n, ahead);
}

void lp_codec_avx512_exponent_shift(const struct lp_lane *lane, void *elements, uint32_t n,
                                    const void *bases, uint32_t phase, bool subtract)
{
    shift(lane, elements, n, bases, phase, subtract);
}
