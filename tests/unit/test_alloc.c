/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <stdint.h>
#include <string.h>

/* A size of 0 must not look like a failure. */
Test(base_alloc, zero_bytes_are_a_valid_pointer)
{
    void *a = lp_mem_alloc(0);
    void *b = lp_mem_zalloc(0);
    void *c = lp_mem_alloc_array(0, 16);
    void *d = lp_mem_alloc_aligned(64, 0);

    cr_assert(a != NULL && b != NULL && c != NULL && d != NULL);
    lp_mem_free(a);
    lp_mem_free(b);
    lp_mem_free(c);
    lp_mem_free(d);
    lp_mem_free(NULL);
    ASSERT_NO_LEAK();
}

/* A product that does not fit gives NULL instead of a small block. */
Test(base_alloc, array_overflow_is_refused)
{
    char *kept = lp_mem_strdup("kept");

    cr_assert_null(lp_mem_alloc_array(SIZE_MAX / 2 + 1, 2));
    cr_assert_null(lp_mem_realloc_array(kept, SIZE_MAX / 8 + 1, 8));
    cr_assert_str_eq(kept, "kept");
    lp_mem_free(kept);
    ASSERT_NO_LEAK();
}

/* Growing keeps what was there. */
Test(base_alloc, realloc_keeps_content)
{
    uint32_t *numbers = lp_mem_realloc_array(NULL, 2, sizeof(*numbers));

    cr_assert_not_null(numbers);
    numbers[0] = 1;
    numbers[1] = 2;
    uint32_t *more = lp_mem_realloc_array(numbers, 1000, sizeof(*numbers));
    cr_assert_not_null(more);
    cr_assert(more[0] == 1 && more[1] == 2);
    lp_mem_free(more);
    ASSERT_NO_LEAK();
}

/* Every power of two is honoured, also those below the size of a pointer. */
Test(base_alloc, aligned_is_aligned)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *memory = lp_mem_alloc_aligned(align, 100);
        cr_assert_not_null(memory);
        cr_assert_eq((uintptr_t)memory % align, 0);
        memset(memory, 1, 100);
        lp_mem_free(memory);
    }
    ASSERT_NO_LEAK();
}

/* zalloc is all zeros. */
Test(base_alloc, zalloc_is_zero)
{
    unsigned char *bytes = lp_mem_zalloc(300);

    cr_assert_not_null(bytes);
    for (size_t i = 0; i < 300; i++)
        cr_assert_eq(bytes[i], 0);
    lp_mem_free(bytes);
}

/* Each function of the family passes the fault site, exactly once. */
Test(base_alloc, every_allocation_can_be_made_to_fail)
{
    struct fault_loop fault;

    fault_arm(&fault, LP_FAULT_ALLOC, 1);
    cr_assert_null(lp_mem_alloc(1));
    fault_arm(&fault, LP_FAULT_ALLOC, 1);
    cr_assert_null(lp_mem_zalloc(1));
    fault_arm(&fault, LP_FAULT_ALLOC, 1);
    cr_assert_null(lp_mem_alloc_array(1, 1));
    fault_arm(&fault, LP_FAULT_ALLOC, 1);
    cr_assert_null(lp_mem_realloc_array(NULL, 1, 1));
    fault_arm(&fault, LP_FAULT_ALLOC, 1);
    cr_assert_null(lp_mem_alloc_aligned(64, 1));
    fault_arm(&fault, LP_FAULT_ALLOC, 1);
    cr_assert_null(lp_mem_strdup("x"));
    cr_assert_eq(fault.calls, 1);
    fault_disarm();
}
