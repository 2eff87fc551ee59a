/* SPDX-License-Identifier: Apache-2.0 */
/* Life and state of a store; what its objects do is in catalog.c and seal.c. */
#include "store/store.h"

#include "base/alloc.h"
#include "store/store_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES                                                                            \
    (2ull << 20)              /* chunks are multiples, so that large pages could back them         \
                               */
#define CHUNKS_MAX (1u << 20) /* no host allows more descriptors */
#define FDS_FOR_OTHERS 32u    /* what the process needs beside one per chunk, at least */

/* --- new ------------------------------------------------------------------------------------- */

static int check_params(const struct lp_store_params *params, uint32_t *ret_n_chunks,
                        struct lp_error *err)
{
    const uint64_t chunk = params->chunk_bytes;

    if (chunk < LP_SHM_CHUNK_BYTES_MIN || chunk > LP_SHM_CHUNK_BYTES_MAX ||
        chunk % HUGE_PAGE_BYTES != 0)
        return lp_error_set(err, LP_EINVAL,
                            "chunks of %llu bytes: want a multiple of %llu from %llu to %llu",
                            (unsigned long long)chunk, HUGE_PAGE_BYTES, LP_SHM_CHUNK_BYTES_MIN,
                            LP_SHM_CHUNK_BYTES_MAX);
    const uint64_t n = params->pool_bytes / chunk;
    if (n < 2 || n > CHUNKS_MAX)
        return lp_error_set(err, LP_EINVAL,
                            "a pool of %llu bytes has %llu chunks of %llu: want 2 to %u",
                            (unsigned long long)params->pool_bytes, (unsigned long long)n,
                            (unsigned long long)chunk, CHUNKS_MAX);
    if (params->epoch == 0 || params->now_ns == NULL)
        return lp_error_set(err, LP_EINVAL, "a store needs an epoch that is not 0, and a clock");
    *ret_n_chunks = (uint32_t)n;
    return 0;
}

/* Each chunk keeps a descriptor open. */
static int check_descriptors(uint32_t n_chunks, struct lp_error *err)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "getrlimit(RLIMIT_NOFILE)");
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= (rlim_t)n_chunks + FDS_FOR_OTHERS)
        return 0;
    return lp_error_set(err, LP_ELIMIT,
                        "need %u descriptors, have %llu (RLIMIT_NOFILE): raise it, or pool.chunk",
                        n_chunks + FDS_FOR_OTHERS, (unsigned long long)limit.rlim_cur);
}

/* Everything that can be refused without taking memory. */
static int check_limits(const struct lp_store_params *params, uint32_t n_chunks,
                        struct lp_budget *ret_budget, struct lp_error *err)
{
    const char *root = params->budget_root != NULL ? params->budget_root : "";
    int rc;

    LP_TRY(rc, lp_store_budget_measure(root, params->reserve_bytes,
                                       params->lock == LP_STORE_LOCK_ON, ret_budget, err));
    LP_TRY(rc, lp_store_budget_check(ret_budget, n_chunks * params->chunk_bytes, err));
    LP_TRY(rc, check_descriptors(n_chunks, err));
    return lp_store_chunk_probe(err);
}

static int init_pool(struct lp_store *store, uint32_t n_chunks, struct lp_error *err)
{
    const struct lp_store_params *params = &store->params;
    const struct lp_pool_params pool_params = {
        .n_chunks = n_chunks,
        .chunk_bytes = params->chunk_bytes,
        .epoch = params->epoch,
        .lock = params->lock,
        .memlock_bytes = store->budget.memlock_bytes,
        .now_ns = params->now_ns,
        .now_user = params->now_user,
    };

    return lp_store_pool_init(&store->pool, &pool_params, err);
}

int lp_store_new(const struct lp_store_params *params, struct lp_store **ret_store,
                 struct lp_error *err)
{
    struct lp_budget budget;
    uint32_t n_chunks;
    int rc;

    LP_TRY_GOTO(rc, check_params(params, &n_chunks, err), fail);
    LP_TRY_GOTO(rc, check_limits(params, n_chunks, &budget, err), fail);
    struct lp_store *store = lp_mem_zalloc(sizeof(*store));
    if (store == NULL) {
        rc = lp_error_set(err, LP_ENOMEM, "no memory for a store");
        goto fail;
    }
    store->params = *params;
    store->params.budget_root = NULL;
    store->budget = budget;
    lp_store_index_init(&store->index, params->epoch);
    lp_list_init(&store->ttl);
    LP_TRY_GOTO(rc, init_pool(store, n_chunks, err), free_store);
    *ret_store = store;
    return 0;

free_store:
    lp_mem_free(store);
fail:
    return lp_error_wrap(err, rc, "pool of %llu bytes", (unsigned long long)params->pool_bytes);
}

/* Sealed objects that no owner holds; those end with the store. */
static void delete_all(struct lp_store *store)
{
    while (store->index.root != NULL)
        lp_store_object_delete(store, store->index.root->sealed);
}

void lp_store_free(struct lp_store *store)
{
    struct lp_owner *owner;

    if (store == NULL)
        return;
    while ((owner = lp_store_idmap_any(&store->owners)) != NULL)
        lp_store_owner_end(store, owner->id);
    delete_all(store);
    lp_store_idmap_fini(&store->owners);
    lp_store_idmap_fini(&store->arenas);
    lp_store_idmap_fini(&store->leases);
    lp_store_idmap_fini(&store->unsealed);
    lp_store_index_fini(&store->index);
    lp_store_pool_fini(&store->pool);
    lp_mem_free(store);
}

/* --- the pool's work and state --------------------------------------------------------------- */

int lp_store_prefault_step(struct lp_store *store, struct lp_error *err)
{
    return lp_store_pool_prefault_step(&store->pool, err);
}

int lp_store_replenish(struct lp_store *store, struct lp_error *err)
{
    return lp_store_pool_replenish(&store->pool, err);
}

void lp_store_get_state(struct lp_store *store, struct lp_store_state *ret_state)
{
    memset(ret_state, 0, sizeof(*ret_state));
    lp_store_pool_get_state(&store->pool, ret_state);
    ret_state->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    ret_state->n_objects = store->n_objects;
    ret_state->n_unsealed = store->unsealed.n;
    ret_state->n_leases = store->leases.n;
    ret_state->logical_bytes = store->logical_bytes;
    ret_state->stored_bytes = store->stored_bytes;
    ret_state->wire_bytes = store->wire_bytes;
    memcpy(ret_state->objects_by_codec, store->objects_by_codec,
           sizeof(ret_state->objects_by_codec));
    ret_state->budget = store->budget;
}

int lp_store_chunk(struct lp_store *store, uint32_t chunk, int *ret_fd, const uint8_t **ret_map,
                   uint64_t *ret_bytes, struct lp_error *err)
{
    const struct lp_chunk *found = lp_store_pool_find(&store->pool, chunk);

    if (found == NULL || found->uses == 0)
        return lp_error_set(err, LP_ENOENT, "no object lies in chunk %u", chunk);
    *ret_fd = found->fd;
    *ret_map = found->map;
    *ret_bytes = found->bytes;
    return 0;
}
