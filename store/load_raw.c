/* SPDX-License-Identifier: Apache-2.0 */
/* Raw binary: the caller says what the bytes are, we check that they are there. */
#include "base/bytes.h"
#include "store/load_impl.h"

int lp_load_raw_parse(struct lp_load_file *file, const struct lp_load_options *options,
                      struct lp_error *err)
{
    struct lp_load_tensor *tensor;
    uint64_t end;
    int rc;

    LP_TRY(rc, lp_load_tensors_reserve(file, 1, err));
    tensor = &file->tensors[0];
    LP_TRY(rc, lp_load_tensor_init(file, tensor, file->stem, options->dtype, options->ndim,
                                   options->dims, err));
    if (!lp_add_u64(options->offset, tensor->file_bytes, &end) || end > file->bytes)
        return lp_error_set(err, LP_ESIZE, "%llu bytes from byte %llu on, but the file has %llu",
                            (unsigned long long)tensor->file_bytes,
                            (unsigned long long)options->offset, (unsigned long long)file->bytes);
    tensor->file_offset = options->offset;
    return 0;
}
