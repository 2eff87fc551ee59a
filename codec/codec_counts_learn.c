/* SPDX-License-Identifier: Apache-2.0 */
/* Learning the scales of columns from rows of a sample.
 *
 * A value is count * row * column. Most counts of a text are small and the same, so the medians of
 * what is left of values when the other factor is taken away, rows and columns in turn, soon are
 * rows and columns up to small fractions, which fitting whole numbers then finds. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/counts_fit.h"
#include "codec/ops.h"
#include "codec/rounding.h"
#include "codec/sparse_places.h"

#include <string.h>

/* Values that columns are learned from, about; rows are spread evenly over the sample. */
#define STUDY_VALUES 65536u
/* Values of a row or column that its median is of, at most. */
#define MEDIAN_VALUES 256u
#define MEDIAN_ROUNDS 12u
#define WHOLE_ROUNDS 4u
/* This share of values is enough to leave rows without scales, in eighths. */
#define ALONE_EIGHTHS 6u

/* The gate: pairs of values, or of columns in pairs of rows, whose ratio must be one of two small
 * numbers, if there are counts. */
#define GATE_ROWS 64u
#define GATE_OTHERS 32u
#define GATE_TESTS_MIN 16u
#define GATE_TESTS_MAX 256u
#define GATE_PARTS 64u
#define GATE_COUNT_MAX 256u

