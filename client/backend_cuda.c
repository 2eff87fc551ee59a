/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device decodes, straight from the mapped chunks.
 *
 * Enrolling a tensor registers its chunks in this process, one by one, and describes the table to
 * the device; a gather then only enqueues. Each client opens a device once. The daemon takes no
 * part in any of it. */
#include "base/alloc.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "client/backend.h"
#include "client/gpu_table.h"
#include "client/names.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* One device that this client has opened; in its session's list. */
struct lp_session_gpu {
    struct lp_session_gpu *next;
    int ordinal;
    struct lp_gpu *gpu;
};

/* What one device knows of one tensor; in the tensor's list, which readers walk without a lock. */
struct lp_device_table {
    struct lp_device_table *next;
    int ordinal;
    struct lp_gpu_table *table;
    uint32_t n_mappings;
    struct lp_gpu_mapping *mappings[]; /* one per extent that holds records */
};

/* The session's tensors have withdrawn theirs. */
static void close_gpus(struct lp_session *session, bool inherited)
{
    while (session->gpus != NULL) {
        struct lp_session_gpu *entry = session->gpus;

        session->gpus = entry->next;
        if (!inherited) /* a device's context does not survive fork() */
            lp_gpu_close(entry->gpu);
        lp_mem_free(entry);
    }
}

static int session_gpu(struct lp_session *session, int ordinal, struct lp_gpu **ret_gpu,
                       struct lp_error *err)
{
    struct lp_session_gpu *entry = session->gpus;
    int rc;

    while (entry != NULL && entry->ordinal != ordinal)
        entry = entry->next;
    if (entry == NULL) {
        entry = lp_mem_zalloc(sizeof(*entry));
        if (entry == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory for a device");
        rc = lp_gpu_open(ordinal, &entry->gpu, err);
        if (rc < 0) {
            lp_mem_free(entry);
            return rc;
        }
        entry->ordinal = ordinal;
        entry->next = session->gpus;
        session->gpus = entry;
        session->close_gpus = close_gpus;
    }
    *ret_gpu = entry->gpu;
    return 0;
}

static struct lp_device_table *find_device(const struct lp_tensor *tensor, int ordinal)
{
    struct lp_device_table *device = LP_ATOMIC_LOAD_ACQUIRE_PTR(&tensor->device);

    while (device != NULL && device->ordinal != ordinal)
        device = device->next;
    return device;
}

static void free_device(struct lp_device_table *device)
{
    lp_gpu_table_free(device->table);
    for (uint32_t i = 0; i < device->n_mappings; i++)
        lp_gpu_unregister(device->mappings[i]);
    lp_mem_free(device);
}

/* Register the chunk of one segment. Pages that a device reads must not change hands at fork(). */
static int register_chunk(struct lp_gpu *gpu, const struct lp_chunk_map *map,
                          struct lp_gpu_mapping **ret_mapping, struct lp_error *err)
{
    const struct lp_gpu_chunk_key key = {map->device, map->inode, map->epoch, map->chunk};
    void *memory = (void *)(uintptr_t)map->bytes;

    (void)madvise(memory, map->n_bytes, MADV_DONTFORK);
    return lp_gpu_register(gpu, &key, memory, map->n_bytes, true, ret_mapping, err);
}

/* Under the session's lock. *ret_device is new and in nobody's list. */
static int make_device(struct lp_tensor *tensor, int ordinal, struct lp_device_table **ret_device,
                       struct lp_error *err)
{
    const uint32_t n = tensor->table.n_segments;
    struct lp_device_table *device =
        lp_mem_zalloc(sizeof(*device) + n * sizeof(device->mappings[0]));
    uint64_t *segments = lp_mem_alloc_array((size_t)n + 1, sizeof(*segments));
    struct lp_gpu_table_params params;
    struct lp_gpu *gpu;
    int rc;

    if (device == NULL || segments == NULL) {
        rc = lp_error_set(err, LP_ENOMEM, "no memory to describe a tensor to a device");
        goto fail;
    }
    device->ordinal = ordinal;
    LP_TRY_GOTO(rc, session_gpu(tensor->session, ordinal, &gpu, err), fail);
    for (uint32_t i = 0; i < n; i++) {
        LP_TRY_GOTO(rc, register_chunk(gpu, tensor->maps[i + 1], &device->mappings[i], err), fail);
        device->n_mappings++;
        segments[i] = lp_gpu_mapping_address(device->mappings[i]) + tensor->extents[i + 1].offset;
    }
    lp_client_gpu_table_params(&params, &tensor->view, segments);
    LP_TRY_GOTO(rc, lp_gpu_table_new(gpu, &params, &device->table, err), fail);
    lp_mem_free(segments);
    *ret_device = device;
    return 0;

fail:
    lp_mem_free(segments);
    if (device != NULL)
        free_device(device);
    return rc;
}

/* What the session has registered with a device; nothing when it has not opened it. */
static void count_registered(const struct lp_session *session, int ordinal, uint64_t *ret_chunks,
                             uint64_t *ret_bytes)
{
    const struct lp_session_gpu *entry = session->gpus;

    *ret_chunks = 0;
    *ret_bytes = 0;
    while (entry != NULL && entry->ordinal != ordinal)
        entry = entry->next;
    if (entry != NULL)
        lp_gpu_get_registered(entry->gpu, ret_chunks, ret_bytes);
}

/* Under the session's lock: describe the tensor to a device that does not know it, and count what
 * that registered. */
static int add_device(struct lp_tensor *tensor, int ordinal, struct lp_device_table **ret_device,
                      struct lp_register_info *info, struct lp_error *err)
{
    uint64_t chunks, bytes, chunks_before, bytes_before;
    int rc;

