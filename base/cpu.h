/* SPDX-License-Identifier: Apache-2.0 */
/* What this CPU can do, as the tiers that the code has; scalar is always there. */
#ifndef LP_BASE_CPU_H
#define LP_BASE_CPU_H

#include "base/error.h"

#include <stdint.h>

#define LP_CPU_AVX2 (UINT32_C(1) << 0)   /* AVX2, BMI, BMI2, POPCNT */
#define LP_CPU_AVX512 (UINT32_C(1) << 1) /* that and F, BW, VL, DQ, VBMI, VBMI2, BITALG */
#define LP_CPU_NEON (UINT32_C(1) << 2)

/* Tiers that CPU and kernel support, less those named in LANEPACK_CPU_MASK. Found at the first
 * call and the same ever after; any thread. */
uint32_t lp_cpu_flags(void);

/* Tiers that CPU and kernel support, whatever the environment says. */
uint32_t lp_cpu_detect(void);

/* Take the tiers named in list ("avx512,avx2"; "all"; NULL or empty: none) out of *flags.
 * Returns 0, or LP_ENAME for a name that no tier has; *flags is then untouched. Programs call this
 * on their environment at start to report a misspelt name; lp_cpu_flags() then ignores the list. */
int lp_cpu_mask(const char *list, uint32_t *flags, struct lp_error *err);

/* "avx512", "avx2", "neon" or "scalar": the strongest tier in flags, for logs and results. */
const char *lp_cpu_tier_name(uint32_t flags);

#endif
