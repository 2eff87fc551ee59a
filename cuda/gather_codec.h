/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a plan that differs from codec to codec; gather_plan.c calls it. */
#ifndef LP_CUDA_GATHER_CODEC_H
#define LP_CUDA_GATHER_CODEC_H

#include "cuda/gather_plan.h"

/* What the decoder of the table's codec wants to know; the other fields stand already.
 * LP_EINVAL. */
int lp_gpu_plan_codec(struct lp_gather_table *table, const struct lp_gpu_table_params *params,
                      struct lp_error *err);

/* Shared memory that a warp needs for decoding, beside pieces and stages. */
uint32_t lp_gpu_plan_scratch(const struct lp_gather_table *table);

/* by 0 gives what nobody divides by. */
struct lp_gather_divisor lp_gpu_plan_divisor(uint64_t by);

#endif
