/* SPDX-License-Identifier: Apache-2.0 */
#include "store/budget.h"
#include "tests/lib/fake_host.h"

#include <criterion/criterion.h>

#include <string.h>
#include <sys/resource.h>

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

static struct fake_host host;

static void init(void)
{
    fake_host_init(&host, 1024 * KIB); /* 1 GiB available */
}

static void fini(void)
{
    fake_host_fini(&host);
}

TestSuite(store_budget, .init = init, .fini = fini);

static struct lp_budget measure(uint64_t reserve, bool with_memlock)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_budget budget;

    cr_assert_eq(lp_store_budget_measure(host.dir.path, reserve, with_memlock, &budget, &err), 0,
                 "%s", err.text);
    return budget;
}

static void limit_memlock(rlim_t bytes)
{
    const struct rlimit limit = {bytes, bytes};

    cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

static void join_group(const char *limit, const char *usage)
{
    fake_host_write(&host, "/proc/self/cgroup", "0::/g\n");
    fake_host_write(&host, "/proc/self/mountinfo",
                    "38 31 0:35 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_host_group_v2(&host, "/sys/fs/cgroup/g", limit, usage, NULL);
}

Test(store_budget, takes_what_is_available_less_the_reserve)
{
    const struct lp_budget budget = measure(24 * MIB, false);

    cr_assert_eq(budget.have_bytes, 1000 * MIB);
    cr_assert_eq(budget.mem_available_bytes, 1024 * MIB);
    cr_assert_eq(budget.cgroup_bytes, UINT64_MAX);
    cr_assert_str_eq(budget.source, "MemAvailable");
    cr_assert_eq(measure(4096 * MIB, false).have_bytes, 0, "never below nothing");
}

Test(store_budget, takes_the_group_where_it_is_tighter)
{
    join_group("67108864\n", "4194304\n");
    const struct lp_budget budget = measure(10 * MIB, false);

    cr_assert_eq(budget.have_bytes, 50 * MIB);
    cr_assert_eq(budget.cgroup_bytes, 60 * MIB);
    cr_assert_str_eq(budget.source, "cgroup v2 /g");
    join_group("max\n", "4194304\n");
    cr_assert_str_eq(measure(0, false).source, "MemAvailable");
}

/* RLIMIT_MEMLOCK counts when everything must be locked, is told in any case, and the reserve, which
 * is other people's memory, is not taken off it. */
Test(store_budget, counts_memlock_where_locking_is_a_must)
{
    limit_memlock(8 * MIB);
    cr_assert_eq(measure(MIB, false).have_bytes, 1023 * MIB);
    cr_assert_eq(measure(MIB, false).memlock_bytes, 8 * MIB);
    const struct lp_budget budget = measure(MIB, true);
    cr_assert_eq(budget.have_bytes, 8 * MIB);
    cr_assert_str_eq(budget.source, "RLIMIT_MEMLOCK");
}

/* CAP_IPC_LOCK lifts the limit: bit 14 of CapEff. */
Test(store_budget, ignores_memlock_with_the_capability)
{
    limit_memlock(8 * MIB);
    fake_host_write(&host, "/proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
    cr_assert_eq(measure(0, true).memlock_bytes, UINT64_MAX);
    cr_assert_eq(measure(0, true).have_bytes, 1024 * MIB);
    fake_host_write(&host, "/proc/self/status", "Name:\tx\nCapEff:\tffffffffffffbfff\n");
    cr_assert_eq(measure(0, true).memlock_bytes, 8 * MIB);
}

Test(store_budget, says_need_have_and_remedy)
{
    struct lp_error err = LP_ERROR_INIT;

    join_group("67108864\n", "4194304\n");
    const struct lp_budget budget = measure(10 * MIB, false);
    cr_assert_eq(lp_store_budget_check(&budget, 50 * MIB, &err), 0);
    cr_assert_eq(lp_store_budget_check(&budget, 50 * MIB + 1, &err), LP_ELIMIT);
    cr_assert_str_eq(err.text, "need 52428801 bytes, have 52428800 (cgroup v2 /g, reserve "
                               "10485760): raise the group's limit, or lower pool.size or "
                               "pool.reserve");
    limit_memlock(MIB);
    const struct lp_budget locked = measure(0, true);
    cr_assert_eq(lp_store_budget_check(&locked, 2 * MIB, &err), LP_ELIMIT);
    cr_assert_not_null(strstr(err.text, "LimitMEMLOCK=infinity"), "%s", err.text);
}

Test(store_budget, refuses_what_it_does_not_understand)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_budget budget = {.have_bytes = 9};

    fake_host_write(&host, "/proc/meminfo", "MemTotal: 5 kB\n");
    cr_assert_eq(lp_store_budget_measure(host.dir.path, 0, false, &budget, &err), LP_EIO);
    cr_assert_not_null(strstr(err.text, "MemAvailable"));
    fake_host_write(&host, "/proc/meminfo", "MemAvailable: 18446744073709551615 kB\n");
    cr_assert_eq(lp_store_budget_measure(host.dir.path, 0, false, &budget, &err), LP_EIO);
    fake_host_write(&host, "/proc/meminfo", "MemAvailable: 5 kB\n");
    fake_host_write(&host, "/proc/self/status", "Name: x\n");
    cr_assert_eq(lp_store_budget_measure(host.dir.path, 0, false, &budget, &err), LP_EIO);
    cr_assert_eq(budget.have_bytes, 9, "untouched on failure");
}

/* On the machine at hand: it measures, and the figures hang together. */
Test(store_budget, measures_this_host)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_budget budget;

    cr_assert_eq(lp_store_budget_measure("", 0, false, &budget, &err), 0, "%s", err.text);
    cr_assert_gt(budget.have_bytes, 0);
    cr_assert_leq(budget.have_bytes, budget.mem_available_bytes);
    cr_assert_leq(budget.have_bytes, budget.cgroup_bytes);
}
