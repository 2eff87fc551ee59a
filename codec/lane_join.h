/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of decoding, the same for every vector tier: exponents and other bits to elements,
 * LP_LANE_VECTOR of them at a time. Included once by a file of a tier, behind the header that has
 * the functions of codec/lane_vector.h. */
#ifndef LP_CODEC_LANE_JOIN_H
#define LP_CODEC_LANE_JOIN_H

#include "codec/lane_layout.h"
#include "codec/lane_vector.h"

/* A record whose parts are known: arrays of bytes, planes of other bits from bit on, n elements. */
struct lane_record {
    const uint8_t *arrays, *src;
    uint64_t bit;
    uint32_t n;
};

/* Where elements [i, i + LP_LANE_VECTOR) have their other bits and exponents. */
struct lane_block {
    const uint8_t *array[3]; /* of 4, 2 and 1 bytes, as far as there are such */
    const uint8_t *planes;   /* one byte each */
    const uint8_t *exponents;
};

/* Words from other bits and exponents. */
#define LANE_DEFINE_JOIN(bits)                                                                     \
    static LP_ALWAYS_INLINE lane_u8 join_##bits(const struct lane_layout *l, lane_u##bits other,   \
                                                lane_u##bits exponent)                             \
    {                                                                                              \
        const uint##bits##_t kept = (uint##bits##_t)l->kept_mask;                                  \
        const uint##bits##_t sign = (uint##bits##_t)l->sign_mask;                                  \
        const uint##bits##_t fixed = (uint##bits##_t)l->fixed_value;                               \
        const uint##bits##_t t = (uint##bits##_t)l->trailing_bits;                                 \
        const uint##bits##_t m = (uint##bits##_t)l->mantissa_bits;                                 \
        const uint##bits##_t s = (uint##bits##_t)l->sign_shift;                                    \
                                                                                                   \
        return (lane_u8)((other & kept) << t | (other << s & sign) | exponent << m | fixed);       \
    }
LANE_DEFINE_JOIN(16)
LANE_DEFINE_JOIN(32)
LANE_DEFINE_JOIN(64)

static LP_ALWAYS_INLINE lane_u8 join_words_16(const struct lane_layout *l,
                                              const struct lane_block *block, uint32_t j)
{
    lane_u16 other = {0};

    if (l->byte_bits != 0)
        other = lane_widen_8_16(block->array[2] + j);
    if (l->plane_bits != 0)
        other |= lane_widen_8_16(block->planes + j) << (uint16_t)l->byte_bits;
    return join_16(l, other, lane_widen_8_16(block->exponents + j));
}

static LP_ALWAYS_INLINE lane_u8 join_words_32(const struct lane_layout *l,
                                              const struct lane_block *block, uint32_t j)
{
    lane_u32 other = {0};

    if ((l->byte_bits & 16) != 0)
        other = lane_widen_16_32(block->array[1] + 2 * j);
    if ((l->byte_bits & 8) != 0)
        other |= lane_widen_8_32(block->array[2] + j) << (l->byte_bits & 16);
    if (l->plane_bits != 0)
        other |= lane_widen_8_32(block->planes + j) << l->byte_bits;
    return join_32(l, other, lane_widen_8_32(block->exponents + j));
}

static LP_ALWAYS_INLINE lane_u8 join_words_64(const struct lane_layout *l,
                                              const struct lane_block *block, uint32_t j)
{
    lane_u64 other = {0};

    if ((l->byte_bits & 32) != 0)
        other = lane_widen_32_64(block->array[0] + 4 * j);
    if ((l->byte_bits & 16) != 0)
        other |= lane_widen_16_64(block->array[1] + 2 * j) << (uint64_t)(l->byte_bits & 32);
    if ((l->byte_bits & 8) != 0)
        other |= lane_widen_8_64(block->array[2] + j) << (uint64_t)(l->byte_bits & 48);
    if (l->plane_bits != 0)
        other |= lane_widen_8_64(block->planes + j) << (uint64_t)l->byte_bits;
    return join_64(l, other, lane_widen_16_64(block->exponents + 2 * j));
}

