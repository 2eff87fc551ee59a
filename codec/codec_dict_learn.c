/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the values and levels of codec dict: distinct values are counted, the most frequent ones
 * sorted by count, and sums over the sorted counts then price any list of levels in a few
 * additions, so that all of them are tried. */
#include "base/alloc.h"
#include "codec/dict.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOLS_MAX (LP_DICT_LEARN_LEVELS * ((1u << LP_FORMAT_DICT_WIDTH_MAX) - 1))
/* Places of the hash table in which wide values are counted: at most half are taken. */
#define COUNT_BITS_MAX 17u
#define HASH_FACTOR 0x9e3779b1u /* 2^32 over the golden ratio (Knuth) */

struct counted {
    uint64_t value;
    uint64_t count;
};

/* A list of levels and what it costs. */
struct levels {
    uint32_t n;
    uint8_t widths[LP_FORMAT_DICT_LEVELS_MAX];
    uint64_t bits, raw; /* of the codes; elements without a symbol */
    uint64_t cost_bits; /* all, metadata included */
};

struct study {
    uint32_t elem_bytes;
    uint64_t n;
    uint32_t n_distinct;
    uint32_t count_bits;            /* of the hash table's size */
    uint32_t n_sorted;              /* the most frequent values stand first, in order */
    struct counted *counted;        /* n_distinct */
    uint64_t sums[SYMBOLS_MAX + 1]; /* sums[i]: elements with one of the first i values */
    struct levels best;
};

/* Values of one or two bytes: a counter each. */
static int count_narrow(struct study *study, const uint8_t *elements, struct lp_error *err)
{
    const uint32_t n_values = 1u << 8 * study->elem_bytes;
    uint32_t *const hist = lp_mem_zalloc(n_values * sizeof(*hist));

    study->counted = lp_mem_alloc_array(LP_MIN(study->n, n_values), sizeof(*study->counted));
    if (hist == NULL || study->counted == NULL) {
        lp_mem_free(hist);
        return lp_error_set(err, LP_ENOMEM, "no memory to count values");
    }
    for (uint64_t i = 0; i < study->n; i++) {
        const uint32_t value = study->elem_bytes == 2 ? lp_load_u16(elements + 2 * i) : elements[i];

        if (hist[value]++ == 0)
            study->counted[study->n_distinct++].value = value;
    }
    for (uint32_t i = 0; i < study->n_distinct; i++)
        study->counted[i].count = hist[study->counted[i].value];
    lp_mem_free(hist);
    return 0;
}

/* One more of value, in open addressing. False: there would be too many distinct ones. */
static bool count_one(struct study *study, uint64_t value)
{
    const uint32_t mask = (1u << study->count_bits) - 1;
    /* Either half of a wide value may be the same for all. */
    const uint32_t fold = (uint32_t)(value ^ value >> 32);
    uint32_t slot = fold * HASH_FACTOR >> (32 - study->count_bits);

    while (study->counted[slot].count != 0 && study->counted[slot].value != value)
        slot = (slot + 1) & mask;
    if (study->counted[slot].count++ != 0)
        return true;
    study->counted[slot].value = value;
    return ++study->n_distinct <= LP_DICT_DISTINCT_MAX;
}

