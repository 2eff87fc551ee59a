/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of codec lane: elements that share a scale because they share a place in the row, as the
 * channels of attention keys do. Each gets a base, and what is coded is the exponent minus it.
 *
 * Which elements make a column is tried from the tensor's shape. Bases and ranks are found by
 * turns, as with a window per record: from bases (at first each column's most frequent exponent) to
 * ranks of all exponents minus their bases, and from ranks to the bases with which columns are
 * smallest. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/lane_shift.h"
#include "codec/lane_study.h"
#include "codec/sample.h"

#include <string.h>

/* Counts of exponents of all columns of a candidate, of 4 bytes each. */
#define COUNTS_MAX (UINT32_C(1) << 22)
/* A base costs a byte: with fewer elements a column wins nothing. */
#define COLUMN_ELEMENTS_MIN 16u
/* Turns that columns' bases get after their first ones. A turn is cheap: elements are
 * counted once, before. */
#define COLUMN_TURNS 3u
#define CANDIDATES_MAX 4u

struct candidate {
    uint64_t period, span;
};

struct counter {
    struct lp_lane_study *study;
    struct lp_lane_columns *columns;
    uint32_t *counts; /* owned: of column c, exponent e at c << field_bits | e */
};

/* --- which columns there may be --------------------------------------------------------------- */

static bool add_candidate(struct candidate *candidates, uint32_t *n, uint64_t period, uint64_t span)
{
    for (uint32_t i = 0; i < *n; i++)
        if (candidates[i].period == period && candidates[i].span == span)
            return false;
    candidates[(*n)++] = (struct candidate){period, span};
    return true;
}

/* A column per last index; the same apart for each first index, and for each of all but the last
 * two; and a column per pair of the last two. */
static uint32_t list_candidates(const struct lp_lane_sample *sample, struct candidate *candidates)
{
    const struct lp_geometry *const geometry = sample->geometry;
    const uint32_t ndim = geometry->ndim;
    uint64_t last, last_two;
    uint32_t n = 0;

    if (sample->column_period != 0) {
        (void)add_candidate(candidates, &n, sample->column_period, sample->column_span);
        return n;
    }
    if (ndim < 2)
        return 0;
    last = geometry->dims[ndim - 1];
    last_two = last * geometry->dims[ndim - 2];
    (void)add_candidate(candidates, &n, last, 0);
    if (ndim >= 3) {
        (void)add_candidate(candidates, &n, last_two, 0);
        (void)add_candidate(candidates, &n, last, geometry->row_elements);
        (void)add_candidate(candidates, &n, last, last_two);
    }
    return n;
}

/* Groups of bases; 0 when the format has no place for them, or the sample does not tell. */
static uint64_t groups_of(const struct lp_lane_study *study, const struct candidate *candidate)
{
    const struct lp_lane_sample *const sample = study->sample;
    const uint64_t n_elements = sample->geometry->n_elements;
    const uint64_t period = candidate->period, span = candidate->span;
    const uint64_t columns_max =
        LP_MIN(LP_FORMAT_LANE_COLUMNS_MAX, COUNTS_MAX >> study->field_bits);
    uint64_t groups = 1;

    if (span != 0) {
        if (span < sample->record_elements || span >= n_elements || span % period != 0)
            return 0;
        groups = n_elements / span + (n_elements % span != 0);
    }
    if (period > columns_max || groups > columns_max / period ||
        n_elements / (groups * period) < COLUMN_ELEMENTS_MIN)
        return 0;
    if (sample->layout == NULL && (span != 0 || sample->record_elements % period != 0))
        return 0;
    return groups;
}

int lp_codec_lane_check_columns(const struct lp_geometry *geometry, uint32_t record_elements,
                                uint32_t period, uint64_t span, struct lp_error *err)
{
    if (period == 0 && span != 0)
        return lp_error_set(err, LP_EINVAL, "a column span of %llu without a column period",
                            (unsigned long long)span);
    if (span != 0 && span % period != 0)
        return lp_error_set(err, LP_EINVAL, "the column span %llu is no multiple of the period %u",
                            (unsigned long long)span, period);
    if (span != 0 && span < record_elements)
        return lp_error_set(err, LP_EINVAL, "the column span %llu is shorter than a record of %u",
                            (unsigned long long)span, record_elements);
    if (period > LP_FORMAT_LANE_COLUMNS_MAX ||
        (span != 0 && geometry->n_elements / span > LP_FORMAT_LANE_COLUMNS_MAX / period))
        return lp_error_set(err, LP_EINVAL, "columns of period %u and span %llu are more than %u",
                            period, (unsigned long long)span, LP_FORMAT_LANE_COLUMNS_MAX);
    return 0;
}

/* --- counting ------------------------------------------------------------------------------- */

/* n elements whose first has this phase in the group that begins at counts. elem_bytes is constant
 * where this is called. */
static inline __attribute__((always_inline)) void count_run_of(const struct counter *counter,
                                                               const uint8_t *p, uint32_t n,
                                                               const uint32_t elem_bytes,
                                                               uint32_t *counts, uint32_t phase)
{
    const struct lp_lane_study *const study = counter->study;
    const uint32_t bits = study->field_bits, period = counter->columns->period;
    const uint32_t shift = 8 * elem_bytes - bits - (study->info->exponent_bits != 0);
    const uint64_t mask = study->exponent_mask;

    while (n > 0) {
        const uint32_t now = LP_MIN(n, period - phase);
        uint32_t *column = counts + ((size_t)phase << bits);

        for (uint32_t i = 0; i < now; i++, p += elem_bytes, column += mask + 1)
            column[lp_load_uint(p, elem_bytes) >> shift & mask]++;
        n -= now;
        phase = 0;
    }
}

static void count_run(const struct counter *counter, const uint8_t *p, uint32_t n, uint32_t *counts,
                      uint32_t phase)
{
    switch (counter->study->info->bytes) {
    case 8:
        count_run_of(counter, p, n, 8, counts, phase);
        break;
    case 4:
        count_run_of(counter, p, n, 4, counts, phase);
        break;
    case 2:
        count_run_of(counter, p, n, 2, counts, phase);
        break;
    default:
        count_run_of(counter, p, n, 1, counts, phase);
    }
}

static void count_record(const struct counter *counter, uint64_t r)
{
    const struct lp_lane_study *const study = counter->study;
    const struct lp_lane_columns *const columns = counter->columns;
    const size_t group_counts = (size_t)columns->period << study->field_bits;
    const uint64_t first = lp_codec_lane_study_first(study, r);
    const uint8_t *p = lp_lane_study_record(study, r);
    uint32_t n = study->sample->record_elements, phase = (uint32_t)(first % columns->period);
    uint64_t group = 0;

    if (columns->span != 0) {
        const uint64_t left = columns->span - first % columns->span;

        group = first / columns->span;
        if (left < n) {
            count_run(counter, p, (uint32_t)left, counter->counts + group * group_counts, phase);
            p += left * study->info->bytes;
            n -= (uint32_t)left;
            phase = 0;
            group++;
        }
    }
    count_run(counter, p, n, counter->counts + group * group_counts, phase);
}

/* --- bases ---------------------------------------------------------------------------------- */

static struct lp_lane_counts column_counts(const struct counter *counter, uint32_t column)
{
    const struct lp_lane_study *const study = counter->study;
    const uint32_t *const hist = counter->counts + ((size_t)column << study->field_bits);
    struct lp_lane_counts counts = {hist, 0, study->exponent_mask, 0};

    lp_lane_counts_trim(&counts);
    return counts;
}

/* The sample has nothing of this column: what is likeliest anywhere. */
static bool is_empty(const struct lp_lane_counts *counts)
{
    return counts->low == counts->high && counts->hist[counts->low] == 0;
}

static void pick_bases(const struct counter *counter, const struct lp_lane *lane)
{
    const struct lp_lane_study *const study = counter->study;
    const struct lp_lane_counts all = {study->all, 0, study->exponent_mask, 0};

    for (uint32_t c = 0; c < counter->columns->n; c++) {
        const struct lp_lane_counts own = column_counts(counter, c);
        const struct lp_lane_counts *const counts = is_empty(&own) ? &all : &own;

        counter->columns->bases[c] =
            (uint16_t)(lane == NULL ? lp_lane_counts_mode(counts)
                                    : lp_codec_lane_pick_base(lane, counts));
    }
}

/* Exponents of all columns minus their bases. */
static void centre(const struct counter *counter, uint32_t *centred)
{
    const struct lp_lane_study *const study = counter->study;

    memset(centred, 0, (study->exponent_mask + 1) * sizeof(*centred));
    for (uint32_t c = 0; c < counter->columns->n; c++) {
        const struct lp_lane_counts counts = column_counts(counter, c);
        const uint32_t base = counter->columns->bases[c];

        for (uint32_t e = counts.low; e <= counts.high; e++)
            centred[(e - base) & study->exponent_mask] += counts.hist[e];
    }
}

/* Turns with the first menu entry; the window per record makes a column what a record is there. */
static void learn_bases(const struct counter *counter, uint32_t *centred)
{
    struct lp_lane_trial trial = {.possible = false};

    pick_bases(counter, NULL);
    centre(counter, centred);
    for (uint32_t turn = 0; turn < COLUMN_TURNS; turn++) {
        lp_codec_lane_set_trial(counter->study, &trial, 0, LP_LANE_WINDOW_RECORD, centred);
        if (!trial.possible)
            return;
        pick_bases(counter, &trial.lane);
        centre(counter, centred);
    }
}

/* --- the best candidate --------------------------------------------------------------------- */

static int try_candidate(struct lp_lane_study *study, const struct candidate *candidate,
                         uint64_t groups, struct lp_lane_columns *ret_columns, uint32_t *centred,
                         struct lp_error *err)
{
    const uint32_t n = (uint32_t)(groups * candidate->period);
    struct lp_lane_columns columns = {(uint32_t)candidate->period, n, candidate->span, NULL};
    struct counter counter = {study, &columns, NULL};

    columns.bases = lp_mem_alloc_array(n, sizeof(*columns.bases));
    counter.counts = lp_mem_zalloc(((size_t)n << study->field_bits) * sizeof(*counter.counts));
    if (columns.bases == NULL || counter.counts == NULL) {
        lp_mem_free(columns.bases);
        lp_mem_free(counter.counts);
        return lp_error_set(err, LP_ENOMEM, "no memory to count the exponents of %u columns", n);
    }
    for (uint64_t r = 0; r < study->sample->n_records; r += study->step) {
        if (!lp_codec_lane_is_odd(study, r))
            count_record(&counter, r);
    }
    learn_bases(&counter, centred);
    lp_mem_free(counter.counts);
    *ret_columns = columns;
    return 0;
}

static uint64_t counted(const uint32_t *hist, uint32_t mask)
{
    uint64_t n = 0;

    for (uint32_t e = 0; e <= mask; e++)
        n += hist[e];
    return n;
}

int lp_codec_lane_study_columns(struct lp_lane_study *study, struct lp_error *err)
{
    const uint32_t number_bytes = study->field_bits > 8 ? 2 : 1;
    const uint64_t n_elements = counted(study->all, study->exponent_mask);
    uint64_t best = lp_codec_lane_study_pooled(study, study->all, n_elements);
    struct candidate candidates[CANDIDATES_MAX];
    uint32_t centred[LP_LANE_EXPONENTS_MAX];
    const uint32_t n = list_candidates(study->sample, candidates);
    int rc;

    for (uint32_t i = 0; i < n; i++) {
        const uint64_t groups = groups_of(study, &candidates[i]);
        struct lp_lane_columns columns;
        uint64_t bytes;

        if (groups == 0)
            continue;
        LP_TRY(rc, try_candidate(study, &candidates[i], groups, &columns, centred, err));
        bytes = lp_codec_lane_study_pooled(study, centred, n_elements);
        if (lp_codec_lane_study_is_less(study, bytes, (uint64_t)columns.n * number_bytes, best,
                                        (uint64_t)study->columns.n * number_bytes)) {
            lp_mem_free(study->columns.bases);
            study->columns = columns;
            memcpy(study->centred, centred, sizeof(centred));
            best = bytes;
        } else {
            lp_mem_free(columns.bases);
        }
    }
    return 0;
}
