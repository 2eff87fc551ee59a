/* SPDX-License-Identifier: Apache-2.0 */
/* bench gather: random rows through the daemon, beside the same rows by memcpy from the source. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "cli/bench_time.h"
#include "cli/verb_bench.h"
#include "codec/ops.h"

#include <stdio.h>
#include <string.h>

#define GATHER_ROWS UINT64_C(100000)
#define GATHER_BYTES_MAX (UINT64_C(1) << 30) /* of rows: fewer of them where they are large */

/* xorshift: the same rows in every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct gather {
    lp_tensor *tensor;
    const uint8_t *source; /* the file's elements, in memory */
    uint64_t table_rows, row_bytes, n_rows;
    uint64_t *rows;         /* n_rows of them */
    uint8_t *ours, *theirs; /* n_rows rows each */
    double ours_gbps, memcpy_gbps;
    struct lp_error *err; /* borrowed */
};

static int step_read(void *user)
{
    const struct gather *gather = user;

    return lp_tensor_read(gather->tensor, gather->rows, gather->n_rows, gather->ours,
                          gather->n_rows * gather->row_bytes, gather->err);
}

static int step_copy(void *user)
{
    const struct gather *gather = user;

    for (uint64_t i = 0; i < gather->n_rows; i++)
        memcpy(gather->theirs + i * gather->row_bytes,
               gather->source + gather->rows[i] * gather->row_bytes, gather->row_bytes);
    return 0;
}

static int time_gather(struct gather *gather, uint32_t repeats, struct lp_error *err)
{
    const uint64_t bytes = gather->n_rows * gather->row_bytes;
    double ours = 0, theirs = 0;
    int rc;

    gather->err = err;
    LP_TRY(rc, lp_bench_median(step_read, gather, repeats, &ours));
    LP_TRY(rc, lp_bench_median(step_copy, gather, repeats, &theirs));
    gather->ours_gbps = lp_bench_gbps(bytes, ours);
    gather->memcpy_gbps = lp_bench_gbps(bytes, theirs);
    if (memcmp(gather->ours, gather->theirs, bytes) != 0)
        return lp_error_set(err, LP_ECORRUPT, "gathered rows differ from the source file");
    return 0;
}

static int gather_rows(struct lp_cli_bench *bench, struct gather *gather, struct lp_error *err)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    int rc = 0;

    gather->n_rows = LP_MIN(GATHER_ROWS, LP_MAX(GATHER_BYTES_MAX / gather->row_bytes, UINT64_C(1)));
    gather->rows = lp_mem_alloc_array(gather->n_rows, sizeof(*gather->rows));
    gather->ours = lp_mem_alloc_array(gather->n_rows, gather->row_bytes);
    gather->theirs = lp_mem_alloc_array(gather->n_rows, gather->row_bytes);
    if (gather->rows == NULL || gather->ours == NULL || gather->theirs == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory for %llu rows",
                          (unsigned long long)gather->n_rows);
    for (uint64_t i = 0; rc == 0 && i < gather->n_rows; i++)
        gather->rows[i] = next_random(&state) % gather->table_rows;
    if (rc == 0)
        rc = time_gather(gather, bench->repeats, err);
    lp_mem_free(gather->rows);
    lp_mem_free(gather->ours);
    lp_mem_free(gather->theirs);
    return rc;
}

static void tell_gather(struct lp_cli_bench *bench, const char *name, const struct gather *gather)
{
    const char *tier = lp_codec_ops()->tier;

    if (bench->results != NULL)
        (void)json_array_append_new(bench->results,
                                    json_pack("{s:s, s:I, s:I, s:b, s:f, s:f, s:s}", "name", name,
                                              "rows", (json_int_t)gather->n_rows, "row_bytes",
                                              (json_int_t)gather->row_bytes, "equal", 1,
                                              "gather_gbps", gather->ours_gbps, "memcpy_gbps",
                                              gather->memcpy_gbps, "cpu_tier", tier));
    else
        (void)printf("%-24s %llu random rows of %llu bytes, every bit equal; gather %.2f GB/s, "
                     "memcpy %.2f GB/s (one thread, %s)\n",
                     name, (unsigned long long)gather->n_rows,
                     (unsigned long long)gather->row_bytes, gather->ours_gbps, gather->memcpy_gbps,
                     tier);
}

