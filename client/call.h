/* SPDX-License-Identifier: Apache-2.0 */
/* One socket to the daemon: connect within a deadline, one request, one answer.
 *
 * A request that ended at its deadline leaves its answer on the way: it is thrown away when it
 * comes, and what it would have given is noted as orphans, so that the link can hand it back. */
#ifndef LP_CLIENT_CALL_H
#define LP_CLIENT_CALL_H

#include "base/fdpass.h"
#include "proto/message.h"

/* What a late answer can bring. */
enum lp_call_orphan { LP_CALL_LEASES, LP_CALL_ARENAS, LP_CALL_OIDS, LP_CALL_ORPHANS };

struct lp_call_orphans {
    uint64_t *ids; /* owned */
    size_t n, capacity;
};

struct lp_call {
    int sock;       /* -1: not connected; does not block */
    int peer_pidfd; /* of the daemon's process, -1: unknown */
    uint64_t next_id;
    size_t line_max; /* bytes of a line, either way; the owner raises it to what hello says */
    char *buffer;    /* owned: bytes received and not yet used */
    size_t used, capacity;
    bool broken;         /* requests and answers can't be matched any more */
    struct lp_fdset fds; /* descriptors that came with the bytes in the buffer, in order */
    struct lp_call_orphans orphans[LP_CALL_ORPHANS];
};

/* Connect to the Unix stream socket at path. LP_ECONN (nothing listens; the text says what to do),
 * LP_EPERM, LP_ETIMEDOUT, LP_EINVAL (path too long). */
int lp_call_open(struct lp_call *ret_call, const char *path, uint64_t deadline_ns,
                 struct lp_error *err);
void lp_call_close(struct lp_call *call);

/* Ask and wait for the answer. params borrows, NULL: none. *ret_result returns new (json_decref).
 * ret_fds: gets exactly n_fds descriptors, owned by the caller; NULL when n_fds is 0. The peer's
 * own error comes back as code and text; JSON-RPC's own codes become LP_EPROTO. A deadline that has
 * passed still sends, and takes an answer that is there. *ret_sent tells whether the request may
 * have reached the daemon. LP_ECONN: the connection is lost. LP_ETIMEDOUT, LP_ENOMEM, LP_ESIZE,
 * LP_EPROTO, LP_ELIMIT. Whenever the answers to come can't be told apart, sock is closed. */
int lp_call_ask(struct lp_call *call, const char *method, const json_t *params, json_t **ret_result,
                struct lp_fdset *ret_fds, size_t n_fds, bool *ret_sent, uint64_t deadline_ns,
                struct lp_error *err);

/* Note something that an answer handed out (id: an integer; anything else is passed over) as
 * nobody's: the link hands it back. What there is no memory to note ends with the connection. */
void lp_call_note_orphan(struct lp_call *call, enum lp_call_orphan kind, const json_t *id);

/* After a connection was lost: true when the daemon's process is known to have ended (waits a
 * little for one that is just ending). */
bool lp_call_peer_ended(const struct lp_call *call);

#endif
