/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/measure.h"

#include "base/bytes.h"
#include "codec/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t codec;
} rows[ROWS] = {
    {"raw", LP_CODEC_RAW}, {"ibp", LP_CODEC_IBP}, {"lane", LP_CODEC_LANE}, {"auto", LP_CODEC_AUTO}};

const char *measure_row_name(enum measure_row row)
{
    return rows[row].name;
}

double measure_saving(const struct codec_figures *figures)
{
    return figures->logical_bytes == 0
               ? 0
               : 1 - (double)(figures->payload_bytes + figures->meta_bytes) /
                         (double)figures->logical_bytes;
}

double measure_extra_bytes(const struct codec_figures *figures)
{
    return figures->records == 0
               ? 0
               : (double)(figures->stored_bytes - figures->payload_bytes - figures->meta_bytes) /
                     (double)figures->records;
}

void measure_bound(struct tensor_figures *figures, uint32_t dtype)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const double word_bits = 8.0 * info->bytes;
    uint64_t n = 0;
    double bits = 0;

    for (uint32_t e = 0; e < LP_LANE_EXPONENTS_MAX; e++)
        n += figures->hist[e];
    for (uint32_t e = 0; e < LP_LANE_EXPONENTS_MAX; e++) {
        if (figures->hist[e] > 0)
            bits += (double)figures->hist[e] * log2((double)n / (double)figures->hist[e]);
    }
    figures->is_float = info->exponent_bits > 0 && n > 0;
    figures->entropy_bits = figures->is_float ? bits / (double)n : 0;
    figures->bound_saving =
        figures->is_float ? (info->exponent_bits - figures->entropy_bits) / word_bits : 0;
}

static void count_exponents(struct tensor_figures *figures, const void *elements)
{
    const struct lp_geometry *const geometry = &figures->geometry;
    const uint64_t step = UINT64_C(1) << 24; /* counters have 32 bits */

    if (lp_codec_dtype_info(geometry->dtype)->exponent_bits == 0)
        return;
    for (uint64_t i = 0; i < geometry->n_elements; i += step) {
        uint32_t hist[LP_LANE_EXPONENTS_MAX] = {0};

        lp_codec_ops()->exponent_histogram(geometry->dtype,
                                           (const uint8_t *)elements + i * geometry->elem_bytes,
                                           LP_MIN(step, geometry->n_elements - i), hist);
        for (uint32_t e = 0; e < LP_LANE_EXPONENTS_MAX; e++)
            figures->hist[e] += hist[e];
    }
}

static void describe(const struct lp_table *table, char *how, size_t how_bytes)
{
    const struct lp_lane *const lane = &table->lane;
    char widths[16] = "";

    for (uint32_t k = 0; table->codec == LP_CODEC_LANE && k < lane->n_levels; k++) {
        const size_t used = strlen(widths);

        (void)snprintf(widths + used, sizeof(widths) - used, "%s%u", k > 0 ? "," : "",
                       (unsigned)lane->widths[k]);
    }
    if (table->codec == LP_CODEC_LANE)
        (void)snprintf(how, how_bytes, "lane %s by %s", widths,
                       lane->window == LP_LANE_WINDOW_RECORD ? "record" : "table");
    else if (table->codec == LP_CODEC_IBP)
        (void)snprintf(how, how_bytes, "ibp s=%u", table->ibp.word_bytes);
    else
        (void)snprintf(how, how_bytes, "raw");
}

static void take_sizes(struct codec_figures *figures, const struct lp_table *table)
{
    describe(table, figures->how, sizeof(figures->how));
    figures->logical_bytes = table->geometry.logical_bytes;
    figures->payload_bytes = table->payload_bytes;
    figures->meta_bytes = table->meta_bytes;
    figures->stored_bytes = lp_codec_table_stored_bytes(table);
    figures->wire_bytes = table->wire_bytes;
    figures->records = table->n_records;
}

/* A plan sees at most so much of a tensor. */
static uint64_t sample_elements(const struct lp_geometry *geometry)
{
    uint32_t record = 1;

    if (geometry->logical_bytes <= LP_PLAN_SAMPLE_BYTES ||
        lp_codec_plan_record(geometry, NULL, &record, NULL) < 0)
        return geometry->n_elements;
    return LP_PLAN_SAMPLE_BYTES / geometry->elem_bytes / record * record;
}

