/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a launch that is arithmetic: tables and calls as the kernels want them, and how many
 * blocks of how much shared memory. No driver, no device: tests run it for the executors, too. */
#ifndef LP_CUDA_GATHER_PLAN_H
#define LP_CUDA_GATHER_PLAN_H

#include "cuda/gather_args.h"
#include "cuda/gpu_launch.h"

/* All fields but index_dev, segments_dev and meta_dev, which are set to 0. LP_EINVAL. */
int lp_gpu_plan_table(struct lp_gather_table *ret_table, const struct lp_gpu_table_params *params,
                      struct lp_error *err);

/* What the kernel reads of the codec's metadata in device memory: its size, maybe 0, and the bytes,
 * on a border of 16 here and there. */
uint64_t lp_gpu_plan_meta_bytes(const struct lp_gather_table *table,
                                const struct lp_gpu_table_params *params);
void lp_gpu_plan_meta(void *ret_meta, const struct lp_gather_table *table,
                      const struct lp_gpu_table_params *params);

/* Name of the kernel that decodes this table; static. NULL: there is none. */
const char *lp_gpu_plan_kernel(const struct lp_gather_table *table);

/* What a launch asks for. */
struct lp_gpu_shape {
    uint32_t blocks, threads, shared_bytes;
};

/* Rows of a call, in the struct that the kernel gets; gather's addresses are taken as they are.
 * max_shared_bytes per block and multiprocessors: of the device. LP_ESIZE, LP_EINVAL; LP_ENOTSUP: a
 * record of this table does not fit. n_rows 0 gives 0 blocks: nothing to launch. */
int lp_gpu_plan_gather(struct lp_gather_args *ret_args, struct lp_gpu_shape *ret_shape,
                       const struct lp_gather_table *table,
                       const struct lp_gpu_gather_params *gather, uint64_t n_elements,
                       uint32_t max_shared_bytes, uint32_t multiprocessors, struct lp_error *err);

#endif
