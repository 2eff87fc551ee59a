/* SPDX-License-Identifier: Apache-2.0 */
/* lanepack-bench ops: each function of the table of tiers, each tier that this CPU has, on data
 * that stays in the second-level cache, so that instructions are what is measured. */
#include "base/bytes.h"
#include "bench/bench.h"
#include "bench/ops_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_WANTED 0.01
#define RUNS 7u

static int step_lane_encode(void *user)
{
    struct bench_ops_job *const job = user;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        job->stored[r] =
            job->ops->lane_encode(&job->lane, job->elements + r * job->record_bytes, job->n,
                                  job->coded + r * job->pitch, job->record_bytes - 3);
    }
    return 0;
}

static int step_lane_decode(void *user)
{
    struct bench_ops_job *const job = user;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        if (job->stored[r] != 0 &&
            job->ops->lane_decode(&job->lane, job->coded + r * job->pitch, job->stored[r], 4,
                                  job->back + r * job->record_bytes, job->n, NULL) < 0)
            return LP_ECORRUPT;
    }
    return 0;
}

static int step_ibp_encode(void *user)
{
    struct bench_ops_job *const job = user;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        job->stored[r] =
            job->ops->ibp_encode(&job->ibp, job->elements + r * job->record_bytes, job->ibp.n_words,
                                 job->coded + r * job->pitch, job->record_bytes - 3);
    }
    return 0;
}

static int step_ibp_decode(void *user)
{
    struct bench_ops_job *const job = user;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        if (job->stored[r] != 0 &&
            job->ops->ibp_decode(&job->ibp, job->coded + r * job->pitch, job->stored[r], 4,
                                 job->back + r * job->record_bytes, job->ibp.n_words) < 0)
            return LP_ECORRUPT;
    }
    return 0;
}

static int step_histogram(void *user)
{
    struct bench_ops_job *const job = user;

    for (uint32_t i = 0; i < job->times; i++)
        job->ops->exponent_histogram(job->dtype, job->elements, (uint64_t)job->n * job->n_records,
                                     job->hist);
    return 0;
}

void bench_ops_shape(struct bench_ops_job *job, uint32_t dtype, uint32_t n)
{
    job->dtype = dtype;
    job->n = n;
    job->record_bytes = n * lp_codec_dtype_info(dtype)->bytes;
    job->pitch = (uint32_t)lp_round_up_u64(job->record_bytes + LP_CODEC_SLACK_BYTES, 64);
    job->n_records = (uint32_t)(BENCH_OPS_BYTES / job->record_bytes);
}

void bench_ops_pad(struct bench_ops_job *job)
{
    for (uint32_t r = 0; r < job->n_records; r++) {
        const uint32_t size = job->stored[r];

        job->stored[r] = (uint32_t)lp_round_up_u64(size, 4);
        memset(job->coded + r * job->pitch + size, 0, job->stored[r] - size);
    }
}

void bench_ops_time(struct bench_ops_job *job, const char *op, const char *what,
                    int (*step)(void *user))
{
    const uint64_t bytes = (uint64_t)job->n_records * job->record_bytes;
    double seconds = 0;

    job->times = 1;
    if (lp_bench_median(step, job, 1, &seconds) < 0)
        return;
    job->times = (uint32_t)LP_MIN(1 + SECONDS_WANTED / LP_MAX(seconds, 1e-7), 10000);
    if (lp_bench_median(step, job, RUNS, &seconds) < 0)
        return;
    seconds /= job->times;
    (void)printf("%-14s %-24s %-8s %8.2f GB/s %9.1f ns a record\n", op, what, job->ops->tier,
                 lp_bench_gbps(bytes, seconds), seconds / job->n_records * 1e9);
    job->times = 1;
}

int bench_ops_compare(const struct bench_ops_job *job)
{
    return memcmp(job->back, job->elements, job->n_records * job->record_bytes) == 0 ? 0
                                                                                     : LP_EINTERNAL;
}

