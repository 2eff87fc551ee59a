/* SPDX-License-Identifier: Apache-2.0 */
/* lanepack-bench ops of codecs dict and sparse: records of few distinct values, and records with
 * few that are not zero; and of counts. */
#include "base/bytes.h"
#include "bench/ops_job.h"
#include "bench/random.h"

#include <stdio.h>
#include <string.h>

static int step_dict_encode(void *user)
{
    struct bench_ops_job *const job = user;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        job->stored[r] =
            job->ops->dict_encode(&job->dict, job->elements + r * job->record_bytes, job->n,
                                  job->coded + r * job->pitch, job->record_bytes - 3);
    }
    return 0;
}

static int step_dict_decode(void *user)
{
    struct bench_ops_job *const job = user;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        if (job->stored[r] != 0 &&
            job->ops->dict_decode(&job->dict, job->coded + r * job->pitch, job->stored[r], 4,
                                  job->back + r * job->record_bytes, job->n) < 0)
            return LP_ECORRUPT;
    }
    return 0;
}

static int step_sparse_find(void *user)
{
    struct bench_ops_job *const job = user;
    const uint32_t elem_bytes = job->record_bytes / job->n;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        (void)job->ops->sparse_find(elem_bytes, job->elements + r * job->record_bytes, job->n,
                                    job->map + r * job->map_words, job->coded + r * job->pitch);
    }
    return 0;
}

static int step_sparse_spread(void *user)
{
    struct bench_ops_job *const job = user;
    const uint32_t elem_bytes = job->record_bytes / job->n;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        job->ops->sparse_spread(elem_bytes, job->map + r * job->map_words, job->n,
                                job->coded + r * job->pitch, job->back + r * job->record_bytes);
    }
    return 0;
}

#define ROW_SCALE 0x3f9d70a4u /* 1.23 */

static int step_counts_spread(void *user)
{
    struct bench_ops_job *const job = user;

    for (uint32_t i = 0; i < job->times * job->n_records; i++) {
        const uint32_t r = i % job->n_records;

        job->ops->counts_spread(&job->counts, ROW_SCALE, job->map + r * job->map_words, job->n,
                                job->coded + r * job->pitch, job->back + r * job->record_bytes);
    }
    return 0;
}

/* One element of so many is any of n_values, the small ones likelier; the others are zero. */
static void fill(struct bench_ops_job *job, uint32_t n_values, uint32_t of_so_many)
{
    const uint32_t n = job->n * job->n_records, elem_bytes = job->record_bytes / job->n;
    const uint32_t shift = elem_bytes == 1 ? 0 : 8 * elem_bytes - 12;
    uint64_t state = 1;

    for (uint32_t i = 0; i < n; i++) {
        const double share = bench_random_share(&state);
        const uint64_t value = 1 + (uint64_t)(share * share * n_values);
        const uint64_t element = bench_random(&state) % of_so_many == 0 ? value << shift : 0;

        memcpy(job->elements + (size_t)i * elem_bytes, &element, elem_bytes);
    }
}

static int time_dict(struct bench_ops_job *job)
{
    char what[48];
    int rc;

    fill(job, 40, 1);
    LP_TRY(rc, lp_codec_dict_learn(&job->dict, job->record_bytes / job->n, job->elements,
                                   (uint64_t)job->n * job->n_records, &(uint64_t){0}, NULL));
    (void)snprintf(what, sizeof(what), "%s x %u, 40 values", lp_codec_dtype_info(job->dtype)->name,
                   job->n);
    bench_ops_time(job, "dict_encode", what, step_dict_encode);
    (void)step_dict_encode(job);
    bench_ops_pad(job);
    bench_ops_time(job, "dict_decode", what, step_dict_decode);
    lp_codec_dict_fini(&job->dict);
    return bench_ops_compare(job);
}

