/* SPDX-License-Identifier: Apache-2.0 */
/* lanepack-bench gather: random rows out of a packed table, beside the same rows by memcpy out of
 * an uncompressed array of the same pages, over table sizes from cache to memory. */
#include "base/bytes.h"
#include "bench/bench.h"
#include "codec/ops.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_DEFAULT UINT64_C(100000)
#define RUNS_DEFAULT 5u
#define FIRST_BYTES (UINT64_C(8) << 20)
#define LAST_BYTES (UINT64_C(4) << 30)
#define LEAD_ROWS 8u

static const char usage[] = "usage: lanepack-bench gather [options]\n"
                            "  --rows N         rows per gather (100000)\n"
                            "  --elements N     elements of a row (128)\n"
                            "  --dtype NAME     f32 (default) or bf16\n"
                            "  --max-bytes N    largest table (4294967296)\n"
                            "  --runs N         medians of N runs (5)\n";

struct options {
    uint64_t n_rows, row_elements, max_bytes;
    uint32_t dtype, runs;
};

struct job {
    const struct options *options;
    struct lp_geometry geometry;
    struct lp_bench_pack pack;
    uint8_t *elements, *dst;
    uint64_t *rows;
    struct lp_error *err;
};

static int step_gather(void *user)
{
    struct job *const job = user;

    return lp_codec_view_gather(&job->pack.view, job->rows, 8, job->options->n_rows, job->dst,
                                job->options->n_rows * job->geometry.row_bytes, NULL, job->err);
}

static int step_copy(void *user)
{
    struct job *const job = user;
    const uint64_t row_bytes = job->geometry.row_bytes;

    for (uint64_t i = 0; i < job->options->n_rows; i++)
        memcpy(job->dst + i * row_bytes, job->elements + job->rows[i] * row_bytes, row_bytes);
    return 0;
}

/* The same, with the lines of a row asked for a few rows ahead. */
static int step_copy_ahead(void *user)
{
    struct job *const job = user;
    const uint64_t row_bytes = job->geometry.row_bytes;

    for (uint64_t i = 0; i < job->options->n_rows; i++) {
        const uint64_t ahead = LP_MIN(i + LEAD_ROWS, job->options->n_rows - 1);
        const uint8_t *const next = job->elements + job->rows[ahead] * row_bytes;

        for (uint64_t at = 0; at < row_bytes; at += 64)
            __builtin_prefetch(next + at);
        memcpy(job->dst + i * row_bytes, job->elements + job->rows[i] * row_bytes, row_bytes);
    }
    return 0;
}

static void choose_rows(struct job *job)
{
    uint64_t state = 0x853c49e6748fea9bu;

    for (uint64_t i = 0; i < job->options->n_rows; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        job->rows[i] = (state >> 33) % job->geometry.n_rows;
    }
}

static int check(const struct job *job)
{
    const uint64_t row_bytes = job->geometry.row_bytes;

    for (uint64_t i = 0; i < job->options->n_rows; i++) {
        if (memcmp(job->dst + i * row_bytes, job->elements + job->rows[i] * row_bytes, row_bytes) !=
            0)
            return lp_error_set(job->err, LP_EINTERNAL, "row %llu came back changed",
                                (unsigned long long)job->rows[i]);
    }
    return 0;
}

static int time_gathers(struct job *job)
{
    const uint64_t bytes = job->options->n_rows * job->geometry.row_bytes;
    double gather = 0, copy = 0, ahead = 0;
    int rc;

    LP_TRY(rc, lp_bench_median(step_copy, job, job->options->runs, &copy));
    LP_TRY(rc, lp_bench_median(step_copy_ahead, job, job->options->runs, &ahead));
    LP_TRY(rc, lp_bench_median(step_gather, job, job->options->runs, &gather));
    LP_TRY(rc, check(job));
    (void)printf("%8llu MiB  %5.1f%% saved  gather %6.2f GB/s  memcpy %6.2f  with prefetch %6.2f"
                 "   %.2f x  %.2f x\n",
                 (unsigned long long)(job->geometry.logical_bytes >> 20),
                 100 * (1 - (double)lp_codec_table_stored_bytes(&job->pack.table) /
                                (double)job->geometry.logical_bytes),
                 lp_bench_gbps(bytes, gather), lp_bench_gbps(bytes, copy),
                 lp_bench_gbps(bytes, ahead), copy / gather, ahead / gather);
    return 0;
}

