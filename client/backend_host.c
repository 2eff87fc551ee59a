/* SPDX-License-Identifier: Apache-2.0 */
/* The host decodes: on the calling thread, or shared with the client's workers. */
#include "client/backend.h"
#include "client/workers.h"

/* Rows of one slice: some hundred microseconds of work, so that threads end together and futexes
 * don't show. */
#define SLICE_BYTES (512u << 10)

struct shared_gather {
    const struct lp_view *view;
    const struct lp_gather *gather;
    uint32_t index_bytes;
    uint64_t slice_rows;
};

static int gather_slice(void *work, uint64_t slice, struct lp_error *err)
{
    const struct shared_gather *shared = work;
    const struct lp_gather *gather = shared->gather;
    const uint64_t row_bytes = shared->view->table->geometry.row_bytes;
    const uint64_t first = slice * shared->slice_rows;
    const uint64_t left = gather->n_rows - first;
    const uint64_t n = left < shared->slice_rows ? left : shared->slice_rows;
    uint8_t *dst = (uint8_t *)gather->dst + first * row_bytes;

    if (gather->rows == NULL) {
        const uint64_t row_elements = shared->view->table->geometry.row_elements;

        return lp_codec_view_elements(shared->view, first * row_elements, n * row_elements, dst,
                                      err);
    }
    return lp_codec_view_gather_checked(shared->view,
                                        (const uint8_t *)gather->rows + first * shared->index_bytes,
                                        shared->index_bytes, n, dst, gather->default_row, err);
}

static int host_gather(struct lp_tensor *tensor, const struct lp_gather *gather,
                       struct lp_error *err)
{
    const uint64_t row_bytes = tensor->table.geometry.row_bytes;
    struct lp_workers *workers = tensor->session->workers;
    struct lp_gather all = *gather;
    struct shared_gather shared = {&tensor->view, &all,
                                   gather->index_bytes != 0 ? gather->index_bytes : 8, 0};
    int rc;

    if (gather->rows == NULL)
        all.n_rows = tensor->table.geometry.n_rows;
    LP_TRY(rc, lp_codec_view_check_rows(&tensor->view, all.rows, shared.index_bytes, all.n_rows,
                                        all.dst_bytes, all.default_row, err));
    if (row_bytes == 0 || all.n_rows == 0)
        return 0;
    if (gather->threads <= 1 || workers == NULL) {
        if (all.rows == NULL)
            return lp_codec_view_elements(&tensor->view, 0, tensor->table.geometry.n_elements,
                                          all.dst, err);
        return lp_codec_view_gather_checked(&tensor->view, all.rows, shared.index_bytes, all.n_rows,
                                            all.dst, all.default_row, err);
    }
    shared.slice_rows = row_bytes < SLICE_BYTES ? SLICE_BYTES / row_bytes : 1;
    return lp_workers_run(workers, gather->threads - 1,
                          (all.n_rows + shared.slice_rows - 1) / shared.slice_rows, gather_slice,
                          &shared, err);
}

static int host_enroll(struct lp_tensor *tensor, int device, struct lp_register_info *ret_info,
                       struct lp_error *err)
{
    (void)tensor;
    (void)ret_info;
    return lp_error_set(err, LP_EINVAL, "device %d: the CPU needs no registration", device);
}

static int host_withdraw(struct lp_tensor *tensor, int device)
{
    (void)tensor;
    (void)device;
    return 0;
}

const struct lp_backend lp_backend_host = {"host", host_gather, host_enroll, host_withdraw};
