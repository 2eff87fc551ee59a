/* SPDX-License-Identifier: Apache-2.0 */
/* Linear probing; removal closes the gap, so there are no tombstones. Keys are our own counters, so
 * nobody can choose them to collide: multiplicative hashing (Knuth, volume 3, 6.4) is enough. */
#include "store/idmap.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

#define IDMAP_SLOTS_MIN 16u

static size_t home_of(const struct lp_idmap *map, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (map->n_slots - 1);
}

/* The slot that has key, or the empty one where it would go. There is always an empty one. */
static size_t slot_of(const struct lp_idmap *map, uint64_t key)
{
    size_t at = home_of(map, key);

    while (map->slot[at].key != 0 && map->slot[at].key != key)
        at = (at + 1) & (map->n_slots - 1);
    return at;
}

static int grow(struct lp_idmap *map, struct lp_error *err)
{
    struct lp_idmap bigger = {NULL, map->n_slots == 0 ? IDMAP_SLOTS_MIN : map->n_slots * 2, map->n};

    if (bigger.n_slots <= SIZE_MAX / sizeof(bigger.slot[0]))
        bigger.slot = lp_mem_zalloc(bigger.n_slots * sizeof(bigger.slot[0]));
    if (bigger.slot == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a table of %zu numbers", bigger.n_slots);
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slot[i].key != 0)
            bigger.slot[slot_of(&bigger, map->slot[i].key)] = map->slot[i];
    lp_mem_free(map->slot);
    *map = bigger;
    return 0;
}

void lp_store_idmap_init(struct lp_idmap *map)
{
    memset(map, 0, sizeof(*map));
}

void lp_store_idmap_fini(struct lp_idmap *map)
{
    if (map == NULL)
        return;
    lp_mem_free(map->slot);
    memset(map, 0, sizeof(*map));
}

int lp_store_idmap_put(struct lp_idmap *map, uint64_t key, void *value, struct lp_error *err)
{
    int rc;

    assert(key != 0 && value != NULL);
    if ((map->n + 1) * 4 > map->n_slots * 3)
        LP_TRY(rc, grow(map, err));
    const size_t at = slot_of(map, key);
    assert(map->slot[at].key == 0);
    map->slot[at] = (struct lp_idmap_slot){key, value};
    map->n++;
    return 0;
}

void *lp_store_idmap_find(const struct lp_idmap *map, uint64_t key)
{
    if (map->n == 0 || key == 0)
        return NULL;
    return map->slot[slot_of(map, key)].value;
}

/* Move later entries of the run up, so that each is still reached from its home. */
static void close_gap(struct lp_idmap *map, size_t gap)
{
    const size_t mask = map->n_slots - 1;

    for (size_t at = (gap + 1) & mask; map->slot[at].key != 0; at = (at + 1) & mask) {
        const size_t from_home = (at - home_of(map, map->slot[at].key)) & mask;

        if (from_home >= ((at - gap) & mask)) {
            map->slot[gap] = map->slot[at];
            gap = at;
        }
    }
    map->slot[gap] = (struct lp_idmap_slot){0, NULL};
}

void *lp_store_idmap_take(struct lp_idmap *map, uint64_t key)
{
    if (map->n == 0 || key == 0)
        return NULL;
    const size_t at = slot_of(map, key);
    void *value = map->slot[at].value;
    if (value == NULL)
        return NULL;
    close_gap(map, at);
    map->n--;
    return value;
}

void *lp_store_idmap_any(const struct lp_idmap *map)
{
    for (size_t i = 0; map->n > 0 && i < map->n_slots; i++)
        if (map->slot[i].key != 0)
            return map->slot[i].value;
    return NULL;
}