/* Encode and decode with job->lane. */
static int time_coding(struct bench_ops_job *job, const char *what)
{
    bench_ops_time(job, "lane_encode", what, step_lane_encode);
    (void)step_lane_encode(job);
    bench_ops_pad(job);
    bench_ops_time(job, "lane_decode", what, step_lane_decode);
    return bench_ops_compare(job);
}

static int learn(const struct bench_ops_job *job, struct lp_lane *ret_lane)
{
    const struct lp_lane_sample sample = {.dtype = job->dtype,
                                          .elements = job->elements,
                                          .n_records = job->n_records,
                                          .record_elements = job->n};

    return lp_codec_lane_learn(ret_lane, &sample, NULL, NULL);
}

static int time_lane(struct bench_ops_job *job, const struct lp_codec_ops *ops, uint32_t window)
{
    struct lp_lane learned;
    char what[48];
    int rc;

    job->ops = ops;
    LP_TRY(rc, learn(job, &learned));
    rc = lp_codec_lane_init(&job->lane,
                            &(struct lp_lane_params){.dtype = job->dtype,
                                                     .n_levels = learned.n_levels,
                                                     .widths = learned.widths,
                                                     .window = window,
                                                     .ranks = learned.rank},
                            NULL);
    lp_codec_lane_fini(&learned);
    if (rc < 0)
        return rc;
    (void)snprintf(what, sizeof(what), "%s x %u by %s", lp_codec_dtype_info(job->dtype)->name,
                   job->n, window == LP_LANE_WINDOW_RECORD ? "record" : "table");
    return time_coding(job, what);
}

/* 4,096 elements a record, of which only the bits in keep may be set. */
struct layout {
    const char *name;
    uint32_t dtype;
    uint64_t keep;
};

static void fill_layout(struct bench_ops_job *job, const struct layout *layout)
{
    const uint32_t n = job->n * job->n_records, bytes = lp_codec_dtype_info(job->dtype)->bytes;

    bench_fill_normal(layout->dtype == LP_DTYPE_F64 ? LP_DTYPE_F32 : layout->dtype, n, 0, 0,
                      job->back);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t word = 0;

        if (layout->dtype == LP_DTYPE_F64) {
            float v;
            double wide;

            memcpy(&v, job->back + (size_t)i * sizeof(v), sizeof(v));
            wide = v * (1 + 1 / 3.0);
            memcpy(&word, &wide, sizeof(word));
        } else {
            memcpy(&word, job->back + (size_t)i * bytes, bytes);
        }
        word &= layout->keep;
        memcpy(job->elements + (size_t)i * bytes, &word, bytes);
    }
}

#define SHIFT_PERIOD 512u

static int step_shift(void *user)
{
    static const uint8_t bases[2 * (SHIFT_PERIOD + LP_LANE_COLUMN_SLACK)];
    struct bench_ops_job *const job = user;
    struct lp_lane lane = job->lane;

    lane.column_period = SHIFT_PERIOD;
    for (uint32_t i = 0; i < job->times * job->n_records; i++)
        job->ops->exponent_shift(&lane, job->back + i % job->n_records * job->record_bytes, job->n,
                                 bases, 0, true);
    return 0;
}

