/* SPDX-License-Identifier: Apache-2.0 */
/* From options to the size of a pool: shares of the budget, the chunk, the descriptors. */
#ifndef LP_DAEMON_SIZING_H
#define LP_DAEMON_SIZING_H

#include "base/error.h"
#include "config/config.h"
#include "store/store.h"

/* Chunks that a pool should have when nobody chose their size: fewer leave no room beside arenas.
 */
#define LP_DAEMON_SIZING_CHUNKS_MIN 8u

/* The chunk for a pool of pool_bytes where none was given: wanted_bytes, halved until the pool has
 * LP_DAEMON_SIZING_CHUNKS_MIN, but not below LP_SHM_CHUNK_BYTES_MIN. */
uint64_t lp_daemon_sizing_chunk_bytes(uint64_t pool_bytes, uint64_t wanted_bytes);

/* Fill in pool_bytes, chunk_bytes, reserve_bytes, lock and create_ttl_ns from config, and measure
 * the budget where pool.size is a share of it. LP_ELIMIT: the budget leaves nothing to share;
 * LP_EINVAL: a chunk that was given does not fit twice into the pool. */
int lp_daemon_sizing_params(const struct lp_config *config, struct lp_store_params *params,
                            struct lp_error *err);

/* Raise the soft limit of descriptors to the hard one, and see that n_chunks and n_clients fit.
 * LP_ELIMIT: need, have and remedy. */
int lp_daemon_sizing_descriptors(uint64_t n_chunks, uint64_t n_clients, struct lp_error *err);

#endif
