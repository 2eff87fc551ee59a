/* SPDX-License-Identifier: Apache-2.0 */
/* What codec/lane_vector.h asks of a tier, with AVX2. Included only by files that are compiled for
 * it. */
#ifndef LP_CODEC_OPS_AVX2_VECTOR_H
#define LP_CODEC_OPS_AVX2_VECTOR_H

#include "codec/ops_avx2_bits.h"

#define LP_LANE_VECTOR LP_AVX2_BLOCK
#include "codec/lane_vector.h"

/* 4 or 8 bytes in the low end of a register. */
static LP_ALWAYS_INLINE __m128i load_4(const uint8_t *p)
{
    return _mm_cvtsi32_si128((int)lp_load_u32(p));
}

static LP_ALWAYS_INLINE __m128i load_8(const uint8_t *p)
{
    return _mm_loadl_epi64((const __m128i *)(const void *)p);
}

static LP_ALWAYS_INLINE __m128i load_16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static LP_ALWAYS_INLINE void store_16(uint8_t *p, __m256i v)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(v));
}

static LP_ALWAYS_INLINE lane_u16 lane_widen_8_16(const uint8_t *p)
{
    return (lane_u16)_mm256_cvtepu8_epi16(load_16(p));
}

static LP_ALWAYS_INLINE lane_u32 lane_widen_8_32(const uint8_t *p)
{
    return (lane_u32)_mm256_cvtepu8_epi32(load_8(p));
}

static LP_ALWAYS_INLINE lane_u32 lane_widen_16_32(const uint8_t *p)
{
    return (lane_u32)_mm256_cvtepu16_epi32(load_16(p));
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_8_64(const uint8_t *p)
{
    return (lane_u64)_mm256_cvtepu8_epi64(load_4(p));
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_16_64(const uint8_t *p)
{
    return (lane_u64)_mm256_cvtepu16_epi64(load_8(p));
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_32_64(const uint8_t *p)
{
    return (lane_u64)_mm256_cvtepu32_epi64(load_16(p));
}

/* The first bytes of each lane of 128 bits side by side: 8 of each, then 4 of each. */
static LP_ALWAYS_INLINE __m256i join_8(__m256i v)
{
    return _mm256_permute4x64_epi64(v, 0x08);
}

static LP_ALWAYS_INLINE __m256i join_4(__m256i v)
{
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 0, 0, 0, 0, 0, 0));
}

/* Bytes a, b, c, d of each lane, then zeros. */
static LP_ALWAYS_INLINE __m256i pick_4(__m256i v, const char a, const char b, const char c,
                                       const char d)
{
    const __m128i bytes = _mm_setr_epi8(a, b, c, d, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);

    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(bytes));
}

/* The even bytes of each lane, and the even words of 16 bits, then zeros. */
static LP_ALWAYS_INLINE __m256i pick_bytes(__m256i v)
{
    const __m128i even = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, -1, -1, -1, -1, -1, -1, -1, -1);

    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(even));
}

static LP_ALWAYS_INLINE __m256i pick_words(__m256i v)
{
    const __m128i even = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);

    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(even));
}

static LP_ALWAYS_INLINE void lane_narrow_16_8(uint8_t *p, lane_u16 v)
{
    store_16(p, join_8(pick_bytes((__m256i)v)));
}

static LP_ALWAYS_INLINE void lane_narrow_32_16(uint8_t *p, lane_u32 v)
{
    store_16(p, join_8(pick_words((__m256i)v)));
}

static LP_ALWAYS_INLINE void lane_narrow_32_8(uint8_t *p, lane_u32 v)
{
    const __m256i bytes = join_4(pick_4((__m256i)v, 0, 4, 8, 12));

    lp_store_u64(p, (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(bytes)));
}

static LP_ALWAYS_INLINE void lane_narrow_64_8(uint8_t *p, lane_u64 v)
{
    /* Bytes 0 and 8 of each lane, in the lane's own half of the four. */
    const __m256i bytes = pick_4((__m256i)v, 0, 8, 0, 8);
    const uint32_t low = (uint32_t)_mm256_extract_epi32(bytes, 0);
    const uint32_t high = (uint32_t)_mm256_extract_epi32(bytes, 4);

    lp_store_u32(p, (low & 0xffff) | high << 16);
}

