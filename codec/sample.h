/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of a tensor a plan looks at: the same ones however the tensor comes in, so that a
 * file packed, a file put and memory put choose the same codec.
 *
 * The whole tensor where it has at most limit_bytes; else runs of whole records, the first at the
 * start, the last at the end, the others evenly between. */
#ifndef LP_CODEC_SAMPLE_H
#define LP_CODEC_SAMPLE_H

#include "codec/shape.h"

#define LP_SAMPLE_RUN_BYTES (UINT32_C(64) << 10) /* of a run; longer where starts are dear */

struct lp_sample {
    bool whole; /* one run from the tensor's start on */
    uint32_t record_elements;
    uint64_t run_records, n_runs;
    uint64_t records;    /* whole ones in the tensor */
    uint64_t n_elements; /* of the sample */
};

/* run_bytes: how long a run should be; a source that is slow to start reading wants long ones. */
struct lp_sample lp_codec_sample(const struct lp_geometry *geometry, uint32_t record_elements,
                                 uint64_t limit_bytes, uint64_t run_bytes);

/* The layout of a sample that somebody took by that rule, from its size and that of its runs.
 * False: there is no such sample. */
bool lp_codec_sample_of_runs(struct lp_sample *ret_sample, const struct lp_geometry *geometry,
                             uint32_t record_elements, uint64_t n_elements, uint64_t run_elements);

/* The layout of a sample that is the tensor's first n_elements. */
struct lp_sample lp_codec_sample_first(uint32_t record_elements, uint64_t n_elements);

/* First element of run k < n_runs (1 run of n_elements when whole), and elements of each run. */
uint64_t lp_codec_sample_run_first(const struct lp_sample *sample, uint64_t k);
uint64_t lp_codec_sample_run_elements(const struct lp_sample *sample);

/* Which record of the tensor is the r-th whole one of the sample. */
uint64_t lp_codec_sample_record(const struct lp_sample *sample, uint64_t r);

#endif
