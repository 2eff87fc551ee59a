/* SPDX-License-Identifier: Apache-2.0 */
/* Risky system calls behind their fault sites.
 *
 * Each takes and returns exactly what the call of the same name does (-1 and errno, MAP_FAILED,
 * or an error number for threads), except that a call interrupted by a signal is made again and
 * every new descriptor is CLOEXEC. */
#ifndef LP_BASE_SYS_H
#define LP_BASE_SYS_H

#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* flags: MFD_*; MFD_CLOEXEC is added. Returns a new descriptor or -1. LP_FAULT_MEMFD. */
int lp_sys_memfd_create(const char *name, unsigned int flags);

/* LP_FAULT_FTRUNCATE. */
int lp_sys_ftruncate(int fd, off_t bytes);

/* Returns MAP_FAILED on failure. LP_FAULT_MMAP. */
void *lp_sys_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset);

/* LP_FAULT_MLOCK. */
int lp_sys_mlock(const void *addr, size_t bytes);

/* fcntl(fd, F_ADD_SEALS, seals). LP_FAULT_SEAL. */
int lp_sys_add_seals(int fd, unsigned int seals);

/* MSG_NOSIGNAL is added: a peer that is gone gives EPIPE, no signal. LP_FAULT_SEND. */
ssize_t lp_sys_sendmsg(int sock, const struct msghdr *message, int flags);

/* MSG_CMSG_CLOEXEC is added. LP_FAULT_RECV. */
ssize_t lp_sys_recvmsg(int sock, struct msghdr *message, int flags);

/* O_CLOEXEC is added; mode counts only with O_CREAT. LP_FAULT_OPEN. */
int lp_sys_open(const char *path, int flags, mode_t mode);

/* One call each; may be short. LP_FAULT_READ, LP_FAULT_WRITE. */
ssize_t lp_sys_pread(int fd, void *data, size_t bytes, off_t offset);
ssize_t lp_sys_pwrite(int fd, const void *data, size_t bytes, off_t offset);

/* As above, repeated until all bytes are done. Read: returns bytes read, less than asked for only
 * at the end of the file. Write: returns bytes, or -1 (a write of nothing counts as ENOSPC). */
ssize_t lp_sys_pread_all(int fd, void *data, size_t bytes, off_t offset);
ssize_t lp_sys_pwrite_all(int fd, const void *data, size_t bytes, off_t offset);

/* Returns 0 or an error number, as pthread_create does. The thread blocks every signal, so that
 * those of the process stay with the thread that waits for them. LP_FAULT_THREAD. */
int lp_sys_thread_create(pthread_t *ret_thread, void *(*main)(void *), void *arg);

/* Close *fd unless it is negative, and set it to -1; errno stays as it was. */
void lp_sys_close(int *fd);

#endif
