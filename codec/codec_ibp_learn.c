/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of ibp masks. Bits are counted in one pass; out of the counts come the masks of every
 * threshold, and out of some of the records masks position by position; a second pass measures all
 * of them side by side. The rule's comparisons mix float and double on purpose: the published masks
 * come out of exactly these (tests/unit/test_ibp_vectors.c). */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ibp_record.h"
#include "codec/ops.h"

#include <string.h>

#define SWEEP_FIRST 0.70f
#define SWEEP_STEP 0.05f
#define SWEEP_STEPS 7u
#define LINE_BYTES 64u
#define PICKED (LP_IBP_TRIALS_MAX - 1) /* the trial of masks chosen position by position */

LP_STATIC_ASSERT(LP_IBP_TRIALS_MAX == LP_IBP_LANES, "all trials are measured at once");
LP_STATIC_ASSERT(SWEEP_STEPS == PICKED, "thresholds, then the other choice");
LP_STATIC_ASSERT(LP_IBP_INVARIANCE_ROWS < SWEEP_STEPS, "the last threshold masks nothing");

struct learner {
    struct lp_ibp_params params;
    uint32_t n_words;
    const uint8_t *sample; /* borrowed */
    uint64_t n_records;
    const uint64_t *counts; /* [w * j + b]: records in which bit b of word j is set */
    uint64_t *own_counts;   /* owned; NULL: the caller has counted */
    uint8_t *lanes;         /* owned; struct lp_ibp_score */
    struct lp_ibp_report report;
};

static int learner_init(struct learner *learner, const struct lp_ibp_params *params,
                        const void *sample, uint64_t n_records, struct lp_error *err)
{
    const uint32_t s = params->word_bytes, bytes = params->record_bytes;

    if ((s != 4 && s != 8) || bytes == 0 || bytes % s != 0)
        return lp_error_set(err, LP_EINVAL, "records of %u bytes are no ibp words of %u", bytes, s);
    if (!(params->threshold >= 0 && params->threshold <= 1))
        return lp_error_set(err, LP_EINVAL, "ibp threshold %g is not in 0 .. 1",
                            (double)params->threshold);
    memset(learner, 0, sizeof(*learner));
    learner->params = *params;
    if (params->align_bytes == 0)
        learner->params.align_bytes = LP_FORMAT_INDEX_UNIT_BYTES;
    learner->n_words = bytes / s;
    learner->sample = sample;
    learner->n_records = n_records;
    learner->lanes = lp_mem_alloc_aligned(64, (size_t)bytes * 3 * LP_IBP_LANES);
    if (learner->lanes == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to learn masks of records of %u bytes",
                            bytes);
    memset(learner->lanes, 0, (size_t)bytes * 3 * LP_IBP_LANES);
    return 0;
}

static void learner_fini(struct learner *learner)
{
    lp_mem_free(learner->own_counts);
    lp_mem_free(learner->lanes);
}

static int count_bits(struct learner *learner, struct lp_error *err)
{
    int rc;

    learner->counts = learner->params.counts;
    if (learner->counts != NULL)
        return 0;
    LP_TRY(rc, lp_codec_ibp_count(&learner->own_counts, learner->params.record_bytes,
                                  learner->sample, learner->n_records, err));
    learner->counts = learner->own_counts;
    return 0;
}

/* --- lanes ----------------------------------------------------------------------------------- */

/* What stands in a lane: in the order of struct lp_ibp_score. */
enum lane_part { LANE_MASK, LANE_VALUE, LANE_GAIN };

static uint8_t *lane_at(const struct learner *learner, uint32_t trial, uint32_t j,
                        enum lane_part part)
{
    const uint32_t s = learner->params.word_bytes;

    return learner->lanes + (((size_t)j * 3 + part) * LP_IBP_LANES + trial) * s;
}

static uint64_t lane_word(const struct learner *learner, uint32_t trial, uint32_t j,
                          enum lane_part part)
{
    return lp_ibp_load(lane_at(learner, trial, j, part), learner->params.word_bytes);
}

