/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of groups of records, each with its own ibp masks, on some of the records: from a few
 * starts on, every group learns its masks from its records and every record goes where it is
 * smallest, a few times over. What comes out is measured on all records. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ibp_record.h"
#include "codec/ibp_starts.h"
#include "codec/ops.h"

#include <string.h>

#define RECORDS_MIN 1024u /* of fewer, groups would learn by heart */
#define LOOKED_AT_MIN 512u
#define LOOKED_AT_MAX 2048u
#define LOOKED_AT_BYTES (1u << 20) /* between these */
#define QUICK_TURNS 2u             /* with masks by threshold; then one with the best */
#define GROUPS_MAX LP_IBP_LANES    /* as many sets are measured at once */
/* In thousandths of the raw bytes: what groups must save more than one set has saved, after quick
 * turns to be looked at further, and in the end. */
#define PROMISE 5u
#define REACH 40u /* by how much one set may be behind another codec and groups still be tried */
#define MARGIN 3u

LP_STATIC_ASSERT(GROUPS_MAX <= LP_IBP_STARTS_MAX, "every group has a start");
LP_STATIC_ASSERT(LOOKED_AT_MIN >= LP_IBP_STARTS_RECORDS, "starts are found among them");
LP_STATIC_ASSERT(GROUPS_MAX <= LP_FORMAT_IBP_GROUPS_MAX, "what is chosen can be written");

/* A record that is looked at. */
struct looked_at {
    const uint8_t *record;
    uint32_t group;
};

struct study {
    struct lp_ibp_params params;
    uint64_t table_records;
    const uint8_t *sample; /* borrowed */
    uint64_t n_records;
    uint32_t n_looked_at;
    struct looked_at *looked_at;  /* owned, one block that begins here */
    uint8_t *gathered;            /* in the same block: room for as many records */
    uint8_t *lanes;               /* owned; struct lp_ibp_score */
    struct lp_ibp_starts *starts; /* owned */
};

/* Masks of some groups, and what all records take with them. */
struct attempt {
    struct lp_ibp ibp;
    struct lp_ibp_trial taken;
};

static void study_fini(struct study *study)
{
    lp_mem_free(study->looked_at);
    lp_mem_free(study->lanes);
    lp_mem_free(study->starts);
}

/* Evenly spread. */
static void look_at(struct study *study)
{
    const uint64_t n = study->n_looked_at, records = study->n_records;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t r = i * (records / n) + i * (records % n) / n;

        study->looked_at[i].record = study->sample + r * study->params.record_bytes;
    }
}

static void find_starts(struct study *study)
{
    const uint32_t n = LP_IBP_STARTS_RECORDS, step = study->n_looked_at / n;
    const uint8_t *records[LP_IBP_STARTS_RECORDS];

    for (uint32_t i = 0; i < n; i++)
        records[i] = study->looked_at[i * step].record;
    lp_codec_ibp_find_starts(study->starts, records, n, study->params.record_bytes);
}

/* n_records >= RECORDS_MIN. */
static int study_init(struct study *study, const struct lp_ibp_params *params,
                      uint64_t table_records, const void *sample, uint64_t n_records,
                      struct lp_error *err)
{
    const uint32_t bytes = params->record_bytes;
    const uint32_t n = LP_MAX(LOOKED_AT_MIN, LP_MIN(LOOKED_AT_MAX, LOOKED_AT_BYTES / bytes));

    memset(study, 0, sizeof(*study));
    study->params = *params;
    if (params->align_bytes == 0)
        study->params.align_bytes = LP_FORMAT_INDEX_UNIT_BYTES;
    study->table_records = LP_MAX(table_records, n_records);
    study->sample = sample;
    study->n_records = n_records;
    study->n_looked_at = (uint32_t)LP_MIN(n, n_records);
    study->looked_at = lp_mem_alloc_array(study->n_looked_at, sizeof(*study->looked_at) + bytes);
    study->lanes = lp_mem_alloc_aligned(64, (size_t)bytes * 3 * LP_IBP_LANES);
    study->starts = lp_mem_alloc(sizeof(*study->starts));
    if (study->looked_at == NULL || study->lanes == NULL || study->starts == NULL) {
        study_fini(study);
        return lp_error_set(err, LP_ENOMEM, "no memory to group records of %u bytes", bytes);
    }
    study->gathered = (uint8_t *)(study->looked_at + study->n_looked_at);
    look_at(study);
    find_starts(study);
    return 0;
}

/* --- measuring ------------------------------------------------------------------------------- */

