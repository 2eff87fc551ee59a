/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/dispatch.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/handlers.h"

#include <assert.h>

static const lp_handler handlers[LP_METHODS] = {
#define LP_METHOD(id, name, since, flags, params, result, help) lp_daemon_method_##id,
#include "proto/methods.def"
};

/* Is this the time for the method, and may the peer call it? */
static int check_call(const struct lp_conn *conn, const struct lp_method *method,
                      struct lp_error *err)
{
    const bool first = (method->flags & LP_METHOD_FIRST) != 0;

    if (first && conn->greeted)
        return lp_error_set(err, LP_EPROTO, "%s was called before", method->name);
    if (!first && method->since > conn->proto)
        return lp_error_set(err, LP_RPC_EMETHOD, "protocol %u has no method '%s'", conn->proto,
                            method->name);
    if ((method->flags & LP_METHOD_ADMIN) != 0 && !conn->peer.admin)
        return lp_error_set(err, LP_EPERM,
                            "%s is for uid 0, the daemon's user and members of "
                            "control.admin_group; you are uid %u",
                            method->name, (unsigned)conn->peer.uid);
    return 0;
}

static int find_method(const struct lp_conn *conn, const char *name,
                       const struct lp_method **ret_method, struct lp_error *err)
{
    const struct lp_method *method = lp_proto_method_find(name, err);
    int rc;

    if (!conn->greeted && (method == NULL || (method->flags & LP_METHOD_FIRST) == 0))
        return lp_error_set(err, LP_EPROTO, "hello must come before '%.64s'", name);
    if (method == NULL)
        return LP_RPC_EMETHOD;
    LP_TRY(rc, check_call(conn, method, err));
    *ret_method = method;
    return 0;
}

/* Parameters that were left out are an empty object, so that handlers need not ask. */
static int check_params(struct lp_request *request, struct lp_error *err)
{
    json_t *params = request->message.params;

    if (params == NULL) {
        params = json_object();
        if (params == NULL || json_object_set_new(request->message.root, "params", params) != 0)
            return lp_error_set(err, LP_ENOMEM, "no memory for the request");
    }
    request->params = params;
    return lp_proto_schema_check(request->method->params, params, "params", err);
}

static int call(struct lp_request *request, json_t **ret_result, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, find_method(request->conn, request->message.method, &request->method, err));
    LP_TRY(rc, check_params(request, err));
    return handlers[request->method->id](request, ret_result, err);
}

static void count_protocol_error(struct lp_daemon *daemon, int rc)
{
    if (rc == LP_EPROTO || rc <= LP_RPC_EREQUEST)
        daemon->stats.protocol_errors++;
}

/* The line could not be read as a request: answer with the id that was found, or null. */
static void refuse(struct lp_conn *conn, const json_t *id, const struct lp_error *error)
{
    count_protocol_error(conn->daemon, error->code);
    LP_LOG_DEBUG("dispatch", "client %s: %s", conn->client, error->text);
    lp_daemon_conn_send_error(conn, id, error);
}

void lp_daemon_dispatch_line(struct lp_conn *conn, const char *line, size_t bytes)
{
    struct lp_request *request = lp_mem_zalloc(sizeof(*request));
    struct lp_error err = LP_ERROR_INIT;
    json_t *result = NULL;

    conn->daemon->stats.requests++;
    if (request == NULL) {
        (void)lp_error_set(&err, LP_ENOMEM, "no memory for a request");
        refuse(conn, NULL, &err);
        return;
    }
    request->conn = conn;
    lp_list_init(&request->link);
    int rc = lp_proto_request_parse(line, bytes, &request->message, &err);
    if (rc < 0) {
        refuse(conn, request->message.id, &err);
        lp_proto_request_fini(&request->message);
        lp_mem_free(request);
        return;
    }
    rc = call(request, &result, &err);
    if (rc == LP_REQUEST_WAITS) {
        assert((request->method->flags & LP_METHOD_WAITS) != 0);
        return;
    }
    count_protocol_error(conn->daemon, rc);
    lp_daemon_request_finish_take(request, rc, result, &err);
}
