/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sizing.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <errno.h>
#include <sys/resource.h>

/* Beside chunks and clients: standard streams, loop, signals, listener, files, answers on their
 * way with 32 duplicates each. */
#define SIZING_OTHER_DESCRIPTORS 128u

uint64_t lp_daemon_sizing_chunk_bytes(uint64_t pool_bytes, uint64_t wanted_bytes)
{
    uint64_t chunk = wanted_bytes;

    while (chunk / 2 >= LP_SHM_CHUNK_BYTES_MIN && pool_bytes / chunk < LP_DAEMON_SIZING_CHUNKS_MIN)
        chunk /= 2;
    return chunk;
}

static int pool_bytes_of(const struct lp_config *config, const struct lp_store_params *params,
                         uint64_t *ret_bytes, struct lp_error *err)
{
    const struct lp_size size = lp_conf_size(config, LP_CONF_POOL_SIZE);
    struct lp_budget budget;
    int rc;

    if (size.percent == 0) {
        *ret_bytes = size.bytes;
        return 0;
    }
    LP_TRY(rc, lp_store_budget_measure("", params->reserve_bytes, params->lock == LP_STORE_LOCK_ON,
                                       &budget, err));
    const uint64_t bytes = budget.have_bytes / 100 * size.percent;
    if (bytes < 2 * LP_SHM_CHUNK_BYTES_MIN)
        return lp_error_set(err, LP_ELIMIT,
                            "pool.size: %u%% of %llu bytes (%s, after pool.reserve) is no pool; "
                            "set pool.size, or lower pool.reserve",
                            size.percent, (unsigned long long)budget.have_bytes, budget.source);
    *ret_bytes = bytes;
    return 0;
}

int lp_daemon_sizing_params(const struct lp_config *config, struct lp_store_params *params,
                            struct lp_error *err)
{
    const uint64_t chunk = lp_conf_number(config, LP_CONF_POOL_CHUNK);
    char chunk_text[24], pool_text[24];
    int rc;

    params->reserve_bytes = lp_conf_number(config, LP_CONF_POOL_RESERVE);
    params->lock = (enum lp_store_lock)lp_conf_number(config, LP_CONF_POOL_LOCK);
    params->create_ttl_ns = lp_conf_number(config, LP_CONF_STORE_CREATE_TTL_MS) * LP_NS_PER_MS;
    LP_TRY(rc, pool_bytes_of(config, params, &params->pool_bytes, err));
    params->chunk_bytes = lp_conf_is_default(config, LP_CONF_POOL_CHUNK)
                              ? lp_daemon_sizing_chunk_bytes(params->pool_bytes, chunk)
                              : chunk;
    if (params->chunk_bytes > params->pool_bytes / 2)
        return lp_error_set(err, LP_EINVAL,
                            "pool.chunk: two chunks of %s do not fit into a pool of %s",
                            lp_conf_size_write(params->chunk_bytes, chunk_text),
                            lp_conf_size_write(params->pool_bytes, pool_text));
    return 0;
}

int lp_daemon_sizing_descriptors(uint64_t n_chunks, uint64_t n_clients, struct lp_error *err)
{
    const uint64_t need = n_chunks + n_clients + SIZING_OTHER_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "limit of descriptors");
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        /* Failure leaves the old limit, which then is compared. */
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (need > limit.rlim_cur)
        return lp_error_set(err, LP_ELIMIT,
                            "descriptors: need %llu, have %llu; raise LimitNOFILE (ulimit -n), or "
                            "take larger pool.chunk or fewer control.max_clients",
                            (unsigned long long)need, (unsigned long long)limit.rlim_cur);
    return 0;
}

LP_STATIC_ASSERT(LP_STORE_LOCK_AUTO == 0 && LP_STORE_LOCK_ON == 1 && LP_STORE_LOCK_OFF == 2,
                 "order of the words in pool.lock, config/options.def");
