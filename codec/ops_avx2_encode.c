/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding lane records with AVX2 and BMI2, as the AVX-512 tier does: elements are split into bytes
 * of other bits, which go to their place at once, and bytes of exponents; each level looks up the
 * exponents it gets, takes its planes out of them with byte masks, and leaves to the next level
 * what it has no code for, with the gaps closed by PEXT. */
#include "codec/ops_avx2.h"
#include "codec/shape.h"

#define PLANE_WORDS (LP_LANE_FAST_ELEMENTS_MAX / 64)
#define PLANES_MAX 4u /* f8_e4m3 has four of other bits, a level at most three */

struct work {
    uint8_t upper[LP_LANE_FAST_ELEMENTS_MAX + LP_AVX2_SLACK]; /* exponents; before, upper bytes */
    uint8_t places[LP_LANE_FAST_ELEMENTS_MAX + LP_AVX2_SLACK];
    uint64_t plane[PLANES_MAX][PLANE_WORDS + 1];
};

/* Where bits are appended; no more than limit_bits come out, whatever is appended. */
struct output {
    uint8_t *dst;
    uint64_t bit;
    uint64_t limit_bits;
};

/* Append the first n bits of a plane. False: no room. Stores up to 8 bytes behind them. */
static bool put_plane(struct output *out, uint64_t *words, uint32_t n)
{
    const uint32_t shift = out->bit % 8, n_words = (n + 63) / 64;
    uint8_t *dst = out->dst + out->bit / 8;
    uint64_t carry = shift != 0 ? *dst & ((1u << shift) - 1) : 0;

    if (out->bit + n > out->limit_bits)
        return false;
    if (n % 64 != 0)
        words[n_words - 1] &= (UINT64_C(1) << (n % 64)) - 1;
    for (uint32_t i = 0; i < n_words; i++, dst += 8) {
        lp_store_u64(dst, words[i] << shift | carry);
        carry = words[i] >> 1 >> (63 - shift);
    }
    /* The last bits, when they reach into one byte more. */
    if (n_words > 0 && (n + 63) % 64 + 1 + shift > 64)
        *dst = (uint8_t)carry;
    out->bit += n;
    return true;
}

static LP_ALWAYS_INLINE __m256i load_256(const uint8_t *src)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)src);
}

static LP_ALWAYS_INLINE void store_256(uint8_t *dst, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)dst, v);
}

/* 32 words of 16 bits, none above 255, to bytes. */
static LP_ALWAYS_INLINE __m256i pack_words(__m256i first, __m256i second)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xd8);
}

/* 32 bf16, or upper halves of f32: sign and mantissa, and exponents, as bytes. */
static LP_ALWAYS_INLINE void split_upper(__m256i first, __m256i second, uint8_t *other,
                                         uint8_t *exponents)
{
    const __m256i byte = _mm256_set1_epi16(0xff), mantissa = _mm256_set1_epi16(0x7f);
    const __m256i sign = _mm256_set1_epi16(0x80);
    const __m256i o1 = _mm256_or_si256(_mm256_and_si256(first, mantissa),
                                       _mm256_and_si256(_mm256_srli_epi16(first, 8), sign));
    const __m256i o2 = _mm256_or_si256(_mm256_and_si256(second, mantissa),
                                       _mm256_and_si256(_mm256_srli_epi16(second, 8), sign));

    store_256(other, pack_words(o1, o2));
    store_256(exponents, pack_words(_mm256_and_si256(_mm256_srli_epi16(first, 7), byte),
                                    _mm256_and_si256(_mm256_srli_epi16(second, 7), byte)));
}

/* 16 f32: lower halves to lower; upper halves come back. */
static LP_ALWAYS_INLINE __m256i split_f32(const uint8_t *src, uint8_t *lower)
{
    const __m256i a = load_256(src), b = load_256(src + 32), mask = _mm256_set1_epi32(0xffff);

    store_256(lower,
              _mm256_permute4x64_epi64(
                  _mm256_packus_epi32(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask)), 0xd8));
    return _mm256_permute4x64_epi64(
        _mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16)), 0xd8);
}

