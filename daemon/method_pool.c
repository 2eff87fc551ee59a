/* SPDX-License-Identifier: Apache-2.0 */
/* docs/PROTOCOL.md, "pool.attach" and "arena.open": descriptors out, and those who wait for a
 * blank chunk. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "daemon/daemon.h"
#include "daemon/handlers.h"

#define ARENA_WAIT_MS 1000u

/* --- pool.attach --- */

static int attach_chunk(struct lp_request *request, json_t *list, uint64_t number,
                        struct lp_error *err)
{
    struct lp_store *store = request->conn->daemon->store;
    const uint8_t *map;
    uint64_t bytes;
    int fd;
    int rc;

    if (number > UINT32_MAX)
        return lp_error_set(err, LP_ENOENT, "no chunk %llu", (unsigned long long)number);
    LP_TRY(rc, lp_store_chunk(store, (uint32_t)number, &fd, &map, &bytes, err));
    if (json_array_append_new(list, json_pack("{s:I, s:I}", "chunk", (json_int_t)number, "bytes",
                                              (json_int_t)bytes)) != 0)
        return lp_error_set(err, LP_ENOMEM, "no memory for the answer");
    request->fds[request->n_fds++] = fd;
    return 0;
}

int lp_daemon_method_pool_attach(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err)
{
    const json_t *chunks = json_object_get(request->params, "chunks");
    const uint64_t pool = lp_daemon_param_uint(request->params, "pool", 0);
    int rc = 0;

    if (pool != 0)
        return lp_error_set(err, LP_ENOENT, "no pool %llu", (unsigned long long)pool);
    json_t *list = json_array();
    if (list == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the answer");
    for (size_t i = 0; i < json_array_size(chunks) && rc == 0; i++)
        rc = attach_chunk(request, list, (uint64_t)json_integer_value(json_array_get(chunks, i)),
                          err);
    if (rc < 0) {
        json_decref(list);
        request->n_fds = 0;
        return rc;
    }
    *ret_result = json_pack("{s:o, s:I}", "chunks", list, "fds", (json_int_t)request->n_fds);
    return 0;
}

LP_STATIC_ASSERT(LP_PROTO_FDS_MAX >= 32, "pool.attach takes as many chunks, proto/methods.def");

/* --- arena.open --- */

static int open_arena(struct lp_request *request, json_t **ret_result, struct lp_error *err)
{
    const struct lp_conn *conn = request->conn;
    struct lp_store_state state;
    uint32_t arena, chunk;
    int fd;
    int rc;

    LP_TRY(rc, lp_store_arena_open(conn->daemon->store, conn->owner, &arena, &chunk, &fd, err));
    lp_store_get_state(conn->daemon->store, &state);
    json_t *result = json_pack("{s:I, s:I, s:I, s:i}", "arena", (json_int_t)arena, "chunk",
                               (json_int_t)chunk, "bytes", (json_int_t)state.chunk_bytes, "fds", 1);
    if (result == NULL) {
        (void)lp_store_arena_close(conn->daemon->store, conn->owner, arena, NULL);
        return lp_error_set(err, LP_ENOMEM, "no memory for the answer");
    }
    request->fds[0] = fd;
    request->n_fds = 1;
    *ret_result = result;
    return 0;
}

/* One request in daemon->arena_waiters, in the order of asking. */
struct arena_wait {
    struct lp_list link;
    struct lp_request *request;
    struct lp_error err; /* why the last try failed */
};

static void wait_free_take(struct arena_wait *wait)
{
    lp_list_remove(&wait->link);
    lp_mem_free(wait);
}

static int abandon_wait(struct lp_request *request, struct lp_error *err)
{
    struct arena_wait *wait = request->user;

    *err = wait->err;
    wait_free_take(wait);
    return err->code;
}

static int wait_for_arena(struct lp_request *request, uint64_t wait_ms, struct lp_error *err)
{
    struct arena_wait *wait = lp_mem_zalloc(sizeof(*wait));

    if (wait == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to wait for an arena");
    wait->request = request;
    wait->err = *err;
    lp_list_append(&request->conn->daemon->arena_waiters, &wait->link);
    lp_daemon_request_wait(request, wait_ms, abandon_wait, wait);
    return LP_REQUEST_WAITS;
}

/* No blank chunk, or none that is resident yet: both may be otherwise soon. */
static bool may_pass(int rc)
{
    return rc == LP_ENOSPC || rc == LP_EBUSY;
}

int lp_daemon_method_arena_open(struct lp_request *request, json_t **ret_result,
                                struct lp_error *err)
{
    struct lp_daemon *daemon = request->conn->daemon;
    const uint64_t wait_ms = lp_daemon_param_uint(request->params, "deadline_ms", ARENA_WAIT_MS);

    if (wait_ms > LP_PROTO_ARENA_WAIT_MS_MAX)
        return lp_error_set(err, LP_RPC_EPARAMS, "params.deadline_ms: more than %u",
                            LP_PROTO_ARENA_WAIT_MS_MAX);
    if (!lp_list_empty(&daemon->arena_waiters) && wait_ms > 0) {
        (void)lp_error_set(err, LP_ENOSPC, "no blank chunk: others wait for one, too");
        return wait_for_arena(request, wait_ms, err);
    }
    const int rc = open_arena(request, ret_result, err);
    if (rc == LP_EBUSY)
        lp_daemon_upkeep_replenish(&daemon->upkeep);
    if (!may_pass(rc) || wait_ms == 0)
        return rc;
    return wait_for_arena(request, wait_ms, err);
}

/* Every waiter that can be served is; the first that cannot stops the round, so that nobody is
 * overtaken. Answers can close connections, and so end other waiters: the list is read anew. */
void lp_daemon_wake_arena_waiters(struct lp_daemon *daemon)
{
    while (!lp_list_empty(&daemon->arena_waiters)) {
        struct arena_wait *wait =
            LP_CONTAINER_OF(daemon->arena_waiters.next, struct arena_wait, link);
        struct lp_request *request = wait->request;
        struct lp_error err = LP_ERROR_INIT;
        json_t *result = NULL;
        int rc = LP_ECANCELED;
        if (daemon->ending)
            (void)lp_error_set(&err, rc, "the daemon ends");
        else
            rc = open_arena(request, &result, &err);
        if (may_pass(rc)) {
            wait->err = err;
            return;
        }
        wait_free_take(wait);
        lp_daemon_request_finish_take(request, rc, result, &err);
    }
}

int lp_daemon_method_arena_close(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err)
{
    const struct lp_conn *conn = request->conn;
    const uint64_t arena = lp_daemon_param_uint(request->params, "arena", 0);
    int rc;

    if (arena > UINT32_MAX)
        return lp_error_set(err, LP_ENOENT, "no arena %llu", (unsigned long long)arena);
    LP_TRY(rc, lp_store_arena_close(conn->daemon->store, conn->owner, (uint32_t)arena, err));
    lp_daemon_pool_changed(conn->daemon);
    *ret_result = json_pack("{s:i}", "closed", 1);
    return 0;
}
