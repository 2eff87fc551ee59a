/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of counts of bytes, for tiers that have no better way: count_exponents() of
 * codec/lane_encode.h and add_counts() of codec/lane_histogram.h. */
#ifndef LP_CODEC_LANE_COUNT_H
#define LP_CODEC_LANE_COUNT_H

#include "codec/lane.h"
#include "codec/lane_bits.h"

static inline void add_counts(const struct lp_lane_part_counts *counts, uint32_t n, uint32_t *hist)
{
    for (uint32_t p = 0; p < LP_LANE_PARTS; p++) {
        for (uint32_t i = 0; i < n; i++)
            hist[i] += counts->part[p][i];
    }
}

static inline struct lp_lane_counts count_exponents(const uint8_t *exponents, uint32_t n,
                                                    uint32_t limit, uint32_t *hist)
{
    struct lp_lane_counts result = {hist, 0, limit, n};
    struct lp_lane_part_counts counts = {0};

    lp_lane_count_bytes(exponents, n, &counts);
    memset(hist, 0, (limit + 1) * sizeof(hist[0]));
    add_counts(&counts, limit + 1, hist);
    lp_lane_counts_trim(&result);
    return result;
}

#endif
