/* SPDX-License-Identifier: Apache-2.0 */
/* docs/PROTOCOL.md, "daemon.*". */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "codec/shape.h"
#include "daemon/daemon.h"
#include "daemon/handlers.h"

#include <unistd.h>

static const char *locked_word(const struct lp_store_state *state)
{
    if (state->locked_bytes == 0)
        return "no";
    return state->locked_bytes >= state->pool_bytes ? "yes" : "partly";
}

static json_t *pool_json(const struct lp_store_state *state)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "bytes", (json_int_t)state->pool_bytes, "chunk",
        (json_int_t)state->chunk_bytes, "page", (json_int_t)state->page_bytes, "used",
        (json_int_t)state->used_bytes, "free", (json_int_t)state->free_bytes, "largest_free",
        (json_int_t)state->largest_free_bytes, "blank_chunks", (json_int_t)state->blank_chunks,
        "arena_bytes", (json_int_t)state->arena_bytes);
}

static json_t *budget_json(const struct lp_budget *budget)
{
    return json_pack("{s:I, s:s, s:I}", "have", (json_int_t)budget->have_bytes, "source",
                     budget->source, "reserve", (json_int_t)budget->reserve_bytes);
}

static json_t *jobs_json(const struct lp_daemon *daemon)
{
    json_t *list = json_array();

    if (lp_daemon_prefault_append_json(&daemon->prefault, list) != 0 ||
        lp_daemon_jobs_append_json(&daemon->jobs, list) != 0) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* resident / time, as far as it has come. */
static json_int_t prefault_rate(const struct lp_store_state *state)
{
    if (state->prefault_ns == 0)
        return 0;
    return (json_int_t)((double)state->resident_bytes * 1e9 / (double)state->prefault_ns);
}

int lp_daemon_method_daemon_status(struct lp_request *request, json_t **ret_result,
                                   struct lp_error *err)
{
    struct lp_daemon *daemon = request->conn->daemon;
    struct lp_store_state state;
    char epoch[17];

    (void)err;
    lp_store_get_state(daemon->store, &state);
    *ret_result = json_pack(
        "{s:s, s:I, s:I, s:s, s:b, s:I, s:f, s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, "
        "s:I, s:s, s:o}",
        "server", LP_DAEMON_SERVER, "pid", (json_int_t)getpid(), "uptime_s",
        (json_int_t)((lp_clock_now_ns() - daemon->started_ns) / LP_NS_PER_S), "epoch",
        lp_proto_hex_write(daemon->epoch, epoch), "ready", (int)state.ready, "resident_bytes",
        (json_int_t)state.resident_bytes, "prefault_seconds", (double)state.prefault_ns / 1e9,
        "prefault_bytes_per_s", prefault_rate(&state), "locked", locked_word(&state), "lock_note",
        state.lock_note, "access", "sealed", "capability", "none", "pool", pool_json(&state),
        "budget", budget_json(&state.budget), "objects", (json_int_t)state.n_objects, "unsealed",
        (json_int_t)state.n_unsealed, "leases", (json_int_t)state.n_leases, "clients",
        (json_int_t)daemon->n_conns, "cpu_tier", lp_cpu_tier_name(lp_cpu_flags()), "jobs",
        jobs_json(daemon));
    return 0;
}

static json_t *codecs_json(const struct lp_store_state *state)
{
    json_t *codecs = json_object();

    for (uint32_t id = LP_CODEC_RAW; id < LP_CODEC_END; id++) {
        if (json_object_set_new(codecs, lp_codec_id_name(id),
                                json_integer((json_int_t)state->objects_by_codec[id])) != 0) {
            json_decref(codecs);
            return NULL;
        }
    }
    return codecs;
}

int lp_daemon_method_daemon_stats(struct lp_request *request, json_t **ret_result,
                                  struct lp_error *err)
{
    struct lp_daemon *daemon = request->conn->daemon;
    const struct lp_daemon_stats *stats = &daemon->stats;
    struct lp_store_state state;

    (void)err;
    lp_store_get_state(daemon->store, &state);
    *ret_result = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "requests",
        (json_int_t)stats->requests, "errors", (json_int_t)stats->errors, "puts",
        (json_int_t)stats->puts, "put_bytes", (json_int_t)stats->put_bytes, "opens",
        (json_int_t)stats->opens, "deletes", (json_int_t)stats->deletes, "adoptions",
        (json_int_t)stats->adoptions, "copies", (json_int_t)stats->copies, "checksum_failures",
        (json_int_t)stats->checksum_failures, "client_deaths", (json_int_t)stats->client_deaths,
        "protocol_errors", (json_int_t)stats->protocol_errors, "logical_bytes",
        (json_int_t)state.logical_bytes, "stored_bytes", (json_int_t)state.stored_bytes,
        "wire_bytes", (json_int_t)state.wire_bytes, "objects_by_codec", codecs_json(&state));
    return 0;
}

int lp_daemon_method_daemon_shutdown(struct lp_request *request, json_t **ret_result,
                                     struct lp_error *err)
{
    const struct lp_conn *conn = request->conn;

    (void)err;
    LP_LOG_INFO("daemon", "shutdown asked for by client %s (pid %d, uid %u)", conn->client,
                (int)conn->peer.pid, (unsigned)conn->peer.uid);
    *ret_result = json_pack("{s:b}", "ok", 1);
    if (*ret_result != NULL)
        lp_daemon_end_soon(conn->daemon);
    return 0;
}
