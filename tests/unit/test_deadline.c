/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "daemon/deadline.h"

#include <criterion/criterion.h>

static uv_loop_t loop;
static struct lp_deadlines deadlines;
static struct lp_deadline one, two, three;
static char order[16];
static size_t n_fired;

static void note(struct lp_deadline *deadline)
{
    order[n_fired++] = deadline == &one ? '1' : deadline == &two ? '2' : '3';
}

/* A callback may clear another deadline and set its own again, once. */
static void note_and_change(struct lp_deadline *deadline)
{
    note(deadline);
    lp_daemon_deadline_clear(&three);
    if (n_fired < 3)
        lp_daemon_deadline_set(&deadlines, deadline, lp_clock_now_ns() + 2 * LP_NS_PER_MS);
}

static void setup(void)
{
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(lp_daemon_deadlines_init(&deadlines, &loop), 0);
    lp_daemon_deadline_init(&one, note);
    lp_daemon_deadline_init(&two, note);
    lp_daemon_deadline_init(&three, note);
}

static void teardown(void)
{
    lp_daemon_deadlines_close(&deadlines);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(daemon_deadline, .init = setup, .fini = teardown);

static uint64_t in_ms(uint64_t ms)
{
    return lp_clock_now_ns() + ms * LP_NS_PER_MS;
}

/* They fire in the order of their times, not of their setting, and never early. */
Test(daemon_deadline, fires_in_order)
{
    const uint64_t first = in_ms(5);

    lp_daemon_deadline_set(&deadlines, &one, in_ms(30));
    lp_daemon_deadline_set(&deadlines, &two, first);
    lp_daemon_deadline_set(&deadlines, &three, in_ms(15));
    cr_assert(lp_daemon_deadline_is_set(&one));
    while (n_fired < 1)
        (void)uv_run(&loop, UV_RUN_ONCE);
    cr_assert_geq(lp_clock_now_ns(), first);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_str_eq(order, "231");
    cr_assert_not(lp_daemon_deadline_is_set(&one));
}

/* Cleared ones do not fire, moved ones fire once, past ones at once. */
Test(daemon_deadline, can_be_cleared_and_moved)
{
    lp_daemon_deadline_set(&deadlines, &one, in_ms(2));
    lp_daemon_deadline_set(&deadlines, &two, in_ms(60000));
    lp_daemon_deadline_set(&deadlines, &two, 0);
    lp_daemon_deadline_set(&deadlines, &three, in_ms(60000));
    lp_daemon_deadline_clear(&one);
    lp_daemon_deadline_clear(&one);
    lp_daemon_deadline_clear(&three);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_str_eq(order, "2");
}

/* Callbacks may set and clear deadlines. */
Test(daemon_deadline, may_be_changed_by_callbacks)
{
    lp_daemon_deadline_init(&one, note_and_change);
    lp_daemon_deadline_set(&deadlines, &one, in_ms(1));
    lp_daemon_deadline_set(&deadlines, &three, in_ms(1));
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_geq(n_fired, 2);
    cr_assert_neq(order[n_fired - 1], '3');
}
