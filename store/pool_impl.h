/* SPDX-License-Identifier: Apache-2.0 */
/* What pool.c and prefault.c share: the lock, and chunks that are not handed out. "Held" functions
 * want the lock taken. */
#ifndef LP_STORE_POOL_IMPL_H
#define LP_STORE_POOL_IMPL_H

#include "store/pool.h"

static inline void lp_store_pool_lock(struct lp_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
}

static inline void lp_store_pool_unlock(struct lp_pool *pool)
{
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* Slices of a chunk. */
static inline uint32_t lp_store_pool_slices(const struct lp_pool *pool)
{
    const uint64_t bytes = pool->params.chunk_bytes;

    return (uint32_t)(bytes / LP_POOL_SLICE_BYTES + (bytes % LP_POOL_SLICE_BYTES != 0));
}

/* pool.c: a blank chunk, no page touched, known to nobody. Returns new; chunk_free ends it.
 * LP_ELIMIT, LP_ENOMEM, LP_EMAP. */
int lp_store_pool_chunk_new(const struct lp_pool *pool, uint32_t number,
                            struct lp_chunk **ret_chunk, struct lp_error *err);
void lp_store_pool_chunk_free(struct lp_chunk *chunk);

/* pool.c, held: takes the chunk, whose number is above all others. */
void lp_store_pool_install(struct lp_pool *pool, struct lp_chunk *chunk);

/* prefault.c: lock a range where the pool is to be locked; *ret_locked gets its bytes, or 0. With
 * auto a refusal is noted and ends the attempts. LP_ELIMIT: lock is on. */
int lp_store_pool_lock_range(struct lp_pool *pool, const struct lp_chunk *chunk, uint64_t offset,
                             uint64_t bytes, uint64_t *ret_locked, struct lp_error *err);

#endif
