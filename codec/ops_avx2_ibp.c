/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with AVX2 and BMI2. */
#include "codec/ibp_measure_body.h"
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

static const struct lp_ibp_unit_ops unit_ops = {select_units, match_units};

LP_IBP_UNITS_DECODE(decode_8, 8, true, false, &unit_ops)
LP_IBP_UNITS_DECODE(decode_4, 4, true, false, &unit_ops)
LP_IBP_UNITS_DECODE(decode_4_short, 4, false, false, &unit_ops)
LP_IBP_UNITS_DECODE(decode_8_groups, 8, true, true, &unit_ops)
LP_IBP_UNITS_DECODE(decode_4_groups, 4, true, true, &unit_ops)
LP_IBP_UNITS_DECODE(decode_4_short_groups, 4, false, true, &unit_ops)

static int decode_groups(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                         uint32_t align_bytes, void *dst, uint32_t n_words)
{
    if (ibp->word_bytes == 8)
        return decode_8_groups(ibp, src, src_bytes, align_bytes, dst, n_words);
    if (n_words <= LP_IBP_SHORT_WORDS)
        return decode_4_short_groups(ibp, src, src_bytes, align_bytes, dst, n_words);
    return decode_4_groups(ibp, src, src_bytes, align_bytes, dst, n_words);
}

static int decode(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                  uint32_t align_bytes, void *dst, uint32_t n_words)
{
    if (n_words > ibp->n_words)
        return LP_ECORRUPT;
    if (ibp->n_groups > 0)
        return decode_groups(ibp, src, src_bytes, align_bytes, dst, n_words);
    if (ibp->word_bytes == 8)
        return decode_8(ibp, src, src_bytes, align_bytes, dst, n_words);
    if (n_words <= LP_IBP_SHORT_WORDS)
        return decode_4_short(ibp, src, src_bytes, align_bytes, dst, n_words);
    return decode_4(ibp, src, src_bytes, align_bytes, dst, n_words);
}

static LP_ALWAYS_INLINE uint64_t match(const struct lp_ibp_masks *masks, const uint8_t *src,
                                       uint32_t n_words, uint32_t s, uint8_t *dst)
{
    return lp_ibp_units_match(masks, src, n_words, s, dst, &unit_ops);
}

LP_IBP_UNITS_ENCODE(encode_one, false, &unit_ops, match)
LP_IBP_UNITS_ENCODE(encode_groups, true, &unit_ops, match)

static uint32_t encode(const struct lp_ibp *ibp, const void *src, uint32_t n_words, void *dst,
                       uint32_t limit_bytes)
{
    if (ibp->n_groups > 0)
        return encode_groups(ibp, src, n_words, dst, limit_bytes);
    return encode_one(ibp, src, n_words, dst, limit_bytes);
}

/* --- the search for masks -------------------------------------------------------------------- */

static inline uint32_t common(const struct lp_ibp_set *a, const struct lp_ibp_set *b)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < LP_IBP_SET_WORDS; i++)
        sum += (uint64_t)_mm_popcnt_u64(a->word[i] & b->word[i]);
    return (uint32_t)sum;
}

static void count(const uint8_t *records, uint64_t n_records, uint32_t record_bytes, void *scratch,
                  uint64_t *counts)
{
    lp_ibp_count(records, n_records, record_bytes, scratch, counts);
}

static void score(const struct lp_ibp_score *job, const uint8_t *records, uint64_t n_records,
                  struct lp_ibp_totals *ret_totals)
{
    lp_ibp_score(job, records, n_records, ret_totals);
}

static void pick(const struct lp_ibp_column *column, struct lp_ibp_pick *ret_pick)
{
    lp_ibp_pick(column, ret_pick, common);
}

void lp_codec_avx2_ibp_fill(struct lp_codec_ops *ops)
{
    ops->ibp_decode = decode;
    ops->ibp_encode = encode;
    ops->ibp_count = count;
    ops->ibp_score = score;
    ops->ibp_pick = pick;
}
