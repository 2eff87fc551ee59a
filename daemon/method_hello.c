/* SPDX-License-Identifier: Apache-2.0 */
/* docs/PROTOCOL.md, "hello": versions, the namespace, and what there is to attach. */
#include "base/bytes.h"
#include "base/log.h"
#include "codec/lpk.h"
#include "daemon/daemon.h"
#include "daemon/handlers.h"

#include <stdio.h>
#include <string.h>

static const uint64_t oldest = LP_PROTO_VERSION_MIN;
static const uint64_t newest = LP_PROTO_VERSION_MAX;

static int choose_version(const json_t *range, uint32_t *ret_proto, struct lp_error *err)
{
    if (json_array_size(range) != 2)
        return lp_error_set(err, LP_RPC_EPARAMS, "params.proto: must be [min, max]");
    const uint64_t min = (uint64_t)json_integer_value(json_array_get(range, 0));
    const uint64_t max = (uint64_t)json_integer_value(json_array_get(range, 1));
    if (min > max)
        return lp_error_set(err, LP_RPC_EPARAMS, "params.proto: must be [min, max]");
    if (max < oldest || min > newest)
        return lp_error_set(err, LP_EVERSION,
                            "you speak protocol %llu to %llu, this daemon %u to %u",
                            (unsigned long long)min, (unsigned long long)max, LP_PROTO_VERSION_MIN,
                            LP_PROTO_VERSION_MAX);
    *ret_proto = (uint32_t)LP_MIN(max, newest);
    return 0;
}

static int check_namespace(const char *name, struct lp_error *err)
{
    const size_t bytes = strlen(name);

    if (bytes > LP_PROTO_NAMESPACE_BYTES_MAX)
        return lp_error_set(err, LP_ENAME, "a namespace has at most %u bytes",
                            LP_PROTO_NAMESPACE_BYTES_MAX);
    const int rc = lp_codec_name_check(name, bytes, err);
    return rc < 0 ? lp_error_wrap(err, LP_ENAME, "namespace") : 0;
}

static json_t *pools_json(const struct lp_store_state *state)
{
    return json_pack("[{s:i, s:s, s:I, s:I, s:I, s:s}]", "id", 0, "tenant", "default", "bytes",
                     (json_int_t)state->pool_bytes, "chunk", (json_int_t)state->chunk_bytes, "page",
                     (json_int_t)state->page_bytes, "access", "sealed");
}

static json_t *hello_json(const struct lp_daemon *daemon, uint32_t proto)
{
    const json_int_t message_bytes =
        (json_int_t)lp_conf_number(daemon->config, LP_CONF_CONTROL_MAX_MESSAGE);
    struct lp_store_state state;
    char epoch[17];

    lp_store_get_state(daemon->store, &state);
    return json_pack("{s:s, s:i, s:s, s:b, s:I, s:{s:I, s:i, s:i, s:i}, s:o}", "epoch",
                     lp_proto_hex_write(daemon->epoch, epoch), "proto", (int)proto, "server",
                     LP_DAEMON_SERVER, "ready", (int)state.ready, "resident_bytes",
                     (json_int_t)state.resident_bytes, "limits", "message_bytes", message_bytes,
                     "depth", (int)LP_PROTO_DEPTH_MAX, "fds", (int)LP_PROTO_FDS_MAX, "name_bytes",
                     (int)LP_PROTO_NAME_BYTES_MAX, "pools", pools_json(&state));
}

int lp_daemon_method_hello(struct lp_request *request, json_t **ret_result, struct lp_error *err)
{
    struct lp_conn *conn = request->conn;
    const char *name_space = lp_daemon_param_text(request->params, "namespace", "default");
    const char *client = lp_daemon_param_text(request->params, "client", "unnamed");
    uint32_t proto;
    int rc;

    LP_TRY(rc, choose_version(json_object_get(request->params, "proto"), &proto, err));
    LP_TRY(rc, check_namespace(name_space, err));
    if (strlen(client) >= sizeof(conn->client))
        return lp_error_set(err, LP_EINVAL, "params.client: more than %zu bytes",
                            sizeof(conn->client) - 1);
    json_t *result = hello_json(conn->daemon, proto);
    if (result == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the answer");
    conn->greeted = true;
    conn->proto = proto;
    (void)snprintf(conn->name_space, sizeof(conn->name_space), "%s", name_space);
    (void)snprintf(conn->client, sizeof(conn->client), "%s", client);
    lp_daemon_deadline_clear(&conn->hello_deadline);
    LP_LOG_DEBUG("conn", "client %s (pid %d, uid %u) uses namespace %s", conn->client,
                 (int)conn->peer.pid, (unsigned)conn->peer.uid, conn->name_space);
    *ret_result = result;
    return 0;
}
