/* SPDX-License-Identifier: Apache-2.0 */
/* Bit strings 64 bits at a time, and counts of bytes: what the fast tiers share. */
#ifndef LP_CODEC_LANE_BITS_H
#define LP_CODEC_LANE_BITS_H

#include "base/bytes.h"

#define LP_ALWAYS_INLINE inline __attribute__((always_inline))

/* Records of more elements are left to the scalar tier, which bounds the stack that a call needs;
 * every record that is not chosen by hand is smaller. */
#define LP_LANE_FAST_ELEMENTS_MAX 16384u

/* Bits [bit, bit + 64) of src. Reads 9 bytes. */
static LP_ALWAYS_INLINE uint64_t lp_lane_load_bits(const uint8_t *src, uint64_t bit)
{
    const uint8_t *const p = src + bit / 8;
    const uint32_t shift = bit % 8;

    /* The second load begins a byte later, so that no shift is by 64. */
    return lp_load_u64(p) >> shift | lp_load_u64(p + 1) << (8 - shift);
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
