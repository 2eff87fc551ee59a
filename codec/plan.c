/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of codec: every candidate codes the sample, and what that would store or move decides.
 *
 * Costs are extrapolated from the sample to the table in whole numbers, so that equal costs are
 * equal: the cheaper decoder then wins. */
#include "codec/plan.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/plan_price.h"
#include "codec/rounding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A block of the checks covers at least this much of the tensor: 8 bytes in 65,536. */
#define CHECK_BYTES 65536u

static int check_params(const struct lp_plan_params *params, struct lp_error *err)
{
    const uint32_t align = params->align_bytes, word = params->ibp_word_bytes;
    const uint64_t segment = params->segment_bytes;

    if (params->codec >= LP_CODEC_END || params->layout >= LP_LAYOUT_END)
        return lp_error_set(err, LP_EINVAL, "codec %u or layout %u is not known", params->codec,
                            params->layout);
    if (params->access >= LP_ACCESS_END)
        return lp_error_set(err, LP_EINVAL, "access %u is not known", params->access);
    if (align != 0 && align != 32 && (align != 4 || params->layout == LP_LAYOUT_SLOTTED))
        return lp_error_set(err, LP_EINVAL, "alignment %u: packed takes 4 or 32, slotted 32",
                            align);
    if (params->record_rows != 0 && params->record_elements != 0)
        return lp_error_set(err, LP_EINVAL, "give a record's rows or its elements, not both");
    if (word != 0 && word != 4 && word != 8)
        return lp_error_set(err, LP_EINVAL, "ibp words have 4 or 8 bytes, not %u", word);
    if (!(params->ibp_threshold >= 0 && params->ibp_threshold <= 1))
        return lp_error_set(err, LP_EINVAL, "ibp threshold %g is not in 0 .. 1",
                            (double)params->ibp_threshold);
    if (!(params->zip7_sigma >= 0) || isinf(params->zip7_sigma))
        return lp_error_set(err, LP_EINVAL, "zip7 window for a standard deviation of %g",
                            (double)params->zip7_sigma);
    if (segment != 0 && (segment < LP_FORMAT_SEGMENT_BYTES_MIN ||
                         segment > LP_FORMAT_SEGMENT_BYTES_MAX || segment % 64 != 0))
        return lp_error_set(err, LP_EINVAL, "segments of %llu bytes", (unsigned long long)segment);
    if (!(params->min_ratio >= 0) || isinf(params->min_ratio))
        return lp_error_set(err, LP_EINVAL, "min_ratio %g", params->min_ratio);
    return 0;
}

static uint64_t default_record(const struct lp_geometry *geometry, uint32_t access)
{
    const uint32_t elements = lp_codec_geometry_default_record(geometry);

    if (access == LP_ACCESS_ROWS && geometry->ndim >= 2)
        return LP_MIN(elements, geometry->row_elements);
    return elements;
}

int lp_codec_plan_record(const struct lp_geometry *geometry, const struct lp_plan_params *params,
                         uint32_t *ret_record_elements, struct lp_error *err)
{
    static const struct lp_plan_params chosen;
    uint64_t elements;
    int rc;

    if (params == NULL)
        params = &chosen;
    LP_TRY(rc, check_params(params, err));
    if (geometry->n_elements == 0) {
        *ret_record_elements = 1;
        return 0;
    }
    elements = params->record_elements;
    if (params->record_rows != 0 &&
        !lp_mul_u64(params->record_rows, geometry->row_elements, &elements))
        elements = UINT64_MAX;
    if (elements == 0)
        elements = default_record(geometry, params->access);
    elements = LP_MIN(elements, geometry->n_elements);
    if (elements > LP_FORMAT_RECORD_BYTES_MAX / geometry->elem_bytes)
        return lp_error_set(err, LP_EINVAL, "a record of %llu elements has more than %u bytes",
                            (unsigned long long)elements, LP_FORMAT_RECORD_BYTES_MAX);
    *ret_record_elements = (uint32_t)elements;
    return 0;
}

/* What is said of the sample must be that sample. */
static int check_layout(const struct lp_planner *planner, uint32_t record_elements,
                        uint64_t sample_elements, struct lp_error *err)
{
    const struct lp_sample *const layout = planner->params.sample_layout;

    if (layout != NULL &&
        (layout->n_elements != sample_elements || layout->record_elements != record_elements))
        return lp_error_set(err, LP_EINVAL,
                            "a sample of %llu elements, laid out as %llu in records of %u",
                            (unsigned long long)sample_elements,
                            (unsigned long long)layout->n_elements, layout->record_elements);
    return 0;
}

