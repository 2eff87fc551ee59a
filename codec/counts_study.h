/* SPDX-License-Identifier: Apache-2.0 */
/* What learning counts looks at: values of some rows of a sample, by row and by column, and whether
 * they look like counts at all.
 *
 * lp_codec_counts_study_alloc() -> rows -> the gate -> columns; fini at any point. */
#ifndef LP_CODEC_COUNTS_STUDY_H
#define LP_CODEC_COUNTS_STUDY_H

#include "codec/counts_fit.h"

/* Values of some rows, by row and by column; positive and normal ones alone. */
struct lp_counts_study {
    const struct lp_counts_sample *sample;
    const struct lp_codec_ops *ops;
    uint32_t n_columns, n_rows, n_values;
    uint64_t *map;          /* owned, as all that follow: of a record */
    uint8_t *values;        /* of a record */
    uint32_t *row_start;    /* n_rows + 1: row i has the values from row_start[i] on */
    uint32_t *column_start; /* n_columns + 2, into by_column; one more than counts end in */
    uint32_t *by_column;    /* n_values: the values of each column, in the order of rows */
    uint32_t *row, *column; /* n_values each: where a value stands */
    float *value;           /* n_values */
    double *rows, *columns; /* scales */
    float *scales;          /* n_columns: what comes out */
    uint8_t *symbols;       /* of all records of the sample */
    struct lp_counts_costs costs;
};

/* The values of one line, a row or a column, and their other factors. */
struct lp_counts_line {
    const uint32_t *values; /* numbers of values; NULL: first, first + 1 and so on */
    uint32_t first, n;
    const uint32_t *others; /* of each value: which scale is its other factor */
    const double *factors;
};

static inline uint32_t lp_counts_line_value(const struct lp_counts_line *line, uint32_t i)
{
    return line->values != NULL ? line->values[line->first + i] : line->first + i;
}

static inline struct lp_counts_line lp_counts_row_line(const struct lp_counts_study *study,
                                                       uint32_t r)
{
    return (struct lp_counts_line){.first = study->row_start[r],
                                   .n = study->row_start[r + 1] - study->row_start[r],
                                   .others = study->column,
                                   .factors = study->columns};
}

static inline struct lp_counts_line lp_counts_column_line(const struct lp_counts_study *study,
                                                          uint32_t c)
{
    return (struct lp_counts_line){.values = study->by_column,
                                   .first = study->column_start[c],
                                   .n = study->column_start[c + 1] - study->column_start[c],
                                   .others = study->row,
                                   .factors = study->rows};
}

/* A zeroed study with its sample, ops and n_columns; study owns what it allocates until fini, on
 * failure too. LP_ENOMEM. */
int lp_codec_counts_study_alloc(struct lp_counts_study *study, struct lp_error *err);
void lp_codec_counts_study_fini(struct lp_counts_study *study);

/* Map and values of record r of the sample; how many. */
uint32_t lp_codec_counts_study_record(struct lp_counts_study *study, uint64_t r);

/* Fill in rows. */
void lp_codec_counts_study_rows(struct lp_counts_study *study);

/* The gate, cheap: values are counts times a scale of their row; or of row and column. */
bool lp_codec_counts_rows_pass(const struct lp_counts_study *study);
bool lp_codec_counts_pairs_pass(const struct lp_counts_study *study);

/* Sort the values by column. LP_ENOMEM. */
int lp_codec_counts_study_columns(struct lp_counts_study *study, struct lp_error *err);

#endif
