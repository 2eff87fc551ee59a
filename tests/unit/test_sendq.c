/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/fdpass.h"
#include "base/sys.h"
#include "daemon/sendq.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static struct lp_sendq queue;

static void setup(void)
{
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    lp_daemon_sendq_init(&queue);
}

static void teardown(void)
{
    lp_daemon_sendq_fini(&queue);
    lp_sys_close(&ends[0]);
    lp_sys_close(&ends[1]);
}

TestSuite(daemon_sendq, .init = setup, .fini = teardown);

static int put(size_t bytes, char fill, const int *fds, size_t n_fds)
{
    char *line = malloc(bytes);

    memset(line, fill, bytes);
    char *ours = lp_mem_alloc(bytes);
    if (ours != NULL)
        memcpy(ours, line, bytes);
    free(line);
    return ours == NULL ? LP_ENOMEM
                        : lp_daemon_sendq_put_take(&queue, ours, bytes, fds, n_fds, NULL);
}

/* Lines larger than the socket's buffer leave piece by piece, in order, and nothing is lost. */
Test(daemon_sendq, sends_as_the_socket_takes_it)
{
    static char buffer[1 << 16];
    size_t got[2] = {0, 0};
    bool sent;

    cr_assert_eq(put(3 << 20, 'a', NULL, 0), 0);
    cr_assert_eq(put(1000, 'b', NULL, 0), 0);
    cr_assert_eq(queue.bytes, (3 << 20) + 1000);
    while (queue.bytes > 0) {
        cr_assert_eq(lp_daemon_sendq_flush(&queue, ends[0], &sent, NULL), 0);
        for (ssize_t n = 1; n > 0;) {
            n = recv(ends[1], buffer, sizeof(buffer), 0);
            for (ssize_t i = 0; i < n; i++)
                got[buffer[i] - 'a']++;
        }
    }
    cr_assert_eq(got[0], 3 << 20);
    cr_assert_eq(got[1], 1000);
    cr_assert_eq(lp_daemon_sendq_flush(&queue, ends[0], &sent, NULL), 0);
    cr_assert_not(sent);
    ASSERT_NO_LEAK();
}

/* A descriptor that its owner closes after the put still arrives, once. */
Test(daemon_sendq, keeps_descriptors_until_they_are_sent)
{
    struct lp_fdset fds;
    size_t received;
    char buffer[16];
    bool sent;

    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_eq(put(8, 'a', &fd, 1), 0);
    lp_sys_close(&fd);
    cr_assert_eq(lp_daemon_sendq_flush(&queue, ends[0], &sent, NULL), 0);
    cr_assert(sent);
    cr_assert_eq(lp_fdpass_recv(ends[1], buffer, sizeof(buffer), &fds, &received, NULL), 0);
    cr_assert_eq(fds.count, 1);
    cr_assert_eq(received, 8);
    lp_fdset_close(&fds);
}

/* What never left goes with the queue, descriptors included; a dead peer is an error, no signal. */
Test(daemon_sendq, ends_with_lines_left)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int fds[] = {fd, fd, fd};
    struct lp_error err = LP_ERROR_INIT;
    bool sent;

    cr_assert_eq(put(8, 'a', fds, 3), 0);
    lp_sys_close(&ends[1]);
    cr_assert_eq(lp_daemon_sendq_flush(&queue, ends[0], &sent, &err), LP_ECONN);
    lp_daemon_sendq_fini(&queue);
    const int next = dup(fd);
    cr_assert_leq(next, fd + 2, "descriptors stayed open: the next is %d", next);
    (void)close(next);
    (void)close(fd);
    ASSERT_NO_LEAK();
}

/* Failing allocations and sends are reported and leave nothing behind. */
Test(daemon_sendq, survives_failures)
{
    struct fault_loop loop;
    bool sent;

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = put(8, 'a', NULL, 0);
        cr_assert_eq(rc, fault_loop_hit(&loop) ? LP_ENOMEM : 0);
    }
    FAULT_LOOP(&loop, LP_FAULT_SEND) {
        const int rc = lp_daemon_sendq_flush(&queue, ends[0], &sent, NULL);
        cr_assert_eq(rc < 0, fault_loop_hit(&loop));
    }
    cr_assert_eq(queue.bytes, 0);
    ASSERT_NO_LEAK();
}
