/* SPDX-License-Identifier: Apache-2.0 */
/* A store small enough for tests, and what a client does to it, in this process: map an arena
 * through its descriptor, lay a packed table into it, seal, read back. Helpers abort when something
 * fails that a test does not mean to fail. */
#ifndef LP_TESTS_SMALL_STORE_H
#define LP_TESTS_SMALL_STORE_H

#include "store/store.h"
#include "tests/lib/packed.h"

#define SMALL_CHUNK_BYTES LP_SHM_CHUNK_BYTES_MIN
#define SMALL_TTL_NS 1000u
#define SMALL_SPACE "default"

struct small_store {
    struct lp_store *store;
    uint64_t now_ns; /* the store's clock: moved by the test */
};

/* Params of a store of n_chunks, not locked, with small's clock. */
struct lp_store_params small_store_params(struct small_store *small, uint32_t n_chunks);

/* A store of n_chunks; ready: every page is there. */
void small_store_init(struct small_store *small, uint32_t n_chunks, bool ready);
void small_store_fini(struct small_store *small);
void small_store_prefault(struct small_store *small);

/* Until nothing is missing. */
void small_store_replenish(struct small_store *small);
struct lp_store_state small_store_state(struct small_store *small);

/* An arena, mapped as its client maps it. */
struct small_arena {
    uint32_t arena, chunk;
    uint8_t *map;
    uint64_t used; /* where the next part goes */
};
void small_arena_open(struct small_store *small, uint64_t owner, struct small_arena *ret_arena);
int small_arena_try_open(struct small_store *small, uint64_t owner, struct small_arena *ret_arena,
                         struct lp_error *err);
void small_arena_unmap(struct small_arena *arena);

/* Lay bytes into the arena, as a part. */
struct lp_store_part small_arena_add(struct small_arena *arena, const void *data, uint64_t bytes,
                                     bool adopt);

/* Lay head and segments into one arena; parts has room for them. Returns how many. */
uint32_t small_arena_add_packed(struct small_arena *arena, const struct packed *packed, bool adopt,
                                struct lp_store_part *parts);

/* What create says of a packed table. */
struct lp_store_create small_create(const char *name, const struct packed *packed);

/* begin, run, end. ret_info may be NULL. */
int small_seal(struct small_store *small, uint64_t owner, uint64_t oid,
               const struct lp_store_part *parts, uint32_t n_parts, struct lp_store_info *ret_info,
               struct lp_error *err);

/* All of it, through an arena of its own that is closed again; replace as the flag of create. */
int small_put(struct small_store *small, uint64_t owner, const char *name,
              const struct packed *packed, bool replace, struct lp_error *err);

/* True when the extents decode to the data. */
bool small_reads_as(struct small_store *small, const struct lp_store_info *info, const void *data);

/* A float32 matrix of rows x 128 with values of a bell curve, and packed. Freed by
 * small_table_fini. */
struct small_table {
    float *data;
    uint64_t data_bytes;
    struct packed packed;
};
void small_table_init(struct small_table *table, uint64_t rows, uint64_t seed);
void small_table_fini(struct small_table *table);

#endif
