/* SPDX-License-Identifier: Apache-2.0 */
/* From a table's fields to kernel arguments, and from a record's size to a launch shape. */
#include "cuda/gather_plan.h"

#include "base/bytes.h"
#include "cuda/gather_codec.h"

#include <string.h>

#define WARPS_PER_BLOCK 4u
/* Warps that a multiprocessor keeps busy; a launch asks for as many as there is work for. */
#define WARPS_PER_MULTIPROCESSOR 32u

static int check_params(const struct lp_gpu_table_params *p, struct lp_error *err)
{
    if (p->codec <= LP_CODEC_AUTO || p->codec >= LP_CODEC_END || p->layout == 0 ||
        p->layout >= LP_LAYOUT_END)
        return lp_error_set(err, LP_EINVAL, "codec %u, layout %u", (unsigned)p->codec,
                            (unsigned)p->layout);
    if (p->record_elements == 0 || p->elem_bytes == 0 || p->elem_bytes > 8 ||
        p->record_elements > LP_FORMAT_RECORD_BYTES_MAX / p->elem_bytes)
        return lp_error_set(err, LP_EINVAL, "records of %u elements of %u bytes",
                            (unsigned)p->record_elements, (unsigned)p->elem_bytes);
    if (p->align_bytes == 0 || p->align_bytes > LP_FORMAT_SECTOR_BYTES ||
        (p->align_bytes & (p->align_bytes - 1)) != 0)
        return lp_error_set(err, LP_EINVAL, "records on borders of %u bytes",
                            (unsigned)p->align_bytes);
    if ((p->codec == LP_CODEC_RAW || p->layout == LP_LAYOUT_SLOTTED) &&
        p->records_per_segment == 0 && p->n_records != 0)
        return lp_error_set(err, LP_EINVAL, "no records in a segment");
    for (uint32_t i = 0; i < p->n_segments; i++) {
        if (p->segments_dev[i] % LP_FORMAT_SECTOR_BYTES != 0)
            return lp_error_set(err, LP_EINVAL, "segment %u is on no border of %u bytes",
                                (unsigned)i, LP_FORMAT_SECTOR_BYTES);
    }
    return 0;
}

struct lp_gather_divisor lp_gpu_plan_divisor(uint64_t by)
{
    struct lp_gather_divisor d = {by, 0, {0, 0}};
    uint32_t bits = 0;

    if (by == 0)
        return d;
    while (bits < 64 && by > 1ull << bits)
        bits++;
    /* bits may be 64 only for by > 2^63, which no count of ours reaches. */
    d.magic = (uint64_t)((((unsigned __int128)1 << 64) * ((1ull << bits) - by)) / by + 1);
    d.shift[0] = bits < 1 ? bits : 1;
    d.shift[1] = bits > 1 ? bits - 1 : 0;
    return d;
}

int lp_gpu_plan_table(struct lp_gather_table *ret_table, const struct lp_gpu_table_params *params,
                      struct lp_error *err)
{
    const struct lp_gpu_table_params *const p = params;
    struct lp_gather_table t;
    int rc;

    memset(&t, 0, sizeof(t));
    LP_TRY(rc, check_params(p, err));
    t.n_records = p->n_records;
    t.segment_bytes = p->segment_bytes;
    t.last_segment_bytes = p->last_segment_bytes;
    t.records_per_segment = lp_gpu_plan_divisor(p->records_per_segment);
    t.per_record = lp_gpu_plan_divisor(p->record_elements);
    t.n_segments = p->n_segments;
    t.codec = p->codec;
    t.layout = p->layout;
    t.dtype = p->dtype;
    t.record_elements = p->record_elements;
    t.last_elements = p->last_elements;
    t.elem_bytes = p->elem_bytes;
    t.align_bytes = p->align_bytes;
    t.stride = p->stride;
    t.index_entry_bytes = p->index_entry_bytes;
    t.group_bytes =
        p->index_entry_bytes == 2 ? LP_FORMAT_GROUP_BYTES_NARROW : LP_FORMAT_GROUP_BYTES_WIDE;
    LP_TRY(rc, lp_gpu_plan_codec(&t, p, err));
    *ret_table = t;
    return 0;
}

/* Output size, borders, and that no count overflows. */
static int check_gather(const struct lp_gpu_gather_params *g, const struct lp_gather_table *t,
                        struct lp_error *err)
{
    uint64_t elements, bytes;

    if (!lp_mul_u64(g->n_rows, g->row_elements, &elements) ||
        !lp_mul_u64(elements, t->elem_bytes, &bytes) || bytes > g->out_bytes)
        return lp_error_set(err, LP_ESIZE, "%llu rows do not fit %llu bytes",
                            (unsigned long long)g->n_rows, (unsigned long long)g->out_bytes);
    if (g->index_bytes != 4 && g->index_bytes != 8)
        return lp_error_set(err, LP_EINVAL, "row numbers of %u bytes", (unsigned)g->index_bytes);
    /* An element of 3 bytes is copied as bytes: its border is that of the largest power of two in
     * it. */
    if (g->out_dev % (t->elem_bytes & (0u - t->elem_bytes)) != 0 ||
        g->rows_dev % g->index_bytes != 0 || g->status_dev % 8 != 0)
        return lp_error_set(err, LP_EINVAL, "output, row numbers or status off their border");
    return 0;
}

