/* SPDX-License-Identifier: Apache-2.0 */
/* The first step of encoding, the same for every vector tier: elements to exponents, bytes of other
 * bits, and what is left of these as one byte each, LP_LANE_VECTOR elements at a time. Included
 * once by a file of a tier, behind the header that has the functions of codec/lane_vector.h. */
#ifndef LP_CODEC_LANE_SPLIT_H
#define LP_CODEC_LANE_SPLIT_H

#include "codec/lane_layout.h"
#include "codec/lane_vector.h"

/* Where a record's parts go. */
struct lane_parts_out {
    uint8_t *arrays;    /* bytes of other bits; written exactly */
    uint8_t *planes;    /* a byte of bits for each element, where the layout has such */
    uint8_t *exponents; /* one byte each, or 2 where they are wide */
    uint32_t n;
};

/* Where elements [i, i + LP_LANE_VECTOR) have theirs. */
struct lane_block_out {
    uint8_t *array[3]; /* of 4, 2 and 1 bytes, as far as there are such */
    uint8_t *planes;
    uint8_t *exponents;
};

#define LANE_DEFINE_SPLIT(bits)                                                                    \
    static LP_ALWAYS_INLINE lane_u##bits other_##bits(const struct lane_layout *l, lane_u##bits v) \
    {                                                                                              \
        const uint##bits##_t kept = (uint##bits##_t)l->kept_mask;                                  \
        const uint##bits##_t t = (uint##bits##_t)l->trailing_bits;                                 \
        const uint##bits##_t s = (uint##bits##_t)l->sign_shift;                                    \
        const uint##bits##_t sign = (uint##bits##_t)(l->sign_mask >> s);                           \
                                                                                                   \
        return (v >> t & kept) | (v >> s & sign);                                                  \
    }                                                                                              \
    static LP_ALWAYS_INLINE lane_u##bits exponent_##bits(const struct lane_layout *l,              \
                                                         lane_u##bits v)                           \
    {                                                                                              \
        return v >> (uint##bits##_t)l->mantissa_bits & (uint##bits##_t)l->exponent_mask;           \
    }                                                                                              \
    /* Not zero where a fixed bit is another. */                                                   \
    static LP_ALWAYS_INLINE lane_u8 differs_##bits(const struct lane_layout *l, lane_u##bits v)    \
    {                                                                                              \
        const uint##bits##_t fixed = (uint##bits##_t)l->fixed_value;                               \
                                                                                                   \
        return (lane_u8)((v ^ fixed) & (uint##bits##_t)l->fixed_mask);                             \
    }
LANE_DEFINE_SPLIT(16)
LANE_DEFINE_SPLIT(32)
LANE_DEFINE_SPLIT(64)

static LP_ALWAYS_INLINE lane_u8 split_bytes(const struct lane_layout *l, const uint8_t *src,
                                            const struct lane_block_out *to)
{
    const lane_u16 v = lane_load_16(src);

    if (l->plane_bits != 0)
        lane_store(to->planes, (lane_u8)other_16(l, v));
    lane_store(to->exponents, (lane_u8)exponent_16(l, v));
    return differs_16(l, v);
}

static LP_ALWAYS_INLINE lane_u8 split_words_16(const struct lane_layout *l, const uint8_t *src,
                                               const struct lane_block_out *to, uint32_t j)
{
    const lane_u16 v = lane_load_16(src), other = other_16(l, v);

    if (l->byte_bits != 0)
        lane_narrow_16_8(to->array[2] + j, other);
    if (l->plane_bits != 0)
        lane_narrow_16_8(to->planes + j, other >> (uint16_t)l->byte_bits);
    lane_narrow_16_8(to->exponents + j, exponent_16(l, v));
    return differs_16(l, v);
}

static LP_ALWAYS_INLINE lane_u8 split_words_32(const struct lane_layout *l, const uint8_t *src,
                                               const struct lane_block_out *to, uint32_t j)
{
    const lane_u32 v = lane_load_32(src), other = other_32(l, v);

    if ((l->byte_bits & 16) != 0)
        lane_narrow_32_16(to->array[1] + 2 * (size_t)j, other);
    if ((l->byte_bits & 8) != 0)
        lane_narrow_32_8(to->array[2] + j, other >> (l->byte_bits & 16));
    if (l->plane_bits != 0)
        lane_narrow_32_8(to->planes + j, other >> l->byte_bits);
    lane_narrow_32_8(to->exponents + j, exponent_32(l, v));
    return differs_32(l, v);
}

static LP_ALWAYS_INLINE lane_u8 split_words_64(const struct lane_layout *l, const uint8_t *src,
                                               const struct lane_block_out *to, uint32_t j)
{
    const lane_u64 v = lane_load_64(src), other = other_64(l, v);

    if ((l->byte_bits & 32) != 0)
        lane_narrow_64_32(to->array[0] + 4 * (size_t)j, other);
    if ((l->byte_bits & 16) != 0)
        lane_narrow_64_16(to->array[1] + 2 * (size_t)j, other >> (uint64_t)(l->byte_bits & 32));
    if ((l->byte_bits & 8) != 0)
        lane_narrow_64_8(to->array[2] + j, other >> (uint64_t)(l->byte_bits & 48));
    if (l->plane_bits != 0)
        lane_narrow_64_8(to->planes + j, other >> (uint64_t)l->byte_bits);
    lane_narrow_64_16(to->exponents + 2 * (size_t)j, exponent_64(l, v));
    return differs_64(l, v);
}

/* Elements [i, i + LP_LANE_VECTOR), which lie at src. Returns where their fixed bits are others. */
static LP_ALWAYS_INLINE lane_u8 split_block(const struct lane_layout *l, const uint8_t *src,
                                            const struct lane_parts_out *out, size_t i)
{
    const size_t n = out->n, bytes = l->byte_bits / 8;
    const struct lane_block_out to = {{out->arrays + 4 * i, out->arrays + (bytes & 4) * n + 2 * i,
                                       out->arrays + (bytes & 6) * n + i},
                                      out->planes + i,
                                      out->exponents + (i << l->wide_exponents)};
    lane_u8 differs = {0};

    if (l->plain) {
        if (l->elem_bytes == 2)
            lane_split_bf16(src, to.array[2], to.exponents);
        else
            lane_split_f32(src, to.array[1], to.array[2], to.exponents);
        return differs;
    }
    for (uint32_t j = 0; j < LP_LANE_VECTOR; j += LP_LANE_VECTOR / l->elem_bytes) {
        switch (l->elem_bytes) {
        case 1:
            differs |= split_bytes(l, src, &to);
            break;
        case 2:
            differs |= split_words_16(l, src, &to, j);
            break;
        case 4:
            differs |= split_words_32(l, src, &to, j);
            break;
        default:
            differs |= split_words_64(l, src, &to, j);
        }
        src += LP_LANE_VECTOR;
    }
    return differs;
}

static LP_ALWAYS_INLINE bool any_byte(lane_u8 v)
{
    uint64_t words[LP_LANE_VECTOR / 8], any = 0;

    memcpy(words, &v, sizeof(words));
    for (uint32_t i = 0; i < LP_LANE_VECTOR / 8; i++)
        any |= words[i];
    return any != 0;
}

/* A record of less than one block, through buffers: its last element stands for those behind it. */
static LP_ALWAYS_INLINE bool split_short(const struct lane_layout *l, const uint8_t *src,
                                         const struct lane_parts_out *out)
{
    const uint32_t w = l->elem_bytes, n = out->n;
    uint8_t block[LP_LANE_VECTOR * 8], arrays[LP_LANE_VECTOR * 8], *dst = out->arrays;
    const struct lane_parts_out to = {arrays, out->planes, out->exponents, LP_LANE_VECTOR};
    const uint8_t *array = arrays;
    lane_u8 differs;

    if (n == 0)
        return true;
    memcpy(block, src, (size_t)n * w);
    for (uint32_t i = n; i < LP_LANE_VECTOR; i++)
        memcpy(block + (size_t)i * w, block + (size_t)(i - 1) * w, w);
    differs = split_block(l, block, &to, 0);
    for (uint32_t size = 4; size > 0; size /= 2) {
        if ((l->byte_bits / 8 & size) == 0)
            continue;
        memcpy(dst, array, (size_t)n * size);
        dst += (size_t)n * size;
        array += (size_t)LP_LANE_VECTOR * size;
    }
    return !any_byte(differs);
}

/* As when decoding, blocks may overlap, so that the last one ends with the last element. */
static LP_ALWAYS_INLINE bool split_of(const struct lane_layout l, const uint8_t *src,
                                      const struct lane_parts_out *parts)
{
    /* A copy, which no byte that is stored can be thought to change. */
    const struct lane_parts_out out = *parts;
    lane_u8 differs = {0};
    uint32_t i = 0;

    if (out.n < LP_LANE_VECTOR)
        return split_short(&l, src, &out);
    for (; i + LP_LANE_VECTOR <= out.n; i += LP_LANE_VECTOR)
        differs |= split_block(&l, src + (size_t)i * l.elem_bytes, &out, i);
    if (i < out.n) {
        i = out.n - LP_LANE_VECTOR;
        differs |= split_block(&l, src + (size_t)i * l.elem_bytes, &out, i);
    }
    return l.fixed_mask == 0 || !any_byte(differs);
}

/* The n elements at src into their parts; planes and exponents have room for LP_LANE_VECTOR
 * elements at least. False: one has other fixed bits than the metadata says. */
static bool split(const struct lp_lane *lane, const uint8_t *src, const struct lane_parts_out *out)
{
    bool good;

#define LANE_CALL(layout) good = split_of(layout, src, out)
    LANE_SWITCH(lane)
#undef LANE_CALL
    return good;
}

#endif
