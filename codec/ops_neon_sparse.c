/* SPDX-License-Identifier: Apache-2.0 */
/* Codec sparse with NEON: tests of 64 elements are narrowed to a byte each and become a word of the
 * map; elements move one by one where few are not zero, else by tables (codec/ops_neon_gaps.h). */
#include "codec/ops_neon_bits.h"
#include "codec/ops_neon_gaps.h"
#include "codec/ops_sparse.h"
#include "codec/sparse_places.h"

/* 16 bytes for as many elements at src: ones where an element is not zero, else zeros. */
static LP_ALWAYS_INLINE uint8x16_t some_of_8(const uint8_t *src)
{
    const uint8x16_t v = vld1q_u8(src);

    return vtstq_u8(v, v);
}

static LP_ALWAYS_INLINE uint8x16_t some_of_16(const uint8_t *src)
{
    const uint16x8_t a = vreinterpretq_u16_u8(vld1q_u8(src));
    const uint16x8_t b = vreinterpretq_u16_u8(vld1q_u8(src + 16));

    return vuzp1q_u8(vreinterpretq_u8_u16(vtstq_u16(a, a)), vreinterpretq_u8_u16(vtstq_u16(b, b)));
}

/* The same of eight elements, 16 bits each. */
static LP_ALWAYS_INLINE uint8x16_t some_of_32(const uint8_t *src)
{
    const uint32x4_t a = vreinterpretq_u32_u8(vld1q_u8(src));
    const uint32x4_t b = vreinterpretq_u32_u8(vld1q_u8(src + 16));

    return vreinterpretq_u8_u16(
        vuzp1q_u16(vreinterpretq_u16_u32(vtstq_u32(a, a)), vreinterpretq_u16_u32(vtstq_u32(b, b))));
}

/* The same of four elements, 32 bits each. */
static LP_ALWAYS_INLINE uint32x4_t some_of_64(const uint8_t *src)
{
    const uint64x2_t a = vreinterpretq_u64_u8(vld1q_u8(src));
    const uint64x2_t b = vreinterpretq_u64_u8(vld1q_u8(src + 16));

    return vuzp1q_u32(vreinterpretq_u32_u64(vtstq_u64(a, a)),
                      vreinterpretq_u32_u64(vtstq_u64(b, b)));
}

static LP_ALWAYS_INLINE uint8x16_t some_of_64_pair(const uint8_t *src)
{
    return vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_u32(some_of_64(src)),
                                           vreinterpretq_u16_u32(some_of_64(src + 32))));
}

static LP_ALWAYS_INLINE uint8x16_t some_of(const uint32_t elem_bytes, const uint8_t *src)
{
    switch (elem_bytes) {
    case 1:
        return some_of_8(src);
    case 2:
        return some_of_16(src);
    case 4:
        return vuzp1q_u8(some_of_32(src), some_of_32(src + 32));
    default:
        return vuzp1q_u8(some_of_64_pair(src), some_of_64_pair(src + 64));
    }
}

/* 64 elements to a word of the map and, where they are not zero, to out; returns their end. */
static LP_ALWAYS_INLINE uint8_t *find_word(const uint32_t elem_bytes, const uint8_t *src,
                                           uint64_t *map, uint8_t *out)
{
    struct bytes some;

    for (uint32_t i = 0; i < 4; i++)
        some.part[i] = some_of(elem_bytes, src + 16 * (size_t)i * elem_bytes);
    *map = bits_of(&some);
    return close_gaps(elem_bytes, *map, src, out);
}

static LP_ALWAYS_INLINE uint32_t find_of(const uint32_t elem_bytes, const uint8_t *src, uint32_t n,
                                         uint64_t *map, uint8_t *values)
{
    const uint32_t word_bytes = LP_NEON_WORD * elem_bytes;
    uint8_t *out = values;

    for (; n >= LP_NEON_WORD; n -= LP_NEON_WORD, src += word_bytes)
        out = find_word(elem_bytes, src, map++, out);
    if (n > 0) {
        uint8_t last[LP_NEON_WORD * 8];

        memset(last, 0, word_bytes);
        memcpy(last, src, (size_t)n * elem_bytes);
        out = find_word(elem_bytes, last, map, out);
    }
    return (uint32_t)(out - values) / elem_bytes;
}

/* The last elements of a record go one by one: tables would write past its end. */
static LP_ALWAYS_INLINE void spread_of(const uint32_t elem_bytes, const uint64_t *map, uint32_t n,
                                       const uint8_t *in, uint8_t *dst)
{
    const uint32_t word_bytes = LP_NEON_WORD * elem_bytes;

    memset(dst, 0, (size_t)n * elem_bytes);
    for (; n >= LP_NEON_WORD; n -= LP_NEON_WORD, dst += word_bytes)
        in = open_gaps(elem_bytes, *map++, in, dst);
    if (n > 0)
        (void)open_few(elem_bytes, *map, in, dst);
}

#include "codec/sparse_sizes.h"

void lp_codec_neon_sparse_fill(struct lp_codec_ops *ops)
{
    ops->sparse_find = sparse_find;
    ops->sparse_spread = sparse_spread;
}
