/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fdpass.h"
#include "base/sys.h"
#include "tests/lib/fault_loop.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends[2];

static void open_pair(void)
{
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_pair(void)
{
    lp_sys_close(&ends[0]);
    lp_sys_close(&ends[1]);
}

TestSuite(base_fdpass, .init = open_pair, .fini = close_pair);

/* Open descriptors of this process, to see that none is left behind. */
static size_t count_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    cr_assert_not_null(dir);
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

/* Send n descriptors of one pipe end past lp_fdpass_send, which would refuse more than 32. */
static void send_raw(int fd, size_t n)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(64 * sizeof(int))] = {0};
    char byte = 'x';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = CMSG_SPACE(n * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(n * sizeof(int));
    for (size_t i = 0; i < n; i++)
        memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(fd));
    cr_assert_eq(sendmsg(ends[0], &message, 0), 1);
}

static bool same_file(int a, int b)
{
    struct stat one, two;

    return fstat(a, &one) == 0 && fstat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

/* Bytes and as many descriptors as the limit allows arrive, in order and closed on exec. */
Test(base_fdpass, carries_bytes_and_descriptors)
{
    struct lp_fdset set;
    int sent_fds[LP_FDPASS_MAX];
    char data[8] = {0};
    size_t n = 0;

    for (size_t i = 0; i < LP_FDPASS_MAX; i++)
        sent_fds[i] = lp_sys_memfd_create("t", 0);
    cr_assert_eq(lp_fdpass_send(ends[0], "hello", 5, sent_fds, LP_FDPASS_MAX, &n, NULL), 0);
    cr_assert_eq(n, 5);
    cr_assert_eq(lp_fdpass_recv(ends[1], data, sizeof(data), &set, &n, NULL), 0);
    cr_assert_eq(n, 5);
    cr_assert_str_eq(data, "hello");
    cr_assert_eq(set.count, LP_FDPASS_MAX);
    for (size_t i = 0; i < set.count; i++) {
        cr_assert(same_file(set.fd[i], sent_fds[i]));
        cr_assert(fcntl(set.fd[i], F_GETFD) & FD_CLOEXEC);
        lp_sys_close(&sent_fds[i]);
    }
    lp_fdset_close(&set);
    cr_assert_eq(set.count, 0);
}

/* Bytes alone give an empty set. */
Test(base_fdpass, carries_bytes_alone)
{
    struct lp_fdset set = {.count = 5};
    char data[8];
    size_t n = 0;

    cr_assert_eq(lp_fdpass_send(ends[0], "x", 1, NULL, 0, &n, NULL), 0);
    cr_assert_eq(lp_fdpass_recv(ends[1], data, sizeof(data), &set, &n, NULL), 0);
    cr_assert(n == 1 && set.count == 0);
}

/* What the limit forbids is refused before anything leaves. */
Test(base_fdpass, refuses_to_send_too_many)
{
    struct lp_error err = LP_ERROR_INIT;
    int fds[LP_FDPASS_MAX + 1] = {0};
    size_t n = 77;

    cr_assert_eq(lp_fdpass_send(ends[0], "x", 1, fds, LP_FDPASS_MAX + 1, &n, &err), LP_EINVAL);
    cr_assert_eq(lp_fdpass_send(ends[0], "", 0, fds, 1, &n, &err), LP_EINVAL);
    cr_assert_eq(n, 77);
}

/* A peer that sends more than the limit costs the connection, and no descriptor stays open. */
Test(base_fdpass, closes_all_when_too_many_come)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_fdset set = {.count = 0};
    char data[8];
    size_t n = 77;

    send_raw(STDERR_FILENO, LP_FDPASS_MAX + 1);
    const size_t before = count_open();
    cr_assert_eq(lp_fdpass_recv(ends[1], data, sizeof(data), &set, &n, &err), LP_EPROTO);
    cr_assert_eq(count_open(), before);
    cr_assert(n == 77 && set.count == 0);
    cr_assert_not_null(strstr(err.text, "more than 32"));
}

/* Unwelcome descriptors are closed and the sender is at fault. */
Test(base_fdpass, closes_all_where_none_is_welcome)
{
    char data[8];
    size_t n = 77;

    send_raw(STDERR_FILENO, 3);
    const size_t before = count_open();
    cr_assert_eq(lp_fdpass_recv(ends[1], data, sizeof(data), NULL, &n, NULL), LP_EPROTO);
    cr_assert_eq(count_open(), before);
    cr_assert_eq(n, 77);
}

/* With no descriptor number free the kernel cuts the message: an error of its own, nothing kept. */
Test(base_fdpass, closes_all_at_the_descriptor_limit)
{
    struct lp_fdset set = {.count = 0};
    struct rlimit limit;
    char data[8];
    size_t n = 77;

    send_raw(STDERR_FILENO, 4);
    const int top = dup(STDERR_FILENO);
    cr_assert_geq(top, 0);
    cr_assert_eq(close(top), 0);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)top + 2;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(lp_fdpass_recv(ends[1], data, sizeof(data), &set, &n, NULL), LP_ELIMIT);
    cr_assert_eq(set.count, 0);
    /* The lowest free number is free again. */
    const int again = dup(STDERR_FILENO);
    cr_assert_eq(again, top);
    (void)close(again);
}

/* An orderly end and a send after it are both "the peer is gone". */
Test(base_fdpass, tells_that_the_peer_is_gone)
{
    char data[8];
    size_t n = 77;

    lp_sys_close(&ends[0]);
    cr_assert_eq(lp_fdpass_recv(ends[1], data, sizeof(data), NULL, &n, NULL), LP_ECONN);
    cr_assert_eq(lp_fdpass_send(ends[1], "x", 1, NULL, 0, &n, NULL), LP_ECONN);
    cr_assert_eq(n, 77);
}

/* A socket that does not block: nothing there and no room are both 0 bytes, not errors. */
Test(base_fdpass, nothing_to_do_is_zero_bytes)
{
    static char block[1 << 16];
    struct lp_fdset set = {.count = 3};
    size_t n = 77;
    int rc;

    cr_assert_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    cr_assert_eq(lp_fdpass_recv(ends[0], block, sizeof(block), &set, &n, NULL), 0);
    cr_assert(n == 0 && set.count == 0);
    do
        rc = lp_fdpass_send(ends[0], block, sizeof(block), NULL, 0, &n, NULL);
    while (rc == 0 && n > 0);
    cr_assert_eq(rc, 0);
}

/* Faults of the two calls come out as typed errors. */
Test(base_fdpass, faults_are_typed)
{
    struct fault_loop fault;
    char data[8];
    size_t n = 77;

    fault_arm(&fault, LP_FAULT_SEND, 1);
    cr_assert_eq(lp_fdpass_send(ends[0], "x", 1, NULL, 0, &n, NULL), LP_ECONN);
    fault_arm(&fault, LP_FAULT_RECV, 1);
    cr_assert_eq(lp_fdpass_recv(ends[1], data, sizeof(data), NULL, &n, NULL), LP_ECONN);
    fault_disarm();
    cr_assert_eq(n, 77);
}
