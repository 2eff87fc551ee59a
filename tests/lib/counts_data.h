/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of counts, scaled by row and by column, as codec sparse keeps them (codec/counts.h): the
 * same on every machine and in every rounding mode. */
#ifndef LP_TESTS_COUNTS_DATA_H
#define LP_TESTS_COUNTS_DATA_H

#include "codec/counts.h"

#include <stdint.h>

struct counts_data {
    uint32_t n_rows, n_columns;
    uint32_t of;        /* one element in so many is not zero */
    uint64_t seed;      /* where they stand, and counts */
    bool equal_columns; /* their scales are all 1 */
    bool odd;           /* some values are no counts, some rows are empty, some have none at all;
                           values of a few rows are so small that they have no symbol */
};

/* Bits of the scales. */
uint32_t counts_data_column(const struct counts_data *data, uint32_t column);
uint32_t counts_data_row(const struct counts_data *data, uint32_t row);

/* n_rows * n_columns f32 into elements. */
void counts_data_fill(const struct counts_data *data, void *elements);

/* Parameters for such elements, with the scales that they were made with and a dictionary of
 * symbols that most of them have. The test ends where there is no memory. */
void counts_data_params(const struct counts_data *data, struct lp_counts *ret_counts);

#endif
