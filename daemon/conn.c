/* SPDX-License-Identifier: Apache-2.0 */
/* A non-blocking socket under uv_poll: libuv's own pipes cannot carry memfds.
 *
 * Whatever happens ends in check(): it alone decides what to wait for next and whether the
 * connection is finished. */
#include "daemon/conn.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "base/sys.h"
#include "daemon/daemon.h"
#include "daemon/dispatch.h"
#include "daemon/request.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define CONN_READ_BYTES 4096u  /* at least free before a read, up to the limit of a line */
#define CONN_KEEP_BYTES 65536u /* a larger buffer does not outlive the line that needed it */

static void check(struct lp_conn *conn);

/* --- The end --- */

static void on_closed(uv_handle_t *handle)
{
    struct lp_conn *conn = LP_CONTAINER_OF(handle, struct lp_conn, poll);
    struct lp_daemon *daemon = conn->daemon;

    lp_sys_close(&conn->fd);
    lp_daemon_sendq_fini(&conn->out);
    lp_mem_free(conn->in);
    lp_mem_free(conn);
    lp_daemon_check_end(daemon);
}

/* Leaving `open`: all that the connection held ends now. */
static void end_owner(struct lp_conn *conn)
{
    struct lp_daemon *daemon = conn->daemon;
    struct lp_store_state before, after;

    lp_daemon_deadline_clear(&conn->hello_deadline);
    lp_daemon_deadline_clear(&conn->line_deadline);
    lp_daemon_request_abandon_all(conn);
    lp_store_get_state(daemon->store, &before);
    lp_store_owner_end(daemon->store, conn->owner);
    lp_store_get_state(daemon->store, &after);
    if (after.n_unsealed < before.n_unsealed || after.arena_bytes < before.arena_bytes) {
        daemon->stats.client_deaths++;
        LP_LOG_INFO("conn",
                    "client %s (pid %d, uid %u) left %llu unsealed objects, %llu bytes of "
                    "arenas; taken back",
                    conn->client, (int)conn->peer.pid, (unsigned)conn->peer.uid,
                    (unsigned long long)(before.n_unsealed - after.n_unsealed),
                    (unsigned long long)(before.arena_bytes - after.arena_bytes));
    }
    lp_daemon_pool_changed(daemon);
}

void lp_daemon_conn_close(struct lp_conn *conn, const char *why)
{
    if (conn->state == LP_CONN_CLOSED)
        return;
    LP_LOG_DEBUG("conn", "client %s (pid %d, uid %u) closed: %s", conn->client, (int)conn->peer.pid,
                 (unsigned)conn->peer.uid, why);
    if (conn->state == LP_CONN_OPEN)
        end_owner(conn);
    conn->state = LP_CONN_CLOSED;
    lp_daemon_deadline_clear(&conn->stall_deadline);
    lp_list_remove(&conn->link);
    conn->daemon->n_conns--;
    uv_close((uv_handle_t *)&conn->poll, on_closed);
}

void lp_daemon_conn_drain(struct lp_conn *conn)
{
    if (conn->state != LP_CONN_OPEN)
        return;
    end_owner(conn);
    conn->state = LP_CONN_DRAINING;
    if (lp_daemon_deadline_is_set(&conn->stall_deadline) && conn->daemon->ending)
        lp_daemon_deadline_set(&conn->daemon->deadlines, &conn->stall_deadline,
                               lp_clock_now_ns() + LP_CONN_STALL_ENDING_S * LP_NS_PER_S);
    check(conn);
}

/* A failure of the peer or of its socket; err has been set. */
static void close_for(struct lp_conn *conn, const struct lp_error *error)
{
    lp_daemon_conn_close(conn, error->text);
}

/* --- Sending --- */

static void set_stall_deadline(struct lp_conn *conn)
{
    const uint64_t seconds = conn->daemon->ending ? LP_CONN_STALL_ENDING_S : LP_CONN_STALL_S;

    lp_daemon_deadline_set(&conn->daemon->deadlines, &conn->stall_deadline,
                           lp_clock_now_ns() + seconds * LP_NS_PER_S);
}

