/* SPDX-License-Identifier: Apache-2.0 */
/* What the store needs from time to time: fresh blank chunks, an end for what nobody sealed.
 * Loop thread only. */
#ifndef LP_DAEMON_UPKEEP_H
#define LP_DAEMON_UPKEEP_H

#include "base/error.h"
#include "daemon/deadline.h"
#include "daemon/jobs.h"

#include <stdbool.h>

struct lp_daemon;

struct lp_upkeep {
    struct lp_daemon *daemon;
    struct lp_job replenish; /* running while busy */
    bool busy, again;
    int rc;              /* of the last run */
    struct lp_error err; /* its sentence */
    struct lp_deadline expire;
};

void lp_daemon_upkeep_init(struct lp_upkeep *upkeep, struct lp_daemon *daemon);

/* Arenas ended: make fresh chunks for those that are gone, off the loop. */
void lp_daemon_upkeep_replenish(struct lp_upkeep *upkeep);

/* An object was created: it ends when its time is over. */
void lp_daemon_upkeep_watch_unsealed(struct lp_upkeep *upkeep);

#endif
