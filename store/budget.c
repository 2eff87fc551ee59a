/* SPDX-License-Identifier: Apache-2.0 */
#include "store/budget.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/cgroup.h"
#include "store/procfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define CAP_IPC_LOCK_BIT 14u /* capability.h of the kernel */

static int read_mem_available(const char *root, uint64_t *ret_bytes, struct lp_error *err)
{
    uint64_t kib;
    char *text;
    int rc;

    LP_TRY(rc, lp_store_procfile_read(root, "/proc/meminfo", &text, err));
    const bool found = lp_store_procfile_find(text, "MemAvailable:", &kib);
    lp_mem_free(text);
    if (!found || !lp_mul_u64(kib, 1024, ret_bytes))
        return lp_error_set(err, LP_EIO, "%s/proc/meminfo: no usable MemAvailable", root);
    return 0;
}

/* Effective capabilities stand in /proc/self/status as hexadecimal digits. */
static int read_ipc_lock(const char *root, bool *ret_held, struct lp_error *err)
{
    static const char key[] = "\nCapEff:";
    char *text;
    int rc;

    LP_TRY(rc, lp_store_procfile_read(root, "/proc/self/status", &text, err));
    const char *at = strstr(text, key);
    const unsigned long long caps = at != NULL ? strtoull(at + strlen(key), NULL, 16) : 0;
    lp_mem_free(text);
    if (at == NULL)
        return lp_error_set(err, LP_EIO, "%s/proc/self/status: no CapEff", root);
    *ret_held = ((caps >> CAP_IPC_LOCK_BIT) & 1) != 0;
    return 0;
}

static int read_memlock(const char *root, uint64_t *ret_bytes, struct lp_error *err)
{
    struct rlimit limit;
    bool held;
    int rc;

    LP_TRY(rc, read_ipc_lock(root, &held, err));
    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "getrlimit(RLIMIT_MEMLOCK)");
    *ret_bytes = held || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
    return 0;
}

int lp_store_budget_measure(const char *root, uint64_t reserve_bytes, bool with_memlock,
                            struct lp_budget *ret_budget, struct lp_error *err)
{
    struct lp_budget budget = {.reserve_bytes = reserve_bytes};
    char label[sizeof(budget.source)];
    int rc;

    LP_TRY(rc, read_mem_available(root, &budget.mem_available_bytes, err));
    LP_TRY(rc, lp_store_cgroup_room(root, &budget.cgroup_bytes, label, sizeof(label), err));
    LP_TRY(rc, read_memlock(root, &budget.memlock_bytes, err));
    const bool in_group = budget.cgroup_bytes < budget.mem_available_bytes;
    budget.have_bytes = LP_MIN(budget.cgroup_bytes, budget.mem_available_bytes);
    budget.have_bytes -= LP_MIN(budget.have_bytes, reserve_bytes);
    (void)snprintf(budget.source, sizeof(budget.source), "%s", in_group ? label : "MemAvailable");
    if (with_memlock && budget.memlock_bytes < budget.have_bytes) {
        budget.have_bytes = budget.memlock_bytes;
        (void)snprintf(budget.source, sizeof(budget.source), "RLIMIT_MEMLOCK");
    }
    *ret_budget = budget;
    return 0;
}

static const char *remedy_of(const struct lp_budget *budget)
{
    if (strcmp(budget->source, "RLIMIT_MEMLOCK") == 0)
        return "raise it (LimitMEMLOCK=infinity in the unit), or set pool.lock=auto";
    if (strcmp(budget->source, "MemAvailable") == 0)
        return "free memory, or lower pool.size or pool.reserve";
    return "raise the group's limit, or lower pool.size or pool.reserve";
}

int lp_store_budget_check(const struct lp_budget *budget, uint64_t need_bytes, struct lp_error *err)
{
    if (need_bytes <= budget->have_bytes)
        return 0;
    return lp_error_set(err, LP_ELIMIT, "need %llu bytes, have %llu (%s, reserve %llu): %s",
                        (unsigned long long)need_bytes, (unsigned long long)budget->have_bytes,
                        budget->source, (unsigned long long)budget->reserve_bytes,
                        remedy_of(budget));
}
