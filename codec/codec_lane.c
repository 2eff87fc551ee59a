/* SPDX-License-Identifier: Apache-2.0 */
/* Codec lane: parameters, metadata, and the prices that follow from a histogram. The records
 * themselves are coded in the tiers, ops_*.c.
 *
 * Exponents of real tensors crowd around a few values, so each is coded by its rank in a cascade of
 * levels of fixed width: a code says "one of the 2^w - 1 likeliest", or 0, "ask the next level".
 * Source: docs/FORMAT.md, section 5. */
#include "base/bytes.h"
#include "codec/lane.h"
#include "codec/lane_parts.h"
#include "codec/shape.h"

#include <string.h>

/* Symbols that pick_base() tries for the most frequent exponent. */
#define BASE_CANDIDATES 8u

static int set_dtype(struct lp_lane *lane, uint32_t dtype, struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    uint32_t other_bits;

    if (info == NULL || info->exponent_bits == 0)
        return lp_error_set(err, LP_ENOTSUP, "codec lane codes floats, not %s",
                            info != NULL ? info->name : "an unknown dtype");
    other_bits = 8 * info->bytes - info->exponent_bits;
    lane->dtype = dtype;
    lane->elem_bytes = info->bytes;
    lane->exponent_bits = info->exponent_bits;
    lane->mantissa_bits = info->mantissa_bits;
    lane->byte_bits = other_bits / 8 * 8;
    lane->plane_bits = other_bits % 8;
    lane->escape_bytes = info->exponent_bits > 8 ? 2 : 1;
    lane->exponent_mask = (1u << info->exponent_bits) - 1;
    return 0;
}

/* Levels and window; sets n_symbols. */
static int set_levels(struct lp_lane *lane, uint32_t n_levels, const uint8_t *widths,
                      uint32_t window, struct lp_error *err)
{
    uint32_t cost = 0;

    if (n_levels < 1 || n_levels > LP_FORMAT_LANE_LEVELS_MAX)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: %u levels, of 1 to %u",
                            (unsigned)n_levels, LP_FORMAT_LANE_LEVELS_MAX);
    if (window != LP_LANE_WINDOW_TABLE && window != LP_LANE_WINDOW_RECORD)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: window %u is unknown",
                            (unsigned)window);
    for (uint32_t k = 0; k < n_levels; k++) {
        if (widths[k] < 1 || widths[k] > LP_FORMAT_LANE_WIDTH_MAX)
            return lp_error_set(err, LP_ECORRUPT, "lane metadata: level %u has %u bits, of 1 to %u",
                                (unsigned)k + 1, (unsigned)widths[k], LP_FORMAT_LANE_WIDTH_MAX);
        lane->widths[k] = widths[k];
        lane->n_symbols += (1u << widths[k]) - 1;
        cost += widths[k];
        lane->cost_bits[k] = (uint8_t)cost;
    }
    lane->n_levels = n_levels;
    lane->cost_bits[n_levels] = (uint8_t)(cost + 8 * lane->escape_bytes);
    lane->window = (uint8_t)window;
    lane->base_bytes = window == LP_LANE_WINDOW_RECORD ? lane->escape_bytes : 0;
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

int lp_codec_lane_init(struct lp_lane *ret_lane, uint32_t dtype, uint32_t n_levels,
                       const uint8_t *widths, uint32_t window, const uint16_t *ranks,
                       struct lp_error *err)
{
    struct lp_lane *const lane = ret_lane;
    uint32_t symbol = 0;
    int rc;

    memset(lane, 0, sizeof(*lane));
    LP_TRY(rc, set_dtype(lane, dtype, err));
    LP_TRY(rc, set_levels(lane, n_levels, widths, window, err));
    memset(lane->place_of, (int)(n_levels << LP_LANE_LEVEL_SHIFT), sizeof(lane->place_of));
    for (uint32_t k = 0; k < n_levels; k++) {
        for (uint32_t code = 1; code < 1u << widths[k]; code++, symbol++)
            LP_TRY(rc, set_rank(lane, symbol, k << LP_LANE_LEVEL_SHIFT | code, ranks[symbol], err));
    }
    for (uint32_t i = lane->exponent_mask + 1; i < LP_LANE_EXPONENTS_MAX; i++)
        lane->place_of[i] = lane->place_of[i & lane->exponent_mask];
    return 0;
}