/* One size: make, pack, gather. */
static int run_size(const struct options *options, uint64_t table_bytes, struct lp_error *err)
{
    const struct lp_plan_params params = {.codec = LP_CODEC_LANE};
    struct job job = {.options = options, .err = err};
    const uint64_t row_bytes = options->row_elements * lp_codec_dtype_info(options->dtype)->bytes;
    const uint64_t dims[2] = {table_bytes / row_bytes, options->row_elements};
    const uint64_t dst_bytes = options->n_rows * row_bytes;
    int rc;

    LP_TRY(rc, lp_codec_geometry_init(&job.geometry, options->dtype, 2, dims, err));
    job.elements = lp_bench_map(table_bytes);
    job.dst = lp_bench_map(dst_bytes);
    job.rows = (uint64_t *)(void *)lp_bench_map(options->n_rows * sizeof(*job.rows));
    if (job.elements == NULL || job.dst == NULL || job.rows == NULL) {
        rc = lp_error_set(err, LP_ENOMEM, "no memory for a table of %llu bytes",
                          (unsigned long long)table_bytes);
    } else {
        bench_fill_normal(options->dtype, job.geometry.n_elements, 0, 0, job.elements);
        choose_rows(&job);
        rc = lp_bench_pack_init(&job.pack, &job.geometry, &params, job.elements, err);
    }
    if (rc == 0)
        rc = lp_bench_pack_run(&job.pack, job.elements, err);
    if (rc == 0)
        rc = time_gathers(&job);
    lp_bench_pack_fini(&job.pack);
    lp_bench_unmap(job.elements, table_bytes);
    lp_bench_unmap(job.dst, dst_bytes);
    lp_bench_unmap(job.rows, options->n_rows * sizeof(*job.rows));
    return rc;
}

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {{"rows", required_argument, NULL, 'n'},
                                          {"elements", required_argument, NULL, 'e'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"max-bytes", required_argument, NULL, 'm'},
                                          {"runs", required_argument, NULL, 'r'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int c;

    *options = (struct options){ROWS_DEFAULT, 128, LAST_BYTES, LP_DTYPE_F32, RUNS_DEFAULT};
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (c == 'h' || c == '?')
            return BENCH_USAGE;
        if (c == 't')
            options->dtype = lp_codec_dtype_by_name(optarg);
        if (c == 'n')
            options->n_rows = strtoull(optarg, NULL, 10);
        if (c == 'e')
            options->row_elements = strtoull(optarg, NULL, 10);
        if (c == 'm')
            options->max_bytes = strtoull(optarg, NULL, 10);
        if (c == 'r')
            options->runs = (uint32_t)strtoul(optarg, NULL, 10);
    }
    if ((options->dtype != LP_DTYPE_F32 && options->dtype != LP_DTYPE_BF16) || optind < argc ||
        options->n_rows == 0 || options->n_rows > (UINT64_C(1) << 32) ||
        options->row_elements == 0 || options->row_elements > (UINT64_C(1) << 20) ||
        options->runs == 0 || options->runs > 31)
        return BENCH_USAGE;
    return 0;
}

int bench_gather_main(int argc, char **argv)
{
    struct lp_error err = LP_ERROR_INIT;
    struct options options;
    int rc = 0;

    if (parse(argc, argv, &options) != 0) {
        (void)fputs(usage, stderr);
        return BENCH_USAGE;
    }
    (void)printf("tier %s; %llu random rows of %llu %s\n", lp_codec_ops()->tier,
                 (unsigned long long)options.n_rows, (unsigned long long)options.row_elements,
                 lp_codec_dtype_info(options.dtype)->name);
    for (uint64_t bytes = FIRST_BYTES; rc == 0 && bytes <= options.max_bytes; bytes *= 2)
        rc = run_size(&options, bytes, &err);
    if (rc < 0)
        (void)fprintf(stderr, "lanepack-bench: %s: %s\n", lp_error_name(rc), err.text);
    return rc < 0 ? BENCH_FAILED : BENCH_OK;
}
