/* SPDX-License-Identifier: Apache-2.0 */
/* Codec lane: parameters, metadata, and the prices that follow from a histogram. The records
 * themselves are coded in the tiers, ops_*.c.
 *
 * Exponents of real tensors crowd around a few values, so each is coded by its rank in a cascade of
 * levels of fixed width: a code says "one of the 2^w - 1 likeliest", or 0, "ask the next level".
 * Source: docs/FORMAT.md, section 5. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/lane.h"
#include "codec/lane_parts.h"
#include "codec/shape.h"

#include <string.h>

/* Symbols that pick_base() tries for the most frequent exponent. */
#define BASE_CANDIDATES 8u

/* An integer of 8 bits has no exponent; its top bits are as good where values are small. */
static bool is_byte(uint32_t dtype)
{
    return dtype == LP_DTYPE_I8 || dtype == LP_DTYPE_U8;
}

/* dtype and field. */
static int set_field(struct lp_lane *lane, const struct lp_lane_params *params,
                     struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(params->dtype);
    uint32_t bits = params->exponent_bits;

    if (info == NULL || (info->exponent_bits == 0 && !is_byte(params->dtype)))
        return lp_error_set(err, LP_ENOTSUP, "codec lane codes floats, i8 and u8, not %s",
                            info != NULL ? info->name : "an unknown dtype");
    if (bits == 0)
        bits = info->exponent_bits;
    if (is_byte(params->dtype)
            ? bits < LP_FORMAT_LANE_BYTE_FIELD_MIN || bits > LP_FORMAT_LANE_BYTE_FIELD_MAX
            : bits != info->exponent_bits)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: a field of %u bits in %s",
                            (unsigned)bits, info->name);
    lane->dtype = params->dtype;
    lane->elem_bytes = info->bytes;
    lane->has_sign = !is_byte(params->dtype);
    lane->exponent_bits = bits;
    lane->mantissa_bits = 8 * info->bytes - bits - lane->has_sign;
    lane->escape_bytes = bits > 8 ? 2 : 1;
    lane->exponent_mask = (1u << bits) - 1;
    return 0;
}

/* Which other bits are kept, and what the rest of them is. */
static int set_other(struct lp_lane *lane, const struct lp_lane_params *params,
                     struct lp_error *err)
{
    const uint64_t sign = UINT64_C(1) << (8 * lane->elem_bytes - 1);
    uint32_t other_bits;

    if (params->sign > (lane->has_sign ? LP_LANE_SIGN_ONE : LP_LANE_SIGN_STORED))
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: sign %u", (unsigned)params->sign);
    if (params->trailing_bits > lane->mantissa_bits)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: %u trailing bits in a mantissa of %u",
                            (unsigned)params->trailing_bits, (unsigned)lane->mantissa_bits);
    lane->sign = (uint8_t)params->sign;
    lane->sign_bits = lane->has_sign && params->sign == LP_LANE_SIGN_STORED;
    lane->trailing_bits = params->trailing_bits;
    lane->kept_bits = lane->mantissa_bits - params->trailing_bits;
    lane->fixed_mask = (UINT64_C(1) << params->trailing_bits) - 1;
    if (params->sign != LP_LANE_SIGN_STORED)
        lane->fixed_mask |= sign;
    if (params->sign == LP_LANE_SIGN_ONE)
        lane->fixed_value = sign;
    other_bits = lane->kept_bits + lane->sign_bits;
    lane->byte_bits = other_bits / 8 * 8;
    lane->plane_bits = other_bits % 8;
    return 0;
}

/* Levels and window; sets n_symbols. */
static int set_levels(struct lp_lane *lane, const struct lp_lane_params *params,
                      struct lp_error *err)
{
    uint32_t cost = 0;

    if (params->n_levels < 1 || params->n_levels > LP_FORMAT_LANE_LEVELS_MAX)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: %u levels, of 1 to %u",
                            (unsigned)params->n_levels, LP_FORMAT_LANE_LEVELS_MAX);
    if (params->window > LP_LANE_WINDOW_COLUMNS)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: window %u is unknown",
                            (unsigned)params->window);
    for (uint32_t k = 0; k < params->n_levels; k++) {
        const uint32_t width = params->widths[k];

        if (width < 1 || width > LP_FORMAT_LANE_WIDTH_MAX)
            return lp_error_set(err, LP_ECORRUPT, "lane metadata: level %u has %u bits, of 1 to %u",
                                (unsigned)k + 1, (unsigned)width, LP_FORMAT_LANE_WIDTH_MAX);
        lane->widths[k] = (uint8_t)width;
        lane->n_symbols += (1u << width) - 1;
        cost += width;
        lane->cost_bits[k] = (uint8_t)cost;
    }
    lane->n_levels = params->n_levels;
    lane->cost_bits[lane->n_levels] = (uint8_t)(cost + 8 * lane->escape_bytes);
    lane->window = (uint8_t)params->window;
    lane->base_bytes = params->window == LP_LANE_WINDOW_RECORD ? lane->escape_bytes : 0;
    return 0;
}

/* One symbol's place, both ways; the first period of place_of only. */
static int set_rank(struct lp_lane *lane, uint32_t symbol, uint32_t place, uint32_t rank,
                    struct lp_error *err)
{
    const uint8_t raw_place = (uint8_t)(lane->n_levels << LP_LANE_LEVEL_SHIFT);

    if (rank > lane->exponent_mask)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: rank %u of symbol %u is no exponent",
                            (unsigned)rank, (unsigned)symbol);
    if (lane->place_of[rank] != raw_place)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: rank %u appears twice",
                            (unsigned)rank);
    lane->rank[symbol] = (uint16_t)rank;
    lane->rank_at[place] = (uint16_t)rank;
    lane->place_of[rank] = (uint8_t)place;
    return 0;
}

