/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for the kernels where the build found no nvcc: nothing. */
#include "cuda/gpu_device.h"

const unsigned char lp_gpu_kernels[1] = {0};
const size_t lp_gpu_kernels_bytes = 0;
