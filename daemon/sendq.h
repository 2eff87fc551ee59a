/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on their way to one client, with their descriptors. */
#ifndef LP_DAEMON_SENDQ_H
#define LP_DAEMON_SENDQ_H

#include "base/error.h"
#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>

struct lp_sendq {
    struct lp_list lines;
    size_t bytes; /* that the kernel has not taken */
    size_t n_fds; /* likewise */
};

void lp_daemon_sendq_init(struct lp_sendq *queue);

/* Drops what is left. NULL is not fine; an initialised or finished one is. */
void lp_daemon_sendq_fini(struct lp_sendq *queue);

/* Put a line at the end. line takes, also on failure; fds copies: they may be closed afterwards.
 * LP_ENOMEM, LP_ELIMIT (no free descriptor). */
int lp_daemon_sendq_put_take(struct lp_sendq *queue, char *line, size_t bytes, const int *fds,
                             size_t n_fds, struct lp_error *err);

/* Send until the socket takes no more. *ret_sent: whether any byte left. 0, or the errors of
 * lp_fdpass_send(). */
int lp_daemon_sendq_flush(struct lp_sendq *queue, int sock, bool *ret_sent, struct lp_error *err);

#endif