/* What lane knows of a table beyond its exponents, and the bases of columns. */
static int time_layouts(struct bench_ops_job *job, const struct lp_codec_ops *ops)
{
    static const struct layout layouts[] = {{"f64", LP_DTYPE_F64, UINT64_MAX},
                                            {"bf16 no sign", LP_DTYPE_BF16, 0x7fff},
                                            {"f32 no sign", LP_DTYPE_F32, 0x7fffffff},
                                            {"f32 once bf16", LP_DTYPE_F32, 0xffff0000},
                                            {"f32 once f16", LP_DTYPE_F32, 0xffffe000}};
    int rc;

    job->ops = ops;
    for (size_t i = 0; i < LP_ARRAY_LEN(layouts); i++) {
        bench_ops_shape(job, layouts[i].dtype, 4096);
        fill_layout(job, &layouts[i]);
        LP_TRY(rc, learn(job, &job->lane));
        rc = time_coding(job, layouts[i].name);
        bench_ops_time(job, "exponent_shift", layouts[i].name, step_shift);
        lp_codec_lane_fini(&job->lane);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int time_ibp(struct bench_ops_job *job, const struct lp_codec_ops *ops, uint32_t word_bytes)
{
    const struct lp_ibp_params params = {.word_bytes = word_bytes,
                                         .record_bytes = job->record_bytes};
    char what[48];
    int rc;

    job->ops = ops;
    LP_TRY(rc, lp_codec_ibp_learn(&job->ibp, &params, job->elements, job->n_records, NULL, NULL));
    (void)snprintf(what, sizeof(what), "%s x %u s=%u", lp_codec_dtype_info(job->dtype)->name,
                   job->n, word_bytes);
    bench_ops_time(job, "ibp_encode", what, step_ibp_encode);
    (void)step_ibp_encode(job);
    bench_ops_pad(job);
    bench_ops_time(job, "ibp_decode", what, step_ibp_decode);
    lp_codec_ibp_fini(&job->ibp);
    return 0;
}

static int time_tier(struct bench_ops_job *job, const struct lp_codec_ops *ops)
{
    static const struct {
        uint32_t dtype, n;
    } kinds[] = {{LP_DTYPE_BF16, 4096},
                 {LP_DTYPE_BF16, 128},
                 {LP_DTYPE_F32, 4096},
                 {LP_DTYPE_F32, 128},
                 {LP_DTYPE_F32, 100}};
    int rc;

    for (size_t i = 0; i < LP_ARRAY_LEN(kinds); i++) {
        bench_ops_shape(job, kinds[i].dtype, kinds[i].n);
        bench_fill_normal(job->dtype, (uint64_t)job->n * job->n_records, 0, 0, job->elements);
        for (uint32_t window = 0; window < 2; window++)
            LP_TRY(rc, time_lane(job, ops, window));
        for (uint32_t word_bytes = 4; word_bytes <= 8; word_bytes += 4)
            LP_TRY(rc, time_ibp(job, ops, word_bytes));
        bench_ops_time(job, "histogram", lp_codec_dtype_info(job->dtype)->name, step_histogram);
    }
    return 0;
}

int bench_ops_main(int argc, char **argv)
{
    static struct bench_ops_job job;
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    int rc = 0;

    if (argc > 1) {
        (void)fprintf(stderr, "usage: lanepack-bench ops (no options, %s is one)\n", argv[1]);
        return BENCH_USAGE;
    }
    job.elements = lp_bench_map(BENCH_OPS_ROOM_BYTES);
    job.coded = lp_bench_map(BENCH_OPS_ROOM_BYTES);
    job.back = lp_bench_map(BENCH_OPS_ROOM_BYTES);
    if (job.elements == NULL || job.coded == NULL || job.back == NULL)
        return BENCH_FAILED;
    for (int i = 0; rc == 0 && i < n_tiers; i++)
        rc = time_tier(&job, tiers[i]);
    for (int i = 0; rc == 0 && i < n_tiers; i++)
        rc = time_layouts(&job, tiers[i]);
    for (int i = 0; rc == 0 && i < n_tiers; i++)
        rc = bench_ops_values(&job, tiers[i]);
    if (rc < 0)
        (void)fprintf(stderr, "lanepack-bench: %s\n", lp_error_name(rc));
    lp_bench_unmap(job.elements, BENCH_OPS_ROOM_BYTES);
    lp_bench_unmap(job.coded, BENCH_OPS_ROOM_BYTES);
    lp_bench_unmap(job.back, BENCH_OPS_ROOM_BYTES);
    return rc < 0 ? BENCH_FAILED : BENCH_OK;
}