static void store_lane(uint8_t *line, uint32_t lane, const struct lp_ibp_masks *set, uint32_t j,
                       uint32_t s)
{
    lp_ibp_store(line + (size_t)lane * s, set->mask[j], s);
    lp_ibp_store(line + (size_t)(LP_IBP_LANES + lane) * s, set->value[j], s);
    lp_ibp_store(line + (size_t)(2 * LP_IBP_LANES + lane) * s, 8 * s - set->packed_bits[j], s);
}

/* Lanes that are not used mask nothing. */
static struct lp_ibp_score fill_lanes(const struct study *study, const struct lp_ibp *ibp)
{
    const uint32_t s = ibp->word_bytes, align = study->params.align_bytes;
    const uint32_t bytes = study->params.record_bytes;

    memset(study->lanes, 0, (size_t)bytes * 3 * LP_IBP_LANES);
    for (uint32_t j = 0; j < ibp->n_words; j++)
        for (uint32_t g = 0; g < LP_MAX(ibp->n_groups, 1u); g++)
            store_lane(study->lanes + (size_t)j * 3 * LP_IBP_LANES * s, g, &ibp->set[g], j, s);
    return (struct lp_ibp_score){.word_bytes = s,
                                 .n_words = ibp->n_words,
                                 .align_bytes = align,
                                 .raw_length = (bytes + align - 1) & ~(align - 1),
                                 .head_bytes = lp_ibp_head_bytes(ibp->n_words, s, ibp->n_groups),
                                 .lanes = study->lanes};
}

/* All records, each with the group with which it is smallest. */
static void measure(const struct study *study, struct attempt *attempt)
{
    const struct lp_ibp_score score = fill_lanes(study, &attempt->ibp);
    struct lp_ibp_totals one;

    for (uint32_t g = 0; g < attempt->ibp.n_groups; g++)
        for (uint32_t j = 0; j < attempt->ibp.n_words; j++)
            attempt->taken.mask_bits += (uint32_t)__builtin_popcountll(attempt->ibp.set[g].mask[j]);
    for (uint64_t r = 0; r < study->n_records; r++) {
        uint32_t best = 0;

        lp_codec_ops()->ibp_score(&score, study->sample + r * study->params.record_bytes, 1, &one);
        for (uint32_t g = 1; g < attempt->ibp.n_groups; g++)
            if (one.payload_bytes[g] < one.payload_bytes[best])
                best = g;
        attempt->taken.saved_bits += one.saved_bits[best];
        attempt->taken.payload_bytes += one.payload_bytes[best];
        attempt->taken.stored_bytes += one.stored_bytes[best];
    }
}

/* --- turns ----------------------------------------------------------------------------------- */

/* A record that stands nowhere is of no group yet. */
#define NOWHERE UINT32_MAX

static void start_groups(const struct study *study, uint32_t n_groups)
{
    const uint32_t step = study->n_looked_at / LP_IBP_STARTS_RECORDS;

    for (uint32_t i = 0; i < study->n_looked_at; i++)
        study->looked_at[i].group = NOWHERE;
    for (uint32_t i = 0; i < LP_IBP_STARTS_RECORDS; i++)
        study->looked_at[i * step].group = lp_codec_ibp_nearest_start(study->starts, i, n_groups);
}

/* Each record that is looked at to the group whose masks save most of it, of equals the first.
 * Returns what is then saved. */
static uint64_t assign(const struct study *study, const struct lp_ibp *ibp)
{
    const struct lp_ibp_score score = fill_lanes(study, ibp);
    struct lp_ibp_totals one;
    uint64_t saved_bits = 0;

    for (uint32_t i = 0; i < study->n_looked_at; i++) {
        uint32_t best = 0;

        lp_codec_ops()->ibp_score(&score, study->looked_at[i].record, 1, &one);
        for (uint32_t g = 1; g < ibp->n_groups; g++)
            if (one.saved_bits[g] > one.saved_bits[best])
                best = g;
        study->looked_at[i].group = best;
        saved_bits += one.saved_bits[best];
    }
    return saved_bits;
}

/* Masks learned from a group's records; an empty group masks nothing. */
static int learn_group(const struct study *study, struct lp_ibp *ibp, uint32_t group, bool quick,
                       struct lp_error *err)
{
    const uint32_t bytes = study->params.record_bytes;
    struct lp_ibp_params params = study->params;
    struct lp_ibp one;
    uint64_t n = 0;
    int rc;

    for (uint32_t i = 0; i < study->n_looked_at; i++)
        if (study->looked_at[i].group == group)
            memcpy(study->gathered + n++ * bytes, study->looked_at[i].record, bytes);
    params.exact = quick;
    params.counts = NULL;
    LP_TRY(rc, lp_codec_ibp_learn(&one, &params, study->gathered, n, NULL, err));
    memcpy(ibp->set[group].mask, one.set->mask, ibp->n_words * sizeof(*one.set->mask));
    memcpy(ibp->set[group].value, one.set->value, ibp->n_words * sizeof(*one.set->value));
    lp_codec_ibp_fini(&one);
    return 0;
}

