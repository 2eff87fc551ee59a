/* SPDX-License-Identifier: Apache-2.0 */
/* Does the work of one table spread over threads? Each takes a range of whole records. */
#ifndef LP_BENCH_SCALING_H
#define LP_BENCH_SCALING_H

#include "cli/codec_bench.h"

#define BENCH_THREADS_MAX 8u

struct bench_scaling {
    uint32_t threads;
    double encode, decode; /* wall time of one thread over that of the threads */
};

/* Encode and decode data in codec with one thread and with threads (2 to BENCH_THREADS_MAX), by
 * the wall clock, best of runs. Results are compared. LP_EINVAL: fewer rows than threads;
 * LP_ENOMEM, LP_EINTERNAL. */
int bench_scaling(const struct lp_bench_data *data, uint32_t codec, uint32_t threads, uint32_t runs,
                  struct bench_scaling *ret_scaling, struct lp_error *err);

#endif
