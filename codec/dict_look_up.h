/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of all elements of a record, as coding begins in every vector tier. Groups and places are
 * worked out by vectors, which compilers make of the plain loops here; symbols are then loaded one
 * by one, because gathers are no faster; what has no symbol is told by vectors again. Nothing
 * branches on an element. */
#ifndef LP_CODEC_DICT_LOOK_UP_H
#define LP_CODEC_DICT_LOOK_UP_H

#include "codec/dict.h"
#include "codec/lane_bits.h"

#include <string.h>

/* Elements at a time: what vectors store is loaded one by one only when it has settled. */
#define LP_DICT_LOOK_UP_BLOCK 256u

/* Where the elements are looked for. */
struct lp_dict_places {
    uint16_t group[LP_DICT_LOOK_UP_BLOCK], place[LP_DICT_LOOK_UP_BLOCK];
};

static LP_ALWAYS_INLINE void lp_dict_find_places(const struct lp_dict *dict,
                                                 const uint32_t elem_bytes, const uint8_t *src,
                                                 uint32_t n, struct lp_dict_places *ret_places)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t hash =
            lp_dict_hash(dict, elem_bytes, lp_load_uint(src + (size_t)i * elem_bytes, elem_bytes));

        ret_places->group[i] = (uint16_t)lp_dict_group(dict, elem_bytes, hash);
        ret_places->place[i] = (uint16_t)lp_dict_place(dict, elem_bytes, hash);
    }
}

/* Symbols of a block; none + i for element i without one. */
static LP_ALWAYS_INLINE void lp_dict_look_up_narrow(const struct lp_dict *dict,
                                                    const uint32_t elem_bytes, const uint8_t *src,
                                                    uint32_t n, uint32_t none, uint16_t *symbols)
{
    struct lp_dict_places at;

    lp_dict_find_places(dict, elem_bytes, src, n, &at);
    for (uint32_t i = 0; i < n; i++)
        symbols[i] = dict->symbol_at[dict->group_at[at.group[i]] + at.place[i]];
    for (uint32_t i = 0; i < n; i++)
        symbols[i] = symbols[i] == lp_dict_symbols(dict) ? (uint16_t)(none + i) : symbols[i];
}

static LP_ALWAYS_INLINE void lp_dict_look_up_wide(const struct lp_dict *dict,
                                                  const uint32_t elem_bytes, const uint8_t *src,
                                                  uint32_t n, uint32_t none, uint16_t *symbols)
{
    const uint32_t size = 2 * elem_bytes;
    uint8_t entries[16 * LP_DICT_LOOK_UP_BLOCK];
    struct lp_dict_places at;

    lp_dict_find_places(dict, elem_bytes, src, n, &at);
    for (uint32_t i = 0; i < n; i++)
        memcpy(entries + i * size,
               dict->entry_at + (size_t)(dict->group_at[at.group[i]] + at.place[i]) * size, size);
    for (uint32_t i = 0; i < n; i++) {
        const bool found = lp_load_uint(entries + i * size, elem_bytes) ==
                           lp_load_uint(src + (size_t)i * elem_bytes, elem_bytes);
        const uint32_t symbol = (uint32_t)lp_load_uint(entries + i * size + elem_bytes, elem_bytes);

        symbols[i] = (uint16_t)(found ? symbol : none + i);
    }
}

static LP_ALWAYS_INLINE void lp_dict_look_up_block(const struct lp_dict *dict,
                                                   const uint32_t elem_bytes, const uint8_t *src,
                                                   uint32_t n, uint32_t none, uint16_t *symbols)
{
    if (elem_bytes <= 2)
        lp_dict_look_up_narrow(dict, elem_bytes, src, n, none, symbols);
    else
        lp_dict_look_up_wide(dict, elem_bytes, src, n, none, symbols);
}

static LP_ALWAYS_INLINE void lp_dict_look_up_of(const struct lp_dict *dict,
                                                const uint32_t elem_bytes, const uint8_t *src,
                                                uint32_t n, uint16_t *symbols)
{
    const struct lp_dict local = *dict; /* which nothing that is stored can change */

    for (uint32_t i = 0; i < n; i += LP_DICT_LOOK_UP_BLOCK)
        lp_dict_look_up_block(&local, elem_bytes, src + (size_t)i * elem_bytes,
                              LP_MIN(n - i, LP_DICT_LOOK_UP_BLOCK), lp_dict_symbols(dict) + i,
                              symbols + i);
}

/* Where no hash keeps values apart. */
static inline void lp_dict_look_up_slowly(const struct lp_dict *dict, const uint8_t *src,
                                          uint32_t n, uint16_t *symbols)
{
    const uint32_t elem_bytes = dict->elem_bytes, n_symbols = lp_dict_symbols(dict);

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t symbol =
            lp_dict_find(dict, lp_load_uint(src + (size_t)i * elem_bytes, elem_bytes));

        symbols[i] = (uint16_t)(symbol < n_symbols ? symbol : n_symbols + i);
    }
}

/* Elements of one byte: all groups together fit a table. */
static inline void lp_dict_look_up_bytes(const struct lp_dict *dict, const uint8_t *src, uint32_t n,
                                         uint16_t *symbols)
{
    const uint32_t n_symbols = lp_dict_symbols(dict), near = 1u << LP_DICT_NEAR_BITS;
    uint16_t symbol_of[256];

    for (uint32_t i = 0; i < 256; i += near)
        memcpy(symbol_of + i, dict->symbol_at + dict->group_at[i / near],
               near * sizeof(symbol_of[0]));
    for (uint32_t i = 0; i < n; i++)
        symbols[i] = symbol_of[src[i]];
    for (uint32_t i = 0; i < n; i++)
        symbols[i] = symbols[i] == n_symbols ? (uint16_t)(n_symbols + i) : symbols[i];
}

/* Symbols of n elements, at most LP_LANE_FAST_ELEMENTS_MAX; n_symbols + i for element i without
 * one. */
static inline void lp_dict_look_up(const struct lp_dict *dict, const uint8_t *src, uint32_t n,
                                   uint16_t *symbols)
{
    if (dict->elem_bytes == 1)
        lp_dict_look_up_bytes(dict, src, n, symbols);
    else if (dict->elem_bytes == 2)
        lp_dict_look_up_of(dict, 2, src, n, symbols);
    else if (dict->hash_factor == 0)
        lp_dict_look_up_slowly(dict, src, n, symbols);
    else if (dict->elem_bytes == 4)
        lp_dict_look_up_of(dict, 4, src, n, symbols);
    else
        lp_dict_look_up_of(dict, 8, src, n, symbols);
}

#endif
