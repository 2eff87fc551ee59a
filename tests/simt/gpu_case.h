/* SPDX-License-Identifier: Apache-2.0 */
/* A packed table in a chunk of shared memory, as a daemon would have made it: what tests of the
 * gateway and of the device check need. C only. */
#ifndef LP_TESTS_GPU_CASE_H
#define LP_TESTS_GPU_CASE_H

#include "cuda/gpu_launch.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

struct gpu_case {
    struct packed packed;
    int fd;               /* memfd, sealed against new writers where read_only was asked */
    void *chunk;          /* its read-only (or writable) mapping */
    uint64_t chunk_bytes; /* whole pages */
    uint64_t *segment_at; /* offsets of the segments in the chunk */
    struct lp_gpu_chunk_key key;
};

/* Elements: a bell curve, 20 values of one, or one in ten of one and else zeros. */
enum gpu_case_kind { GPU_CASE_NORMAL, GPU_CASE_FEW, GPU_CASE_SPARSE };

/* chunk_bytes 0: as small as it can be. The program ends with a message when anything fails. */
void gpu_case_make(struct gpu_case *ret_case, uint32_t dtype, uint64_t rows, uint64_t row_elements,
                   const struct lp_plan_params *params, enum gpu_case_kind kind,
                   uint64_t chunk_bytes, bool read_only);
void gpu_case_fini(struct gpu_case *c);

/* The fields of the table, with segments at these device addresses (of the chunk's first byte). */
struct lp_gpu_table_params gpu_case_params(const struct gpu_case *c, uint64_t chunk_dev,
                                           uint64_t *segments_dev);

#endif
