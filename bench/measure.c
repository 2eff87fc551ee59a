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

double measure_extra_bytes(const struct lp_bench_figures *figures)
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
        rc = lp_bench_codec_sizes(&figures->row[i], geometry, rows[i].codec, elements, err);
        if (rc < 0)
            return lp_error_wrap(err, rc, "%s as %s", name, rows[i].name);
    }
    return 0;
}

static int time_all(struct tensor_figures *figures, const struct lp_bench_data *data, uint32_t runs,
                    bool peers, struct lp_error *err)
{
    int rc;

    for (uint32_t i = 0; i < ROWS; i++)
        LP_TRY(rc, lp_bench_codec_speed(&figures->row[i], data, rows[i].codec, runs, err));
    LP_TRY(rc, lp_bench_analysis_speed(data, runs, &figures->analysis_gbps, err));
    figures->timed_bytes = data->geometry.logical_bytes;
    if (peers) {
        LP_TRY(rc, bench_peers(data->elements, data->geometry.logical_bytes,
                               figures->geometry.logical_bytes, data->geometry.elem_bytes,
                               LP_MIN(runs, 3), figures->peer, err));
        figures->n_peers = (uint32_t)rc;
    }
    figures->timed = true;
    return 0;
}

int measure_speeds(struct tensor_figures *figures, const void *elements, uint64_t min_bytes,
                   uint32_t runs, bool peers, struct lp_error *err)
{
    struct lp_bench_data data = {0};
    int rc;

    if (figures->geometry.n_elements == 0)
        return 0;
    rc = lp_bench_data_init(&data, &figures->geometry, elements, min_bytes, err);
    if (rc == 0)
        rc = time_all(figures, &data, runs, peers, err);
    lp_bench_data_fini(&data);
    return rc < 0 ? lp_error_wrap(err, rc, "timing %s", figures->name) : 0;
}
