/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the parameters of codec lane: each entry of a small menu of levels is tried with a
 * window per table and a window per record, its ranks taken from counts of the sample, its price
 * computed exactly from each record's histogram.
 *
 * With a window per record, ranks count from the record's base. They are found by turns: from
 * bases (at first each record's most frequent exponent) to ranks, and from ranks to the bases with
 * which records are smallest. Two turns reach a standstill on all data seen. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/lane.h"
#include "codec/ops.h"
#include "codec/shape.h"

#include <string.h>

/* Levels that won on some of the data seen; measured over one to five levels of up to 4 bits. */
#define MENU_LENGTH 5
static const struct {
    uint32_t n_levels;
    uint8_t widths[LP_FORMAT_LANE_LEVELS_MAX];
} menu[MENU_LENGTH] = {
    {3, {2, 2, 3}},    /* bell curves, the cheapest to decode */
    {4, {2, 2, 2, 3}}, /* bell curves, 0.2 points better */
    {3, {1, 2, 3}},    /* one exponent in half of the elements */
    {4, {1, 1, 2, 3}}, /* and the next in half of the rest */
    {2, {3, 3}},       /* flat distributions, as in f16 */
};

#define TURNS 2u
/* Bytes of the sample that the choice looks at; the final price counts all of it. */
#define STUDY_BYTES (UINT64_C(2) << 20)
/* Records are priced with the smallest alignment that the format has. */
#define PRICE_ALIGN 4u

struct trial {
    struct lp_lane lane;
    bool possible;          /* the dtype has exponents enough for its symbols */
    uint64_t payload_bytes; /* of the records studied */
};

struct study {
    const struct lp_codec_ops *ops;
    const struct lp_dtype_info *info;
    const uint8_t *sample; /* borrowed */
    uint64_t n_records;
    uint32_t record_elements;
    uint64_t step; /* every step-th record is studied */
    uint32_t dtype, exponent_mask;
    struct trial table[MENU_LENGTH], record[MENU_LENGTH];
    uint32_t hist[LP_LANE_EXPONENTS_MAX];                 /* of the record at hand */
    uint32_t all[LP_LANE_EXPONENTS_MAX];                  /* of all records studied */
    uint32_t shifted[MENU_LENGTH][LP_LANE_EXPONENTS_MAX]; /* the same, minus each one's base */
};

static struct lp_lane_counts count_record(struct study *study, uint64_t record)
{
    const size_t record_bytes = (size_t)study->record_elements * study->info->bytes;
    struct lp_lane_counts counts = {study->hist, 0, study->exponent_mask, study->record_elements};

    memset(study->hist, 0, (study->exponent_mask + 1) * sizeof(study->hist[0]));
    study->ops->exponent_histogram(study->dtype, study->sample + record * record_bytes,
                                   study->record_elements, study->hist);
    while (counts.low < counts.high && study->hist[counts.low] == 0)
        counts.low++;
    while (counts.high > counts.low && study->hist[counts.high] == 0)
        counts.high--;
    return counts;
}

/* Distance of two exponents on the ring of 2^E. */
static uint32_t ring_distance(uint32_t a, uint32_t b, uint32_t mask)
{
    return LP_MIN((a - b) & mask, (b - a) & mask);
}

/* The n exponents with the largest counts; among equals those nearest to the first, because a
 * sample leaves gaps next to what it saw. */
static void rank_exponents(const uint32_t *hist, uint32_t mask, uint16_t *ranks, uint32_t n)
{
    bool taken[LP_LANE_EXPONENTS_MAX] = {false};

    for (uint32_t i = 0; i < n; i++) {
        uint32_t best = 0;

        while (taken[best])
            best++;
        for (uint32_t e = best + 1; e <= mask; e++) {
            if (taken[e] || hist[e] < hist[best])
                continue;
            if (hist[e] > hist[best] ||
                (i > 0 && ring_distance(e, ranks[0], mask) < ring_distance(best, ranks[0], mask)))
                best = e;
        }
        taken[best] = true;
        ranks[i] = (uint16_t)best;
    }
}

static void set_trial(const struct study *study, struct trial *trial, uint32_t entry,
                      uint32_t window, const uint32_t *hist)
{
    uint16_t ranks[LP_FORMAT_LANE_SYMBOLS_MAX];
    uint32_t n_symbols = 0;

    for (uint32_t k = 0; k < menu[entry].n_levels; k++)
        n_symbols += (1u << menu[entry].widths[k]) - 1;
    trial->possible = n_symbols <= study->exponent_mask + 1;
    if (!trial->possible)
        return;
    rank_exponents(hist, study->exponent_mask, ranks, n_symbols);
    trial->possible = lp_codec_lane_init(&trial->lane,
                                         &(struct lp_lane_params){.dtype = study->dtype,
                                                                  .n_levels = menu[entry].n_levels,
                                                                  .widths = menu[entry].widths,
                                                                  .window = window,
                                                                  .ranks = ranks},
                                         NULL) == 0;
}

static void add_shifted(uint32_t *hist, const struct lp_lane_counts *counts, uint32_t base,
                        uint32_t mask)
{
    for (uint32_t e = counts->low; e <= counts->high; e++)
        hist[(e - base) & mask] += counts->hist[e];
}

/* First ranks: of all exponents, and of all minus each record's most frequent one. */
static void study_counts(struct study *study)
{
    for (uint64_t r = 0; r < study->n_records; r += study->step) {
        const struct lp_lane_counts counts = count_record(study, r);
        uint32_t mode = counts.low;

        for (uint32_t e = counts.low; e <= counts.high; e++)
            mode = counts.hist[e] > counts.hist[mode] ? e : mode;
        add_shifted(study->all, &counts, 0, study->exponent_mask);
        add_shifted(study->shifted[0], &counts, mode, study->exponent_mask);
    }
    for (uint32_t i = 0; i < MENU_LENGTH; i++) {
        set_trial(study, &study->table[i], i, LP_LANE_WINDOW_TABLE, study->all);
        set_trial(study, &study->record[i], i, LP_LANE_WINDOW_RECORD, study->shifted[0]);
    }
}

/* One turn: bases from ranks, ranks from bases. */
static void study_bases(struct study *study)
{
    memset(study->shifted, 0, sizeof(study->shifted));
    for (uint64_t r = 0; r < study->n_records; r += study->step) {
        const struct lp_lane_counts counts = count_record(study, r);

        for (uint32_t i = 0; i < MENU_LENGTH; i++) {
            if (study->record[i].possible)
                add_shifted(study->shifted[i], &counts,
                            lp_codec_lane_pick_base(&study->record[i].lane, &counts),
                            study->exponent_mask);
        }
    }
    for (uint32_t i = 0; i < MENU_LENGTH; i++)
        set_trial(study, &study->record[i], i, LP_LANE_WINDOW_RECORD, study->shifted[i]);
}

/* Payload of one record: coded where that shrinks it, else raw. */
static uint64_t price_record(const struct study *study, const struct lp_lane *lane,
                             const struct lp_lane_counts *counts)
{
    const uint64_t raw_bytes = (uint64_t)counts->n * study->info->bytes;
    const uint64_t size = lp_codec_lane_size(lane, counts, lp_codec_lane_pick_base(lane, counts));

    return lp_round_up_u64(size, PRICE_ALIGN) < lp_round_up_u64(raw_bytes, PRICE_ALIGN) ? size
                                                                                        : raw_bytes;
}

static void study_prices(struct study *study)
{
    for (uint64_t r = 0; r < study->n_records; r += study->step) {
        const struct lp_lane_counts counts = count_record(study, r);

        for (uint32_t i = 0; i < MENU_LENGTH; i++) {
            struct trial *const trials[2] = {&study->table[i], &study->record[i]};

            for (uint32_t j = 0; j < 2; j++) {
                if (trials[j]->possible)
                    trials[j]->payload_bytes += price_record(study, &trials[j]->lane, &counts);
            }
        }
    }
}

static bool is_cheaper(const struct study *study, const struct trial *trial,
                       const struct trial *than)
{
    if (!trial->possible)
        return false;
    return than == NULL ||
           trial->payload_bytes * study->step + lp_codec_lane_meta_bytes(&trial->lane) <
               than->payload_bytes * study->step + lp_codec_lane_meta_bytes(&than->lane);
}

/* The cheapest trial; at equal price a window per table, and the entry that comes first. */
static const struct trial *choose(const struct study *study)
{
    const struct trial *best = NULL;

    for (uint32_t i = 0; i < MENU_LENGTH; i++)
        best = is_cheaper(study, &study->table[i], best) ? &study->table[i] : best;
    for (uint32_t i = 0; i < MENU_LENGTH; i++)
        best = is_cheaper(study, &study->record[i], best) ? &study->record[i] : best;
    return best;
}

static uint64_t price_sample(struct study *study, const struct trial *trial)
{
    uint64_t payload_bytes = 0;

    if (study->step == 1)
        return trial->payload_bytes;
    for (uint64_t r = 0; r < study->n_records; r++) {
        const struct lp_lane_counts counts = count_record(study, r);

        payload_bytes += price_record(study, &trial->lane, &counts);
    }
    return payload_bytes;
}

int lp_codec_lane_learn(struct lp_lane *ret_lane, uint32_t dtype, const void *sample,
                        uint64_t n_records, uint32_t record_elements, uint64_t *ret_payload_bytes,
                        struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const struct trial *best;
    struct study *study;

    if (info == NULL || info->exponent_bits == 0)
        return lp_error_set(err, LP_ENOTSUP, "codec lane codes floats, not %s",
                            info != NULL ? info->name : "an unknown dtype");
    if (n_records == 0 || record_elements == 0)
        return lp_error_set(err, LP_EINVAL, "no records to learn from");
    study = lp_mem_zalloc(sizeof(*study));
    if (study == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the counts of codec lane");
    study->ops = lp_codec_ops();
    study->info = info;
    study->sample = sample;
    study->n_records = n_records;
    study->record_elements = record_elements;
    study->step = 1 + n_records * record_elements * info->bytes / STUDY_BYTES;
    study->dtype = dtype;
    study->exponent_mask = (1u << info->exponent_bits) - 1;
    study_counts(study);
    for (uint32_t i = 0; i < TURNS; i++)
        study_bases(study);
    study_prices(study);
    best = choose(study);
    *ret_lane = best->lane;
    *ret_payload_bytes = price_sample(study, best);
    lp_mem_free(study);
    return 0;
}
