/* SPDX-License-Identifier: Apache-2.0 */
/* What a client, its tensors and its writers share: the link, the mapped chunks, the workers.
 *
 * Counted: the client holds one reference, each tensor and writer another, so the link (and with it
 * every lease) lives until the last of them is closed. After fork() the child's handles are of no
 * more use than to be closed. */
#ifndef LP_CLIENT_SESSION_H
#define LP_CLIENT_SESSION_H

#include "client/link.h"

#include <pthread.h>

/* One chunk, mapped read-only and checked. Counted by the tensors that lie in it; lives in its
 * session's list. */
struct lp_chunk_map {
    struct lp_chunk_map *next;
    uint32_t chunk;
    uint32_t refs;        /* under the session's lock */
    const uint8_t *bytes; /* MAP_SHARED, read-only */
    uint64_t n_bytes;
    uint64_t epoch;         /* of the daemon that made it; part of what identifies it */
    uint64_t device, inode; /* of its memfd: what a registration is keyed by */
};

/* An arena, mapped for writing. Belongs to one writer at a time, or waits in its session. */
struct lp_arena_map {
    struct lp_link_arena arena; /* its descriptor stays open */
    uint8_t *bytes;             /* NULL while unmapped */
};

struct lp_workers;
struct lp_session_gpu; /* a device that was opened: client/backend_cuda.c */

struct lp_session {
    const struct lp_link_ops *ops;
    void *link;
    uint32_t refs;            /* atomic */
    uint32_t fork_generation; /* of the process that made it */
    uint64_t timeout_ns;
    pthread_mutex_t lock; /* over the link and the list of chunks */
    struct lp_chunk_map *chunks;
    struct lp_arena_map *spare;  /* an arena kept for the next writer; NULL: none */
    struct lp_session_gpu *gpus; /* owned by backend_cuda.c, which sets the next with the first */
    void (*close_gpus)(struct lp_session *session, bool inherited); /* NULL: there are none */
    bool registered;            /* a chunk is, or was, registered with a device */
    struct lp_workers *workers; /* NULL without; ended with the client, not with the session */
};

/* Returns new, with one reference. takes link. */
int lp_session_new(const struct lp_link_ops *ops, void *link, uint64_t timeout_ns,
                   struct lp_session **ret_session, struct lp_error *err);
void lp_session_ref(struct lp_session *session);
void lp_session_unref(struct lp_session *session);

/* Number of forks between the first process and this one: no system call. */
uint32_t lp_session_fork_generation(void);

/* LP_EFORK when the session belongs to a parent process. No system call. */
int lp_session_check(const struct lp_session *session, struct lp_error *err);

/* Check, then take the lock until the deadline: LP_ETIMEDOUT. */
int lp_session_lock(struct lp_session *session, uint64_t deadline_ns, struct lp_error *err);
void lp_session_unlock(struct lp_session *session);

/* Deadline of a call that begins now: asked_ns from now, or the session's timeout when 0. */
uint64_t lp_session_deadline(const struct lp_session *session, uint64_t asked_ns);

/* Under the lock: map the chunks that are not mapped yet, check them (docs/SHM.md, section 1) and
 * count each once. On failure none is counted. */
int lp_session_map_chunks(struct lp_session *session, const uint32_t *chunks, size_t n,
                          uint64_t epoch, struct lp_chunk_map **ret_maps, uint64_t deadline_ns,
                          struct lp_error *err);
void lp_session_unmap_chunk(struct lp_session *session, struct lp_chunk_map *map);

/* Under the lock. Take the spare arena or ask for a new one; put one back (kept as the spare, or
 * given back). */
int lp_session_take_arena(struct lp_session *session, struct lp_arena_map **ret_arena,
                          uint64_t deadline_ns, struct lp_error *err);
void lp_session_put_arena_take(struct lp_session *session, struct lp_arena_map *arena,
                               uint64_t deadline_ns);

/* Unmap an arena, so that it can be adopted. */
void lp_session_unmap_arena(struct lp_arena_map *arena);

/* Unmap and forget an arena that the store has adopted, or that nobody can be told about. NULL is
 * fine. */
void lp_session_drop_arena_take(struct lp_arena_map *arena);

/* The client's own handle. */
struct lp_client {
    struct lp_session *session;
};

#endif
