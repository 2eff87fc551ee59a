/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

/* Two allocations that are both needed. */
static int make_pair(void **ret_a, void **ret_b)
{
    void *a = lp_mem_alloc(8);
    void *b = lp_mem_alloc(8);

    if (a == NULL || b == NULL) {
        lp_mem_free(a);
        lp_mem_free(b);
        return -1;
    }
    *ret_a = a;
    *ret_b = b;
    return 0;
}

/* Each call fails once, then a round runs undisturbed and the hook is gone. */
Test(tests_fault_loop, visits_every_call_and_ends)
{
    struct fault_loop loop;
    void *a = NULL, *b = NULL;
    int good = 0, failed = 0;

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = make_pair(&a, &b);
        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, -1);
            failed++;
            continue;
        }
        cr_assert_eq(rc, 0);
        good++;
        lp_mem_free(a);
        lp_mem_free(b);
    }
    cr_assert_eq(failed, 2);
    cr_assert_eq(good, 1);
    cr_assert_not(lp_fault(LP_FAULT_ALLOC));
    ASSERT_NO_LEAK();
}

/* Other sites are left alone. */
Test(tests_fault_loop, touches_one_site_only)
{
    struct fault_loop fault;

    fault_arm(&fault, LP_FAULT_MMAP, 1);
    cr_assert_not(lp_fault(LP_FAULT_ALLOC));
    cr_assert(lp_fault(LP_FAULT_MMAP));
    cr_assert_not(lp_fault(LP_FAULT_MMAP));
    fault_disarm();
}
