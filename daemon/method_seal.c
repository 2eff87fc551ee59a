/* SPDX-License-Identifier: Apache-2.0 */
/* docs/PROTOCOL.md, "object.seal": begun on the loop thread, copied and checked by a worker, ended
 * on the loop thread. It waits to begin while the room that it needs may still come from chunks
 * that are being replaced.
 *
 * One struct sealing per request, from the handler to on_done. The request may go before: at its
 * deadline, or with its connection. Its objects are then aborted, which the worker notices. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/handlers.h"
#include "daemon/objects.h"

#include <string.h>

#define SEAL_WAIT_MS 30000u

/* An info with name and tag of full length, each byte written as two, and the rest. */
#define SEAL_ITEM_BYTES 2816u

struct seal_item {
    struct lp_store_seal *ticket; /* NULL: begin failed, or there was no room */
    uint64_t bytes;               /* of all parts */
    uint32_t n_adopted, n_copied; /* parts */
    int rc;
    struct lp_error err; /* the sentence to rc */
};

struct sealing {
    struct lp_list link; /* in daemon->seal_waiters until it is started */
    bool started;        /* job is at work; the items' fields count */
    struct lp_job job;
    struct lp_daemon *daemon;
    struct lp_request *request; /* NULL: answered or gone */
    uint64_t owner;
    size_t n_items;
    struct seal_item item[];
};

/* --- On the worker --- */

static void run_tickets(struct lp_job *job)
{
    struct sealing *sealing = LP_CONTAINER_OF(job, struct sealing, job);

    for (size_t i = 0; i < sealing->n_items; i++) {
        struct seal_item *item = &sealing->item[i];
        if (item->ticket == NULL)
            continue;
        if (lp_daemon_job_is_canceled(job))
            item->rc = lp_error_set(&item->err, LP_ECANCELED, "the request is gone");
        else
            item->rc = lp_store_seal_run(item->ticket, &item->err);
        lp_daemon_job_advance(job, item->bytes);
    }
}

/* --- Back on the loop thread --- */

static void count(struct lp_daemon_stats *stats, const struct seal_item *item)
{
    if (item->rc == LP_ECORRUPT)
        stats->checksum_failures++;
    if (item->rc < 0)
        return;
    stats->puts++;
    stats->put_bytes += item->bytes;
    stats->adoptions += item->n_adopted;
    stats->copies += item->n_copied;
}

/* End one ticket and put its result into items, which is NULL when nobody waits for it. */
static void end_item(struct sealing *sealing, struct seal_item *item, struct lp_items *items)
{
    struct lp_store_info info;

    if (item->ticket != NULL) {
        item->rc = lp_store_seal_end_take(sealing->daemon->store, item->ticket, item->rc, &info,
                                          &item->err);
        count(&sealing->daemon->stats, item);
    }
    if (items == NULL)
        return;
    if (item->rc < 0)
        lp_daemon_items_put_error(items, &item->err);
    else
        (void)lp_daemon_items_put_take(items, lp_daemon_objects_info_json(&info));
}

static void on_sealed(struct lp_job *job)
{
    struct sealing *sealing = LP_CONTAINER_OF(job, struct sealing, job);
    struct lp_daemon *daemon = sealing->daemon;
    struct lp_request *request = sealing->request;
    struct lp_items items;

    if (request != NULL)
        lp_daemon_items_init(&items, sealing->n_items,
                             (size_t)lp_conf_number(daemon->config, LP_CONF_CONTROL_MAX_MESSAGE));
    for (size_t i = 0; i < sealing->n_items; i++)
        end_item(sealing, &sealing->item[i], request != NULL ? &items : NULL);
    lp_mem_free(sealing);
    if (request != NULL)
        lp_daemon_request_finish_take(request, 0, lp_daemon_items_result_take(&items), NULL);
    lp_daemon_pool_changed(daemon);
    lp_daemon_check_end(daemon);
}

static void abort_items(struct sealing *sealing, const json_t *list)
{
    for (size_t i = 0; i < sealing->n_items; i++)
        (void)lp_store_abort(sealing->daemon->store, sealing->owner,
                             lp_daemon_param_uint(json_array_get(list, i), "oid", 0), NULL);
}

/* The deadline has passed, or the connection ends: the objects end, and the worker soon. */
static int abandon_sealing(struct lp_request *request, struct lp_error *err)
{
    struct sealing *sealing = request->user;

    abort_items(sealing, json_object_get(request->params, "items"));
    sealing->request = NULL;
    if (sealing->started) {
        lp_daemon_job_cancel(&sealing->job);
    } else {
        lp_list_remove(&sealing->link);
        lp_mem_free(sealing);
    }
    return lp_error_set(err, LP_ETIMEDOUT, "not sealed within deadline_ms; all items are aborted");
}

/* --- Beginning --- */

static int read_parts(const json_t *list, struct lp_store_part *parts, struct seal_item *item,
                      struct lp_error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *part = json_array_get(list, i);
        const uint64_t arena = lp_daemon_param_uint(part, "arena", 0);
        if (arena > UINT32_MAX)
            return lp_error_set(err, LP_ENOENT, "no arena %llu", (unsigned long long)arena);
        parts[i].arena = (uint32_t)arena;
        parts[i].offset = lp_daemon_param_uint(part, "offset", 0);
        parts[i].bytes = lp_daemon_param_uint(part, "bytes", 0);
        parts[i].adopt = lp_daemon_param_bool(part, "adopt");
        if (!lp_add_u64(item->bytes, parts[i].bytes, &item->bytes))
            return lp_error_set(err, LP_ERANGE, "the parts' bytes are beyond 64 bits");
        item->n_adopted += parts[i].adopt;
        item->n_copied += !parts[i].adopt;
    }
    return 0;
}

