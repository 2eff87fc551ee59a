/* SPDX-License-Identifier: Apache-2.0 */
/* Where the non-zero elements of a record stand: between a map in memory, one bit for each element,
 * and the places of docs/FORMAT.md, section 8, which are a list after Elias and Fano or that map.
 *
 * In memory bit i of a map is bit i % 64 of word i / 64; bits from the record's last element to the
 * end of its last word are zero, and what lies behind that word is never read. */
#ifndef LP_CODEC_SPARSE_PLACES_H
#define LP_CODEC_SPARSE_PLACES_H

#include "codec/format.h"

#include <stdbool.h>

#define LP_SPARSE_MAP_WORDS (LP_FORMAT_SPARSE_ELEMENTS_MAX / 64)

/* How the places of m of n elements are written; 1 <= m <= n <= LP_FORMAT_SPARSE_ELEMENTS_MAX. */
struct lp_sparse_places {
    uint32_t n, m;
    bool is_list;
    uint32_t low_bits;   /* of each place, in a list */
    uint32_t upper_bits; /* of all places together, in a list */
    uint32_t bits;       /* in all */
    uint32_t bytes;      /* rounded up */
};

static inline struct lp_sparse_places lp_sparse_places(uint32_t n, uint32_t m)
{
    struct lp_sparse_places places = {.n = n, .m = m};

    while ((uint64_t)m << (places.low_bits + 1) <= n)
        places.low_bits++;
    places.upper_bits = m + ((n - 1) >> places.low_bits);
    places.bits = m * places.low_bits + places.upper_bits;
    places.is_list = places.bits < n;
    if (!places.is_list)
        places.bits = n;
    places.bytes = (places.bits + 7) / 8;
    return places;
}

static inline uint32_t lp_sparse_map_words(uint32_t n)
{
    return (n + 63) / 64;
}

/* Write the places that map has, places->m in all. dst has places->bytes and LP_CODEC_SLACK_BYTES,
 * whose contents are then unspecified. */
void lp_codec_sparse_places_put(const struct lp_sparse_places *places, const uint64_t *map,
                                uint8_t *dst);

/* Read places->bytes, behind which LP_CODEC_SLACK_BYTES are readable, into a map, all words of it.
 * False: they are not places->m places that rise below n, or a bit behind them is set; the map is
 * then unspecified, but no bit from n on is set. A source that changes meanwhile gives true only
 * with places->m bits set. */
bool lp_codec_sparse_places_get(const struct lp_sparse_places *places, const uint8_t *src,
                                uint64_t *map);

#endif
