/* SPDX-License-Identifier: Apache-2.0 */
/* The status word of a gather, as kernels write it and callers read it. Safe in C and CUDA. */
#ifndef LP_CUDA_GPU_STATUS_H
#define LP_CUDA_GPU_STATUS_H

/* The word is 0, or the least of what went wrong; positions count the output's rows from 0. With
 * this bit: the record of the row at position (word & ~this) - 1 is corrupt. Without: the row
 * number at position word - 1 is out of range. */
#define LP_GPU_STATUS_CORRUPT (1ull << 63)

#endif
