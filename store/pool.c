/* SPDX-License-Identifier: Apache-2.0 */
/* The stock of chunks. The mutex is held for book-keeping only, never while pages are made. */
#include "store/pool.h"

#include "base/alloc.h"
#include "store/pool_impl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* --- chunks by number ------------------------------------------------------------------------ */

/* Position of the first chunk whose number is not below number. */
static uint32_t position(const struct lp_pool *pool, uint32_t number)
{
    uint32_t low = 0, high = pool->n_chunks;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (pool->chunk[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct lp_chunk *lp_store_pool_find(struct lp_pool *pool, uint32_t number)
{
    lp_store_pool_lock(pool);
    const uint32_t at = position(pool, number);
    struct lp_chunk *chunk =
        at < pool->n_chunks && pool->chunk[at]->number == number ? pool->chunk[at] : NULL;
    lp_store_pool_unlock(pool);
    return chunk;
}

/* Numbers only grow, so a new chunk comes last. */
void lp_store_pool_install(struct lp_pool *pool, struct lp_chunk *chunk)
{
    assert(pool->n_chunks < pool->params.n_chunks);
    pool->chunk[pool->n_chunks++] = chunk;
}

void lp_store_pool_chunk_free(struct lp_chunk *chunk)
{
    lp_store_chunk_fini(chunk);
    lp_mem_free(chunk);
}

int lp_store_pool_chunk_new(const struct lp_pool *pool, uint32_t number,
                            struct lp_chunk **ret_chunk, struct lp_error *err)
{
    struct lp_chunk *chunk = lp_mem_zalloc(sizeof(*chunk));
    uint8_t *slice = lp_mem_zalloc(lp_store_pool_slices(pool));
    int rc = LP_ENOMEM;

    if (chunk == NULL || slice == NULL) {
        (void)lp_error_set(err, rc, "no memory to describe chunk %u", number);
        goto fail;
    }
    LP_TRY_GOTO(rc, lp_store_chunk_init(chunk, number, pool->params.chunk_bytes, err), fail);
    chunk->slice = slice;
    chunk->slices_left = lp_store_pool_slices(pool);
    *ret_chunk = chunk;
    return 0;

fail:
    lp_mem_free(slice);
    lp_mem_free(chunk);
    return rc;
}

/* --- life ------------------------------------------------------------------------------------ */

static int make_chunks(struct lp_pool *pool, struct lp_error *err)
{
    int rc;

    for (uint32_t i = 0; i < pool->params.n_chunks; i++) {
        struct lp_chunk *chunk;

        LP_TRY(rc, lp_store_pool_chunk_new(pool, pool->next_number, &chunk, err));
        pool->next_number++;
        pool->slices_left += lp_store_pool_slices(pool);
        lp_store_pool_install(pool, chunk);
    }
    return 0;
}

/* Decide before the first page whether locking makes sense: a pool that is locked in part would
 * only take the limit away from the rest of the process. */
static void decide_locking(struct lp_pool *pool)
{
    const struct lp_pool_params *params = &pool->params;
    const uint64_t need = params->chunk_bytes * params->n_chunks;

    pool->locking = params->lock != LP_STORE_LOCK_OFF;
    if (params->lock == LP_STORE_LOCK_OFF) {
        (void)snprintf(pool->lock_note, sizeof(pool->lock_note), "pool.lock=off");
    } else if (params->lock == LP_STORE_LOCK_AUTO && params->memlock_bytes < need) {
        pool->locking = false;
        (void)snprintf(pool->lock_note, sizeof(pool->lock_note),
                       "RLIMIT_MEMLOCK is %llu bytes, the pool has %llu",
                       (unsigned long long)params->memlock_bytes, (unsigned long long)need);
    }
}

int lp_store_pool_init(struct lp_pool *pool, const struct lp_pool_params *params,
                       struct lp_error *err)
{
    int rc;

    memset(pool, 0, sizeof(*pool));
    pool->params = *params;
    if (pthread_mutex_init(&pool->mutex, NULL) != 0) {
        pool->params.n_chunks = 0; /* nothing to end */
        return lp_error_set(err, LP_ENOMEM, "no memory for a mutex");
    }
    lp_store_extents_init(&pool->extents);
    decide_locking(pool);
    pool->chunk = lp_mem_alloc_array(params->n_chunks, sizeof(struct lp_chunk *));
    pool->dropped = lp_mem_alloc_array(params->n_chunks, sizeof(struct lp_chunk *));
    if (pool->chunk == NULL || pool->dropped == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory to list %u chunks", params->n_chunks);
    else
        rc = make_chunks(pool, err);
    if (rc < 0)
        lp_store_pool_fini(pool);
    return rc;
}

void lp_store_pool_fini(struct lp_pool *pool)
{
    if (pool == NULL || pool->params.n_chunks == 0)
        return;
    for (uint32_t i = 0; i < pool->n_chunks; i++)
        lp_store_pool_chunk_free(pool->chunk[i]);
    for (uint32_t i = 0; i < pool->n_dropped; i++)
        lp_store_pool_chunk_free(pool->dropped[i]);
    lp_mem_free(pool->chunk);
    lp_mem_free(pool->dropped);
    lp_store_extents_fini(&pool->extents);
    (void)pthread_mutex_destroy(&pool->mutex);
    memset(pool, 0, sizeof(*pool));
}

void lp_store_pool_drop(struct lp_pool *pool, struct lp_chunk *chunk)
{
    assert(chunk->uses == 0 && chunk->slices_left == 0);
    lp_store_pool_lock(pool);
    const uint32_t at = position(pool, chunk->number);
    assert(at < pool->n_chunks && pool->chunk[at] == chunk);
    pool->n_chunks--;
    memmove(&pool->chunk[at], &pool->chunk[at + 1],
            (pool->n_chunks - at) * sizeof(struct lp_chunk *));
    pool->dropped[pool->n_dropped++] = chunk;
    pool->resident_bytes -= chunk->bytes;
    pool->locked_bytes -= chunk->locked_bytes;
    lp_store_pool_unlock(pool);
}

/* --- handing out ----------------------------------------------------------------------------- */

struct chunk_counts {
    uint32_t blank, arena, adopted, missing;
    uint32_t spare; /* chunks to write in, now or soon, that no adoption is going to take */
};

/* Held. */
static struct chunk_counts count_chunks(const struct lp_pool *pool)
{
    struct chunk_counts counts = {.missing = pool->params.n_chunks - pool->n_chunks};

    for (uint32_t i = 0; i < pool->n_chunks; i++) {
        const struct lp_chunk *chunk = pool->chunk[i];

        counts.blank += chunk->use == LP_CHUNK_BLANK;
        counts.arena += chunk->use == LP_CHUNK_ARENA;
        counts.adopted += chunk->use == LP_CHUNK_ADOPTED;
        /* Adopted but not yet published: n_adopting counts it still. */
        counts.spare += chunk->use == LP_CHUNK_ADOPTED && chunk->uses == 0;
    }
    counts.spare += counts.blank + counts.arena + counts.missing - pool->n_adopting;
    return counts;
}

/* Blank chunks that may become pool chunks: one chunk to write in is always kept. */
static uint32_t convertible(const struct chunk_counts *counts)
{
    return LP_MIN(counts->blank, counts->spare - 1);
}

/* Held: the blank chunk of the lowest number, or NULL. */
static struct lp_chunk *first_blank(const struct lp_pool *pool, bool resident)
{
    for (uint32_t i = 0; i < pool->n_chunks; i++)
        if (pool->chunk[i]->use == LP_CHUNK_BLANK &&
            (!resident || pool->chunk[i]->slices_left == 0))
            return pool->chunk[i];
    return NULL;
}

/* Turn a blank chunk into a pool chunk with a free range. LP_ENOSPC: none may be turned. */
static int convert_one(struct lp_pool *pool, struct lp_error *err)
{
    int rc;

    lp_store_pool_lock(pool);
    const struct chunk_counts counts = count_chunks(pool);
    struct lp_chunk *chunk = convertible(&counts) > 0 ? first_blank(pool, false) : NULL;
    lp_store_pool_unlock(pool);
    if (chunk == NULL)
        return lp_error_set(err, LP_ENOSPC, "no free range is large enough");
    LP_TRY(rc, lp_store_extents_reserve(&pool->extents, err));
    LP_TRY(rc, lp_store_chunk_to_pool(chunk, pool->params.id, pool->params.epoch, err));
    return lp_store_extents_add(&pool->extents, chunk->number, LP_SHM_CHUNK_HEADER_BYTES,
                                lp_shm_chunk_room(chunk->bytes), err);
}

int lp_store_pool_take(struct lp_pool *pool, uint64_t bytes, struct lp_shm_extent *ret_extent,
                       struct lp_error *err)
{
    const uint64_t room = lp_shm_chunk_room(pool->params.chunk_bytes);
    int rc;

    if (bytes > room)
        return lp_error_set(err, LP_ENOSPC, "%llu bytes do not fit in a chunk, which has %llu",
                            (unsigned long long)bytes, (unsigned long long)room);
    rc = lp_store_extents_take(&pool->extents, bytes, ret_extent, err);
    if (rc == LP_ENOSPC) {
        LP_TRY(rc, convert_one(pool, err));
        rc = lp_store_extents_take(&pool->extents, bytes, ret_extent, err);
    }
    if (rc == 0)
        lp_store_pool_find(pool, ret_extent->chunk)->uses++;
    return rc;
}

void lp_store_pool_give_back(struct lp_pool *pool, const struct lp_shm_extent *extent)
{
    struct lp_chunk *chunk = lp_store_pool_find(pool, extent->chunk);

    assert(chunk != NULL && chunk->uses > 0);
    chunk->uses--;
    if (chunk->use == LP_CHUNK_POOL)
        lp_store_extents_give_back(&pool->extents, extent);
    else if (chunk->uses == 0)
        lp_store_pool_drop(pool, chunk);
}

/* A pool chunk can never be blank again, but one that nothing lies in can make way for a blank one:
 * replenish will replace it. False: there is none. */
static bool drop_empty(struct lp_pool *pool)
{
    struct lp_chunk *empty = NULL;

    lp_store_pool_lock(pool);
    for (uint32_t i = 0; i < pool->n_chunks && empty == NULL; i++)
        if (pool->chunk[i]->use == LP_CHUNK_POOL && pool->chunk[i]->uses == 0 &&
            pool->chunk[i]->slices_left == 0)
            empty = pool->chunk[i];
    lp_store_pool_unlock(pool);
    if (empty == NULL)
        return false;
    lp_store_extents_remove(&pool->extents, empty->number);
    lp_store_pool_drop(pool, empty);
    return true;
}

int lp_store_pool_take_arena(struct lp_pool *pool, struct lp_chunk **ret_chunk,
                             struct lp_error *err)
{
    int rc;

    lp_store_pool_lock(pool);
    const struct chunk_counts counts = count_chunks(pool);
    struct lp_chunk *chunk = first_blank(pool, true);
    lp_store_pool_unlock(pool);
    if (chunk == NULL && counts.blank > 0)
        return lp_error_set(err, LP_EBUSY, "no blank chunk is resident yet; try again");
    if (chunk == NULL && (counts.missing > 0 || drop_empty(pool)))
        return lp_error_set(err, LP_EBUSY, "blank chunks are being made; try again");
    if (chunk == NULL)
        return lp_error_set(err, LP_ENOSPC,
                            "an arena needs a blank chunk of %llu bytes, have none: of %u chunks "
                            "%u are arenas, %u are being replaced, the others hold objects",
                            (unsigned long long)pool->params.chunk_bytes, pool->params.n_chunks,
                            counts.arena, counts.missing);
    LP_TRY(rc, lp_store_chunk_to_arena(chunk, pool->params.id, pool->params.epoch, err));
    *ret_chunk = chunk;
    return 0;
}

int lp_store_pool_begin_adopt(struct lp_pool *pool, struct lp_error *err)
{
    lp_store_pool_lock(pool);
    const struct chunk_counts counts = count_chunks(pool);
    lp_store_pool_unlock(pool);
    if (counts.spare < 2 && !drop_empty(pool))
        return lp_error_set(err, LP_ENOSPC, "no chunk would be left to write in: let it be copied");
    pool->n_adopting++;
    return 0;
}

void lp_store_pool_end_adopt(struct lp_pool *pool)
{
    assert(pool->n_adopting > 0);
    pool->n_adopting--;
}

int lp_store_pool_adopt(struct lp_pool *pool, struct lp_chunk *chunk, struct lp_error *err)
{
    const int adopt_rc = lp_store_chunk_adopt(chunk, pool->params.id, pool->params.epoch, err);
    uint64_t locked = 0;
    int rc = 0;

    /* The old map went, whatever came of the adoption, and its locks with it. */
    if (chunk->map != NULL)
        rc = lp_store_pool_lock_range(pool, chunk, 0, chunk->bytes, &locked,
                                      adopt_rc < 0 ? NULL : err);
    lp_store_pool_lock(pool);
    if (adopt_rc == 0)
        chunk->use = LP_CHUNK_ADOPTED;
    pool->locked_bytes += locked - chunk->locked_bytes;
    chunk->locked_bytes = locked;
    lp_store_pool_unlock(pool);
    return adopt_rc < 0 ? adopt_rc : rc;
}

void lp_store_pool_get_state(struct lp_pool *pool, struct lp_store_state *state)
{
    const uint64_t room = lp_shm_chunk_room(pool->params.chunk_bytes);

    lp_store_pool_lock(pool);
    const struct chunk_counts counts = count_chunks(pool);
    state->resident_bytes = pool->resident_bytes;
    state->locked_bytes = pool->locked_bytes;
    if (pool->last_touch_ns != 0)
        state->prefault_ns = pool->last_touch_ns - pool->first_touch_ns;
    state->ready = pool->slices_left == 0;
    memcpy(state->lock_note, pool->lock_note, sizeof(state->lock_note));
    lp_store_pool_unlock(pool);
    state->pool_bytes = pool->params.chunk_bytes * pool->params.n_chunks;
    state->chunk_bytes = pool->params.chunk_bytes;
    state->n_chunks = pool->params.n_chunks;
    state->blank_chunks = counts.blank;
    state->missing_chunks = counts.missing;
    state->arena_bytes = counts.arena * pool->params.chunk_bytes;
    state->used_bytes = pool->extents.taken_bytes + counts.adopted * room;
    state->free_bytes = pool->extents.free_bytes + convertible(&counts) * room;
    state->largest_free_bytes =
        convertible(&counts) > 0 ? room : lp_store_extents_largest(&pool->extents);
}
