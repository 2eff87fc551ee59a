/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding lane records with AVX-512: byte permutes look places up, mask tests make planes of them,
 * and VPCOMPRESSB leaves to the next level what has no code. */
#include "codec/lane_work.h"
#include "codec/ops_avx512_planes.h"
#include "codec/ops_avx512_vector.h"
#include "codec/shape.h"

/* Exponents that lie within so many values are counted by comparing with each of them: a histogram
 * costs a cycle for each element, this one for each value and 64 elements, and nothing is to be
 * cleared. */
#define FEW_EXPONENTS 32u

#define output lp_avx512_output
#define put_plane lp_avx512_put_plane

/* One plane of each of the first n_planes bits of bytes. */
static LP_ALWAYS_INLINE void take_planes_of(const uint8_t *bytes, uint32_t n,
                                            const uint32_t n_planes, uint64_t *planes,
                                            uint32_t stride)
{
    for (uint32_t i = 0; i < n; i += LP_AVX512_BLOCK) {
        const __m512i v = _mm512_loadu_si512(bytes + i);

        for (uint32_t p = 0; p < n_planes; p++)
            planes[(size_t)p * stride + i / 64] =
                _mm512_test_epi8_mask(v, _mm512_set1_epi8((char)(1 << p)));
    }
}

static void take_planes(const uint8_t *bytes, uint32_t n, uint32_t n_planes, uint64_t *planes,
                        uint32_t stride)
{
    switch (n_planes) {
    case 3:
        take_planes_of(bytes, n, 3, planes, stride);
        break;
    case 7:
        take_planes_of(bytes, n, 7, planes, stride);
        break;
    default:
        take_planes_of(bytes, n, n_planes, planes, stride);
    }
}

/* 256 places as a table for byte permutes. */
struct look_up {
    __m512i part[4];
    uint32_t bits; /* of exponents; up to 6 need the first register only; 0: these are places */
};

/* Exponents go down the levels as they are: a look-up costs less than another pass. */
static const uint8_t *start_levels(const uint8_t *table, uint32_t exponent_bits,
                                   const struct lane_work *work, uint32_t n, struct look_up *ret)
{
    (void)n;
    for (uint32_t i = 0; i < 4; i++)
        ret->part[i] = _mm512_loadu_si512(table + 64 * i);
    ret->bits = exponent_bits;
    return work->exponents;
}

static LP_ALWAYS_INLINE __m512i find_places(const struct look_up *table, __m512i exponents)
{
    __m512i low, high;

    if (table->bits == 0)
        return exponents;
    if (table->bits <= 6)
        return _mm512_permutexvar_epi8(exponents, table->part[0]);
    low = _mm512_permutex2var_epi8(table->part[0], exponents, table->part[1]);
    high = _mm512_permutex2var_epi8(table->part[2], exponents, table->part[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(exponents), high);
}

static LP_ALWAYS_INLINE uint32_t code_level_of(const struct look_up *table, const uint8_t *from,
                                               uint32_t count, uint32_t k, const uint32_t width,
                                               const struct lane_work *work)
{
    const __m512i end = _mm512_set1_epi8((char)((k + 1) << LP_LANE_LEVEL_SHIFT));
    uint8_t *const first_left = work->bits, *left = first_left;
    uint64_t *word = work->planes;
    const uint32_t stride = work->stride;

    for (uint32_t i = 0; i < count; i += LP_AVX512_BLOCK, word++) {
        const __m512i e = _mm512_loadu_si512(from + i);
        const __m512i places = find_places(table, e);
        const __mmask64 here = _mm512_cmplt_epu8_mask(places, end);
        uint64_t behind = ~here;

        for (uint32_t p = 0; p < width; p++)
            word[(size_t)p * stride] =
                _mm512_mask_test_epi8_mask(here, places, _mm512_set1_epi8((char)(1 << p)));
        if (count - i < LP_AVX512_BLOCK)
            behind &= (UINT64_C(1) << (count - i)) - 1;
        /* To memory the instruction would be many times slower. What the store overwrites has been
         * read: left never passes from + i. */
        _mm512_storeu_si512(left, _mm512_maskz_compress_epi8(behind, e));
        left += _mm_popcnt_u64(behind);
    }
    return (uint32_t)(left - first_left);
}

static uint32_t code_level(const struct look_up *look_up, const uint8_t *from, uint32_t count,
                           uint32_t k, uint32_t width, const struct lane_work *work)
{
    switch (width) {
    case 1:
        return code_level_of(look_up, from, count, k, 1, work);
    case 2:
        return code_level_of(look_up, from, count, k, 2, work);
    default:
        return code_level_of(look_up, from, count, k, 3, work);
    }
}

static LP_ALWAYS_INLINE uint64_t match(const uint8_t *places, uint8_t place)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(places), _mm512_set1_epi8((char)place));
}