/* 32 elements at src: bytes of other bits to their arrays in dst, where they are elements
 * [i, i + 32) of n; exponents, or for dtypes with planes upper bytes, to upper. */
static LP_ALWAYS_INLINE void split_block(const uint32_t dtype, const uint8_t *src, uint8_t *dst,
                                         uint32_t n, uint32_t i, uint8_t *upper)
{
    if (dtype == LP_DTYPE_BF16) {
        split_upper(load_256(src), load_256(src + 32), dst + i, upper);
    } else if (dtype == LP_DTYPE_F32) {
        const __m256i first = split_f32(src, dst + 2 * (size_t)i);
        const __m256i second = split_f32(src + 64, dst + 2 * (size_t)i + 32);

        split_upper(first, second, dst + 2 * (size_t)n + i, upper);
    } else if (dtype == LP_DTYPE_F16) {
        const __m256i a = load_256(src), b = load_256(src + 32), byte = _mm256_set1_epi16(0xff);

        store_256(dst + i, pack_words(_mm256_and_si256(a, byte), _mm256_and_si256(b, byte)));
        store_256(upper, pack_words(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8)));
    } else {
        store_256(upper, load_256(src));
    }
}

#define LP_LANE_SPLIT_BLOCK LP_AVX2_BLOCK
#include "codec/lane_split.h"

/* Upper bytes (sign, exponent, bits of the mantissa) to planes of mantissa and sign; the exponents
 * take their place. */
static LP_ALWAYS_INLINE void split_planes_of(const uint32_t mantissa_planes, struct work *work,
                                             uint32_t n)
{
    const uint64_t mask = LP_AVX2_EACH_BYTE * (0x7fu >> mantissa_planes);

    for (uint32_t i = 0; i < n; i += 64) {
        uint64_t bits[4] = {0};

        for (uint32_t j = 0; j < 64 && i + j < n; j += 8) {
            const uint64_t v = lp_load_u64(work->upper + i + j);

            for (uint32_t p = 0; p <= mantissa_planes; p++)
                bits[p] |= _pext_u64(v, LP_AVX2_EACH_BYTE << (p < mantissa_planes ? p : 7)) << j;
            lp_store_u64(work->upper + i + j, v >> mantissa_planes & mask);
        }
        for (uint32_t p = 0; p <= mantissa_planes; p++)
            work->plane[p][i / 64] = bits[p];
    }
}

static void split_planes(uint32_t plane_bits, struct work *work, uint32_t n)
{
    if (plane_bits == 4)
        split_planes_of(3, work, n);
    else
        split_planes_of(2, work, n);
}

/* The place of each of count exponents. */
static void find_places(const struct lp_lane *lane, uint32_t base, struct work *work,
                        uint32_t count)
{
    /* The table has period 2^E, so another start shifts it by the base. */
    const uint8_t *const table = lane->place_of + (lane->exponent_mask + 1 - base);

    for (uint32_t i = 0; i < count; i++)
        work->places[i] = table[work->upper[i]];
}

/* Bit p of each of 32 places that is at this level. */
static LP_ALWAYS_INLINE uint64_t plane_bits_of(__m256i places, __m256i here, uint32_t p)
{
    return (uint32_t)_mm256_movemask_epi8(
        _mm256_and_si256(here, _mm256_slli_epi16(places, (int)(7 - p))));
}

/* Codes of 64 elements from i on into the planes; returns which have none at this level. */
static LP_ALWAYS_INLINE uint64_t code_block(struct work *work, uint32_t i, uint32_t k,
                                            uint32_t width)
{
    const __m256i end = _mm256_set1_epi8((char)((k + 1) << LP_LANE_LEVEL_SHIFT));
    const __m256i a = load_256(work->places + i), b = load_256(work->places + i + 32);
    const __m256i a_here = _mm256_cmpgt_epi8(end, a), b_here = _mm256_cmpgt_epi8(end, b);

    for (uint32_t p = 0; p < width; p++)
        work->plane[p][i / 64] = plane_bits_of(a, a_here, p) | plane_bits_of(b, b_here, p) << 32;
    return ~((uint64_t)(uint32_t)_mm256_movemask_epi8(a_here) |
             (uint64_t)(uint32_t)_mm256_movemask_epi8(b_here) << 32);
}

