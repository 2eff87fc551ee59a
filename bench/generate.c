/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/generate.h"

#include "base/bytes.h"
#include "bench/bench.h"
#include "bench/random.h"

#include <string.h>

#define SIGMA 0.02 /* of weights, about */
#define ELEMENTS ((uint64_t)BENCH_KIND_ROWS * BENCH_KIND_ROW_ELEMENTS)

static uint8_t *element(const struct bench_kind *kind, uint8_t *dst, uint64_t i)
{
    return dst + i * lp_codec_dtype_info(kind->dtype)->bytes;
}

static void store(const struct bench_kind *kind, uint8_t *dst, uint64_t i, double value)
{
    bench_store_float(kind->dtype, (float)value, element(kind, dst, i));
}

/* A bell curve whose deviation differs from row to row by up to parameter octaves. */
static void fill_normal(const struct bench_kind *kind, uint8_t *dst)
{
    uint64_t state = 3, scales = 4;
    double scale = SIGMA;

    for (uint64_t i = 0; i < ELEMENTS; i++) {
        if (i % BENCH_KIND_ROW_ELEMENTS == 0)
            scale = SIGMA * exp2(kind->parameter * bench_random_share(&scales));
        store(kind, dst, i, scale * bench_random_normal(&state));
    }
}

static void fill_laplace(const struct bench_kind *kind, uint8_t *dst)
{
    uint64_t state = 5;

    for (uint64_t i = 0; i < ELEMENTS; i++) {
        const double size = -SIGMA * log(1 - bench_random_share(&state));

        store(kind, dst, i, (bench_random(&state) & 1) != 0 ? size : -size);
    }
}

/* Student's t with three degrees of freedom: heavy tails. */
static void fill_student(const struct bench_kind *kind, uint8_t *dst)
{
    uint64_t state = 6;

    for (uint64_t i = 0; i < ELEMENTS; i++) {
        const double value = SIGMA * bench_random_normal(&state);
        double squares = 0;

        for (uint32_t k = 0; k < 3; k++) {
            const double one = bench_random_normal(&state);

            squares += one * one;
        }
        store(kind, dst, i, value / sqrt(squares / 3));
    }
}

/* A table at initialisation: uniform in +-1/sqrt(row). */
static void fill_uniform(const struct bench_kind *kind, uint8_t *dst)
{
    const double limit = 1 / sqrt(BENCH_KIND_ROW_ELEMENTS);
    uint64_t state = 7;

    for (uint64_t i = 0; i < ELEMENTS; i++)
        store(kind, dst, i, limit * (2 * bench_random_share(&state) - 1));
}

static void fill_zeros(const struct bench_kind *kind, uint8_t *dst)
{
    uint64_t state = 8;

    for (uint64_t i = 0; i < ELEMENTS; i++) {
        const bool zero = bench_random_share(&state) < kind->parameter;

        store(kind, dst, i, zero ? 0 : bench_random_normal(&state));
    }
}

static void fill_random(const struct bench_kind *kind, uint8_t *dst)
{
    uint64_t state = 9;

    for (uint8_t *at = dst; at < element(kind, dst, ELEMENTS); at += 8)
        lp_store_u64(at, bench_random(&state));
}

static void fill_nan(const struct bench_kind *kind, uint8_t *dst)
{
    for (uint64_t i = 0; i < ELEMENTS; i++)
        store(kind, dst, i, (double)NAN);
}

const struct bench_kind bench_kinds[BENCH_KINDS] = {
    {"normal", LP_DTYPE_BF16, KIND_DENSE, true, 0, fill_normal},
    {"normal, row scales over 1 octave", LP_DTYPE_BF16, KIND_DENSE, false, 1, fill_normal},
    {"normal, row scales over 2 octaves", LP_DTYPE_BF16, KIND_DENSE, false, 2, fill_normal},
    {"normal, row scales over 8 octaves", LP_DTYPE_BF16, KIND_DENSE, true, 8, fill_normal},
    {"normal", LP_DTYPE_F32, KIND_DENSE, false, 0, fill_normal},
    {"Laplace", LP_DTYPE_BF16, KIND_TAILED, false, 0, fill_laplace},
    {"Student's t, 3", LP_DTYPE_BF16, KIND_TAILED, false, 0, fill_student},
    {"uniform", LP_DTYPE_BF16, KIND_DENSE, false, 0, fill_uniform},
    {"50 % zeros", LP_DTYPE_F32, KIND_SPARSE, false, 0.5, fill_zeros},
    {"90 % zeros", LP_DTYPE_F32, KIND_SPARSE, false, 0.9, fill_zeros},
    {"99 % zeros", LP_DTYPE_F32, KIND_SPARSE, false, 0.99, fill_zeros},
    {"random bits", LP_DTYPE_BF16, KIND_NOISE, false, 0, fill_random},
    {"all NaN", LP_DTYPE_BF16, KIND_CONST, false, 0, fill_nan},
};

int bench_generate(const struct bench_kind *kind, struct lp_geometry *ret_geometry,
                   uint8_t **ret_elements, struct lp_error *err)
{
    const uint64_t dims[2] = {BENCH_KIND_ROWS, BENCH_KIND_ROW_ELEMENTS};
    struct lp_geometry geometry;
    uint8_t *elements;
    int rc;

    LP_TRY(rc, lp_codec_geometry_init(&geometry, kind->dtype, 2, dims, err));
    elements = lp_bench_map(geometry.logical_bytes);
    if (elements == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %s", kind->name);
    kind->fill(kind, elements);
    *ret_geometry = geometry;
    *ret_elements = elements;
    return 0;
}
