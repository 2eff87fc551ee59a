/* SPDX-License-Identifier: Apache-2.0 */
/* SCM_RIGHTS with nothing left behind. Source: unix(7), cmsg(3). */
#include "base/fdpass.h"

#include "base/sys.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Room for exactly LP_FDPASS_MAX descriptors, aligned as its header wants. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(LP_FDPASS_MAX * sizeof(int))];
};

void lp_fdset_close(struct lp_fdset *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->count; i++)
        lp_sys_close(&set->fd[i]);
    set->count = 0;
}

static void attach_fds(struct msghdr *message, union control *control, const int *fds, size_t n_fds)
{
    memset(control, 0, sizeof(*control));
    message->msg_control = control->bytes;
    message->msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
    memcpy(CMSG_DATA(header), fds, n_fds * sizeof(int));
}

static int code_of_errno(int errnum)
{
    switch (errnum) {
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
        return LP_ECONN;
    case EMFILE:
    case ENFILE:
    case ETOOMANYREFS:
        return LP_ELIMIT;
    case ENOMEM:
    case ENOBUFS:
        return LP_ENOMEM;
    default:
        return LP_EIO;
    }
}

int lp_fdpass_send(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds,
                   size_t *ret_sent, struct lp_error *err)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union control control;

    if (n_fds > LP_FDPASS_MAX)
        return lp_error_set(err, LP_EINVAL, "%zu descriptors in one message, at most %d", n_fds,
                            LP_FDPASS_MAX);
    if (n_fds > 0 && bytes == 0)
        return lp_error_set(err, LP_EINVAL, "descriptors need a byte to travel with");
    if (n_fds > 0)
        attach_fds(&message, &control, fds, n_fds);
    const ssize_t sent = lp_sys_sendmsg(sock, &message, 0);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return lp_error_set_errno(err, code_of_errno(errno), errno, "send");
    *ret_sent = sent < 0 ? 0 : (size_t)sent;
    return 0;
}

/* Move every descriptor out of the control messages. The kernel never hands out more than the
 * control buffer has room for, which is LP_FDPASS_MAX. */
static void collect_fds(struct msghdr *message, struct lp_fdset *set)
{
    set->count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(&set->fd[set->count], CMSG_DATA(header), n * sizeof(int));
        set->count += n;
    }
}

/* What is wrong with a message that arrived; 0 when nothing is. */
static int check_received(const struct msghdr *message, const struct lp_fdset *set, bool welcome,
                          struct lp_error *err)
{
    if (message->msg_flags & MSG_CTRUNC) {
        /* The kernel cuts where the buffer ends, or earlier where no descriptor number is free. */
        if (set->count == LP_FDPASS_MAX)
            return lp_error_set(err, LP_EPROTO, "more than %d descriptors in one message",
                                LP_FDPASS_MAX);
        return lp_error_set(err, LP_ELIMIT, "no free descriptor for one that was sent");
    }
    if (set->count > 0 && !welcome)
        return lp_error_set(err, LP_EPROTO, "%zu descriptors where none belongs", set->count);
    return 0;
}

int lp_fdpass_recv(int sock, void *data, size_t bytes, struct lp_fdset *ret_fds,
                   size_t *ret_received, struct lp_error *err)
{
    struct iovec part = {.iov_base = data, .iov_len = bytes};
    union control control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct lp_fdset set = {.count = 0};

    if (bytes == 0)
        return lp_error_set(err, LP_EINVAL, "receive into no bytes");
    const ssize_t received = lp_sys_recvmsg(sock, &message, 0);
    if (received < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return lp_error_set_errno(err, code_of_errno(errno), errno, "receive");
    if (received > 0)
        collect_fds(&message, &set);
    const int rc = received > 0 ? check_received(&message, &set, ret_fds != NULL, err) : 0;
    if (rc < 0) {
        lp_fdset_close(&set);
        return rc;
    }
    if (received == 0)
        return lp_error_set(err, LP_ECONN, "closed by the peer");
    if (ret_fds != NULL)
        *ret_fds = set;
    *ret_received = received < 0 ? 0 : (size_t)received;
    return 0;
}
