/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory registered with a device, chunk by chunk, known by what it is and not where.
 *
 * Happy path: one call for the chunk, one alias. Where the driver refuses for want of memory or a
 * limit, the chunk is cut in halves, and these again, down to LP_GPU_REGISTER_MIN_BYTES; records
 * may cross the cuts, so the pieces' aliases must follow each other without a gap. Whatever fails,
 * what was registered so far is taken back. Source: product design, section 6. */
#include "base/alloc.h"
#include "cuda/gpu_device.h"

#include <string.h>
#include <unistd.h>

/* A chunk cut more often than this would cost more calls than it is worth: 1 GiB / 16 MiB. */
#define PIECES_MAX 64u

struct lp_gpu_mapping {
    struct lp_gpu *gpu; /* one user of it */
    struct lp_gpu_mapping *next;
    struct lp_gpu_chunk_key key;
    unsigned char *memory; /* borrowed */
    uint64_t bytes;
    uint64_t address;
    uint32_t users; /* under gpu->lock */
    uint32_t flags;
    uint32_t n_pieces;
    struct {
        uint64_t offset, bytes;
    } piece[PIECES_MAX];
};

static bool same_key(const struct lp_gpu_chunk_key *a, const struct lp_gpu_chunk_key *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->epoch == b->epoch && a->chunk == b->chunk;
}

/* Worth trying in smaller pieces? The driver names the same trouble in more than one way. */
static bool is_limit(int result)
{
    return result == LP_GPU_OUT_OF_MEMORY || result == LP_GPU_OPERATING_SYSTEM ||
           result == LP_GPU_INVALID_VALUE;
}

static int refused(const struct lp_gpu_mapping *m, int result, struct lp_error *err)
{
    const bool limit = result == LP_GPU_OUT_OF_MEMORY || result == LP_GPU_OPERATING_SYSTEM;

    lp_gpu_driver_check(m->gpu->driver, result, "cuMemHostRegister", err);
    if (err != NULL)
        err->code = limit ? LP_EREGLIMIT : LP_EREG;
    return limit ? LP_EREGLIMIT : LP_EREG;
}

/* Ask for the alias of the piece that was just registered, and check that it follows the others. */
static int take_alias(struct lp_gpu_mapping *m, uint64_t offset, struct lp_error *err)
{
    uint64_t address = 0;
    const int result = m->gpu->driver->host_address(&address, m->memory + offset, 0);

    if (result != LP_GPU_SUCCESS) {
        lp_gpu_driver_check(m->gpu->driver, result, "cuMemHostGetDevicePointer", err);
        if (err != NULL)
            err->code = LP_EREG;
        return LP_EREG;
    }
    if (offset == 0)
        m->address = address;
    if (address != m->address + offset)
        return lp_error_set(err, LP_EREG,
                            "pieces of a chunk have device addresses with a gap between them");
    return 0;
}

static int register_range(struct lp_gpu_mapping *m, uint64_t offset, uint64_t bytes,
                          struct lp_error *err)
{
    const struct lp_gpu_driver *const driver = m->gpu->driver;
    const int result = driver->host_register(m->memory + offset, bytes, m->flags);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t half = bytes / 2 / page * page;
    int rc;

    if (result == LP_GPU_SUCCESS) {
        if (m->n_pieces == PIECES_MAX) {
            driver->host_unregister(m->memory + offset);
            return lp_error_set(err, LP_EREGLIMIT, "a chunk would need more than %u registrations",
                                PIECES_MAX);
        }
        m->piece[m->n_pieces].offset = offset;
        m->piece[m->n_pieces].bytes = bytes;
        m->n_pieces++;
        return take_alias(m, offset, err);
    }
    if (!is_limit(result) || half < LP_GPU_REGISTER_MIN_BYTES)
        return refused(m, result, err);
    LP_TRY(rc, register_range(m, offset, half, err));
    return register_range(m, offset + half, bytes - half, err);
}

/* The context is current. */
static void take_back(struct lp_gpu_mapping *m)
{
    while (m->n_pieces > 0) {
        m->n_pieces--;
        m->gpu->driver->host_unregister(m->memory + m->piece[m->n_pieces].offset);
    }
}

static int register_all(struct lp_gpu_mapping *m, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, lp_gpu_enter(m->gpu, err));
    rc = register_range(m, 0, m->bytes, err);
    if (rc < 0)
        take_back(m);
    lp_gpu_leave(m->gpu);
    return rc;
}

