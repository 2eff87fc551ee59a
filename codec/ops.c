/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tiers: scalar first, each stronger tier on top of it where the CPU has what it
 * needs. */
#include "codec/ops.h"

#include "base/cpu.h"

#include <pthread.h>

static struct lp_codec_ops tiers[LP_CODEC_TIERS_MAX];
static uint32_t tier_flag[LP_CODEC_TIERS_MAX];
static int n_tiers;
static const struct lp_codec_ops *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A tier stands on those before it and needs what they need. */
static void add_tier(uint32_t flag, void (*fill)(struct lp_codec_ops *ops))
{
    if (n_tiers > 0) {
        tiers[n_tiers] = tiers[n_tiers - 1];
        flag |= tier_flag[n_tiers - 1];
    }
    fill(&tiers[n_tiers]);
    tier_flag[n_tiers++] = flag;
}

static void fill_tiers(void)
{
    const uint32_t allowed = lp_cpu_flags();

    add_tier(0, lp_codec_ops_scalar_fill);
#if defined(__x86_64__)
    if (lp_cpu_detect() & LP_CPU_AVX2)
        add_tier(LP_CPU_AVX2, lp_codec_ops_avx2_fill);
    if (lp_cpu_detect() & LP_CPU_AVX512)
        add_tier(LP_CPU_AVX512, lp_codec_ops_avx512_fill);
#elif defined(__aarch64__)
    if (lp_cpu_detect() & LP_CPU_NEON)
        add_tier(LP_CPU_NEON, lp_codec_ops_neon_fill);
#endif
    for (int i = 0; i < n_tiers; i++) {
        if ((tier_flag[i] & ~allowed) == 0)
            chosen = &tiers[i];
    }
}

const struct lp_codec_ops *lp_codec_ops(void)
{
    (void)pthread_once(&once, fill_tiers);
    return chosen;
}

int lp_codec_ops_tiers(const struct lp_codec_ops *ret_ops[LP_CODEC_TIERS_MAX])
{
    (void)pthread_once(&once, fill_tiers);
    for (int i = 0; i < n_tiers; i++)
        ret_ops[i] = &tiers[i];
    return n_tiers;
}
