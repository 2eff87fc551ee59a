/* SPDX-License-Identifier: Apache-2.0 */
/* bench: what the codecs save on tensor files, and a random gather through the daemon, each beside
 * memcpy in the same run. Peers stand in lanepack-bench. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "cli/bench_time.h"
#include "cli/codec_bench.h"
#include "cli/report.h"
#include "codec/ops.h"

#include <stdio.h>
#include <string.h>

#define REPEATS 5u
#define REPEATS_MAX 101u
#define GATHER_ROWS UINT64_C(100000)
#define GATHER_BYTES_MAX (UINT64_C(1) << 30) /* of rows: fewer of them where they are large */

struct bench {
    const struct lp_cli_args *args;
    struct lp_load_options source;
    uint32_t repeats;
    json_t *results; /* NULL: a table */
};

/* --- bench codec ----------------------------------------------------------------------------- */

/* The first whole rows of a tensor that make a good measure of memory. */
static int read_tensor(struct lp_load_file *file, uint32_t i, struct lp_geometry *ret_geometry,
                       void **ret_elements, struct lp_error *err)
{
    const struct lp_geometry *whole = &lp_load_tensor(file, i)->geometry;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    void *elements;
    int rc;

    memcpy(dims, whole->dims, sizeof(dims));
    if (whole->ndim > 0 && whole->row_bytes > 0)
        dims[0] = LP_MIN(dims[0], LP_MAX(lp_codec_bench_bytes() / whole->row_bytes, UINT64_C(1)));
    LP_TRY(rc, lp_codec_geometry_init(ret_geometry, whole->dtype, whole->ndim, dims, err));
    elements = lp_mem_alloc(ret_geometry->logical_bytes + 1);
    if (elements == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %llu bytes of a tensor",
                            (unsigned long long)ret_geometry->logical_bytes);
    rc = lp_load_read(file, i, 0, ret_geometry->n_elements, elements, err);
    if (rc < 0)
        lp_mem_free(elements);
    else
        *ret_elements = elements;
    return rc;
}

static void tell_codec(struct bench *bench, const char *name, const char *asked, double bound,
                       const struct lp_codec_bench_result *result)
{
    const double saved = lp_cli_saving(result->logical_bytes, result->payload_bytes);

    if (bench->results != NULL) {
        (void)json_array_append_new(
            bench->results,
            json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:s}", "name",
                      name, "asked", asked, "codec", lp_codec_id_name(result->codec),
                      "bits_per_element", result->bits_per_element, "payload_saving_percent", saved,
                      "bound_saving_percent", 100.0 * bound, "capacity_ratio",
                      (double)result->logical_bytes / (double)result->stored_bytes,
                      "transfer_ratio", (double)result->logical_bytes / (double)result->wire_bytes,
                      "encode_gbps", result->encode_gbps, "decode_gbps", result->decode_gbps,
                      "memcpy_gbps", result->memcpy_gbps, "cpu_tier", lp_codec_ops()->tier,
                      "reason", result->reason));
        return;
    }
    (void)printf("%-26s %-5s %-5s %7.3f %6.2f %6.2f %7.3f %7.3f %8.2f %8.2f %8.2f\n", name, asked,
                 lp_codec_id_name(result->codec), result->bits_per_element, saved, 100.0 * bound,
                 (double)result->logical_bytes / (double)result->stored_bytes,
                 (double)result->logical_bytes / (double)result->wire_bytes, result->encode_gbps,
                 result->decode_gbps, result->memcpy_gbps);
}

static int bench_tensor(struct bench *bench, struct lp_load_file *file, uint32_t i,
                        struct lp_error *err)
{
    const char *name = lp_load_tensor(file, i)->name;
    struct lp_codec_bench_data data;
    struct lp_geometry geometry;
    double bits, bound;
    void *elements;
    int rc;

    if (lp_load_tensor(file, i)->geometry.n_elements == 0)
        return 0;
    LP_TRY(rc, read_tensor(file, i, &geometry, &elements, err));
    rc = lp_codec_entropy(geometry.dtype, elements, geometry.n_elements, &bits, &bound, err);
    if (rc == 0)
        rc = lp_codec_bench_data_init(&data, &geometry, elements, err);
    lp_mem_free(elements);
    if (rc < 0)
        return rc;
    for (uint32_t codec = LP_CODEC_AUTO; rc == 0 && codec < LP_CODEC_END; codec++) {
        const struct lp_plan_params params = {.codec = codec};
        struct lp_codec_bench_result result;

        rc = lp_codec_bench_run(&data, &params, bench->repeats, &result, err);
        if (rc == 0)
            tell_codec(bench, name, lp_codec_id_name(codec), bound, &result);
    }
    lp_codec_bench_data_fini(&data);
    return rc;
}

