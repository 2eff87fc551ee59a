/* SPDX-License-Identifier: Apache-2.0 */
/* The connection behind a link to the daemon: found, greeted, asked, and made anew when it is lost.
 */
#include "base/alloc.h"
#include "base/atomic.h"
#include "base/bytes.h"
#include "client/link_daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKET_SYSTEM "/run/lanepack/control.sock"
#define SOCKET_USER "lanepack/control.sock"
#define APP_BYTES_MAX 128u        /* of hello's client */
#define LINE_BYTES_MIN (64 << 10) /* of what a daemon may set as the longest line */
#define LINE_BYTES_MAX (64 << 20)

/* The last n ids of one kind, as the method that takes them back wants them. */
static json_t *orphan_params(enum lp_call_orphan kind, const struct lp_call_orphans *orphans,
                             size_t n)
{
    const uint64_t *ids = orphans->ids + orphans->n - n;
    json_t *list;

    if (kind == LP_CALL_ARENAS)
        return json_pack("{s:I}", "arena", (json_int_t)ids[0]);
    list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, json_integer((json_int_t)ids[i]));
    return json_pack("{s:o}", kind == LP_CALL_LEASES ? "leases" : "oids", list);
}

/* Give back what answers brought that came after their deadline; what can't be asked now waits. */
static void release_orphans(struct lp_link_daemon *link, uint64_t deadline_ns)
{
    static const struct {
        const char *method;
        size_t at_once;
    } ways[LP_CALL_ORPHANS] = {[LP_CALL_LEASES] = {"object.release", LP_LINK_ITEMS_A_REQUEST},
                               [LP_CALL_ARENAS] = {"arena.close", 1},
                               [LP_CALL_OIDS] = {"object.abort", LP_LINK_ITEMS_A_REQUEST}};

    for (int kind = 0; kind < LP_CALL_ORPHANS; kind++) {
        struct lp_call_orphans *orphans = &link->call.orphans[kind];

        while (orphans->n != 0) {
            const size_t n = LP_MIN(orphans->n, ways[kind].at_once);
            json_t *params = orphan_params((enum lp_call_orphan)kind, orphans, n);
            json_t *result = NULL;
            bool sent = false;

            if (params != NULL)
                (void)lp_call_ask(&link->call, ways[kind].method, params, &result, NULL, 0, &sent,
                                  deadline_ns, NULL);
            json_decref(result);
            json_decref(params);
            if (!sent || link->call.sock < 0)
                return;
            orphans->n -= n;
        }
    }
}

static int read_hello(struct lp_link_daemon *link, const json_t *result, struct lp_error *err)
{
    const char *epoch = NULL, *server = NULL;
    json_int_t protocol = -1, line_max = 0;

    if (json_unpack((json_t *)(uintptr_t)result, "{s:s, s:s, s:I, s:{s:I}}", "epoch", &epoch,
                    "server", &server, "proto", &protocol, "limits", "message_bytes",
                    &line_max) != 0 ||
        !lp_proto_hex_read(epoch, &link->epoch) || line_max < LINE_BYTES_MIN ||
        line_max > LINE_BYTES_MAX)
        return lp_error_set(err, LP_EPROTO,
                            "hello: the answer lacks a good epoch, server, proto or message_bytes");
    if (protocol < (json_int_t)LP_PROTO_VERSION_MIN || protocol > (json_int_t)LP_PROTO_VERSION_MAX)
        return lp_error_set(err, LP_EVERSION, "hello: protocol %lld, this library speaks %u to %u",
                            (long long)protocol, LP_PROTO_VERSION_MIN, LP_PROTO_VERSION_MAX);
    link->protocol = (uint32_t)protocol;
    link->call.line_max = (size_t)line_max;
    strncpy(link->server, server, sizeof(link->server) - 1);
    return 0;
}

static int say_hello(struct lp_link_daemon *link, uint64_t deadline_ns, struct lp_error *err)
{
    json_t *params =
        json_pack("{s:[i,i], s:s, s:s}", "proto", (int)LP_PROTO_VERSION_MIN,
                  (int)LP_PROTO_VERSION_MAX, "client", link->app, "namespace", link->name_space);
    json_t *result = NULL;
    bool sent;
    int rc;

    if (params == NULL)
        return lp_error_set(err, LP_EINVAL, "namespace and app must be UTF-8");
    rc = lp_call_ask(&link->call, "hello", params, &result, NULL, 0, &sent, deadline_ns, err);
    json_decref(params);
    if (rc == 0)
        rc = read_hello(link, result, err);
    json_decref(result);
    return rc;
}

