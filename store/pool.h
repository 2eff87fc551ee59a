/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of one pool: made, touched, locked, handed out, replaced. Only pool.c and chunk.c make
 * shared memory.
 *
 * Every chunk is blank, a pool chunk, an arena or adopted (chunk.h), or missing: dropped, and soon
 * replaced by replenish. Blank chunks turn into pool chunks as extents need them, but one of
 * blank, arena and missing is always kept, so that a full pool can still be written to.
 *
 * "Owner" functions have one caller at a time; "any thread" functions may run beside them. */
#ifndef LP_STORE_POOL_H
#define LP_STORE_POOL_H

#include "store/chunk.h"
#include "store/extent.h"
#include "store/store.h"

#include <pthread.h>

#define LP_POOL_SLICE_BYTES (32ull << 20) /* touched in one step */

struct lp_pool_params {
    uint32_t id;
    uint32_t n_chunks;    /* at least two */
    uint64_t chunk_bytes; /* as lp_store_params */
    uint64_t epoch;
    enum lp_store_lock lock;
    uint64_t memlock_bytes;         /* what RLIMIT_MEMLOCK allows, UINT64_MAX: everything */
    uint64_t (*now_ns)(void *user); /* any thread */
    void *now_user;
};

struct lp_pool {
    struct lp_pool_params params;
    struct lp_extents extents; /* owner's thread only */
    uint32_t n_adopting;       /* owner's thread only: arenas between begin_adopt and end_adopt */
    pthread_mutex_t mutex;     /* guards all below, and the slices and locked_bytes of chunks */
    struct lp_chunk **chunk;   /* owned; by number; room for params.n_chunks */
    struct lp_chunk **dropped; /* owned; to be ended by replenish */
    uint32_t n_chunks, n_dropped;
    uint32_t n_making; /* replenish is at work */
    uint32_t next_number;
    uint64_t slices_left; /* of the first chunks; 0: ready */
    uint64_t resident_bytes, locked_bytes;
    uint64_t first_touch_ns, last_touch_ns; /* 0: not yet */
    bool locking;
    char lock_note[96];
};

/* Make the chunks, no page touched. On failure pool owns nothing. LP_ELIMIT (descriptors),
 * LP_ENOMEM, LP_EMAP. */
int lp_store_pool_init(struct lp_pool *pool, const struct lp_pool_params *params,
                       struct lp_error *err);
/* No other thread is inside. A zeroed pool is fine. */
void lp_store_pool_fini(struct lp_pool *pool);

/* Any thread: as lp_store_prefault_step() and lp_store_replenish(). */
int lp_store_pool_prefault_step(struct lp_pool *pool, struct lp_error *err);
int lp_store_pool_replenish(struct lp_pool *pool, struct lp_error *err);

/* Owner: the chunk of that number, or NULL. */
struct lp_chunk *lp_store_pool_find(struct lp_pool *pool, uint32_t number);

/* Owner: room for bytes, more than 0. LP_ENOSPC, LP_ENOMEM, LP_EMAP. */
int lp_store_pool_take(struct lp_pool *pool, uint64_t bytes, struct lp_shm_extent *ret_extent,
                       struct lp_error *err);

/* Owner: give back an extent that take returned or that lies in an adopted chunk; the latter is
 * dropped with its last one. */
void lp_store_pool_give_back(struct lp_pool *pool, const struct lp_shm_extent *extent);

/* Owner: a resident blank chunk becomes an arena. LP_ENOSPC (need and have), LP_EBUSY (blank chunks
 * are there or being made, also for an empty pool chunk that makes way, but none is resident yet:
 * replenish), LP_EMAP. */
int lp_store_pool_take_arena(struct lp_pool *pool, struct lp_chunk **ret_chunk,
                             struct lp_error *err);

/* Owner: drop a chunk that nothing lies in; it is ended and replaced by replenish. */
void lp_store_pool_drop(struct lp_pool *pool, struct lp_chunk *chunk);

/* Owner: an arena is going to be adopted. LP_ENOSPC: that would leave no chunk to write in. Each
 * begin has its end, once the chunk has an extent of an object or will not be adopted after all. */
int lp_store_pool_begin_adopt(struct lp_pool *pool, struct lp_error *err);
void lp_store_pool_end_adopt(struct lp_pool *pool);

/* Any thread: adopt an arena that nobody else uses now. Errors as lp_store_chunk_adopt(); it is
 * locked again where the pool is. */
int lp_store_pool_adopt(struct lp_pool *pool, struct lp_chunk *chunk, struct lp_error *err);

/* Owner: fill in what the pool knows of a state. */
void lp_store_pool_get_state(struct lp_pool *pool, struct lp_store_state *state);

#endif
