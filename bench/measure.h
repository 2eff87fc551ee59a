/* SPDX-License-Identifier: Apache-2.0 */
/* What one tensor costs in each codec, and how fast that goes. */
#ifndef LP_BENCH_MEASURE_H
#define LP_BENCH_MEASURE_H

#include "bench/bench.h"
#include "bench/peers.h"
#include "cli/codec_bench.h"

enum measure_row { ROW_RAW, ROW_IBP, ROW_LANE, ROW_AUTO, ROWS };

struct tensor_figures {
    char name[128];
    struct lp_geometry geometry;
    bool is_float, timed;
    double entropy_bits, bound_saving; /* 0 where no float */
    uint64_t hist[LP_LANE_EXPONENTS_MAX];
    struct lp_bench_figures row[ROWS]; /* of one tensor, or of all of a file */
    uint64_t timed_bytes;
    double analysis_gbps;
    uint32_t n_peers;
    struct peer_figures peer[PEERS_MAX];
};

const char *measure_row_name(enum measure_row row);

/* Bytes per record beside payload and metadata: index, checks, alignment. */
double measure_extra_bytes(const struct lp_bench_figures *figures);

/* Entropy and bound from hist, for n elements of dtype. */
void measure_bound(struct tensor_figures *figures, uint32_t dtype);

/* Sizes in every codec; each packed table is decoded and compared. elements: all of them. */
int measure_sizes(struct tensor_figures *ret_figures, const char *name,
                  const struct lp_geometry *geometry, const void *elements, struct lp_error *err);

/* Speeds, on the tensor repeated until it has min_bytes; medians of runs. peers: those of others
 * too. */
int measure_speeds(struct tensor_figures *figures, const void *elements, uint64_t min_bytes,
                   uint32_t runs, bool peers, struct lp_error *err);

#endif