static LP_ALWAYS_INLINE void lane_narrow_64_16(uint8_t *p, lane_u64 v)
{
    const __m256i bytes = join_4(pick_4((__m256i)v, 0, 1, 8, 9));

    lp_store_u64(p, (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(bytes)));
}

static LP_ALWAYS_INLINE void lane_narrow_64_32(uint8_t *p, lane_u64 v)
{
    store_16(p, _mm256_permutevar8x32_epi32((__m256i)v, _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0)));
}

/* Bit i of bits in every bit of byte i. */
static LP_ALWAYS_INLINE __m256i spread_32(uint32_t bits)
{
    const __m256i byte_of = _mm256_setr_epi64x(
        0, INT64_C(0x0101010101010101), INT64_C(0x0202020202020202), INT64_C(0x0303030303030303));
    const __m256i bit_of = _mm256_set1_epi64x((int64_t)UINT64_C(0x8040201008040201));
    const __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), byte_of);

    return _mm256_cmpeq_epi8(_mm256_and_si256(v, bit_of), bit_of);
}

static LP_ALWAYS_INLINE lane_u8 lane_gather_planes(const uint8_t *src, uint64_t bit,
                                                   uint32_t stride, uint32_t n_planes)
{
    __m256i v = _mm256_setzero_si256();

    for (uint32_t p = 0; p < n_planes; p++, bit += stride)
        v = _mm256_or_si256(v, _mm256_and_si256(spread_32((uint32_t)lp_lane_load_bits(src, bit)),
                                                _mm256_set1_epi8((char)(1 << p))));
    return (lane_u8)v;
}

static LP_ALWAYS_INLINE __m256i load_256(const uint8_t *src)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)src);
}

static LP_ALWAYS_INLINE void store_256(uint8_t *dst, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)dst, v);
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

/* Two registers whose lanes hold the first and third quarter, and the second and fourth. */
static LP_ALWAYS_INLINE void store_quarters(uint8_t *dst, __m256i odd, __m256i even)
{
    store_256(dst, _mm256_permute2x128_si256(odd, even, 0x20));
    store_256(dst + 32, _mm256_permute2x128_si256(odd, even, 0x31));
}

static LP_ALWAYS_INLINE void lane_join_bf16(const uint8_t *other, const uint8_t *exponents,
                                            uint8_t *dst)
{
    store_256(dst, join_upper(other, exponents));
    store_256(dst + 32, join_upper(other + 16, exponents + 16));
}

static LP_ALWAYS_INLINE void lane_join_f32(const uint8_t *lower, const uint8_t *other,
                                           const uint8_t *exponents, uint8_t *dst)
{
    for (uint32_t half = 0; half < 32; half += 16) {
        const __m256i low = load_256(lower + 2 * (size_t)half);
        const __m256i high = join_upper(other + half, exponents + half);

        store_quarters(dst + 4 * (size_t)half, _mm256_unpacklo_epi16(low, high),
                       _mm256_unpackhi_epi16(low, high));
    }
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
static LP_ALWAYS_INLINE __m256i split_halves(const uint8_t *src, uint8_t *lower)
{
    const __m256i a = load_256(src), b = load_256(src + 32), mask = _mm256_set1_epi32(0xffff);

    store_256(lower,
              _mm256_permute4x64_epi64(
                  _mm256_packus_epi32(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask)), 0xd8));
    return _mm256_permute4x64_epi64(
        _mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16)), 0xd8);
}

static LP_ALWAYS_INLINE void lane_split_bf16(const uint8_t *src, uint8_t *other, uint8_t *exponents)
{
    split_upper(load_256(src), load_256(src + 32), other, exponents);
}

static LP_ALWAYS_INLINE void lane_split_f32(const uint8_t *src, uint8_t *lower, uint8_t *other,
                                            uint8_t *exponents)
{
    const __m256i first = split_halves(src, lower);
    const __m256i second = split_halves(src + 64, lower + 32);

    split_upper(first, second, other, exponents);
}

#endif
