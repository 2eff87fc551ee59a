/* SPDX-License-Identifier: Apache-2.0 */
/* What the benches share: time, memory that is really there, data, and one table packed in memory.
 * Benches print figures; tests decide what is right. */
#ifndef LP_BENCH_BENCH_H
#define LP_BENCH_BENCH_H

#include "base/error.h"
#include "codec/plan.h"
#include "codec/view.h"

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

/* Seconds of this thread's CPU time, the median of runs calls of step(user); step returns 0 or a
 * code, which ends it all and comes back. At least one run warms up uncounted. */
int bench_median(int (*step)(void *user), void *user, uint32_t runs, double *ret_seconds);

/* bytes per second in units of 10^9; 0 when nothing was measured. */
double bench_gbps(uint64_t bytes, double seconds);

/* The last-level cache, or 32 MiB where the system does not tell. */
uint64_t bench_llc_bytes(void);

/* Fresh pages, each touched; freed by bench_unmap() with the same size. NULL: no memory. */
uint8_t *bench_map(uint64_t bytes);
void bench_unmap(void *memory, uint64_t bytes);

/* n floats of a bell curve as dtype (bf16 or f32). Deviation 0.02 * 2^octaves, and where vary is
 * not 0 up to 2^vary times that, another for each 4,096 elements. Repeats after 2^20 elements when
 * there are more, with vary after a multiple of them. */
void bench_fill_normal(uint32_t dtype, uint64_t n, double octaves, double vary, void *dst);

/* A table packed into one stretch of memory. */
struct bench_pack {
    struct lp_table table;
    struct lp_prices prices; /* of the plan */
    struct lp_view view;
    uint8_t *head;
    uint8_t *data; /* room_bytes, segments at their pitch */
    uint64_t room_bytes;
    const uint8_t **segments;
};

/* Plan for geometry by a sample, and make room. prices costs time and is filled on demand only. */
int bench_pack_init(struct bench_pack *ret_pack, const struct lp_geometry *geometry,
                    const struct lp_plan_params *params, const void *sample,
                    uint64_t sample_elements, bool want_prices, struct lp_error *err);
void bench_pack_fini(struct bench_pack *pack);

/* Pack all elements; may be called again and again. Becomes codec raw when no record shrinks. */
int bench_pack_run(struct bench_pack *pack, const void *elements, struct lp_error *err);

#endif
