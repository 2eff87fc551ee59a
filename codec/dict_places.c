/* SPDX-License-Identifier: Apache-2.0 */
/* Where an encoder of codec dict finds symbols: tables that are made once, so that each element
 * takes a few loads and no search. Narrow values stand near their neighbours. Wider ones have a
 * hash without collisions: values are put in groups by some of its bits, each group is moved as a
 * whole until no value of it meets another, and a factor with which that fails is given up for the
 * next one (hash and displace: R. Pagh, 1999). */
#include "codec/dict_places.h"

#include "base/alloc.h"

#include <string.h>

/* Wider values have a hash: at least so many places, and at most so many values a group on average.
 */
#define PLACES_PER_VALUE 2u
#define VALUES_PER_GROUP 2u
#define PLACE_BITS_MIN 6u
#define GROUP_BITS_MIN 4u
#define MOVES 256u /* that a group may be tried at */
#define VALUES_MAX (LP_FORMAT_DICT_LEVELS_MAX * ((1u << LP_FORMAT_DICT_WIDTH_MAX) - 1))
#define GROUPS_MAX 1024u
#define PLACES_MAX (4096u + MOVES)
LP_STATIC_ASSERT(PLACES_PER_VALUE *VALUES_MAX <= 4096, "places for all values have room");
LP_STATIC_ASSERT(VALUES_MAX / VALUES_PER_GROUP <= GROUPS_MAX, "groups of all values have room");
/* Narrow values, of 1 or 2 bytes: groups, and places in a group. */
#define NEAR_PLACES (1u << LP_DICT_NEAR_BITS)
#define NEAR_GROUPS(elem_bytes) ((1u << 8 * (elem_bytes)) / NEAR_PLACES)

static uint64_t value_at(const struct lp_dict *dict, uint32_t symbol)
{
    return lp_load_uint(dict->values + (size_t)symbol * dict->elem_bytes, dict->elem_bytes);
}

/* Number of the place where a value is looked for, and stands if it has a symbol. */
static size_t place_of(const struct lp_dict *dict, uint64_t word)
{
    const uint32_t elem_bytes = dict->elem_bytes, hash = lp_dict_hash(dict, elem_bytes, word);

    return dict->group_at[lp_dict_group(dict, elem_bytes, hash)] +
           (size_t)lp_dict_place(dict, elem_bytes, hash);
}

uint32_t lp_dict_find(const struct lp_dict *dict, uint64_t word)
{
    const uint32_t none = lp_dict_symbols(dict), elem_bytes = dict->elem_bytes;
    const uint8_t *entry;
    uint32_t symbol = 0;

    if (elem_bytes <= 2)
        return dict->symbol_at[place_of(dict, word)];
    if (dict->hash_factor != 0) {
        entry = dict->entry_at + place_of(dict, word) * 2 * elem_bytes;
        return lp_load_uint(entry, elem_bytes) == word ? lp_load_u32(entry + elem_bytes) : none;
    }
    while (symbol < dict->n_values && value_at(dict, symbol) != word)
        symbol++;
    return symbol < dict->n_values ? symbol : none;
}

static uint32_t bits_for(uint32_t n, uint32_t least)
{
    uint32_t bits = least;

    while (1u << bits < n)
        bits++;
    return bits;
}

/* Of narrow values each group that has one gets places, and all others share the first ones. */
static void size_narrow(const struct lp_dict *dict, const uint8_t *values, uint32_t *ret_groups,
                        uint32_t *ret_places)
{
    bool used[NEAR_GROUPS(2)] = {false};

    *ret_groups = NEAR_GROUPS(dict->elem_bytes);
    *ret_places = NEAR_PLACES;
    for (uint32_t i = 0; i < dict->n_values; i++) {
        const size_t at = (size_t)i * dict->elem_bytes;
        const uint64_t group = lp_load_uint(values + at, dict->elem_bytes) / NEAR_PLACES;

        *ret_places += used[group] ? 0 : NEAR_PLACES;
        used[group] = true;
    }
}

