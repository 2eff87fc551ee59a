/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding lane records with AVX2 and BMI2, level by level from the last to the first, as the
 * AVX-512 tier does: PDEP makes eight codes of eight bits of each plane, a byte shuffle looks them
 * up, and PDEP again puts the next level's exponents where the codes are zero. */
#include "codec/ops_avx2.h"

/* Where a level's codes come from, and the exponents behind them. */
struct level {
    const uint8_t *src;
    uint64_t bit; /* first bit of the first plane */
    uint32_t count;
    const uint8_t *next; /* exponents for the zero codes; count + LP_AVX2_SLACK are readable */
};

static uint32_t count_zeros(const uint8_t *src, uint64_t bit, uint32_t width, uint32_t count)
{
    uint32_t non_zero = 0;

    for (uint32_t i = 0; i < count; i += 64) {
        uint64_t any = lp_lane_load_bits(src, bit + i);

        for (uint32_t p = 1; p < width; p++)
            any |= lp_lane_load_bits(src, bit + (uint64_t)p * count + i);
        if (count - i < 64)
            any &= (UINT64_C(1) << (count - i)) - 1;
        non_zero += (uint32_t)_mm_popcnt_u64(any);
    }
    return count - non_zero;
}

/* Eight codes to exponents. The table has 0 for code 0. */
static LP_ALWAYS_INLINE uint64_t look_up(__m128i exponents, uint64_t codes)
{
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_shuffle_epi8(exponents, _mm_cvtsi64_si128((int64_t)codes)));
}

/* Exponents of one level's codes into dst, which has room for LP_AVX2_SLACK more. What is written
 * behind count is garbage, and harmless. */
static LP_ALWAYS_INLINE void decode_level_of(const struct level *level, const uint32_t width,
                                             __m128i exponents, uint8_t *dst)
{
    const uint8_t *next = level->next;

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
            lp_store_u64(dst + j, look_up(exponents, codes) |
                                      _pdep_u64(lp_load_u64(next), lp_avx2_spread_mask(gaps)));
            next += _mm_popcnt_u64(gaps);
        }
    }
}

/* The exponents of the 8 codes of a level, 0 for code 0. */
static __m128i level_exponents(const struct lp_lane *lane, uint32_t k, uint32_t base)
{
    uint64_t bytes = 0;

    for (uint32_t code = 1; code < 1u << lane->widths[k]; code++)
        bytes |= (uint64_t)((lane->rank_at[k << LP_LANE_LEVEL_SHIFT | code] + base) &
                            lane->exponent_mask)
                 << (8 * code);
    return _mm_cvtsi64_si128((int64_t)bytes);
}

static void decode_level(const struct lp_lane *lane, uint32_t k, uint32_t base,
                         const struct level *level, uint8_t *dst)
{
    const __m128i exponents = level_exponents(lane, k, base);

    switch (lane->widths[k]) {
    case 1:
        decode_level_of(level, 1, exponents, dst);
        break;
    case 2:
        decode_level_of(level, 2, exponents, dst);
        break;
    default:
        decode_level_of(level, 3, exponents, dst);
    }
}

/* Exponents become upper bytes: sign, exponent, and the mantissa's bits that are kept as planes. */
static LP_ALWAYS_INLINE void join_planes(const uint8_t *src, uint64_t bit, uint32_t n,
                                         const uint32_t mantissa_planes, uint8_t *upper)
{
    for (uint32_t i = 0; i < n; i += 64) {
        uint64_t plane[4];

        for (uint32_t p = 0; p <= mantissa_planes; p++)
            plane[p] = lp_lane_load_bits(src, bit + (uint64_t)p * n + i);
        for (uint32_t j = i; j < i + 64 && j < n; j += 8) {
            /* Exponents have at most 5 bits here, so none leaves its byte. */
            uint64_t v = lp_load_u64(upper + j) << mantissa_planes;

            for (uint32_t p = 0; p <= mantissa_planes; p++) {
                v |= _pdep_u64(plane[p], LP_AVX2_EACH_BYTE << (p < mantissa_planes ? p : 7));
                plane[p] >>= 8;
            }
            lp_store_u64(upper + j, v);
        }
    }
}

/* Sign and 7 bits of mantissa, and exponents, 16 bytes each, to words of 16 bits: bf16, or the
 * upper halves of f32. */
static LP_ALWAYS_INLINE __m256i join_upper(const uint8_t *other, const uint8_t *exponent)
{
    const __m256i o = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)other));
    const __m256i e =
        _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)exponent));
    const __m256i mantissa = _mm256_and_si256(o, _mm256_set1_epi16(0x7f));
    const __m256i sign =
        _mm256_and_si256(_mm256_slli_epi16(o, 8), _mm256_set1_epi16((short)0x8000));

    return _mm256_or_si256(_mm256_or_si256(mantissa, sign), _mm256_slli_epi16(e, 7));
}

static LP_ALWAYS_INLINE void store_256(uint8_t *dst, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)dst, v);
}

