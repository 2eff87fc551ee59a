/* SPDX-License-Identifier: Apache-2.0 */
/* The menu of levels that learning tries, and ranks from counts. */
#include "base/bytes.h"
#include "codec/lane_study.h"

/* Levels that won on some of the data seen; measured over one to five levels of up to 4 bits. */
static const struct {
    uint32_t n_levels;
    uint8_t widths[LP_FORMAT_LANE_LEVELS_MAX];
} menu[LP_LANE_MENU_LENGTH] = {
    {3, {2, 2, 3}},    /* bell curves, the cheapest to decode */
    {4, {2, 2, 2, 3}}, /* bell curves, 0.2 points better */
    {3, {1, 2, 3}},    /* one exponent in half of the elements */
    {4, {1, 1, 2, 3}}, /* and the next in half of the rest */
    {2, {3, 3}},       /* flat distributions, as in f16 */
    {4, {3, 2, 2, 2}}, /* flat with long tails, as in bytes with a scale per row */
};

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

struct lp_lane_params lp_codec_lane_trial_params(const struct lp_lane_study *study, uint32_t entry,
                                                 uint32_t window, const uint16_t *ranks)
{
    return (struct lp_lane_params){.dtype = study->sample->dtype,
                                   .exponent_bits = study->field_bits,
                                   .n_levels = menu[entry].n_levels,
                                   .widths = menu[entry].widths,
                                   .ranks = ranks,
                                   .window = window,
                                   .sign = study->sign,
                                   .trailing_bits = study->trailing_bits};
}

void lp_codec_lane_set_trial(const struct lp_lane_study *study, struct lp_lane_trial *trial,
                             uint32_t entry, uint32_t window, const uint32_t *hist)
{
    uint16_t ranks[LP_FORMAT_LANE_SYMBOLS_MAX];
    struct lp_lane_params params;
    uint32_t n_symbols = 0;

    for (uint32_t k = 0; k < menu[entry].n_levels; k++)
        n_symbols += (1u << menu[entry].widths[k]) - 1;
    trial->possible = n_symbols <= study->exponent_mask + 1;
    if (!trial->possible)
        return;
    rank_exponents(hist, study->exponent_mask, ranks, n_symbols);
    params = lp_codec_lane_trial_params(study, entry, window, ranks);
    trial->possible = lp_codec_lane_init(&trial->lane, &params, NULL) == 0;
}

uint64_t lp_codec_lane_study_pooled(const struct lp_lane_study *study, const uint32_t *hist,
                                    uint64_t n)
{
    const struct lp_lane_counts counts = {hist, 0, study->exponent_mask, (uint32_t)n};
    uint64_t best = n * study->info->bytes;
    struct lp_lane_trial trial;

    for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++) {
        lp_codec_lane_set_trial(study, &trial, i, LP_LANE_WINDOW_TABLE, hist);
        if (trial.possible)
            best = LP_MIN(best, lp_codec_lane_size(&trial.lane, &counts, 0));
    }
    return best;
}

bool lp_codec_lane_study_is_less(const struct lp_lane_study *study, uint64_t a, uint64_t a_meta,
                                 uint64_t b, uint64_t b_meta)
{
    const struct lp_geometry *const geometry = study->sample->geometry;
    const uint64_t table_elements = geometry != NULL
                                        ? geometry->n_elements
                                        : study->sample->n_records * study->sample->record_elements;

    return (__uint128_t)a * table_elements + (__uint128_t)a_meta * study->studied_elements <
           (__uint128_t)b * table_elements + (__uint128_t)b_meta * study->studied_elements;
}
