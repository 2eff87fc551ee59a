/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with AVX2 and BMI2. */
#include "codec/ibp_pick_body.h"
#include "codec/ibp_units.h"
#include "codec/ops_avx2_bits.h"
#include "codec/ops_ibp.h"

/* --- records --------------------------------------------------------------------------------- */

static LP_ALWAYS_INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256(p);
}

static LP_ALWAYS_INLINE void store(void *p, __m256i v)
{
    _mm256_storeu_si256(p, v);
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

/* The halves of each unit change places. */
static LP_ALWAYS_INLINE __m256i turn(__m256i units, uint32_t s)
{
    return s == 4 ? _mm256_shuffle_epi32(units, 0xb1) : units;
}

/* Ones in the packed ones of the words that make four units. */
static LP_ALWAYS_INLINE __m256i spread(uint32_t participation, uint32_t s)
{
    return s == 8 ? spread_4(participation) : spread_8(participation);
}

/* Bits that masks leave, in the order of memory. */
static LP_ALWAYS_INLINE __m256i load_keep(const struct lp_ibp_masks *masks, uint32_t j,
                                          __m256i packed, uint32_t s)
{
    const __m256i mask = s == 8 ? load(masks->mask + j) : load(masks->mask_32 + j);

    return _mm256_xor_si256(_mm256_and_si256(mask, packed), _mm256_set1_epi64x(-1));
}

static LP_ALWAYS_INLINE void keep_units(const struct lp_ibp_masks *masks, uint32_t j,
                                        uint32_t participation, uint32_t s,
                                        uint64_t ret_keep[LP_IBP_UNITS])
{
    const uint32_t words = 32 / s; /* of four units */

    for (uint32_t u = 0; u < LP_IBP_UNITS; u += 4, j += words, participation >>= words)
        store(ret_keep + u, turn(load_keep(masks, j, spread(participation, s), s), s));
}

/* How many bits each of eight words has, a byte each. */
static LP_ALWAYS_INLINE uint64_t count_bits_8(const struct lp_ibp_masks *masks, uint32_t j,
                                              uint32_t participation, uint32_t s)
{
    const uint64_t packed = lp_avx2_spread_mask(participation & 0xff);
    const uint64_t raw = 8 * s * LP_AVX2_EACH_BYTE & ~packed;

    return (lp_load_u64(masks->packed_bits + j) & packed) | raw;
}

/* How many bits each of eight units has, a byte each. */
static LP_ALWAYS_INLINE uint64_t count_bits(const struct lp_ibp_masks *masks, uint32_t j,
                                            uint32_t participation, uint32_t s)
{
    const uint64_t first = count_bits_8(masks, j, participation, s);
    __m128i counts;

    if (s == 8)
        return first;
    counts =
        _mm_set_epi64x((int64_t)count_bits_8(masks, j + 8, participation >> 8, s), (int64_t)first);
    counts = _mm_maddubs_epi16(counts, _mm_set1_epi8(1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(counts, counts));
}

static LP_ALWAYS_INLINE __m256i widen(uint32_t bytes)
{
    return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)bytes));
}

/* The bits of four units, each as long as its byte of counts says, from bit pos of the string on.
 * Returns where they end. Four that begin behind the string's end do not read there. */
static LP_ALWAYS_INLINE uint64_t take_bits(const struct lp_ibp_source *source, uint64_t pos,
                                           uint32_t counts, uint32_t s, uint64_t *ret_bits)
{
    const __m256i low_6 = _mm256_set1_epi64x(63), all = _mm256_set1_epi64x(64);
    const __m256i second = _mm256_set1_epi64x(INT64_C(1) << 32);
    const uint8_t *const words = lp_ibp_word_at(source, LP_MIN(pos, source->end));
    /* Byte b: the bits of all units before it; three of 64 fit. */
    const uint32_t before = counts * 0x01010100u;
    const __m256i start = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(pos % 64)), widen(before));
    /* A word's number as those of its halves. */
    __m256i at = _mm256_slli_epi64(_mm256_srli_epi64(start, 6), 1), high, low, down;

    at = _mm256_or_si256(_mm256_or_si256(at, _mm256_slli_epi64(at, 32)), second);
    high = turn(_mm256_permutevar8x32_epi32(load(words), at), s);
    low = turn(_mm256_permutevar8x32_epi32(load(words + 8), at), s);
    down = _mm256_and_si256(start, low_6);
    high = _mm256_sllv_epi64(high, down);
    /* A shift by 64 leaves nothing here. */
    low = _mm256_srlv_epi64(low, _mm256_sub_epi64(all, down));
    store(ret_bits,
          _mm256_srlv_epi64(_mm256_or_si256(high, low), _mm256_sub_epi64(all, widen(counts))));
    return pos + (before >> 24) + (counts >> 24);
}

static LP_ALWAYS_INLINE uint64_t take_units(const struct lp_ibp_masks *masks, uint32_t j,
                                            uint32_t participation, uint32_t s,
                                            const struct lp_ibp_source *source, uint64_t pos,
                                            struct lp_ibp_units *ret_units)
{
    const uint64_t counts = count_bits(masks, j, participation, s);
    const uint32_t words = 32 / s; /* of four units */

    for (uint32_t u = 0; u < LP_IBP_UNITS; u += 4, j += words, participation >>= words) {
        const __m256i packed = spread(participation, s);

        pos = take_bits(source, pos, (uint32_t)(counts >> 8 * u), s, ret_units->bits + u);
        store(ret_units->keep + u, turn(load_keep(masks, j, packed, s), s));
        store(
            ret_units->value + u,
            _mm256_and_si256(s == 8 ? load(masks->value + j) : load(masks->value_32 + j), packed));
    }
    return pos;
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
        const uint64_t bits = count_bits_8(masks, j + i, participation >> i, s);

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
