/* SPDX-License-Identifier: Apache-2.0 */
/* The known word that somebody who wrote an unknown one most likely meant. */
#ifndef LP_BASE_NEAREST_H
#define LP_BASE_NEAREST_H

#include <stddef.h>

/* A search: give it the candidates one by one, then read best. */
struct lp_nearest {
    const char *word; /* borrows: the unknown word; only its first 63 bytes count */
    const char *best; /* borrows: the nearest candidate so far; NULL: none is near enough */
    size_t distance;  /* of best, in single-letter edits */
};

/* Start a search. A candidate is near enough when at most half of the word's letters differ. */
void lp_nearest_init(struct lp_nearest *nearest, const char *word);

/* Look at one candidate; it borrows until best has been read. */
void lp_nearest_offer(struct lp_nearest *nearest, const char *candidate);

#endif
