/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the parameters of codec lane: each entry of a small menu of levels is tried with a
 * window per table, a window per record, and the best columns, its ranks taken from counts of the
 * sample, its price computed exactly from each record's histogram.
 *
 * With a window per record, ranks count from the record's base. They are found by turns: from
 * bases (at first each record's most frequent exponent) to ranks, and from ranks to the bases with
 * which records are smallest. Two turns reach a standstill on all data seen. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/lane_shift.h"
#include "codec/lane_study.h"
#include "codec/sample.h"

#include <string.h>

/* Turns that records' bases get after their first ones. */
#define RECORD_TURNS 2u
/* Bytes and records of the sample that the choice looks at; the final price counts all of it. */
#define STUDY_BYTES (UINT64_C(2) << 20)
#define STUDY_RECORDS UINT64_C(2048)
/* Fields of a byte that are tried. Three bits, which the format also has, have fewer values than
 * any entry of the menu has symbols; entries for them won 0.2 points on int8 of GloVe, none else.
 */
#define BYTE_FIELD_MIN 4u
/* Bits that a byte of a record with odd trailing bits loses, before the field is known. */
#define TRAILING_LOSS_OF_BYTES 1.0
/* Thousandths of the raw bytes that columns must save over the other windows: rows of 200 bytes
 * take 1.7 times as long to decode with them, so a tenth of a point is not enough. */
#define COLUMN_GAIN 3u
/* Records are priced with the smallest alignment that the format has. */
#define PRICE_ALIGN 4u

/* --- records -----------------------------------------------------------------------------------
 */

uint64_t lp_codec_lane_study_first(const struct lp_lane_study *study, uint64_t r)
{
    const struct lp_sample *const layout = study->sample->layout;

    return (layout != NULL ? lp_codec_sample_record(layout, r) : r) *
           study->sample->record_elements;
}

/* Counts of whole bytes to counts of their top bits. */
static void add_folded(const struct lp_lane_study *study, const uint32_t *bytes, uint32_t *hist)
{
    for (uint32_t byte = 0; byte < 256; byte++)
        hist[byte >> (8 - study->field_bits)] += bytes[byte];
}

/* Exponents of elements; a byte's are its top bits. */
static void count_exponents(const struct lp_lane_study *study, const void *elements, uint64_t n,
                            uint32_t *hist)
{
    uint32_t bytes[256] = {0};

    if (study->info->exponent_bits != 0) {
        study->ops->exponent_histogram(study->sample->dtype, elements, n, hist);
        return;
    }
    study->ops->exponent_histogram(study->sample->dtype, elements, n, bytes);
    add_folded(study, bytes, hist);
}

static struct lp_lane_counts count_record(struct lp_lane_study *study, uint64_t r, bool by_column)
{
    const uint32_t n = study->sample->record_elements;
    struct lp_lane_counts counts = {study->hist, 0, study->exponent_mask, n};
    const void *elements = lp_lane_study_record(study, r);

    if (by_column) {
        memcpy(study->record, elements, (size_t)n * study->info->bytes);
        lp_lane_shift(&study->shifter, study->ops, lp_codec_lane_study_first(study, r),
                      study->record, n, true);
        elements = study->record;
    }
    memset(study->hist, 0, (study->exponent_mask + 1) * sizeof(study->hist[0]));
    count_exponents(study, elements, n, study->hist);
    lp_lane_counts_trim(&counts);
    return counts;
}

static void add_shifted(uint32_t *hist, const struct lp_lane_counts *counts, uint32_t base,
                        uint32_t mask)
{
    for (uint32_t e = counts->low; e <= counts->high; e++)
        hist[(e - base) & mask] += counts->hist[e];
}

/* --- what is studied, in order -----------------------------------------------------------------
 */

static void set_field(struct lp_lane_study *study, uint32_t bits)
{
    study->field_bits = bits;
    study->exponent_mask = (1u << bits) - 1;
}

/* Exponents of all records studied that are not odd. */
static void study_all(struct lp_lane_study *study)
{
    memset(study->all, 0, sizeof(study->all));
    study->studied_elements = 0;
    for (uint64_t r = 0; r < study->sample->n_records; r += study->step) {
        study->studied_elements += study->sample->record_elements;
        if (!lp_codec_lane_is_odd(study, r))
            count_exponents(study, lp_lane_study_record(study, r), study->sample->record_elements,
                            study->all);
    }
}

/* Bits of a byte that are coded: those with which it is smallest, all records taken together. In:
 * counts of whole bytes in study->all. */
static void study_field(struct lp_lane_study *study)
{
    const uint32_t trailing_bits = study->trailing_bits;
    uint32_t best_bits = BYTE_FIELD_MIN;
    uint64_t best = UINT64_MAX;

    for (uint32_t bits = BYTE_FIELD_MIN; bits <= LP_FORMAT_LANE_BYTE_FIELD_MAX; bits++) {
        uint32_t hist[256] = {0};
        uint64_t bytes;

        set_field(study, bits);
        study->trailing_bits = trailing_bits;
        lp_codec_lane_set_fixed(study);
        add_folded(study, study->all, hist);
        bytes = lp_codec_lane_study_pooled(study, hist, study->studied_elements);
        if (bytes < best) {
            best = bytes;
            best_bits = bits;
        }
    }
    set_field(study, best_bits);
    study->trailing_bits = trailing_bits;
    lp_codec_lane_set_fixed(study);
}

/* What is fixed, which needs to know what an exponent costs; the field of bytes; then the counts of
 * what is left. */
static void study_elements(struct lp_lane_study *study)
{
    const bool is_byte = study->info->exponent_bits == 0;
    uint64_t bytes, other_bits;

    set_field(study, is_byte ? 8 : study->info->exponent_bits);
    study_all(study);
    if (is_byte) {
        set_field(study, BYTE_FIELD_MIN);
        lp_codec_lane_study_fixed(study, BYTE_FIELD_MIN - TRAILING_LOSS_OF_BYTES);
        study_field(study);
    } else {
        bytes = lp_codec_lane_study_pooled(study, study->all, study->studied_elements);
        other_bits = study->studied_elements * (8 * study->info->bytes - study->field_bits);
        lp_codec_lane_study_fixed(study, ((double)bytes * 8 - (double)other_bits) /
                                             (double)study->studied_elements);
    }
    if (is_byte || study->fixed_mask != 0)
        study_all(study);
}

/* First ranks: of all exponents, and of all minus each record's most frequent one. */
static void study_records(struct lp_lane_study *study)
{
    for (uint64_t r = 0; r < study->sample->n_records; r += study->step) {
        const struct lp_lane_counts counts = count_record(study, r, false);

        add_shifted(study->shifted[0], &counts, lp_lane_counts_mode(&counts), study->exponent_mask);
    }
    lp_codec_lane_set_trials(study, study->by_record, LP_LANE_WINDOW_RECORD, study->shifted[0]);
}

/* One turn: bases from ranks, ranks from bases. */
static void study_bases(struct lp_lane_study *study)
{
    memset(study->shifted, 0, sizeof(study->shifted));
    for (uint64_t r = 0; r < study->sample->n_records; r += study->step) {
        const struct lp_lane_counts counts = count_record(study, r, false);

        for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++) {
            if (study->by_record[i].possible)
                add_shifted(study->shifted[i], &counts,
                            lp_codec_lane_pick_base(&study->by_record[i].lane, &counts),
                            study->exponent_mask);
        }
    }
    for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++)
        lp_codec_lane_set_trial(study, &study->by_record[i], i, LP_LANE_WINDOW_RECORD,
                                study->shifted[i]);
}

