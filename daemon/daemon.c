/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "daemon/conn.h"
#include "daemon/notify.h"
#include "daemon/sizing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void notify(const char *state)
{
    struct lp_error err = LP_ERROR_INIT;

    if (lp_daemon_notify(state, &err) < 0)
        LP_LOG_WARN("notify", "%s", err.text);
}

/* --- The end --- */

static void close_idle_handles(struct lp_daemon *daemon)
{
    lp_daemon_deadline_clear(&daemon->upkeep.expire);
    lp_daemon_deadline_clear(&daemon->end_soon);
    lp_daemon_deadlines_close(&daemon->deadlines);
    uv_close((uv_handle_t *)&daemon->sigterm, NULL);
    uv_close((uv_handle_t *)&daemon->sigint, NULL);
}

void lp_daemon_check_end(struct lp_daemon *daemon)
{
    if (!daemon->ending || daemon->closing || daemon->n_conns > 0 || daemon->prefault.active ||
        !lp_daemon_jobs_idle(&daemon->jobs))
        return;
    daemon->closing = true;
    close_idle_handles(daemon);
}

/* Each connection decides by itself what ending means for it; some go at once, and may take others
 * with them, so they are moved to a list of their own and taken from there one by one. */
static void end_conns(struct lp_daemon *daemon)
{
    struct lp_list all;

    lp_list_init(&all);
    while (!lp_list_empty(&daemon->conns)) {
        struct lp_list *link = daemon->conns.next;
        lp_list_remove(link);
        lp_list_append(&all, link);
    }
    while (!lp_list_empty(&all)) {
        struct lp_list *link = all.next;
        lp_list_remove(link);
        lp_list_append(&daemon->conns, link);
        lp_daemon_conn_resume(LP_CONTAINER_OF(link, struct lp_conn, link));
    }
}

void lp_daemon_end(struct lp_daemon *daemon, int rc, const struct lp_error *error)
{
    if (daemon->ending)
        return;
    daemon->ending = true;
    daemon->exit_rc = rc;
    if (rc < 0)
        daemon->exit_err = *error;
    notify("STOPPING=1");
    /* From now on a second signal has its default effect. */
    (void)uv_signal_stop(&daemon->sigterm);
    (void)uv_signal_stop(&daemon->sigint);
    lp_daemon_listener_close(&daemon->listener);
    lp_daemon_prefault_stop(&daemon->prefault);
    lp_daemon_wake_arena_waiters(daemon);
    lp_daemon_wake_seal_waiters(daemon, true);
    end_conns(daemon);
    lp_daemon_check_end(daemon);
}

static void on_end_soon(struct lp_deadline *deadline)
{
    lp_daemon_end(LP_CONTAINER_OF(deadline, struct lp_daemon, end_soon), 0, NULL);
}

void lp_daemon_end_soon(struct lp_daemon *daemon)
{
    lp_daemon_deadline_set(&daemon->deadlines, &daemon->end_soon, lp_clock_now_ns());
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct lp_daemon *daemon = handle->data;

    LP_LOG_INFO("daemon", "%s: the daemon ends", signum == SIGTERM ? "sigterm" : "sigint");
    lp_daemon_end(daemon, 0, NULL);
}

/* --- The pool --- */

void lp_daemon_pool_changed(struct lp_daemon *daemon)
{
    struct lp_store_state state;

    lp_daemon_wake_seal_waiters(daemon, false);
    lp_daemon_wake_arena_waiters(daemon);
    lp_store_get_state(daemon->store, &state);
    if (state.missing_chunks > 0)
        lp_daemon_upkeep_replenish(&daemon->upkeep);
}

/* --- The beginning --- */

static int new_epoch(uint64_t *ret_epoch, struct lp_error *err)
{
    do {
        if (getrandom(ret_epoch, sizeof(*ret_epoch), 0) != (ssize_t)sizeof(*ret_epoch))
            return lp_error_set_errno(err, LP_EIO, errno, "random bytes for the epoch");
    } while (*ret_epoch == 0);
    return 0;
}

static uint64_t now_ns(void *user)
{
    (void)user;
    return lp_clock_now_ns();
}

static int open_store(struct lp_daemon *daemon, struct lp_error *err)
{
    struct lp_store_params params = {.now_ns = now_ns, .epoch = daemon->epoch};
    const uint64_t n_clients = lp_conf_number(daemon->config, LP_CONF_CONTROL_MAX_CLIENTS);
    int rc;

    LP_TRY(rc, lp_daemon_sizing_params(daemon->config, &params, err));
    LP_TRY(rc,
           lp_daemon_sizing_descriptors(params.pool_bytes / params.chunk_bytes, n_clients, err));
    return lp_store_new(&params, &daemon->store, err);
}