/* Gather from the opened tensor, beside tensor i of the file in memory. */
static int gather_beside(struct lp_cli_bench *bench, struct gather *gather,
                         struct lp_load_file *file, uint32_t i, struct lp_error *err)
{
    const struct lp_geometry *geometry = &lp_load_tensor(file, i)->geometry;
    struct lp_tensor_info info = {.struct_size = sizeof(info)};
    uint8_t *source;
    int rc;

    (void)lp_tensor_get_info(gather->tensor, &info);
    if (geometry->dtype != info.dtype || geometry->logical_bytes != info.logical_bytes ||
        geometry->row_bytes != info.row_bytes)
        return lp_error_set(err, LP_EFINGERPRINT, "another dtype or shape than in the source file");
    if (info.row_bytes == 0 || info.n_rows == 0)
        return lp_error_set(err, LP_EINVAL, "no rows to gather");
    source = lp_mem_alloc(info.logical_bytes);
    if (source == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the source");
    rc = lp_load_read(file, i, 0, geometry->n_elements, source, err);
    gather->source = source;
    gather->table_rows = info.n_rows;
    gather->row_bytes = info.row_bytes;
    if (rc == 0)
        rc = gather_rows(bench, gather, err);
    lp_mem_free(source);
    return rc;
}

static int gather_name(struct lp_cli_bench *bench, lp_client *client, struct lp_load_file *file,
                       const char *name, struct lp_error *err)
{
    const int64_t i = lp_load_count(file) == 1 ? 0 : lp_load_find(file, name);
    struct gather gather = {0};
    int rc;

    if (i < 0)
        return lp_error_set(err, LP_ENOENT, "%s is not in the source file", name);
    LP_TRY(rc, lp_client_open(client, &name, 1, &gather.tensor, NULL, err));
    rc = gather_beside(bench, &gather, file, (uint32_t)i, err);
    lp_tensor_close(gather.tensor);
    if (rc < 0)
        return lp_error_wrap(err, rc, "%s", name);
    tell_gather(bench, name, &gather);
    return 0;
}

static int gather_all(struct lp_cli_bench *bench, lp_client *client, struct lp_error *err)
{
    const struct lp_cli_args *args = bench->args;
    struct lp_load_file *file;
    int rc;

    LP_TRY(rc, lp_load_open(&file, args->value[LP_CLI_AGAINST], &bench->source, err));
    for (int i = 1; rc == 0 && i < args->n_items; i++)
        rc = gather_name(bench, client, file, args->items[i], err);
    for (uint32_t i = 0; rc == 0 && args->n_items == 1 && i < lp_load_count(file); i++)
        rc = gather_name(bench, client, file, lp_load_tensor(file, i)->name, err);
    lp_load_close(file);
    return rc;
}

int lp_cli_bench_gather(struct lp_cli_bench *bench)
{
    const struct lp_cli_args *args = bench->args;
    struct lp_error err = LP_ERROR_INIT;
    lp_client *client;
    int rc;

    if (!lp_cli_has(args, LP_CLI_AGAINST))
        return lp_cli_usage(args, "bench gather needs --against, the source file");
    rc = lp_cli_connect(args, &client, &err);
    if (rc == 0) {
        rc = gather_all(bench, client, &err);
        lp_client_close(client);
    }
    if (rc == LP_ECORRUPT || rc == LP_EFINGERPRINT) {
        (void)lp_cli_fail(args, rc, &err);
        return LP_CLI_PROBLEMS;
    }
    return rc < 0 ? lp_cli_fail(args, rc, &err) : LP_CLI_DONE;
}
