/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a pool may take: cgroup room (v1 and v2), MemAvailable and, where memory must be locked, RLIMIT_MEMLOCK. Asked before anything is allocated. */
#ifndef LP_STORE_BUDGET_H
#define LP_STORE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct lp_budget {
    uint64_t have_bytes;       /* least of the limits, after the reserve */
    uint64_t mem_available_bytes, cgroup_bytes, memlock_bytes; /* UINT64_MAX: no such limit */
    uint64_t reserve_bytes;
    char source[48];           /* which limit is the least: "MemAvailable", "cgroup v2", ... */
};

/* Measure. root: "" or a folder that stands for / (tests). with_memlock: RLIMIT_MEMLOCK counts, unless CAP_IPC_LOCK is held. */
int lp_store_budget_measure(const char *root, uint64_t reserve_bytes, bool with_memlock, struct lp_budget *ret_budget, struct lp_error *err);

/* LP_ELIMIT with need, have and remedy. */
int lp_store_budget_check(const struct lp_budget *budget, uint64_t need_bytes, struct lp_error *err);

#endif
