/* SPDX-License-Identifier: Apache-2.0 */
/* Source: unix(7), sd_listen_fds(3). Errors of one connection never end the daemon. */
#include "daemon/listener.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "daemon/conn.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTENER_BACKLOG 256
#define LISTENER_ACCEPTS 16     /* per turn of the loop, so that clients get theirs */
#define LISTENER_RETRY_MS 100u  /* pause where descriptors or memory ran out */
#define LISTENER_INHERITED_FD 3 /* SD_LISTEN_FDS_START */
#define LISTENER_SYSTEM_PATH "/run/lanepack/control.sock"

/* --- Peers --- */

/* Supplementary groups at the time of connecting; false also where the kernel cannot say. */
static bool has_group(int fd, gid_t wanted)
{
    socklen_t bytes = 0;
    bool found = false;

    (void)getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &bytes);
    gid_t *groups = lp_mem_alloc(bytes);
    if (groups != NULL && bytes > 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) == 0) {
        for (size_t i = 0; i < bytes / sizeof(*groups); i++)
            found = found || groups[i] == wanted;
    }
    lp_mem_free(groups);
    return found;
}

static int read_peer(const struct lp_listener *listener, int fd, struct lp_peer *ret_peer,
                     struct lp_error *err)
{
    struct ucred cred;
    socklen_t bytes = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "credentials of a peer");
    ret_peer->pid = cred.pid;
    ret_peer->uid = cred.uid;
    ret_peer->gid = cred.gid;
    ret_peer->admin = cred.uid == 0 || cred.uid == geteuid() ||
                      (listener->has_admin_gid &&
                       (cred.gid == listener->admin_gid || has_group(fd, listener->admin_gid)));
    return 0;
}

/* --- Accepting --- */

/* One line, as far as the fresh socket takes it, then closed. */
static void turn_away(int fd, uint64_t limit)
{
    char line[LP_PROTO_ERROR_LINE_BYTES];
    struct lp_error error = LP_ERROR_INIT;

    (void)lp_error_set(&error, LP_ELIMIT, "control.max_clients: %llu are connected",
                       (unsigned long long)limit);
    const size_t bytes = lp_proto_error_emit(NULL, &error, line);
    (void)send(fd, line, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    lp_sys_close(&fd);
}

static void serve(struct lp_listener *listener, int fd)
{
    struct lp_daemon *daemon = listener->daemon;
    const uint64_t limit = lp_conf_number(daemon->config, LP_CONF_CONTROL_MAX_CLIENTS);
    struct lp_error err = LP_ERROR_INIT;
    struct lp_peer peer;

    if (daemon->n_conns >= limit) {
        LP_LOG_WARN("listener", "a client was turned away: control.max_clients is %llu",
                    (unsigned long long)limit);
        turn_away(fd, limit);
        return;
    }
    if (read_peer(listener, fd, &peer, &err) < 0) {
        lp_sys_close(&fd);
        LP_LOG_WARN("listener", "%s", err.text);
        return;
    }
    if (lp_daemon_conn_open(daemon, fd, &peer, &err) < 0)
        LP_LOG_WARN("listener", "%s", err.text);
}

static void on_poll(uv_poll_t *handle, int status, int events);

static void on_retry(struct lp_deadline *deadline)
{
    struct lp_listener *listener = LP_CONTAINER_OF(deadline, struct lp_listener, retry);

    if (listener->polling)
        (void)uv_poll_start(&listener->poll, UV_READABLE, on_poll);
}

/* The socket stays readable while the client waits, so accepting pauses instead of spinning. */
static void pause_accepting(struct lp_listener *listener, int errnum)
{
    LP_LOG_WARN("listener", "accept: %s; %u connections, next try in %u ms", strerror(errnum),
                listener->daemon->n_conns, LISTENER_RETRY_MS);
    (void)uv_poll_stop(&listener->poll);
    lp_daemon_deadline_set(&listener->daemon->deadlines, &listener->retry,
                           lp_clock_now_ns() + LISTENER_RETRY_MS * LP_NS_PER_MS);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct lp_listener *listener = LP_CONTAINER_OF(handle, struct lp_listener, poll);

    (void)status;
    (void)events;
    for (int i = 0; i < LISTENER_ACCEPTS; i++) {
        const int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            serve(listener, fd);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            pause_accepting(listener, errno);
        return;
    }
}

/* --- Groups --- */

static int find_group(const char *key, const char *name, gid_t *ret_gid, struct lp_error *err)
{
    errno = 0;
    const struct group *group = getgrnam(name);

    if (group == NULL)
        return lp_error_set(err, LP_ENAME, "%s: no group '%s'", key, name);
    *ret_gid = group->gr_gid;
    return 0;
}

static int find_admin_group(struct lp_listener *listener, struct lp_error *err)
{
    const char *name = lp_conf_text(listener->daemon->config, LP_CONF_CONTROL_ADMIN_GROUP);
    int rc;

    if (name[0] == '\0')
        return 0;
    LP_TRY(rc, find_group("control.admin_group", name, &listener->admin_gid, err));
    listener->has_admin_gid = true;
    return 0;
}

/* A group that was named must be there and be given; the default one is a convenience. */
static int set_group(const struct lp_listener *listener, struct lp_error *err)
{
    const struct lp_config *config = listener->daemon->config;
    const char *name = lp_conf_text(config, LP_CONF_CONTROL_GROUP);
    const bool optional = lp_conf_is_default(config, LP_CONF_CONTROL_GROUP);
    gid_t gid;

    if (name[0] == '\0')
        return 0;
    const int rc = find_group("control.group", name, &gid, err);
    if (rc < 0) {
        if (!optional)
            return rc;
        LP_LOG_INFO("listener", "no group '%s': the socket keeps this process's group", name);
        lp_error_clear(err);
        return 0;
    }
    if (chown(listener->path, (uid_t)-1, gid) != 0 && !optional)
        return lp_error_set_errno(err, LP_EPERM, errno, "control.group: give %s to group '%s'",
                                  listener->path, name);
    return 0;
}

/* --- Binding --- */

static int default_path(char *path, size_t room, struct lp_error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (geteuid() == 0) {
        (void)snprintf(path, room, "%s", LISTENER_SYSTEM_PATH);
        return 0;
    }
    if (runtime == NULL || runtime[0] != '/')
        return lp_error_set(err, LP_EINVAL,
                            "control.socket: XDG_RUNTIME_DIR is not set; name a "
                            "path");
    const int n = snprintf(path, room, "%s/lanepack/control.sock", runtime);
    if (n < 0 || (size_t)n >= room)
        return lp_error_set(err, LP_ESIZE, "control.socket: XDG_RUNTIME_DIR is too long");
    return 0;
}

/* The folder of the default path is made where it is missing; any other must be there. */
static int choose_path(struct lp_listener *listener, struct lp_error *err)
{
    const char *path = lp_conf_text(listener->daemon->config, LP_CONF_CONTROL_SOCKET);
    char folder[sizeof(listener->path)];
    int rc;

    if (strcmp(path, "auto") != 0) {
        if (path[0] != '/')
            return lp_error_set(err, LP_EINVAL, "control.socket: '%s' is no absolute path", path);
        (void)snprintf(listener->path, sizeof(listener->path), "%s", path);
        return 0;
    }
    LP_TRY(rc, default_path(listener->path, sizeof(listener->path), err));
    (void)snprintf(folder, sizeof(folder), "%s", listener->path);
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

static struct sockaddr_un address_of(const struct lp_listener *listener)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, listener->path, sizeof(address.sun_path));
    return address;
}

