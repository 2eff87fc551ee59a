/* SPDX-License-Identifier: Apache-2.0 */
/* Learning the scales of columns from rows of a sample.
 *
 * A value is count * row * column. Most counts of a text are small and the same, so the medians of
 * what is left of values when the other factor is taken away, rows and columns in turn, soon are
 * rows and columns up to small fractions, which fitting whole numbers then finds. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/counts_study.h"
#include "codec/ops.h"
#include "codec/rounding.h"
#include "codec/sparse_places.h"

#include <string.h>

/* Values of a row or column that its median is of, at most. */
#define MEDIAN_VALUES 256u
#define MEDIAN_ROUNDS 12u
#define WHOLE_ROUNDS 4u
/* This share of values is enough to leave rows without scales, in eighths. */
#define ALONE_EIGHTHS 6u

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

/* The lower median of the quotients of some values, spread evenly; scale where there are none. */
static double median(const struct lp_counts_study *study, const struct lp_counts_line *line,
                     double scale)
{
    double quotients[MEDIAN_VALUES];
    const uint32_t step = (line->n + MEDIAN_VALUES - 1) / MEDIAN_VALUES;
    int32_t n = 0;

    for (uint32_t i = 0; i < line->n; i += step) {
        const uint32_t at = lp_counts_line_value(line, i);

        quotients[n++] = (double)study->value[at] / line->factors[line->others[at]];
    }
    return n == 0 ? scale : select_kth(quotients, n, (n - 1) / 2);
}

static void find_medians(struct lp_counts_study *study)
{
    for (uint32_t round = 0; round < MEDIAN_ROUNDS; round++) {
        for (uint32_t c = 0; c < study->n_columns; c++) {
            const struct lp_counts_line line = lp_counts_column_line(study, c);

            study->columns[c] = median(study, &line, 1);
        }
        for (uint32_t r = 0; r < study->n_rows; r++) {
            const struct lp_counts_line line = lp_counts_row_line(study, r);

            study->rows[r] = median(study, &line, 1);
        }
    }
}

/* --- whole numbers --------------------------------------------------------------------------- */

static void pick_line(const struct lp_counts_study *study, const struct lp_counts_line *line,
                      struct lp_counts_picks *picks)
{
    const uint32_t step = (line->n + LP_COUNTS_PICKS - 1) / LP_COUNTS_PICKS;

    picks->n = 0;
    for (uint32_t i = 0; i < line->n; i += step) {
        const uint32_t at = lp_counts_line_value(line, i);
        uint32_t bits;

        memcpy(&bits, &study->value[at], sizeof(bits));
        lp_codec_counts_pick(picks, bits, (float)line->factors[line->others[at]]);
    }
}

/* A scale from all values of a line that are whole multiples of base: their mean. Adds how many
 * they are to *n_whole. */
static double mean_scale(const struct lp_counts_study *study, const struct lp_counts_line *line,
                         float base, uint32_t *n_whole)
{
    double sum = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < line->n; i++) {
        const uint32_t at = lp_counts_line_value(line, i);
        const double quotient = (double)study->value[at] / line->factors[line->others[at]];
        const uint32_t count = lp_codec_counts_whole((float)quotient / base);

        sum += count != 0 ? quotient / count : 0;
        n += count != 0;
    }
    *n_whole += n;
    return n == 0 ? base : sum / n;
}

static double fit_line(const struct lp_counts_study *study, const struct lp_counts_line *line,
                       double scale, uint32_t *n_whole)
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
static bool find_columns_alone(struct lp_counts_study *study)
{
    uint32_t n_whole = 0, n_used = 0;

    for (uint32_t r = 0; r < study->n_rows; r++)
        study->rows[r] = 1;
    for (uint32_t c = 0; c < study->n_columns; c++) {
        const struct lp_counts_line line = lp_counts_column_line(study, c);

        study->columns[c] = fit_line(study, &line, 1, &n_whole);
        n_used += line.n > 0;
    }
    return n_whole > n_used &&
           (uint64_t)(n_whole - n_used) * 8 >= (uint64_t)(study->n_values - n_used) * ALONE_EIGHTHS;
}

static void find_whole(struct lp_counts_study *study)
{
    uint32_t n_whole = 0;

    for (uint32_t round = 0; round < WHOLE_ROUNDS; round++) {
        for (uint32_t r = 0; r < study->n_rows; r++) {
            const struct lp_counts_line line = lp_counts_row_line(study, r);

            study->rows[r] = fit_line(study, &line, study->rows[r], &n_whole);
        }
        for (uint32_t c = 0; c < study->n_columns; c++) {
            const struct lp_counts_line line = lp_counts_column_line(study, c);

            study->columns[c] = fit_line(study, &line, study->columns[c], &n_whole);
        }
    }
}

/* Of a factor that rows may have and columns do without, the middle row has none: where rows have
 * no scales at all, columns then get their own. */
static void set_scales(struct lp_counts_study *study)
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

/* --- all together ---------------------------------------------------------------------------- */

/* Everything that computes with floats; not inlined, for the rounding mode. */
static __attribute__((noinline)) int learn_scales(struct lp_counts_study *study,
                                                  struct lp_error *err)
{
    int rc;

    lp_codec_counts_study_rows(study);
    if (lp_codec_counts_rows_pass(study)) {
        for (uint32_t c = 0; c < study->n_columns; c++)
            study->scales[c] = 1.0f;
        return 0;
    }
    if (!lp_codec_counts_pairs_pass(study))
        return lp_error_set(err, LP_ENOTSUP, "values are no counts");
    LP_TRY(rc, lp_codec_counts_study_columns(study, err));
    if (!find_columns_alone(study)) {
        find_medians(study);
        find_whole(study);
    }
    set_scales(study);
    return 0;
}

/* Symbols of the whole sample, and their dictionary. */
static int learn_symbols(struct lp_counts_study *study, struct lp_dict *ret_symbols,
                         struct lp_error *err)
{
    const struct lp_counts_sample *const sample = study->sample;
    uint64_t payload_bytes, n = 0;

    study->symbols = lp_mem_alloc_array((size_t)sample->n_values, LP_FORMAT_COUNTS_SYMBOL_BYTES);
    if (study->symbols == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the symbols of counts");
    for (uint64_t r = 0; r < sample->n_records; r++) {
        const uint32_t m = lp_codec_counts_study_record(study, r);
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

static int learn(struct lp_counts_study *study, struct lp_counts *ret_counts, struct lp_error *err)
{
    struct lp_rounding mode;
    struct lp_dict symbols;
    int rc;

    guess_costs(&study->costs);
    LP_TRY(rc, lp_codec_counts_study_alloc(study, err));
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
    struct lp_counts_study *study;
    int rc;

    study = lp_mem_zalloc(sizeof(*study));
    if (study == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to learn counts");
    study->sample = sample;
    study->ops = lp_codec_ops();
    study->n_columns = sample->record_elements;
    rc = learn(study, ret_counts, err);
    lp_codec_counts_study_fini(study);
    lp_mem_free(study);
    return rc;
}
