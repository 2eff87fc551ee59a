/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding lane records with AVX-512: elements are split into bytes of other bits, which go to
 * their place at once, and bytes of exponents; each level then looks up the exponents it gets,
 * writes its planes, and leaves to the next level what it has no code for, by VPCOMPRESSB. */
#include "codec/ops_avx512.h"
#include "codec/shape.h"

#define PLANE_WORDS (LP_LANE_FAST_ELEMENTS_MAX / 64)
#define PLANES_MAX 4u /* f8_e4m3 has four of other bits, a level at most three */

/* One plane in the making. Whole vectors are read, so there is room behind the last word. */
struct plane {
    uint64_t before; /* the bits that stand before the plane, at the top */
    uint64_t words[PLANE_WORDS + 8];
};

struct work {
    uint8_t upper[LP_LANE_FAST_ELEMENTS_MAX +
                  LP_AVX512_BLOCK]; /* exponents; before that, upper bytes */
    struct plane plane[PLANES_MAX];
};

/* Where bits are appended; less than limit_bytes come out, whatever is appended. */
struct output {
    uint8_t *dst;
    uint64_t bit;
    uint64_t limit_bits;
};

/* Append the first n bits of a plane. False: no room. Stores up to 63 bytes behind them. */
static bool put_plane(struct output *out, struct plane *plane, uint32_t n)
{
    const uint32_t shift = out->bit % 8, n_words = (n + 63) / 64;
    const __m128i up = _mm_cvtsi32_si128((int)shift), down = _mm_cvtsi32_si128((int)(64 - shift));
    uint8_t *dst = out->dst + out->bit / 8;

    if (out->bit + n > out->limit_bits)
        return false;
    if (n % 64 != 0)
        plane->words[n_words - 1] &= (UINT64_C(1) << (n % 64)) - 1;
    plane->words[n_words] = 0;
    plane->before = shift != 0 ? (uint64_t)(*dst & ((1u << shift) - 1)) << (64 - shift) : 0;
    for (uint32_t i = 0; i * 64 < n + shift; i += 8, dst += 64) {
        const __m512i words = _mm512_loadu_si512(plane->words + i);
        const __m512i words_before = _mm512_loadu_si512(&plane->before + i);

        _mm512_storeu_si512(dst, _mm512_or_si512(_mm512_sll_epi64(words, up),
                                                 _mm512_srl_epi64(words_before, down)));
    }
    out->bit += n;
    return true;
}

/* 256 places as a table for byte permutes; small exponents need the first register only. */
struct place_table {
    __m512i part[4];
    bool wide;
};

