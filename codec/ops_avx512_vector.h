/* SPDX-License-Identifier: Apache-2.0 */
/* What codec/lane_vector.h asks of a tier, with AVX-512. Included only by files that are compiled
 * for it. */
#ifndef LP_CODEC_OPS_AVX512_VECTOR_H
#define LP_CODEC_OPS_AVX512_VECTOR_H

#include "codec/ops_avx512_join.h"

#define LP_LANE_VECTOR LP_AVX512_BLOCK
#include "codec/lane_vector.h"

static LP_ALWAYS_INLINE lane_u16 lane_widen_8_16(const uint8_t *p)
{
    return (lane_u16)_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static LP_ALWAYS_INLINE lane_u32 lane_widen_8_32(const uint8_t *p)
{
    return (lane_u32)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static LP_ALWAYS_INLINE lane_u32 lane_widen_16_32(const uint8_t *p)
{
    return (lane_u32)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_8_64(const uint8_t *p)
{
    return (lane_u64)_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_16_64(const uint8_t *p)
{
    return (lane_u64)_mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_32_64(const uint8_t *p)
{
    return (lane_u64)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static LP_ALWAYS_INLINE void lane_narrow_16_8(uint8_t *p, lane_u16 v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi16_epi8((__m512i)v));
}

static LP_ALWAYS_INLINE void lane_narrow_32_8(uint8_t *p, lane_u32 v)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)v));
}

static LP_ALWAYS_INLINE void lane_narrow_32_16(uint8_t *p, lane_u32 v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16((__m512i)v));
}

static LP_ALWAYS_INLINE void lane_narrow_64_8(uint8_t *p, lane_u64 v)
{
    _mm_storel_epi64((__m128i *)(void *)p, _mm512_cvtepi64_epi8((__m512i)v));
}

static LP_ALWAYS_INLINE void lane_narrow_64_16(uint8_t *p, lane_u64 v)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi64_epi16((__m512i)v));
}

static LP_ALWAYS_INLINE void lane_narrow_64_32(uint8_t *p, lane_u64 v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi64_epi32((__m512i)v));
}

static LP_ALWAYS_INLINE lane_u8 lane_gather_planes(const uint8_t *src, uint64_t bit,
                                                   uint32_t stride, uint32_t n_planes)
{
    __m512i v = _mm512_maskz_set1_epi8(lp_lane_load_bits(src, bit), 1);

    for (uint32_t p = 1; p < n_planes; p++) {
        bit += stride;
        v = _mm512_mask_add_epi8(v, lp_lane_load_bits(src, bit), v,
                                 _mm512_set1_epi8((char)(1 << p)));
    }
    return (lane_u8)v;
}

static LP_ALWAYS_INLINE void lane_join_bf16(const uint8_t *other, const uint8_t *exponents,
                                            uint8_t *dst)
{
    lp_avx512_join_bf16(other, _mm512_loadu_si512(exponents), dst);
}

static LP_ALWAYS_INLINE void lane_join_f32(const uint8_t *lower, const uint8_t *other,
                                           const uint8_t *exponents, uint8_t *dst)
{
    lp_avx512_join_f32(lower, other, _mm512_loadu_si512(exponents), dst);
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

static LP_ALWAYS_INLINE void lane_split_f32(const uint8_t *src, uint8_t *lower, uint8_t *other,
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

static LP_ALWAYS_INLINE void lane_split_bf16(const uint8_t *src, uint8_t *other, uint8_t *exponents)
{
    split_upper(_mm512_loadu_si512(src), _mm512_loadu_si512(src + 64), other, exponents);
}

#endif
