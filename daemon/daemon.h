/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: a loop, a listener, connections, and the store that they serve.
 *
 * Life: lp_daemon_run() starts everything, serves, and returns when all has ended. It ends by
 * daemon.shutdown, SIGTERM or SIGINT, or when the pool cannot be made resident:
 *   1. the listener closes; no further request is read
 *   2. pre-faulting stops, jobs and requests that wait for them finish, the others get LP_ECANCELED
 *   3. connections send what is queued, for at most LP_CONN_STALL_ENDING_S, and close
 *   4. timers and signals close, the loop runs empty, the store goes
 * A second signal ends the process at once. No GPU, no CUDA symbol, anywhere in here. */
#ifndef LP_DAEMON_DAEMON_H
#define LP_DAEMON_DAEMON_H

#include "base/error.h"
#include "base/list.h"
#include "config/config.h"
#include "daemon/deadline.h"
#include "daemon/jobs.h"
#include "daemon/listener.h"
#include "daemon/prefault_threads.h"
#include "daemon/upkeep.h"
#include "store/store.h"

#include <uv.h>

#include <stdbool.h>
#include <stdint.h>

#define LP_DAEMON_SERVER "lanepackd " LP_VERSION

/* Counters since start, daemon.stats. */
struct lp_daemon_stats {
    uint64_t requests, errors, protocol_errors, client_deaths;
    uint64_t puts, put_bytes, opens, deletes, adoptions, copies, checksum_failures;
};

struct lp_daemon {
    uv_loop_t loop;
    const struct lp_config *config; /* borrows until lp_daemon_run() returns */
    struct lp_store *store;
    uint64_t epoch, started_ns;
    bool ending;              /* no request is taken any more */
    bool closing;             /* nothing is left but the loop's own handles */
    int exit_rc;              /* 0, or why it ends */
    struct lp_error exit_err; /* the sentence to exit_rc */

    struct lp_listener listener;
    struct lp_deadlines deadlines;
    struct lp_jobs jobs;
    struct lp_prefault prefault;
    struct lp_upkeep upkeep;
    struct lp_list conns; /* struct lp_conn */
    uint32_t n_conns;
    uint64_t last_owner;
    struct lp_list arena_waiters; /* method_pool.c */
    struct lp_list seal_waiters;  /* method_seal.c */
    struct lp_daemon_stats stats;
    uv_signal_t sigterm, sigint;
    struct lp_deadline end_soon;
};

/* Run until the end. config borrows. 0 after an orderly end; else what kept it from starting or
 * made it end. SIGPIPE must be ignored by the caller, jansson's memory set. */
int lp_daemon_run(const struct lp_config *config, struct lp_error *err);

/* Begin to end. rc 0: in order; else error says why. Only the first call counts. */
void lp_daemon_end(struct lp_daemon *daemon, int rc, const struct lp_error *error);

/* The same in order, once the loop has come round and the answer in the making has been sent. */
void lp_daemon_end_soon(struct lp_daemon *daemon);

/* Something ended that the daemon's own end may wait for. */
void lp_daemon_check_end(struct lp_daemon *daemon);

/* Chunks became blank, or may become so: wakes those who wait for an arena and starts the work
 * that makes blank ones. */
void lp_daemon_pool_changed(struct lp_daemon *daemon);

/* Serve those who wait for an arena, in the order of asking; when ending, refuse them. Is in
 * method_pool.c. */
void lp_daemon_wake_arena_waiters(struct lp_daemon *daemon);

/* Begin the seals that wait for room; in_vain: no room will come, so that they learn it. Is in
 * method_seal.c. */
void lp_daemon_wake_seal_waiters(struct lp_daemon *daemon, bool in_vain);

#endif