/* A group's own place, and how far it is moved. */
static void size_wide(struct lp_dict *dict, uint32_t *ret_groups, uint32_t *ret_places)
{
    const uint32_t group_bits = bits_for(dict->n_values / VALUES_PER_GROUP, GROUP_BITS_MIN);
    const uint32_t place_bits = bits_for(dict->n_values * PLACES_PER_VALUE, PLACE_BITS_MIN);

    dict->group_shift = 32 - group_bits;
    dict->place_shift = 32 - group_bits - place_bits;
    dict->place_mask = (1u << place_bits) - 1;
    *ret_groups = 1u << group_bits;
    *ret_places = (1u << place_bits) + MOVES - 1;
}

/* One block: slack, values, slack, groups, places. */
static int alloc_tables(struct lp_dict *dict, const uint8_t *values, struct lp_error *err)
{
    const size_t values_bytes = (size_t)lp_round_up_u64(
        (uint64_t)lp_dict_symbols(dict) * dict->elem_bytes + LP_DICT_SLACK_BYTES, 64);
    uint32_t n_groups, n_places;
    size_t groups_bytes, place_bytes, all_bytes;
    uint8_t *block;

    if (dict->elem_bytes <= 2)
        size_narrow(dict, values, &n_groups, &n_places);
    else
        size_wide(dict, &n_groups, &n_places);
    groups_bytes = n_groups * sizeof(dict->group_at[0]);
    place_bytes = dict->elem_bytes <= 2 ? sizeof(dict->symbol_at[0]) : 2 * dict->elem_bytes;
    all_bytes = LP_DICT_SLACK_BYTES + values_bytes + groups_bytes + n_places * place_bytes;
    block = lp_mem_alloc_aligned(64, all_bytes);
    if (block == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u values", (unsigned)dict->n_values);
    memset(block, 0, all_bytes);
    dict->values = block + LP_DICT_SLACK_BYTES;
    dict->group_at = (uint32_t *)(void *)(dict->values + values_bytes);
    dict->entry_at = dict->values + values_bytes + groups_bytes;
    dict->symbol_at = (uint16_t *)(void *)dict->entry_at;
    for (uint32_t i = 0; dict->elem_bytes <= 2 && i < n_places; i++)
        dict->symbol_at[i] = (uint16_t)lp_dict_symbols(dict);
    memcpy(dict->values, values, (size_t)dict->n_values * dict->elem_bytes);
    return 0;
}

static int twice(uint32_t i, struct lp_error *err)
{
    return lp_error_set(err, LP_ECORRUPT, "dict metadata: value %u appears twice", (unsigned)i);
}

static int place_narrow(struct lp_dict *dict, struct lp_error *err)
{
    uint32_t end = NEAR_PLACES;

    for (uint32_t i = 0; i < dict->n_values; i++) {
        uint32_t *const group_at = &dict->group_at[value_at(dict, i) / NEAR_PLACES];
        uint16_t *symbol;

        if (*group_at == 0) {
            *group_at = end;
            end += NEAR_PLACES;
        }
        symbol = &dict->symbol_at[place_of(dict, value_at(dict, i))];
        if (*symbol != lp_dict_symbols(dict))
            return twice(i, err);
        *symbol = (uint16_t)i;
    }
    return 0;
}

/* Wider values by the group that a factor puts them in. */
#define NO_VALUE UINT16_MAX
struct groups {
    uint32_t n_groups, largest;
    uint16_t first[GROUPS_MAX], size[GROUPS_MAX]; /* NO_VALUE: none */
    uint16_t next[VALUES_MAX];                    /* of the same group, or NO_VALUE */
};

static void find_groups(const struct lp_dict *dict, struct groups *ret_groups)
{
    ret_groups->n_groups = 1u << (32 - dict->group_shift);
    ret_groups->largest = 0;
    for (uint32_t g = 0; g < ret_groups->n_groups; g++) {
        ret_groups->first[g] = NO_VALUE;
        ret_groups->size[g] = 0;
    }
    for (uint32_t i = 0; i < dict->n_values; i++) {
        const uint32_t hash = lp_dict_hash(dict, dict->elem_bytes, value_at(dict, i));
        const uint32_t g = lp_dict_group(dict, dict->elem_bytes, hash);

        ret_groups->next[i] = ret_groups->first[g];
        ret_groups->first[g] = (uint16_t)i;
        ret_groups->size[g]++;
        ret_groups->largest = LP_MAX(ret_groups->largest, ret_groups->size[g]);
    }
}

/* All values of a group, as it is moved now; false, and none of them, when one of their places is
 * taken. owner: the value at each place, or NO_VALUE. */
static bool put_group(const struct lp_dict *dict, const struct groups *groups, uint32_t g,
                      uint16_t *owner)
{
    uint16_t i = groups->first[g];

    for (; i != NO_VALUE && owner[place_of(dict, value_at(dict, i))] == NO_VALUE;
         i = groups->next[i])
        owner[place_of(dict, value_at(dict, i))] = i;
    if (i == NO_VALUE)
        return true;
    for (uint16_t put = groups->first[g]; put != i; put = groups->next[put])
        owner[place_of(dict, value_at(dict, put))] = NO_VALUE;
    return false;
}

static bool move_group(struct lp_dict *dict, const struct groups *groups, uint32_t g,
                       uint16_t *owner)
{
    uint32_t *const group_at = &dict->group_at[g];

    for (*group_at = 0; *group_at < MOVES; ++*group_at) {
        if (put_group(dict, groups, g, owner))
            return true;
    }
    return false;
}

/* The fullest groups first: later ones have fewer places to choose from. */
static bool move_groups(struct lp_dict *dict, const struct groups *groups, uint16_t *owner)
{
    for (uint32_t size = groups->largest; size > 0; size--) {
        for (uint32_t g = 0; g < groups->n_groups; g++) {
            if (groups->size[g] == size && !move_group(dict, groups, g, owner))
                return false;
        }
    }
    return true;
}

static bool try_factor(struct lp_dict *dict, uint32_t factor)
{
    const uint32_t n_places = dict->place_mask + MOVES, size = dict->elem_bytes;
    uint16_t owner[PLACES_MAX];
    struct groups groups;

    dict->hash_factor = factor;
    find_groups(dict, &groups);
    memset(owner, 0xff, n_places * sizeof(owner[0]));
    if (!move_groups(dict, &groups, owner))
        return false;
    for (uint32_t i = 0; i < n_places; i++) {
        /* The first value is nowhere looked for but at its place. */
        const uint32_t symbol = owner[i] != NO_VALUE ? owner[i] : 0;
        uint8_t *const entry = dict->entry_at + (size_t)i * 2 * size;

        memcpy(entry, dict->values + (size_t)symbol * size, size);
        lp_store_u32(entry + size, symbol);
    }
    return true;
}

/* One factor in about four does not keep all values apart; a dictionary that defeats all of them is
 * made for it. Equal values are never kept apart. */
static int place_wide(struct lp_dict *dict, struct lp_error *err)
{
    for (uint32_t i = 0; i < LP_DICT_FACTORS; i++) {
        if (try_factor(dict, lp_dict_factor(i)))
            return 0;
    }
    dict->hash_factor = 0;
    for (uint32_t i = 0; i < dict->n_values; i++) {
        if (lp_dict_find(dict, value_at(dict, i)) != i)
            return twice(i, err);
    }
    return 0;
}

int lp_codec_dict_place(struct lp_dict *dict, const void *values, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, alloc_tables(dict, values, err));
    return dict->elem_bytes <= 2 ? place_narrow(dict, err) : place_wide(dict, err);
}
