/* SPDX-License-Identifier: Apache-2.0 */
/* What a record takes of stack while a vector tier encodes it. */
#ifndef LP_CODEC_LANE_WORK_H
#define LP_CODEC_LANE_WORK_H

#include "codec/lane_bits.h"

#define LANE_SMALL_ELEMENTS 4096u
#define LANE_PLANES_MAX 7u
#define LANE_PLANE_SLACK 9u
#define LANE_PLANE_STRIDE(n) ((n) / 64 + 2 + LANE_PLANE_SLACK)

/* What a record of n elements takes while it is coded. */
#define LANE_WORK(n)                                                                               \
    {                                                                                              \
        uint8_t exponents[(n) + 64];                                                               \
        uint8_t places[(n) + 64];                                                                  \
        uint8_t bits[(n) + 64];                                                                    \
        uint64_t planes[LANE_PLANES_MAX * LANE_PLANE_STRIDE(n)];                                   \
    }
struct lane_work_small LANE_WORK(LANE_SMALL_ELEMENTS);
struct lane_work_large LANE_WORK(LP_FORMAT_RECORD_BYTES_MAX);
LP_STATIC_ASSERT(sizeof(struct lane_work_large) + (24u << 10) < LP_LANE_STACK_BYTES_MAX,
                 "an encoder's stack is bounded");

struct lane_work {
    uint8_t *exponents; /* one byte each, or 2 where they are wide */
    uint8_t *places;
    uint8_t *bits;    /* what is kept as planes, a byte each; later what goes down the levels */
    uint64_t *planes; /* their first words are stride apart */
    uint32_t stride;
};

#endif
