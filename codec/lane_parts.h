/* SPDX-License-Identifier: Apache-2.0 */
/* Where the parts of one coded lane record lie, found and checked before anything is decoded.
 * Shared by the tiers, each of which brings its own way to count zero codes. Source:
 * docs/FORMAT.md, section 5. */
#ifndef LP_CODEC_LANE_PARTS_H
#define LP_CODEC_LANE_PARTS_H

#include "base/bytes.h"
#include "codec/lane.h"

#include <stdbool.h>

struct lp_lane_parts {
    uint64_t planes_bit;                           /* first bit of the planes of other bits */
    uint64_t level_bit[LP_FORMAT_LANE_LEVELS_MAX]; /* first bit of each level's planes */
    uint32_t count[LP_FORMAT_LANE_LEVELS_MAX + 1]; /* codes in each level; then raw exponents */
    uint32_t base;
    uint32_t raw_byte; /* first raw exponent */
};

/* How many of count codes of width planes, which begin at bit, are zero. May read 9 bytes behind
 * the last code. */
typedef uint32_t lp_lane_count_zeros(const uint8_t *src, uint64_t bit, uint32_t width,
                                     uint32_t count);

static inline uint32_t lp_lane_load_exponent(const uint8_t *p, uint32_t n_bytes)
{
    return n_bytes == 2 ? lp_load_u16(p) : *p;
}

static inline void lp_lane_store_exponent(uint8_t *p, uint32_t n_bytes, uint32_t exponent)
{
    if (n_bytes == 2)
        lp_store_u16(p, (uint16_t)exponent);
    else
        *p = (uint8_t)exponent;
}

/* Bytes before the bit string: those of the other bits, and the base. */
static inline uint32_t lp_lane_head_bytes(const struct lp_lane *lane, uint32_t n)
{
    return n * (lane->byte_bits / 8) + lane->base_bytes;
}

/* Bits [bit, end of bit string), which fill up a byte, and bytes [used, src_bytes) are zero. */
static inline bool lp_lane_padding_is_zero(const uint8_t *src, uint64_t bit, uint32_t used,
                                           uint32_t src_bytes)
{
    uint32_t sum = bit % 8 != 0 ? src[bit / 8] >> (bit % 8) : 0;

    for (uint32_t i = used; i < src_bytes; i++)
        sum |= src[i];
    return sum == 0;
}

static inline bool lp_lane_raw_in_range(const struct lp_lane *lane, const uint8_t *raw, uint32_t n)
{
    uint32_t all = 0;

    if (lane->exponent_bits == 8)
        return true;
    for (uint32_t i = 0; i < n; i++)
        all |= lp_lane_load_exponent(raw + i * lane->escape_bytes, lane->escape_bytes);
    return all <= lane->exponent_mask;
}

/* What must hold at the end of a record whose bit string ends with bit, with n_raw raw exponents
 * behind it: it fills src_bytes up to less than an alignment of zeros, and exponents are in range.
 * Inside of another codec's record src_bytes is no multiple of the alignment. */
static inline bool lp_lane_end_is_right(const struct lp_lane *lane, const uint8_t *src,
                                        uint32_t src_bytes, uint32_t align_bytes, uint32_t base,
                                        uint64_t bit, uint32_t n_raw)
{
    const uint32_t raw_byte = (uint32_t)((bit + 7) / 8);
    const uint64_t used_bytes = raw_byte + (uint64_t)n_raw * lane->escape_bytes;

    return used_bytes <= src_bytes && src_bytes - used_bytes < align_bytes &&
           base <= lane->exponent_mask &&
           lp_lane_padding_is_zero(src, bit, (uint32_t)used_bytes, src_bytes) &&
           lp_lane_raw_in_range(lane, src + raw_byte, n_raw);
}

/* The record's base, where its head is known to be there. */
static inline uint32_t lp_lane_base(const struct lp_lane *lane, const uint8_t *src,
                                    uint32_t head_bytes)
{
    return lane->base_bytes == 0
               ? 0
               : lp_lane_load_exponent(src + head_bytes - lane->base_bytes, lane->base_bytes);
}

/* False: the record does not end as lp_lane_end_is_right() asks for, or breaks another rule. Each
 * part is known to lie within src_bytes before it is read. */
static inline __attribute__((always_inline)) bool
lp_lane_find_parts(const struct lp_lane *lane, const uint8_t *src, uint32_t src_bytes,
                   uint32_t align_bytes, uint32_t n, lp_lane_count_zeros *count_zeros,
                   struct lp_lane_parts *parts)
{
    const uint32_t head_bytes = lp_lane_head_bytes(lane, n);
    uint64_t bit = (uint64_t)head_bytes * 8;

    if (head_bytes > src_bytes)
        return false;
    parts->base = lp_lane_base(lane, src, head_bytes);
    parts->planes_bit = bit;
    bit += (uint64_t)lane->plane_bits * n;
    parts->count[0] = n;
    for (uint32_t k = 0; k < lane->n_levels; k++) {
        parts->level_bit[k] = bit;
        bit += (uint64_t)lane->widths[k] * parts->count[k];
        if (bit > (uint64_t)src_bytes * 8)
            return false;
        parts->count[k + 1] =
            count_zeros(src, parts->level_bit[k], lane->widths[k], parts->count[k]);
    }
    parts->raw_byte = (uint32_t)((bit + 7) / 8);
    return lp_lane_end_is_right(lane, src, src_bytes, align_bytes, parts->base, bit,
                                parts->count[lane->n_levels]);
}

#endif
