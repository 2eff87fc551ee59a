/* SPDX-License-Identifier: Apache-2.0 */
/* What a codec learned about a table, in words, for people. */
#include "codec/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Append to a text that may be full. */
static __attribute__((format(printf, 3, 4))) void add(char *text, size_t text_bytes,
                                                      const char *format, ...)
{
    const size_t used = strlen(text);
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text + used, text_bytes - used, format, list);
    va_end(list);
}

static void add_widths(char *text, size_t text_bytes, const uint8_t *widths, uint32_t n_levels)
{
    for (uint32_t k = 0; k < n_levels; k++)
        add(text, text_bytes, "%s%u", k > 0 ? "," : "", (unsigned)widths[k]);
}

static void add_lane(char *text, size_t text_bytes, const struct lp_lane *lane)
{
    static const char *const windows[] = {" by table", " by record", " by columns of "};

    add_widths(text, text_bytes, lane->widths, lane->n_levels);
    add(text, text_bytes, "%s", windows[lane->window]);
    if (lane->window == LP_LANE_WINDOW_COLUMNS)
        add(text, text_bytes, "%u", (unsigned)lane->column_period);
    if (lane->column_span != 0)
        add(text, text_bytes, " in %llu", (unsigned long long)lane->column_span);
    if (!lane->has_sign)
        add(text, text_bytes, ", top %u bits", (unsigned)lane->exponent_bits);
    if (lane->sign != LP_LANE_SIGN_STORED)
        add(text, text_bytes, ", sign %u", lane->sign == LP_LANE_SIGN_ONE ? 1u : 0u);
    if (lane->trailing_bits != 0)
        add(text, text_bytes, ", %u bits 0", (unsigned)lane->trailing_bits);
}

void lp_codec_lane_describe(const struct lp_lane *lane, char *text, size_t text_bytes)
{
    text[0] = '\0';
    add_lane(text, text_bytes, lane);
}

static void add_sparse(char *text, size_t text_bytes, const struct lp_sparse *sparse)
{
    switch ((enum lp_sparse_values)sparse->values) {
    case LP_SPARSE_VALUES_ONE:
        add(text, text_bytes, "one value");
        break;
    case LP_SPARSE_VALUES_RAW:
        add(text, text_bytes, "values as they are");
        break;
    case LP_SPARSE_VALUES_LANE:
        add(text, text_bytes, "values in lane ");
        add_lane(text, text_bytes, &sparse->lane);
        break;
    case LP_SPARSE_VALUES_DICT:
        add(text, text_bytes, "values in dict ");
        add_widths(text, text_bytes, sparse->dict.widths, sparse->dict.n_levels);
        break;
    case LP_SPARSE_VALUES_COUNTS:
        add(text, text_bytes, "values as counts by row and column, dict ");
        add_widths(text, text_bytes, sparse->counts.symbols.widths,
                   sparse->counts.symbols.n_levels);
        break;
    }
}

void lp_codec_table_describe(const struct lp_table *table, char *text, size_t text_bytes)
{
    text[0] = '\0';
    switch ((enum lp_codec_id)table->codec) {
    case LP_CODEC_LANE:
        add_lane(text, text_bytes, &table->lane);
        break;
    case LP_CODEC_ZIP7:
        add(text, text_bytes, "exponents %u to %u", (unsigned)table->lane.rank[0],
            (unsigned)table->lane.rank[0] + 6);
        break;
    case LP_CODEC_IBP:
        add(text, text_bytes, "s=%u", (unsigned)table->ibp.word_bytes);
        if (table->ibp.n_groups > 0)
            add(text, text_bytes, ", %u groups of masks", (unsigned)table->ibp.n_groups);
        break;
    case LP_CODEC_DICT:
        add_widths(text, text_bytes, table->dict.widths, table->dict.n_levels);
        add(text, text_bytes, ", %u values", (unsigned)table->dict.n_values);
        break;
    case LP_CODEC_SPARSE:
        add_sparse(text, text_bytes, &table->sparse);
        break;
    case LP_CODEC_RAW:
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
}