/* One byte each, in pairs. */
static LP_ALWAYS_INLINE lane_u8 join_bytes(const struct lane_layout *l,
                                           const struct lane_block *block)
{
    lane_u16 other = {0};

    if (l->plane_bits != 0)
        other = lane_load_16(block->planes);
    return join_16(l, other, lane_load_16(block->exponents));
}

/* Elements [i, i + LP_LANE_VECTOR) to dst. */
static LP_ALWAYS_INLINE void join_block(const struct lane_layout *l,
                                        const struct lane_record *record, uint32_t i,
                                        const uint8_t *exponents, uint8_t *dst)
{
    const size_t n = record->n, bytes = l->byte_bits / 8;
    uint8_t planes[LP_LANE_VECTOR] __attribute__((aligned(LP_LANE_VECTOR)));
    const struct lane_block block = {{record->arrays + 4 * (size_t)i,
                                      record->arrays + (bytes & 4) * n + 2 * (size_t)i,
                                      record->arrays + (bytes & 6) * n + i},
                                     planes,
                                     exponents};

    if (l->plain) {
        if (l->elem_bytes == 2)
            lane_join_bf16(block.array[2], exponents, dst);
        else
            lane_join_f32(block.array[1], block.array[2], exponents, dst);
        return;
    }
    if (l->plane_bits != 0)
        lane_store(planes,
                   lane_gather_planes(record->src, record->bit + i, record->n, l->plane_bits));
    for (uint32_t j = 0; j < LP_LANE_VECTOR; j += LP_LANE_VECTOR / l->elem_bytes) {
        switch (l->elem_bytes) {
        case 1:
            lane_store(dst, join_bytes(l, &block));
            break;
        case 2:
            lane_store(dst, join_words_16(l, &block, j));
            break;
        case 4:
            lane_store(dst, join_words_32(l, &block, j));
            break;
        default:
            lane_store(dst, join_words_64(l, &block, j));
        }
        dst += LP_LANE_VECTOR;
    }
}

/* Blocks may overlap, so the last one ends with the last element; only a record of less than one
 * block goes through buffers. */
static LP_ALWAYS_INLINE void join_of(const struct lane_layout l, const struct lane_record *parts,
                                     const uint8_t *exponents, uint8_t *dst)
{
    /* A copy, which no byte that is stored can be thought to change. */
    struct lane_record record = *parts;
    const uint32_t n = record.n, wide = l.wide_exponents;
    uint32_t i = 0;

    if (n < LP_LANE_VECTOR) {
        uint8_t arrays[LP_LANE_VECTOR * 8], block[LP_LANE_VECTOR * 8];

        memcpy(arrays, record.arrays, (size_t)n * (l.byte_bits / 8));
        record.arrays = arrays;
        join_block(&l, &record, 0, exponents, block);
        memcpy(dst, block, (size_t)n * l.elem_bytes);
        return;
    }
    for (; i + LP_LANE_VECTOR <= n; i += LP_LANE_VECTOR)
        join_block(&l, &record, i, exponents + ((size_t)i << wide), dst + (size_t)i * l.elem_bytes);
    if (i < n) {
        i = n - LP_LANE_VECTOR;
        join_block(&l, &record, i, exponents + ((size_t)i << wide), dst + (size_t)i * l.elem_bytes);
    }
}

/* All elements of a record to dst. exponents: one byte each, of 2 where they are wide, readable for
 * LP_LANE_VECTOR of them at least. */
static void join(const struct lp_lane *lane, const struct lane_record *record,
                 const uint8_t *exponents, uint8_t *dst)
{
#define LANE_CALL(layout) join_of(layout, record, exponents, dst)
    LANE_SWITCH(lane)
#undef LANE_CALL
}

#endif
