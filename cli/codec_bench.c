/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/codec_bench.h"

#include "base/bytes.h"
#include "cli/bench_pack.h"
#include "cli/bench_time.h"

#include <stdio.h>
#include <string.h>

double lp_bench_saving(const struct lp_bench_figures *figures)
{
    return figures->logical_bytes == 0
               ? 0
               : 1 - (double)(figures->payload_bytes + figures->meta_bytes) /
                         (double)figures->logical_bytes;
}

static void describe(const struct lp_table *table, char *how, size_t how_bytes)
{
    char words[64];

    lp_codec_table_describe(table, words, sizeof(words));
    (void)snprintf(how, how_bytes, "%s%s%s", lp_codec_id_name(table->codec),
                   words[0] != '\0' ? " " : "", words);
}

static void take_sizes(struct lp_bench_figures *figures, const struct lp_table *table)
{
    describe(table, figures->how, sizeof(figures->how));
    figures->codec = table->codec;
    memcpy(figures->reason, table->reason, sizeof(figures->reason));
    figures->logical_bytes = table->geometry.logical_bytes;
    figures->payload_bytes = table->payload_bytes;
    figures->meta_bytes = table->meta_bytes;
    figures->stored_bytes = lp_codec_table_stored_bytes(table);
    figures->wire_bytes = table->wire_bytes;
    figures->records = table->n_records;
    figures->index_bytes = table->index_bytes;
    if (table->group_bytes > 0 && table->index_bytes > 0) {
        const uint64_t places = table->index_bytes / table->group_bytes * LP_FORMAT_GROUP_RECORDS;

        figures->unused_bytes = table->index_bytes * (places - table->n_records) / places;
    }
    figures->align_bytes = table->data_bytes - table->payload_bytes;
}

/* All elements back, equal to what went in. */
static int check_back(const struct lp_bench_pack *pack, const void *elements, struct lp_error *err)
{
    const struct lp_geometry *const geometry = &pack->table.geometry;
    uint8_t *const back = lp_bench_map(geometry->logical_bytes);
    int rc;

    if (back == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to check a table");
    rc = lp_codec_view_elements(&pack->view, 0, geometry->n_elements, back, err);
    if (rc == 0 && memcmp(back, elements, geometry->logical_bytes) != 0)
        rc = lp_error_set(err, LP_EINTERNAL, "elements came back changed");
    lp_bench_unmap(back, geometry->logical_bytes);
    return rc;
}

int lp_bench_codec_sizes(struct lp_bench_figures *figures, const struct lp_geometry *geometry,
                         const struct lp_plan_params *params, const void *elements,
                         struct lp_error *err)
{
    struct lp_bench_pack pack;
    int rc;

    LP_TRY(rc, lp_bench_pack_init(&pack, geometry, params, elements, err));
    rc = lp_bench_pack_run(&pack, elements, err);
    if (rc == 0)
        rc = check_back(&pack, elements, err);
    take_sizes(figures, &pack.table);
    lp_bench_pack_fini(&pack);
    return rc;
}

/* --- speeds ---------------------------------------------------------------------------------- */

int lp_bench_data_init(struct lp_bench_data *ret_data, const struct lp_geometry *geometry,
                       const void *elements, uint64_t min_bytes, struct lp_error *err)
{
    const uint64_t bytes = geometry->logical_bytes;
    struct lp_bench_data data = {0};
    uint64_t dims[LP_FORMAT_DIMS_MAX], times;
    int rc;

    if (bytes == 0)
        return lp_error_set(err, LP_EINVAL, "a tensor without elements can't be measured");
    times = LP_MAX((min_bytes + bytes - 1) / bytes, 1);
    memcpy(dims, geometry->dims, sizeof(dims));
    dims[0] = geometry->ndim == 0 ? times : dims[0] * times;
    LP_TRY(rc, lp_codec_geometry_init(&data.geometry, geometry->dtype, LP_MAX(geometry->ndim, 1u),
                                      dims, err));
    data.elements = lp_bench_map(data.geometry.logical_bytes);
    data.back = lp_bench_map(data.geometry.logical_bytes);
    if (data.elements == NULL || data.back == NULL) {
        lp_bench_data_fini(&data);
        return lp_error_set(err, LP_ENOMEM, "no memory for %llu bytes twice",
                            (unsigned long long)bytes * times);
    }
    for (uint64_t i = 0; i < times; i++)
        memcpy(data.elements + i * bytes, elements, bytes);
    *ret_data = data;
    return 0;
}

void lp_bench_data_fini(struct lp_bench_data *data)
{
    lp_bench_unmap(data->elements, data->geometry.logical_bytes);
    lp_bench_unmap(data->back, data->geometry.logical_bytes);
    memset(data, 0, sizeof(*data));
}

/* What the timed steps work on. */
struct run {
    const struct lp_bench_data *data;
    const struct lp_plan_params *params;
    struct lp_bench_pack pack;
    struct lp_error *err;
};

static int step_copy(void *user)
{
    const struct run *const run = user;

    memcpy(run->data->back, run->data->elements, run->data->geometry.logical_bytes);
    return 0;
}

static int step_encode(void *user)
{
    struct run *const run = user;

    return lp_bench_pack_run(&run->pack, run->data->elements, run->err);
}

static int step_decode(void *user)
{
    const struct run *const run = user;

    return lp_codec_view_elements(&run->pack.view, 0, run->data->geometry.n_elements,
                                  run->data->back, run->err);
}

static int step_analyse(void *user)
{
    struct run *const run = user;
    struct lp_table table;
    int rc;

    LP_TRY(rc,
           lp_bench_plan(&table, &run->data->geometry, run->params, run->data->elements, run->err));
    lp_codec_table_fini(&table);
    return 0;
}

static int time_row(struct run *run, struct lp_bench_figures *figures, uint32_t runs)
{
    const uint64_t bytes = run->data->geometry.logical_bytes;
    double copy = 0, encode = 0, decode = 0;
    int rc;

    LP_TRY(rc, lp_bench_median(step_copy, run, runs, &copy));
    LP_TRY(rc, lp_bench_median(step_encode, run, runs, &encode));
    LP_TRY(rc, lp_bench_median(step_decode, run, runs, &decode));
    if (memcmp(run->data->back, run->data->elements, bytes) != 0)
        return lp_error_set(run->err, LP_EINTERNAL, "elements came back changed");
    figures->memcpy_gbps = lp_bench_gbps(bytes, copy);
    figures->encode_gbps = lp_bench_gbps(bytes, encode);
    figures->decode_gbps = lp_bench_gbps(bytes, decode);
    return 0;
}

int lp_bench_codec_speed(struct lp_bench_figures *figures, const struct lp_bench_data *data,
                         const struct lp_plan_params *params, uint32_t runs, struct lp_error *err)
{
    struct run run = {.data = data, .params = params, .err = err};
    int rc;

    LP_TRY(rc, lp_bench_pack_init(&run.pack, &data->geometry, params, data->elements, err));
    rc = time_row(&run, figures, runs);
    describe(&run.pack.table, figures->timed_how, sizeof(figures->timed_how));
    lp_bench_pack_fini(&run.pack);
    return rc;
}

int lp_bench_analysis_speed(const struct lp_bench_data *data, uint32_t runs, double *ret_gbps,
                            struct lp_error *err)
{
    static const struct lp_plan_params any;
    struct run run = {.data = data, .params = &any, .err = err};
    double seconds = 0;
    int rc;

    LP_TRY(rc, lp_bench_median(step_analyse, &run, runs, &seconds));
    *ret_gbps = lp_bench_gbps(data->geometry.logical_bytes, seconds);
    return 0;
}