static void flush(struct lp_conn *conn)
{
    struct lp_error err = LP_ERROR_INIT;
    bool sent;

    if (lp_daemon_sendq_flush(&conn->out, conn->fd, &sent, &err) < 0) {
        close_for(conn, &err);
        return;
    }
    if (conn->out.bytes == 0)
        lp_daemon_deadline_clear(&conn->stall_deadline);
    else if (sent || !lp_daemon_deadline_is_set(&conn->stall_deadline))
        set_stall_deadline(conn);
}

void lp_daemon_conn_send_take(struct lp_conn *conn, char *line, size_t bytes, const int *fds,
                              size_t n_fds)
{
    struct lp_error err = LP_ERROR_INIT;

    if (conn->state == LP_CONN_CLOSED) {
        lp_mem_free(line);
        return;
    }
    if (lp_daemon_sendq_put_take(&conn->out, line, bytes, fds, n_fds, &err) < 0) {
        close_for(conn, &err);
        return;
    }
    flush(conn);
    check(conn);
}

void lp_daemon_conn_send_error(struct lp_conn *conn, const json_t *id, const struct lp_error *error)
{
    char line[LP_PROTO_ERROR_LINE_BYTES];
    size_t sent = 0;

    conn->daemon->stats.errors++;
    if (conn->state == LP_CONN_CLOSED)
        return;
    const size_t bytes = lp_proto_error_emit(id, error, line);
    if (conn->out.bytes == 0) {
        struct lp_error err = LP_ERROR_INIT;
        if (lp_fdpass_send(conn->fd, line, bytes, NULL, 0, &sent, &err) < 0) {
            close_for(conn, &err);
            return;
        }
    }
    if (sent == bytes)
        return;
    char *rest = lp_mem_alloc(bytes - sent);
    if (rest == NULL) {
        lp_daemon_conn_close(conn, "no memory to queue an answer");
        return;
    }
    memcpy(rest, line + sent, bytes - sent);
    lp_daemon_conn_send_take(conn, rest, bytes - sent, NULL, 0);
}

/* --- Reading --- */

static bool is_paused(const struct lp_conn *conn)
{
    return conn->daemon->ending || conn->n_waiting >= LP_CONN_WAITING_MAX ||
           conn->out.bytes > LP_CONN_UNSENT_MAX || conn->out.n_fds > LP_CONN_UNSENT_FDS_MAX;
}

static size_t line_limit(const struct lp_conn *conn)
{
    return (size_t)lp_conf_number(conn->daemon->config, LP_CONF_CONTROL_MAX_MESSAGE);
}

/* Answer a line that is too long or too slow, then read no more. */
static void refuse_line(struct lp_conn *conn, int code, const char *text)
{
    struct lp_error err = LP_ERROR_INIT;

    conn->daemon->stats.protocol_errors++;
    (void)lp_error_set(&err, code, "%s", text);
    lp_daemon_conn_send_error(conn, NULL, &err);
    conn->in_bytes = 0;
    lp_daemon_conn_drain(conn);
}

/* Dispatch the complete lines, as long as reading is not paused. Returns the bytes done with. */
static size_t dispatch_lines(struct lp_conn *conn)
{
    size_t done = 0;

    while (conn->state == LP_CONN_OPEN && !is_paused(conn)) {
        const size_t from = LP_MAX(done, conn->in_scanned);
        const char *newline = memchr(conn->in + from, '\n', conn->in_bytes - from);
        if (newline == NULL) {
            conn->in_scanned = conn->in_bytes;
            break;
        }
        const size_t line_bytes = (size_t)(newline - (conn->in + done)) + 1;
        lp_daemon_dispatch_line(conn, conn->in + done, line_bytes);
        done += line_bytes;
        conn->in_scanned = done;
    }
    return done;
}

