/* SPDX-License-Identifier: Apache-2.0 */
/* Bit strings 64 bits at a time, and counts of bytes: what the fast tiers share. */
#ifndef LP_CODEC_LANE_BITS_H
#define LP_CODEC_LANE_BITS_H

#include "base/bytes.h"
#include "codec/lane.h"

#define LP_ALWAYS_INLINE inline __attribute__((always_inline))

/* Encoders of codec dict leave records of more elements to the scalar tier: what they keep of each
 * stays on the stack, and a symbol, or behind the symbols the index of a raw element, in 16 bits.
 * Every record that is not chosen by hand is smaller. */
#define LP_LANE_FAST_ELEMENTS_MAX 16384u

/* What any call of a vector tier needs of stack at most, for the longest records that the format
 * has; records of up to 4,096 elements need a tenth of it. */
#define LP_LANE_STACK_BYTES_MAX (288u << 10)

/* False: a record of n elements is longer than the format allows, and than the buffers of the
 * vector tiers are; nobody has one, and scalar takes it. */
static inline bool lp_lane_fits_tiers(const struct lp_lane *lane, uint32_t n)
{
    return (uint64_t)n * lane->elem_bytes <= LP_FORMAT_RECORD_BYTES_MAX;
}

/* Bits [bit, bit + 64) of src. Reads 9 bytes. */
static LP_ALWAYS_INLINE uint64_t lp_lane_load_bits(const uint8_t *src, uint64_t bit)
{
    const uint8_t *const p = src + bit / 8;
    const uint32_t shift = bit % 8;

    /* The second load begins a byte later, so that no shift is by 64. */
    return lp_load_u64(p) >> shift | lp_load_u64(p + 1) << (8 - shift);
}

/* Append the first n bits of words behind bit of dst; words' bits behind them are cleared. Stores
 * up to 8 bytes behind the bits. */
static inline void lp_lane_put_bits(uint8_t *dst, uint64_t bit, uint64_t *words, uint32_t n)
{
    const uint32_t shift = bit % 8, n_words = (n + 63) / 64;
    uint64_t carry;

    dst += bit / 8;
    carry = shift != 0 ? *dst & ((1u << shift) - 1) : 0;
    if (n % 64 != 0)
        words[n_words - 1] &= (UINT64_C(1) << (n % 64)) - 1;
    for (uint32_t i = 0; i < n_words; i++, dst += 8) {
        lp_store_u64(dst, words[i] << shift | carry);
        carry = words[i] >> 1 >> (63 - shift);
    }
    /* The last bits, when they reach into one byte more. */
    if (n_words > 0 && (n + 63) % 64 + 1 + shift > 64)
        *dst = (uint8_t)carry;
}

/* Counts side by side, so that equal neighbours do not wait for each other. 16 bits are enough for
 * LP_LANE_COUNTED_MAX bytes, and less to clear. */
#define LP_LANE_PARTS 8u
#define LP_LANE_COUNTED_MAX 65535u

struct lp_lane_part_counts {
    uint16_t part[LP_LANE_PARTS][256];
};

static inline void lp_lane_count_bytes(const uint8_t *bytes, uint32_t n,
                                       struct lp_lane_part_counts *counts)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const uint64_t e = lp_load_u64(bytes + i);

        counts->part[0][e & 0xff]++;
        counts->part[1][e >> 8 & 0xff]++;
        counts->part[2][e >> 16 & 0xff]++;
        counts->part[3][e >> 24 & 0xff]++;
        counts->part[4][e >> 32 & 0xff]++;
        counts->part[5][e >> 40 & 0xff]++;
        counts->part[6][e >> 48 & 0xff]++;
        counts->part[7][e >> 56]++;
    }
    for (; i < n; i++)
        counts->part[0][bytes[i]]++;
}

#endif
