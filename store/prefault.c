/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a pool: touched and locked slice by slice, by any number of threads, and whole chunks of
 * them freed and made anew. The lock is held while a slice is claimed or counted, never while its
 * pages are made. */
#include "base/alloc.h"
#include "store/pool.h"
#include "store/pool_impl.h"

#include <stdio.h>
#include <string.h>

enum slice_state { SLICE_FREE, SLICE_TAKEN, SLICE_DONE };

/* --- the first chunks ------------------------------------------------------------------------ */

/* Held: the lowest slice that nobody has taken yet. */
static bool claim_slice(struct lp_pool *pool, struct lp_chunk **ret_chunk, uint32_t *ret_slice)
{
    for (uint32_t i = 0; i < pool->n_chunks; i++) {
        struct lp_chunk *chunk = pool->chunk[i];
        if (chunk->slices_left == 0)
            continue;
        uint8_t *free_slice = memchr(chunk->slice, SLICE_FREE, lp_store_pool_slices(pool));
        if (free_slice == NULL)
            continue;
        *free_slice = SLICE_TAKEN;
        *ret_chunk = chunk;
        *ret_slice = (uint32_t)(free_slice - chunk->slice);
        return true;
    }
    return false;
}

static uint64_t slice_bytes(const struct lp_pool *pool, uint32_t slice)
{
    const uint64_t start = slice * LP_POOL_SLICE_BYTES;

    return LP_MIN(LP_POOL_SLICE_BYTES, pool->params.chunk_bytes - start);
}

int lp_store_pool_lock_range(struct lp_pool *pool, const struct lp_chunk *chunk, uint64_t offset,
                             uint64_t bytes, uint64_t *ret_locked, struct lp_error *err)
{
    struct lp_error why = LP_ERROR_INIT;

    lp_store_pool_lock(pool);
    const bool locking = pool->locking;
    lp_store_pool_unlock(pool);
    *ret_locked = 0;
    if (!locking)
        return 0;
    const int rc = lp_store_chunk_lock(chunk, offset, bytes, &why);
    if (rc == 0) {
        *ret_locked = bytes;
        return 0;
    }
    if (pool->params.lock == LP_STORE_LOCK_ON)
        return lp_error_set(err, rc, "%s", why.text);
    lp_store_pool_lock(pool);
    pool->locking = false;
    (void)snprintf(pool->lock_note, sizeof(pool->lock_note), "%.95s", why.text);
    lp_store_pool_unlock(pool);
    return 0;
}

static int touch_slice(struct lp_pool *pool, const struct lp_chunk *chunk, uint32_t slice,
                       uint64_t *ret_locked, struct lp_error *err)
{
    const uint64_t start = slice * LP_POOL_SLICE_BYTES, bytes = slice_bytes(pool, slice);
    int rc;

    LP_TRY(rc, lp_store_chunk_touch(chunk, start, bytes, err));
    return lp_store_pool_lock_range(pool, chunk, start, bytes, ret_locked, err);
}

/* Held: one slice of chunk is resident. */
static void count_slice(struct lp_pool *pool, struct lp_chunk *chunk, uint32_t slice,
                        uint64_t locked)
{
    chunk->slice[slice] = SLICE_DONE;
    chunk->locked_bytes += locked;
    if (--chunk->slices_left == 0) {
        lp_mem_free(chunk->slice);
        chunk->slice = NULL;
    }
    pool->slices_left--;
    pool->resident_bytes += slice_bytes(pool, slice);
    pool->locked_bytes += locked;
    pool->last_touch_ns = pool->params.now_ns(pool->params.now_user);
}

int lp_store_pool_prefault_step(struct lp_pool *pool, struct lp_error *err)
{
    struct lp_chunk *chunk;
    uint32_t slice;
    uint64_t locked = 0;

    lp_store_pool_lock(pool);
    const bool found = claim_slice(pool, &chunk, &slice);
    if (found && pool->first_touch_ns == 0)
        pool->first_touch_ns = pool->params.now_ns(pool->params.now_user);
    lp_store_pool_unlock(pool);
    if (!found)
        return 0;
    const int rc = touch_slice(pool, chunk, slice, &locked, err);
    lp_store_pool_lock(pool);
    if (rc == 0)
        count_slice(pool, chunk, slice, locked);
    else
        chunk->slice[slice] = SLICE_FREE; /* for a later try */
    lp_store_pool_unlock(pool);
    return rc < 0 ? lp_error_wrap(err, rc, "pre-fault") : 1;
}

/* --- replacing ------------------------------------------------------------------------------- */

/* End what was dropped. Freeing a chunk's pages takes as long as making them. */
static void end_dropped(struct lp_pool *pool)
{
    for (;;) {
        struct lp_chunk *chunk = NULL;

        lp_store_pool_lock(pool);
        if (pool->n_dropped > 0)
            chunk = pool->dropped[--pool->n_dropped];
        lp_store_pool_unlock(pool);
        if (chunk == NULL)
            return;
        lp_store_pool_chunk_free(chunk);
    }
}

/* Touch and lock all of a chunk that nobody else knows yet. */
static int make_resident(struct lp_pool *pool, struct lp_chunk *chunk, struct lp_error *err)
{
    int rc;

    for (uint32_t i = 0; i < lp_store_pool_slices(pool); i++) {
        uint64_t locked;

        LP_TRY(rc, touch_slice(pool, chunk, i, &locked, err));
        chunk->locked_bytes += locked;
    }
    lp_mem_free(chunk->slice);
    chunk->slice = NULL;
    chunk->slices_left = 0;
    return 0;
}

static int make_one(struct lp_pool *pool, uint32_t number, struct lp_chunk **ret_chunk,
                    struct lp_error *err)
{
    struct lp_chunk *chunk;
    int rc;

    LP_TRY(rc, lp_store_pool_chunk_new(pool, number, &chunk, err));
    rc = make_resident(pool, chunk, err);
    if (rc < 0)
        lp_store_pool_chunk_free(chunk);
    else
        *ret_chunk = chunk;
    return rc;
}

int lp_store_pool_replenish(struct lp_pool *pool, struct lp_error *err)
{
    struct lp_chunk *chunk;

    end_dropped(pool);
    lp_store_pool_lock(pool);
    const bool wanted = pool->n_chunks + pool->n_dropped + pool->n_making < pool->params.n_chunks;
    const uint32_t number = pool->next_number;
    pool->next_number += wanted;
    pool->n_making += wanted;
    lp_store_pool_unlock(pool);
    if (!wanted)
        return 0;
    const int rc = make_one(pool, number, &chunk, err);
    lp_store_pool_lock(pool);
    pool->n_making--;
    if (rc == 0) {
        lp_store_pool_install(pool, chunk);
        pool->resident_bytes += chunk->bytes;
        pool->locked_bytes += chunk->locked_bytes;
    }
    lp_store_pool_unlock(pool);
    return rc < 0 ? lp_error_wrap(err, rc, "replace a chunk") : 1;
}