/* All elements back, equal to what went in. */
static int check_back(const struct bench_pack *pack, const void *elements, struct lp_error *err)
{
    const struct lp_geometry *const geometry = &pack->table.geometry;
    uint8_t *const back = bench_map(geometry->logical_bytes);
    int rc;

    if (back == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to check a table");
    rc = lp_codec_view_elements(&pack->view, 0, geometry->n_elements, back, err);
    if (rc == 0 && memcmp(back, elements, geometry->logical_bytes) != 0)
        rc = lp_error_set(err, LP_EINTERNAL, "elements came back changed");
    bench_unmap(back, geometry->logical_bytes);
    return rc;
}

static int measure_size(struct codec_figures *figures, const struct lp_geometry *geometry,
                        uint32_t codec, const void *elements, struct lp_error *err)
{
    const struct lp_plan_params params = {.codec = codec};
    struct bench_pack pack;
    int rc;

    LP_TRY(rc, bench_pack_init(&pack, geometry, &params, elements, sample_elements(geometry), false,
                               err));
    rc = bench_pack_run(&pack, elements, err);
    if (rc == 0)
        rc = check_back(&pack, elements, err);
    take_sizes(figures, &pack.table);
    bench_pack_fini(&pack);
    return rc;
}

int measure_sizes(struct tensor_figures *ret_figures, const char *name,
                  const struct lp_geometry *geometry, const void *elements, struct lp_error *err)
{
    struct tensor_figures *const figures = ret_figures;
    int rc;

    memset(figures, 0, sizeof(*figures));
    (void)snprintf(figures->name, sizeof(figures->name), "%s", name);
    figures->geometry = *geometry;
    count_exponents(figures, elements);
    measure_bound(figures, geometry->dtype);
    for (uint32_t i = 0; i < ROWS; i++) {
        rc = measure_size(&figures->row[i], geometry, rows[i].codec, elements, err);
        if (rc < 0)
            return lp_error_wrap(err, rc, "%s as %s", name, rows[i].name);
    }
    return 0;
}

/* What the timed steps work on. */
struct run {
    struct bench_pack pack;
    struct lp_geometry geometry; /* of the repeated tensor */
    const struct lp_plan_params *params;
    uint8_t *elements, *back;
    struct lp_error *err;
};

static int step_copy(void *user)
{
    const struct run *const run = user;

    memcpy(run->back, run->elements, run->geometry.logical_bytes);
    return 0;
}

static int step_encode(void *user)
{
    struct run *const run = user;

    return bench_pack_run(&run->pack, run->elements, run->err);
}

static int step_decode(void *user)
{
    const struct run *const run = user;

    return lp_codec_view_elements(&run->pack.view, 0, run->geometry.n_elements, run->back,
                                  run->err);
}

static int step_analyse(void *user)
{
    struct run *const run = user;
    struct lp_table table;
    int rc;

    LP_TRY(rc, lp_codec_plan(&table, &run->geometry, run->params, run->elements,
                             sample_elements(&run->geometry), NULL, run->err));
    lp_codec_table_fini(&table);
    return 0;
}

static int time_row(struct run *run, struct codec_figures *figures, uint32_t runs)
{
    const uint64_t bytes = run->geometry.logical_bytes;
    double copy = 0, encode = 0, decode = 0;
    int rc;

    LP_TRY(rc, bench_median(step_copy, run, runs, &copy));
    LP_TRY(rc, bench_median(step_encode, run, runs, &encode));
    LP_TRY(rc, bench_median(step_decode, run, runs, &decode));
    if (memcmp(run->back, run->elements, bytes) != 0)
        return lp_error_set(run->err, LP_EINTERNAL, "elements came back changed");
    figures->memcpy_gbps = bench_gbps(bytes, copy);
    figures->encode_gbps = bench_gbps(bytes, encode);
    figures->decode_gbps = bench_gbps(bytes, decode);
    return 0;
}

static int time_codec(struct run *run, struct codec_figures *figures, uint32_t codec, uint32_t runs)
{
    const struct lp_plan_params params = {.codec = codec};
    int rc;

    run->params = &params;
    LP_TRY(rc, bench_pack_init(&run->pack, &run->geometry, &params, run->elements,
                               sample_elements(&run->geometry), false, run->err));
    rc = time_row(run, figures, runs);
    bench_pack_fini(&run->pack);
    return rc;
}

/* The tensor over and over along its first dimension. */
static int repeat(struct run *run, const struct lp_geometry *geometry, const void *elements,
                  uint64_t min_bytes)
{
    const uint64_t bytes = geometry->logical_bytes;
    const uint64_t times = (min_bytes + bytes - 1) / bytes;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    int rc;

    memcpy(dims, geometry->dims, sizeof(dims));
    dims[0] *= LP_MAX(times, 1);
    LP_TRY(rc,
           lp_codec_geometry_init(&run->geometry, geometry->dtype, geometry->ndim, dims, run->err));
    run->elements = bench_map(run->geometry.logical_bytes);
    run->back = bench_map(run->geometry.logical_bytes);
    if (run->elements == NULL || run->back == NULL)
        return lp_error_set(run->err, LP_ENOMEM, "no memory for %llu bytes twice",
                            (unsigned long long)run->geometry.logical_bytes);
    for (uint64_t i = 0; i < run->geometry.logical_bytes; i += bytes)
        memcpy(run->elements + i, elements, bytes);
    return 0;
}

static int time_all(struct tensor_figures *figures, struct run *run, uint32_t runs, bool peers)
{
    static const struct lp_plan_params any;
    double analysis = 0;
    int rc;

    for (uint32_t i = 0; i < ROWS; i++)
        LP_TRY(rc, time_codec(run, &figures->row[i], rows[i].codec, runs));
    run->params = &any;
    LP_TRY(rc, bench_median(step_analyse, run, runs, &analysis));
    figures->analysis_gbps = bench_gbps(run->geometry.logical_bytes, analysis);
    figures->timed_bytes = run->geometry.logical_bytes;
    if (peers) {
        LP_TRY(rc, bench_peers(run->elements, run->geometry.logical_bytes,
                               figures->geometry.logical_bytes, run->geometry.elem_bytes,
                               LP_MIN(runs, 3), figures->peer, run->err));
        figures->n_peers = (uint32_t)rc;
    }
    figures->timed = true;
    return 0;
}

int measure_speeds(struct tensor_figures *figures, const void *elements, uint64_t min_bytes,
                   uint32_t runs, bool peers, struct lp_error *err)
{
    struct run run = {.err = err};
    int rc;

    if (figures->geometry.n_elements == 0 || figures->geometry.ndim == 0)
        return 0;
    rc = repeat(&run, &figures->geometry, elements, min_bytes);
    if (rc == 0)
        rc = time_all(figures, &run, runs, peers);
    bench_unmap(run.elements, run.geometry.logical_bytes);
    bench_unmap(run.back, run.geometry.logical_bytes);
    return rc < 0 ? lp_error_wrap(err, rc, "timing %s", figures->name) : 0;
}