    count_registered(tensor->session, ordinal, &chunks_before, &bytes_before);
    LP_TRY(rc, make_device(tensor, ordinal, ret_device, err));
    count_registered(tensor->session, ordinal, &chunks, &bytes);
    info->chunks = (uint32_t)(chunks - chunks_before);
    info->bytes = bytes - bytes_before;
    (*ret_device)->next = tensor->device;
    LP_ATOMIC_STORE_RELEASE_PTR(&tensor->device, *ret_device);
    tensor->session->registered = true;
    return 0;
}

static int enroll(struct lp_tensor *tensor, int ordinal, struct lp_device_table **ret_device,
                  struct lp_register_info *info, struct lp_error *err)
{
    struct lp_session *session = tensor->session;
    struct lp_device_table *device;
    int rc = 0;

    LP_TRY(rc, lp_session_lock(session, lp_session_deadline(session, 0), err));
    device = find_device(tensor, ordinal);
    if (device == NULL)
        rc = add_device(tensor, ordinal, &device, info, err);
    lp_session_unlock(session);
    if (rc == 0)
        *ret_device = device;
    return rc;
}

static int cuda_enroll(struct lp_tensor *tensor, int ordinal, struct lp_register_info *ret_info,
                       struct lp_error *err)
{
    const uint64_t start_ns = lp_clock_now_ns();
    struct lp_register_info info = {.struct_size = sizeof(info), .capability = "pinned"};
    struct lp_device_table *device;
    int rc;

    if (ret_info != NULL && ret_info->struct_size < sizeof(uint32_t))
        return lp_error_set(err, LP_EINVAL, "lp_register_info.struct_size is not set");
    LP_TRY(rc, enroll(tensor, ordinal, &device, &info, err));
    info.nanoseconds = lp_clock_now_ns() - start_ns;
    if (ret_info != NULL)
        lp_names_copy_struct(ret_info, &info, sizeof(info));
    return 0;
}

/* ordinal -1: all devices. */
static int cuda_withdraw(struct lp_tensor *tensor, int ordinal)
{
    struct lp_device_table **at = &tensor->device;

    (void)pthread_mutex_lock(&tensor->session->lock);
    while (*at != NULL) {
        struct lp_device_table *device = *at;

        if (ordinal >= 0 && device->ordinal != ordinal) {
            at = &device->next;
            continue;
        }
        *at = device->next;
        free_device(device);
    }
    (void)pthread_mutex_unlock(&tensor->session->lock);
    return 0;
}

/* Where nobody gave a status word the row numbers are checked here, so they must be readable here.
 * That each record decodes was checked when the tensor was sealed. */
static int check_on_host(const struct lp_tensor *tensor, const struct lp_gather *gather,
                         uint32_t index_bytes, uint64_t n_rows, struct lp_error *err)
{
    if (gather->status_dev != NULL)
        return 0;
    if (gather->rows != NULL && gather->index_space == 0)
        return lp_error_set(err, LP_EINVAL,
                            "row numbers in device memory need status_dev: they can't be checked "
                            "on the host");
    return lp_codec_view_check_rows(&tensor->view, gather->rows, index_bytes, n_rows,
                                    gather->dst_bytes, gather->default_row, err);
}

static int cuda_gather(struct lp_tensor *tensor, const struct lp_gather *gather,
                       struct lp_error *err)
{
    const struct lp_geometry *geometry = &tensor->table.geometry;
    const bool host_rows = gather->index_space == 1;
    const uint64_t n_rows = gather->rows != NULL ? gather->n_rows : geometry->n_rows;
    const uint32_t index_bytes = gather->index_bytes != 0 ? gather->index_bytes : 8;
    const uint64_t rows = (uint64_t)(uintptr_t)gather->rows;
    struct lp_device_table *device = find_device(tensor, gather->device);
    struct lp_register_info info;
    const struct lp_gpu_gather_params launch = {
        .rows_dev = host_rows ? 0 : rows,
        .rows = host_rows ? gather->rows : NULL,
        .index_bytes = index_bytes,
        .n_rows = n_rows,
        .row_elements = geometry->row_elements,
        .table_rows = geometry->n_rows,
        .out_dev = (uint64_t)(uintptr_t)gather->dst,
        .out_bytes = gather->dst_bytes,
        .default_row_dev = host_rows ? 0 : (uint64_t)(uintptr_t)gather->default_row,
        .default_row = host_rows ? gather->default_row : NULL,
        .status_dev = (uint64_t)(uintptr_t)gather->status_dev,
        .workspace_dev = (uint64_t)(uintptr_t)gather->workspace,
        .workspace_bytes = gather->workspace_bytes,
        .stream = gather->stream,
    };
    int rc;

    LP_TRY(rc, check_on_host(tensor, gather, index_bytes, n_rows, err));
    if (device == NULL)
        LP_TRY(rc, enroll(tensor, gather->device, &device, &info, err));
    return lp_gpu_gather(device->table, &launch, err);
}

const struct lp_backend lp_backend_cuda = {"cuda", cuda_gather, cuda_enroll, cuda_withdraw};