/* Values of some rows, by row and by column; positive and normal ones alone. */
struct study {
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

static void study_fini(struct study *study)
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

/* A symbol's price before anything is known of them: small counts and small residuals are cheap. */
static void guess_costs(struct lp_counts_costs *costs)
{
    costs->far = 40;
    for (uint32_t s = 0; s < LP_COUNTS_NEAR; s++) {
        const uint32_t count = (s >> LP_FORMAT_COUNTS_RESIDUAL_BITS) + 1;
        const uint32_t residual = s % (1u << LP_FORMAT_COUNTS_RESIDUAL_BITS);
        const uint32_t away = residual > LP_FORMAT_COUNTS_RESIDUAL_BIAS
                                  ? residual - LP_FORMAT_COUNTS_RESIDUAL_BIAS
                                  : LP_FORMAT_COUNTS_RESIDUAL_BIAS - residual;

        costs->near[s] =
            (uint8_t)(1 + 2 * (31 - (uint32_t)__builtin_clz(count)) + (count > 1) + 2 * away);
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

static uint32_t find_record(struct study *study, uint64_t r)
{
    const uint32_t bytes = study->n_columns * LP_FORMAT_COUNTS_SYMBOL_BYTES;

    return study->ops->sparse_find(LP_FORMAT_COUNTS_SYMBOL_BYTES,
                                   (const uint8_t *)study->sample->elements + r * bytes,
                                   study->n_columns, study->map, study->values);
}

static void add_row(struct study *study, uint32_t m)
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
static void find_rows(struct study *study)
{
    const struct lp_counts_sample *const sample = study->sample;
    const uint64_t step = (sample->n_values + STUDY_VALUES - 1) / STUDY_VALUES;
    const uint64_t room = LP_MIN(sample->n_values, 2 * STUDY_VALUES);

    for (uint64_t r = 0; r < sample->n_records; r += step) {
        const uint32_t m = find_record(study, r);

        if (study->n_values + m > room)
            break;
        add_row(study, m);
    }
}

static int alloc_rows(struct study *study, struct lp_error *err)
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

/* --- the gate -------------------------------------------------------------------------------- */

static bool is_small_ratio(float a, float b)
{
    const float ratio = a > b ? a / b : b / a;

    for (uint32_t part = 1; part <= GATE_PARTS; part++) {
        const uint32_t count = lp_codec_counts_whole(ratio * (float)part);

        if (count != 0 && count <= GATE_COUNT_MAX)
            return true;
    }
    return false;
}

struct gate {
    uint32_t tests, hits;
};

static void test_ratio(struct gate *gate, float a, float b)
{
    gate->tests++;
    gate->hits += is_small_ratio(a, b);
}

static bool gate_opens(const struct gate *gate)
{
    return gate->tests >= GATE_TESTS_MIN && 2 * gate->hits >= gate->tests;
}

/* Neighbours in a row are counts times the same factor, if columns have none. */
static bool rows_have_counts(const struct study *study)
{
    const uint32_t step = study->n_rows / GATE_ROWS + 1;
    struct gate gate = {0};

    for (uint32_t r = 0; r < study->n_rows && gate.tests < GATE_TESTS_MAX; r += step) {
        const uint32_t end = LP_MIN(study->row_start[r + 1], study->row_start[r] + 9);

        for (uint32_t i = study->row_start[r] + 1; i < end; i++)
            test_ratio(&gate, study->value[i - 1], study->value[i]);
    }
    return gate_opens(&gate);
}

/* One row divided by another: neighbours have the same two rows, and columns are gone. line has the
 * first row, and zeros. */
static void test_rows(const struct study *study, const float *line, uint32_t other,
                      struct gate *gate)
{
    float last = 0;

    for (uint32_t i = study->row_start[other]; i < study->row_start[other + 1]; i++) {
        const float first = line[study->column[i]];
        float ratio;

        if (first == 0)
            continue;
        ratio = study->value[i] / first;
        if (last != 0)
            test_ratio(gate, ratio, last);
        last = ratio;
    }
}

static bool pairs_have_counts(const struct study *study)
{
    const uint32_t n = study->n_rows, step = n / GATE_ROWS + 1, far = n / GATE_OTHERS + 1;
    float *const line = study->scales;
    struct gate gate = {0};

    for (uint32_t r = 0; r < n && gate.tests < GATE_TESTS_MAX; r += step) {
        for (uint32_t i = study->row_start[r]; i < study->row_start[r + 1]; i++)
            line[study->column[i]] = study->value[i];
        for (uint32_t other = 0; other < n && gate.tests < GATE_TESTS_MAX; other += far)
            if (other != r)
                test_rows(study, line, other, &gate);
        for (uint32_t i = study->row_start[r]; i < study->row_start[r + 1]; i++)
            line[study->column[i]] = 0;
    }
    return gate_opens(&gate);
}

/* --- medians --------------------------------------------------------------------------------- */

/* The value that would stand at place k of n, were they sorted; reorders them. Hoare's way. */
static double select_kth(double *values, int32_t n, int32_t k)
{
    int32_t first = 0, last = n - 1;

    while (first < last) {
        const double pivot = values[k];
        int32_t i = first, j = last;

        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                const double value = values[i];

                values[i++] = values[j];
                values[j--] = value;
            }
        }
        if (j < k)
            first = i;
        if (k < i)
            last = j;
    }
    return values[k];
}

/* The values of one line, a row or a column, and their other factors. */
struct line {
    const uint32_t *values; /* numbers of values; NULL: first, first + 1 and so on */
    uint32_t first, n;
    const uint32_t *others; /* of each value: which scale is its other factor */
    const double *factors;
};

static uint32_t line_value(const struct line *line, uint32_t i)
{
    return line->values != NULL ? line->values[line->first + i] : line->first + i;
}

static struct line row_line(const struct study *study, uint32_t r)
{
    return (struct line){.first = study->row_start[r],
                         .n = study->row_start[r + 1] - study->row_start[r],
                         .others = study->column,
                         .factors = study->columns};
}

static struct line column_line(const struct study *study, uint32_t c)
{
    return (struct line){.values = study->by_column,
                         .first = study->column_start[c],
                         .n = study->column_start[c + 1] - study->column_start[c],
                         .others = study->row,
                         .factors = study->rows};
}

/* The lower median of the quotients of some values, spread evenly; scale where there are none. */
static double median(const struct study *study, const struct line *line, double scale)
{
    double quotients[MEDIAN_VALUES];
    const uint32_t step = (line->n + MEDIAN_VALUES - 1) / MEDIAN_VALUES;
    int32_t n = 0;

    for (uint32_t i = 0; i < line->n; i += step) {
        const uint32_t at = line_value(line, i);

        quotients[n++] = (double)study->value[at] / line->factors[line->others[at]];
    }
    return n == 0 ? scale : select_kth(quotients, n, (n - 1) / 2);
}

static void find_medians(struct study *study)
{
    for (uint32_t round = 0; round < MEDIAN_ROUNDS; round++) {
        for (uint32_t c = 0; c < study->n_columns; c++) {
            const struct line line = column_line(study, c);

            study->columns[c] = median(study, &line, 1);
        }
        for (uint32_t r = 0; r < study->n_rows; r++) {
            const struct line line = row_line(study, r);

            study->rows[r] = median(study, &line, 1);
        }
    }
}

/* --- whole numbers --------------------------------------------------------------------------- */

static void pick_line(const struct study *study, const struct line *line,
                      struct lp_counts_picks *picks)
{
    const uint32_t step = (line->n + LP_COUNTS_PICKS - 1) / LP_COUNTS_PICKS;

