/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata section of codec lane. Source: docs/FORMAT.md, section 5. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/lane.h"
#include "codec/lane_parts.h"

#include <string.h>

uint64_t lp_codec_lane_meta_bytes(const struct lp_lane *lane)
{
    return LP_FORMAT_LANE_META_FIXED +
           ((uint64_t)lane->n_symbols + lane->n_columns) * lane->escape_bytes;
}

void lp_codec_lane_meta_emit(const struct lp_lane *lane, void *dst)
{
    const size_t group_bytes = (size_t)lane->column_period * lane->escape_bytes;
    uint8_t *const meta = dst;
    uint8_t *p = meta + LP_FORMAT_LANE_META_FIXED;

    memset(meta, 0, LP_FORMAT_LANE_META_FIXED);
    meta[0] = (uint8_t)lane->n_levels;
    memcpy(meta + 1, lane->widths, lane->n_levels);
    meta[6] = lane->window;
    meta[7] = lane->sign;
    meta[8] = (uint8_t)lane->exponent_bits;
    meta[9] = (uint8_t)lane->trailing_bits;
    lp_store_u32(meta + 12, lane->column_period);
    lp_store_u64(meta + 16, lane->column_span);
    for (uint32_t i = 0; i < lane->n_symbols; i++, p += lane->escape_bytes)
        lp_lane_store_exponent(p, lane->escape_bytes, lane->rank[i]);
    for (uint32_t first = 0; first < lane->n_columns;
         first += lane->column_period, p += group_bytes)
        memcpy(p, lp_lane_column_group(lane, first / lane->column_period), group_bytes);
}

/* The fixed bytes; what lp_codec_lane_init() checks is left to it. */
static int check_meta_fixed(const uint8_t *meta, uint64_t meta_bytes, struct lp_error *err)
{
    if (meta_bytes < LP_FORMAT_LANE_META_FIXED)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata has %llu bytes, of %u at least",
                            (unsigned long long)meta_bytes, LP_FORMAT_LANE_META_FIXED);
    if (meta[0] < 1 || meta[0] > LP_FORMAT_LANE_LEVELS_MAX || lp_load_u16(meta + 10) != 0)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: %u levels, bytes 10 and 11 are %u",
                            (unsigned)meta[0], (unsigned)lp_load_u16(meta + 10));
    for (uint32_t k = 0; k < LP_FORMAT_LANE_LEVELS_MAX; k++) {
        if (k < meta[0] ? meta[1 + k] > LP_FORMAT_LANE_WIDTH_MAX : meta[1 + k] != 0)
            return lp_error_set(err, LP_ECORRUPT, "lane metadata: width %u of level %u",
                                (unsigned)meta[1 + k], (unsigned)k + 1);
    }
    /* 0 stands for the dtype's own in lp_codec_lane_init(), and for nothing here. */
    if (meta[8] == 0)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: a field of no bits");
    return 0;
}

/* Period and span against the table; sets n_columns. */
static int parse_columns(struct lp_lane_params *params, const uint8_t *meta,
                         uint32_t record_elements, uint64_t n_elements, struct lp_error *err)
{
    const uint32_t period = lp_load_u32(meta + 12);
    const uint64_t span = lp_load_u64(meta + 16);
    uint64_t groups = 1;

    params->window = meta[6];
    if (params->window == LP_LANE_WINDOW_COLUMNS && span != 0) {
        if (span < record_elements || span >= n_elements)
            return lp_error_set(err, LP_ECORRUPT,
                                "lane metadata: a span of %llu in %llu elements, records of %u",
                                (unsigned long long)span, (unsigned long long)n_elements,
                                (unsigned)record_elements);
        groups = n_elements / span + (n_elements % span != 0);
    }
    if (params->window == LP_LANE_WINDOW_COLUMNS
            ? period == 0 || period > LP_FORMAT_LANE_COLUMNS_MAX ||
                  groups > LP_FORMAT_LANE_COLUMNS_MAX / period
            : period != 0 || span != 0)
        return lp_error_set(err, LP_ECORRUPT,
                            "lane metadata: window %u with period %u, span %llu and %llu groups",
                            (unsigned)params->window, (unsigned)period, (unsigned long long)span,
                            (unsigned long long)groups);
    params->column_period = period;
    params->column_span = span;
    params->n_columns = (uint32_t)groups * period;
    return 0;
}

/* n numbers of n_bytes each, in memory of the caller's. */
static uint16_t *load_numbers(const uint8_t *src, uint32_t n, uint32_t n_bytes)
{
    uint16_t *const numbers = lp_mem_alloc_array(n, sizeof(*numbers));

    for (uint32_t i = 0; numbers != NULL && i < n; i++)
        numbers[i] = (uint16_t)lp_lane_load_exponent(src + (size_t)i * n_bytes, n_bytes);
    return numbers;
}

int lp_codec_lane_meta_parse(struct lp_lane *ret_lane, uint32_t dtype, uint32_t record_elements,
                             uint64_t n_elements, const void *meta, uint64_t meta_bytes,
                             struct lp_error *err)
{
    const uint8_t *const fixed = meta;
    struct lp_lane_params params = {.dtype = dtype, .widths = fixed + 1};
    uint32_t n_symbols = 0, number_bytes;
    uint16_t *numbers;
    int rc;

    LP_TRY(rc, check_meta_fixed(fixed, meta_bytes, err));
    LP_TRY(rc, parse_columns(&params, fixed, record_elements, n_elements, err));
    params.n_levels = fixed[0];
    params.sign = fixed[7];
    params.exponent_bits = fixed[8];
    params.trailing_bits = fixed[9];
    number_bytes = fixed[8] > 8 ? 2 : 1;
    for (uint32_t k = 0; k < fixed[0]; k++)
        n_symbols += (1u << fixed[1 + k]) - 1;
    if (meta_bytes !=
        LP_FORMAT_LANE_META_FIXED + ((uint64_t)n_symbols + params.n_columns) * number_bytes)
        return lp_error_set(
            err, LP_ECORRUPT, "lane metadata has %llu bytes for %u symbols and %u columns",
            (unsigned long long)meta_bytes, (unsigned)n_symbols, (unsigned)params.n_columns);
    numbers =
        load_numbers(fixed + LP_FORMAT_LANE_META_FIXED, n_symbols + params.n_columns, number_bytes);
    if (numbers == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to read lane metadata");
    params.ranks = numbers;
    params.columns = numbers + n_symbols;
    rc = lp_codec_lane_init(ret_lane, &params, err);
    lp_mem_free(numbers);
    return rc == LP_ENOTSUP ? lp_error_wrap(err, LP_ECORRUPT, "lane metadata") : rc;
}
