/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sizing.h"

#include <criterion/criterion.h>

#include <string.h>
#include <sys/resource.h>

static struct lp_config config;

static void setup(void)
{
    lp_conf_init(&config);
}

TestSuite(daemon_sizing, .init = setup);

static void set(const char *key, const char *value)
{
    cr_assert_eq(lp_conf_set(&config, key, value, LP_CONF_FROM_FLAG, NULL), 0);
}

/* The default chunk shrinks by halves until a pool has eight, and stays at 8 MiB and more. */
Test(daemon_sizing, shrinks_the_default_chunk)
{
    static const struct {
        uint64_t pool, chunk;
    } rows[] = {
        {1024 * LP_GIB, LP_GIB},   {8 * LP_GIB, LP_GIB},       {8 * LP_GIB - 1, 512 * LP_MIB},
        {LP_GIB, 128 * LP_MIB},    {100 * LP_MIB, 8 * LP_MIB}, {64 * LP_MIB, 8 * LP_MIB},
        {16 * LP_MIB, 8 * LP_MIB},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        cr_assert_eq(lp_daemon_sizing_chunk_bytes(rows[i].pool, LP_GIB), rows[i].chunk, "row %zu",
                     i);
}

/* A chunk that was given is taken as it is, or refused; never changed. */
Test(daemon_sizing, takes_a_given_chunk_as_it_is)
{
    struct lp_store_params params = {0};
    struct lp_error err = LP_ERROR_INIT;

    set("pool.size", "4GiB");
    cr_assert_eq(lp_daemon_sizing_params(&config, &params, &err), 0, "%s", err.text);
    cr_assert_eq(params.chunk_bytes, 512 * LP_MIB);
    set("pool.chunk", "1GiB");
    cr_assert_eq(lp_daemon_sizing_params(&config, &params, &err), 0, "%s", err.text);
    cr_assert_eq(params.chunk_bytes, LP_GIB);
    cr_assert_eq(params.create_ttl_ns, UINT64_C(30000000000));
    set("pool.chunk", "4GiB");
    cr_assert_eq(lp_daemon_sizing_params(&config, &params, &err), LP_EINVAL);
    cr_assert_str_eq(err.text, "pool.chunk: two chunks of 4GiB do not fit into a pool of 4GiB");
}

/* A share is one of the budget; a budget that is all reserve says so. */
Test(daemon_sizing, takes_shares_of_the_budget)
{
    struct lp_store_params whole = {0}, half = {0};
    struct lp_error err = LP_ERROR_INIT;

    set("pool.reserve", "0");
    set("pool.size", "100%");
    cr_assert_eq(lp_daemon_sizing_params(&config, &whole, &err), 0, "%s", err.text);
    set("pool.size", "50%");
    cr_assert_eq(lp_daemon_sizing_params(&config, &half, &err), 0, "%s", err.text);
    cr_assert_lt(half.pool_bytes, whole.pool_bytes / 10 * 6);
    cr_assert_gt(half.pool_bytes, whole.pool_bytes / 10 * 4);
    set("pool.reserve", "1000T");
    cr_assert_eq(lp_daemon_sizing_params(&config, &half, &err), LP_ELIMIT);
    cr_assert_not_null(strstr(err.text, "lower pool.reserve"), "%s", err.text);
}

/* Descriptors are counted before anything is made, and the soft limit is raised. */
Test(daemon_sizing, budgets_descriptors)
{
    struct rlimit limit = {300, 400};
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(lp_daemon_sizing_descriptors(16, 256, &err), 0, "%s", err.text);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(limit.rlim_cur, 400);
    cr_assert_eq(lp_daemon_sizing_descriptors(17, 256, &err), LP_ELIMIT);
    cr_assert_str_eq(err.text, "descriptors: need 401, have 400; raise LimitNOFILE (ulimit -n), or "
                               "take larger pool.chunk or fewer control.max_clients");
}
