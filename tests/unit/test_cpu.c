/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <criterion/criterion.h>

#include <stdlib.h>

#define ALL_TIERS (LP_CPU_AVX2 | LP_CPU_AVX512 | LP_CPU_NEON)

/* Named tiers go, the others stay. */
Test(base_cpu, mask_takes_named_tiers_out)
{
    uint32_t flags = ALL_TIERS;

    cr_assert_eq(lp_cpu_mask("avx512", &flags, NULL), 0);
    cr_assert_eq(flags, LP_CPU_AVX2 | LP_CPU_NEON);
    cr_assert_eq(lp_cpu_mask("neon,avx2", &flags, NULL), 0);
    cr_assert_eq(flags, 0);
}

/* "all" leaves scalar; nothing named leaves everything. */
Test(base_cpu, mask_all_and_none)
{
    uint32_t flags = ALL_TIERS;

    cr_assert_eq(lp_cpu_mask(NULL, &flags, NULL), 0);
    cr_assert_eq(lp_cpu_mask("", &flags, NULL), 0);
    cr_assert_eq(flags, ALL_TIERS);
    cr_assert_eq(lp_cpu_mask("all", &flags, NULL), 0);
    cr_assert_eq(flags, 0);
    cr_assert_str_eq(lp_cpu_tier_name(flags), "scalar");
}

/* A misspelt name is told and changes nothing. */
Test(base_cpu, mask_refuses_unknown_names)
{
    static const char *const bad[] = {"avx",      ",avx2", "avx2,,neon",
                                      "avx2,sse", "AVX2",  "avx2 ,neon"};
    struct lp_error err = LP_ERROR_INIT;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint32_t flags = ALL_TIERS;
        cr_expect_eq(lp_cpu_mask(bad[i], &flags, &err), LP_ENAME, "%s", bad[i]);
        cr_expect_eq(flags, ALL_TIERS);
    }
}

/* The environment narrows what was detected, and the answer stays the same afterwards. */
Test(base_cpu, environment_masks_once)
{
    cr_assert_eq(setenv("LANEPACK_CPU_MASK", "all", 1), 0);
    cr_assert_eq(lp_cpu_flags(), 0);
    cr_assert_eq(unsetenv("LANEPACK_CPU_MASK"), 0);
    cr_assert_eq(lp_cpu_flags(), 0);
}

/* AVX-512 is only reported together with AVX2, which its code may use as well. */
Test(base_cpu, tiers_are_nested)
{
    const uint32_t flags = lp_cpu_detect();

    if (flags & LP_CPU_AVX512)
        cr_assert(flags & LP_CPU_AVX2);
    cr_assert_not_null(lp_cpu_tier_name(flags));
}
