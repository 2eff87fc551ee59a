/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/sample.h"

#include <criterion/criterion.h>

static struct lp_geometry f32_rows(uint64_t rows, uint64_t columns)
{
    const uint64_t dims[LP_FORMAT_DIMS_MAX] = {rows, columns};
    struct lp_geometry geometry;

    cr_assert_eq(lp_codec_geometry_init(&geometry, LP_DTYPE_F32, 2, dims, NULL), 0);
    return geometry;
}

/* A tensor that fits the limit is its own sample. */
Test(sample, takes_a_small_tensor_whole)
{
    const struct lp_geometry geometry = f32_rows(100, 128);
    const struct lp_sample sample =
        lp_codec_sample(&geometry, 128, geometry.logical_bytes, LP_SAMPLE_RUN_BYTES);

    cr_assert(sample.whole);
    cr_assert_eq(sample.n_elements, geometry.n_elements);
    cr_assert_eq(sample.n_runs, 1);
    cr_assert_eq(lp_codec_sample_run_first(&sample, 0), 0);
    cr_assert_eq(lp_codec_sample_run_elements(&sample), geometry.n_elements);
}

/* Runs are whole records, keep to the limit, begin at the start, end at the end and never overlap.
 */
Test(sample, spreads_runs_over_a_large_tensor)
{
    static const uint64_t rows[] = {30000, 65537, 1u << 20, UINT64_C(1) << 40};

    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        const struct lp_geometry geometry = f32_rows(rows[i], 100);
        const struct lp_sample sample =
            lp_codec_sample(&geometry, 100, UINT64_C(8) << 20, LP_SAMPLE_RUN_BYTES);
        const uint64_t run = lp_codec_sample_run_elements(&sample);
        uint64_t end = 0;

        cr_assert(!sample.whole);
        cr_assert_leq(sample.n_elements * 4, UINT64_C(8) << 20);
        cr_assert_geq(sample.n_elements * 4, UINT64_C(7) << 20);
        cr_assert_eq(run % 100, 0);
        cr_assert_eq(lp_codec_sample_run_first(&sample, 0), 0);
        for (uint64_t k = 0; k < sample.n_runs; k++) {
            const uint64_t first = lp_codec_sample_run_first(&sample, k);

            cr_assert_eq(first % 100, 0);
            cr_assert(k == 0 || first >= end, "run %llu overlaps", (unsigned long long)k);
            end = first + run;
        }
        cr_assert_eq(end, geometry.n_elements);
    }
}

/* A record larger than a run, or than the limit, is still one whole record. */
Test(sample, gives_at_least_one_record)
{
    const struct lp_geometry geometry = f32_rows(1000, 16384);
    const struct lp_sample sample = lp_codec_sample(&geometry, 16384, 1000, LP_SAMPLE_RUN_BYTES);

    cr_assert_eq(sample.n_runs, 1);
    cr_assert_eq(sample.n_elements, 16384);
    cr_assert_leq(lp_codec_sample_run_first(&sample, 0), geometry.n_elements - 16384);
}