/* What takes columns off records; its levels are of no use. */
static int make_shifter(struct lp_lane_study *study, struct lp_error *err)
{
    static const uint16_t ranks[LP_FORMAT_LANE_SYMBOLS_MAX] = {0, 1, 2};
    static const uint8_t widths[1] = {2};
    const struct lp_lane_params params = {.dtype = study->sample->dtype,
                                          .exponent_bits = study->field_bits,
                                          .n_levels = 1,
                                          .widths = widths,
                                          .ranks = ranks,
                                          .window = LP_LANE_WINDOW_COLUMNS,
                                          .column_period = study->columns.period,
                                          .column_span = study->columns.span,
                                          .n_columns = study->columns.n,
                                          .columns = study->columns.bases};

    return lp_codec_lane_init(&study->shifter, &params, err);
}

/* The columns that pay, ready to be taken off records. */
static int study_columns(struct lp_lane_study *study, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, lp_codec_lane_study_columns(study, err));
    if (study->columns.bases == NULL)
        return 0;
    study->record = lp_mem_alloc((size_t)study->sample->record_elements * study->info->bytes);
    if (study->record == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a record without its columns");
    LP_TRY(rc, make_shifter(study, err));
    /* Without bases, which each trial would own: their prices are the same. */
    lp_codec_lane_set_trials(study, study->by_column, LP_LANE_WINDOW_TABLE, study->centred);
    for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++)
        study->by_column[i].by_column = true;
    return 0;
}