/* Remove a socket file that a daemon left behind; anything that is alive or no socket stays. */
static int remove_stale(const struct lp_listener *listener, struct lp_error *err)
{
    const struct sockaddr_un address = address_of(listener);
    struct stat info;
    int fd;
    int rc;

    if (lstat(listener->path, &info) != 0)
        return errno == ENOENT
                   ? 0
                   : lp_error_set_errno(err, LP_EIO, errno, "control.socket: %s", listener->path);
    if (!S_ISSOCK(info.st_mode))
        return lp_error_set(err, LP_EEXIST, "control.socket: %s exists and is no socket",
                            listener->path);
    LP_TRY(rc, new_socket(&fd, err));
    const bool dead = connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 &&
                      errno == ECONNREFUSED;
    lp_sys_close(&fd);
    if (!dead)
        return lp_error_set(err, LP_EBUSY, "control.socket: a daemon listens at %s",
                            listener->path);
    if (unlink(listener->path) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "control.socket: remove stale %s",
                                  listener->path);
    LP_LOG_INFO("listener", "removed stale socket %s", listener->path);
    return 0;
}

/* Nobody but us can connect until mode and group are set: the file is made with mode 0600. */
static int bind_file(struct lp_listener *listener, struct lp_error *err)
{
    const struct sockaddr_un address = address_of(listener);
    const mode_t mode = (mode_t)lp_conf_number(listener->daemon->config, LP_CONF_CONTROL_MODE);
    struct stat info;
    int rc;

    const mode_t before = umask(0177);
    const int failed = bind(listener->fd, (const struct sockaddr *)&address, sizeof(address));
    const int errnum = errno;
    (void)umask(before);
    if (failed != 0)
        return lp_error_set_errno(err, LP_EIO, errnum, "control.socket: bind %s", listener->path);
    if (lstat(listener->path, &info) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "control.socket: %s", listener->path);
    listener->dev = info.st_dev;
    listener->ino = info.st_ino;
    LP_TRY(rc, set_group(listener, err));
    if (chmod(listener->path, mode) != 0)
        return lp_error_set_errno(err, LP_EPERM, errno, "control.mode: %s", listener->path);
    if (listen(listener->fd, LISTENER_BACKLOG) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "listen at %s", listener->path);
    return 0;
}

