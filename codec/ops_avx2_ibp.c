/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with AVX2 and BMI2. */
#include "codec/ibp_pick_body.h"
#include "codec/ibp_units.h"
#include "codec/ops_avx2.h"
#include "codec/ops_ibp.h"

/* --- records --------------------------------------------------------------------------------- */

static LP_ALWAYS_INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256(p);
}

/* Ones in each word whose bit of bits is set. */
static LP_ALWAYS_INLINE __m256i spread_8(uint32_t bits)
{
    const __m256i each = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);

    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), each), each);
}

static LP_ALWAYS_INLINE __m256i spread_4(uint32_t bits)
{
    const __m256i each = _mm256_set_epi64x(8, 4, 2, 1);

    return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits), each), each);
}

/* Four units, zero where words are not packed. */
static LP_ALWAYS_INLINE void select_four(const struct lp_ibp_masks *masks, uint32_t j,
                                         uint32_t bits, uint32_t s, __m256i *ret_mask,
                                         __m256i *ret_value)
{
    if (s == 8) {
        *ret_mask = _mm256_and_si256(load(masks->mask + j), spread_4(bits));
        *ret_value = _mm256_and_si256(load(masks->value + j), spread_4(bits));
        return;
    }
    *ret_mask = _mm256_and_si256(load(masks->mask_32 + j), spread_8(bits));
    *ret_value = _mm256_and_si256(load(masks->value_32 + j), spread_8(bits));
    /* The first word of a unit to its upper half. */
    *ret_mask = _mm256_shuffle_epi32(*ret_mask, 0xb1);
    *ret_value = _mm256_shuffle_epi32(*ret_value, 0xb1);
}

static LP_ALWAYS_INLINE void select_units(const struct lp_ibp_masks *masks, uint32_t j,
                                          uint32_t participation, uint32_t s,
                                          struct lp_ibp_units *ret_units)
{
    const uint32_t words = 32 / s; /* of four units */

    for (uint32_t u = 0; u < LP_IBP_UNITS; u += 4, j += words, participation >>= words) {
        __m256i mask, value;

        select_four(masks, j, participation, s, &mask, &value);
        _mm256_storeu_si256((__m256i *)(void *)(ret_units->keep + u),
                            _mm256_xor_si256(mask, _mm256_set1_epi64x(-1)));
        _mm256_storeu_si256((__m256i *)(void *)(ret_units->value + u), value);
    }
}

/* Which words of a register match. */
static LP_ALWAYS_INLINE uint32_t match_words(const struct lp_ibp_masks *masks, const uint8_t *src,
                                             uint32_t j, uint32_t s)
{
    const __m256i x = load(src);
    __m256i same;

    if (s == 8) {
        same =
            _mm256_cmpeq_epi64(_mm256_and_si256(x, load(masks->mask + j)), load(masks->value + j));
        return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same));
    }
    same = _mm256_cmpeq_epi32(_mm256_and_si256(x, load(masks->mask_32 + j)),
                              load(masks->value_32 + j));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(same));
}

static LP_ALWAYS_INLINE uint32_t match_units(const struct lp_ibp_masks *masks, const uint8_t *src,
                                             uint32_t j, uint32_t s, uint64_t *n_bits)
{
    uint32_t participation = 0;

    for (uint32_t i = 0; i < LP_IBP_UNITS * 8 / s; i += 32 / s)
        participation |= match_words(masks, src + (size_t)i * s, j + i, s) << i;
    for (uint32_t i = 0; i < LP_IBP_UNITS * 8 / s; i += 8) {
        const uint64_t packed = lp_avx2_spread_mask(participation >> i & 0xff);
        const uint64_t raw = 8 * s * LP_AVX2_EACH_BYTE & ~packed;
        const uint64_t bits = (lp_load_u64(masks->packed_bits + j + i) & packed) | raw;

        *n_bits += (uint64_t)_mm_cvtsi128_si64(
            _mm_sad_epu8(_mm_cvtsi64_si128((int64_t)bits), _mm_setzero_si128()));
    }
    return participation;
}

#include "codec/ibp_units_ops.h"

/* --- the search for masks -------------------------------------------------------------------- */

static inline uint32_t common(const struct lp_ibp_set *a, const struct lp_ibp_set *b)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < LP_IBP_SET_WORDS; i++)
        sum += (uint64_t)_mm_popcnt_u64(a->word[i] & b->word[i]);
    return (uint32_t)sum;
}

#include "codec/ibp_search_ops.h"

void lp_codec_avx2_ibp_fill(struct lp_codec_ops *ops)
{
    fill_records(ops);
    fill_search(ops);
}