static int learn_groups(const struct study *study, struct lp_ibp *ibp, bool quick,
                        struct lp_error *err)
{
    int rc;

    for (uint32_t g = 0; g < ibp->n_groups; g++)
        LP_TRY(rc, learn_group(study, ibp, g, quick, err));
    lp_codec_ibp_derive(ibp);
    return 0;
}

/* Masks of all groups. Stops early, and says so, when they do not promise to save at_least bits of
 * the records that are looked at. */
static int take_turns(const struct study *study, struct lp_ibp *ibp, uint64_t at_least,
                      bool *ret_promising, struct lp_error *err)
{
    uint64_t saved_bits = 0;
    int rc;

    start_groups(study, ibp->n_groups);
    for (uint32_t turn = 0; turn < QUICK_TURNS; turn++) {
        LP_TRY(rc, learn_groups(study, ibp, true, err));
        saved_bits = assign(study, ibp);
    }
    *ret_promising = saved_bits >= at_least;
    return *ret_promising ? learn_groups(study, ibp, false, err) : 0;
}

/* --- the choice ------------------------------------------------------------------------------ */

/* What the table takes, times the sample's records. */
static __uint128_t cost(const struct study *study, const struct attempt *attempt)
{
    return (__uint128_t)attempt->taken.stored_bytes * study->table_records +
           (__uint128_t)lp_codec_ibp_meta_bytes(&attempt->ibp) * study->n_records;
}

static __uint128_t margin(const struct study *study)
{
    return (__uint128_t)study->params.record_bytes * study->n_records * study->table_records *
           MARGIN / 1000;
}

/* The fewer groups, the less they can promise: the first that do not end the search. */
static int try_groups(const struct study *study, struct attempt *kept, struct lp_error *err)
{
    const uint32_t s = study->params.word_bytes, bytes = study->params.record_bytes;
    const uint64_t promise = 8ull * bytes * study->n_looked_at * PROMISE / 1000;
    const uint64_t at_least = assign(study, &kept->ibp) + promise;
    const __uint128_t bound = cost(study, kept) - LP_MIN(cost(study, kept), margin(study));
    bool promising = true;

    for (uint32_t n = GROUPS_MAX; n > 1 && promising; n /= 2) {
        struct attempt attempt = {.taken = {.threshold_bits = 0}};
        int rc;

        LP_TRY(rc, lp_codec_ibp_init(&attempt.ibp, s, bytes / s, n, err));
        rc = take_turns(study, &attempt.ibp, at_least, &promising, err);
        if (rc == 0 && promising)
            measure(study, &attempt);
        if (rc == 0 && promising && cost(study, &attempt) < LP_MIN(bound, cost(study, kept))) {
            lp_codec_ibp_fini(&kept->ibp);
            *kept = attempt;
            continue;
        }
        lp_codec_ibp_fini(&attempt.ibp);
        LP_TRY(rc, rc);
    }
    return 0;
}

/* Looking for groups takes longer than all other analysis: only where they could win. */
bool lp_codec_ibp_tries_groups(const struct lp_ibp_params *params, uint64_t n_records,
                               uint64_t stored_bytes)
{
    const uint64_t raw_bytes = n_records * params->record_bytes;

    return !params->exact && params->threshold == 0 && n_records >= RECORDS_MIN &&
           (params->rival_bytes == 0 ||
            stored_bytes <= params->rival_bytes + raw_bytes * REACH / 1000);
}

int lp_codec_ibp_learn_groups(struct lp_ibp *ret_ibp, const struct lp_ibp_params *params,
                              uint64_t table_records, const void *sample, uint64_t n_records,
                              struct lp_ibp_trial *ret_taken, struct lp_error *err)
{
    struct lp_ibp_report report;
    struct attempt kept;
    struct study study;
    int rc;

    LP_TRY(rc, lp_codec_ibp_learn(&kept.ibp, params, sample, n_records, &report, err));
    kept.taken = report.trial[report.kept];
    if (!report.saves)
        kept.taken.saved_bits = 0;
    if (report.saves && lp_codec_ibp_tries_groups(params, n_records, kept.taken.stored_bytes)) {
        LP_TRY_GOTO(rc, study_init(&study, params, table_records, sample, n_records, err), fini);
        rc = try_groups(&study, &kept, err);
        study_fini(&study);
        if (rc < 0)
            goto fini;
    }
    *ret_taken = kept.taken;
    *ret_ibp = kept.ibp;
    return 0;

fini:
    lp_codec_ibp_fini(&kept.ibp);
    return rc;
}