static int bench_file(struct bench *bench, const char *path, struct lp_error *err)
{
    struct lp_load_file *file;
    int rc;

    LP_TRY(rc, lp_load_open(&file, path, &bench->source, err));
    for (uint32_t i = 0; rc == 0 && i < lp_load_count(file); i++)
        rc = bench_tensor(bench, file, i, err);
    lp_load_close(file);
    return rc;
}

static int bench_codec(struct bench *bench)
{
    const struct lp_cli_args *args = bench->args;
    struct lp_error err = LP_ERROR_INIT;
    int rc = 0;

    if (bench->results == NULL)
        (void)printf("one thread, codecs on %s; GB/s of logical bytes, medians of %u\n"
                     "%-26s %-5s %-5s %7s %6s %6s %7s %7s %8s %8s %8s\n",
                     lp_codec_ops()->tier, bench->repeats, "name", "asked", "codec", "bits",
                     "saved%", "bound%", "stored", "wire", "encode", "decode", "memcpy");
    for (int i = 1; rc == 0 && i < args->n_items; i++)
        rc = bench_file(bench, args->items[i], &err);
    return rc < 0 ? lp_cli_fail(args, rc, &err) : LP_CLI_DONE;
}

/* --- bench gather ---------------------------------------------------------------------------- */

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
};

static void copy_rows(const struct gather *gather)
{
    for (uint64_t i = 0; i < gather->n_rows; i++)
        memcpy(gather->theirs + i * gather->row_bytes,
               gather->source + gather->rows[i] * gather->row_bytes, gather->row_bytes);
}

static int time_gather(struct gather *gather, uint32_t repeats, struct lp_error *err)
{
    const uint64_t bytes = gather->n_rows * gather->row_bytes;
    double ours_s[REPEATS_MAX], memcpy_s[REPEATS_MAX];
    int rc;

    for (uint32_t i = 0; i < repeats; i++) {
        uint64_t start_ns = lp_clock_now_ns();

        LP_TRY(rc, lp_tensor_read(gather->tensor, gather->rows, gather->n_rows, gather->ours, bytes,
                                  err));
        ours_s[i] = lp_bench_seconds_since(start_ns);
        start_ns = lp_clock_now_ns();
        copy_rows(gather);
        memcpy_s[i] = lp_bench_seconds_since(start_ns);
    }
    gather->ours_gbps = lp_bench_median_gbps(ours_s, repeats, bytes);
    gather->memcpy_gbps = lp_bench_median_gbps(memcpy_s, repeats, bytes);
    if (memcmp(gather->ours, gather->theirs, bytes) != 0)
        return lp_error_set(err, LP_ECORRUPT, "gathered rows differ from the source file");
    return 0;
}

static int gather_rows(struct bench *bench, struct gather *gather, struct lp_error *err)
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

static void tell_gather(struct bench *bench, const char *name, const struct gather *gather)
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
static int gather_beside(struct bench *bench, struct gather *gather, struct lp_load_file *file,
                         uint32_t i, struct lp_error *err)
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

static int gather_name(struct bench *bench, lp_client *client, struct lp_load_file *file,
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

static int gather_all(struct bench *bench, lp_client *client, struct lp_error *err)
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

static int bench_gather(struct bench *bench)
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

int lp_cli_verb_bench(const struct lp_cli_args *args)
{
    struct bench bench = {.args = args, .repeats = REPEATS};
    uint64_t repeats = REPEATS;
    int rc = lp_cli_read_source(args, &bench.source);

    if (rc != LP_CLI_DONE)
        return rc;
    if (!lp_cli_number(args, LP_CLI_REPEAT, REPEATS_MAX, &repeats))
        return LP_CLI_USAGE;
    bench.repeats = (uint32_t)LP_MAX(repeats, UINT64_C(1));
    if (lp_cli_has(args, LP_CLI_JSON))
        bench.results = json_array();
    if (strcmp(args->items[0], "codec") == 0)
        rc = bench_codec(&bench);
    else if (strcmp(args->items[0], "gather") == 0)
        rc = bench_gather(&bench);
    else
        rc = lp_cli_usage(args, "bench measures codec or gather, not %s", args->items[0]);
    if (rc != LP_CLI_DONE || bench.results == NULL) {
        json_decref(bench.results);
        return rc != LP_CLI_DONE ? rc : lp_cli_finish_output();
    }
    return lp_cli_print_json_take(json_pack("{s:o}", "results", bench.results));
}
