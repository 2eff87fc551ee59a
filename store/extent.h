/* SPDX-License-Identifier: Apache-2.0 */
/* Free ranges of a pool's chunks: take the best fit, give back, merge. No range crosses a chunk.
 *
 * Book-keeping only: it never touches the memory it counts. What it hands out begins and ends at
 * multiples of LP_SHM_EXTENT_ALIGN, and the same calls give the same places. One caller at a time.
 */
#ifndef LP_STORE_EXTENT_H
#define LP_STORE_EXTENT_H

#include "base/error.h"
#include "proto/shm_layout.h"

#include <stddef.h>

struct lp_extents {
    struct lp_shm_extent *range; /* owned; free ranges by chunk and offset, none beside another */
    size_t n_ranges, room;       /* room >= n_ranges + n_taken, so giving back never allocates */
    size_t n_taken;              /* extents that are out */
    uint64_t free_bytes, taken_bytes;
};

void lp_store_extents_init(struct lp_extents *extents);

/* NULL and a zeroed struct are fine. */
void lp_store_extents_fini(struct lp_extents *extents);

/* A new chunk's range [offset, offset + bytes), both multiples of LP_SHM_EXTENT_ALIGN. LP_ENOMEM.
 */
int lp_store_extents_add(struct lp_extents *extents, uint32_t chunk, uint64_t offset,
                         uint64_t bytes, struct lp_error *err);

/* Forget a chunk that nothing is taken from: its one range goes. */
void lp_store_extents_remove(struct lp_extents *extents, uint32_t chunk);

/* Make sure that the next add will not fail. LP_ENOMEM. */
int lp_store_extents_reserve(struct lp_extents *extents, struct lp_error *err);

/* Take bytes (more than 0), from the smallest range that has them, the first of equals.
 * ret_extent->bytes is what was asked for; up to the next multiple of LP_SHM_EXTENT_ALIGN nobody
 * else uses. LP_ENOSPC, LP_ENOMEM. */
int lp_store_extents_take(struct lp_extents *extents, uint64_t bytes,
                          struct lp_shm_extent *ret_extent, struct lp_error *err);

/* Give back what take handed out. */
void lp_store_extents_give_back(struct lp_extents *extents, const struct lp_shm_extent *extent);

/* The largest free range; 0 when there is none. */
uint64_t lp_store_extents_largest(const struct lp_extents *extents);

/* Bytes that an extent of this size really occupies. */
static inline uint64_t lp_store_extent_room(uint64_t bytes)
{
    return lp_round_up_u64(bytes, LP_SHM_EXTENT_ALIGN);
}

#endif