static int check_range(const struct lp_gpu *gpu, const void *memory, uint64_t bytes, bool read_only,
                       struct lp_error *err)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    if (memory == NULL || bytes == 0 || (uintptr_t)memory % page != 0 || bytes % page != 0)
        return lp_error_set(err, LP_EINVAL, "%llu bytes that are no whole pages",
                            (unsigned long long)bytes);
    if (read_only && !gpu->info.read_only_register)
        return lp_error_set(err, LP_EREG, "device %d cannot register read-only memory",
                            (int)gpu->info.ordinal);
    return 0;
}

static struct lp_gpu_mapping *find(struct lp_gpu *gpu, const struct lp_gpu_chunk_key *key)
{
    struct lp_gpu_mapping *m;

    for (m = gpu->mappings; m != NULL; m = m->next) {
        if (same_key(&m->key, key))
            return m;
    }
    return NULL;
}

/* Under the lock: two threads that want one chunk register it once. */
static int register_new(struct lp_gpu *gpu, const struct lp_gpu_chunk_key *key, void *memory,
                        uint64_t bytes, bool read_only, struct lp_gpu_mapping **ret_mapping,
                        struct lp_error *err)
{
    struct lp_gpu_mapping *m;
    int rc;

    LP_TRY(rc, check_range(gpu, memory, bytes, read_only, err));
    m = lp_mem_zalloc(sizeof(*m));
    if (m == NULL)
        return lp_error_set(err, LP_ENOMEM, "registration");
    m->gpu = gpu;
    m->key = *key;
    m->memory = memory;
    m->bytes = bytes;
    m->users = 1;
    m->flags = LP_GPU_REGISTER_PORTABLE | LP_GPU_REGISTER_DEVICEMAP |
               (read_only ? LP_GPU_REGISTER_READ_ONLY : 0);
    rc = register_all(m, err);
    if (rc < 0) {
        lp_mem_free(m);
        return rc;
    }
    m->next = gpu->mappings;
    gpu->mappings = m;
    gpu->users++;
    *ret_mapping = m;
    return 0;
}

int lp_gpu_register(struct lp_gpu *gpu, const struct lp_gpu_chunk_key *key, void *memory,
                    uint64_t bytes, bool read_only, struct lp_gpu_mapping **ret_mapping,
                    struct lp_error *err)
{
    struct lp_gpu_mapping *m;
    int rc = 0;

    pthread_mutex_lock(&gpu->lock);
    m = find(gpu, key);
    if (m == NULL) {
        rc = register_new(gpu, key, memory, bytes, read_only, ret_mapping, err);
    } else if (m->bytes != bytes) {
        rc = lp_error_set(err, LP_EINVAL, "a chunk of %llu bytes was registered with %llu",
                          (unsigned long long)bytes, (unsigned long long)m->bytes);
    } else {
        m->users++;
        *ret_mapping = m;
    }
    pthread_mutex_unlock(&gpu->lock);
    return rc < 0 ? lp_error_wrap(err, rc, "chunk %llu, %llu bytes", (unsigned long long)key->chunk,
                                  (unsigned long long)bytes)
                  : 0;
}

static void unlink_mapping(struct lp_gpu *gpu, const struct lp_gpu_mapping *mapping)
{
    struct lp_gpu_mapping **at = &gpu->mappings;

    while (*at != mapping)
        at = &(*at)->next;
    *at = mapping->next;
}

void lp_gpu_unregister(struct lp_gpu_mapping *mapping)
{
    struct lp_gpu *gpu;
    bool last;

    if (mapping == NULL)
        return;
    gpu = mapping->gpu;
    pthread_mutex_lock(&gpu->lock);
    last = --mapping->users == 0;
    if (last) {
        unlink_mapping(gpu, mapping);
        if (lp_gpu_enter_to_end(gpu)) {
            take_back(mapping);
            lp_gpu_leave(gpu);
        }
    }
    pthread_mutex_unlock(&gpu->lock);
    if (last) {
        lp_mem_free(mapping);
        lp_gpu_unref(gpu);
    }
}

uint64_t lp_gpu_mapping_address(const struct lp_gpu_mapping *mapping)
{
    return mapping->address;
}

uint32_t lp_gpu_mapping_pieces(const struct lp_gpu_mapping *mapping)
{
    return mapping->n_pieces;
}

void lp_gpu_get_registered(struct lp_gpu *gpu, uint64_t *ret_chunks, uint64_t *ret_bytes)
{
    const struct lp_gpu_mapping *m;

    *ret_chunks = 0;
    *ret_bytes = 0;
    pthread_mutex_lock(&gpu->lock);
    for (m = gpu->mappings; m != NULL; m = m->next) {
        *ret_chunks += 1;
        *ret_bytes += m->bytes;
    }
    pthread_mutex_unlock(&gpu->lock);
}
