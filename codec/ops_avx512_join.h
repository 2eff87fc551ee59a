/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of decoding with AVX-512: exponents, one byte each, and other bits to elements, 64
 * at a time. Included only by files that are compiled for the tier. */
#ifndef LP_CODEC_OPS_AVX512_JOIN_H
#define LP_CODEC_OPS_AVX512_JOIN_H

#include "codec/ops_avx512.h"

/* The exponents of the 8 codes of a level in every 128-bit lane. */
static LP_ALWAYS_INLINE __m512i lp_avx512_level_exponents(const struct lp_lane *lane, uint32_t k,
                                                          uint32_t base)
{
    const __m128i ranks = _mm_loadu_si128(
        (const __m128i *)(const void *)(lane->rank_at + (k << LP_LANE_LEVEL_SHIFT)));
    const __m128i exponents = _mm_and_si128(_mm_add_epi16(ranks, _mm_set1_epi16((short)base)),
                                            _mm_set1_epi16((short)lane->exponent_mask));

    return _mm512_broadcast_i32x4(_mm_packus_epi16(exponents, exponents));
}

/* Sign and 7 bits of mantissa, one byte each, and exponents to words of 16 bits: a bf16, or the
 * upper half of an f32. */
static LP_ALWAYS_INLINE __m512i lp_avx512_join_upper(const uint8_t *other, __m256i exponents)
{
    const __m512i o =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)other));
    const __m512i e = _mm512_cvtepu8_epi16(exponents);
    const __m512i mantissa_exponent =
        _mm512_ternarylogic_epi32(_mm512_slli_epi16(e, 7), o, _mm512_set1_epi16(0x7f), 0xf8);

    return _mm512_ternarylogic_epi32(mantissa_exponent, _mm512_slli_epi16(o, 8),
                                     _mm512_set1_epi16((short)0x8000), 0xf8);
}

static LP_ALWAYS_INLINE void lp_avx512_join_bf16(const uint8_t *other, __m512i exponents,
                                                 uint8_t *dst)
{
    _mm512_storeu_si512(dst, lp_avx512_join_upper(other, _mm512_castsi512_si256(exponents)));
    _mm512_storeu_si512(dst + 64,
                        lp_avx512_join_upper(other + 32, _mm512_extracti64x4_epi64(exponents, 1)));
}

/* 32 f32 from their halves. */
static LP_ALWAYS_INLINE void lp_avx512_store_f32(uint8_t *dst, __m512i lower, __m512i upper)
{
    const __m512i first =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                         37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));

    _mm512_storeu_si512(dst, _mm512_permutex2var_epi16(lower, first, upper));
    _mm512_storeu_si512(dst + 64, _mm512_permutex2var_epi16(lower, second, upper));
}

static LP_ALWAYS_INLINE void lp_avx512_join_f32(const uint8_t *lower, const uint8_t *upper,
                                                __m512i exponents, uint8_t *dst)
{
    lp_avx512_store_f32(dst, _mm512_loadu_si512(lower),
                        lp_avx512_join_upper(upper, _mm512_castsi512_si256(exponents)));
    lp_avx512_store_f32(dst + 128, _mm512_loadu_si512(lower + 64),
                        lp_avx512_join_upper(upper + 32, _mm512_extracti64x4_epi64(exponents, 1)));
}

/* Sign, exponent and the upper mantissa_planes bits of the mantissa as bytes; a plane follows
 * another after n bits. */
static LP_ALWAYS_INLINE __m512i lp_avx512_join_planes(const uint8_t *src, uint64_t bit, uint32_t n,
                                                      const uint32_t mantissa_planes,
                                                      __m512i exponents)
{
    /* Exponents have at most 5 bits here, so none leaves its byte. */
    __m512i v = _mm512_slli_epi16(exponents, mantissa_planes);

    for (uint32_t p = 0; p < mantissa_planes; p++, bit += n)
        v = _mm512_mask_add_epi8(v, lp_lane_load_bits(src, bit), v,
                                 _mm512_set1_epi8((char)(1 << p)));
    return _mm512_mask_add_epi8(v, lp_lane_load_bits(src, bit), v, _mm512_set1_epi8((char)0x80));
}

static LP_ALWAYS_INLINE void lp_avx512_join_f16(const uint8_t *lower, __m512i upper, uint8_t *dst)
{
    const __m512i order = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const __m512i bytes = _mm512_loadu_si512(lower);
    const __m512i even = _mm512_unpacklo_epi8(bytes, upper);
    const __m512i odd = _mm512_unpackhi_epi8(bytes, upper);

    _mm512_storeu_si512(dst, _mm512_permutex2var_epi64(even, order, odd));
    _mm512_storeu_si512(dst + 64, _mm512_permutex2var_epi64(
                                      even, _mm512_add_epi64(order, _mm512_set1_epi64(4)), odd));
}

/* A record whose parts are known: arrays of bytes, planes of other bits from bit on, n elements. */
struct lp_avx512_record {
    const uint8_t *arrays, *src;
    uint64_t bit;
    uint32_t n;
};

/* Elements [i, i + 64) to dst. */
static LP_ALWAYS_INLINE void lp_avx512_join_block(const uint32_t dtype,
                                                  const struct lp_avx512_record *record, uint32_t i,
                                                  __m512i exponents, uint8_t *dst)
{
    const uint8_t *const arrays = record->arrays, *const src = record->src;
    const uint64_t bit = record->bit + i;
    const uint32_t n = record->n;

    switch (dtype) {
    case LP_DTYPE_BF16:
        lp_avx512_join_bf16(arrays + i, exponents, dst);
        break;
    case LP_DTYPE_F32:
        lp_avx512_join_f32(arrays + 2 * (size_t)i, arrays + 2 * (size_t)n + i, exponents, dst);
        break;
    case LP_DTYPE_F16:
        lp_avx512_join_f16(arrays + i, lp_avx512_join_planes(src, bit, n, 2, exponents), dst);
        break;
    case LP_DTYPE_F8_E4M3:
        _mm512_storeu_si512(dst, lp_avx512_join_planes(src, bit, n, 3, exponents));
        break;
    default:
        _mm512_storeu_si512(dst, lp_avx512_join_planes(src, bit, n, 2, exponents));
    }
}

#endif
