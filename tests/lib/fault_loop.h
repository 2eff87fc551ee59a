/* SPDX-License-Identifier: Apache-2.0 */
/* Make the n-th call of one fault site fail, n = 1, 2, ... until the code under test succeeds.
 *
 *     struct fault_loop loop;
 *
 *     FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
 *         const int rc = lp_thing_new(&thing, &err);
 *         if (fault_loop_hit(&loop)) {
 *             cr_assert_eq(rc, LP_ENOMEM);
 *             continue;
 *         }
 *         cr_assert_eq(rc, 0);
 *         lp_thing_free(thing);
 *     }
 *     cr_assert_gt(loop.nth, 1);
 *
 * The loop ends after the first round in which the n-th call never came; loop.nth - 1 is then how
 * many calls were made to fail. Leave it with `continue`, or call fault_disarm() before `break`. */
#ifndef LP_TESTS_FAULT_LOOP_H
#define LP_TESTS_FAULT_LOOP_H

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* One armed fault; it must live until it is disarmed. */
struct fault_loop {
    enum lp_fault_site site;
    uint32_t nth;   /* the call of site that fails, from 1 */
    uint32_t calls; /* calls of site since it was armed */
};

#define FAULT_LOOP(loop, fault_site)                                                               \
    for (fault_loop_start((loop), (fault_site)); fault_loop_next(loop);)

/* What FAULT_LOOP does before and between rounds. fault_loop_next aborts after 10,000 rounds: the
 * code under test then cannot succeed at all. */
void fault_loop_start(struct fault_loop *loop, enum lp_fault_site site);
bool fault_loop_next(struct fault_loop *loop);

/* True when the armed call has come, so that the code under test was made to fail. */
bool fault_loop_hit(const struct fault_loop *loop);

/* Without a loop: the nth call of site from now on fails, once. Replaces what was armed before. */
void fault_arm(struct fault_loop *fault, enum lp_fault_site site, uint32_t nth);

/* No call fails any more. */
void fault_disarm(void);

#endif
