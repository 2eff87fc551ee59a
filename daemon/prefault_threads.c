/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/prefault_threads.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "daemon/daemon.h"
#include "daemon/notify.h"

#include <string.h>

#define PREFAULT_PER_GIB 1073741824.0

/* --- Threads --- */

static void record_failure(struct lp_prefault *prefault, int rc, const struct lp_error *error)
{
    (void)pthread_mutex_lock(&prefault->lock);
    if (prefault->rc == 0) {
        prefault->rc = rc;
        prefault->err = *error;
    }
    (void)pthread_mutex_unlock(&prefault->lock);
    lp_atomic_store_release_u32(&prefault->stop, 1);
}

static void *thread_main(void *arg)
{
    struct lp_prefault *prefault = arg;
    struct lp_error err = LP_ERROR_INIT;
    int rc = 1;

    while (rc > 0 && lp_atomic_load_acquire_u32(&prefault->stop) == 0) {
        rc = lp_store_prefault_step(prefault->daemon->store, &err);
        (void)uv_async_send(&prefault->wake);
    }
    if (rc < 0)
        record_failure(prefault, rc, &err);
    (void)lp_atomic_fetch_sub_u32(&prefault->n_running, 1);
    (void)uv_async_send(&prefault->wake);
    return NULL;
}

/* --- Loop --- */

static void report_resident(struct lp_daemon *daemon, uint32_t n_threads)
{
    struct lp_store_state state;
    struct lp_error err = LP_ERROR_INIT;
    char status[128];

    lp_store_get_state(daemon->store, &state);
    const double seconds = (double)state.prefault_ns / 1e9;
    LP_LOG_INFO("pool",
                "resident: %llu bytes in %.3f s by %u threads (%.2f GiB/s), %llu locked%s%s",
                (unsigned long long)state.resident_bytes, seconds, n_threads,
                seconds > 0 ? (double)state.resident_bytes / PREFAULT_PER_GIB / seconds : 0.0,
                (unsigned long long)state.locked_bytes, state.lock_note[0] != '\0' ? ": " : "",
                state.lock_note);
    (void)snprintf(status, sizeof(status), "STATUS=pool of %llu bytes is resident",
                   (unsigned long long)state.pool_bytes);
    if (lp_daemon_notify(status, &err) < 0)
        LP_LOG_WARN("notify", "%s", err.text);
}

static void join_all(struct lp_prefault *prefault)
{
    for (uint32_t i = 0; i < prefault->n_threads; i++)
        (void)pthread_join(prefault->threads[i], NULL);
    lp_mem_free(prefault->threads);
    prefault->threads = NULL;
    prefault->active = false;
    uv_close((uv_handle_t *)&prefault->wake, NULL);
    (void)pthread_mutex_destroy(&prefault->lock);
}

/* Chunks became resident, or the last thread has ended: joining it then does not wait. */
static void on_wake(uv_async_t *wake)
{
    struct lp_prefault *prefault = LP_CONTAINER_OF(wake, struct lp_prefault, wake);
    struct lp_daemon *daemon = prefault->daemon;

    lp_daemon_pool_changed(daemon);
    if (!prefault->active || lp_atomic_load_acquire_u32(&prefault->n_running) > 0)
        return;
    join_all(prefault);
    if (prefault->rc < 0)
        lp_daemon_end(daemon, prefault->rc, &prefault->err);
    else if (!daemon->ending)
        report_resident(daemon, prefault->n_threads);
    lp_daemon_check_end(daemon);
}

static uint32_t wanted_threads(const struct lp_config *config)
{
    const uint64_t configured = lp_conf_number(config, LP_CONF_POOL_PREFAULT_THREADS);

    return configured > 0 ? (uint32_t)configured : uv_available_parallelism();
}

/* Fewer threads than wanted are a slower start, none at all is a failure. */
static int start_threads(struct lp_prefault *prefault, uint32_t wanted, struct lp_error *err)
{
    for (uint32_t i = 0; i < wanted; i++) {
        (void)lp_atomic_fetch_add_u32(&prefault->n_running, 1);
        const int errnum = lp_sys_thread_create(&prefault->threads[i], thread_main, prefault);
        if (errnum == 0) {
            prefault->n_threads++;
            continue;
        }
        (void)lp_atomic_fetch_sub_u32(&prefault->n_running, 1);
        if (prefault->n_threads == 0)
            return lp_error_set_errno(err, LP_ELIMIT, errnum, "start a thread to touch the pool");
        LP_LOG_WARN("pool", "%u of %u threads touch the pool: %s", prefault->n_threads, wanted,
                    strerror(errnum));
        break;
    }
    return 0;
}

int lp_daemon_prefault_start(struct lp_prefault *prefault, struct lp_daemon *daemon,
                             struct lp_error *err)
{
    const uint32_t wanted = wanted_threads(daemon->config);

    memset(prefault, 0, sizeof(*prefault));
    prefault->daemon = daemon;
    prefault->threads = lp_mem_alloc_array(wanted, sizeof(*prefault->threads));
    if (prefault->threads == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u threads", wanted);
    (void)pthread_mutex_init(&prefault->lock, NULL);
    int rc = uv_async_init(&daemon->loop, &prefault->wake, on_wake);
    if (rc < 0) {
        (void)pthread_mutex_destroy(&prefault->lock);
        lp_mem_free(prefault->threads);
        return lp_error_set(err, LP_EINTERNAL, "start to touch the pool: %s", uv_strerror(rc));
    }
    prefault->active = true;
    rc = start_threads(prefault, wanted, err);
    if (rc < 0)
        join_all(prefault);
    return rc;
}

void lp_daemon_prefault_stop(struct lp_prefault *prefault)
{
    lp_atomic_store_release_u32(&prefault->stop, 1);
}

int lp_daemon_prefault_append_json(const struct lp_prefault *prefault, json_t *list)
{
    struct lp_store_state state;

    if (!prefault->active)
        return 0;
    lp_store_get_state(prefault->daemon->store, &state);
    return json_array_append_new(list, json_pack("{s:I, s:s, s:I, s:I, s:s}", "id", (json_int_t)0,
                                                 "method", "prefault", "done",
                                                 (json_int_t)state.resident_bytes, "total",
                                                 (json_int_t)state.pool_bytes, "state", "running"));
}
