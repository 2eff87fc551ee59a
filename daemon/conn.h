/* SPDX-License-Identifier: Apache-2.0 */
/* One client: its socket, its lines, its end.
 *
 * open      lines are read and dispatched, answers leave as the socket takes them
 * draining  nothing more is read (the client shut down its sending side, sent a line too long, or
 *           the daemon ends); what is queued still leaves
 * closed    nothing happens any more; the memory goes when the loop has closed the handle
 *
 * Reading pauses while too many requests wait or the client does not take its answers. On the way
 * out of `open` the connection's waiting requests, unsealed objects, arenas and leases end, within
 * the same turn of the loop. Loop thread only. Source: docs/PROTOCOL.md, section 1. */
#ifndef LP_DAEMON_CONN_H
#define LP_DAEMON_CONN_H

#include "base/error.h"
#include "base/list.h"
#include "daemon/deadline.h"
#include "daemon/sendq.h"
#include "proto/message.h"

#include <uv.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lp_daemon;

#define LP_CONN_WAITING_MAX 64u         /* requests that wait, before reading pauses */
#define LP_CONN_UNSENT_MAX (256u << 10) /* bytes of answers not taken, before reading pauses */
#define LP_CONN_UNSENT_FDS_MAX 64u      /* descriptors not taken, likewise */
#define LP_CONN_HELLO_S 30u             /* for a good hello */
#define LP_CONN_LINE_S 10u              /* for a started line to end */
#define LP_CONN_STALL_S 30u             /* for a byte of a queued answer to leave */
#define LP_CONN_STALL_ENDING_S 2u       /* the same while the daemon ends */

struct lp_peer {
    pid_t pid; /* 0: from another pid namespace */
    uid_t uid;
    gid_t gid;
    bool admin;
};

enum lp_daemon_conn_state { LP_CONN_OPEN, LP_CONN_DRAINING, LP_CONN_CLOSED };

/* Fields are read by dispatch and methods; hello writes those of its own. */
struct lp_conn {
    struct lp_list link; /* in daemon->conns */
    struct lp_daemon *daemon;
    enum lp_daemon_conn_state state;
    uint64_t owner; /* number in the store */
    struct lp_peer peer;

    bool greeted; /* hello was good; the next three are its */
    uint32_t proto;
    char name_space[LP_PROTO_NAMESPACE_BYTES_MAX + 1];
    char client[129];

    int fd;
    uv_poll_t poll;
    int watched;      /* events that poll waits for; -1: not started */
    bool half_closed; /* seen while paused: the client will send no more */
    char *in;         /* what came and was not dispatched, in_bytes of in_room */
    size_t in_bytes, in_room;
    size_t in_scanned; /* that hold no newline */
    bool pumping;      /* lines are being dispatched further up the stack */
    struct lp_sendq out;
    struct lp_list waiting; /* struct lp_request */
    uint32_t n_waiting;
    struct lp_deadline hello_deadline, line_deadline, stall_deadline;
};

/* Begin to serve a connected socket. fd takes, also on failure. The connection ends by itself.
 * LP_ENOMEM, LP_EINTERNAL. */
int lp_daemon_conn_open(struct lp_daemon *daemon, int fd, const struct lp_peer *peer,
                        struct lp_error *err);

/* Queue a line, send what the socket takes. line takes; fds copies. A failure ends the connection,
 * since an answer that is lost cannot be made up for. Fine on a closed connection. */
void lp_daemon_conn_send_take(struct lp_conn *conn, char *line, size_t bytes, const int *fds,
                              size_t n_fds);

/* Send an error about the request with this id (NULL: null). Never allocates unless the socket
 * is full. */
void lp_daemon_conn_send_error(struct lp_conn *conn, const json_t *id,
                               const struct lp_error *error);

/* Read no more; close when all answers have left. */
void lp_daemon_conn_drain(struct lp_conn *conn);

/* Close now; why is for the log, lower case. Idempotent. */
void lp_daemon_conn_close(struct lp_conn *conn, const char *why);

/* A waiting request has been answered, or the daemon ends: go on with what comes next. */
void lp_daemon_conn_resume(struct lp_conn *conn);

#endif
