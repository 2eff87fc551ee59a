/* SPDX-License-Identifier: Apache-2.0 */
/* Who decodes: the host, or a CUDA device. One table of functions each; lp_tensor_gather() picks by
 * lp_gather.device. */
#ifndef LP_CLIENT_BACKEND_H
#define LP_CLIENT_BACKEND_H

#include "client/tensor.h"

struct lp_backend {
    const char *name;
    /* As lp_tensor_gather() promises. gather is checked for struct_size, index_bytes and out_dtype.
     */
    int (*gather)(struct lp_tensor *tensor, const struct lp_gather *gather, struct lp_error *err);
    int (*enroll)(struct lp_tensor *tensor, int device, struct lp_register_info *ret_info,
                  struct lp_error *err);
    int (*withdraw)(struct lp_tensor *tensor, int device);
};

extern const struct lp_backend lp_backend_host;
extern const struct lp_backend lp_backend_cuda;

#endif
