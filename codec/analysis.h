/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bits of a tensor are: what its elements look like before any codec, and how far an
 * ideal coder of their exponents could go. For people (`lanepack analyze`); nothing is decided
 * here. */
#ifndef LP_CODEC_ANALYSIS_H
#define LP_CODEC_ANALYSIS_H

#include "codec/sample.h"

#define LP_ANALYSIS_BINS_MAX 64u /* across the columns of the bit map */
#define LP_ANALYSIS_BITS_MAX 64u /* of an element */
#define LP_ANALYSIS_BLOCK_ELEMENTS 4096u
/* A column's entropy is told only where it has so many elements on average: with fewer, counting
 * alone makes it look small. */
#define LP_ANALYSIS_COLUMN_ELEMENTS_MIN 64u
/* Columns times values of the field, at most: what is counted takes 4 bytes each. */
#define LP_ANALYSIS_COLUMN_COUNTS_MAX (UINT64_C(1) << 22)

/* An order-0 entropy of the field. */
struct lp_analysis_entropy {
    double bits;   /* per element; < 0: not measured */
    double saving; /* share of the raw bytes that an ideal coder of the field saves when it keeps
                      all other bits: (width of the field - bits) / bits of an element */
};

struct lp_analysis {
    uint32_t dtype;
    uint32_t element_bits;
    uint64_t n_elements; /* looked at */
    uint64_t zeros;      /* of these: all bits zero */

    /* Whole elements, of at most 16 bits; else distinct is 0. */
    uint64_t distinct;
    double element_entropy; /* bits; < 0: not measured */

    /* The field that codec lane would code: the exponent of floats, the whole byte of i8 and u8. */
    uint32_t field_bits;   /* 0: the dtype has none; then the rest of this group is empty */
    uint64_t *field_count; /* 2^field_bits numbers, owned */
    struct lp_analysis_entropy whole, by_column, by_block;
    uint64_t columns; /* that by_column counts: the last dimension; 0: not measured */

    /* How often each bit is set, over column bins: bit b of bin i is set in ones[i][b] of
     * bin_elements[i] elements. A bin is bin_columns neighbours of the last dimension; 1-D tensors
     * have one bin. */
    uint32_t n_bins;
    uint64_t bin_columns;
    uint64_t bin_elements[LP_ANALYSIS_BINS_MAX];
    uint64_t ones[LP_ANALYSIS_BINS_MAX][LP_ANALYSIS_BITS_MAX];
};

/* Count over a sample: its runs (codec/sample.h), back to back, borrowed; geometry is the whole
 * tensor's. *ret_analysis is new, ended by lp_codec_analysis_free(), untouched on failure.
 * LP_ENOTSUP: elements of 3 bytes; LP_ENOMEM. */
int lp_codec_analysis_new(struct lp_analysis **ret_analysis, const struct lp_geometry *geometry,
                          const struct lp_sample *layout, const void *sample, struct lp_error *err);

/* NULL is fine. */
void lp_codec_analysis_free(struct lp_analysis *analysis);

#endif