    picks->n = 0;
    for (uint32_t i = 0; i < line->n; i += step) {
        const uint32_t at = line_value(line, i);
        uint32_t bits;

        memcpy(&bits, &study->value[at], sizeof(bits));
        lp_codec_counts_pick(picks, bits, (float)line->factors[line->others[at]]);
    }
}

/* A scale from all values of a line that are whole multiples of base: their mean. Adds how many
 * they are to *n_whole. */
static double mean_scale(const struct study *study, const struct line *line, float base,
                         uint32_t *n_whole)
{
    double sum = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < line->n; i++) {
        const uint32_t at = line_value(line, i);
        const double quotient = (double)study->value[at] / line->factors[line->others[at]];
        const uint32_t count = lp_codec_counts_whole((float)quotient / base);

        sum += count != 0 ? quotient / count : 0;
        n += count != 0;
    }
    *n_whole += n;
    return n == 0 ? base : sum / n;
}

static double fit_line(const struct study *study, const struct line *line, double scale,
                       uint32_t *n_whole)
{
    struct lp_counts_picks picks;
    uint32_t whole;
    float base;

    pick_line(study, line, &picks);
    base = lp_codec_counts_base(&picks, &study->costs, &whole);
    return base == 0 ? scale : mean_scale(study, line, base, n_whole);
}

/* Whether rows can do without scales: columns alone explain most values, and not only because a
 * column's first value can't contradict them. */
static bool find_columns_alone(struct study *study)
{
    uint32_t n_whole = 0, n_used = 0;

    for (uint32_t r = 0; r < study->n_rows; r++)
        study->rows[r] = 1;
    for (uint32_t c = 0; c < study->n_columns; c++) {
        const struct line line = column_line(study, c);

        study->columns[c] = fit_line(study, &line, 1, &n_whole);
        n_used += line.n > 0;
    }
    return n_whole > n_used &&
           (uint64_t)(n_whole - n_used) * 8 >= (uint64_t)(study->n_values - n_used) * ALONE_EIGHTHS;
}

static void find_whole(struct study *study)
{
    uint32_t n_whole = 0;

    for (uint32_t round = 0; round < WHOLE_ROUNDS; round++) {
        for (uint32_t r = 0; r < study->n_rows; r++) {
            const struct line line = row_line(study, r);

            study->rows[r] = fit_line(study, &line, study->rows[r], &n_whole);
        }
        for (uint32_t c = 0; c < study->n_columns; c++) {
            const struct line line = column_line(study, c);

            study->columns[c] = fit_line(study, &line, study->columns[c], &n_whole);
        }
    }
}

/* Of a factor that rows may have and columns do without, the middle row has none: where rows have
 * no scales at all, columns then get their own. */
