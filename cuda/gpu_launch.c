/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on the device, and gathers enqueued. */
#include "cuda/gpu_launch.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "cuda/gather_plan.h"
#include "cuda/gpu_device.h"

#include <string.h>

/* Parts of a table's device memory, and of a workspace, begin on these borders. */
#define PART_ALIGN 256u

struct lp_gpu_table {
    struct lp_gpu *gpu; /* one user of it */
    struct lp_gather_table table;
    uint64_t memory_dev;
    uint64_t n_elements;
    uint64_t index_bytes; /* of the copy; 0: there is none */
    void *function;
};

/* Where the parts of a table's device memory begin. */
struct parts {
    uint64_t segments_bytes, meta_bytes, index_bytes;
    uint64_t meta_at, index_at, all_bytes;
};

static struct parts find_parts(const struct lp_gather_table *t,
                               const struct lp_gpu_table_params *params)
{
    struct parts p;

    p.segments_bytes = (uint64_t)t->n_segments * 8;
    p.meta_bytes = lp_gpu_plan_meta_bytes(t, params);
    p.index_bytes = params->index_dev == 0 ? params->index_bytes : 0;
    p.meta_at = lp_round_up_u64(p.segments_bytes, PART_ALIGN);
    p.index_at = p.meta_at + lp_round_up_u64(p.meta_bytes, PART_ALIGN);
    p.all_bytes = p.index_at + p.index_bytes;
    return p;
}

static int copy_meta(struct lp_gpu_table *table, uint64_t to, uint64_t bytes,
                     const struct lp_gpu_table_params *params, struct lp_error *err)
{
    void *const meta = lp_mem_alloc(bytes);
    int rc;

    if (meta == NULL)
        return lp_error_set(err, LP_ENOMEM, "metadata of a table");
    lp_gpu_plan_meta(meta, &table->table, params);
    rc = lp_gpu_copy_in(table->gpu, to, meta, bytes, err);
    lp_mem_free(meta);
    return rc;
}

static int copy_parts(struct lp_gpu_table *table, const struct parts *p,
                      const struct lp_gpu_table_params *params, struct lp_error *err)
{
    struct lp_gather_table *const t = &table->table;
    const uint64_t at = table->memory_dev;
    int rc;

    t->segments_dev = at;
    t->meta_dev = at + p->meta_at;
    t->index_dev = params->index_dev != 0 ? params->index_dev : at + p->index_at;
    if (p->segments_bytes > 0)
        LP_TRY(rc, lp_gpu_copy_in(table->gpu, at, params->segments_dev, p->segments_bytes, err));
    if (p->meta_bytes > 0)
        LP_TRY(rc, copy_meta(table, t->meta_dev, p->meta_bytes, params, err));
    if (p->index_bytes > 0)
        LP_TRY(rc, lp_gpu_copy_in(table->gpu, t->index_dev, params->index, p->index_bytes, err));
    return 0;
}

/* The kernel, allowed as much shared memory as the device has. */
static int find_kernel(struct lp_gpu_table *table, struct lp_error *err)
{
    const struct lp_gpu *const gpu = table->gpu;
    const char *const name = lp_gpu_plan_kernel(&table->table);
    int rc;

    if (name == NULL)
        return lp_error_set(err, LP_EINVAL, "codec %u has no kernel for dtype %u",
                            (unsigned)table->table.codec, (unsigned)table->table.dtype);
    LP_TRY(rc, lp_gpu_enter(gpu, err));
    rc = lp_gpu_driver_check(
        gpu->driver, gpu->driver->module_function(&table->function, gpu->module, name), name, err);
    if (rc == 0)
        rc = lp_gpu_driver_check(
            gpu->driver,
            gpu->driver->function_attribute(table->function, LP_GPU_FUNCTION_DYNAMIC_SHARED_BYTES,
                                            (int)gpu->info.shared_bytes),
            "cuFuncSetAttribute", err);
    lp_gpu_leave(gpu);
    return rc;
}

/* Does a record fit this device? A gather of one row finds out. */
static int check_fits(const struct lp_gpu_table *table, struct lp_error *err)
{
    const struct lp_gpu_gather_params one = {
        .n_rows = 1, .row_elements = 1, .table_rows = 1, .index_bytes = 8, .out_bytes = 8};
    struct lp_gather_args args;
    struct lp_gpu_shape shape;

    return lp_gpu_plan_gather(&args, &shape, &table->table, &one, table->n_elements,
                              table->gpu->info.shared_bytes, 1, err);
}

static int fill_table(struct lp_gpu_table *table, const struct lp_gpu_table_params *params,
                      struct lp_error *err)
{
    struct parts parts;
    int rc;

    LP_TRY(rc, lp_gpu_plan_table(&table->table, params, err));
    table->n_elements = params->n_elements;
    LP_TRY(rc, check_fits(table, err));
    LP_TRY(rc, find_kernel(table, err));
    parts = find_parts(&table->table, params);
    table->index_bytes = parts.index_bytes;
    if (parts.all_bytes == 0)
        return 0;
    LP_TRY(rc, lp_gpu_alloc(table->gpu, parts.all_bytes, &table->memory_dev, err));
    rc = copy_parts(table, &parts, params, err);
    if (rc < 0)
        lp_gpu_free(table->gpu, table->memory_dev);
    return rc;
}

int lp_gpu_table_new(struct lp_gpu *gpu, const struct lp_gpu_table_params *params,
                     struct lp_gpu_table **ret_table, struct lp_error *err)
{
    struct lp_gpu_table *const table = lp_mem_zalloc(sizeof(*table));
    int rc;

