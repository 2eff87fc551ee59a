/* SPDX-License-Identifier: Apache-2.0 */
/* Codec sparse with AVX-512: a vector of elements is compressed to its values, or expanded from
 * them, whether it has any or not, because a branch on that could not be foreseen. Zeros with
 * values put between them one by one take half the cycles where destinations are in the cache and
 * values few, and a quarter more where they are not, so elements are written once.
 *
 * Vectors are compressed in registers and then stored whole, which is faster than compressing
 * stores, on some processors by far. */
#include "codec/ops_avx512.h"
#include "codec/ops_sparse.h"
#include "codec/sparse_places.h"

#define VECTOR_BYTES 64u

static LP_ALWAYS_INLINE __mmask64 first_lanes(uint32_t n)
{
    return _bzhi_u64(~UINT64_C(0), n);
}

static LP_ALWAYS_INLINE __m512i load_lanes(const uint32_t elem_bytes, __mmask64 lanes,
                                           const uint8_t *src)
{
    switch (elem_bytes) {
    case 1:
        return _mm512_maskz_loadu_epi8(lanes, src);
    case 2:
        return _mm512_maskz_loadu_epi16((__mmask32)lanes, src);
    case 4:
        return _mm512_maskz_loadu_epi32((__mmask16)lanes, src);
    default:
        return _mm512_maskz_loadu_epi64((__mmask8)lanes, src);
    }
}

static LP_ALWAYS_INLINE void store_lanes(const uint32_t elem_bytes, __mmask64 lanes, __m512i v,
                                         uint8_t *dst)
{
    switch (elem_bytes) {
    case 1:
        _mm512_mask_storeu_epi8(dst, lanes, v);
        break;
    case 2:
        _mm512_mask_storeu_epi16(dst, (__mmask32)lanes, v);
        break;
    case 4:
        _mm512_mask_storeu_epi32(dst, (__mmask16)lanes, v);
        break;
    default:
        _mm512_mask_storeu_epi64(dst, (__mmask8)lanes, v);
    }
}

static LP_ALWAYS_INLINE __mmask64 lanes_not_zero(const uint32_t elem_bytes, __m512i v)
{
    switch (elem_bytes) {
    case 1:
        return _mm512_test_epi8_mask(v, v);
    case 2:
        return _mm512_test_epi16_mask(v, v);
    case 4:
        return _mm512_test_epi32_mask(v, v);
    default:
        return _mm512_test_epi64_mask(v, v);
    }
}

static LP_ALWAYS_INLINE __m512i compress(const uint32_t elem_bytes, __mmask64 lanes, __m512i v)
{
    switch (elem_bytes) {
    case 1:
        return _mm512_maskz_compress_epi8(lanes, v);
    case 2:
        return _mm512_maskz_compress_epi16((__mmask32)lanes, v);
    case 4:
        return _mm512_maskz_compress_epi32((__mmask16)lanes, v);
    default:
        return _mm512_maskz_compress_epi64((__mmask8)lanes, v);
    }
}

static LP_ALWAYS_INLINE __m512i expand(const uint32_t elem_bytes, __mmask64 lanes, __m512i v)
{
    switch (elem_bytes) {
    case 1:
        return _mm512_maskz_expand_epi8(lanes, v);
    case 2:
        return _mm512_maskz_expand_epi16((__mmask32)lanes, v);
    case 4:
        return _mm512_maskz_expand_epi32((__mmask16)lanes, v);
    default:
        return _mm512_maskz_expand_epi64((__mmask8)lanes, v);
    }
}

/* One word of the map, from n elements, at most 64; values go to *out, which moves on. */
static LP_ALWAYS_INLINE uint64_t find_word(const uint32_t elem_bytes, const uint8_t *src,
                                           uint32_t n, uint8_t **out)
{
    const uint32_t lanes = VECTOR_BYTES / elem_bytes;
    uint64_t word = 0;

    for (uint32_t i = 0; i < n; i += lanes) {
        const uint8_t *const at = src + i * elem_bytes;
        const __m512i v = n - i >= lanes ? _mm512_loadu_si512(at)
                                         : load_lanes(elem_bytes, first_lanes(n - i), at);
        const __mmask64 some = lanes_not_zero(elem_bytes, v);

        _mm512_storeu_si512(*out, compress(elem_bytes, some, v));
        *out += (uint32_t)_mm_popcnt_u64(some) * elem_bytes;
        word |= some << i;
    }
    return word;
}

static LP_ALWAYS_INLINE uint32_t find_of(const uint32_t elem_bytes, const uint8_t *src, uint32_t n,
                                         uint64_t *map, uint8_t *values)
{
    uint8_t *out = values;
    uint32_t w = 0;

    for (; w < n / 64; w++, src += 64 * elem_bytes)
        map[w] = find_word(elem_bytes, src, 64, &out);
    if (n % 64 != 0)
        map[w] = find_word(elem_bytes, src, n % 64, &out);
    return (uint32_t)(out - values) / elem_bytes;
}

/* n elements, at most 64, from one word of the map; values come from *in, which moves on. */
static LP_ALWAYS_INLINE void spread_word(const uint32_t elem_bytes, uint64_t word, uint32_t n,
                                         const uint8_t **in, uint8_t *dst)
{
    const uint32_t lanes = VECTOR_BYTES / elem_bytes;

    for (uint32_t i = 0; i < n; i += lanes) {
        const uint64_t some = word >> i & first_lanes(lanes);
        const __m512i v = expand(elem_bytes, some, _mm512_loadu_si512(*in));

        if (n - i >= lanes)
            _mm512_storeu_si512(dst + i * elem_bytes, v);
        else
            store_lanes(elem_bytes, first_lanes(n - i), v, dst + i * elem_bytes);
        *in += (uint32_t)_mm_popcnt_u64(some) * elem_bytes;
    }
}

static LP_ALWAYS_INLINE void spread_of(const uint32_t elem_bytes, const uint64_t *map, uint32_t n,
                                       const uint8_t *in, uint8_t *dst)
{
    for (; n >= 64; n -= 64, dst += 64 * elem_bytes)
        spread_word(elem_bytes, *map++, 64, &in, dst);
    if (n > 0)
        spread_word(elem_bytes, *map, n, &in, dst);
}

#include "codec/sparse_sizes.h"

void lp_codec_avx512_sparse_fill(struct lp_codec_ops *ops)
{
    ops->sparse_find = sparse_find;
    ops->sparse_spread = sparse_spread;
}
