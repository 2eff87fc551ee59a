/* SPDX-License-Identifier: Apache-2.0 */
#include "client/call.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/sys.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define RECEIVE_BYTES 65536u /* read at once */
#define PEER_END_MS 200      /* between a daemon's last byte and the end of its process */

/* --- connecting ------------------------------------------------------------------------------ */

/* Wait until sock is ready for events, or the deadline. */
static int wait_for(int sock, short events, uint64_t deadline_ns, struct lp_error *err)
{
    struct pollfd poll_fd = {.fd = sock, .events = events};

    for (;;) {
        const uint64_t now_ns = lp_clock_now_ns();
        const uint64_t left_ms =
            deadline_ns > now_ns ? (deadline_ns - now_ns + LP_NS_PER_MS - 1) / LP_NS_PER_MS : 0;
        const int rc = poll(&poll_fd, 1, (int)LP_MIN(left_ms, (uint64_t)INT32_MAX));

        if (rc > 0)
            return 0;
        if (rc == 0 && lp_clock_now_ns() >= deadline_ns)
            return lp_error_set(err, LP_ETIMEDOUT, "no answer from the daemon by the deadline");
        if (rc < 0 && errno != EINTR)
            return lp_error_set_errno(err, LP_EIO, errno, "poll");
    }
}

static int explain_connect(int errnum, const char *path, struct lp_error *err)
{
    if (errnum == ENOENT || errnum == ECONNREFUSED)
        return lp_error_set(err, LP_ECONN,
                            "no daemon listens at %s: start lanepackd, or set LANEPACK_SOCKET",
                            path);
    if (errnum == EACCES || errnum == EPERM)
        return lp_error_set(err, LP_EPERM,
                            "%s may not be opened: join the group that control.group names", path);
    return lp_error_set_errno(err, LP_ECONN, errnum, "%s", path);
}

/* The daemon's process, to tell its end from a lost connection. Not there on old kernels, or from
 * another pid namespace: unknown. */
static int open_peer_pidfd(int sock)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.pid <= 0)
        return -1;
    return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

/* A full queue of the listener makes a connect that does not block fail with EAGAIN: ask again. */
static int connect_by(int sock, const struct sockaddr_un *address, uint64_t deadline_ns,
                      struct lp_error *err)
{
    const struct timespec pause = {0, (long)LP_NS_PER_MS};

