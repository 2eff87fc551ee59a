/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of one connection never end the daemon. Source: unix(7). */
#include "daemon/listener.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "daemon/conn.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTENER_ACCEPTS 16    /* per turn of the loop, so that clients get theirs */
#define LISTENER_RETRY_MS 100u /* pause where descriptors or memory ran out */

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
        const int fd = accept4(listener->socket.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
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

static int find_admin_group(struct lp_listener *listener, struct lp_error *err)
{
    const char *name = lp_conf_text(listener->daemon->config, LP_CONF_CONTROL_ADMIN_GROUP);
    int rc;

    if (name[0] == '\0')
        return 0;
    LP_TRY(rc, lp_daemon_find_group("control.admin_group", name, &listener->admin_gid, err));
    listener->has_admin_gid = true;
    return 0;
}

/* A group that was named must be there and be given; the default one is a convenience. */
/* --- Life --- */

static int watch(struct lp_listener *listener, struct lp_error *err)
{
    int rc = uv_poll_init(&listener->daemon->loop, &listener->poll, listener->socket.fd);

    listener->polling = rc == 0;
    if (rc == 0)
        rc = uv_poll_start(&listener->poll, UV_READABLE, on_poll);
    if (rc < 0)
        return lp_error_set(err, LP_EINTERNAL, "watch the control socket: %s", uv_strerror(rc));
    return 0;
}

int lp_daemon_listener_open(struct lp_listener *listener, struct lp_daemon *daemon,
                            struct lp_error *err)
{
    int rc;

    memset(listener, 0, sizeof(*listener));
    listener->daemon = daemon;
    listener->socket.fd = -1;
    lp_daemon_deadline_init(&listener->retry, on_retry);
    LP_TRY(rc, find_admin_group(listener, err));
    LP_TRY(rc, lp_daemon_listen_open(&listener->socket, daemon->config, err));
    rc = watch(listener, err);
    if (rc < 0)
        lp_daemon_listener_close(listener);
    return rc;
}

static void on_closed(uv_handle_t *handle)
{
    struct lp_listener *listener = LP_CONTAINER_OF(handle, struct lp_listener, poll);

    lp_sys_close(&listener->socket.fd);
}

void lp_daemon_listener_close(struct lp_listener *listener)
{
    if (listener->socket.fd < 0)
        return;
    lp_daemon_deadline_clear(&listener->retry);
    lp_daemon_listen_remove_file(&listener->socket);
    if (listener->polling)
        uv_close((uv_handle_t *)&listener->poll, on_closed);
    else
        lp_sys_close(&listener->socket.fd);
    listener->polling = false;
}
