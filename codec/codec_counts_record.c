/* SPDX-License-Identifier: Apache-2.0 */
/* Records of counts. The scale of a row is found anew whenever it is coded: the sample that the
 * columns were learned from has few of the rows. */
#include "base/bytes.h"
#include "codec/counts_fit.h"
#include "codec/ops.h"
#include "codec/rounding.h"

#include <string.h>

/* A row on its way. */
struct row {
    const float *columns;
    const struct lp_counts_costs *costs;
    const uint64_t *map;
    const uint8_t *values;
    uint32_t m;
    float scale;
    bool complete; /* all values have symbols */
    uint8_t *symbols;
};

static uint32_t value_at(const struct row *row, uint32_t i)
{
    return lp_load_u32(row->values + (size_t)i * LP_FORMAT_COUNTS_SYMBOL_BYTES);
}

/* Every so many values, one. */
static void pick(const struct row *row, struct lp_counts_picks *picks)
{
    const uint32_t step = (row->m + LP_COUNTS_PICKS - 1) / LP_COUNTS_PICKS;
    uint32_t i = 0, next = 0;

    picks->n = 0;
    for (uint32_t w = 0; next < row->m; w++) {
        for (uint64_t word = row->map[w]; word != 0; word &= word - 1, i++) {
            if (i != next)
                continue;
            lp_codec_counts_pick(picks, value_at(row, i),
                                 row->columns[64 * w + (uint32_t)__builtin_ctzll(word)]);
            next += step;
        }
    }
}

static void make_symbols(struct row *row)
{
    uint32_t i = 0;

    for (uint32_t w = 0; i < row->m; w++) {
        for (uint64_t word = row->map[w]; word != 0; word &= word - 1, i++) {
            const uint32_t symbol =
                lp_codec_counts_symbol(value_at(row, i), row->scale,
                                       row->columns[64 * w + (uint32_t)__builtin_ctzll(word)]);

            row->complete &= symbol != LP_COUNTS_NONE;
            lp_store_u32(row->symbols + (size_t)i * LP_FORMAT_COUNTS_SYMBOL_BYTES, symbol);
        }
    }
}

/* What depends on the rounding mode; not inlined, so that nothing of it is moved out of there. */
static __attribute__((noinline)) void fit_row(struct row *row)
{
    uint32_t symbols[LP_COUNTS_PICKS], whole;
    struct lp_counts_picks picks;
    float base;

    pick(row, &picks);
    base = lp_codec_counts_base(&picks, row->costs, &whole);
    row->scale = lp_codec_counts_row(&picks, row->costs, base, symbols);
    row->complete = true;
    if (picks.n == row->m)
        memcpy(row->symbols, symbols, picks.n * sizeof(symbols[0]));
    else
        make_symbols(row);
}

bool lp_codec_counts_symbols(const float *columns, const struct lp_counts_costs *costs,
                             const uint64_t *map, const void *src, uint32_t m, float *ret_scale,
                             void *symbols)
{
    const struct lp_rounding mode = lp_rounding_set();
    struct row row = {
        .columns = columns, .costs = costs, .map = map, .values = src, .m = m, .symbols = symbols};

    fit_row(&row);
    lp_rounding_restore(&mode);
    *ret_scale = row.scale;
    return row.complete;
}

uint32_t lp_codec_counts_encode(const struct lp_counts *counts, const struct lp_codec_ops *ops,
                                const uint64_t *map, const void *src, uint32_t m, void *dst,
                                uint32_t limit_bytes)
{
    uint8_t symbols[LP_FORMAT_RECORD_BYTES_MAX + LP_CODEC_SLACK_BYTES];
    uint8_t *const out = dst;
    uint32_t size;
    float scale;

    if (limit_bytes <= LP_FORMAT_COUNTS_ROW_BYTES ||
        !lp_codec_counts_symbols(counts->columns, counts->costs, map, src, m, &scale, symbols))
        return 0;
    size = ops->dict_encode(&counts->symbols, symbols, m, out + LP_FORMAT_COUNTS_ROW_BYTES,
                            limit_bytes - LP_FORMAT_COUNTS_ROW_BYTES);
    memcpy(out, &scale, LP_FORMAT_COUNTS_ROW_BYTES);
    return size == 0 ? 0 : size + LP_FORMAT_COUNTS_ROW_BYTES;
}
