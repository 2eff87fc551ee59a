/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind store.h share: the store itself, and who holds what of it.
 *
 * All of it belongs to the owner's thread. Workers see a pool (its own lock) and one ticket. */
#ifndef LP_STORE_STORE_IMPL_H
#define LP_STORE_STORE_IMPL_H

#include "base/list.h"
#include "store/idmap.h"
#include "store/index.h"
#include "store/object.h"
#include "store/pool.h"
#include "store/store.h"

struct lp_store {
    struct lp_store_params params;
    struct lp_budget budget;
    struct lp_pool pool;
    struct lp_index index;
    struct lp_idmap owners;   /* id -> lp_owner, owned */
    struct lp_idmap arenas;   /* id -> lp_arena, owned; those being ended are no longer in it */
    struct lp_idmap leases;   /* id -> lp_lease, owned */
    struct lp_idmap unsealed; /* oid -> lp_object, created or sealing */
    struct lp_list ttl;       /* created objects with a deadline, the next to end first */
    uint64_t last_oid, last_lease, last_version;
    uint32_t last_arena;
    uint64_t n_objects, logical_bytes, stored_bytes, wire_bytes;
    uint64_t objects_by_codec[LP_CODEC_END];
};

/* What ends with one connection. */
struct lp_owner {
    uint64_t id;
    struct lp_list arenas, unsealed, ephemeral, leases;
    uint32_t n_arenas, n_unsealed, n_leases;
};

/* What one owner may write. */
struct lp_arena {
    uint32_t id;
    struct lp_owner *owner; /* borrowed; NULL once it is being ended */
    struct lp_list owner_link;
    struct lp_chunk *chunk; /* borrowed from the pool */
    uint32_t n_tickets;     /* that read it */
    bool adopting;          /* by the one ticket that it has */
};

struct lp_lease {
    uint64_t id;
    struct lp_owner *owner;   /* borrowed */
    struct lp_object *object; /* borrowed; counted in object->leases */
    struct lp_list owner_link;
};

/* owner.c: the owner of that id, made when it is new. LP_EINVAL (0), LP_ENOMEM. */
int lp_store_owner_get(struct lp_store *store, uint64_t id, struct lp_owner **ret_owner,
                       struct lp_error *err);

/* arena.c: an arena of this owner. LP_ENOENT. */
int lp_store_arena_find(struct lp_store *store, uint64_t owner, uint32_t id,
                        struct lp_arena **ret_arena, struct lp_error *err);

/* arena.c: take the arena from its owner; frees it, and drops its chunk unless an object lies in
 * it, once no ticket reads it. */
void lp_store_arena_end(struct lp_store *store, struct lp_arena *arena);

/* arena.c: a ticket is done with the arena. */
void lp_store_arena_unref(struct lp_store *store, struct lp_arena *arena);

/* catalog.c: give up an unsealed object; frees it, unless its ticket is out, which then will. */
void lp_store_object_abort(struct lp_store *store, struct lp_object *object);

/* catalog.c: make an object that was sealed what its name leads to; what the name led to before is
 * deleted. */
void lp_store_object_publish(struct lp_store *store, struct lp_object *object);

/* catalog.c: take a sealed object from its name; its bytes go with the last lease. */
void lp_store_object_delete(struct lp_store *store, struct lp_object *object);

/* catalog.c: end a lease. */
void lp_store_lease_end(struct lp_store *store, struct lp_lease *lease);

#endif
