/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor store: pools, arenas and objects. No sockets, no loop, no thread of its own, no clock
 * but the one it is given.
 *
 * One caller at a time ("the owner's thread"), but for what is marked "any thread": long work
 * (touching pages, copying and checking at seal, replacing chunks) is cut into steps and tickets
 * that a worker runs while the owner goes on. The daemon drives it from its loop, liblanepack's
 * "local:" under a lock.
 *
 *     new, prefault_step until 0 ............................ the pool is resident
 *     arena_open, create, seal_begin, seal_run, seal_end ..... an object is there
 *     open, chunk, release ................................... and is read
 *     delete, owner_end, free
 *
 * Objects: created -> sealing -> sealed -> deleted. What an owner made and did not seal, its
 * ephemeral objects, its arenas and its leases end with lp_store_owner_end(). When a call fails,
 * nothing of it stays, and ret_* are untouched. Layout and seals: docs/SHM.md. */
#ifndef LP_STORE_STORE_H
#define LP_STORE_STORE_H

#include "codec/table.h"
#include "proto/shm_layout.h"
#include "store/budget.h"

#define LP_STORE_ARENAS_MAX 64u        /* of one owner */
#define LP_STORE_UNSEALED_MAX 4096u    /* of one owner */
#define LP_STORE_LEASES_MAX (1u << 20) /* of one owner */

struct lp_store;

enum lp_store_lock { LP_STORE_LOCK_AUTO, LP_STORE_LOCK_ON, LP_STORE_LOCK_OFF };

struct lp_store_params {
    uint64_t pool_bytes;     /* rounded down to whole chunks; at least two */
    uint64_t chunk_bytes;    /* LP_SHM_CHUNK_BYTES_MIN .. _MAX, a multiple of 2 MiB */
    uint64_t reserve_bytes;  /* that the budget leaves to others */
    enum lp_store_lock lock; /* auto locks all or, where RLIMIT_MEMLOCK is too small, nothing */
    uint64_t create_ttl_ns;  /* life of an unsealed object; 0: until its owner ends */
    uint64_t (*now_ns)(void *user); /* monotonic; any thread */
    void *now_user;                 /* borrows until the store ends */
    uint64_t epoch;                 /* random, not 0 */
    const char *budget_root; /* borrows for new; NULL: the real /proc and cgroups (budget.h) */
};

/* Check the budget (cgroup room, MemAvailable, RLIMIT_MEMLOCK when lock is on) BEFORE anything is
 * allocated, then make the chunks: memfds, sized and mapped, not yet touched. Takes milliseconds,
 * whatever the size. Returns new; lp_store_free() ends it.
 * LP_ELIMIT: over budget, or more chunks than descriptors; the text says need, have and remedy.
 * LP_EINVAL, LP_ENOTSUP (kernel without F_SEAL_FUTURE_WRITE), LP_ENOMEM, LP_EMAP, LP_EIO. */
int lp_store_new(const struct lp_store_params *params, struct lp_store **ret_store,
                 struct lp_error *err);

/* Ends the store and all that is in it; maps of readers stay good. Tickets have been ended and no
 * other thread is inside. NULL is fine. */
void lp_store_free(struct lp_store *store);

/* Pre-fault: touch (and lock) one slice of the pool. Any thread, several at once; each call takes
 * the next slice. 1: did one, call again; 0: nothing left to take; LP_ENOMEM; LP_ELIMIT: lock is on
 * and not possible. A slice that failed is left for a later call. */
int lp_store_prefault_step(struct lp_store *store, struct lp_error *err);

struct lp_store_state {
    uint64_t pool_bytes, chunk_bytes, page_bytes;
    uint64_t resident_bytes, locked_bytes;
    uint64_t prefault_ns;        /* first touch to last, replaced chunks apart */
    uint64_t used_bytes;         /* taken from pool chunks, and adopted chunks whole */
    uint64_t free_bytes;         /* that objects can get; one chunk is kept for arenas */
    uint64_t largest_free_bytes; /* the largest extent that can be had */
    uint64_t arena_bytes;
    uint32_t n_chunks; /* blank, used and missing */
    uint32_t blank_chunks;
    uint32_t missing_chunks; /* lp_store_replenish() has work */
    uint32_t ready;          /* 1: every chunk that new made has been resident */
    uint64_t n_objects;      /* sealed and not deleted */
    uint64_t n_unsealed, n_leases;
    uint64_t logical_bytes, stored_bytes, wire_bytes; /* sums over n_objects */
    uint64_t objects_by_codec[LP_CODEC_END];          /* of n_objects */
    char lock_note[96];      /* why not all is locked; empty: it is, or will be */
    struct lp_budget budget; /* as measured by new */
};

