/* SPDX-License-Identifier: Apache-2.0 */
/* What the benches share, beside the measuring core in cli/ (bench_time.h, bench_pack.h,
 * codec_bench.h), which the lanepack command has too. Benches print figures; tests decide what is
 * right. */
#ifndef LP_BENCH_BENCH_H
#define LP_BENCH_BENCH_H

#include "base/error.h"
#include "cli/bench_pack.h"
#include "cli/bench_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One subcommand; argv[0] is its name. Returns the exit code. */
int bench_codec_main(int argc, char **argv);
int bench_ops_main(int argc, char **argv);
int bench_gather_main(int argc, char **argv);
int bench_control_main(int argc, char **argv);

/* Exit codes. */
#define BENCH_OK 0
#define BENCH_FAILED 1 /* a bar was missed, or a measurement went wrong */
#define BENCH_USAGE 2

/* n floats of a bell curve as dtype (bf16 or f32). Deviation 0.02 * 2^octaves, and where vary is
 * not 0 up to 2^vary times that, another for each 4,096 elements. Repeats after 2^20 elements when
 * there are more, with vary after a multiple of them. */
void bench_fill_normal(uint32_t dtype, uint64_t n, double octaves, double vary, void *dst);

/* One of them, rounded to nearest even for bf16. */
void bench_store_float(uint32_t dtype, float value, uint8_t *dst);

#endif
