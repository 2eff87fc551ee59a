/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes with descriptors over a connected UNIX stream socket.
 *
 * Descriptors travel with the first byte of their send. Whatever goes wrong on the receiving side,
 * no descriptor is left behind: all that arrived are closed. The socket may block or not. */
#ifndef LP_BASE_FDPASS_H
#define LP_BASE_FDPASS_H

#include "base/error.h"

#include <stddef.h>

#define LP_FDPASS_MAX 32 /* descriptors in one send; well below the kernel's 253 */

/* Descriptors on their way; all belong to the set. */
struct lp_fdset {
    int fd[LP_FDPASS_MAX];
    size_t count; /* how many of fd are valid */
};

/* Close every descriptor of set and empty it; NULL and empty are fine. errno stays. */
void lp_fdset_close(struct lp_fdset *set);

/* Send bytes, and with the first of them the descriptors. fds borrows: they stay open here.
 *
 * *ret_sent  bytes taken by the kernel, maybe fewer than bytes; 0 when a socket that does not
 *            block is full, and no descriptor has then left. When > 0 all descriptors have left,
 *            and the rest is sent without them.
 * 0, or LP_EINVAL (more than LP_FDPASS_MAX descriptors, or descriptors without a byte), LP_ECONN
 * (the peer is gone), LP_ELIMIT (too many descriptors in flight), LP_EIO. */
int lp_fdpass_send(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds,
                   size_t *ret_sent, struct lp_error *err);

/* Receive up to bytes, and the descriptors that came with them, all CLOEXEC.
 *
 * ret_fds       filled anew, the caller owns what is in it; NULL: no descriptor is welcome
 * *ret_received bytes stored in data; 0 when a socket that does not block has none
 * 0, or LP_ECONN (closed by the peer, or reset), LP_EPROTO (more than LP_FDPASS_MAX descriptors,
 * or any where none is welcome), LP_ELIMIT (no free descriptor here), LP_EIO. After an error the
 * bytes are lost: the connection is of no more use. */
int lp_fdpass_recv(int sock, void *data, size_t bytes, struct lp_fdset *ret_fds,
                   size_t *ret_received, struct lp_error *err);

#endif
