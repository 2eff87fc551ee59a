/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket: inherited from a service manager or bound here; peers and their rights. */
#ifndef LP_DAEMON_LISTENER_H
#define LP_DAEMON_LISTENER_H

#include "base/error.h"
#include "daemon/deadline.h"

#include <uv.h>

#include <stdbool.h>
#include <sys/types.h>

struct lp_daemon;

struct lp_listener {
    struct lp_daemon *daemon;
    int fd; /* -1: not listening */
    uv_poll_t poll;
    bool polling;   /* poll belongs to the loop */
    bool inherited; /* the socket file is somebody else's */
    char path[108]; /* empty: inherited and without a name that can be shown */
    dev_t dev;      /* of the file that was bound, so that no other is removed at the end */
    ino_t ino;
    bool has_admin_gid;
    gid_t admin_gid;
    struct lp_deadline retry; /* accepting goes on, after descriptors had run out */
};

/* Take over the socket that LISTEN_FDS passes, or bind control.socket with its mode and group, and
 * accept. A socket file is replaced only when nobody answers there.
 * LP_EBUSY: a daemon listens there. LP_EPERM, LP_EINVAL, LP_ENAME (no such group), LP_EIO. */
int lp_daemon_listener_open(struct lp_listener *listener, struct lp_daemon *daemon,
                            struct lp_error *err);

/* Stop, and remove the socket file if it was bound here. Fine when not listening. */
void lp_daemon_listener_close(struct lp_listener *listener);

#endif