static void set_lane(struct learner *learner, uint32_t trial, uint32_t j,
                     const struct lp_ibp_pick *pick)
{
    const uint32_t s = learner->params.word_bytes;
    const uint32_t gain = (uint32_t)__builtin_popcountll(pick->mask);

    lp_ibp_store(lane_at(learner, trial, j, LANE_MASK), pick->mask, s);
    lp_ibp_store(lane_at(learner, trial, j, LANE_VALUE), pick->value, s);
    lp_ibp_store(lane_at(learner, trial, j, LANE_GAIN), gain, s);
    learner->report.trial[trial].mask_bits += gain;
}

/* --- the masks of a threshold ---------------------------------------------------------------- */

/* The rule: a bit set in more than T of the records is masked as one, one set in fewer than 1 - T
 * as zero. */
static bool is_one(uint64_t count, uint64_t n_records, float threshold)
{
    return (float)count > (float)n_records * threshold;
}

static bool is_no_zero(uint64_t count, uint64_t n_records, float threshold)
{
    return !((double)count < (1.0 - (double)threshold) * (double)n_records);
}

/* The first count of which that is true: as counts grow, it only becomes true. Spares a conversion
 * for every bit. */
static uint64_t first_count(bool (*is)(uint64_t, uint64_t, float), uint64_t n_records,
                            float threshold)
{
    uint64_t low = 0, high = n_records + 1;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (is(middle, n_records, threshold))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void try_threshold(struct learner *learner, float threshold)
{
    const uint64_t n = learner->n_records, ones_from = first_count(is_one, n, threshold);
    const uint64_t zeros_below = first_count(is_no_zero, n, threshold);
    const uint32_t w = 8 * learner->params.word_bytes, trial = learner->report.n_trials++;

    memcpy(&learner->report.trial[trial].threshold_bits, &threshold, sizeof(threshold));
    for (uint32_t j = 0; j < learner->n_words; j++) {
        const uint64_t *const counts = learner->counts + (size_t)j * w;
        struct lp_ibp_pick pick = {0, 0};

        for (uint32_t b = 0; b < w; b++) {
            const uint64_t one = counts[b] >= ones_from;

            pick.value |= one << b;
            pick.mask |= (one | (counts[b] < zeros_below)) << b;
        }
        set_lane(learner, trial, j, &pick);
    }
}

static void try_sweep(struct learner *learner)
{
    float threshold = SWEEP_FIRST;

    for (uint32_t i = 0; i < SWEEP_STEPS; i++, threshold += SWEEP_STEP)
        try_threshold(learner, threshold);
}

/* --- masks position by position -------------------------------------------------------------- */

/* A line of each of some of the records, evenly spread: the words of neighbouring positions share
 * cache lines, which the search would fetch again for each position. */
struct lines {
    uint32_t n;
    uint8_t line[LP_IBP_PICK_RECORDS][LINE_BYTES];
};

static void fill_lines(const struct learner *learner, uint32_t offset, uint32_t bytes,
                       struct lines *lines)
{
    const uint64_t records = learner->n_records, n = LP_MIN(records, LP_IBP_PICK_RECORDS);

    lines->n = (uint32_t)n;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t r = i * (records / n) + i * (records % n) / n;

        memcpy(lines->line[i], learner->sample + r * learner->params.record_bytes + offset, bytes);
    }
}

/* Where most records shrink, what they save is a sum over positions: each is best on its own. Each
 * begins from the masks of the lowest threshold. */
static void pick_line(struct learner *learner, const struct lines *lines, uint32_t offset,
                      uint32_t bytes)
{
    const uint32_t s = learner->params.word_bytes;

    for (uint32_t at = 0; at < bytes; at += s) {
        const struct lp_ibp_column column = {lines->line[0] + at, LINE_BYTES, lines->n, s};
        const uint32_t j = (offset + at) / s;
        struct lp_ibp_pick pick = {lane_word(learner, 0, j, LANE_MASK),
                                   lane_word(learner, 0, j, LANE_VALUE)};

        lp_codec_ops()->ibp_pick(&column, &pick);
        set_lane(learner, PICKED, j, &pick);
    }
}

