/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the scale of a row whose columns are known, or of a column whose rows are: values divided
 * by the other factor are whole multiples of it, but for a few and for what rounding has left.
 *
 * To be called between lp_rounding_set() and lp_rounding_restore(), out of functions that are not
 * inlined there; files that include this are compiled without contraction. */
#ifndef LP_CODEC_COUNTS_FIT_H
#define LP_CODEC_COUNTS_FIT_H

#include "codec/counts.h"

#define LP_COUNTS_MAX (LP_FORMAT_COUNTS_SYMBOLS >> LP_FORMAT_COUNTS_RESIDUAL_BITS)

/* Values that a scale is looked for in, at most: of longer rows these are spread evenly. */
#define LP_COUNTS_PICKS 64u

struct lp_counts_picks {
    uint32_t n;
    uint32_t value[LP_COUNTS_PICKS]; /* bits; positive and normal */
    float factor[LP_COUNTS_PICKS];   /* the other factor of each, a scale */
    float quotient[LP_COUNTS_PICKS];
};

/* One more of fewer than LP_COUNTS_PICKS; a value that is no product of scales is left out. */
void lp_codec_counts_pick(struct lp_counts_picks *picks, uint32_t value, float factor);

/* A scale of which most quotients are whole multiples, to within a few ulp, as large as may be.
 * *ret_whole gets how many. 0: none of those that were tried explains one. */
float lp_codec_counts_base(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                           uint32_t *ret_whole);

/* The scale of a row to code it with: the neighbour of base with which the picks cost least; 1
 * where base is 0. symbols gets those that the picks then have, or their bits. */
float lp_codec_counts_row(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                          float base, uint32_t *symbols);

/* The count of a quotient that should be a whole number, 1 to LP_COUNTS_MAX; 0: it is too far from
 * one. */
uint32_t lp_codec_counts_whole(float quotient);

/* The symbol of a value, which is that of its bits where the product is too far; LP_COUNTS_NONE: it
 * has none. */
#define LP_COUNTS_NONE UINT32_MAX
uint32_t lp_codec_counts_symbol(uint32_t value, float row, float column);

/* A row's scale, and the symbols of its m values, m > 0, which stand in the columns that map has
 * (codec/sparse_places.h); both have 4 bytes each, at any address. The same whatever the thread's
 * rounding mode is: this may be called from anywhere. False: a value has no symbol. */
bool lp_codec_counts_symbols(const float *columns, const struct lp_counts_costs *costs,
                             const uint64_t *map, const void *src, uint32_t m, float *ret_scale,
                             void *symbols);

#endif
