/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/sys.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/tmpdir.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

/* Files are opened CLOEXEC; the whole range is written and read back, and the end is seen. */
Test(base_sys, reads_and_writes_whole_ranges)
{
    struct tmpdir dir;
    char path[PATH_MAX], data[8] = {0};

    tmpdir_init(&dir);
    int fd = lp_sys_open(tmpdir_join(&dir, "f", path, sizeof(path)), O_RDWR | O_CREAT, 0600);
    cr_assert_geq(fd, 0);
    cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    cr_assert_eq(lp_sys_pwrite_all(fd, "abcdef", 6, 2), 6);
    cr_assert_eq(lp_sys_pread_all(fd, data, sizeof(data), 4), 4);
    cr_assert_str_eq(data, "cdef");
    lp_sys_close(&fd);
    cr_assert_eq(fd, -1);
    lp_sys_close(&fd);
    tmpdir_fini(&dir);
}

/* Each wrapper fails as its call would when its site is armed, and works afterwards. */
Test(base_sys, each_site_fails_as_its_call)
{
    struct fault_loop fault;
    char byte = 0;

    fault_arm(&fault, LP_FAULT_MEMFD, 1);
    cr_assert(lp_sys_memfd_create("t", MFD_ALLOW_SEALING) == -1 && errno == EMFILE);
    int fd = lp_sys_memfd_create("t", MFD_ALLOW_SEALING);
    cr_assert_geq(fd, 0);
    fault_arm(&fault, LP_FAULT_FTRUNCATE, 1);
    cr_assert(lp_sys_ftruncate(fd, 4096) == -1 && errno == ENOSPC);
    cr_assert_eq(lp_sys_ftruncate(fd, 4096), 0);
    fault_arm(&fault, LP_FAULT_MMAP, 1);
    cr_assert_eq(lp_sys_mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
    void *map = lp_sys_mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    cr_assert_neq(map, MAP_FAILED);
    fault_arm(&fault, LP_FAULT_MLOCK, 1);
    cr_assert(lp_sys_mlock(map, 4096) == -1 && errno == ENOMEM);
    fault_arm(&fault, LP_FAULT_SEAL, 1);
    cr_assert(lp_sys_add_seals(fd, F_SEAL_GROW) == -1 && errno == EBUSY);
    cr_assert_eq(lp_sys_add_seals(fd, F_SEAL_GROW), 0);
    fault_arm(&fault, LP_FAULT_READ, 1);
    cr_assert(lp_sys_pread_all(fd, &byte, 1, 0) == -1 && errno == EIO);
    fault_arm(&fault, LP_FAULT_WRITE, 1);
    cr_assert(lp_sys_pwrite_all(fd, &byte, 1, 0) == -1 && errno == ENOSPC);
    fault_arm(&fault, LP_FAULT_OPEN, 1);
    cr_assert(lp_sys_open("/", O_RDONLY, 0) == -1 && errno == EMFILE);
    fault_disarm();
    cr_assert_eq(munmap(map, 4096), 0);
    lp_sys_close(&fd);
}

static void *read_mask(void *arg)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, arg);
    return arg;
}

/* Threads start with every signal blocked, and the creator's mask is as before. */
Test(base_sys, threads_block_signals)
{
    struct fault_loop fault;
    sigset_t in_thread, here;
    pthread_t thread;

    fault_arm(&fault, LP_FAULT_THREAD, 1);
    cr_assert_eq(lp_sys_thread_create(&thread, read_mask, &in_thread), EAGAIN);
    fault_disarm();
    cr_assert_eq(lp_sys_thread_create(&thread, read_mask, &in_thread), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert(sigismember(&in_thread, SIGTERM));
    cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &here), 0);
    cr_assert_not(sigismember(&here, SIGTERM));
}

/* Time moves forward, and "never" stays never. */
Test(base_clock, deadlines_saturate)
{
    const uint64_t now = lp_clock_now_ns();

    cr_assert_geq(lp_clock_deadline_ns(LP_NS_PER_MS), now + LP_NS_PER_MS);
    cr_assert_eq(lp_clock_deadline_ns(UINT64_MAX), UINT64_MAX);
    cr_assert_eq(lp_clock_deadline_ns(UINT64_MAX - 1), UINT64_MAX);
}