/* --- prices ------------------------------------------------------------------------------------
 */

/* Payload of one record: coded where that shrinks it, else raw. */
static uint64_t price_record(const struct lp_lane_study *study, uint64_t r,
                             const struct lp_lane *lane, const struct lp_lane_counts *counts)
{
    const uint64_t raw_bytes = (uint64_t)counts->n * study->info->bytes;
    const uint64_t size = lp_codec_lane_size(lane, counts, lp_codec_lane_pick_base(lane, counts));
    const bool shrinks =
        lp_round_up_u64(size, PRICE_ALIGN) < lp_round_up_u64(raw_bytes, PRICE_ALIGN);

    return shrinks && !lp_codec_lane_is_odd(study, r) ? size : raw_bytes;
}

static void price_trials(const struct lp_lane_study *study, uint64_t r,
                         const struct lp_lane_counts *counts, struct lp_lane_trial *trials)
{
    for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++) {
        if (trials[i].possible)
            trials[i].payload_bytes += price_record(study, r, &trials[i].lane, counts);
    }
}

static void study_prices(struct lp_lane_study *study)
{
    for (uint64_t r = 0; r < study->sample->n_records; r += study->step) {
        struct lp_lane_counts counts = count_record(study, r, false);

        price_trials(study, r, &counts, study->table);
        price_trials(study, r, &counts, study->by_record);
        if (study->columns.bases == NULL)
            continue;
        counts = count_record(study, r, true);
        price_trials(study, r, &counts, study->by_column);
    }
}

/* Metadata of a trial, with what it would have of columns. */
static uint64_t meta_bytes(const struct lp_lane_study *study, const struct lp_lane_trial *trial)
{
    return lp_codec_lane_meta_bytes(&trial->lane) +
           (trial->by_column ? (uint64_t)study->columns.n * trial->lane.escape_bytes : 0);
}

/* The cheapest of these, and of the best before, which wins ties. */
static const struct lp_lane_trial *cheapest(const struct lp_lane_study *study,
                                            const struct lp_lane_trial *trials,
                                            const struct lp_lane_trial *best)
{
    for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++) {
        const struct lp_lane_trial *const trial = &trials[i];

        if (trial->possible &&
            (best == NULL ||
             lp_codec_lane_study_is_less(study, trial->payload_bytes, meta_bytes(study, trial),
                                         best->payload_bytes, meta_bytes(study, best))))
            best = trial;
    }
    return best;
}

/* The cheapest trial; at equal price a window per table, and the entry that comes first. Columns
 * cost a pass more over each record, so they must be worth it, where nobody asked for them. */
