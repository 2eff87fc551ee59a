/* SPDX-License-Identifier: Apache-2.0 */
/* What one codec makes of one tensor, and how fast, beside memcpy between the same buffers. One
 * thread. `lanepack bench codec` prints it; lanepack-bench adds peers and bars. */
#ifndef LP_CLI_CODEC_BENCH_H
#define LP_CLI_CODEC_BENCH_H

#include "codec/plan.h"

struct lp_bench_figures {
    uint32_t codec;         /* the one that was used: raw where the wanted one can't help */
    char how[80];           /* "lane 2,2,2,3 by table" */
    char reason[96];        /* why this codec */
    uint64_t logical_bytes; /* docs/FORMAT.md, section 9, for all of these */
    uint64_t payload_bytes;
    uint64_t meta_bytes;
    uint64_t stored_bytes;
    uint64_t wire_bytes;
    uint64_t records;
    uint64_t index_bytes;            /* of stored_bytes */
    uint64_t unused_bytes;           /* of index_bytes: entries of the last group without record */
    uint64_t align_bytes;            /* of stored_bytes: data beside the payload */
    char timed_how[80];              /* as how, of the repeated tensor that was timed */
    double encode_gbps, decode_gbps; /* of elements; 0: not timed */
    double memcpy_gbps;              /* of the same elements between buffers of the same kind */
};

/* Share of the raw bytes that the payload, metadata included, does not need. */
double lp_bench_saving(const struct lp_bench_figures *figures);

/* Sizes of the tensor packed as params say (codec auto: the one that is chosen); the packed table
 * is decoded and compared. elements: all of them, borrowed. LP_EINTERNAL: they came back changed;
 * LP_ENOMEM. */
int lp_bench_codec_sizes(struct lp_bench_figures *figures, const struct lp_geometry *geometry,
                         const struct lp_plan_params *params, const void *elements,
                         struct lp_error *err);

/* A tensor in memory, over and over along its first dimension. */
struct lp_bench_data {
    struct lp_geometry geometry; /* of the repeated tensor */
    uint8_t *elements, *back;    /* owned; as many bytes each */
};

/* Repeat until there are min_bytes: take some times the last-level cache, so that memory is what is
 * measured. LP_EINVAL (no elements), LP_ENOMEM. */
int lp_bench_data_init(struct lp_bench_data *ret_data, const struct lp_geometry *geometry,
                       const void *elements, uint64_t min_bytes, struct lp_error *err);
/* A zeroed one is fine. */
void lp_bench_data_fini(struct lp_bench_data *data);

/* The three speeds, medians of runs; what is decoded is compared. Errors as for sizes. */
int lp_bench_codec_speed(struct lp_bench_figures *figures, const struct lp_bench_data *data,
                         const struct lp_plan_params *params, uint32_t runs, struct lp_error *err);

/* Speed of the choice of a codec, of all bytes of the data. */
int lp_bench_analysis_speed(const struct lp_bench_data *data, uint32_t runs, double *ret_gbps,
                            struct lp_error *err);

#endif
