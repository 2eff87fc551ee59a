/* SPDX-License-Identifier: Apache-2.0 */
/* For nvcc: the differential test's kernels as PTX. */
#include "diff_kernels.cuh"
