/* SPDX-License-Identifier: Apache-2.0 */
/* The menu of levels that learning tries, and ranks from counts. */
#include "base/bytes.h"
#include "codec/lane_study.h"

#include <string.h>

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

/* Exponents that occur, or those that don't, in order. */
static uint32_t list_exponents(const uint32_t *hist, uint32_t mask, bool occur, uint16_t *list)
{
    uint32_t n = 0;

    for (uint32_t e = 0; e <= mask; e++) {
        if ((hist[e] != 0) == occur)
            list[n++] = (uint16_t)e;
    }
    return n;
}

/* Take the one with the largest count from the list, of equals that nearest to first, where there
 * is one, of equals the least. */
static uint16_t take_best(const uint32_t *hist, uint32_t mask, const uint16_t *first,
                          uint16_t *list, uint32_t n)
{
    uint16_t e;
    uint32_t best = 0;

    for (uint32_t i = 1; i < n; i++) {
        if (hist[list[i]] > hist[list[best]] ||
            (hist[list[i]] == hist[list[best]] && first != NULL &&
             ring_distance(list[i], *first, mask) < ring_distance(list[best], *first, mask)))
            best = i;
    }
    e = list[best];
    memmove(list + best, list + best + 1, (n - best - 1) * sizeof(*list));
    return e;
}

/* The n exponents with the largest counts, n at most all there are; among equals those nearest to
 * the first, because a sample leaves gaps next to what it saw. */
static void rank_exponents(const uint32_t *hist, uint32_t mask, uint16_t *ranks, uint32_t n)
{
    uint16_t left[LP_LANE_EXPONENTS_MAX];
    uint32_t n_left = list_exponents(hist, mask, true, left);

    for (uint32_t i = 0; i < n; i++) {
        if (n_left == 0)
            n_left = list_exponents(hist, mask, false, left);
        ranks[i] = take_best(hist, mask, i > 0 ? &ranks[0] : NULL, left, n_left--);
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

static uint32_t count_symbols(uint32_t entry)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < menu[entry].n_levels; k++)
        n += (1u << menu[entry].widths[k]) - 1;
    return n;
}

/* From ranks of at least as many exponents as the entry has symbols, or of all. */
static void init_trial(const struct lp_lane_study *study, struct lp_lane_trial *trial,
                       uint32_t entry, uint32_t window, const uint16_t *ranks)
{
    const struct lp_lane_params params = lp_codec_lane_trial_params(study, entry, window, ranks);

    trial->possible = count_symbols(entry) <= study->exponent_mask + 1 &&
                      lp_codec_lane_init(&trial->lane, &params, NULL) == 0;
}

void lp_codec_lane_set_trial(const struct lp_lane_study *study, struct lp_lane_trial *trial,
                             uint32_t entry, uint32_t window, const uint32_t *hist)
{
    uint16_t ranks[LP_FORMAT_LANE_SYMBOLS_MAX];

    rank_exponents(hist, study->exponent_mask, ranks,
                   LP_MIN(count_symbols(entry), study->exponent_mask + 1));
    init_trial(study, trial, entry, window, ranks);
}

void lp_codec_lane_set_trials(const struct lp_lane_study *study,
                              struct lp_lane_trial trials[LP_LANE_MENU_LENGTH], uint32_t window,
                              const uint32_t *hist)
{
    uint16_t ranks[LP_FORMAT_LANE_SYMBOLS_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++)
        n = LP_MAX(n, count_symbols(i));
    rank_exponents(hist, study->exponent_mask, ranks, LP_MIN(n, study->exponent_mask + 1));
    for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++)
        init_trial(study, &trials[i], i, window, ranks);
}

uint64_t lp_codec_lane_study_pooled(const struct lp_lane_study *study, const uint32_t *hist,
                                    uint64_t n)
{
    struct lp_lane_counts counts = {hist, 0, study->exponent_mask, (uint32_t)n};
    struct lp_lane_trial trials[LP_LANE_MENU_LENGTH];
    uint64_t best = n * study->info->bytes;

    lp_lane_counts_trim(&counts);
    lp_codec_lane_set_trials(study, trials, LP_LANE_WINDOW_TABLE, hist);
    for (uint32_t i = 0; i < LP_LANE_MENU_LENGTH; i++) {
        if (trials[i].possible)
            best = LP_MIN(best, lp_codec_lane_size(&trials[i].lane, &counts, 0));
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
