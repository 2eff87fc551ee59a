/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a sample, spread evenly over it, and their columns. */
#include "codec/counts_study.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/sparse_places.h"

#include <string.h>

/* Values that columns are learned from, about. */
#define STUDY_VALUES 65536u

int lp_codec_counts_study_alloc(struct lp_counts_study *study, struct lp_error *err)
{
    const struct lp_counts_sample *const sample = study->sample;
    const size_t n = (size_t)LP_MIN(sample->n_values, 2 * STUDY_VALUES);
    const size_t columns = study->n_columns;

    study->map = lp_mem_alloc_array(lp_sparse_map_words(study->n_columns), sizeof(*study->map));
    study->values = lp_mem_alloc(columns * LP_FORMAT_COUNTS_SYMBOL_BYTES + LP_CODEC_SLACK_BYTES);
    study->row_start = lp_mem_zalloc((size_t)(sample->n_records + 1) * sizeof(*study->row_start));
    study->row = lp_mem_alloc_array(n, sizeof(*study->row));
    study->column = lp_mem_alloc_array(n, sizeof(*study->column));
    study->value = lp_mem_alloc_array(n, sizeof(*study->value));
    study->scales = lp_mem_zalloc(columns * sizeof(*study->scales));
    if (study->map == NULL || study->values == NULL || study->row_start == NULL ||
        study->row == NULL || study->column == NULL || study->value == NULL ||
        study->scales == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to learn counts");
    return 0;
}

void lp_codec_counts_study_fini(struct lp_counts_study *study)
{
    lp_mem_free(study->map);
    lp_mem_free(study->values);
    lp_mem_free(study->row_start);
    lp_mem_free(study->column_start);
    lp_mem_free(study->by_column);
    lp_mem_free(study->row);
    lp_mem_free(study->column);
    lp_mem_free(study->value);
    lp_mem_free(study->rows);
    lp_mem_free(study->columns);
    lp_mem_free(study->scales);
    lp_mem_free(study->symbols);
}

uint32_t lp_codec_counts_study_record(struct lp_counts_study *study, uint64_t r)
{
    const uint32_t bytes = study->n_columns * LP_FORMAT_COUNTS_SYMBOL_BYTES;

    return study->ops->sparse_find(LP_FORMAT_COUNTS_SYMBOL_BYTES,
                                   (const uint8_t *)study->sample->elements + r * bytes,
                                   study->n_columns, study->map, study->values);
}

static void add_row(struct lp_counts_study *study, uint32_t m)
{
    uint32_t i = 0;

    for (uint32_t w = 0; i < m; w++) {
        for (uint64_t word = study->map[w]; word != 0; word &= word - 1, i++) {
            const uint32_t bits =
                lp_load_u32(study->values + (size_t)i * LP_FORMAT_COUNTS_SYMBOL_BYTES);
            const uint32_t at = study->n_values;

            if (bits >> 23 < 1 || bits >> 23 > 254)
                continue;
            memcpy(&study->value[at], &bits, sizeof(bits));
            study->column[at] = 64 * w + (uint32_t)__builtin_ctzll(word);
            study->row[at] = study->n_rows;
            study->n_values++;
        }
    }
    study->row_start[++study->n_rows] = study->n_values;
}

/* Records that are spread evenly, as many as hold about STUDY_VALUES. */
void lp_codec_counts_study_rows(struct lp_counts_study *study)
{
    const struct lp_counts_sample *const sample = study->sample;
    const uint64_t step = (sample->n_values + STUDY_VALUES - 1) / STUDY_VALUES;
    const uint64_t room = LP_MIN(sample->n_values, 2 * STUDY_VALUES);

    for (uint64_t r = 0; r < sample->n_records; r += step) {
        const uint32_t m = lp_codec_counts_study_record(study, r);

        if (study->n_values + m > room)
            break;
        add_row(study, m);
    }
}

static int alloc_columns(struct lp_counts_study *study, struct lp_error *err)
{
    study->column_start =
        lp_mem_zalloc(((size_t)study->n_columns + 2) * sizeof(*study->column_start));
    study->by_column = lp_mem_alloc_array(study->n_values, sizeof(*study->by_column));
    study->rows = lp_mem_alloc_array(study->n_rows, sizeof(*study->rows));
    study->columns = lp_mem_alloc_array(study->n_columns, sizeof(*study->columns));
    if (study->column_start == NULL || study->by_column == NULL || study->rows == NULL ||
        study->columns == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to learn counts");
    return 0;
}

/* Values sorted by column: counted, summed up, put. */
int lp_codec_counts_study_columns(struct lp_counts_study *study, struct lp_error *err)
{
    uint32_t *start;
    int rc;

    LP_TRY(rc, alloc_columns(study, err));
    start = study->column_start;
    for (uint32_t i = 0; i < study->n_values; i++)
        start[study->column[i] + 2]++;
    for (uint32_t c = 2; c <= study->n_columns; c++)
        start[c] += start[c - 1];
    for (uint32_t i = 0; i < study->n_values; i++)
        study->by_column[start[study->column[i] + 1]++] = i;
    return 0;
}