/* Drop the first done bytes of the buffer, and the buffer if it is large and empty. */
static void consume(struct lp_conn *conn, size_t done)
{
    conn->in_bytes -= done;
    conn->in_scanned -= LP_MIN(conn->in_scanned, done);
    if (conn->in_bytes > 0) {
        memmove(conn->in, conn->in + done, conn->in_bytes);
    } else if (conn->in_room > CONN_KEEP_BYTES) {
        lp_mem_free(conn->in);
        conn->in = NULL;
        conn->in_room = 0;
    }
}

/* The clock of a started line runs from its first byte, and stands while reading is paused. */
static void watch_line(struct lp_conn *conn, bool new_line)
{
    if (conn->in_bytes == 0 || is_paused(conn))
        lp_daemon_deadline_clear(&conn->line_deadline);
    else if (new_line || !lp_daemon_deadline_is_set(&conn->line_deadline))
        lp_daemon_deadline_set(&conn->daemon->deadlines, &conn->line_deadline,
                               lp_clock_now_ns() + LP_CONN_LINE_S * LP_NS_PER_S);
}

/* Handlers may answer, close this connection, or come back here through lp_daemon_conn_resume(). */
static void pump(struct lp_conn *conn)
{
    if (conn->pumping || conn->state != LP_CONN_OPEN || conn->in == NULL)
        return;
    conn->pumping = true;
    const size_t done = dispatch_lines(conn);
    conn->pumping = false;
    if (conn->state != LP_CONN_OPEN)
        return;
    consume(conn, done);
    if (conn->in_bytes >= line_limit(conn) && conn->in_scanned == conn->in_bytes) {
        refuse_line(conn, LP_RPC_EREQUEST, "the line is longer than control.max_message");
        return;
    }
    watch_line(conn, done > 0);
}

static bool make_room(struct lp_conn *conn)
{
    const size_t want = LP_MIN(conn->in_bytes + CONN_READ_BYTES, line_limit(conn));

    if (conn->in_room >= want)
        return true;
    const size_t room = LP_MIN(LP_MAX(want, conn->in_room * 2), line_limit(conn));
    char *grown = lp_mem_realloc_array(conn->in, room, 1);
    if (grown == NULL)
        return false;
    conn->in = grown;
    conn->in_room = room;
    return true;
}

static void read_some(struct lp_conn *conn)
{
    struct lp_error err = LP_ERROR_INIT;
    size_t received;

    if (conn->in_bytes >= line_limit(conn))
        return; /* full of lines that wait for their turn */
    if (!make_room(conn)) {
        lp_daemon_conn_close(conn, "no memory to read a line");
        return;
    }
    const int rc = lp_fdpass_recv(conn->fd, conn->in + conn->in_bytes,
                                  conn->in_room - conn->in_bytes, NULL, &received, &err);
    if (rc == LP_ECONN) {
        lp_daemon_conn_drain(conn);
        return;
    }
    if (rc < 0) {
        conn->daemon->stats.protocol_errors++;
        close_for(conn, &err);
        return;
    }
    conn->in_bytes += received;
    pump(conn);
}

void lp_daemon_conn_resume(struct lp_conn *conn)
{
    pump(conn);
    check(conn);
}

/* --- Events --- */

