/* SPDX-License-Identifier: Apache-2.0 */
/* Making the pool resident: threads of its own, since workers of jobs must stay free for clients.
 * Loop thread, but for the threads themselves. */
#ifndef LP_DAEMON_PREFAULT_THREADS_H
#define LP_DAEMON_PREFAULT_THREADS_H

#include "base/error.h"

#include <jansson.h>
#include <uv.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct lp_daemon;

struct lp_prefault {
    struct lp_daemon *daemon;
    pthread_t *threads; /* owned; joined when the last has ended */
    uint32_t n_threads;
    uint32_t n_running; /* atomic */
    uint32_t stop;      /* atomic */
    uv_async_t wake;
    pthread_mutex_t lock; /* guards the next two */
    int rc;
    struct lp_error err; /* of the first thread that failed */
    bool active;         /* between start and the join */
};

/* Start the threads. LP_ENOMEM, LP_ELIMIT (not one thread could be started). */
int lp_daemon_prefault_start(struct lp_prefault *prefault, struct lp_daemon *daemon,
                             struct lp_error *err);

/* Let the threads end after the slice that each is at. They report to the loop. */
void lp_daemon_prefault_stop(struct lp_prefault *prefault);

/* Put the running work behind list as daemon.status shows jobs. -1: no memory. */
int lp_daemon_prefault_append_json(const struct lp_prefault *prefault, json_t *list);

#endif
