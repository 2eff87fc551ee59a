/* SPDX-License-Identifier: Apache-2.0 */
/* What lanepack-bench codec is asked. */
#ifndef LP_BENCH_CODEC_OPTIONS_H
#define LP_BENCH_CODEC_OPTIONS_H

#include "bench/measure.h"

enum codec_cast { CAST_NONE, CAST_BF16, CAST_BOTH };

struct codec_options {
    bool generated, json, bars, ci, speed, peers;
    enum codec_cast cast; /* of f32 */
    uint32_t runs;
    uint64_t bytes;             /* 0: the usual ones */
    const char *data;           /* folder; NULL: none */
    const char *svg, *markdown; /* files to write; NULL: none */
    struct peer_places places;
    char **files;
    int n_files;
};

/* 0, or BENCH_USAGE, after the usage text was printed. */
int codec_options_parse(int argc, char **argv, struct codec_options *ret_options);

/* How much is timed, and how often. */
struct measure_speed codec_options_speed(const struct codec_options *options);

#endif