/* Owner's thread. */
void lp_store_get_state(struct lp_store *store, struct lp_store_state *ret_state);

/* --- arenas ---------------------------------------------------------------------------------- */

/* Owners are numbers that the caller hands out, one per connection and never again; 0 is none. */

/* A resident blank chunk that owner may write, through the descriptor that it gets. ret_fd is
 * borrowed: the store keeps it open until the arena ends.
 * LP_ENOSPC (need and have), LP_EBUSY (pre-fault or replenish has not made one resident yet; try
 * again), LP_ELIMIT (LP_STORE_ARENAS_MAX), LP_ENOMEM, LP_EMAP. */
int lp_store_arena_open(struct lp_store *store, uint64_t owner, uint32_t *ret_arena,
                        uint32_t *ret_chunk, int *ret_fd, struct lp_error *err);

/* The chunk is dropped, once no ticket reads it. LP_ENOENT. */
int lp_store_arena_close(struct lp_store *store, uint64_t owner, uint32_t arena,
                         struct lp_error *err);

/* --- objects --------------------------------------------------------------------------------- */

struct lp_store_create {
    const char *name_space, *name; /* borrows; UTF-8, 1 to 512 bytes, no control characters */
    const char *tag;               /* borrows; as a name, or empty, or NULL */
    uint32_t dtype, ndim;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    uint32_t codec, layout; /* what the head must say; 0: whatever it says */
    bool replace;           /* a sealed object of the name gives way at seal */
    bool if_absent;         /* a sealed object of the name is no error; not with replace */
    bool ephemeral;         /* ends with its owner even when sealed */
};

/* Reserve a name for owner. *ret_oid 0: the object exists and if_absent was given.
 * LP_EEXIST, LP_EPENDING (somebody, perhaps owner, is making it), LP_ENAME, LP_EINVAL, LP_ESIZE,
 * LP_ELIMIT (LP_STORE_UNSEALED_MAX), LP_ENOMEM. */
int lp_store_create(struct lp_store *store, uint64_t owner, const struct lp_store_create *create,
                    uint64_t *ret_oid, struct lp_error *err);

struct lp_store_part {
    uint32_t arena;
    uint64_t
        offset; /* in the chunk: >= LP_SHM_CHUNK_HEADER_BYTES, a multiple of LP_SHM_EXTENT_ALIGN */
    uint64_t bytes; /* not 0; ends LP_SHM_CHUNK_TAIL_BYTES before the chunk's end or earlier */
    bool adopt;     /* the same for all parts in one arena */
};

/* Sealing, in three steps. The parts are the head and then the segments, in order.
 *
 * begin  owner's thread: checks the parts and allocates extents for those to be copied. The arenas
 *        stay as they are until end; those to be adopted serve no other ticket.
 * run    any thread, once: copies, adopts, checks the copy or the adopted bytes: head, hashes, each
 *        check, and that each record decodes.
 * end    owner's thread: publishes when run said 0, else gives everything back. Takes the ticket.
 *
 * A ticket outlives its owner, and abort: end then discards it. After a failure of begin or run the
 * object is aborted; an arena that was adopted before the failure ends, the others stay.
 *
 * begin: LP_ENOENT (no such unsealed object or arena of this owner), LP_EPENDING (its seal is under
 * way), LP_EINVAL, LP_ERANGE (a part does not lie in its arena), LP_EBUSY (an arena to adopt is in
 * use by another ticket), LP_ENOSPC (need and have), LP_ENOMEM, LP_EMAP. */
struct lp_store_seal;
int lp_store_seal_begin(struct lp_store *store, uint64_t owner, uint64_t oid,
                        const struct lp_store_part *parts, uint32_t n_parts,
                        struct lp_store_seal **ret_seal, struct lp_error *err);