/* On failure the object is aborted, as lp_store_seal_begin() does. */
static int begin_item(struct sealing *sealing, struct seal_item *item, const json_t *params)
{
    struct lp_store *store = sealing->daemon->store;
    const json_t *list = json_object_get(params, "parts");
    const uint32_t n_parts = (uint32_t)json_array_size(list);
    const uint64_t oid = lp_daemon_param_uint(params, "oid", 0);

    struct lp_store_part *parts = lp_mem_alloc_array(n_parts, sizeof(*parts));
    int rc = parts != NULL ? read_parts(list, parts, item, &item->err)
                           : lp_error_set(&item->err, LP_ENOMEM, "no memory for the parts");
    if (rc == 0)
        rc = lp_store_seal_begin(store, sealing->owner, oid, parts, n_parts, &item->ticket,
                                 &item->err);
    else
        (void)lp_store_abort(store, sealing->owner, oid, NULL);
    lp_mem_free(parts);
    return rc;
}

/* Results of seals cannot be taken back, so room for them is made sure of before they begin. */
static void begin_items(struct sealing *sealing, const json_t *list, size_t line_bytes)
{
    const size_t n_fitting = line_bytes / SEAL_ITEM_BYTES;

    for (size_t i = 0; i < sealing->n_items; i++) {
        struct seal_item *item = &sealing->item[i];
        if (i < n_fitting)
            item->rc = begin_item(sealing, item, json_array_get(list, i));
        else
            item->rc =
                lp_error_set(&item->err, LP_ESIZE, "no room left in this answer; ask for it again");
    }
}

static uint64_t total_bytes(const struct sealing *sealing)
{
    uint64_t total = 0;

    for (size_t i = 0; i < sealing->n_items; i++)
        total += sealing->item[i].ticket != NULL ? sealing->item[i].bytes : 0;
    return total;
}

static void start(struct sealing *sealing)
{
    struct lp_daemon *daemon = sealing->daemon;
    const json_t *list = json_object_get(sealing->request->params, "items");

    sealing->started = true;
    begin_items(sealing, list, (size_t)lp_conf_number(daemon->config, LP_CONF_CONTROL_MAX_MESSAGE));
    lp_daemon_jobs_start(&daemon->jobs, &sealing->job, "object.seal", total_bytes(sealing),
                         run_tickets, on_sealed);
}

/* --- Waiting for chunks that are being replaced --- */

/* Bytes that copies of all parts will take, at most. */
static uint64_t bytes_to_copy(const struct sealing *sealing)
{
    const json_t *list = json_object_get(sealing->request->params, "items");
    uint64_t total = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *parts = json_object_get(json_array_get(list, i), "parts");
        for (size_t j = 0; j < json_array_size(parts); j++) {
            const json_t *part = json_array_get(parts, j);
            const uint64_t bytes = lp_daemon_param_uint(part, "bytes", 0);
            if (!lp_daemon_param_bool(part, "adopt") &&
                !lp_add_u64(total, bytes + LP_SHM_EXTENT_ALIGN, &total))
                return UINT64_MAX;
        }
    }
    return total;
}

/* Chunks that arenas used up are being made anew, and without them there may be too little room:
 * what fits into one free range fits anyway. */
static bool must_wait(const struct sealing *sealing)
{
    struct lp_store_state state;

    lp_store_get_state(sealing->daemon->store, &state);
    return state.missing_chunks > 0 && bytes_to_copy(sealing) > state.largest_free_bytes;
}

void lp_daemon_wake_seal_waiters(struct lp_daemon *daemon, bool in_vain)
{
    while (!lp_list_empty(&daemon->seal_waiters)) {
        struct sealing *sealing = LP_CONTAINER_OF(daemon->seal_waiters.next, struct sealing, link);
        if (!in_vain && !daemon->ending && must_wait(sealing))
            return;
        lp_list_remove(&sealing->link);
        start(sealing);
    }
}

int lp_daemon_method_object_seal(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err)
{
    struct lp_daemon *daemon = request->conn->daemon;
    const uint64_t wait_ms = lp_daemon_param_uint(request->params, "deadline_ms", SEAL_WAIT_MS);
    const size_t n_items = json_array_size(json_object_get(request->params, "items"));

    (void)ret_result;
    if (wait_ms > LP_PROTO_SEAL_WAIT_MS_MAX)
        return lp_error_set(err, LP_RPC_EPARAMS, "params.deadline_ms: more than %u",
                            LP_PROTO_SEAL_WAIT_MS_MAX);
    struct sealing *sealing = lp_mem_zalloc(sizeof(*sealing) + n_items * sizeof(sealing->item[0]));
    if (sealing == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to seal %zu items", n_items);
    sealing->daemon = daemon;
    sealing->request = request;
    sealing->owner = request->conn->owner;
    sealing->n_items = n_items;
    lp_list_init(&sealing->link);
    lp_daemon_request_wait(request, wait_ms, abandon_sealing, sealing);
    if (!must_wait(sealing)) {
        start(sealing);
        return LP_REQUEST_WAITS;
    }
    lp_list_append(&daemon->seal_waiters, &sealing->link);
    lp_daemon_upkeep_replenish(&daemon->upkeep);
    return LP_REQUEST_WAITS;
}
