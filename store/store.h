/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor store: pools, arenas and objects. No sockets, no loop, no thread of its own, no clock but the one it is given.
 *
 * One caller at a time, but for what is marked "any thread": long work (touching pages, copying and checking at seal) is cut into tickets that a worker
 * runs while the owner goes on. The daemon drives it from its loop, liblanepack's "local:" from a lock.
 *
 * Objects: created -> sealed -> deleted. What a connection made and did not seal, its arenas and its leases end with lp_store_owner_end(). */
#ifndef LP_STORE_STORE_H
#define LP_STORE_STORE_H

#include "codec/table.h"
#include "proto/shm_layout.h"
#include "store/budget.h"

struct lp_store;

enum lp_store_lock { LP_STORE_LOCK_AUTO, LP_STORE_LOCK_ON, LP_STORE_LOCK_OFF };

struct lp_store_params {
    uint64_t pool_bytes;       /* rounded down to whole chunks; at least two */
    uint64_t chunk_bytes;      /* LP_SHM_CHUNK_BYTES_MIN .. _MAX, a multiple of 2 MiB */
    uint64_t reserve_bytes;    /* that the budget leaves to others */
    enum lp_store_lock lock;
    uint64_t create_ttl_ns;    /* life of an unsealed object */
    uint64_t (*now_ns)(void *user); /* monotonic */
    void *now_user;
    uint64_t epoch;            /* random, not 0 */
};

/* Check the budget (cgroup room, MemAvailable, RLIMIT_MEMLOCK when lock is on) BEFORE anything is allocated, then make the chunks: memfds, sized and mapped, not yet touched.
 * Returns new; lp_store_free() ends it. LP_ELIMIT: over budget; the text says need, have and remedy. LP_EINVAL, LP_ENOMEM, LP_EMAP. */
int lp_store_new(const struct lp_store_params *params, struct lp_store **ret_store, struct lp_error *err);
void lp_store_free(struct lp_store *store);

/* Pre-fault: touch (and lock) one slice of the pool. Any thread, several at once; each call takes the next slice. 1: did one, call again; 0: nothing left; LP_E*: failed (no memory, lock = on impossible). */
int lp_store_prefault_step(struct lp_store *store, struct lp_error *err);

struct lp_store_state {
    uint64_t pool_bytes, chunk_bytes, page_bytes;
    uint64_t resident_bytes, locked_bytes, prefault_ns;   /* prefault_ns: first touch to last */
    uint64_t used_bytes, free_bytes, largest_free_bytes, arena_bytes;
    uint32_t n_chunks, blank_chunks, ready;
    uint64_t n_objects, n_unsealed, n_leases;
    uint64_t logical_bytes, stored_bytes, wire_bytes;
    char lock_note[96];        /* why not all is locked */
    struct lp_budget budget;
};
void lp_store_get_state(struct lp_store *store, struct lp_store_state *ret_state);

/* --- arenas ------------------------------------------------------------------------------------------------ */

/* Owners are small numbers that the caller hands out, one per connection; 0 is none. */
/* A blank chunk that owner may write. ret_fd borrowed: the store keeps it. LP_ENOSPC (need and have), LP_ELIMIT (too many). */
int lp_store_arena_open(struct lp_store *store, uint64_t owner, uint32_t *ret_arena, uint32_t *ret_chunk, int *ret_fd, struct lp_error *err);
int lp_store_arena_close(struct lp_store *store, uint64_t owner, uint32_t arena, struct lp_error *err);

/* --- objects ----------------------------------------------------------------------------------------------- */

struct lp_store_create {
    const char *name_space, *name, *tag;   /* copies; tag may be NULL */
    uint32_t dtype, ndim;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    uint32_t codec, layout;
    bool replace, if_absent, ephemeral;
};

/* *ret_oid 0: the object exists and if_absent was given. LP_EEXIST, LP_EPENDING, LP_ENAME, LP_EINVAL, LP_ENOMEM. */
int lp_store_create(struct lp_store *store, uint64_t owner, const struct lp_store_create *create, uint64_t *ret_oid, struct lp_error *err);

struct lp_store_part {
    uint32_t arena;
    uint64_t offset, bytes;
    bool adopt;
};

/* Sealing in three steps. begin (owner's thread): checks the parts, allocates extents or drops the arena's map and seals it. run (any thread): copies, checks the copy or the adopted bytes, every hash and check.
 * end (owner's thread): publishes when run said 0, else gives everything back. A ticket outlives the connection's end: end then discards it. After begin has failed the object is aborted. */
struct lp_store_seal;
int lp_store_seal_begin(struct lp_store *store, uint64_t owner, uint64_t oid, const struct lp_store_part *parts, uint32_t n_parts,
                        struct lp_store_seal **ret_seal, struct lp_error *err);
int lp_store_seal_run(struct lp_store_seal *seal, struct lp_error *err);
struct lp_store_info;
int lp_store_seal_end_take(struct lp_store *store, struct lp_store_seal *seal, int run_rc, struct lp_store_info *ret_info, struct lp_error *err);

int lp_store_abort(struct lp_store *store, uint64_t owner, uint64_t oid, struct lp_error *err);

struct lp_store_info {
    const char *name, *tag;            /* borrowed until the store is next changed */
    uint64_t oid;
    uint32_t dtype, ndim, codec, layout;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    uint64_t version, logical_bytes, stored_bytes, wire_bytes, record_bytes, n_records, raw_records, fingerprint;
    uint32_t leases;
    bool ephemeral;
    uint32_t n_extents;
    const struct lp_shm_extent *extents; /* borrowed as above */
};

/* Take a lease. LP_ENOENT, LP_EPENDING (being made). */
int lp_store_open(struct lp_store *store, uint64_t owner, const char *name_space, const char *name, uint64_t *ret_lease,
                  struct lp_store_info *ret_info, struct lp_error *err);
int lp_store_release(struct lp_store *store, uint64_t owner, uint64_t lease, struct lp_error *err);

int lp_store_info(struct lp_store *store, const char *name_space, const char *name, struct lp_store_info *ret_info, struct lp_error *err);

/* The first object whose name begins with prefix and is greater than after (NULL: the first): listing with a stable cursor. LP_ENOENT at the end. */
int lp_store_next(struct lp_store *store, const char *name_space, const char *prefix, const char *after, struct lp_store_info *ret_info,
                  struct lp_error *err);

/* Bytes come back when the last lease ends. LP_ENOENT. */
int lp_store_delete(struct lp_store *store, const char *name_space, const char *name, struct lp_error *err);

/* The descriptor of a chunk that holds an object (borrowed), and its map in this process (for "local:"). LP_ENOENT. */
int lp_store_chunk(struct lp_store *store, uint32_t chunk, int *ret_fd, const uint8_t **ret_map, uint64_t *ret_bytes, struct lp_error *err);

/* A connection is gone: its unsealed objects, ephemeral objects, arenas and leases end. */
void lp_store_owner_end(struct lp_store *store, uint64_t owner);

/* Unsealed objects past their life end here; call now and then. Returns how many. */
uint32_t lp_store_expire(struct lp_store *store);

/* Replace what arenas used up: makes and touches fresh blank chunks for those that were dropped. Any thread, one at a time. 1: did one; 0: nothing to do. */
int lp_store_replenish(struct lp_store *store, struct lp_error *err);

#endif