static int set_ranks(struct lp_lane *lane, const uint16_t *ranks, struct lp_error *err)
{
    uint32_t symbol = 0;
    int rc;

    memset(lane->place_of, (int)(lane->n_levels << LP_LANE_LEVEL_SHIFT), sizeof(lane->place_of));
    for (uint32_t k = 0; k < lane->n_levels; k++) {
        for (uint32_t code = 1; code < 1u << lane->widths[k]; code++, symbol++)
            LP_TRY(rc, set_rank(lane, symbol, k << LP_LANE_LEVEL_SHIFT | code, ranks[symbol], err));
    }
    for (uint32_t i = lane->exponent_mask + 1; i < LP_LANE_EXPONENTS_MAX; i++)
        lane->place_of[i] = lane->place_of[i & lane->exponent_mask];
    return 0;
}

static void put_number(uint8_t *dst, uint32_t n_bytes, uint32_t number)
{
    if (n_bytes == 2)
        lp_store_u16(dst, (uint16_t)number);
    else
        *dst = (uint8_t)number;
}

/* Each group's bases, and behind them its first ones again. */
static void fill_columns(struct lp_lane *lane, const uint16_t *columns)
{
    const uint32_t period = lane->column_period;
    uint8_t *dst = lane->columns;

    for (uint32_t first = 0; first < lane->n_columns; first += period) {
        for (uint32_t i = 0; i < period + LP_LANE_COLUMN_SLACK; i++, dst += lane->escape_bytes)
            put_number(dst, lane->escape_bytes, columns[first + i % period]);
    }
}

static int set_columns(struct lp_lane *lane, const struct lp_lane_params *params,
                       struct lp_error *err)
{
    const uint32_t period = params->column_period, n = params->n_columns;

    if (params->window != LP_LANE_WINDOW_COLUMNS)
        return 0;
    if (period == 0 || n > LP_FORMAT_LANE_COLUMNS_MAX || n < period || n % period != 0 ||
        params->column_span % period != 0 || (params->column_span == 0 && n != period))
        return lp_error_set(err, LP_ECORRUPT,
                            "lane metadata: %u columns of period %u and span %llu", (unsigned)n,
                            (unsigned)period, (unsigned long long)params->column_span);
    for (uint32_t i = 0; i < n; i++)
        if (params->columns[i] > lane->exponent_mask)
            return lp_error_set(err, LP_ECORRUPT, "lane metadata: column %u has the base %u",
                                (unsigned)i, (unsigned)params->columns[i]);
    lane->columns =
        lp_mem_alloc_array(n + (size_t)n / period * LP_LANE_COLUMN_SLACK, lane->escape_bytes);
    if (lane->columns == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u columns", (unsigned)n);
    lane->column_period = period;
    lane->column_span = params->column_span;
    lane->n_columns = n;
    fill_columns(lane, params->columns);
    return 0;
}

int lp_codec_lane_init(struct lp_lane *ret_lane, const struct lp_lane_params *params,
                       struct lp_error *err)
{
    struct lp_lane *const lane = ret_lane;
    int rc;

    memset(lane, 0, sizeof(*lane));
    LP_TRY(rc, set_field(lane, params, err));
    LP_TRY(rc, set_other(lane, params, err));
    LP_TRY(rc, set_levels(lane, params, err));
    LP_TRY(rc, set_ranks(lane, params->ranks, err));
    return set_columns(lane, params, err);
}

void lp_codec_lane_fini(struct lp_lane *lane)
{
    if (lane == NULL)
        return;
    lp_mem_free(lane->columns);
    lane->columns = NULL;
}

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
        put_number(p, lane->escape_bytes, lane->rank[i]);
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

/* Bits of all exponents, raw ones included, with this base. */
static uint64_t exponent_bits_in_all(const struct lp_lane *lane,
                                     const struct lp_lane_counts *counts, uint32_t base)
{
    uint64_t bits = 0;

    for (uint32_t e = counts->low; e <= counts->high; e++) {
        const uint8_t place = lane->place_of[(e - base) & lane->exponent_mask];

        bits += (uint64_t)counts->hist[e] * lane->cost_bits[place >> LP_LANE_LEVEL_SHIFT];
    }
    return bits;
}

uint32_t lp_codec_lane_pick_base(const struct lp_lane *lane, const struct lp_lane_counts *counts)
{
    const uint32_t n_candidates = LP_MIN(lane->n_symbols, BASE_CANDIDATES);
    uint32_t mode = counts->low, best = 0;
    uint64_t best_bits = UINT64_MAX;

    if (lane->window != LP_LANE_WINDOW_RECORD)
        return 0;
    for (uint32_t e = counts->low; e <= counts->high; e++)
        mode = counts->hist[e] > counts->hist[mode] ? e : mode;
    for (uint32_t i = 0; i < n_candidates; i++) {
        const uint32_t base = (mode - lane->rank[i]) & lane->exponent_mask;
        const uint64_t bits = exponent_bits_in_all(lane, counts, base);

        if (bits < best_bits) {
            best_bits = bits;
            best = base;
        }
    }
    return best;
}

uint32_t lp_codec_lane_size(const struct lp_lane *lane, const struct lp_lane_counts *counts,
                            uint32_t base)
{
    /* Raw exponents are whole bytes behind the bit string, so rounding the sum is exact. */
    const uint64_t bits =
        (uint64_t)lane->plane_bits * counts->n + exponent_bits_in_all(lane, counts, base);

    return (uint32_t)(lp_lane_head_bytes(lane, counts->n) + (bits + 7) / 8);
}