static int planner_init(struct lp_planner *planner, const struct lp_geometry *geometry,
                        const struct lp_plan_params *params, const void *sample,
                        uint64_t sample_elements, struct lp_error *err)
{
    struct lp_table *const base = &planner->base;
    uint32_t record_elements;
    int rc;

    memset(planner, 0, sizeof(*planner));
    if (params != NULL)
        planner->params = *params;
    LP_TRY(rc, lp_codec_plan_record(geometry, params, &record_elements, err));
    if (sample_elements > geometry->n_elements ||
        (sample_elements < record_elements && geometry->n_elements > 0))
        return lp_error_set(err, LP_EINVAL, "a sample of %llu elements for records of %u",
                            (unsigned long long)sample_elements, record_elements);
    LP_TRY(rc, check_layout(planner, record_elements, sample_elements, err));
    LP_TRY(rc, lp_codec_lane_check_columns(geometry, record_elements, planner->params.column_period,
                                           planner->params.column_span, err));
    if (sample_elements == geometry->n_elements && planner->params.sample_layout == NULL) {
        planner->whole = (struct lp_sample){.whole = true, .record_elements = record_elements};
        planner->params.sample_layout = &planner->whole;
    }
    base->geometry = *geometry;
    base->record_elements = record_elements;
    base->segment_bytes = planner->params.segment_bytes;
    if (base->segment_bytes == 0)
        base->segment_bytes = LP_PLAN_SEGMENT_BYTES;
    base->check_records = (uint32_t)lp_round_up_u64(
        CHECK_BYTES / ((uint64_t)record_elements * geometry->elem_bytes), 32);
    base->check_records = LP_MAX(base->check_records, 32);
    planner->sample = sample;
    planner->sample_records = sample_elements / record_elements;
    planner->sample_bytes = planner->sample_records * record_elements * geometry->elem_bytes;
    return lp_codec_plan_table(base, planner, LP_CODEC_RAW, 0, err);
}

