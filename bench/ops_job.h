/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of lanepack-bench ops share: records in cache, and one op of one tier on them. */
#ifndef LP_BENCH_OPS_JOB_H
#define LP_BENCH_OPS_JOB_H

#include "codec/codec_ibp.h"
#include "codec/ops.h"
#include "codec/sparse_places.h"

#define BENCH_OPS_BYTES (UINT64_C(256) << 10)      /* of all records: they stay in cache */
#define BENCH_OPS_ROOM_BYTES (2 * BENCH_OPS_BYTES) /* of each buffer */

/* Records that lie back to back. */
struct bench_ops_job {
    const struct lp_codec_ops *ops;
    uint32_t dtype, n, record_bytes, n_records;
    uint32_t times; /* that a step goes over all records */
    struct lp_lane lane;
    struct lp_ibp ibp;
    struct lp_dict dict;
    struct lp_counts counts;
    uint8_t *elements, *coded, *back; /* BENCH_OPS_ROOM_BYTES each */
    uint32_t stored[BENCH_OPS_BYTES / 64];
    uint32_t pitch; /* of coded records */
    uint32_t hist[LP_LANE_EXPONENTS_MAX];
    uint64_t map[BENCH_OPS_BYTES / 64]; /* of sparse, map_words for each record of 64 elements or
                                           more */
    uint32_t map_words;
};

/* Records of n elements of this dtype, as many as fit, and what follows from that. */
void bench_ops_shape(struct bench_ops_job *job, uint32_t dtype, uint32_t n);

/* Zeros behind each coded record, up to 4 bytes. */
void bench_ops_pad(struct bench_ops_job *job);

/* Time a step, which goes job->times over all records, and print a row. */
void bench_ops_time(struct bench_ops_job *job, const char *op, const char *what,
                    int (*step)(void *user));

/* LP_EINTERNAL: what was decoded is not what was encoded. */
int bench_ops_compare(const struct bench_ops_job *job);

/* Rows of codecs dict and sparse, and of counts. */
int bench_ops_values(struct bench_ops_job *job, const struct lp_codec_ops *ops);

#endif
