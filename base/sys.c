/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call with the failure that a test may ask for. */
#include "base/sys.h"

#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* True, with errno set, when a test wants this call to fail. */
static bool fails(enum lp_fault_site site, int errnum)
{
    if (!lp_fault(site))
        return false;
    errno = errnum;
    return true;
}

int lp_sys_memfd_create(const char *name, unsigned int flags)
{
    if (fails(LP_FAULT_MEMFD, EMFILE))
        return -1;
    return memfd_create(name, flags | MFD_CLOEXEC);
}

int lp_sys_ftruncate(int fd, off_t bytes)
{
    int rc;

    if (fails(LP_FAULT_FTRUNCATE, ENOSPC))
        return -1;
    do
        rc = ftruncate(fd, bytes);
    while (rc < 0 && errno == EINTR);
    return rc;
}

void *lp_sys_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    if (fails(LP_FAULT_MMAP, ENOMEM))
        return MAP_FAILED;
    return mmap(addr, bytes, prot, flags, fd, offset);
}

int lp_sys_mlock(const void *addr, size_t bytes)
{
    if (fails(LP_FAULT_MLOCK, ENOMEM))
        return -1;
    return mlock(addr, bytes);
}

int lp_sys_add_seals(int fd, unsigned int seals)
{
    if (fails(LP_FAULT_SEAL, EBUSY))
        return -1;
    return fcntl(fd, F_ADD_SEALS, seals);
}

ssize_t lp_sys_sendmsg(int sock, const struct msghdr *message, int flags)
{
    ssize_t rc;

    if (fails(LP_FAULT_SEND, EPIPE))
        return -1;
    do
        rc = sendmsg(sock, message, flags | MSG_NOSIGNAL);
    while (rc < 0 && errno == EINTR);
    return rc;
}

ssize_t lp_sys_recvmsg(int sock, struct msghdr *message, int flags)
{
    ssize_t rc;

    if (fails(LP_FAULT_RECV, ECONNRESET))
        return -1;
    do
        rc = recvmsg(sock, message, flags | MSG_CMSG_CLOEXEC);
    while (rc < 0 && errno == EINTR);
    return rc;
}

int lp_sys_open(const char *path, int flags, mode_t mode)
{
    int fd;

    if (fails(LP_FAULT_OPEN, EMFILE))
        return -1;
    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

ssize_t lp_sys_pread(int fd, void *data, size_t bytes, off_t offset)
{
    ssize_t rc;

    if (fails(LP_FAULT_READ, EIO))
        return -1;
    do
        rc = pread(fd, data, bytes, offset);
    while (rc < 0 && errno == EINTR);
    return rc;
}

ssize_t lp_sys_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    ssize_t rc;

    if (fails(LP_FAULT_WRITE, ENOSPC))
        return -1;
    do
        rc = pwrite(fd, data, bytes, offset);
    while (rc < 0 && errno == EINTR);
    return rc;
}

ssize_t lp_sys_pread_all(int fd, void *data, size_t bytes, off_t offset)
{
    size_t done = 0;

    while (done < bytes) {
        const ssize_t rc =
            lp_sys_pread(fd, (char *)data + done, bytes - done, offset + (off_t)done);
        if (rc < 0)
            return -1;
        if (rc == 0)
            break;
        done += (size_t)rc;
    }
    return (ssize_t)done;
}

ssize_t lp_sys_pwrite_all(int fd, const void *data, size_t bytes, off_t offset)
{
    size_t done = 0;

    while (done < bytes) {
        const ssize_t rc =
            lp_sys_pwrite(fd, (const char *)data + done, bytes - done, offset + (off_t)done);
        if (rc < 0)
            return -1;
        if (rc == 0) {
            errno = ENOSPC;
            return -1;
        }
        done += (size_t)rc;
    }
    return (ssize_t)done;
}

int lp_sys_thread_create(pthread_t *ret_thread, void *(*main)(void *), void *arg)
{
    sigset_t all, before;

    if (lp_fault(LP_FAULT_THREAD))
        return EAGAIN;
    /* A new thread inherits the mask, so it is narrowed around the creation. */
    (void)sigfillset(&all);
    int rc = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (rc != 0)
        return rc;
    rc = pthread_create(ret_thread, NULL, main, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void lp_sys_close(int *fd)
{
    const int saved = errno;

    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
    errno = saved;
}
