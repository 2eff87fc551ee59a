/* SPDX-License-Identifier: Apache-2.0 */
/* Source: unix(7), sd_listen_fds(3). */
#include "daemon/listen_socket.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_BACKLOG 256
#define LISTEN_LOCK_S 3u      /* longest wait for another daemon that starts */
#define LISTEN_INHERITED_FD 3 /* SD_LISTEN_FDS_START */
#define LISTEN_SYSTEM_PATH "/run/lanepack/control.sock"

/* --- Groups --- */

int lp_daemon_find_group(const char *key, const char *name, gid_t *ret_gid, struct lp_error *err)
{
    const struct group *group = getgrnam(name);

    if (group == NULL)
        return lp_error_set(err, LP_ENAME, "%s: no group '%s'", key, name);
    *ret_gid = group->gr_gid;
    return 0;
}

static int set_group(const struct lp_listen_socket *listening, const struct lp_config *config,
                     struct lp_error *err)
{
    const char *name = lp_conf_text(config, LP_CONF_CONTROL_GROUP);
    const bool optional = lp_conf_is_default(config, LP_CONF_CONTROL_GROUP);
    gid_t gid;

    if (name[0] == '\0')
        return 0;
    const int rc = lp_daemon_find_group("control.group", name, &gid, err);
    if (rc < 0) {
        if (!optional)
            return rc;
        LP_LOG_INFO("listener", "no group '%s': the socket keeps this process's group", name);
        lp_error_clear(err);
        return 0;
    }
    if (chown(listening->path, (uid_t)-1, gid) != 0 && !optional)
        return lp_error_set_errno(err, LP_EPERM, errno, "control.group: give %s to group '%s'",
                                  listening->path, name);
    return 0;
}

/* --- Binding --- */

static int default_path(char *path, size_t room, struct lp_error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (geteuid() == 0) {
        (void)snprintf(path, room, "%s", LISTEN_SYSTEM_PATH);
        return 0;
    }
    if (runtime == NULL || runtime[0] != '/')
        return lp_error_set(err, LP_EINVAL,
                            "control.socket: XDG_RUNTIME_DIR is not set; name a path");
    const int n = snprintf(path, room, "%s/lanepack/control.sock", runtime);
    if (n < 0 || (size_t)n >= room)
        return lp_error_set(err, LP_ESIZE, "control.socket: XDG_RUNTIME_DIR is too long");
    return 0;
}

/* The folder of the default path is made where it is missing; any other must be there. */
static int choose_path(struct lp_listen_socket *listening, const struct lp_config *config,
                       struct lp_error *err)
{
    const char *path = lp_conf_text(config, LP_CONF_CONTROL_SOCKET);
    char folder[sizeof(listening->path)];
    int rc;

    if (strcmp(path, "auto") != 0) {
        if (path[0] != '/')
            return lp_error_set(err, LP_EINVAL, "control.socket: '%s' is no absolute path", path);
        (void)snprintf(listening->path, sizeof(listening->path), "%s", path);
        return 0;
    }
    LP_TRY(rc, default_path(listening->path, sizeof(listening->path), err));
    (void)snprintf(folder, sizeof(folder), "%s", listening->path);
    *strrchr(folder, '/') = '\0';
    if (mkdir(folder, geteuid() == 0 ? 0755 : 0700) != 0 && errno != EEXIST)
        return lp_error_set_errno(err, LP_EIO, errno, "make %s", folder);
    return 0;
}

static int new_socket(int *ret_fd, struct lp_error *err)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "make the control socket");
    *ret_fd = fd;
    return 0;
}

static struct sockaddr_un address_of(const struct lp_listen_socket *listening)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, listening->path, sizeof(address.sun_path));
    return address;
}

/* Remove a socket file that a daemon left behind; anything that is alive or no socket stays. */
static int remove_stale(const struct lp_listen_socket *listening, struct lp_error *err)
{
    const struct sockaddr_un address = address_of(listening);
    struct stat info;
    int fd;
    int rc;

    if (lstat(listening->path, &info) != 0)
        return errno == ENOENT
                   ? 0
                   : lp_error_set_errno(err, LP_EIO, errno, "control.socket: %s", listening->path);
    if (!S_ISSOCK(info.st_mode))
        return lp_error_set(err, LP_EEXIST, "control.socket: %s exists and is no socket",
                            listening->path);
    LP_TRY(rc, new_socket(&fd, err));
    const bool dead = connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 &&
                      errno == ECONNREFUSED;
    lp_sys_close(&fd);
    if (!dead)
        return lp_error_set(err, LP_EBUSY, "control.socket: a daemon listens at %s",
                            listening->path);
    if (unlink(listening->path) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "control.socket: remove stale %s",
                                  listening->path);
    LP_LOG_INFO("listener", "removed stale socket %s", listening->path);
    return 0;
}

/* Nobody but us can connect until mode and group are set: the file is made with mode 0600. */
static int bind_file(struct lp_listen_socket *listening, const struct lp_config *config,
                     struct lp_error *err)
{
    const struct sockaddr_un address = address_of(listening);
    const mode_t mode = (mode_t)lp_conf_number(config, LP_CONF_CONTROL_MODE);
    struct stat info;
    int rc;