static int try_positions(struct learner *learner, struct lp_error *err)
{
    const uint32_t record_bytes = learner->params.record_bytes;
    struct lines *lines = lp_mem_alloc(sizeof(*lines));

    if (lines == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to look at %u records", LP_IBP_PICK_RECORDS);
    learner->report.n_trials = PICKED + 1;
    for (uint32_t offset = 0; offset < record_bytes; offset += LINE_BYTES) {
        const uint32_t bytes = LP_MIN(LINE_BYTES, record_bytes - offset);

        fill_lines(learner, offset, bytes, lines);
        pick_line(learner, lines, offset, bytes);
    }
    lp_mem_free(lines);
    return 0;
}

/* --- the choice ------------------------------------------------------------------------------ */

static void measure(struct learner *learner)
{
    const uint32_t align = learner->params.align_bytes, bytes = learner->params.record_bytes;
    const struct lp_ibp_score score = {
        .word_bytes = learner->params.word_bytes,
        .n_words = learner->n_words,
        .align_bytes = align,
        .raw_length = (bytes + align - 1) & ~(align - 1),
        .head_bytes = lp_ibp_head_bytes(learner->n_words, learner->params.word_bytes, 0),
        .lanes = learner->lanes};
    struct lp_ibp_totals totals;

    lp_codec_ops()->ibp_score(&score, learner->sample, learner->n_records, &totals);
    for (uint32_t i = 0; i < learner->report.n_trials; i++) {
        learner->report.trial[i].saved_bits = totals.saved_bits[i];
        learner->report.trial[i].payload_bytes = totals.payload_bytes[i];
        learner->report.trial[i].stored_bytes = totals.stored_bytes[i];
    }
}

static bool better(const struct learner *learner, const struct lp_ibp_trial *a,
                   const struct lp_ibp_trial *b)
{
    if (learner->params.exact || learner->params.threshold > 0)
        return a->saved_bits > b->saved_bits;
    if (a->stored_bytes != b->stored_bytes)
        return a->stored_bytes < b->stored_bytes;
    return a->payload_bytes < b->payload_bytes;
}

/* floor(n (B - saved) / B) + 1 with B raw bits, as published. */
static uint64_t average_words(const struct learner *learner, uint64_t saved)
{
    const __uint128_t raw_bits = (__uint128_t)8 * learner->n_records * learner->params.record_bytes;

    return (uint64_t)(learner->n_words * (raw_bits - saved) / raw_bits) + 1;
}

/* Some masks fit a few random records by chance. Where no threshold saves anything, the others must
 * save what they take themselves. */
static bool fits_by_chance(const struct learner *learner)
{
    const struct lp_ibp_report *const report = &learner->report;
    const uint64_t bytes = learner->params.record_bytes;

    for (uint32_t i = 0; i < report->n_trials; i++)
        if (i != PICKED && report->trial[i].saved_bits > 0)
            return false;
    return learner->n_records * bytes < report->trial[report->kept].stored_bytes + 2 * bytes;
}

static void choose(struct learner *learner)
{
    struct lp_ibp_report *const report = &learner->report;

    for (uint32_t i = 1; i < report->n_trials; i++)
        if (better(learner, &report->trial[i], &report->trial[report->kept]))
            report->kept = i;
    report->saves = report->trial[report->kept].saved_bits > 0 &&
                    (report->kept != PICKED || !fits_by_chance(learner));
    if (report->saves)
        report->average_words = average_words(learner, report->trial[report->kept].saved_bits);
}

static int take_masks(struct lp_ibp *ret_ibp, const struct learner *learner, struct lp_error *err)
{
    const uint32_t kept = learner->report.kept;
    struct lp_ibp ibp;
    int rc;

    LP_TRY(rc, lp_codec_ibp_init(&ibp, learner->params.word_bytes, learner->n_words, 0, err));
    if (learner->report.saves) {
        for (uint32_t j = 0; j < ibp.n_words; j++) {
            ibp.set->mask[j] = lane_word(learner, kept, j, LANE_MASK);
            ibp.set->value[j] = lane_word(learner, kept, j, LANE_VALUE);
        }
        lp_codec_ibp_derive(&ibp);
        ibp.threshold_bits = learner->report.trial[kept].threshold_bits;
    }
    *ret_ibp = ibp;
    return 0;
}

int lp_codec_ibp_learn(struct lp_ibp *ret_ibp, const struct lp_ibp_params *params,
                       const void *sample, uint64_t n_records, struct lp_ibp_report *ret_report,
                       struct lp_error *err)
{
    struct learner learner;
    int rc;

    LP_TRY(rc, learner_init(&learner, params, sample, n_records, err));
    LP_TRY_GOTO(rc, count_bits(&learner, err), fini);
    if (params->threshold > 0)
        try_threshold(&learner, params->threshold);
    else
        try_sweep(&learner);
    if (params->threshold == 0 && !params->exact)
        LP_TRY_GOTO(rc, try_positions(&learner, err), fini);
    measure(&learner);
    choose(&learner);
    rc = take_masks(ret_ibp, &learner, err);
    if (rc == 0 && ret_report != NULL)
        *ret_report = learner.report;

fini:
    learner_fini(&learner);
    return rc;
}

/* --- the table of invariance ----------------------------------------------------------------- */

/* One threshold's row of the table, of masks that stand in their lanes. */
static void tabulate(struct lp_ibp_invariance *table, const struct learner *learner, uint32_t i,
                     uint8_t *masked_bits)
{
    const uint32_t w = 8 * learner->params.word_bytes, n = learner->n_words;
    const double raw_bits = (double)w * n, records = (double)learner->n_records;
    const struct lp_ibp_trial *const trial = &learner->report.trial[i];
    uint32_t positions[64] = {0};

    for (uint32_t j = 0; j < n; j++) {
        const uint64_t mask = lane_word(learner, i, j, LANE_MASK);

        for (uint32_t b = 0; b < w; b++)
            positions[b] += mask >> b & 1;
        if (masked_bits != NULL)
            masked_bits[(size_t)i * n + j] = (uint8_t)lane_word(learner, i, j, LANE_GAIN);
    }
    for (uint32_t b = 0; b < w; b++)
        table->row[i].bit_share[b] = (double)positions[b] / n;
    memcpy(&table->row[i].threshold, &trial->threshold_bits, sizeof(trial->threshold_bits));
    table->row[i].masked_share = (double)trial->mask_bits / raw_bits;
    if (learner->n_records > 0)
        table->row[i].saved_share = (double)trial->saved_bits / raw_bits / records;
}

int lp_codec_ibp_invariance(struct lp_ibp_invariance *ret_table, uint32_t word_bytes,
                            uint32_t n_words, const void *sample, uint64_t n_records,
                            uint8_t *ret_masked_bits, struct lp_error *err)
{
    struct lp_ibp_params params = {.word_bytes = word_bytes};
    struct learner learner;
    int rc;

    if (n_words > LP_FORMAT_RECORD_BYTES_MAX / LP_MAX(word_bytes, 1u))
        return lp_error_set(err, LP_EINVAL, "records of %u words of %u bytes", n_words, word_bytes);
    params.record_bytes = n_words * word_bytes;
    LP_TRY(rc, learner_init(&learner, &params, sample, n_records, err));
    LP_TRY_GOTO(rc, count_bits(&learner, err), fini);
    try_sweep(&learner);
    measure(&learner);
    memset(ret_table, 0, sizeof(*ret_table));
    ret_table->word_bytes = word_bytes;
    ret_table->n_words = n_words;
    for (uint32_t i = 0; i < LP_IBP_INVARIANCE_ROWS; i++)
        tabulate(ret_table, &learner, i, ret_masked_bits);

fini:
    learner_fini(&learner);
    return rc;
}
