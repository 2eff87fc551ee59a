/* SPDX-License-Identifier: Apache-2.0 */
/* What the choice of ibp masks asks of a CPU tier (codec/ops.h): counting bits, measuring several
 * sets of masks at once, and finding the masks of one position. codec_ibp_learn.c drives them;
 * ibp_measure_body.h and ibp_pick_body.h have the bodies. All in whole numbers: every tier finds
 * the same. */
#ifndef LP_CODEC_IBP_SEARCH_H
#define LP_CODEC_IBP_SEARCH_H

#include "base/bytes.h"

/* Bytes of a record that are counted side by side. */
#define LP_IBP_COUNT_BLOCK 64u
#define LP_IBP_COUNT_STATE 11u /* blocks of state for each block of a record */

/* Bytes of zeroed scratch that counting needs: a record of zeros, then the state. */
static inline size_t lp_ibp_count_scratch(uint32_t record_bytes)
{
    const size_t blocks = (record_bytes + LP_IBP_COUNT_BLOCK - 1) / LP_IBP_COUNT_BLOCK;

    return blocks * LP_IBP_COUNT_BLOCK * (1 + LP_IBP_COUNT_STATE);
}

/* Sets of masks that are measured side by side. For each word of a record one line of lanes:
 * masks, values, and bits saved where they match; of word_bytes each. */
#define LP_IBP_LANES 8u

struct lp_ibp_score {
    uint32_t word_bytes, n_words;
    uint32_t align_bytes; /* a power of two: of stored records */
    uint32_t raw_length;  /* what a record takes that does not shrink */
    uint32_t head_bytes;  /* of a record that does */
    const uint8_t *lanes; /* n_words times mask[LP_IBP_LANES], value[], gain[] */
};

/* Sums over records, one per set of masks. */
struct lp_ibp_totals {
    uint64_t saved_bits[LP_IBP_LANES];    /* participation bits paid, no record below zero */
    uint64_t payload_bytes[LP_IBP_LANES]; /* the codec's sizes, raw ones where that is stored */
    uint64_t stored_bytes[LP_IBP_LANES];  /* aligned */
};

/* Records that are looked at to find a position's masks, at most. */
#define LP_IBP_PICK_RECORDS 512u

/* A position's words, pitch bytes apart. */
struct lp_ibp_column {
    const uint8_t *first;
    uint32_t pitch, n, word_bytes;
};

struct lp_ibp_pick {
    uint64_t mask, value;
};

#endif