    while (connect(sock, (const struct sockaddr *)address, sizeof(*address)) != 0) {
        if (errno != EAGAIN && errno != EINTR)
            return explain_connect(errno, address->sun_path, err);
        if (lp_clock_now_ns() >= deadline_ns)
            return lp_error_set(err, LP_ETIMEDOUT, "%s: the daemon takes no more connections",
                                address->sun_path);
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

int lp_call_open(struct lp_call *ret_call, const char *path, uint64_t deadline_ns,
                 struct lp_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int sock;
    int rc;

    if (path[0] == '\0') /* the kernel would look in the abstract namespace, open to anybody */
        return lp_error_set(err, LP_EINVAL, "the path of the daemon's socket is empty");
    if (strlen(path) >= sizeof(address.sun_path))
        return lp_error_set(err, LP_EINVAL, "%s: longer than the %zu bytes of a socket's path",
                            path, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0)
        return lp_error_set_errno(err, LP_ELIMIT, errno, "socket");
    rc = connect_by(sock, &address, deadline_ns, err);
    if (rc < 0) {
        lp_sys_close(&sock);
        return rc;
    }
    memset(ret_call, 0, sizeof(*ret_call));
    ret_call->sock = sock;
    ret_call->peer_pidfd = open_peer_pidfd(sock);
    ret_call->next_id = 1;
    ret_call->line_max = LP_PROTO_MESSAGE_BYTES;
    return 0;
}

static void drop_socket(struct lp_call *call)
{
    lp_sys_close(&call->sock);
    lp_fdset_close(&call->fds);
    lp_mem_free(call->buffer);
    call->buffer = NULL;
    call->used = 0;
    call->capacity = 0;
    /* They end with the connection. */
    for (int kind = 0; kind < LP_CALL_ORPHANS; kind++) {
        lp_mem_free(call->orphans[kind].ids);
        call->orphans[kind] = (struct lp_call_orphans){0};
    }
}

void lp_call_close(struct lp_call *call)
{
    drop_socket(call);
    lp_sys_close(&call->peer_pidfd);
}

bool lp_call_peer_ended(const struct lp_call *call)
{
    struct pollfd poll_fd = {.fd = call->peer_pidfd, .events = POLLIN};

    return call->peer_pidfd >= 0 && poll(&poll_fd, 1, PEER_END_MS) == 1 &&
           (poll_fd.revents & POLLIN) != 0;
}

/* --- asking ---------------------------------------------------------------------------------- */

static int send_line(struct lp_call *call, const char *line, size_t bytes, bool *ret_sent,
                     uint64_t deadline_ns, struct lp_error *err)
{
    size_t done = 0;
    int rc;

    while (done < bytes) {
        size_t sent = 0;

        LP_TRY(rc, lp_fdpass_send(call->sock, line + done, bytes - done, NULL, 0, &sent, err));
        done += sent;
        *ret_sent = *ret_sent || sent != 0;
        if (sent == 0)
            LP_TRY(rc, wait_for(call->sock, POLLOUT, deadline_ns, err));
    }
    return 0;
}

static int grow_buffer(struct lp_call *call, struct lp_error *err)
{
    const size_t capacity = call->capacity + RECEIVE_BYTES;
    char *buffer;

    if (call->capacity - call->used >= RECEIVE_BYTES)
        return 0;
    if (call->used > call->line_max) {
        call->broken = true;
        return lp_error_set(err, LP_EPROTO, "the daemon sent a line of more than %zu bytes",
                            call->line_max);
    }
    buffer = lp_mem_realloc_array(call->buffer, capacity, 1);
    if (buffer == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for an answer");
    call->buffer = buffer;
    call->capacity = capacity;
    return 0;
}

static int receive_some(struct lp_call *call, uint64_t deadline_ns, struct lp_error *err)
{
    struct lp_fdset fds;
    size_t received = 0;
    int rc;

    LP_TRY(rc, grow_buffer(call, err));
    LP_TRY(rc, wait_for(call->sock, POLLIN, deadline_ns, err));
    rc = lp_fdpass_recv(call->sock, call->buffer + call->used, call->capacity - call->used, &fds,
                        &received, err);
    if (rc < 0) {
        call->broken = true;
        return rc;
    }
    call->used += received;
    if (fds.count + call->fds.count > LP_FDPASS_MAX) {
        call->broken = true;
        lp_fdset_close(&fds);
        return lp_error_set(err, LP_EPROTO, "the daemon sent more than %u descriptors",
                            LP_FDPASS_MAX);
    }
    memcpy(call->fds.fd + call->fds.count, fds.fd, fds.count * sizeof(fds.fd[0]));
    call->fds.count += fds.count;
    return 0;
}

/* The next line into *ret_answer; the buffer keeps what follows it. */
static int next_answer(struct lp_call *call, struct lp_proto_answer *ret_answer,
                       uint64_t deadline_ns, struct lp_error *err)
{
    char *end;
    int rc;

    while ((end = call->used != 0 ? memchr(call->buffer, '\n', call->used) : NULL) == NULL)
        LP_TRY(rc, receive_some(call, deadline_ns, err));
    rc = lp_proto_answer_parse(call->buffer, (size_t)(end - call->buffer), ret_answer, err);
    call->broken = rc < 0;
    call->used -= (size_t)(end + 1 - call->buffer);
    memmove(call->buffer, end + 1, call->used);
    return rc;
}

void lp_call_note_orphan(struct lp_call *call, enum lp_call_orphan kind, const json_t *id)
{
    struct lp_call_orphans *orphans = &call->orphans[kind];

    if (!json_is_integer(id))
        return;
    if (orphans->n == orphans->capacity) {
        const size_t capacity = orphans->capacity + 256;
        uint64_t *ids = lp_mem_realloc_array(orphans->ids, capacity, sizeof(*ids));

        if (ids == NULL)
            return;
        orphans->ids = ids;
        orphans->capacity = capacity;
    }
    orphans->ids[orphans->n++] = (uint64_t)json_integer_value(id);
}

/* Answers to object.open, object.create and arena.open hand something out. */
static void note_orphans(struct lp_call *call, const json_t *result)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(result, "items"), i, item)
    {
        const json_t *lease = json_object_get(item, "lease");

        if (lease != NULL)
            lp_call_note_orphan(call, LP_CALL_LEASES, lease);
        else
            lp_call_note_orphan(call, LP_CALL_OIDS, json_object_get(item, "oid"));
    }
    if (json_object_get(result, "fds") != NULL)
        lp_call_note_orphan(call, LP_CALL_ARENAS, json_object_get(result, "arena"));
}

/* Past an answer that nobody waits for any more. The descriptors of the next one may be here
 * already. */
static int skip_answer(struct lp_call *call, const struct lp_proto_answer *answer,
                       struct lp_error *err)
{
    struct lp_fdset own = {.count = answer->n_fds};
    const size_t left = call->fds.count - own.count;