    const mode_t before = umask(0177);
    const int failed = bind(listening->fd, (const struct sockaddr *)&address, sizeof(address));
    const int errnum = errno;
    (void)umask(before);
    if (failed != 0)
        return lp_error_set_errno(err, LP_EIO, errnum, "control.socket: bind %s", listening->path);
    if (lstat(listening->path, &info) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "control.socket: %s", listening->path);
    listening->dev = info.st_dev;
    listening->ino = info.st_ino;
    LP_TRY(rc, set_group(listening, config, err));
    if (chmod(listening->path, mode) != 0)
        return lp_error_set_errno(err, LP_EPERM, errno, "control.mode: %s", listening->path);
    if (listen(listening->fd, LISTEN_BACKLOG) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "listen at %s", listening->path);
    return 0;
}

/* Whoever may read the folder may lock it, and keep it locked: hence no wait without an end. */
static int lock_folder(int dir, const char *folder, struct lp_error *err)
{
    const struct timespec pause = {.tv_nsec = 10 * LP_NS_PER_MS};
    const uint64_t deadline_ns = lp_clock_deadline_ns(LISTEN_LOCK_S * LP_NS_PER_S);

    while (flock(dir, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return lp_error_set_errno(err, LP_EIO, errno, "control.socket: lock %s", folder);
        if (lp_clock_now_ns() > deadline_ns)
            return lp_error_set(err, LP_EBUSY,
                                "control.socket: another process keeps %s locked (flock)", folder);
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

/* Two daemons that start at once take turns by a lock on the folder. */
static int bind_locked(struct lp_listen_socket *listening, const struct lp_config *config,
                       struct lp_error *err)
{
    char folder[sizeof(listening->path)];
    int rc;

    (void)snprintf(folder, sizeof(folder), "%s", listening->path);
    char *slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    int dir = lp_sys_open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "control.socket: folder %s", folder);
    rc = lock_folder(dir, folder, err);
    if (rc == 0)
        rc = remove_stale(listening, err);
    if (rc == 0)
        rc = bind_file(listening, config, err);
    lp_sys_close(&dir);
    return rc;
}

/* --- Inheriting --- */

/* Is fd a listening UNIX stream socket? Its name comes into path, of 108 bytes. */
static bool is_listening(int fd, char *path)
{
    struct sockaddr_un address = {0};
    socklen_t address_bytes = sizeof(address) - 1;
    socklen_t bytes = sizeof(int);
    int accepts = 0, type = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &bytes) != 0 || accepts == 0)
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM)
        return false;
    if (getsockname(fd, (struct sockaddr *)&address, &address_bytes) != 0 ||
        address.sun_family != AF_UNIX)
        return false;
    memcpy(path, address.sun_path, sizeof(address.sun_path));
    return true;
}

/* How many sockets were passed to this process; -1: not a number. */
static int count_passed(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    int n = 0;

    if (pid != NULL && count != NULL && strtol(pid, NULL, 10) == (long)getpid())
        n = strcmp(count, "0") == 0 ? 0 : strcmp(count, "1") == 0 ? 1 : -1;
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return n;
}

/* 1: a socket was passed and is taken over; 0: none was. */
static int inherit(struct lp_listen_socket *listening, struct lp_error *err)
{
    const int fd = LISTEN_INHERITED_FD;
    const int n = count_passed();

    if (n == 0)
        return 0;
    if (n < 0)
        return lp_error_set(err, LP_EINVAL, "LISTEN_FDS: exactly one socket is expected");
    if (!is_listening(fd, listening->path))
        return lp_error_set(err, LP_EINVAL,
                            "LISTEN_FDS: descriptor %d is no listening UNIX stream socket", fd);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "LISTEN_FDS");
    listening->fd = fd;
    listening->inherited = true;
    return 1;
}

/* --- Life --- */

static int open_one(struct lp_listen_socket *listening, const struct lp_config *config,
                    struct lp_error *err)
{
    int rc;

    LP_TRY(rc, inherit(listening, err));
    if (rc == 1)
        return 0;
    LP_TRY(rc, choose_path(listening, config, err));
    LP_TRY(rc, new_socket(&listening->fd, err));
    return bind_locked(listening, config, err);
}

int lp_daemon_listen_open(struct lp_listen_socket *listening, const struct lp_config *config,
                          struct lp_error *err)
{
    memset(listening, 0, sizeof(*listening));
    listening->fd = -1;
    const int rc = open_one(listening, config, err);
    if (rc < 0) {
        lp_daemon_listen_remove_file(listening);
        lp_sys_close(&listening->fd);
    }
    return rc;
}

/* Only the file that was bound here: another daemon may have put its own in its place. */
void lp_daemon_listen_remove_file(struct lp_listen_socket *listening)
{
    struct stat info;

    if (listening->inherited || listening->ino == 0)
        return;
    if (lstat(listening->path, &info) == 0 && info.st_dev == listening->dev &&
        info.st_ino == listening->ino)
        (void)unlink(listening->path);
    listening->ino = 0;
}
