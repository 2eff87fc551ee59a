/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the store hands out (objects, leases, arenas, owners) to what they stand for.
 *
 * An open-addressed hash table. Keys are not 0; values are borrowed and not NULL. One caller at a
 * time. */
#ifndef LP_STORE_IDMAP_H
#define LP_STORE_IDMAP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct lp_idmap_slot {
    uint64_t key; /* 0: empty */
    void *value;
};

struct lp_idmap {
    struct lp_idmap_slot *slot; /* owned */
    size_t n_slots;             /* a power of two, or 0 */
    size_t n;
};

void lp_store_idmap_init(struct lp_idmap *map);

/* Frees the table, not the values. NULL and a zeroed struct are fine. */
void lp_store_idmap_fini(struct lp_idmap *map);

/* Add a key that is not in the table. LP_ENOMEM. */
int lp_store_idmap_put(struct lp_idmap *map, uint64_t key, void *value, struct lp_error *err);

/* The value, or NULL. */
void *lp_store_idmap_find(const struct lp_idmap *map, uint64_t key);

/* Remove a key and return its value; NULL when it is not there. */
void *lp_store_idmap_take(struct lp_idmap *map, uint64_t key);

/* Any value that is left, or NULL: for emptying a table, together with take. */
void *lp_store_idmap_any(const struct lp_idmap *map);

#endif