    if (own.count > call->fds.count) {
        call->broken = true;
        return lp_error_set(err, LP_EPROTO, "%zu descriptors came, %u were announced",
                            call->fds.count, answer->n_fds);
    }
    memcpy(own.fd, call->fds.fd, own.count * sizeof(own.fd[0]));
    memmove(call->fds.fd, call->fds.fd + own.count, left * sizeof(own.fd[0]));
    call->fds.count = left;
    lp_fdset_close(&own);
    note_orphans(call, answer->result);
    return 0;
}

static int code_of_peer(int code)
{
    return code <= -1 && code >= -99 ? code : LP_EPROTO;
}

static int answer_to(struct lp_call *call, uint64_t id, struct lp_proto_answer *ret_answer,
                     uint64_t deadline_ns, struct lp_error *err)
{
    int rc;

    for (;;) {
        rc = next_answer(call, ret_answer, deadline_ns, err);
        if (rc == 0 && ret_answer->has_id && ret_answer->id == id)
            return 0;
        if (rc == 0 && ret_answer->has_id && ret_answer->id < id) {
            rc = skip_answer(call, ret_answer, err);
        } else if (rc == 0) {
            call->broken = true;
            rc = !ret_answer->has_id && ret_answer->result == NULL
                     ? lp_error_set(err, code_of_peer(ret_answer->error.code), "%s",
                                    ret_answer->error.text)
                     : lp_error_set(err, LP_EPROTO, "the daemon answered what nobody asked");
        }
        lp_proto_answer_fini(ret_answer);
        if (rc < 0)
            return rc;
    }
}

static int take_answer(struct lp_call *call, const struct lp_proto_answer *answer,
                       json_t **ret_result, struct lp_fdset *ret_fds, size_t n_fds,
                       struct lp_error *err)
{
    if (answer->n_fds != call->fds.count || (answer->result != NULL && answer->n_fds != n_fds)) {
        call->broken = true;
        return lp_error_set(err, LP_EPROTO, "%zu descriptors came, %u were announced, %zu expected",
                            call->fds.count, answer->n_fds, n_fds);
    }
    if (answer->result == NULL)
        return lp_error_set(err, code_of_peer(answer->error.code), "%s", answer->error.text);
    if (ret_fds != NULL) {
        *ret_fds = call->fds;
        call->fds.count = 0;
    }
    *ret_result = json_incref(answer->result);
    return 0;
}

/* Send a request whole. Half a line can't be taken back: the next request would end it. */
static int send_request(struct lp_call *call, uint64_t id, const char *method, const json_t *params,
                        bool *ret_sent, uint64_t deadline_ns, struct lp_error *err)
{
    char *line;
    size_t bytes;
    int rc;

    LP_TRY(rc, lp_proto_request_emit(id, method, params, &line, &bytes, err));
    if (bytes > call->line_max)
        rc = lp_error_set(err, LP_ESIZE, "a request of %zu bytes, %zu are allowed", bytes,
                          call->line_max);
    else
        rc = send_line(call, line, bytes, ret_sent, deadline_ns, err);
    lp_mem_free(line);
    if (rc < 0 && (*ret_sent || (rc != LP_ETIMEDOUT && rc != LP_ESIZE)))
        call->broken = true;
    return rc;
}

/* After a send to a closed connection: the error that the daemon left behind, or LP_ECONN. */
static int last_words(struct lp_call *call, uint64_t id, struct lp_error *cause)
{
    struct lp_proto_answer answer = {0};
    struct lp_error said = LP_ERROR_INIT;
    const int rc = answer_to(call, id, &answer, 0, &said);

    lp_proto_answer_fini(&answer);
    call->broken = true;
    if (rc == 0 || rc == LP_ETIMEDOUT || rc == LP_ECONN || rc == LP_EIO)
        return LP_ECONN;
    return lp_error_set(cause, rc, "%s", said.text);
}

int lp_call_ask(struct lp_call *call, const char *method, const json_t *params, json_t **ret_result,
                struct lp_fdset *ret_fds, size_t n_fds, bool *ret_sent, uint64_t deadline_ns,
                struct lp_error *err)
{
    struct lp_proto_answer answer = {0};
    const uint64_t id = call->next_id++;
    struct lp_error cause = LP_ERROR_INIT;
    int rc;

    *ret_sent = false;
    LP_TRY(rc, grow_buffer(call, err)); /* better found out before than after it is sent */
    rc = send_request(call, id, method, params, ret_sent, deadline_ns, &cause);
    if (rc == 0)
        rc = answer_to(call, id, &answer, deadline_ns, &cause);
    else if (rc == LP_ECONN) /* the daemon may have said why before it closed */
        rc = last_words(call, id, &cause);
    if (rc == 0) {
        rc = take_answer(call, &answer, ret_result, ret_fds, n_fds, err);
        lp_proto_answer_fini(&answer);
    } else {
        if (call->broken && (rc == LP_EIO || rc == LP_ETIMEDOUT))
            rc = LP_ECONN;
        rc = lp_error_set(err, rc, "%s: %s%s", method,
                          rc == LP_ECONN ? "the connection to the daemon is lost: " : "",
                          cause.text);
    }
    if (call->broken)
        drop_socket(call);
    return rc;
}