/* Wider values: a hash table, given up when too many places are taken. */
static int count_wide(struct study *study, const uint8_t *elements, struct lp_error *err)
{
    uint32_t n_distinct = 0;

    study->count_bits = 1;
    while (study->count_bits < COUNT_BITS_MAX && study->n > UINT64_C(1) << (study->count_bits - 1))
        study->count_bits++;
    study->counted = lp_mem_zalloc(sizeof(*study->counted) << study->count_bits);
    if (study->counted == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to count values");
    for (uint64_t i = 0; i < study->n; i++) {
        if (!count_one(study, lp_load_uint(elements + i * study->elem_bytes, study->elem_bytes)))
            return lp_error_set(err, LP_ENOTSUP, "more than %u distinct values",
                                LP_DICT_DISTINCT_MAX);
    }
    for (uint32_t slot = 0; slot < 1u << study->count_bits; slot++) {
        if (study->counted[slot].count != 0)
            study->counted[n_distinct++] = study->counted[slot];
    }
    return 0;
}

/* More frequent ones first; among equals the smaller value, so that every run decides alike. */
static int by_count(const void *a, const void *b)
{
    const struct counted *const x = a, *const y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

/* Symbols of a list of levels that have a value. */
static uint32_t values_of(const struct study *study, uint32_t n_symbols)
{
    return LP_MIN(n_symbols, study->n_distinct);
}

/* The list ends here: is it the cheapest so far? At equal cost the one with fewer levels, then the
 * one tried first. */
static void consider(struct study *study, struct levels *levels, uint32_t n_symbols)
{
    const uint64_t word_bits = 8 * study->elem_bytes;

    levels->raw = study->n - study->sums[values_of(study, n_symbols)];
    levels->cost_bits = levels->bits + (levels->raw + values_of(study, n_symbols)) * word_bits;
    if (study->best.n == 0 || levels->cost_bits < study->best.cost_bits ||
        (levels->cost_bits == study->best.cost_bits && levels->n < study->best.n))
        study->best = *levels;
}

/* All lists that begin with levels. A level beyond the last value would have no symbol. */
static void try_levels(struct study *study, const struct levels *levels, uint32_t n_symbols)
{
    const uint64_t left = study->n - study->sums[values_of(study, n_symbols)];

    if (levels->n == LP_DICT_LEARN_LEVELS || n_symbols >= study->n_distinct)
        return;
    for (uint32_t width = 1; width <= LP_FORMAT_DICT_WIDTH_MAX; width++) {
        struct levels longer = *levels;

        longer.widths[longer.n++] = (uint8_t)width;
        longer.bits += width * left;
        consider(study, &longer, n_symbols + (1u << width) - 1);
        try_levels(study, &longer, n_symbols + (1u << width) - 1);
    }
}

/* Values with a count above this stand first in study->counted, in order; fewer than SYMBOLS_MAX,
 * or it is COUNTS_TOLD - 1: counts from there on are not told apart. */
#define COUNTS_TOLD 256u
static uint32_t find_border(const struct study *study)
{
    uint32_t n_with[COUNTS_TOLD + 1] = {0}, n = 0, count = COUNTS_TOLD;

    for (uint32_t i = 0; i < study->n_distinct; i++)
        n_with[LP_MIN(study->counted[i].count, COUNTS_TOLD)]++;
    while (count > 1 && n + n_with[count] < SYMBOLS_MAX)
        n += n_with[count--];
    return count < COUNTS_TOLD ? count : COUNTS_TOLD - 1;
}

/* Sort what is above the border, and count on with values that all stand on it. */
static void sort_frequent(struct study *study)
{
    const uint32_t border = find_border(study);

    for (uint32_t i = 0; i < study->n_distinct; i++) {
        const struct counted counted = study->counted[i];

        if (counted.count > border) {
            study->counted[i] = study->counted[study->n_sorted];
            study->counted[study->n_sorted++] = counted;
        }
    }
    qsort(study->counted, study->n_sorted, sizeof(*study->counted), by_count);
    for (uint32_t i = 0; i < values_of(study, SYMBOLS_MAX); i++)
        study->sums[i + 1] =
            study->sums[i] + (i < study->n_sorted ? study->counted[i].count : border);
}

/* Bring the first n values into order, from those that are sorted on: an insertion for each that
 * comes before the last of them. */
static void sort_first(struct study *study, uint32_t n)
{
    for (uint32_t i = study->n_sorted; n > study->n_sorted && i < study->n_distinct; i++) {
        const struct counted counted = study->counted[i];
        uint32_t at = LP_MIN(i, n);

        if (i >= n && by_count(&counted, &study->counted[n - 1]) > 0)
            continue;
        if (i >= n)
            study->counted[i] = study->counted[--at];
        for (; at > study->n_sorted && by_count(&counted, &study->counted[at - 1]) < 0; at--)
            study->counted[at] = study->counted[at - 1];
        study->counted[at] = counted;
    }
}

static int make_dict(struct lp_dict *ret_dict, struct study *study, struct lp_error *err)
{
    uint8_t values[SYMBOLS_MAX * sizeof(uint64_t)];
    uint32_t n_symbols = 0;

    for (uint32_t k = 0; k < study->best.n; k++)
        n_symbols += (1u << study->best.widths[k]) - 1;
    n_symbols = values_of(study, n_symbols);
    sort_first(study, n_symbols);
    for (uint32_t i = 0; i < n_symbols; i++)
        lp_store_uint(values + (size_t)i * study->elem_bytes, study->elem_bytes,
                      study->counted[i].value);
    return lp_codec_dict_init(ret_dict, study->elem_bytes, study->best.n, study->best.widths,
                              n_symbols, values, err);
}

int lp_codec_dict_learn(struct lp_dict *ret_dict, uint32_t elem_bytes, const void *elements,
                        uint64_t n, uint64_t *ret_payload_bytes, struct lp_error *err)
{
    const struct levels none = {0};
    struct study *study;
    int rc;

    if (elem_bytes != 1 && elem_bytes != 2 && elem_bytes != 4 && elem_bytes != 8)
        return lp_error_set(err, LP_ENOTSUP, "codec dict takes elements of 1, 2, 4 or 8 bytes");
    if (n == 0)
        return lp_error_set(err, LP_EINVAL, "no elements to learn from");
    study = lp_mem_zalloc(sizeof(*study));
    if (study == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to count values");
    study->elem_bytes = elem_bytes;
    study->n = n;
    rc = elem_bytes <= 2 ? count_narrow(study, elements, err) : count_wide(study, elements, err);
    if (rc == 0) {
        sort_frequent(study);
        try_levels(study, &none, 0);
        rc = make_dict(ret_dict, study, err);
    }
    if (rc == 0)
        *ret_payload_bytes = (study->best.bits + 7) / 8 + study->best.raw * elem_bytes;
    lp_mem_free(study->counted);
    lp_mem_free(study);
    return rc;
}