/* Did the peer close its socket, rather than only shut down its sending side? */
static bool is_hung_up(const struct lp_conn *conn)
{
    struct pollfd look = {.fd = conn->fd};

    return poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

/* Reading is paused, so the end of the stream may lie behind lines that are still to be read; but
 * a client that is gone ends now. */
static void on_hangup(struct lp_conn *conn)
{
    if (is_hung_up(conn))
        lp_daemon_conn_close(conn, "closed by the peer");
    else
        conn->half_closed = true;
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct lp_conn *conn = LP_CONTAINER_OF(handle, struct lp_conn, poll);

    if (status < 0) {
        lp_daemon_conn_close(conn, "reset by the peer");
        return;
    }
    if ((events & UV_WRITABLE) != 0)
        flush(conn);
    if (conn->state == LP_CONN_OPEN && (events & UV_READABLE) != 0)
        read_some(conn);
    else if (conn->state != LP_CONN_CLOSED && (events & UV_WRITABLE) == 0)
        on_hangup(conn);
    if (conn->state == LP_CONN_OPEN && (events & UV_WRITABLE) != 0)
        pump(conn);
    check(conn);
}

/* Asking libuv anew costs two system calls, so only changes are told. */
static void watch(struct lp_conn *conn, int events)
{
    if (events == conn->watched)
        return;
    conn->watched = events;
    if (uv_poll_start(&conn->poll, events, on_poll) < 0)
        lp_daemon_conn_close(conn, "the loop cannot watch its socket");
}

/* Finished yet? If not, wait for what comes next. */
static void check(struct lp_conn *conn)
{
    int events = conn->half_closed ? 0 : UV_DISCONNECT;

    if (conn->state == LP_CONN_CLOSED || conn->pumping)
        return;
    if (conn->state == LP_CONN_OPEN && conn->daemon->ending && conn->n_waiting == 0) {
        lp_daemon_conn_drain(conn);
        return;
    }
    if (conn->state == LP_CONN_DRAINING && conn->out.bytes == 0) {
        lp_daemon_conn_close(conn, "all answers are sent");
        return;
    }
    if (conn->out.bytes > 0)
        events |= UV_WRITABLE;
    if (conn->state == LP_CONN_OPEN && !is_paused(conn))
        events |= UV_READABLE;
    watch(conn, events);
}

/* --- The beginning --- */

static void on_hello_deadline(struct lp_deadline *deadline)
{
    struct lp_conn *conn = LP_CONTAINER_OF(deadline, struct lp_conn, hello_deadline);

    refuse_line(conn, LP_ETIMEDOUT, "no hello came in time");
}

static void on_line_deadline(struct lp_deadline *deadline)
{
    struct lp_conn *conn = LP_CONTAINER_OF(deadline, struct lp_conn, line_deadline);

    refuse_line(conn, LP_ETIMEDOUT, "a started line was not ended in time");
}

static void on_stall_deadline(struct lp_deadline *deadline)
{
    struct lp_conn *conn = LP_CONTAINER_OF(deadline, struct lp_conn, stall_deadline);

    lp_daemon_conn_close(conn, "its answers are not taken");
}

static void conn_init(struct lp_conn *conn, struct lp_daemon *daemon, int fd,
                      const struct lp_peer *peer)
{
    conn->daemon = daemon;
    conn->fd = fd;
    conn->watched = -1;
    conn->peer = *peer;
    conn->owner = ++daemon->last_owner;
    (void)snprintf(conn->client, sizeof(conn->client), "unnamed");
    lp_list_init(&conn->link);
    lp_list_init(&conn->waiting);
    lp_daemon_sendq_init(&conn->out);
    lp_daemon_deadline_init(&conn->hello_deadline, on_hello_deadline);
    lp_daemon_deadline_init(&conn->line_deadline, on_line_deadline);
    lp_daemon_deadline_init(&conn->stall_deadline, on_stall_deadline);
}

int lp_daemon_conn_open(struct lp_daemon *daemon, int fd, const struct lp_peer *peer,
                        struct lp_error *err)
{
    struct lp_conn *conn = lp_mem_zalloc(sizeof(*conn));

    if (conn == NULL) {
        lp_sys_close(&fd);
        return lp_error_set(err, LP_ENOMEM, "no memory for a connection");
    }
    conn_init(conn, daemon, fd, peer);
    const int rc = uv_poll_init(&daemon->loop, &conn->poll, fd);
    if (rc < 0) {
        lp_sys_close(&fd);
        lp_mem_free(conn);
        return lp_error_set(err, LP_EINTERNAL, "watch a connection: %s", uv_strerror(rc));
    }
    lp_list_append(&daemon->conns, &conn->link);
    daemon->n_conns++;
    lp_daemon_deadline_set(&daemon->deadlines, &conn->hello_deadline,
                           lp_clock_now_ns() + LP_CONN_HELLO_S * LP_NS_PER_S);
    check(conn);
    return 0;
}
