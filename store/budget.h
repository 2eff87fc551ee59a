/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a pool may take, asked before anything is allocated.
 *
 * The least of: MemAvailable; for each memory cgroup from our own up to the root (v1 and v2, as
 * mounted here) its limit - usage + file pages that it could drop; and RLIMIT_MEMLOCK where the
 * pool must be locked and CAP_IPC_LOCK is not held. Source: proc(5), cgroups(7), kernel
 * documentation "Control Group v2" (memory.max, memory.high, memory.current, memory.stat). */
#ifndef LP_STORE_BUDGET_H
#define LP_STORE_BUDGET_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct lp_budget {
    uint64_t have_bytes; /* what a pool may take: the least of the limits, after the reserve */
    uint64_t mem_available_bytes;
    uint64_t cgroup_bytes;  /* room of the tightest group; UINT64_MAX: no group has a limit */
    uint64_t memlock_bytes; /* what may be locked; UINT64_MAX: everything */
    uint64_t reserve_bytes;
    char source[48]; /* which limit is the least: "MemAvailable", "cgroup v2 /a/b" (its
                        end, when too long), "RLIMIT_MEMLOCK" */
};

/* Measure.
 *
 * root            "" or a folder that stands for / (tests)
 * reserve_bytes   left to others; not taken off RLIMIT_MEMLOCK, which is ours alone
 * with_memlock    RLIMIT_MEMLOCK counts for have_bytes; memlock_bytes is measured in any case
 *
 * LP_EIO: what the kernel says cannot be read or understood, with the path; LP_ENOMEM. */
int lp_store_budget_measure(const char *root, uint64_t reserve_bytes, bool with_memlock,
                            struct lp_budget *ret_budget, struct lp_error *err);

/* 0 when need_bytes fit, else LP_ELIMIT with need, have, where that comes from, and the remedy. */
int lp_store_budget_check(const struct lp_budget *budget, uint64_t need_bytes,
                          struct lp_error *err);

#endif