static void set_scales(struct study *study)
{
    const double middle =
        select_kth(study->rows, (int32_t)study->n_rows, (int32_t)(study->n_rows - 1) / 2);

    for (uint32_t c = 0; c < study->n_columns; c++) {
        const float scale = (float)(study->columns[c] * middle);
        uint32_t bits;

        memcpy(&bits, &scale, sizeof(bits));
        study->scales[c] =
            study->column_start[c + 1] > study->column_start[c] && lp_counts_is_scale(bits) ? scale
                                                                                            : 1.0f;
    }
}

static int alloc_columns(struct study *study, struct lp_error *err)
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
static void sort_columns(struct study *study)
{
    uint32_t *const start = study->column_start;

    for (uint32_t i = 0; i < study->n_values; i++)
        start[study->column[i] + 2]++;
    for (uint32_t c = 2; c <= study->n_columns; c++)
        start[c] += start[c - 1];
    for (uint32_t i = 0; i < study->n_values; i++)
        study->by_column[start[study->column[i] + 1]++] = i;
}

/* --- all together ---------------------------------------------------------------------------- */

/* Everything that computes with floats; not inlined, for the rounding mode. */
static __attribute__((noinline)) int learn_scales(struct study *study, struct lp_error *err)
{
    int rc;

    find_rows(study);
    if (rows_have_counts(study)) {
        for (uint32_t c = 0; c < study->n_columns; c++)
            study->scales[c] = 1.0f;
        return 0;
    }
    if (!pairs_have_counts(study))
        return lp_error_set(err, LP_ENOTSUP, "values are no counts");
    LP_TRY(rc, alloc_columns(study, err));
    sort_columns(study);
    if (!find_columns_alone(study)) {
        find_medians(study);
        find_whole(study);
    }
    set_scales(study);
    return 0;
}

/* Symbols of the whole sample, and their dictionary. */
static int learn_symbols(struct study *study, struct lp_dict *ret_symbols, struct lp_error *err)
{
    const struct lp_counts_sample *const sample = study->sample;
    uint64_t payload_bytes, n = 0;

    study->symbols = lp_mem_alloc_array((size_t)sample->n_values, LP_FORMAT_COUNTS_SYMBOL_BYTES);
    if (study->symbols == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the symbols of counts");
    for (uint64_t r = 0; r < sample->n_records; r++) {
        const uint32_t m = find_record(study, r);
        float row;

        if (m > 0 &&
            lp_codec_counts_symbols(study->scales, &study->costs, study->map, study->values, m,
                                    &row, study->symbols + n * LP_FORMAT_COUNTS_SYMBOL_BYTES))
            n += m;
    }
    if (n == 0)
        return lp_error_set(err, LP_ENOTSUP, "values have no symbols");
    return lp_codec_dict_learn(ret_symbols, LP_FORMAT_COUNTS_SYMBOL_BYTES, study->symbols, n,
                               &payload_bytes, err);
}

static int learn(struct study *study, struct lp_counts *ret_counts, struct lp_error *err)
{
    struct lp_rounding mode;
    struct lp_dict symbols;
    int rc;

    guess_costs(&study->costs);
    LP_TRY(rc, alloc_rows(study, err));
    mode = lp_rounding_set();
    rc = learn_scales(study, err);
    lp_rounding_restore(&mode);
    if (rc < 0)
        return rc;
    LP_TRY(rc, learn_symbols(study, &symbols, err));
    return lp_codec_counts_init_take(ret_counts, study->n_columns, study->scales, &symbols, err);
}

int lp_codec_counts_learn(struct lp_counts *ret_counts, const struct lp_counts_sample *sample,
                          struct lp_error *err)
{
    struct study *study;
    int rc;

    study = lp_mem_zalloc(sizeof(*study));
    if (study == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to learn counts");
    study->sample = sample;
    study->ops = lp_codec_ops();
    study->n_columns = sample->record_elements;
    rc = learn(study, ret_counts, err);
    study_fini(study);
    lp_mem_free(study);
    return rc;
}
