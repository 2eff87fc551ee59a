/* SPDX-License-Identifier: Apache-2.0 */
/* Where objects come from: the daemon behind its socket, or a store in this process.
 *
 * One table of functions, one caller at a time (the session's lock). Every function that may wait
 * ends at deadline_ns (lp_clock_now_ns()) with LP_ETIMEDOUT. ret_* is untouched on failure.
 *
 * Connections of a link are numbered from 1. What one gave out (leases, arenas, oids) means nothing
 * to the next, so each is kept with its number and handed back with it. */
#ifndef LP_CLIENT_LINK_H
#define LP_CLIENT_LINK_H

#include "base/error.h"
#include "codec/shape.h"
#include "lanepack/lanepack.h"
#include "proto/shm_layout.h"

/* A chunk lent for writing. */
struct lp_link_arena {
    uint32_t arena, chunk;
    uint64_t bytes;
    uint64_t connection;
    int fd; /* the receiver owns it */
};

struct lp_link_create {
    const char *name, *tag; /* borrowed; tag may be NULL */
    const struct lp_geometry *geometry;
    uint32_t codec, layout, flags; /* enum lp_put_flag */
};

struct lp_link_part {
    uint32_t arena;
    uint64_t offset, bytes;
    bool adopt;
};

/* One answer to open. */
struct lp_link_object {
    int code;                   /* 0, or why the other fields are unset */
    uint64_t connection, lease; /* lease 0: none was taken */
    uint64_t epoch;             /* that the headers of its chunks must have */
    struct lp_tensor_info info;
    uint32_t n_extents;
    struct lp_shm_extent *extents; /* owned by the receiver: lp_mem_free() */
    struct lp_error error;
};

/* A page of a listing; names and infos run in parallel. */
#define LP_LINK_PAGE_MAX 128u
#define LP_LINK_CURSOR_BYTES 2048u
struct lp_link_page {
    char cursor[LP_LINK_CURSOR_BYTES]; /* where the next page begins; "" before the first and after
                                          the last */
    uint32_t n;
    char *names[LP_LINK_PAGE_MAX]; /* owned by the receiver, each: lp_mem_free() */
    struct lp_tensor_info infos[LP_LINK_PAGE_MAX];
};

struct lp_link_ops {
    /* True when that connection was lost while the daemon lives on: its leases are gone and bytes
     * that were mapped under them may be reused. When the daemon itself has ended nobody can write
     * its chunks any more, and what is mapped stays true. Any thread, no system call. */
    bool (*is_cut)(void *link, uint64_t connection);

    /* Number of the connection in use; 0: it is known to be lost. */
    uint64_t (*connection)(void *link);

    int (*get_info)(void *link, struct lp_client_info *ret_info, uint64_t deadline_ns,
                    struct lp_error *err);
    int (*call)(void *link, const char *method, const char *params_json, char **ret_json,
                uint64_t deadline_ns, struct lp_error *err);

    int (*arena_open)(void *link, struct lp_link_arena *ret_arena, uint64_t deadline_ns,
                      struct lp_error *err);
    int (*arena_close)(void *link, uint64_t connection, uint32_t arena, uint64_t deadline_ns,
                       struct lp_error *err);

    /* On that connection, where the arenas are. *ret_oid 0: the name exists and LP_PUT_IF_ABSENT
     * was given. */
    int (*create)(void *link, uint64_t connection, const struct lp_link_create *create,
                  uint64_t *ret_oid, uint64_t deadline_ns, struct lp_error *err);
    int (*seal)(void *link, uint64_t connection, uint64_t oid, const struct lp_link_part *parts,
                uint32_t n_parts, struct lp_tensor_info *ret_info, uint64_t deadline_ns,
                struct lp_error *err);
    int (*abort)(void *link, uint64_t connection, uint64_t oid, uint64_t deadline_ns,
                 struct lp_error *err);

    /* Fills ret_objects[0 .. n-1], which came zeroed. On failure leases that were taken stand in
     * them. */
    int (*open)(void *link, const char *const *names, size_t n, struct lp_link_object *ret_objects,
                uint64_t deadline_ns, struct lp_error *err);
    int (*release)(void *link, uint64_t connection, uint64_t lease, uint64_t deadline_ns,
                   struct lp_error *err);
    int (*exists)(void *link, const char *const *names, size_t n, uint8_t *ret_hits,
                  uint64_t deadline_ns, struct lp_error *err);
    int (*remove)(void *link, const char *const *names, size_t n, uint64_t *ret_removed,
                  uint64_t deadline_ns, struct lp_error *err);

    /* The page of names with that prefix which page->cursor names; its cursor moves on. */
    int (*list)(void *link, const char *prefix, struct lp_link_page *page, uint64_t deadline_ns,
                struct lp_error *err);

    /* Read-only descriptors of n <= 32 chunks, the receiver owns them, and each chunk's size. */
    int (*chunks)(void *link, const uint32_t *chunks, size_t n, int *ret_fds, uint64_t *ret_bytes,
                  uint64_t deadline_ns, struct lp_error *err);

    /* Ends the link. inherited: it came by fork(), so nothing is said to the daemon. */
    void (*close)(void *link, bool inherited);
};

/* Connect to the daemon as options say. *ret_link returns new, ended by lp_link_daemon_ops.close.
 */
extern const struct lp_link_ops lp_link_daemon_ops;
int lp_link_daemon_open(const struct lp_connect_options *options, uint64_t deadline_ns,
                        void **ret_link, struct lp_error *err);

/* A store of this process. */
extern const struct lp_link_ops lp_link_local_ops;
int lp_link_local_open(const struct lp_connect_options *options, void **ret_link,
                       struct lp_error *err);

#endif
