/* SPDX-License-Identifier: Apache-2.0 */
/* CPU tiers by the compiler's own probe, which also asks whether the kernel saves the registers. */
#include "base/cpu.h"

#include "base/atomic.h"
#include "base/bytes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Strongest first. */
static const struct {
    const char *name;
    uint32_t flag;
} tiers[] = {
    {"avx512", LP_CPU_AVX512},
    {"avx2", LP_CPU_AVX2},
    {"neon", LP_CPU_NEON},
};

/* Set in the cached word once it is valid, so that "no tier" can be told from "not asked yet". */
#define CPU_KNOWN (UINT32_C(1) << 31)

static uint32_t cached_flags;

#if defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("avx512bitalg");
}
#endif

uint32_t lp_cpu_detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return (has_avx2() ? LP_CPU_AVX2 : 0) | (has_avx512() ? LP_CPU_AVX512 : 0);
#elif defined(__aarch64__)
    return LP_CPU_NEON; /* part of the base architecture */
#else
    return 0;
#endif
}

/* The flags of one name of length bytes; 0 when no tier has it. */
static uint32_t tier_flag(const char *name, size_t length)
{
    uint32_t all = 0;

    for (size_t i = 0; i < LP_ARRAY_LEN(tiers); i++) {
        all |= tiers[i].flag;
        if (strlen(tiers[i].name) == length && memcmp(tiers[i].name, name, length) == 0)
            return tiers[i].flag;
    }
    return length == 3 && memcmp(name, "all", 3) == 0 ? all : 0;
}

int lp_cpu_mask(const char *list, uint32_t *flags, struct lp_error *err)
{
    uint32_t off = 0;

    for (const char *name = list; name != NULL && *name != '\0';) {
        const size_t length = strcspn(name, ",");
        const uint32_t flag = tier_flag(name, length);
        if (flag == 0)
            return lp_error_set(err, LP_ENAME, "CPU tier \"%.*s\" is none of avx512, avx2, neon",
                                (int)LP_MIN(length, 32), name);
        off |= flag;
        name += length + (name[length] == ',' ? 1 : 0);
    }
    *flags &= ~off;
    return 0;
}

uint32_t lp_cpu_flags(void)
{
    uint32_t flags = lp_atomic_load_relaxed_u32(&cached_flags);

    if (flags != 0)
        return flags & ~CPU_KNOWN;
    /* Threads that get here together compute the same word. */
    flags = lp_cpu_detect();
    (void)lp_cpu_mask(getenv("LANEPACK_CPU_MASK"), &flags, NULL);
    lp_atomic_store_relaxed_u32(&cached_flags, flags | CPU_KNOWN);
    return flags;
}

const char *lp_cpu_tier_name(uint32_t flags)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(tiers); i++) {
        if (flags & tiers[i].flag)
            return tiers[i].name;
    }
    return "scalar";
}