/* LP_ECORRUPT, LP_EVERSION (what the bytes say), LP_EINVAL (dtype, shape, codec or layout are not
 * those of create; sizes of the parts are not those of the head), LP_EBUSY (an arena to adopt is
 * mapped writable or has a pinned page), LP_EPERM (its client sealed the seals), LP_ECANCELED
 * (aborted meanwhile), LP_ELIMIT (lock is on), LP_ENOMEM, LP_EMAP. */
int lp_store_seal_run(struct lp_store_seal *seal, struct lp_error *err);

/* Takes seal. run_rc: what run returned. ret_info may be NULL. Returns 0; run_rc, err untouched,
 * when that was negative; LP_ECANCELED when the object was aborted or its owner ended meanwhile. */
struct lp_store_info;
int lp_store_seal_end_take(struct lp_store *store, struct lp_store_seal *seal, int run_rc,
                           struct lp_store_info *ret_info, struct lp_error *err);

/* Give up an unsealed object, also while its ticket runs. LP_ENOENT. */
int lp_store_abort(struct lp_store *store, uint64_t owner, uint64_t oid, struct lp_error *err);

struct lp_store_info {
    const char *name,
        *tag; /* borrowed until the store is next changed; tag "" when there is none */
    uint64_t oid;
    uint32_t dtype, ndim, codec, layout;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    uint64_t version; /* grows with each seal of the store: never twice in an epoch */
    uint64_t logical_bytes, stored_bytes, wire_bytes; /* docs/FORMAT.md, section 9 */
    uint64_t record_bytes, n_records, raw_records;
    uint64_t fingerprint; /* XXH3 of what a reader relies on: object.h */
    uint32_t leases;
    bool ephemeral;
    uint32_t n_extents;
    const struct lp_shm_extent *extents; /* borrowed as name; extent 0 is the head */
};

/* Take a lease: the bytes stay until it ends, whatever happens to the name.
 * LP_ENOENT, LP_EPENDING (being made), LP_ELIMIT (LP_STORE_LEASES_MAX), LP_ENOMEM. */
int lp_store_open(struct lp_store *store, uint64_t owner, const char *name_space, const char *name,
                  uint64_t *ret_lease, struct lp_store_info *ret_info, struct lp_error *err);

/* LP_ENOENT: owner has no such lease. */
int lp_store_release(struct lp_store *store, uint64_t owner, uint64_t lease, struct lp_error *err);

/* Look without a lease. LP_ENOENT, LP_EPENDING. */
int lp_store_info(struct lp_store *store, const char *name_space, const char *name,
                  struct lp_store_info *ret_info, struct lp_error *err);

/* The first object whose name begins with prefix and is greater than after, in the order of bytes
 * (NULL: the first): listing with a stable cursor. LP_ENOENT at the end. */
int lp_store_next(struct lp_store *store, const char *name_space, const char *prefix,
                  const char *after, struct lp_store_info *ret_info, struct lp_error *err);

/* The name is free at once; the bytes come back when the last lease ends. An object that is being
 * made under the name goes on. LP_ENOENT. */
int lp_store_delete(struct lp_store *store, const char *name_space, const char *name,
                    struct lp_error *err);

/* The descriptor of a chunk in which an object lies (borrowed while one does), and its map in this
 * process, for "local:". LP_ENOENT. */
int lp_store_chunk(struct lp_store *store, uint32_t chunk, int *ret_fd, const uint8_t **ret_map,
                   uint64_t *ret_bytes, struct lp_error *err);

/* A connection is gone: its unsealed objects, ephemeral objects, arenas and leases end. An owner
 * that never did anything is fine. */
void lp_store_owner_end(struct lp_store *store, uint64_t owner);

/* Unsealed objects past their life end here, those being sealed apart; call now and then. Returns
 * how many. */
uint32_t lp_store_expire(struct lp_store *store);

/* Free dropped chunks and replace them by fresh blank ones, touched and locked:
 * state.missing_chunks says whether there is work. Any thread, one at a time. 1: made one, call
 * again; 0: nothing to do; LP_ELIMIT, LP_ENOMEM, LP_EMAP: a later call tries again. */
int lp_store_replenish(struct lp_store *store, struct lp_error *err);

#endif