/* All parts of bytes [16 * i, 16 * i + 16). */
static LP_ALWAYS_INLINE __m512i sum_parts(const struct lp_lane_part_counts *counts, uint32_t i)
{
    __m512i sum = _mm512_setzero_si512();

    for (uint32_t p = 0; p < LP_LANE_PARTS; p++)
        sum = _mm512_add_epi32(sum, _mm512_cvtepu16_epi32(_mm256_loadu_si256((
                                        const __m256i *)(const void *)(counts->part[p] + 16 * i))));
    return sum;
}

static LP_ALWAYS_INLINE uint32_t least_byte(__m512i v)
{
    const __m256i half =
        _mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    const __m128i part =
        _mm_min_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    const __m128i words = _mm_min_epu8(part, _mm_srli_epi16(part, 8));

    return (uint32_t)_mm_extract_epi16(_mm_minpos_epu16(words), 0);
}

/* The least and the greatest of n exponents, which are at most limit. */
static LP_ALWAYS_INLINE struct lp_lane_counts find_range(const uint8_t *exponents, uint32_t n,
                                                         uint32_t limit, uint32_t *hist)
{
    const __m512i ones = _mm512_set1_epi8(-1);
    struct lp_lane_counts result = {hist, limit, 0, n};
    __m512i low = ones, high = ones;

    for (uint32_t i = 0; i < n; i += 64) {
        const __mmask64 here = _bzhi_u64(~UINT64_C(0), LP_MIN(n - i, 64));
        const __m512i v = _mm512_loadu_si512(exponents + i);

        low = _mm512_mask_min_epu8(low, here, low, v);
        high = _mm512_mask_min_epu8(high, here, high, _mm512_xor_si512(v, ones));
    }
    result.low = LP_MIN(limit, least_byte(low));
    result.high = 255 - least_byte(high);
    return result;
}

static LP_ALWAYS_INLINE uint32_t count_one(const uint8_t *exponents, uint32_t n, uint32_t exponent)
{
    const __m512i v = _mm512_set1_epi8((char)exponent);
    uint32_t count = 0, i = 0;

    for (; i + 64 <= n; i += 64)
        count +=
            (uint32_t)_mm_popcnt_u64(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(exponents + i), v));
    return count + (uint32_t)_mm_popcnt_u64(_bzhi_u64(
                       _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(exponents + i), v), n - i));
}

static void count_many(const uint8_t *exponents, uint32_t n, uint32_t limit, uint32_t *hist)
{
    struct lp_lane_part_counts counts = {0};

    lp_lane_count_bytes(exponents, n, &counts);
    for (uint32_t i = 0; i * 16 <= limit; i++)
        _mm512_storeu_si512(hist + 16 * i, sum_parts(&counts, i));
}

static struct lp_lane_counts count_exponents(const uint8_t *exponents, uint32_t n, uint32_t limit,
                                             uint32_t *hist)
{
    const struct lp_lane_counts result = find_range(exponents, n, limit, hist);

    if (result.high - result.low >= FEW_EXPONENTS) {
        count_many(exponents, n, limit, hist);
        return result;
    }
    memset(hist, 0, (limit + 1) * sizeof(hist[0]));
    for (uint32_t e = result.low; e <= result.high; e++)
        hist[e] = count_one(exponents, n, e);
    return result;
}

#include "codec/lane_encode.h"

uint32_t lp_codec_avx512_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes)
{
    if (!lp_lane_fits_tiers(lane, n))
        return lp_codec_scalar_lane_encode(lane, src, n, dst, limit_bytes);
    return encode_record(lane, src, n, dst, limit_bytes);
}

static void add_counts(const struct lp_lane_part_counts *counts, uint32_t n, uint32_t *hist)
{
    for (uint32_t i = 0; i < n; i += 16) {
        uint32_t sums[16];

        _mm512_storeu_si512(sums, sum_parts(counts, i / 16));
        for (uint32_t j = 0; j < LP_MIN(n, 16); j++)
            hist[i + j] += sums[j];
    }
}

#include "codec/lane_histogram.h"

void lp_codec_avx512_exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist)
{
    exponent_histogram(dtype, src, n, hist);
}
