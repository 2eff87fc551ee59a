/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/analysis.h"
#include "tests/lib/fault_loop.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct lp_geometry shape_of(uint32_t dtype, uint32_t ndim, uint64_t rows, uint64_t columns)
{
    const uint64_t dims[LP_FORMAT_DIMS_MAX] = {rows, columns};
    struct lp_geometry geometry;

    cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, ndim, dims, NULL), 0);
    return geometry;
}

/* All of a tensor. */
static struct lp_analysis *analyze(const struct lp_geometry *geometry, const void *elements)
{
    const struct lp_sample layout =
        lp_codec_sample(geometry, 1, geometry->logical_bytes + 1, LP_SAMPLE_RUN_BYTES);
    struct lp_analysis *analysis = NULL;

    cr_assert_eq(lp_codec_analysis_new(&analysis, geometry, &layout, elements, NULL), 0);
    return analysis;
}

/* Column c has exponents 100 + c and 104 + c in turn: one bit in each column, three over all four.
 */
Test(analysis, entropies_follow_the_columns)
{
    const struct lp_geometry geometry = shape_of(LP_DTYPE_BF16, 2, 8192, 4);
    uint16_t *const elements = malloc(geometry.logical_bytes);
    struct lp_analysis *analysis;

    for (uint32_t i = 0; i < geometry.n_elements; i++)
        elements[i] = (uint16_t)((100 + i % 4 + 4 * (i / 4 % 2)) << 7 | (i * 37 & 0x7f));
    analysis = analyze(&geometry, elements);
    cr_assert_eq(analysis->n_elements, geometry.n_elements);
    cr_assert_eq(analysis->field_bits, 8);
    cr_assert_float_eq(analysis->whole.bits, 3, 1e-9);
    cr_assert_float_eq(analysis->whole.saving, 5.0 / 16, 1e-9);
    cr_assert_eq(analysis->columns, 4);
    cr_assert_float_eq(analysis->by_column.bits, 1, 1e-9);
    cr_assert_float_eq(analysis->by_block.bits, 3, 1e-9);
    cr_assert_eq(analysis->field_count[103], geometry.n_elements / 8);
    cr_assert_eq(analysis->field_count[99], 0);
    cr_assert_eq(analysis->n_bins, 4);
    cr_assert_eq(analysis->bin_elements[3], 8192);
    cr_assert_eq(analysis->ones[0][15], 0, "no sign is set");
    cr_assert_eq(analysis->ones[0][13], 8192, "100 and 104 both have bit 6 of the exponent");
    lp_codec_analysis_free(analysis);
    free(elements);
}

/* A scale that changes by block: within each there is one exponent only. */
Test(analysis, entropy_by_block_sees_scales)
{
    const struct lp_geometry geometry = shape_of(LP_DTYPE_F32, 1, 3 * 4096 + 100, 0);
    uint32_t *const elements = malloc(geometry.logical_bytes);
    struct lp_analysis *analysis;

    for (uint32_t i = 0; i < geometry.n_elements; i++)
        elements[i] = (120 + i / 4096) << 23;
    analysis = analyze(&geometry, elements);
    cr_assert_float_eq(analysis->by_block.bits, 0, 1e-12);
    cr_assert_gt(analysis->whole.bits, 1.5);
    cr_assert_lt(analysis->by_column.bits, 0, "one dimension has no columns");
    cr_assert_eq(analysis->n_bins, 1);
    cr_assert_eq(analysis->distinct, 0, "32 bits are not counted");
    cr_assert_lt(analysis->element_entropy, 0);
    lp_codec_analysis_free(analysis);
    free(elements);
}

