/* SPDX-License-Identifier: Apache-2.0 */
/* A plain list: there are a few deadlines per connection, and the list is walked only when one is
 * due. */
#include "daemon/deadline.h"

#include "base/clock.h"

static void on_timer(uv_timer_t *timer);

static void arm(struct lp_deadlines *deadlines, uint64_t at_ns)
{
    const uint64_t now = lp_clock_now_ns();
    const uint64_t wait_ns = at_ns > now ? at_ns - now : 0;

    deadlines->wake_ns = at_ns;
    /* Timers count from the loop's cached time, which may be behind. Cannot fail with a callback.
     */
    uv_update_time(deadlines->timer.loop);
    (void)uv_timer_start(&deadlines->timer, on_timer, (wait_ns + LP_NS_PER_MS - 1) / LP_NS_PER_MS,
                         0);
}

/* The set deadline that comes first; NULL: none is set. */
static struct lp_deadline *nearest(const struct lp_deadlines *deadlines)
{
    struct lp_deadline *first = NULL;

    for (struct lp_list *link = deadlines->armed.next; link != &deadlines->armed;
         link = link->next) {
        struct lp_deadline *deadline = LP_CONTAINER_OF(link, struct lp_deadline, link);
        if (first == NULL || deadline->at_ns < first->at_ns)
            first = deadline;
    }
    return first;
}

/* Callbacks may set and clear any deadline, so the list is searched again after each. */
static void on_timer(uv_timer_t *timer)
{
    struct lp_deadlines *deadlines = LP_CONTAINER_OF(timer, struct lp_deadlines, timer);
    const uint64_t now = lp_clock_now_ns();
    struct lp_deadline *first;

    deadlines->wake_ns = 0;
    while ((first = nearest(deadlines)) != NULL && first->at_ns <= now) {
        lp_list_remove(&first->link);
        first->cb(first);
    }
    deadlines->wake_ns = UINT64_MAX;
    if (first != NULL)
        arm(deadlines, first->at_ns);
}

int lp_daemon_deadlines_init(struct lp_deadlines *deadlines, uv_loop_t *loop)
{
    lp_list_init(&deadlines->armed);
    deadlines->wake_ns = UINT64_MAX;
    return uv_timer_init(loop, &deadlines->timer);
}

void lp_daemon_deadlines_close(struct lp_deadlines *deadlines)
{
    uv_close((uv_handle_t *)&deadlines->timer, NULL);
}

void lp_daemon_deadline_init(struct lp_deadline *deadline, lp_deadline_cb cb)
{
    lp_list_init(&deadline->link);
    deadline->cb = cb;
}

void lp_daemon_deadline_set(struct lp_deadlines *deadlines, struct lp_deadline *deadline,
                            uint64_t at_ns)
{
    lp_list_remove(&deadline->link);
    deadline->at_ns = at_ns;
    lp_list_append(&deadlines->armed, &deadline->link);
    /* Inside on_timer wake_ns is 0: it arms the timer itself, once, at its end. */
    if (at_ns < deadlines->wake_ns)
        arm(deadlines, at_ns);
}

void lp_daemon_deadline_clear(struct lp_deadline *deadline)
{
    lp_list_remove(&deadline->link);
}

bool lp_daemon_deadline_is_set(const struct lp_deadline *deadline)
{
    return !lp_list_empty(&deadline->link);
}
