/* SPDX-License-Identifier: Apache-2.0 */
/* What a codec saves on a tensor and how fast it is, beside memcpy of the same buffers in the same
 * run. One thread; buffers larger than the last-level cache, so memory is what is measured. */
#ifndef LP_CLI_CODEC_BENCH_H
#define LP_CLI_CODEC_BENCH_H

#include "codec/plan.h"

/* A tensor in memory, repeated along its first dimension until it no longer fits the cache. */
struct lp_codec_bench_data {
    struct lp_geometry geometry; /* of the repeated tensor */
    uint8_t *elements;           /* owned; LP_CODEC_SLACK_BYTES behind */
    uint8_t *decoded;            /* owned; as large */
    uint8_t *packed;             /* owned; room for any codec */
    uint64_t packed_room;
    uint64_t once_elements; /* of the tensor itself */
};

/* elements borrows: the tensor, or its first rows. LP_ENOMEM, LP_EINVAL (no elements). */
int lp_codec_bench_data_init(struct lp_codec_bench_data *ret_data,
                             const struct lp_geometry *geometry, const void *elements,
                             struct lp_error *err);
void lp_codec_bench_data_fini(struct lp_codec_bench_data *data);

struct lp_codec_bench_result {
    uint32_t codec; /* the one that was used */
    uint64_t n_records, raw_records;
    uint64_t logical_bytes, payload_bytes, stored_bytes, wire_bytes;
    double bits_per_element;                      /* of payload */
    double encode_gbps, decode_gbps, memcpy_gbps; /* medians; 10^9 logical bytes a second */
    char reason[96];
};

/* Plan, pack and decode `repeats` times each, memcpy in between; decoded bytes are compared with
 * the source. params->codec: the codec, or auto. LP_ECORRUPT: what came back differs. */
int lp_codec_bench_run(const struct lp_codec_bench_data *data, const struct lp_plan_params *params,
                       uint32_t repeats, struct lp_codec_bench_result *ret_result,
                       struct lp_error *err);

/* The larger of 4 times the last-level cache and 64 MiB, at most 1 GiB. */
uint64_t lp_codec_bench_bytes(void);

#endif
