/* SPDX-License-Identifier: Apache-2.0 */
/* Timed runs into one figure. */
#ifndef LP_CLI_BENCH_TIME_H
#define LP_CLI_BENCH_TIME_H

#include "base/clock.h"

#include <stdlib.h>

static inline double lp_bench_seconds_since(uint64_t start_ns)
{
    return (double)(lp_clock_now_ns() - start_ns) / 1e9;
}

static inline int lp_bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* 10^9 bytes a second of the median run. Sorts seconds, n of them. */
static inline double lp_bench_median_gbps(double *seconds, uint32_t n, uint64_t bytes)
{
    qsort(seconds, n, sizeof(*seconds), lp_bench_compare);
    return (double)bytes / seconds[n / 2] / 1e9;
}

#endif
