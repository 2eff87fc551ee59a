/* SPDX-License-Identifier: Apache-2.0 */
/* bench codec: what each codec saves on the tensors of files, and how fast it is. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "cli/bench_time.h"
#include "cli/codec_bench.h"
#include "cli/verb_bench.h"
#include "codec/ops.h"

#include <stdio.h>
#include <string.h>

/* Timed data has some times the last-level cache, within reason. */
#define CACHES 4u
#define BYTES_MIN (64ull << 20)
#define BYTES_MAX (1ull << 30)

static uint64_t timed_bytes(void)
{
    return LP_MIN(LP_MAX(CACHES * lp_bench_llc_bytes(), BYTES_MIN), BYTES_MAX);
}

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
        dims[0] = LP_MIN(dims[0], LP_MAX(timed_bytes() / whole->row_bytes, UINT64_C(1)));
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

static void tell_codec(struct lp_cli_bench *bench, const char *name, const char *asked,
                       double bound, const struct lp_bench_figures *figures, uint64_t n_elements)
{
    const double saved = 100.0 * lp_bench_saving(figures);
    const double bits =
        8.0 * (double)(figures->payload_bytes + figures->meta_bytes) / (double)n_elements;
    const double stored = (double)figures->logical_bytes / (double)figures->stored_bytes;
    const double wire = (double)figures->logical_bytes / (double)figures->wire_bytes;

    if (bench->results != NULL) {
        (void)json_array_append_new(
            bench->results,
            json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:s}", "name",
                      name, "asked", asked, "codec", lp_codec_id_name(figures->codec),
                      "bits_per_element", bits, "payload_saving_percent", saved,
                      "bound_saving_percent", 100.0 * bound, "capacity_ratio", stored,
                      "transfer_ratio", wire, "encode_gbps", figures->encode_gbps, "decode_gbps",
                      figures->decode_gbps, "memcpy_gbps", figures->memcpy_gbps, "cpu_tier",
                      lp_codec_ops()->tier, "reason", figures->reason));
        return;
    }
    (void)printf("%-26s %-5s %-5s %7.3f %6.2f %6.2f %7.3f %7.3f %8.2f %8.2f %8.2f\n", name, asked,
                 lp_codec_id_name(figures->codec), bits, saved, 100.0 * bound, stored, wire,
                 figures->encode_gbps, figures->decode_gbps, figures->memcpy_gbps);
}

/* geometry: of the rows that were read, which begin data. */
static int bench_codecs(struct lp_cli_bench *bench, const char *name,
                        const struct lp_geometry *geometry, const struct lp_bench_data *data,
                        struct lp_error *err)
{
    double bits, bound;
    int rc;

    LP_TRY(rc, lp_codec_entropy(geometry->dtype, data->elements, geometry->n_elements, &bits,
                                &bound, err));
    for (uint32_t codec = LP_CODEC_AUTO; codec < LP_CODEC_END; codec++) {
        const struct lp_plan_params params = {
            .codec = codec, .ibp_exact = lp_cli_has(bench->args, LP_CLI_IBP_EXACT)};
        struct lp_bench_figures figures = {0};

        LP_TRY(rc, lp_bench_codec_sizes(&figures, geometry, &params, data->elements, err));
        LP_TRY(rc, lp_bench_codec_speed(&figures, data, &params, bench->repeats, err));
        tell_codec(bench, name, lp_codec_id_name(codec), bound, &figures, geometry->n_elements);
    }
    return 0;
}

static int bench_tensor(struct lp_cli_bench *bench, struct lp_load_file *file, uint32_t i,
                        struct lp_error *err)
{
    const char *name = lp_load_tensor(file, i)->name;
    struct lp_bench_data data;
    struct lp_geometry geometry;
    void *elements;
    int rc;

    if (lp_load_tensor(file, i)->geometry.n_elements == 0)
        return 0;
    LP_TRY(rc, read_tensor(file, i, &geometry, &elements, err));
    rc = lp_bench_data_init(&data, &geometry, elements, timed_bytes(), err);
    lp_mem_free(elements);
    if (rc < 0)
        return rc;
    rc = bench_codecs(bench, name, &geometry, &data, err);
    lp_bench_data_fini(&data);
    return rc;
}

static int bench_file(struct lp_cli_bench *bench, const char *path, struct lp_error *err)
{
    struct lp_load_file *file;
    int rc;

    LP_TRY(rc, lp_load_open(&file, path, &bench->source, err));
    for (uint32_t i = 0; rc == 0 && i < lp_load_count(file); i++)
        rc = bench_tensor(bench, file, i, err);
    lp_load_close(file);
    return rc;
}

int lp_cli_bench_codec(struct lp_cli_bench *bench)
{
    const struct lp_cli_args *args = bench->args;
    struct lp_error err = LP_ERROR_INIT;
    int rc = 0;

    if (args->n_items < 2)
        return lp_cli_usage(args, "bench codec takes tensor files");
    if (bench->results == NULL)
        (void)printf("one thread, codecs on %s; GB/s of logical bytes, medians of %u\n"
                     "%-26s %-5s %-5s %7s %6s %6s %7s %7s %8s %8s %8s\n",
                     lp_codec_ops()->tier, bench->repeats, "name", "asked", "codec", "bits",
                     "saved%", "bound%", "stored", "wire", "encode", "decode", "memcpy");
    for (int i = 1; rc == 0 && i < args->n_items; i++)
        rc = bench_file(bench, args->items[i], &err);
    return rc < 0 ? lp_cli_fail(args, rc, &err) : LP_CLI_DONE;
}
