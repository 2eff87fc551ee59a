/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/measure.h"

#include "base/bytes.h"
#include "codec/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double measure_extra_bytes(const struct lp_bench_figures *figures)
{
    const uint64_t bytes = figures->index_bytes - figures->unused_bytes + figures->align_bytes;

    return figures->records == 0 ? 0 : (double)bytes / (double)figures->records;
}

/* Entropy and bound from hist. */
static void measure_bound(struct tensor_figures *figures)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(figures->geometry.dtype);
    uint64_t n = 0;
    double bits = 0;

    for (uint32_t e = 0; e < LP_LANE_EXPONENTS_MAX; e++)
        n += figures->hist[e];
    for (uint32_t e = 0; e < LP_LANE_EXPONENTS_MAX; e++) {
        if (figures->hist[e] > 0)
            bits += (double)figures->hist[e] * log2((double)n / (double)figures->hist[e]);
    }
    figures->is_float = info->exponent_bits > 0 && n > 0;
    figures->sparse = figures->is_float && figures->hist[0] > n / 2;
    figures->entropy_bits = figures->is_float ? bits / (double)n : 0;
    figures->bound_saving =
        figures->is_float ? (info->exponent_bits - figures->entropy_bits) / (8.0 * info->bytes) : 0;
    figures->own_bound_saving = figures->bound_saving;
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

/* The row of ibp is the published choice of masks: the rival that the bars were set against. What
 * auto takes for ibp is chosen better. */
static struct lp_plan_params row_params(uint32_t codec)
{
    return (struct lp_plan_params){.codec = codec, .ibp_exact = codec == LP_CODEC_IBP};
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
    measure_bound(figures);
    for (uint32_t codec = 0; codec < MEASURE_ROWS; codec++) {
        const struct lp_plan_params params = row_params(codec);

        rc = lp_bench_codec_sizes(&figures->row[codec], geometry, &params, elements, err);
        if (rc < 0)
            return lp_error_wrap(err, rc, "%s as %s", name, lp_codec_id_name(codec));
    }
    return 0;
}

void measure_add(struct tensor_figures *all, const struct tensor_figures *tensor)
{
    const double before = (double)all->row[LP_CODEC_RAW].logical_bytes;
    const double added = (double)tensor->row[LP_CODEC_RAW].logical_bytes;
    const double own = before * all->own_bound_saving + added * tensor->bound_saving;

    if (before == 0)
        all->geometry = tensor->geometry;
    for (uint32_t e = 0; e < LP_LANE_EXPONENTS_MAX; e++)
        all->hist[e] += tensor->hist[e];
    measure_bound(all);
    all->own_bound_saving = before + added > 0 ? own / (before + added) : 0;
    for (uint32_t codec = 0; codec < MEASURE_ROWS; codec++) {
        struct lp_bench_figures *const sum = &all->row[codec];
        const struct lp_bench_figures *const one = &tensor->row[codec];

        sum->logical_bytes += one->logical_bytes;
        sum->payload_bytes += one->payload_bytes;
        sum->meta_bytes += one->meta_bytes;
        sum->stored_bytes += one->stored_bytes;
        sum->wire_bytes += one->wire_bytes;
        sum->records += one->records;
        sum->index_bytes += one->index_bytes;
        sum->unused_bytes += one->unused_bytes;
        sum->align_bytes += one->align_bytes;
        if (before == 0)
            (void)snprintf(sum->how, sizeof(sum->how), "%s", one->how);
        else if (strcmp(sum->how, one->how) != 0)
            (void)snprintf(sum->how, sizeof(sum->how), "all tensors");
    }
}

static int time_peers(struct tensor_figures *figures, const struct lp_bench_data *data,
                      const struct measure_speed *speed, struct lp_error *err)
{
    const struct lp_geometry *const geometry = &data->geometry;
    const struct peer_input input = {
        .bytes = data->elements,
        .n_bytes = LP_MIN(speed->peer_bytes / geometry->elem_bytes * geometry->elem_bytes,
                          geometry->logical_bytes),
        .repeat_bytes = figures->geometry.logical_bytes,
        .row_elements = geometry->row_elements,
        .dtype = geometry->dtype,
        .elem_bytes = geometry->elem_bytes,
        .runs = LP_MIN(speed->runs, 3)};
    const int n = bench_peers(&input, &speed->places, figures->peer, err);

    if (n < 0)
        return n;
    figures->n_peers = (uint32_t)n;
    return 0;
}

static int time_all(struct tensor_figures *figures, const struct lp_bench_data *data,
                    const struct measure_speed *speed, struct lp_error *err)
{
    int rc;

    for (uint32_t codec = 0; codec < MEASURE_ROWS; codec++) {
        const struct lp_plan_params params = row_params(codec);

        LP_TRY(rc, lp_bench_codec_speed(&figures->row[codec], data, &params, speed->runs, err));
    }
    LP_TRY(rc, lp_bench_analysis_speed(data, speed->runs, &figures->analysis_gbps, err));
    figures->timed_bytes = data->geometry.logical_bytes;
    figures->timed = true;
    return speed->peer_bytes > 0 ? time_peers(figures, data, speed, err) : 0;
}

int measure_speeds(struct tensor_figures *figures, const void *elements,
                   const struct measure_speed *speed, struct lp_error *err)
{
    struct lp_bench_data data = {0};
    int rc;

    if (figures->geometry.n_elements == 0)
        return 0;
    rc = lp_bench_data_init(&data, &figures->geometry, elements, speed->min_bytes, err);
    if (rc == 0)
        rc = time_all(figures, &data, speed, err);
    lp_bench_data_fini(&data);
    return rc < 0 ? lp_error_wrap(err, rc, "timing %s", figures->name) : 0;
}
