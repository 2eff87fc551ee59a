/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/request.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/daemon.h"

/* Out of the list of those that wait; fine when it never waited. */
static void unlink_request(struct lp_request *request)
{
    if (lp_list_empty(&request->link))
        return;
    lp_daemon_deadline_clear(&request->deadline);
    lp_list_remove(&request->link);
    request->conn->n_waiting--;
}

static void free_take(struct lp_request *request)
{
    lp_proto_request_fini(&request->message);
    lp_mem_free(request);
}

static int send_result(struct lp_request *request, const json_t *result, struct lp_error *err)
{
    const size_t limit =
        (size_t)lp_conf_number(request->conn->daemon->config, LP_CONF_CONTROL_MAX_MESSAGE);
    size_t bytes;
    char *line;
    int rc;

    if (result == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the answer");
    LP_TRY(rc, lp_proto_result_emit(request->message.id, result, &line, &bytes, err));
    if (bytes > limit) {
        lp_mem_free(line);
        return lp_error_set(err, LP_ESIZE,
                            "the answer has %zu bytes, a line at most %zu; ask for "
                            "fewer items",
                            bytes, limit);
    }
    lp_daemon_conn_send_take(request->conn, line, bytes, request->fds, request->n_fds);
    return 0;
}

#ifndef NDEBUG
/* What goes out must be what the table says. Only our own mistakes show here. */
static int check_result(const struct lp_request *request, const json_t *result,
                        struct lp_error *err)
{
    const bool brings_fds = (request->method->flags & LP_METHOD_FDS) != 0;
    int rc = lp_proto_schema_check(request->method->result, result, "result", err);

    if (rc == 0 && request->n_fds > 0 && !brings_fds)
        rc = lp_error_set(err, LP_EINTERNAL, "it brings descriptors");
    if (rc == 0 || rc == LP_ENOMEM)
        return rc;
    LP_LOG_ERROR("dispatch", "%s breaks its own schema: %s", request->method->name, err->text);
    return lp_error_wrap(err, LP_EINTERNAL, "%s breaks its own schema", request->method->name);
}
#endif

void lp_daemon_request_finish_take(struct lp_request *request, int rc, json_t *result,
                                   const struct lp_error *error)
{
    struct lp_conn *conn = request->conn;
    const bool waited = !lp_list_empty(&request->link);
    struct lp_error err = LP_ERROR_INIT;

    unlink_request(request);
    if (rc < 0)
        err = *error;
#ifndef NDEBUG
    else if (result != NULL)
        rc = check_result(request, result, &err);
#endif
    if (rc == 0)
        rc = send_result(request, result, &err);
    if (rc < 0) {
        err.code = rc;
        lp_daemon_conn_send_error(conn, request->message.id, &err);
    }
    json_decref(result);
    free_take(request);
    if (waited)
        lp_daemon_conn_resume(conn);
}

static void on_deadline(struct lp_deadline *deadline)
{
    struct lp_request *request = LP_CONTAINER_OF(deadline, struct lp_request, deadline);
    struct lp_error err = LP_ERROR_INIT;

    const int rc = request->abandon(request, &err);
    lp_daemon_request_finish_take(request, rc, NULL, &err);
}

void lp_daemon_request_wait(struct lp_request *request, uint64_t wait_ms,
                            lp_request_abandon_cb abandon, void *user)
{
    struct lp_conn *conn = request->conn;

    request->abandon = abandon;
    request->user = user;
    lp_list_append(&conn->waiting, &request->link);
    conn->n_waiting++;
    lp_daemon_deadline_init(&request->deadline, on_deadline);
    lp_daemon_deadline_set(&conn->daemon->deadlines, &request->deadline,
                           lp_clock_now_ns() + wait_ms * LP_NS_PER_MS);
}

void lp_daemon_request_abandon_all(struct lp_conn *conn)
{
    while (!lp_list_empty(&conn->waiting)) {
        struct lp_request *request = LP_CONTAINER_OF(conn->waiting.next, struct lp_request, link);
        struct lp_error err = LP_ERROR_INIT;
        (void)request->abandon(request, &err);
        unlink_request(request);
        free_take(request);
    }
}

uint64_t lp_daemon_param_uint(const json_t *params, const char *key, uint64_t missing)
{
    const json_t *value = json_object_get(params, key);

    return value != NULL ? (uint64_t)json_integer_value(value) : missing;
}

bool lp_daemon_param_bool(const json_t *params, const char *key)
{
    return json_is_true(json_object_get(params, key));
}

const char *lp_daemon_param_text(const json_t *params, const char *key, const char *missing)
{
    const json_t *value = json_object_get(params, key);

    return value != NULL ? json_string_value(value) : missing;
}
