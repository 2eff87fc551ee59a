/* SPDX-License-Identifier: Apache-2.0 */
/* Reading rows: check the call, pick who decodes. On the host nothing here or below makes a system
 * call. */
#include "client/backend.h"
#include "client/names.h"

static const struct lp_backend *backend_of(int32_t device)
{
    return device < 0 ? &lp_backend_host : &lp_backend_cuda;
}

static int check_gather(const struct lp_tensor *tensor, const struct lp_gather *gather,
                        struct lp_error *err)
{
    if (gather->flags != 0)
        return lp_error_set(err, LP_EINVAL, "unknown flags 0x%x in lp_gather", gather->flags);
    if (gather->index_bytes != 0 && gather->index_bytes != 4 && gather->index_bytes != 8)
        return lp_error_set(err, LP_EINVAL, "index_bytes is %u: row numbers have 4 or 8 bytes",
                            gather->index_bytes);
    if (gather->index_space > 1)
        return lp_error_set(err, LP_EINVAL, "index_space is %u, not 0 or 1", gather->index_space);
    if (gather->out_dtype != 0 && gather->out_dtype != tensor->info.dtype)
        return lp_error_set(err, LP_ENOTSUP,
                            "this tensor holds %s and is read as such: leave out_dtype 0",
                            lp_dtype_name(tensor->info.dtype));
    if (gather->dst == NULL && gather->dst_bytes != 0)
        return lp_error_set(err, LP_EINVAL, "dst is NULL and dst_bytes is not 0");
    if (gather->device < -1)
        return lp_error_set(err, LP_EINVAL, "device is %d: -1 is the CPU", gather->device);
    return 0;
}

int lp_tensor_gather(lp_tensor *tensor, const struct lp_gather *gather, struct lp_error *err)
{
    struct lp_gather here;
    int rc;

    if (tensor == NULL || gather == NULL)
        return lp_error_set(err, LP_EINVAL, "no tensor or no gather");
    if (gather->struct_size != sizeof(here)) {
        LP_TRY(rc,
               lp_names_read_struct(&here, sizeof(here), LP_NAMES_UP_TO(struct lp_gather, device),
                                    gather, "lp_gather", err));
        gather = &here;
    }
    LP_TRY(rc, check_gather(tensor, gather, err));
    LP_TRY(rc, lp_tensor_check(tensor, err));
    return backend_of(gather->device)->gather(tensor, gather, err);
}

int lp_tensor_read(lp_tensor *tensor, const uint64_t *rows, size_t n_rows, void *dst,
                   size_t dst_bytes, struct lp_error *err)
{
    const struct lp_gather gather = {.struct_size = sizeof(gather),
                                     .index_bytes = 8,
                                     .rows = rows,
                                     .n_rows = n_rows,
                                     .dst = dst,
                                     .dst_bytes = dst_bytes,
                                     .device = -1};

    return lp_tensor_gather(tensor, &gather, err);
}

int lp_tensor_register(lp_tensor *tensor, int device, struct lp_register_info *ret_info,
                       struct lp_error *err)
{
    int rc;

    if (tensor == NULL)
        return lp_error_set(err, LP_EINVAL, "no tensor");
    LP_TRY(rc, lp_tensor_check(tensor, err));
    return backend_of(device)->enroll(tensor, device, ret_info, err);
}

int lp_tensor_unregister(lp_tensor *tensor, int device)
{
    int rc;

    if (tensor == NULL)
        return 0;
    LP_TRY(rc, lp_tensor_check(tensor, NULL));
    return backend_of(device)->withdraw(tensor, device);
}
