/* SPDX-License-Identifier: Apache-2.0 */
/* A table of the codec layer, field by field, as the device layer wants it told: neither knows the
 * other one. */
#ifndef LP_CLIENT_GPU_TABLE_H
#define LP_CLIENT_GPU_TABLE_H

#include "codec/view.h"
#include "cuda/gpu_launch.h"

/* Everything points into the view, which must have its index, and to segments_dev: a device address
 * for each segment. */
void lp_client_gpu_table_params(struct lp_gpu_table_params *ret_params, const struct lp_view *view,
                                const uint64_t *segments_dev);

#endif
