/* SPDX-License-Identifier: Apache-2.0 */
/* lanepack-bench: figures, beside what others reach. Not part of a runtime package. */
#include "base/bytes.h"
#include "base/cpu.h"
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} benches[] = {
    {"codec", bench_codec_main,
     "sizes and speeds of tensors in each codec, beside memcpy and peers"},
    {"ops", bench_ops_main, "each function of each CPU tier, in cache"},
    {"gather", bench_gather_main, "random rows of packed tables, beside the same gather by memcpy"},
    {"control", bench_control_main, "the daemon's socket: first answer, requests, pre-fault"},
};

int main(int argc, char **argv)
{
    struct lp_error err = LP_ERROR_INIT;
    uint32_t flags = lp_cpu_detect();

    if (lp_cpu_mask(getenv("LANEPACK_CPU_MASK"), &flags, &err) < 0) {
        (void)fprintf(stderr, "lanepack-bench: LANEPACK_CPU_MASK: %s\n", err.text);
        return BENCH_USAGE;
    }
    for (size_t i = 0; argc > 1 && i < LP_ARRAY_LEN(benches); i++) {
        if (strcmp(argv[1], benches[i].name) == 0)
            return benches[i].run(argc - 1, argv + 1);
    }
    (void)fprintf(stderr, "usage: lanepack-bench BENCH [options]\n");
    for (size_t i = 0; i < LP_ARRAY_LEN(benches); i++)
        (void)fprintf(stderr, "  %-8s %s\n", benches[i].name, benches[i].help);
    return BENCH_USAGE;
}