static const struct lp_lane_trial *choose(const struct lp_lane_study *study)
{
    const uint64_t raw_bytes = study->studied_elements * study->info->bytes;
    const uint64_t gain = study->sample->column_period != 0 ? 0 : raw_bytes * COLUMN_GAIN / 1000;
    const struct lp_lane_trial *const columns = cheapest(study, study->by_column, NULL);
    const struct lp_lane_trial *best = cheapest(study, study->table, NULL);

    best = cheapest(study, study->by_record, best);
    if (columns != NULL && lp_codec_lane_study_is_less(
                               study, columns->payload_bytes + gain, meta_bytes(study, columns),
                               best->payload_bytes, meta_bytes(study, best)))
        best = columns;
    return best;
}

static uint64_t price_sample(struct lp_lane_study *study, const struct lp_lane_trial *trial)
{
    uint64_t payload_bytes = 0;

    if (study->step == 1)
        return trial->payload_bytes;
    for (uint64_t r = 0; r < study->sample->n_records; r++) {
        const struct lp_lane_counts counts = count_record(study, r, trial->by_column);

        payload_bytes += price_record(study, r, &trial->lane, &counts);
    }
    return payload_bytes;
}

/* The chosen trial as a lane of its own, with columns where it has them. */
static int take(struct lp_lane_study *study, struct lp_lane *ret_lane, uint64_t *ret_payload_bytes,
                struct lp_error *err)
{
    const struct lp_lane_trial *const best = choose(study);
    struct lp_lane_params params;

    if (ret_payload_bytes != NULL)
        *ret_payload_bytes = price_sample(study, best);
    if (!best->by_column) {
        *ret_lane = best->lane;
        return 0;
    }
    params = lp_codec_lane_trial_params(study, (uint32_t)(best - study->by_column),
                                        LP_LANE_WINDOW_COLUMNS, best->lane.rank);
    params.column_period = study->columns.period;
    params.column_span = study->columns.span;
    params.n_columns = study->columns.n;
    params.columns = study->columns.bases;
    return lp_codec_lane_init(ret_lane, &params, err);
}

/* --- all together ------------------------------------------------------------------------------
 */

static int learn(struct lp_lane_study *study, struct lp_lane *ret_lane, uint64_t *ret_payload_bytes,
                 struct lp_error *err)
{
    const bool table_only = study->sample->table_window_only;
    uint64_t payload_bytes = 0;
    int rc;

    study_elements(study);
    lp_codec_lane_set_trials(study, study->table, LP_LANE_WINDOW_TABLE, study->all);
    if (!table_only)
        study_records(study);
    for (uint32_t i = 0; i < RECORD_TURNS && !table_only; i++)
        study_bases(study);
    if (!table_only && study->sample->geometry != NULL)
        LP_TRY(rc, study_columns(study, err));
    study_prices(study);
    LP_TRY(rc, take(study, ret_lane, ret_payload_bytes != NULL ? &payload_bytes : NULL, err));
    if (ret_payload_bytes != NULL)
        *ret_payload_bytes = payload_bytes;
    return 0;
}

int lp_codec_lane_learn(struct lp_lane *ret_lane, const struct lp_lane_sample *sample,
                        uint64_t *ret_payload_bytes, struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(sample->dtype);
    struct lp_lane_study *study;
    int rc;

    if (info == NULL || (info->exponent_bits == 0 && !lp_codec_dtype_is_int8(sample->dtype)))
        return lp_error_set(err, LP_ENOTSUP, "codec lane codes floats, i8 and u8, not %s",
                            info != NULL ? info->name : "an unknown dtype");
    if (sample->n_records == 0 || sample->record_elements == 0)
        return lp_error_set(err, LP_EINVAL, "no records to learn from");
    study = lp_mem_zalloc(sizeof(*study));
    if (study == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the counts of codec lane");
    study->ops = lp_codec_ops();
    study->info = info;
    study->sample = sample;
    study->step =
        1 + LP_MAX(sample->n_records / STUDY_RECORDS,
                   sample->n_records * sample->record_elements * info->bytes / STUDY_BYTES);
    rc = learn(study, ret_lane, ret_payload_bytes, err);
    lp_codec_lane_fini(&study->shifter);
    lp_mem_free(study->columns.bases);
    lp_mem_free(study->record);
    lp_mem_free(study);
    return rc;
}
