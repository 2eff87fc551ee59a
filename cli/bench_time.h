/* SPDX-License-Identifier: Apache-2.0 */
/* What benches stand on: time, rates, and memory that is really there. Shared by `lanepack bench`
 * and lanepack-bench. */
#ifndef LP_CLI_BENCH_TIME_H
#define LP_CLI_BENCH_TIME_H

#include <stdint.h>

/* Seconds of this thread's CPU time, the median of runs calls of step(user), at most
 * LP_BENCH_RUNS_MAX; step returns 0 or a code, which ends it all and comes back. One run warms up
 * uncounted. */
#define LP_BENCH_RUNS_MAX 101u
int lp_bench_median(int (*step)(void *user), void *user, uint32_t runs, double *ret_seconds);

/* bytes per second in units of 10^9; 0 when nothing was measured. */
double lp_bench_gbps(uint64_t bytes, double seconds);

/* The last-level cache, or 32 MiB where the system does not tell. */
uint64_t lp_bench_llc_bytes(void);

/* Fresh pages, each touched; freed by lp_bench_unmap() with the same size. NULL: no memory. */
uint8_t *lp_bench_map(uint64_t bytes);
void lp_bench_unmap(void *memory, uint64_t bytes);

#endif