    if (table == NULL)
        return lp_error_set(err, LP_ENOMEM, "table of a device");
    table->gpu = gpu;
    rc = fill_table(table, params, err);
    if (rc < 0) {
        lp_mem_free(table);
        return lp_error_wrap(err, rc, "table on device %d", (int)gpu->info.ordinal);
    }
    lp_gpu_ref(gpu);
    *ret_table = table;
    return 0;
}

void lp_gpu_table_free(struct lp_gpu_table *table)
{
    if (table == NULL)
        return;
    lp_gpu_free(table->gpu, table->memory_dev);
    lp_gpu_unref(table->gpu);
    lp_mem_free(table);
}

int lp_gpu_table_refresh(struct lp_gpu_table *table, const void *index, uint64_t index_bytes,
                         void *stream, struct lp_error *err)
{
    if (index_bytes != table->index_bytes)
        return lp_error_set(err, LP_EINVAL, "an index of %llu bytes replaces one of %llu",
                            (unsigned long long)index_bytes,
                            (unsigned long long)table->index_bytes);
    if (index_bytes == 0)
        return 0;
    return lp_gpu_copy_in_async(table->gpu, table->table.index_dev, index, index_bytes, stream,
                                err);
}

/* --- a gather --------------------------------------------------------------------------------- */

/* Bytes of the row numbers in a workspace; false when they are too many to count. */
static bool rows_bytes(const struct lp_gpu_gather_params *g, uint64_t *ret_bytes)
{
    *ret_bytes = 0;
    return g->rows == NULL || lp_mul_u64(g->n_rows, g->index_bytes, ret_bytes);
}

uint64_t lp_gpu_gather_workspace(const struct lp_gpu_table *table,
                                 const struct lp_gpu_gather_params *gather)
{
    uint64_t bytes;

    if (!rows_bytes(gather, &bytes) || bytes > UINT64_MAX / 2)
        return UINT64_MAX;
    if (gather->default_row == NULL)
        return bytes;
    return lp_round_up_u64(bytes, PART_ALIGN) + gather->row_elements * table->table.elem_bytes;
}

/* Host rows and default row to the workspace; *call then names device memory only. */
static int stage_inputs(struct lp_gpu_table *table, struct lp_gpu_gather_params *call,
                        struct lp_error *err)
{
    const uint64_t needed = lp_gpu_gather_workspace(table, call);
    uint64_t bytes;
    int rc;

    if (call->workspace_bytes < needed)
        return lp_error_set(err, LP_ESIZE, "a workspace of %llu bytes, of %llu",
                            (unsigned long long)call->workspace_bytes, (unsigned long long)needed);
    if (needed != 0 && call->workspace_dev % PART_ALIGN != 0)
        return lp_error_set(err, LP_EINVAL, "the workspace is on no border of %u bytes",
                            PART_ALIGN);
    rows_bytes(call, &bytes);
    if (call->rows != NULL) {
        call->rows_dev = call->workspace_dev;
        LP_TRY(rc, lp_gpu_copy_in_async(table->gpu, call->rows_dev, call->rows, bytes, call->stream,
                                        err));
    }
    if (call->default_row != NULL) {
        call->default_row_dev = call->workspace_dev + lp_round_up_u64(bytes, PART_ALIGN);
        LP_TRY(rc, lp_gpu_copy_in_async(table->gpu, call->default_row_dev, call->default_row,
                                        call->row_elements * table->table.elem_bytes, call->stream,
                                        err));
    }
    return 0;
}

/* Status to 0, then the kernel. */
static int enqueue(const struct lp_gpu_table *table, struct lp_gather_args *args,
                   const struct lp_gpu_shape *shape, void *stream, struct lp_error *err)
{
    const struct lp_gpu *const gpu = table->gpu;
    const struct lp_gpu_driver *const driver = gpu->driver;
    void *params[] = {args};
    int rc;

    LP_TRY(rc, lp_gpu_enter(gpu, err));
    if (args->status_dev != 0)
        rc = lp_gpu_driver_check(driver, driver->set_words_async(args->status_dev, 0, 2, stream),
                                 "cuMemsetD32Async", err);
    if (rc == 0 && shape->blocks != 0)
        rc =
            lp_gpu_driver_check(driver,
                                driver->launch(table->function, shape->blocks, 1, 1, shape->threads,
                                               1, 1, shape->shared_bytes, stream, params, NULL),
                                "cuLaunchKernel", err);
    lp_gpu_leave(gpu);
    return rc;
}

int lp_gpu_gather(struct lp_gpu_table *table, const struct lp_gpu_gather_params *gather,
                  struct lp_error *err)
{
    struct lp_gpu_gather_params call = *gather;
    struct lp_gather_args args;
    struct lp_gpu_shape shape;
    int rc;

    if (call.rows != NULL && call.n_rows != 0)
        call.rows_dev = call.workspace_dev; /* so that this is no gather of all rows */
    LP_TRY(rc, lp_gpu_plan_gather(&args, &shape, &table->table, &call, table->n_elements,
                                  table->gpu->info.shared_bytes,
                                  (uint32_t)table->gpu->info.multiprocessors, err));
    if (shape.blocks != 0)
        LP_TRY(rc, stage_inputs(table, &call, err));
    args.default_row_dev = call.default_row_dev;
    return enqueue(table, &args, &shape, call.stream, err);
}
