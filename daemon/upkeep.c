/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/upkeep.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/daemon.h"

/* --- Blank chunks --- */

static void run_replenish(struct lp_job *job)
{
    struct lp_upkeep *upkeep = LP_CONTAINER_OF(job, struct lp_upkeep, replenish);

    lp_error_clear(&upkeep->err);
    do
        upkeep->rc = lp_store_replenish(upkeep->daemon->store, &upkeep->err);
    while (upkeep->rc > 0 && !lp_daemon_job_is_canceled(job));
}

static void on_replenished(struct lp_job *job)
{
    struct lp_upkeep *upkeep = LP_CONTAINER_OF(job, struct lp_upkeep, replenish);
    struct lp_daemon *daemon = upkeep->daemon;
    const bool again = upkeep->again;

    upkeep->busy = false;
    upkeep->again = false;
    if (upkeep->rc < 0)
        LP_LOG_WARN("pool", "a used arena could not be replaced: %s", upkeep->err.text);
    /* After a failure the next change tries again, not this one. */
    if (upkeep->rc < 0)
        lp_daemon_wake_seal_waiters(daemon, true);
    if (again || upkeep->rc >= 0)
        lp_daemon_pool_changed(daemon);
    else
        lp_daemon_wake_arena_waiters(daemon);
    lp_daemon_check_end(daemon);
}

void lp_daemon_upkeep_replenish(struct lp_upkeep *upkeep)
{
    struct lp_daemon *daemon = upkeep->daemon;

    if (daemon->ending)
        return;
    upkeep->again = upkeep->busy;
    if (upkeep->busy)
        return;
    upkeep->busy = true;
    lp_daemon_jobs_start(&daemon->jobs, &upkeep->replenish, "replenish", 0, run_replenish,
                         on_replenished);
}

/* --- Objects that nobody sealed --- */

static void on_expire(struct lp_deadline *deadline)
{
    struct lp_upkeep *upkeep = LP_CONTAINER_OF(deadline, struct lp_upkeep, expire);
    struct lp_daemon *daemon = upkeep->daemon;
    struct lp_store_state state;

    const uint32_t ended = lp_store_expire(daemon->store);
    if (ended > 0)
        LP_LOG_INFO("store", "%u objects were not sealed within store.create_ttl_ms", ended);
    lp_store_get_state(daemon->store, &state);
    if (state.n_unsealed > 0)
        lp_daemon_upkeep_watch_unsealed(upkeep);
}

void lp_daemon_upkeep_watch_unsealed(struct lp_upkeep *upkeep)
{
    const uint64_t ttl_ms = lp_conf_number(upkeep->daemon->config, LP_CONF_STORE_CREATE_TTL_MS);
    const uint64_t every_ns = LP_MIN(ttl_ms * LP_NS_PER_MS, LP_NS_PER_S);

    if (!lp_daemon_deadline_is_set(&upkeep->expire))
        lp_daemon_deadline_set(&upkeep->daemon->deadlines, &upkeep->expire,
                               lp_clock_now_ns() + every_ns);
}

void lp_daemon_upkeep_init(struct lp_upkeep *upkeep, struct lp_daemon *daemon)
{
    upkeep->daemon = daemon;
    upkeep->busy = false;
    upkeep->again = false;
    lp_daemon_deadline_init(&upkeep->expire, on_expire);
}