static LP_ALWAYS_INLINE __m512i find_places(const struct place_table *table, __m512i exponents)
{
    __m512i low, high;

    if (!table->wide)
        return _mm512_permutexvar_epi8(exponents, table->part[0]);
    low = _mm512_permutex2var_epi8(table->part[0], exponents, table->part[1]);
    high = _mm512_permutex2var_epi8(table->part[2], exponents, table->part[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(exponents), high);
}

/* Place of each exponent, shifted by the base: the table has period 2^E, so another start does. */
static void load_places(const struct lp_lane *lane, uint32_t base, struct place_table *table)
{
    const uint8_t *const start = lane->place_of + (lane->exponent_mask + 1 - base);

    for (uint32_t i = 0; i < 4; i++)
        table->part[i] = _mm512_loadu_si512(start + 64 * i);
    table->wide = lane->exponent_bits > 6;
}

/* Code count exponents at level k; those without a code are left at the front of exponents.
 * Returns how many. */
static LP_ALWAYS_INLINE uint32_t code_level_of(const struct place_table *table, uint32_t k,
                                               const uint32_t width, uint8_t *exponents,
                                               uint32_t count, struct plane *planes)
{
    const __m512i end = _mm512_set1_epi8((char)((k + 1) << LP_LANE_LEVEL_SHIFT));
    uint8_t *left = exponents;

    for (uint32_t i = 0; i < count; i += LP_AVX512_BLOCK) {
        const __m512i e = _mm512_loadu_si512(exponents + i);
        const __m512i places = find_places(table, e);
        const __mmask64 here = _mm512_cmplt_epu8_mask(places, end);
        uint64_t behind = ~here;

        for (uint32_t p = 0; p < width; p++)
            planes[p].words[i / 64] =
                _mm512_mask_test_epi8_mask(here, places, _mm512_set1_epi8((char)(1 << p)));
        if (count - i < LP_AVX512_BLOCK)
            behind &= (UINT64_C(1) << (count - i)) - 1;
        /* To memory the instruction would be many times slower. What the store overwrites has been
         * read: left never passes i. */
        _mm512_storeu_si512(left, _mm512_maskz_compress_epi8(behind, e));
        left += _mm_popcnt_u64(behind);
    }
    return (uint32_t)(left - exponents);
}

static uint32_t code_level(const struct place_table *table, uint32_t k, uint32_t width,
                           uint8_t *exponents, uint32_t count, struct plane *planes)
{
    switch (width) {
    case 1:
        return code_level_of(table, k, 1, exponents, count, planes);
    case 2:
        return code_level_of(table, k, 2, exponents, count, planes);
    default:
        return code_level_of(table, k, 3, exponents, count, planes);
    }
}

/* 64 words of 16 bits to their lower and upper bytes. */
static LP_ALWAYS_INLINE void split_words(__m512i first, __m512i second, __m512i *ret_lower,
                                         __m512i *ret_upper)
{
    const __m512i even = _mm512_set_epi8(
        126, 124, 122, 120, 118, 116, 114, 112, 110, 108, 106, 104, 102, 100, 98, 96, 94, 92, 90,
        88, 86, 84, 82, 80, 78, 76, 74, 72, 70, 68, 66, 64, 62, 60, 58, 56, 54, 52, 50, 48, 46, 44,
        42, 40, 38, 36, 34, 32, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi8(even, _mm512_set1_epi8(1));

    *ret_lower = _mm512_permutex2var_epi8(first, even, second);
    *ret_upper = _mm512_permutex2var_epi8(first, odd, second);
}

/* 64 bf16, or upper halves of f32: sign and mantissa, and exponents, as bytes. */
static LP_ALWAYS_INLINE void split_upper(__m512i first, __m512i second, uint8_t *other,
                                         uint8_t *exponents)
{
    __m512i lower, upper;

    split_words(first, second, &lower, &upper);
    _mm512_storeu_si512(
        other, _mm512_ternarylogic_epi32(_mm512_set1_epi8((char)0x80), upper, lower, 0xca));
    _mm512_storeu_si512(exponents, _mm512_ternarylogic_epi32(_mm512_add_epi8(upper, upper),
                                                             _mm512_srli_epi16(lower, 7),
                                                             _mm512_set1_epi8(1), 0xf8));
}

static LP_ALWAYS_INLINE void split_f32(const uint8_t *src, uint8_t *lower, uint8_t *other,
                                       uint8_t *exponents)
{
    const __m512i even =
        _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26,
                         24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi16(even, _mm512_set1_epi16(1));
    const __m512i a = _mm512_loadu_si512(src), b = _mm512_loadu_si512(src + 64);
    const __m512i c = _mm512_loadu_si512(src + 128), d = _mm512_loadu_si512(src + 192);

    _mm512_storeu_si512(lower, _mm512_permutex2var_epi16(a, even, b));
    _mm512_storeu_si512(lower + 64, _mm512_permutex2var_epi16(c, even, d));
    split_upper(_mm512_permutex2var_epi16(a, odd, b), _mm512_permutex2var_epi16(c, odd, d), other,
                exponents);
}

/* 64 elements at src: bytes of other bits to their arrays in dst, where they are elements
 * [i, i + 64) of n; exponents, or for dtypes with planes upper bytes, to upper. */
static LP_ALWAYS_INLINE void split_block(const uint32_t dtype, const uint8_t *src, uint8_t *dst,
                                         uint32_t n, uint32_t i, uint8_t *upper)
{
    __m512i low, high;

    switch (dtype) {
    case LP_DTYPE_BF16:
        split_upper(_mm512_loadu_si512(src), _mm512_loadu_si512(src + 64), dst + i, upper);
        break;
    case LP_DTYPE_F32:
        split_f32(src, dst + 2 * (size_t)i, dst + 2 * (size_t)n + i, upper);
        break;
    case LP_DTYPE_F16:
        split_words(_mm512_loadu_si512(src), _mm512_loadu_si512(src + 64), &low, &high);
        _mm512_storeu_si512(dst + i, low);
        _mm512_storeu_si512(upper, high);
        break;
    default:
        _mm512_storeu_si512(upper, _mm512_loadu_si512(src));
    }
}

#define LP_LANE_SPLIT_BLOCK LP_AVX512_BLOCK
#include "codec/lane_split.h"

/* Upper bytes (sign, exponent, bits of the mantissa) to planes of mantissa and sign; the exponents
 * take their place. */
static LP_ALWAYS_INLINE void split_planes_of(const uint32_t mantissa_planes, struct work *work,
                                             uint32_t n)
{
    const __m512i mask = _mm512_set1_epi8((char)(0x7f >> mantissa_planes));

    for (uint32_t i = 0; i < n; i += LP_AVX512_BLOCK) {
        const __m512i v = _mm512_loadu_si512(work->upper + i);

        for (uint32_t p = 0; p < mantissa_planes; p++)
            work->plane[p].words[i / 64] =
                _mm512_test_epi8_mask(v, _mm512_set1_epi8((char)(1 << p)));
        work->plane[mantissa_planes].words[i / 64] = _mm512_movepi8_mask(v);
        _mm512_storeu_si512(work->upper + i,
                            _mm512_and_si512(_mm512_srli_epi16(v, mantissa_planes), mask));
    }
}

static void split_planes(uint32_t plane_bits, struct work *work, uint32_t n)
{
    if (plane_bits == 4)
        split_planes_of(3, work, n);
    else
        split_planes_of(2, work, n);
}

/* Bit string and raw exponents; returns the size, or 0 when it is not below the limit. */
static uint32_t put_levels(const struct lp_lane *lane, struct work *work, uint32_t n, uint32_t base,
                           struct output *out)
{
    struct place_table table;
    uint32_t count = n;
    uint64_t size;

    load_places(lane, base, &table);
    for (uint32_t k = 0; k < lane->n_levels; k++) {
        const uint32_t left =
            code_level(&table, k, lane->widths[k], work->upper, count, work->plane);

        for (uint32_t p = 0; p < lane->widths[k]; p++) {
            if (!put_plane(out, &work->plane[p], count))
                return 0;
        }
        count = left;
    }
    size = (out->bit + 7) / 8 + count;
    if (size * 8 > out->limit_bits)
        return 0;
    memcpy(out->dst + (out->bit + 7) / 8, work->upper, count);
    return (uint32_t)size;
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

/* Count exponents of a record; hist has room for 256. */
static struct lp_lane_counts count_exponents(const uint8_t *exponents, uint32_t n, uint32_t limit,
                                             uint32_t *hist)
{
    struct lp_lane_counts result = {hist, limit, 0, n};
    struct lp_lane_part_counts counts = {0};

    lp_lane_count_bytes(exponents, n, &counts);
    for (uint32_t i = 0; i * 16 <= limit; i++) {
        const __m512i sum = sum_parts(&counts, i);
        const uint32_t used = _mm512_test_epi32_mask(sum, sum);

        _mm512_storeu_si512(hist + 16 * i, sum);
        if (used == 0)
            continue;
        result.low = LP_MIN(result.low, 16 * i + (uint32_t)__builtin_ctz(used));
        result.high = 16 * i + 31 - (uint32_t)__builtin_clz(used);
    }
    return result;
}

/* The base for these exponents, and *ret_fits: whether the record gets below limit_bytes. */
static uint32_t choose_base(const struct lp_lane *lane, const uint8_t *exponents, uint32_t n,
                            uint32_t limit_bytes, bool *ret_fits)
{
    uint32_t hist[256];
    const struct lp_lane_counts counts = count_exponents(exponents, n, lane->exponent_mask, hist);
    const uint32_t base = lp_codec_lane_pick_base(lane, &counts);

    *ret_fits = lp_codec_lane_size(lane, &counts, base) < limit_bytes;
    return base;
}

uint32_t lp_codec_avx512_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes)
{
    const uint32_t head_bytes = lp_lane_head_bytes(lane, n);
    struct work work;
    struct output out = {dst, (uint64_t)head_bytes * 8, 0};
    uint32_t base = 0;
    bool fits = head_bytes < limit_bytes;

    if (lane->exponent_bits > 8 || n > LP_LANE_FAST_ELEMENTS_MAX || !lp_lane_keeps_all(lane))
        return lp_codec_scalar_lane_encode(lane, src, n, dst, limit_bytes);
    if (!fits)
        return 0;
    out.limit_bits = (uint64_t)(limit_bytes - 1) * 8;
    split(lane->dtype, src, n, dst, work.upper);
    if (lane->plane_bits != 0)
        split_planes(lane->plane_bits, &work, n);
    if (lane->base_bytes != 0) {
        base = choose_base(lane, work.upper, n, limit_bytes, &fits);
        if (!fits)
            return 0;
        out.dst[head_bytes - 1] = (uint8_t)base;
    }
    for (uint32_t p = 0; p < lane->plane_bits; p++) {
        if (!put_plane(&out, &work.plane[p], n))
            return 0;
    }
    return put_levels(lane, &work, n, base, &out);
}

/* Elements that are split before they are counted. */
#define SPLIT_ELEMENTS 2048u

/* What bytes have been counted, as exponents: dtypes with planes have counted sign, exponent and
 * bits of the mantissa. */
static void add_counts(const struct lp_lane_part_counts *counts, uint32_t exponent_bits,
                       uint32_t *hist)
{
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t sums[16];

        _mm512_storeu_si512(sums, sum_parts(counts, i));
        for (uint32_t j = 0; j < 16; j++) {
            const uint32_t byte = 16 * i + j;

            hist[exponent_bits == 8 ? byte : (byte & 0x7f) >> (7 - exponent_bits)] += sums[j];
        }
    }
}

void lp_codec_avx512_exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    uint8_t other[3 * SPLIT_ELEMENTS + LP_AVX512_BLOCK], upper[SPLIT_ELEMENTS + LP_AVX512_BLOCK];
    const uint8_t *elements = src;

    if (info->exponent_bits > 8 || info->exponent_bits == 0) {
        lp_codec_scalar_exponent_histogram(dtype, src, n, hist);
        return;
    }
    while (n > 0) {
        const uint64_t n_counted = LP_MIN(n, LP_LANE_COUNTED_MAX / SPLIT_ELEMENTS * SPLIT_ELEMENTS);
        struct lp_lane_part_counts counts = {0};
        uint32_t n_now;

        for (uint64_t i = 0; i < n_counted; i += n_now, elements += (size_t)n_now * info->bytes) {
            n_now = (uint32_t)LP_MIN(n_counted - i, SPLIT_ELEMENTS);
            split(dtype, elements, n_now, other, upper);
            lp_lane_count_bytes(upper, n_now, &counts);
        }
        add_counts(&counts, info->exponent_bits, hist);
        n -= n_counted;
    }
}