/* Two daemons that start at once take turns by a lock on the folder. */
static int bind_locked(struct lp_listener *listener, struct lp_error *err)
{
    char folder[sizeof(listener->path)];
    int rc;

    (void)snprintf(folder, sizeof(folder), "%s", listener->path);
    char *slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    int dir = lp_sys_open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "control.socket: folder %s", folder);
    if (flock(dir, LOCK_EX) != 0) {
        rc = lp_error_set_errno(err, LP_EIO, errno, "control.socket: lock %s", folder);
    } else {
        rc = remove_stale(listener, err);
        if (rc == 0)
            rc = bind_file(listener, err);
    }
    lp_sys_close(&dir);
    return rc;
}

/* --- Inheriting --- */

/* 1: a socket was passed and is taken over; 0: none was. */
static int inherit(struct lp_listener *listener, struct lp_error *err)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    const bool ours = pid != NULL && count != NULL && strtol(pid, NULL, 10) == (long)getpid();
    const bool one = ours && strcmp(count, "1") == 0;
    struct sockaddr_un address = {0};
    socklen_t address_bytes = sizeof(address) - 1;
    int listening = 0, type = 0;
    socklen_t bytes = sizeof(int);

    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    if (!ours || strcmp(count, "0") == 0)
        return 0;
    if (!one)
        return lp_error_set(err, LP_EINVAL, "LISTEN_FDS: one socket is expected, not '%.16s'",
                            count);
    const int fd = LISTENER_INHERITED_FD;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes) != 0 || listening == 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM ||
        getsockname(fd, (struct sockaddr *)&address, &address_bytes) != 0 ||
        address.sun_family != AF_UNIX)
        return lp_error_set(err, LP_EINVAL,
                            "LISTEN_FDS: descriptor %d is no listening UNIX stream "
                            "socket",
                            fd);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "LISTEN_FDS");
    listener->fd = fd;
    listener->inherited = true;
    (void)snprintf(listener->path, sizeof(listener->path), "%s", address.sun_path);
    return 1;
}

/* --- Life --- */

static int open_socket(struct lp_listener *listener, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, inherit(listener, err));
    if (rc == 1)
        return 0;
    LP_TRY(rc, choose_path(listener, err));
    LP_TRY(rc, new_socket(&listener->fd, err));
    return bind_locked(listener, err);
}

int lp_daemon_listener_open(struct lp_listener *listener, struct lp_daemon *daemon,
                            struct lp_error *err)
{
    int rc;

    memset(listener, 0, sizeof(*listener));
    listener->daemon = daemon;
    listener->fd = -1;
    lp_daemon_deadline_init(&listener->retry, on_retry);
    LP_TRY_GOTO(rc, find_admin_group(listener, err), close);
    LP_TRY_GOTO(rc, open_socket(listener, err), close);
    rc = uv_poll_init(&daemon->loop, &listener->poll, listener->fd);
    if (rc < 0) {
        rc = lp_error_set(err, LP_EINTERNAL, "watch the control socket: %s", uv_strerror(rc));
        goto close;
    }
    listener->polling = true;
    rc = uv_poll_start(&listener->poll, UV_READABLE, on_poll);
    if (rc < 0) {
        rc = lp_error_set(err, LP_EINTERNAL, "watch the control socket: %s", uv_strerror(rc));
        goto close;
    }
    return 0;

close:
    lp_daemon_listener_close(listener);
    return rc;
}

/* Only the file that was bound here: another daemon may have put its own in its place. */
static void remove_file(const struct lp_listener *listener)
{
    struct stat info;

    if (listener->inherited || listener->ino == 0)
        return;
    if (lstat(listener->path, &info) == 0 && info.st_dev == listener->dev &&
        info.st_ino == listener->ino)
        (void)unlink(listener->path);
}

static void on_closed(uv_handle_t *handle)
{
    struct lp_listener *listener = LP_CONTAINER_OF(handle, struct lp_listener, poll);

    lp_sys_close(&listener->fd);
}

void lp_daemon_listener_close(struct lp_listener *listener)
{
    if (listener->fd < 0)
        return;
    lp_daemon_deadline_clear(&listener->retry);
    remove_file(listener);
    listener->ino = 0;
    if (listener->polling)
        uv_close((uv_handle_t *)&listener->poll, on_closed);
    else
        lp_sys_close(&listener->fd);
    listener->polling = false;
}
