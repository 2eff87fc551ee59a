/* SPDX-License-Identifier: Apache-2.0 */
/* A run of elements minus or plus its columns, wherever in the tensor it lies. Inline: this is the
 * row path. Source: docs/FORMAT.md, section 5. */
#ifndef LP_CODEC_LANE_SHIFT_H
#define LP_CODEC_LANE_SHIFT_H

#include "codec/ops.h"

/* Subtract from the exponents of n elements, of which the first has the index first in the tensor,
 * the bases of their columns, or add them. lane has columns; n is at most its span, so that the run
 * reaches into two groups at most. */
static inline void lp_lane_shift(const struct lp_lane *lane, const struct lp_codec_ops *ops,
                                 uint64_t first, void *elements, uint32_t n, bool subtract)
{
    uint32_t phase = (uint32_t)(first % lane->column_period);
    uint8_t *p = elements;
    uint64_t group = 0;

    if (lane->column_span != 0) {
        const uint64_t left = lane->column_span - first % lane->column_span;

        group = first / lane->column_span;
        if (left < n) {
            ops->exponent_shift(lane, p, (uint32_t)left, lp_lane_column_group(lane, group), phase,
                                subtract);
            p += left * lane->elem_bytes;
            n -= (uint32_t)left;
            phase = 0;
            group++;
        }
    }
    ops->exponent_shift(lane, p, n, lp_lane_column_group(lane, group), phase, subtract);
}

#endif