/* *untouched on failure, but for the socket, which is closed. */
static int open_connection(struct lp_link_daemon *link, uint64_t deadline_ns, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, lp_call_open(&link->call, link->path, deadline_ns, err));
    rc = say_hello(link, deadline_ns, err);
    if (rc < 0) {
        lp_call_close(&link->call);
        return rc;
    }
    link->connection++;
    return 0;
}

/* The socket is closed: note what that means for what was mapped, and forget the connection. */
static void note_loss(struct lp_link_daemon *link)
{
    if (!lp_call_peer_ended(&link->call))
        lp_atomic_store_release_u64(&link->cut_up_to, link->connection);
    lp_call_close(&link->call);
}

int lp_link_ask(struct lp_link_daemon *link, enum lp_link_again again, uint64_t connection,
                const char *method, json_t *params, json_t **ret_result, struct lp_fdset *ret_fds,
                size_t n_fds, uint64_t deadline_ns, struct lp_error *err)
{
    bool sent = false;
    int rc = LP_ECONN;

    if (params == NULL)
        return lp_error_set(err, LP_EINVAL, "%s: a name is not UTF-8, or memory is short", method);
    if (again == LP_LINK_ASK_ONCE && (link->call.sock < 0 || connection != link->connection)) {
        json_decref(params);
        return lp_error_set(err, LP_ESTALE,
                            "%s: the connection that this began on is lost: begin again", method);
    }
    if (link->call.sock >= 0) {
        release_orphans(link, deadline_ns);
        if (link->call.sock >= 0)
            rc = lp_call_ask(&link->call, method, params, ret_result, ret_fds, n_fds, &sent,
                             deadline_ns, err);
        if (link->call.sock < 0)
            note_loss(link);
    }
    if (rc == LP_ECONN && again == LP_LINK_ASK_AGAIN) {
        rc = open_connection(link, deadline_ns, err);
        if (rc == 0)
            rc = lp_call_ask(&link->call, method, params, ret_result, ret_fds, n_fds, &sent,
                             deadline_ns, err);
        if (rc != 0 && link->call.sock < 0 && link->call.peer_pidfd >= 0)
            note_loss(link);
    }
    json_decref(params);
    return rc;
}

static void free_link(struct lp_link_daemon *link)
{
    lp_mem_free(link->path);
    lp_mem_free(link->name_space);
    lp_mem_free(link->app);
    lp_mem_free(link);
}

void lp_link_daemon_close(void *user, bool inherited)
{
    struct lp_link_daemon *link = user;

    (void)inherited; /* closing our copy of the descriptor says nothing to the daemon while the
                        parent has its own */
    lp_call_close(&link->call);
    free_link(link);
}

/* The path that was asked for, else the environment, else a user's daemon if there is one, else the
 * system's. */
static char *choose_path(const char *asked)
{
    const char *environment = getenv("LANEPACK_SOCKET");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char user[512];

    if (asked != NULL)
        return lp_mem_strdup(asked);
    if (environment != NULL && environment[0] != '\0')
        return lp_mem_strdup(environment);
    if (runtime != NULL &&
        (size_t)snprintf(user, sizeof(user), "%s/%s", runtime, SOCKET_USER) < sizeof(user) &&
        access(user, F_OK) == 0)
        return lp_mem_strdup(user);
    return lp_mem_strdup(SOCKET_SYSTEM);
}

/* Cut text behind its first n bytes, or before a character that would be cut. */
static void trim_utf8(char *text, size_t n)
{
    if (strlen(text) <= n)
        return;
    while (n != 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    text[n] = '\0';
}

int lp_link_daemon_open(const struct lp_connect_options *options, uint64_t deadline_ns,
                        void **ret_link, struct lp_error *err)
{
    struct lp_link_daemon *link = lp_mem_zalloc(sizeof(*link));
    char app[APP_BYTES_MAX + 4];
    int rc;

    if (link == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a connection");
    (void)snprintf(app, sizeof(app), "%s/liblanepack " LP_VERSION,
                   options->app != NULL ? options->app : program_invocation_short_name);
    trim_utf8(app, APP_BYTES_MAX);
    link->path = choose_path(options->path);
    link->name_space = lp_mem_strdup(options->name_space != NULL ? options->name_space : "default");
    link->app = lp_mem_strdup(app);
    if (link->path == NULL || link->name_space == NULL || link->app == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory for a connection");
    else
        rc = open_connection(link, deadline_ns, err);
    if (rc < 0) {
        free_link(link);
        return rc;
    }
    *ret_link = link;
    return 0;
}
