/* SPDX-License-Identifier: Apache-2.0 */
/* What one tensor costs in each codec, and how fast that goes. */
#ifndef LP_BENCH_MEASURE_H
#define LP_BENCH_MEASURE_H

#include "bench/bench.h"
#include "bench/peers.h"
#include "cli/codec_bench.h"

/* Rows of figures are numbered by enum lp_codec_id, LP_CODEC_AUTO (0) among them, so that a new
 * codec has one. */
#define MEASURE_ROWS LP_CODEC_END

struct tensor_figures {
    char name[128];
    struct lp_geometry geometry; /* of one tensor; of a file its first one's */
    bool is_float, timed;
    bool sparse;                       /* most elements have the lowest exponent: zeros */
    double entropy_bits, bound_saving; /* of all elements in one heap; 0 where no float */
    double own_bound_saving;           /* of a file: the mean of its tensors' bounds, by bytes */
    uint64_t hist[LP_LANE_EXPONENTS_MAX];
    struct lp_bench_figures row[MEASURE_ROWS]; /* of one tensor, or of all of a file */
    uint64_t timed_bytes;
    double analysis_gbps;
    uint32_t n_peers;
    struct peer_figures peer[PEERS_MAX];
};

/* How to time. */
struct measure_speed {
    uint64_t min_bytes;  /* the tensor is repeated until it has so many */
    uint64_t peer_bytes; /* as above, for the peers; 0: no peers */
    uint32_t runs;       /* medians of so many */
    struct peer_places places;
};

/* Bytes per record beside payload and metadata: index and alignment. The entries that the last
 * group of an index has too many are no record's, but the table's (at most 132 bytes). */
double measure_extra_bytes(const struct lp_bench_figures *figures);

/* Sizes in every codec; each packed table is decoded and compared. elements: all of them. */
int measure_sizes(struct tensor_figures *ret_figures, const char *name,
                  const struct lp_geometry *geometry, const void *elements, struct lp_error *err);

/* A tensor's sizes into those of its file, which begins with zeros. Entropy and bound follow from
 * the exponents of all. */
void measure_add(struct tensor_figures *all, const struct tensor_figures *tensor);

/* Speeds of every codec, of the choice of one, and of the peers. */
int measure_speeds(struct tensor_figures *figures, const void *elements,
                   const struct measure_speed *speed, struct lp_error *err);

#endif
