/* SPDX-License-Identifier: Apache-2.0 */
/* Codec sparse with AVX2: 64 elements become a word of the map by comparing vectors; what moves
 * between elements and values goes one at a time, as few do. */
#include "codec/ops_avx2_bits.h"
#include "codec/ops_sparse.h"
#include "codec/sparse_places.h"

#include <string.h>

/* Bit i: element i of 32 bytes of elements is not zero. */
static LP_ALWAYS_INLINE uint64_t some_of_vector(const uint32_t elem_bytes, const uint8_t *src)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i v = _mm256_loadu_si256((const __m256i *)src);

    switch (elem_bytes) {
    case 1:
        return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, zero));
    case 2:
        /* Two bits for each element, of which the even one stays. */
        return _pext_u32(~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi16(v, zero)), 0x55555555);
    case 4:
        return ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(v, zero))) &
               0xff;
    default:
        return ~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(v, zero))) &
               0xf;
    }
}

/* The same of n elements, at most 64. */
static LP_ALWAYS_INLINE uint64_t some_of(const uint32_t elem_bytes, const uint8_t *src, uint32_t n)
{
    const uint32_t lanes = 32 / elem_bytes;
    uint64_t word = 0;
    uint32_t i = 0;

    for (; i + lanes <= n; i += lanes)
        word |= some_of_vector(elem_bytes, src + i * elem_bytes) << i;
    for (; i < n; i++) {
        uint64_t element = 0;

        memcpy(&element, src + i * elem_bytes, elem_bytes);
        word |= (uint64_t)(element != 0) << i;
    }
    return word;
}

static LP_ALWAYS_INLINE uint32_t find_of(const uint32_t elem_bytes, const uint8_t *src, uint32_t n,
                                         uint64_t *map, uint8_t *values)
{
    uint8_t *out = values;

    for (uint32_t i = 0; i < n; i += 64, src += 64 * elem_bytes) {
        *map = n - i >= 64 ? some_of(elem_bytes, src, 64) : some_of(elem_bytes, src, n - i);
        for (uint64_t word = *map++; word != 0; word = _blsr_u64(word), out += elem_bytes)
            memcpy(out, src + _tzcnt_u64(word) * elem_bytes, elem_bytes);
    }
    return (uint32_t)(out - values) / elem_bytes;
}

static LP_ALWAYS_INLINE void spread_of(const uint32_t elem_bytes, const uint64_t *map, uint32_t n,
                                       const uint8_t *in, uint8_t *dst)
{
    memset(dst, 0, (size_t)n * elem_bytes);
    for (uint32_t w = 0; w < lp_sparse_map_words(n); w++, dst += 64 * elem_bytes) {
        for (uint64_t word = map[w]; word != 0; word = _blsr_u64(word), in += elem_bytes)
            memcpy(dst + _tzcnt_u64(word) * elem_bytes, in, elem_bytes);
    }
}

#include "codec/sparse_sizes.h"

void lp_codec_avx2_sparse_fill(struct lp_codec_ops *ops)
{
    ops->sparse_find = sparse_find;
    ops->sparse_spread = sparse_spread;
}