static int time_sparse(struct bench_ops_job *job)
{
    char what[48];

    fill(job, 40, 20);
    job->map_words = lp_sparse_map_words(job->n);
    (void)snprintf(what, sizeof(what), "%s x %u, one in 20", lp_codec_dtype_info(job->dtype)->name,
                   job->n);
    bench_ops_time(job, "sparse_find", what, step_sparse_find);
    bench_ops_time(job, "sparse_spread", what, step_sparse_spread);
    return bench_ops_compare(job);
}

/* Scales of columns between 0.5 and 1, and a dictionary that no symbol needs here. */
static int make_counts(struct bench_ops_job *job)
{
    const uint32_t symbol = LP_FORMAT_COUNTS_RESIDUAL_BIAS;
    struct lp_dict symbols;
    int rc;

    LP_TRY(rc, lp_codec_dict_init(&symbols, LP_FORMAT_COUNTS_SYMBOL_BYTES, 1, (const uint8_t[]){1},
                                  1, &symbol, NULL));
    for (uint32_t i = 0; i < job->n; i++)
        lp_store_u32(job->back + 4 * (size_t)i, 0x3f000000 | (i * 0x9e3779b1u) >> 9);
    return lp_codec_counts_init_take(&job->counts, job->n, job->back, &symbols, NULL);
}

/* Elements that fill() made, and their symbols, of which the records are in coded. */
static void fill_counts(struct bench_ops_job *job)
{
    fill(job, 40, 20);
    for (uint32_t r = 0; r < job->n_records; r++) {
        uint8_t *symbols = job->coded + r * job->pitch;

        for (uint32_t i = 0; i < job->n; i++) {
            uint8_t *const element = job->elements + r * job->record_bytes + 4 * (size_t)i;
            const uint32_t count = lp_load_u32(element) >> 20;
            const uint32_t symbol =
                (count - 1) << LP_FORMAT_COUNTS_RESIDUAL_BITS | LP_FORMAT_COUNTS_RESIDUAL_BIAS;

            if (count == 0)
                continue;
            lp_store_u32(symbols, symbol);
            symbols += 4;
            lp_store_u32(element, lp_counts_element(symbol, ROW_SCALE,
                                                    lp_load_u32(&job->counts.columns[i])));
        }
    }
}

static int time_counts(struct bench_ops_job *job)
{
    uint8_t values[LP_FORMAT_RECORD_BYTES_MAX + LP_CODEC_SLACK_BYTES];
    char what[48];
    int rc;

    LP_TRY(rc, make_counts(job));
    fill_counts(job);
    job->map_words = lp_sparse_map_words(job->n);
    for (uint32_t r = 0; r < job->n_records; r++)
        (void)job->ops->sparse_find(4, job->elements + r * job->record_bytes, job->n,
                                    job->map + r * job->map_words, values);
    (void)snprintf(what, sizeof(what), "f32 x %u, one in 20", job->n);
    bench_ops_time(job, "counts_spread", what, step_counts_spread);
    lp_codec_counts_fini(&job->counts);
    return bench_ops_compare(job);
}

int bench_ops_values(struct bench_ops_job *job, const struct lp_codec_ops *ops)
{
    static const struct {
        uint32_t dtype, n;
    } kinds[] = {{LP_DTYPE_U8, 4096},  {LP_DTYPE_BF16, 4096}, {LP_DTYPE_F32, 64},
                 {LP_DTYPE_F32, 4096}, {LP_DTYPE_F32, 16384}, {LP_DTYPE_F64, 4096}};
    int rc;

    job->ops = ops;
    for (size_t i = 0; i < LP_ARRAY_LEN(kinds); i++) {
        bench_ops_shape(job, kinds[i].dtype, kinds[i].n);
        LP_TRY(rc, time_dict(job));
        LP_TRY(rc, time_sparse(job));
        if (kinds[i].dtype == LP_DTYPE_F32)
            LP_TRY(rc, time_counts(job));
    }
    return 0;
}
