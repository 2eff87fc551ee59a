/* SPDX-License-Identifier: Apache-2.0 */
/* What an owner may write: opened, read by tickets, and ended once both owner and tickets are done
 * with it. docs/SHM.md, section 1. */
#include "base/alloc.h"
#include "store/store_impl.h"

#include <assert.h>

static int register_arena(struct lp_store *store, struct lp_owner *owner, struct lp_arena *arena,
                          struct lp_error *err)
{
    int rc;

    arena->id = store->last_arena + 1;
    LP_TRY(rc, lp_store_idmap_put(&store->arenas, arena->id, arena, err));
    rc = lp_store_pool_take_arena(&store->pool, &arena->chunk, err);
    if (rc < 0) {
        (void)lp_store_idmap_take(&store->arenas, arena->id);
        return rc;
    }
    store->last_arena = arena->id;
    arena->owner = owner;
    lp_list_append(&owner->arenas, &arena->owner_link);
    owner->n_arenas++;
    return 0;
}

int lp_store_arena_open(struct lp_store *store, uint64_t owner_id, uint32_t *ret_arena,
                        uint32_t *ret_chunk, int *ret_fd, struct lp_error *err)
{
    struct lp_owner *owner;
    int rc;

    LP_TRY(rc, lp_store_owner_get(store, owner_id, &owner, err));
    if (owner->n_arenas >= LP_STORE_ARENAS_MAX)
        return lp_error_set(err, LP_ELIMIT, "one connection has at most %u arenas",
                            LP_STORE_ARENAS_MAX);
    struct lp_arena *arena = lp_mem_zalloc(sizeof(*arena));
    if (arena == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to describe an arena");
    rc = register_arena(store, owner, arena, err);
    if (rc < 0) {
        lp_mem_free(arena);
        return rc;
    }
    *ret_arena = arena->id;
    *ret_chunk = arena->chunk->number;
    *ret_fd = arena->chunk->fd;
    return 0;
}

int lp_store_arena_find(struct lp_store *store, uint64_t owner, uint32_t id,
                        struct lp_arena **ret_arena, struct lp_error *err)
{
    struct lp_arena *arena = lp_store_idmap_find(&store->arenas, id);

    if (arena == NULL || arena->owner->id != owner)
        return lp_error_set(err, LP_ENOENT, "no arena %u", id);
    *ret_arena = arena;
    return 0;
}

int lp_store_arena_close(struct lp_store *store, uint64_t owner, uint32_t id, struct lp_error *err)
{
    struct lp_arena *arena;
    int rc;

    LP_TRY(rc, lp_store_arena_find(store, owner, id, &arena, err));
    lp_store_arena_end(store, arena);
    return 0;
}

/* Nobody wants the arena any more. An adopted chunk lives on with the object that lies in it. */
static void arena_free(struct lp_store *store, struct lp_arena *arena)
{
    if (arena->chunk->uses == 0)
        lp_store_pool_drop(&store->pool, arena->chunk);
    lp_mem_free(arena);
}

void lp_store_arena_end(struct lp_store *store, struct lp_arena *arena)
{
    if (arena->owner != NULL) {
        (void)lp_store_idmap_take(&store->arenas, arena->id);
        lp_list_remove(&arena->owner_link);
        arena->owner->n_arenas--;
        arena->owner = NULL;
    }
    if (arena->n_tickets == 0)
        arena_free(store, arena);
}

void lp_store_arena_unref(struct lp_store *store, struct lp_arena *arena)
{
    assert(arena->n_tickets > 0);
    if (--arena->n_tickets == 0 && arena->owner == NULL)
        arena_free(store, arena);
}
