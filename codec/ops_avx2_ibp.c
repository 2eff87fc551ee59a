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

/* Ones in each of four words whose bit of bits is set. */
static LP_ALWAYS_INLINE __m256i spread_bits(uint32_t bits)
{
    const __m256i each = _mm256_set_epi64x(8, 4, 2, 1);

    return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits), each), each);
}

/* Two words of 32 bits in each half of two registers, to four units. */
static LP_ALWAYS_INLINE __m256i join_words(__m256i a, __m256i b)
{
    const __m256i first = _mm256_unpacklo_epi64(a, b), second = _mm256_unpackhi_epi64(a, b);
    const __m256i units = _mm256_or_si256(_mm256_slli_epi64(first, 32), second);

    return _mm256_permute4x64_epi64(units, 0xd8);
}

/* Masks or values of four units, zero where words are not packed. */
static LP_ALWAYS_INLINE __m256i load_units(const uint64_t *words, uint32_t participation,
                                           const uint32_t s)
{
    const __m256i a = _mm256_and_si256(load(words), spread_bits(participation));

    if (s == 8)
        return a;
    return join_words(a, _mm256_and_si256(load(words + 4), spread_bits(participation >> 4)));
}

static LP_ALWAYS_INLINE void select_units(const struct lp_ibp *ibp, uint32_t j,
                                          uint32_t participation, uint32_t s,
                                          struct lp_ibp_units *ret_units)
{
    const uint32_t words = 32 / s; /* of four units */

    for (uint32_t u = 0; u < LP_IBP_UNITS; u += 4, j += words, participation >>= words) {
        const __m256i mask = load_units(ibp->mask + j, participation, s);
        const __m256i value = load_units(ibp->value + j, participation, s);

        _mm256_storeu_si256((__m256i *)(void *)(ret_units->keep + u),
                            _mm256_xor_si256(mask, _mm256_set1_epi64x(-1)));
        _mm256_storeu_si256((__m256i *)(void *)(ret_units->value + u), value);
    }
}

/* Which of four words match. */
static LP_ALWAYS_INLINE uint32_t match_words(const struct lp_ibp *ibp, const uint8_t *src,
                                             uint32_t j, uint32_t s)
{
    const __m256i x =
        s == 8 ? load(src)
               : _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(const void *)src));
    const __m256i same =
        _mm256_cmpeq_epi64(_mm256_and_si256(x, load(ibp->mask + j)), load(ibp->value + j));

    return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same));
}

static LP_ALWAYS_INLINE uint32_t match_units(const struct lp_ibp *ibp, const uint8_t *src,
                                             uint32_t j, uint32_t s, uint64_t *n_bits)
{
    uint32_t participation = 0;

    for (uint32_t i = 0; i < LP_IBP_UNITS * 8 / s; i += 4)
        participation |= match_words(ibp, src + (size_t)i * s, j + i, s) << i;
    for (uint32_t i = 0; i < LP_IBP_UNITS * 8 / s; i += 8) {
        const uint64_t packed = lp_avx2_spread_mask(participation >> i & 0xff);
        const uint64_t raw = 8 * s * LP_AVX2_EACH_BYTE & ~packed;
        const uint64_t bits = (lp_load_u64(ibp->packed_bits + j + i) & packed) | raw;

        *n_bits += (uint64_t)_mm_cvtsi128_si64(
            _mm_sad_epu8(_mm_cvtsi64_si128((int64_t)bits), _mm_setzero_si128()));
    }
    return participation;
}

static const struct lp_ibp_unit_ops unit_ops = {select_units, match_units};

static int decode(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                  uint32_t align_bytes, void *dst, uint32_t n_words)
{
    return lp_ibp_units_decode_record(ibp, src, src_bytes, align_bytes, dst, n_words, &unit_ops);
}

static uint32_t encode(const struct lp_ibp *ibp, const void *src, uint32_t n_words, void *dst,
                       uint32_t limit_bytes)
{
    return lp_ibp_units_encode_record(ibp, src, n_words, dst, limit_bytes, &unit_ops);
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