/* Reading a whole table: whole records are its rows, so that each is decoded once. */
static void plan_rows(struct lp_gather_args *a, const struct lp_gpu_gather_params *g,
                      uint64_t n_elements)
{
    const struct lp_gather_table *const t = &a->table;
    uint64_t pieces = 1;

    a->rows_dev = g->rows_dev;
    a->n_elements = n_elements;
    a->n_rows = g->n_rows;
    a->table_rows = g->table_rows;
    a->row_elements = g->row_elements;
    if (g->rows_dev == 0) {
        a->n_rows = (g->n_rows * g->row_elements + t->record_elements - 1) / t->record_elements;
        a->n_elements = g->n_rows * g->row_elements;
        a->row_elements = t->record_elements;
        a->table_rows = a->n_rows;
    }
    if (a->row_elements % t->record_elements == 0)
        pieces = a->row_elements / t->record_elements;
    else if (t->record_elements % a->row_elements != 0)
        pieces = (a->row_elements - 1) / t->record_elements + 2;
    a->pieces = lp_gpu_plan_divisor(pieces);
}

/* As many warps as fit, each with its items and two stages. */
static int plan_shape(struct lp_gather_args *a, struct lp_gpu_shape *ret_shape,
                      uint32_t max_shared_bytes, uint32_t multiprocessors, struct lp_error *err)
{
    const struct lp_gather_table *const t = &a->table;
    const uint32_t record = t->record_elements * t->elem_bytes;
    const uint64_t items = a->n_rows * a->pieces.by;
    const uint64_t warps = (uint64_t)multiprocessors * WARPS_PER_MULTIPROCESSOR;
    uint32_t per_block, n_warps;
    uint64_t per_warp, blocks;

    /* A record on any border, in whole sectors, and the slack behind it. */
    a->stage_bytes =
        (uint32_t)lp_round_up_u64(record + 2 * LP_FORMAT_SECTOR_BYTES, 32) + LP_GATHER_SLACK_BYTES;
    a->n_stages = LP_GATHER_ITEM_STAGES;
    a->warp_bytes = lp_gpu_plan_scratch(t) + LP_GATHER_ITEMS * LP_GATHER_ITEM_BYTES +
                    a->n_stages * a->stage_bytes;
    if (a->warp_bytes > max_shared_bytes) {
        a->n_stages = 1;
        a->warp_bytes -= a->stage_bytes;
    }
    per_block = max_shared_bytes / a->warp_bytes;
    if (per_block == 0)
        return lp_error_set(err, LP_ENOTSUP,
                            "records of %u bytes need %u bytes of shared memory, the device has %u",
                            (unsigned)record, (unsigned)a->warp_bytes, (unsigned)max_shared_bytes);
    n_warps = LP_MIN(per_block, WARPS_PER_BLOCK);
    per_warp = (items + warps - 1) / warps;
    a->items_per_warp = (uint32_t)LP_MIN(LP_MAX(per_warp, 1), LP_GATHER_ITEMS);
    blocks = (items + (uint64_t)n_warps * a->items_per_warp - 1) /
             ((uint64_t)n_warps * a->items_per_warp);
    ret_shape->blocks = (uint32_t)LP_MIN(blocks, (warps + n_warps - 1) / n_warps);
    ret_shape->threads = n_warps * LP_GATHER_WARP;
    ret_shape->shared_bytes = n_warps * a->warp_bytes;
    return 0;
}

int lp_gpu_plan_gather(struct lp_gather_args *ret_args, struct lp_gpu_shape *ret_shape,
                       const struct lp_gather_table *table,
                       const struct lp_gpu_gather_params *gather, uint64_t n_elements,
                       uint32_t max_shared_bytes, uint32_t multiprocessors, struct lp_error *err)
{
    struct lp_gather_args a;
    int rc;

    memset(&a, 0, sizeof(a));
    a.table = *table;
    a.index_bytes = gather->index_bytes;
    a.out_dev = gather->out_dev;
    a.default_row_dev = gather->default_row_dev;
    a.status_dev = gather->status_dev;
    LP_TRY(rc, check_gather(gather, table, err));
    if (gather->n_rows == 0 || gather->row_elements == 0) {
        memset(ret_shape, 0, sizeof(*ret_shape));
        *ret_args = a;
        return 0;
    }
    plan_rows(&a, gather, n_elements);
    LP_TRY(rc, plan_shape(&a, ret_shape, max_shared_bytes, multiprocessors, err));
    *ret_args = a;
    return 0;
}

int lp_gpu_gather_status(uint64_t word, struct lp_error *err)
{
    const uint64_t row = (word & ~LP_GPU_STATUS_CORRUPT) - 1;

    if (word == 0)
        return 0;
    if ((word & LP_GPU_STATUS_CORRUPT) != 0)
        return lp_error_set(err, LP_ECORRUPT, "the record of output row %llu breaks the format",
                            (unsigned long long)row);
    return lp_error_set(err, LP_ERANGE, "row number at position %llu is out of range",
                        (unsigned long long)row);
}