/* Two registers whose lanes hold the first and third quarter, and the second and fourth. */
static LP_ALWAYS_INLINE void store_quarters(uint8_t *dst, __m256i odd, __m256i even)
{
    store_256(dst, _mm256_permute2x128_si256(odd, even, 0x20));
    store_256(dst + 32, _mm256_permute2x128_si256(odd, even, 0x31));
}

static LP_ALWAYS_INLINE __m256i load_256(const uint8_t *src)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)src);
}

/* Elements [i, i + 32) to dst; arrays are the record's bytes of other bits. */
static LP_ALWAYS_INLINE void join_block(const uint32_t dtype, const uint8_t *arrays, uint32_t n,
                                        uint32_t i, const uint8_t *upper, uint8_t *dst)
{
    if (dtype == LP_DTYPE_BF16) {
        store_256(dst, join_upper(arrays + i, upper + i));
        store_256(dst + 32, join_upper(arrays + i + 16, upper + i + 16));
    } else if (dtype == LP_DTYPE_F32) {
        for (uint32_t half = 0; half < 32; half += 16) {
            const __m256i low = load_256(arrays + 2 * ((size_t)i + half));
            const __m256i high = join_upper(arrays + 2 * (size_t)n + i + half, upper + i + half);

            store_quarters(dst + 4 * (size_t)half, _mm256_unpacklo_epi16(low, high),
                           _mm256_unpackhi_epi16(low, high));
        }
    } else if (dtype == LP_DTYPE_F16) {
        const __m256i low = load_256(arrays + i), high = load_256(upper + i);

        store_quarters(dst, _mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high));
    } else {
        store_256(dst, load_256(upper + i));
    }
}

/* Blocks may overlap, so the last one ends with the last element; only a record of less than one
 * block goes through buffers. */
static LP_ALWAYS_INLINE void join_of(const uint32_t dtype, const uint32_t elem_bytes,
                                     const uint8_t *src, uint32_t n, const uint8_t *upper,
                                     uint8_t *dst)
{
    uint8_t arrays[LP_AVX2_BLOCK * 4], block[LP_AVX2_BLOCK * 4];
    uint32_t i = 0;

    if (n < LP_AVX2_BLOCK) {
        memcpy(arrays, src, (size_t)n * (elem_bytes - 1));
        join_block(dtype, arrays, n, 0, upper, block);
        memcpy(dst, block, (size_t)n * elem_bytes);
        return;
    }
    for (; i + LP_AVX2_BLOCK <= n; i += LP_AVX2_BLOCK)
        join_block(dtype, src, n, i, upper, dst + (size_t)i * elem_bytes);
    if (i < n) {
        i = n - LP_AVX2_BLOCK;
        join_block(dtype, src, n, i, upper, dst + (size_t)i * elem_bytes);
    }
}

static void join(const struct lp_lane *lane, const uint8_t *src, uint64_t bit, uint32_t n,
                 uint8_t *upper, uint8_t *dst)
{
    if (lane->plane_bits == 3)
        join_planes(src, bit, n, 2, upper);
    else if (lane->plane_bits == 4)
        join_planes(src, bit, n, 3, upper);
    switch (lane->dtype) {
    case LP_DTYPE_BF16:
        join_of(LP_DTYPE_BF16, 2, src, n, upper, dst);
        break;
    case LP_DTYPE_F32:
        join_of(LP_DTYPE_F32, 4, src, n, upper, dst);
        break;
    case LP_DTYPE_F16:
        join_of(LP_DTYPE_F16, 2, src, n, upper, dst);
        break;
    default:
        join_of(LP_DTYPE_F8_E4M3, 1, src, n, upper, dst);
    }
}

int lp_codec_avx2_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                              uint32_t align_bytes, void *dst, uint32_t n, const void *ahead)
{
    /* Two buffers in turn: a level reads the one that the level behind it wrote. Raw exponents are
     * copied there, too, so that no read leaves the record even if it changes meanwhile. */
    uint8_t buffer[2][LP_LANE_FAST_ELEMENTS_MAX + LP_AVX2_SLACK];
    struct lp_lane_parts parts;
    uint8_t *next = buffer[lane->n_levels % 2];

    if (lane->exponent_bits > 8 || n > LP_LANE_FAST_ELEMENTS_MAX || !lp_lane_keeps_all(lane))
        return lp_codec_scalar_lane_decode(lane, src, src_bytes, align_bytes, dst, n, ahead);
    if (!lp_lane_find_parts(lane, src, src_bytes, align_bytes, n, count_zeros, &parts))
        return LP_ECORRUPT;
    memcpy(next, (const uint8_t *)src + parts.raw_byte, parts.count[lane->n_levels]);
    for (uint32_t k = lane->n_levels; k-- > 0;) {
        const struct level level = {src, parts.level_bit[k], parts.count[k], next};

        next = buffer[k % 2];
        decode_level(lane, k, parts.base, &level, next);
    }
    join(lane, src, parts.planes_bit, n, next, dst);
    return 0;
}
