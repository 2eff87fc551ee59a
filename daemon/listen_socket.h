/* SPDX-License-Identifier: Apache-2.0 */
/* The socket that listens: inherited from a service manager, or bound here with the mode and group
 * of the configuration. */
#ifndef LP_DAEMON_LISTEN_SOCKET_H
#define LP_DAEMON_LISTEN_SOCKET_H

#include "base/error.h"
#include "config/config.h"

#include <stdbool.h>
#include <sys/types.h>

struct lp_listen_socket {
    int fd;         /* owned; -1: none */
    bool inherited; /* the file is somebody else's */
    char path[108]; /* empty: inherited, and without a name that can be shown */
    dev_t dev;      /* of the file that was bound, so that no other is removed at the end */
    ino_t ino;      /* 0: none was */
};

/* Take over the socket that LISTEN_FDS passes, or bind control.socket. A socket file is replaced
 * only when nobody answers there. On failure nothing is left, and fd is -1.
 * LP_EBUSY: a daemon listens there; LP_EEXIST: something else is there; LP_EPERM, LP_EINVAL,
 * LP_ENAME (no such group), LP_ESIZE, LP_EIO. */
int lp_daemon_listen_open(struct lp_listen_socket *listening, const struct lp_config *config,
                          struct lp_error *err);

/* Remove the file if it was bound here; the descriptor stays. */
void lp_daemon_listen_remove_file(struct lp_listen_socket *listening);

/* The number of a group; key is the option that names it. LP_ENAME. */
int lp_daemon_find_group(const char *key, const char *name, gid_t *ret_gid, struct lp_error *err);

#endif
