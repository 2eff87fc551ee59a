/* SPDX-License-Identifier: Apache-2.0 */
/* Codec lane: parameters, and the prices that follow from a histogram. The records themselves are
 * coded in the tiers, ops_*.c.
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

/* dtype and field. */
static int set_field(struct lp_lane *lane, const struct lp_lane_params *params,
                     struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(params->dtype);
    const bool is_byte = lp_codec_dtype_is_int8(params->dtype);
    uint32_t bits = params->exponent_bits;

    if (info == NULL || (info->exponent_bits == 0 && !is_byte))
        return lp_error_set(err, LP_ENOTSUP, "codec lane codes floats, i8 and u8, not %s",
                            info != NULL ? info->name : "an unknown dtype");
    if (bits == 0)
        bits = info->exponent_bits;
    if (is_byte ? bits < LP_FORMAT_LANE_BYTE_FIELD_MIN || bits > LP_FORMAT_LANE_BYTE_FIELD_MAX
                : bits != info->exponent_bits)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: a field of %u bits in %s",
                            (unsigned)bits, info->name);
    lane->dtype = params->dtype;
    lane->elem_bytes = info->bytes;
    lane->has_sign = !is_byte;
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
    for (uint32_t n = lane->exponent_mask + 1; n < LP_LANE_EXPONENTS_MAX; n *= 2)
        memcpy(lane->place_of + n, lane->place_of, n);
    return 0;
}

/* Each group's bases, and behind them its first ones again. */
static void fill_columns(struct lp_lane *lane, const uint16_t *columns)
{
    const uint32_t period = lane->column_period;
    uint8_t *dst = lane->columns;

    for (uint32_t first = 0; first < lane->n_columns; first += period) {
        for (uint32_t i = 0; i < period + LP_LANE_COLUMN_SLACK; i++, dst += lane->escape_bytes)
            lp_lane_store_exponent(dst, lane->escape_bytes, columns[first + i % period]);
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

/* Bits of the exponents that occur, raw ones included, with this base: one by one. */
static uint64_t bits_of_few(const struct lp_lane *lane, const struct lp_lane_counts *counts,
                            uint32_t base)
{
    uint64_t bits = 0;

    for (uint32_t e = counts->low; e <= counts->high; e++) {
        const uint8_t place = lane->place_of[(e - base) & lane->exponent_mask];

        bits += (uint64_t)counts->hist[e] * lane->cost_bits[place >> LP_LANE_LEVEL_SHIFT];
    }
    return bits;
}

/* The same less those of as many raw exponents, symbol by symbol. */
static int64_t bits_saved(const struct lp_lane *lane, const struct lp_lane_counts *counts,
                          uint32_t base)
{
    const uint32_t raw_bits = lane->cost_bits[lane->n_levels], mask = lane->exponent_mask;
    const uint16_t *rank = lane->rank;
    uint64_t bits = 0;

    for (uint32_t k = 0; k < lane->n_levels; k++) {
        const uint16_t *const end = rank + (1u << lane->widths[k]) - 1;
        uint64_t n = 0;

        for (; rank < end; rank++)
            n += counts->hist[(*rank + base) & mask];
        bits += n * (raw_bits - lane->cost_bits[k]);
    }
    return -(int64_t)bits;
}

/* Fewer exponents than symbols. */
static bool are_few(const struct lp_lane *lane, const struct lp_lane_counts *counts)
{
    return counts->high - counts->low < lane->n_symbols;
}

uint32_t lp_codec_lane_pick_base(const struct lp_lane *lane, const struct lp_lane_counts *counts)
{
    const uint32_t n_candidates = LP_MIN(lane->n_symbols, BASE_CANDIDATES);
    const bool few = are_few(lane, counts);
    int64_t best_bits = INT64_MAX;
    uint32_t best = 0, mode;

    if (lane->window != LP_LANE_WINDOW_RECORD)
        return 0;
    mode = lp_lane_counts_mode(counts);
    for (uint32_t i = 0; i < n_candidates; i++) {
        const uint32_t base = (mode - lane->rank[i]) & lane->exponent_mask;
        const int64_t bits =
            few ? (int64_t)bits_of_few(lane, counts, base) : bits_saved(lane, counts, base);

        if (bits < best_bits) {
            best_bits = bits;
            best = base;
        }
    }
    return best;
}

static uint64_t exponent_bits_in_all(const struct lp_lane *lane,
                                     const struct lp_lane_counts *counts, uint32_t base)
{
    uint64_t n = 0;

    if (are_few(lane, counts))
        return bits_of_few(lane, counts, base);
    for (uint32_t e = counts->low; e <= counts->high; e++)
        n += counts->hist[e];
    return n * lane->cost_bits[lane->n_levels] + (uint64_t)bits_saved(lane, counts, base);
}

uint32_t lp_codec_lane_size(const struct lp_lane *lane, const struct lp_lane_counts *counts,
                            uint32_t base)
{
    /* Raw exponents are whole bytes behind the bit string, so rounding the sum is exact. */
    const uint64_t bits =
        (uint64_t)lane->plane_bits * counts->n + exponent_bits_in_all(lane, counts, base);

    return (uint32_t)(lp_lane_head_bytes(lane, counts->n) + (bits + 7) / 8);
}