static int planner_alloc(struct lp_planner *planner, struct lp_error *err)
{
    planner->record = lp_mem_alloc(2 * LP_FORMAT_RECORD_BYTES_MAX + LP_CODEC_SLACK_BYTES);
    if (planner->record == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to price a record");
    planner->scratch = planner->record + LP_FORMAT_RECORD_BYTES_MAX + LP_CODEC_SLACK_BYTES;
    return 0;
}

int lp_codec_entropy(uint32_t dtype, const void *elements, uint64_t n, double *ret_bits,
                     double *ret_saving, struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const double word_bits = 8.0 * info->bytes;
    uint32_t *hist;
    double bits = 0;

    *ret_bits = -1;
    *ret_saving = 0;
    if (info->exponent_bits == 0 || n == 0)
        return 0;
    hist = lp_mem_zalloc(sizeof(*hist) << info->exponent_bits);
    if (hist == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to count exponents");
    lp_codec_ops()->exponent_histogram(dtype, elements, n, hist);
    for (uint32_t e = 0; e < 1u << info->exponent_bits; e++)
        if (hist[e] > 0)
            bits += hist[e] * log2((double)n / hist[e]);
    lp_mem_free(hist);
    *ret_bits = bits / (double)n;
    *ret_saving = 1 - (word_bits - info->exponent_bits + *ret_bits) / word_bits;
    return 0;
}

static int measure_entropy(struct lp_planner *planner, struct lp_error *err)
{
    const struct lp_geometry *const geometry = &planner->base.geometry;

    return lp_codec_entropy(geometry->dtype, planner->sample,
                            planner->sample_bytes / geometry->elem_bytes,
                            &planner->prices.entropy_bits, &planner->prices.bound_saving, err);
}

/* Of what raw costs, which is the tensor's bytes unless rows are read. */
static double cost_share(const struct lp_planner *planner, const struct lp_price *price)
{
    if (planner->params.access == LP_ACCESS_ROWS)
        return (double)lp_codec_plan_cost(planner, price) /
               (double)lp_codec_plan_cost(planner, &planner->prices.price[0]);
    return (double)lp_codec_plan_cost(planner, price) / (double)planner->sample_bytes /
           (double)planner->base.geometry.logical_bytes;
}

/* Raw comes first, then the others as plan_price.c has them: the first of equal costs has the
 * cheapest decoder. A codec that was asked for wins whatever it costs. */
static uint32_t choose(const struct lp_planner *planner, const struct lp_candidate *candidates,
                       uint32_t n)
{
    const double min_ratio = planner->params.min_ratio > 0 ? planner->params.min_ratio : 1.0;
    uint32_t best = 0;

    for (uint32_t i = 1; i < n; i++) {
        const struct lp_price *const price = candidates[i].price;
        const bool wanted = planner->params.codec == LP_CODEC_AUTO
                                ? cost_share(planner, price) * min_ratio <= 1.0
                                : planner->params.codec == price->codec;

        if (!price->possible || !wanted)
            continue;
        if ((best == 0 && planner->params.codec != LP_CODEC_AUTO) ||
            lp_codec_plan_cost(planner, price) <
                lp_codec_plan_cost(planner, candidates[best].price))
            best = i;
    }
    return best;
}

static const char *price_name(const struct lp_price *price)
{
    if (price->codec == LP_CODEC_IBP)
        return price->ibp_word_bytes == 4 ? "ibp of 4-byte words" : "ibp of 8-byte words";
    return lp_codec_id_name(price->codec);
}

static void explain(const struct lp_planner *planner, struct lp_table *table,
                    const struct lp_candidate *candidates, uint32_t n, uint32_t best)
{
    const bool moves =
        planner->params.layout == LP_LAYOUT_SLOTTED || planner->params.access == LP_ACCESS_ROWS;
    const char *const what = moves ? "moves" : "stores";
    const struct lp_price *const price = candidates[best].price;
    const char *const name = price_name(price);
    const char *note = "";

    for (uint32_t i = 1; i < n; i++)
        if (candidates[i].price->codec == planner->params.codec && note[0] == '\0')
            note = candidates[i].price->note;
    if (planner->base.geometry.n_elements == 0)
        (void)snprintf(table->reason, sizeof(table->reason), "raw: the tensor has no elements");
    else if (best == 0 && planner->params.codec == LP_CODEC_RAW)
        (void)snprintf(table->reason, sizeof(table->reason), "raw was asked for");
    else if (best == 0 && planner->params.codec != LP_CODEC_AUTO)
        (void)snprintf(table->reason, sizeof(table->reason), "raw: %s", note);
    else if (best == 0)
        (void)snprintf(table->reason, sizeof(table->reason), "raw: no codec %s enough less", what);
    else
        (void)snprintf(table->reason, sizeof(table->reason), "%s %s; it %s %.1f %% of raw", name,
                       planner->params.codec == LP_CODEC_AUTO ? "is the cheapest" : "was asked for",
                       what, 100 * cost_share(planner, price));
}

/* All that is decided once the planner stands. Not inlined, for the mode that it is called in. */
static __attribute__((noinline)) int decide(struct lp_table *ret_table, struct lp_planner *planner,
                                            bool everything, struct lp_error *err)
{
    struct lp_candidate candidates[LP_PRICES_MAX];
    uint32_t n = 0, best = 0;
    int rc;

    memset(candidates, 0, sizeof(candidates));
    rc = lp_codec_plan_price(planner, candidates, &n, everything, err);
    if (rc == 0 && everything)
        rc = measure_entropy(planner, err);
    if (rc == 0) {
        best = choose(planner, candidates, n);
        *ret_table = candidates[best].table;
        explain(planner, ret_table, candidates, n, best);
    }
    for (uint32_t i = 0; i < n; i++)
        if (rc < 0 || i != best)
            lp_codec_table_fini(&candidates[i].table);
    return rc;
}

int lp_codec_plan(struct lp_table *ret_table, const struct lp_geometry *geometry,
                  const struct lp_plan_params *params, const void *sample, uint64_t sample_elements,
                  struct lp_prices *ret_prices, struct lp_error *err)
{
    struct lp_planner *planner;
    struct lp_rounding mode;
    int rc;

    planner = lp_mem_alloc(sizeof(*planner));
    if (planner == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a plan");
    LP_TRY_GOTO(rc, planner_init(planner, geometry, params, sample, sample_elements, err), free);
    LP_TRY_GOTO(rc, planner_alloc(planner, err), free);
    /* Rules in floating point give the same tables in every thread, whatever its mode. */
    mode = lp_rounding_set();
    rc = decide(ret_table, planner, ret_prices != NULL, err);
    lp_rounding_restore(&mode);
    planner->prices.sample_bytes = planner->sample_bytes;
    planner->prices.by_rows = planner->params.access == LP_ACCESS_ROWS;
    if (rc == 0 && ret_prices != NULL)
        *ret_prices = planner->prices;
    lp_mem_free(planner->record);
    lp_mem_free(planner->ibp_counts);

free:
    lp_mem_free(planner);
    return rc;
}