static int watch_signal(struct lp_daemon *daemon, uv_signal_t *handle, int signum)
{
    handle->data = daemon;
    return uv_signal_start(handle, on_signal, signum);
}

/* Handles that live as long as the loop. On failure none is left open. */
static int open_loop(struct lp_daemon *daemon, struct lp_error *err)
{
    int rc = uv_loop_init(&daemon->loop);

    if (rc < 0)
        return lp_error_set(err, LP_ELIMIT, "make a loop: %s", uv_strerror(rc));
    /* With a fresh loop these three set fields, and can fail for want of a descriptor only. */
    rc = lp_daemon_deadlines_init(&daemon->deadlines, &daemon->loop);
    if (rc == 0)
        rc = uv_signal_init(&daemon->loop, &daemon->sigterm);
    if (rc == 0)
        rc = uv_signal_init(&daemon->loop, &daemon->sigint);
    if (rc < 0) {
        (void)uv_loop_close(&daemon->loop);
        return lp_error_set(err, LP_ELIMIT, "make a loop: %s", uv_strerror(rc));
    }
    lp_daemon_deadline_init(&daemon->end_soon, on_end_soon);
    return 0;
}

/* Everything that may be refused. What was started is ended by lp_daemon_end(). */
static int start(struct lp_daemon *daemon, struct lp_error *err)
{
    int rc = watch_signal(daemon, &daemon->sigterm, SIGTERM);

    if (rc == 0)
        rc = watch_signal(daemon, &daemon->sigint, SIGINT);
    if (rc < 0)
        return lp_error_set(err, LP_EINTERNAL, "watch signals: %s", uv_strerror(rc));
    LP_TRY(rc, lp_daemon_listener_open(&daemon->listener, daemon, err));
    return lp_daemon_prefault_start(&daemon->prefault, daemon, err);
}

static void report_start(const struct lp_daemon *daemon)
{
    struct lp_store_state state;
    char pool[24], chunk[24];

    lp_store_get_state(daemon->store, &state);
    LP_LOG_INFO("daemon",
                "%s, pid %d, pool of %s in %u chunks of %s (%s leaves %llu bytes), cpu "
                "tier %s, listens at %s%s",
                LP_DAEMON_SERVER, (int)getpid(), lp_conf_size_write(state.pool_bytes, pool),
                state.n_chunks, lp_conf_size_write(state.chunk_bytes, chunk), state.budget.source,
                (unsigned long long)state.budget.have_bytes, lp_cpu_tier_name(lp_cpu_flags()),
                daemon->listener.socket.path,
                daemon->listener.socket.inherited ? " (inherited)" : "");
    notify("READY=1\nSTATUS=making the pool resident");
}

static void daemon_init(struct lp_daemon *daemon, const struct lp_config *config)
{
    memset(daemon, 0, sizeof(*daemon));
    daemon->config = config;
    daemon->started_ns = lp_clock_now_ns();
    daemon->listener.socket.fd = -1;
    lp_list_init(&daemon->conns);
    lp_list_init(&daemon->arena_waiters);
    lp_list_init(&daemon->seal_waiters);
    lp_daemon_jobs_init(&daemon->jobs, &daemon->loop);
    lp_daemon_upkeep_init(&daemon->upkeep, daemon);
}

/* From the open loop to the empty one. The store is made before the socket, so that a client never
 * meets a daemon that is then refused its memory. */
static int serve(struct lp_daemon *daemon, struct lp_error *err)
{
    struct lp_error start_err = LP_ERROR_INIT;
    int rc = open_store(daemon, &start_err);

    if (rc == 0)
        rc = start(daemon, &start_err);
    if (rc == 0)
        report_start(daemon);
    else
        lp_daemon_end(daemon, rc, &start_err);
    (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
    lp_store_free(daemon->store);
    return daemon->exit_rc < 0 ? lp_error_set(err, daemon->exit_rc, "%s", daemon->exit_err.text)
                               : 0;
}

int lp_daemon_run(const struct lp_config *config, struct lp_error *err)
{
    struct lp_daemon daemon;
    int rc;

    daemon_init(&daemon, config);
    LP_TRY(rc, new_epoch(&daemon.epoch, err));
    LP_TRY(rc, open_loop(&daemon, err));
    rc = serve(&daemon, err);
    if (uv_loop_close(&daemon.loop) != 0)
        LP_LOG_ERROR("daemon", "the loop still had handles at the end");
    return rc;
}
