/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"
#include "codec/ops.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

/* Each test is a process of its own, so the choice is made anew. */
static const char *tier_with_mask(const char *mask)
{
    cr_assert_eq(setenv("LANEPACK_CPU_MASK", mask, 1), 0);
    return lp_codec_ops()->tier;
}

/* With every tier masked the reference is left. */
Test(codec_ops, all_masked_is_scalar)
{
    cr_assert_str_eq(tier_with_mask("all"), "scalar");
}

/* Nothing masked: the strongest tier that is built. */
Test(codec_ops, nothing_masked_is_the_strongest)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n = lp_codec_ops_tiers(tiers);

    cr_assert_geq(n, 1);
    cr_assert_str_eq(tiers[0]->tier, "scalar");
    cr_assert_str_eq(tier_with_mask(""), tiers[n - 1]->tier);
}

/* A tier that is masked takes those that stand on it along; weaker ones stay. */
Test(codec_ops, mask_takes_one_tier)
{
    const uint32_t flags = lp_cpu_detect();

    if ((flags & LP_CPU_AVX2) == 0)
        cr_skip_test("no AVX2 here");
    cr_assert_str_eq(tier_with_mask("avx512"), "avx2");
}

Test(codec_ops, masking_avx2_takes_avx512_along)
{
    cr_assert_str_eq(tier_with_mask("avx2"), "scalar");
}

/* Whatever the tier, each function is there: the table is pointers and nothing else, and a new one
 * is asked for by itself. */
Test(codec_ops, tiers_are_complete)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n = lp_codec_ops_tiers(tiers);
    void (*entry)(void);

    cr_assert_eq(sizeof(*tiers[0]) % sizeof(entry), 0);
    for (int i = 0; i < n; i++) {
        for (size_t at = 0; at < sizeof(*tiers[i]); at += sizeof(entry)) {
            memcpy(&entry, (const char *)tiers[i] + at, sizeof(entry));
            cr_assert(entry != NULL, "tier %s, entry at byte %zu", tiers[i]->tier, at);
        }
    }
}