/* Code count exponents at level k; those without a code are left at the front. Returns how many. */
static uint32_t code_level(struct work *work, uint32_t k, uint32_t width, uint32_t count)
{
    uint8_t *left = work->upper;

    for (uint32_t i = 0; i < count; i += 64) {
        uint64_t behind = code_block(work, i, k, width);

        if (count - i < 64)
            behind &= (UINT64_C(1) << (count - i)) - 1;
        for (uint32_t j = i; behind != 0; j += 8, behind >>= 8) {
            const uint64_t mask = lp_avx2_spread_mask(behind & 0xff);

            /* What the store overwrites has been read: left never passes j. */
            lp_store_u64(left, _pext_u64(lp_load_u64(work->upper + j), mask));
            left += _mm_popcnt_u64(behind & 0xff);
        }
    }
    return (uint32_t)(left - work->upper);
}

/* Bit string and raw exponents; returns the size, or 0 when it is not below the limit. */
static uint32_t put_levels(const struct lp_lane *lane, struct work *work, uint32_t n, uint32_t base,
                           struct output *out)
{
    uint32_t count = n;
    uint64_t size;

    for (uint32_t k = 0; k < lane->n_levels; k++) {
        uint32_t left;

        find_places(lane, base, work, count);
        left = code_level(work, k, lane->widths[k], count);
        for (uint32_t p = 0; p < lane->widths[k]; p++) {
            if (!put_plane(out, work->plane[p], count))
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

static uint32_t sum_parts(const struct lp_lane_part_counts *counts, uint32_t byte)
{
    uint32_t sum = 0;

    for (uint32_t p = 0; p < LP_LANE_PARTS; p++)
        sum += counts->part[p][byte];
    return sum;
}

/* The base for these exponents, and *ret_fits: whether the record gets below limit_bytes. */
static uint32_t choose_base(const struct lp_lane *lane, const uint8_t *exponents, uint32_t n,
                            uint32_t limit_bytes, bool *ret_fits)
{
    struct lp_lane_part_counts parts = {0};
    uint32_t hist[256];
    struct lp_lane_counts counts = {hist, 0, lane->exponent_mask, n};
    uint32_t base;

    lp_lane_count_bytes(exponents, n, &parts);
    for (uint32_t i = 0; i <= lane->exponent_mask; i++)
        hist[i] = sum_parts(&parts, i);
    while (counts.low < counts.high && hist[counts.low] == 0)
        counts.low++;
    while (counts.high > counts.low && hist[counts.high] == 0)
        counts.high--;
    base = lp_codec_lane_pick_base(lane, &counts);
    *ret_fits = lp_codec_lane_size(lane, &counts, base) < limit_bytes;
    return base;
}

uint32_t lp_codec_avx2_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
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
        if (!put_plane(&out, work.plane[p], n))
            return 0;
    }
    return put_levels(lane, &work, n, base, &out);
}

/* Elements that are split before they are counted. */
#define SPLIT_ELEMENTS 2048u

void lp_codec_avx2_exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    uint8_t other[3 * SPLIT_ELEMENTS], upper[SPLIT_ELEMENTS + LP_AVX2_SLACK];
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
        /* Dtypes with planes have counted upper bytes: sign, exponent, bits of the mantissa. */
        for (uint32_t i = 0; i < 256; i++)
            hist[info->exponent_bits == 8 ? i : (i & 0x7f) >> (7 - info->exponent_bits)] +=
                sum_parts(&counts, i);
        n -= n_counted;
    }
}