/* Runs of a sample keep the columns of their place in the tensor. */
Test(analysis, runs_know_their_columns)
{
    const struct lp_geometry geometry = shape_of(LP_DTYPE_U8, 2, 100000, 5);
    const struct lp_sample layout = lp_codec_sample(&geometry, 7, 70000, 700);
    const uint64_t run = lp_codec_sample_run_elements(&layout);
    uint8_t *const elements = malloc(layout.n_elements);
    struct lp_analysis *analysis = NULL;

    cr_assert_not(layout.whole);
    for (uint64_t k = 0; k < layout.n_runs; k++)
        for (uint64_t i = 0; i < run; i++)
            elements[k * run + i] = (uint8_t)(1 << (lp_codec_sample_run_first(&layout, k) + i) % 5);
    cr_assert_eq(lp_codec_analysis_new(&analysis, &geometry, &layout, elements, NULL), 0);
    cr_assert_float_eq(analysis->by_column.bits, 0, 1e-12);
    cr_assert_float_eq(analysis->whole.bits, log2(5), 1e-3);
    for (uint32_t bin = 0; bin < 5; bin++)
        for (uint32_t b = 0; b < 8; b++)
            cr_assert_eq(analysis->ones[bin][b], b == bin ? analysis->bin_elements[bin] : 0);
    cr_assert_eq(analysis->distinct, 5);
    lp_codec_analysis_free(analysis);
    free(elements);
}

/* More columns than bins: neighbours share one, and none is lost. */
Test(analysis, bins_hold_all_columns)
{
    static const uint64_t columns[] = {1, 63, 64, 65, 1433};

    for (size_t c = 0; c < LP_ARRAY_LEN(columns); c++) {
        const struct lp_geometry geometry = shape_of(LP_DTYPE_F64, 2, 3, columns[c]);
        uint64_t *const elements = calloc(1, geometry.logical_bytes);
        struct lp_analysis *analysis = analyze(&geometry, elements);
        uint64_t n = 0;

        cr_assert_leq(analysis->n_bins, LP_ANALYSIS_BINS_MAX);
        for (uint32_t i = 0; i < analysis->n_bins; i++) {
            cr_assert_gt(analysis->bin_elements[i], 0);
            n += analysis->bin_elements[i];
        }
        cr_assert_eq(n, geometry.n_elements);
        cr_assert_eq(analysis->zeros, n);
        cr_assert_eq(analysis->field_bits, 11);
        cr_assert_float_eq(analysis->whole.saving, 11.0 / 64, 1e-12);
        lp_codec_analysis_free(analysis);
        free(elements);
    }
}

Test(analysis, takes_what_has_no_field_and_no_elements)
{
    const struct lp_geometry ints = shape_of(LP_DTYPE_I64, 2, 2, 3);
    const struct lp_geometry empty = shape_of(LP_DTYPE_F32, 2, 0, 3);
    const struct lp_geometry threes = shape_of(LP_DTYPE_F6_E2M3_X4, 1, 2, 0);
    const struct lp_sample layout = lp_codec_sample(&threes, 1, 1000, 1000);
    const uint64_t elements[6] = {1, 2, 3, 4, 5, 6};
    struct lp_analysis *analysis = analyze(&ints, elements);

    cr_assert_eq(analysis->field_bits, 0);
    cr_assert_null(analysis->field_count);
    lp_codec_analysis_free(analysis);
    analysis = analyze(&empty, elements);
    cr_assert_eq(analysis->n_elements, 0);
    cr_assert_lt(analysis->whole.bits, 0);
    lp_codec_analysis_free(analysis);
    cr_assert_eq(lp_codec_analysis_new(&analysis, &threes, &layout, elements, NULL), LP_ENOTSUP);
}

Test(analysis, no_memory_is_an_error)
{
    const struct lp_geometry geometry = shape_of(LP_DTYPE_BF16, 2, 1000, 8);
    const struct lp_sample layout =
        lp_codec_sample(&geometry, 8, geometry.logical_bytes, LP_SAMPLE_RUN_BYTES);
    uint16_t *const elements = calloc(1, geometry.logical_bytes);
    struct fault_loop loop;

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct lp_analysis *analysis = NULL;
        const int rc = lp_codec_analysis_new(&analysis, &geometry, &layout, elements, NULL);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            cr_assert_null(analysis);
            continue;
        }
        cr_assert_eq(rc, 0);
        lp_codec_analysis_free(analysis);
    }
    cr_assert_eq(loop.nth - 1, 5, "the struct and four kinds of counts");
    free(elements);
}
