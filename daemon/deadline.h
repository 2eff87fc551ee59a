/* SPDX-License-Identifier: Apache-2.0 */
/* Many deadlines, one timer of the loop. Loop thread only.
 *
 * A deadline lives inside the thing that waits. Setting and clearing it are cheap and cannot fail:
 * the timer is armed for the nearest one, and a cleared one at most wakes the loop once in vain. */
#ifndef LP_DAEMON_DEADLINE_H
#define LP_DAEMON_DEADLINE_H

#include "base/list.h"

#include <uv.h>

#include <stdbool.h>
#include <stdint.h>

struct lp_deadline;

/* Called once, at or soon after the deadline, which is cleared by then and may be set again. */
typedef void (*lp_deadline_cb)(struct lp_deadline *deadline);

/* Prepared by lp_daemon_deadline_init(); clear it before its memory goes. */
struct lp_deadline {
    struct lp_list link;
    uint64_t at_ns; /* lp_clock_now_ns() */
    lp_deadline_cb cb;
};

struct lp_deadlines {
    uv_timer_t timer;
    struct lp_list armed;
    uint64_t wake_ns; /* when the timer fires; UINT64_MAX: it does not */
};

/* Negative libuv code on failure. The timer's memory is in use until the loop has closed it. */
int lp_daemon_deadlines_init(struct lp_deadlines *deadlines, uv_loop_t *loop);
void lp_daemon_deadlines_close(struct lp_deadlines *deadlines);

void lp_daemon_deadline_init(struct lp_deadline *deadline, lp_deadline_cb cb);

/* Set, or set anew. */
void lp_daemon_deadline_set(struct lp_deadlines *deadlines, struct lp_deadline *deadline,
                            uint64_t at_ns);

/* Clear; fine when it is not set. */
void lp_daemon_deadline_clear(struct lp_deadline *deadline);

/* True between set and clear or callback. */
bool lp_daemon_deadline_is_set(const struct lp_deadline *deadline);

#endif
