/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fault_loop.h"

#include "base/atomic.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_MAX 10000

/* Several threads may call: each call takes its own number. */
static bool fail_nth(enum lp_fault_site site, void *user)
{
    struct fault_loop *fault = user;

    if (site != fault->site)
        return false;
    return lp_atomic_fetch_add_relaxed_u32(&fault->calls, 1) + 1 == fault->nth;
}

void fault_arm(struct fault_loop *fault, enum lp_fault_site site, uint32_t nth)
{
    lp_fault_set_hook(NULL, NULL);
    *fault = (struct fault_loop){.site = site, .nth = nth};
    lp_fault_set_hook(fail_nth, fault);
}

void fault_disarm(void)
{
    lp_fault_set_hook(NULL, NULL);
}

bool fault_loop_hit(const struct fault_loop *loop)
{
    return lp_atomic_load_relaxed_u32(&loop->calls) >= loop->nth;
}

void fault_loop_start(struct fault_loop *loop, enum lp_fault_site site)
{
    *loop = (struct fault_loop){.site = site};
}

bool fault_loop_next(struct fault_loop *loop)
{
    if (loop->nth > 0 && !fault_loop_hit(loop)) {
        fault_disarm();
        return false;
    }
    if (loop->nth == ROUNDS_MAX) {
        (void)fprintf(stderr, "fault loop: still failing after %d rounds\n", ROUNDS_MAX);
        abort();
    }
    fault_arm(loop, loop->site, loop->nth + 1);
    return true;
}