uint64_t lp_codec_lane_meta_bytes(const struct lp_lane *lane)
{
    return LP_FORMAT_LANE_META_FIXED + (uint64_t)lane->n_symbols * lane->escape_bytes;
}

void lp_codec_lane_meta_emit(const struct lp_lane *lane, void *dst)
{
    uint8_t *const meta = dst;
    uint8_t *rank = meta + LP_FORMAT_LANE_META_FIXED;

    memset(meta, 0, LP_FORMAT_LANE_META_FIXED);
    meta[0] = (uint8_t)lane->n_levels;
    memcpy(meta + 1, lane->widths, lane->n_levels);
    meta[6] = lane->window;
    for (uint32_t i = 0; i < lane->n_symbols; i++, rank += lane->escape_bytes) {
        if (lane->escape_bytes == 2)
            lp_store_u16(rank, lane->rank[i]);
        else
            *rank = (uint8_t)lane->rank[i];
    }
}

/* The fixed bytes; what lp_codec_lane_init() checks is left to it. */
static int check_meta_fixed(const uint8_t *meta, uint64_t meta_bytes, struct lp_error *err)
{
    if (meta_bytes < LP_FORMAT_LANE_META_FIXED)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata has %llu bytes, of %u at least",
                            (unsigned long long)meta_bytes, LP_FORMAT_LANE_META_FIXED);
    if (meta[0] < 1 || meta[0] > LP_FORMAT_LANE_LEVELS_MAX || meta[7] != 0)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata: %u levels, last fixed byte %u",
                            (unsigned)meta[0], (unsigned)meta[7]);
    for (uint32_t k = 0; k < LP_FORMAT_LANE_LEVELS_MAX; k++) {
        if (k < meta[0] ? meta[1 + k] > LP_FORMAT_LANE_WIDTH_MAX : meta[1 + k] != 0)
            return lp_error_set(err, LP_ECORRUPT, "lane metadata: width %u of level %u",
                                (unsigned)meta[1 + k], (unsigned)k + 1);
    }
    return 0;
}

int lp_codec_lane_meta_parse(struct lp_lane *ret_lane, uint32_t dtype, const void *meta,
                             uint64_t meta_bytes, struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const uint8_t *const fixed = meta;
    uint16_t ranks[LP_FORMAT_LANE_SYMBOLS_MAX];
    uint32_t n_symbols = 0, rank_bytes;
    int rc;

    if (info == NULL || info->exponent_bits == 0)
        return lp_error_set(err, LP_ECORRUPT, "codec lane on dtype %u", (unsigned)dtype);
    LP_TRY(rc, check_meta_fixed(fixed, meta_bytes, err));
    rank_bytes = info->exponent_bits > 8 ? 2 : 1;
    for (uint32_t k = 0; k < fixed[0]; k++)
        n_symbols += (1u << fixed[1 + k]) - 1;
    if (meta_bytes != LP_FORMAT_LANE_META_FIXED + (uint64_t)n_symbols * rank_bytes)
        return lp_error_set(err, LP_ECORRUPT, "lane metadata has %llu bytes for %u symbols",
                            (unsigned long long)meta_bytes, (unsigned)n_symbols);
    for (uint32_t i = 0; i < n_symbols; i++)
        ranks[i] = (uint16_t)lp_lane_load_exponent(
            fixed + LP_FORMAT_LANE_META_FIXED + (size_t)i * rank_bytes, rank_bytes);
    return lp_codec_lane_init(ret_lane, dtype, fixed[0], fixed + 1, fixed[6], ranks, err);
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
