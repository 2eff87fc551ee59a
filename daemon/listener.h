/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting: peers, their rights, and how many there may be. */
#ifndef LP_DAEMON_LISTENER_H
#define LP_DAEMON_LISTENER_H

#include "base/error.h"
#include "daemon/deadline.h"
#include "daemon/listen_socket.h"

#include <uv.h>

#include <stdbool.h>
#include <sys/types.h>

struct lp_daemon;

struct lp_listener {
    struct lp_daemon *daemon;
    struct lp_listen_socket socket; /* socket.fd -1: not listening */
    uv_poll_t poll;
    bool polling; /* poll belongs to the loop */
    bool has_admin_gid;
    gid_t admin_gid;
    struct lp_deadline retry; /* accepting goes on, after descriptors had run out */
};

/* Listen and accept. The errors of lp_daemon_listen_open(). */
int lp_daemon_listener_open(struct lp_listener *listener, struct lp_daemon *daemon,
                            struct lp_error *err);

/* Stop, and remove the socket file if it was bound here. Fine when not listening. */
void lp_daemon_listener_close(struct lp_listener *listener);

#endif
