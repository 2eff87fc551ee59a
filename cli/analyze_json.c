/* SPDX-License-Identifier: Apache-2.0 */
/* analyze for programs, and what its three forms share. */
#include "cli/analyze.h"
#include "cli/source.h"

#include <math.h>

double lp_cli_price_saving(const struct lp_cli_analysis *analysis, const struct lp_price *price)
{
    const uint64_t sample = analysis->prices->sample_bytes;

    return sample > 0 ? 1 - (double)price->payload_bytes / (double)sample : 0;
}

uint64_t lp_cli_price_stored(const struct lp_cli_analysis *analysis, const struct lp_price *price)
{
    const uint64_t sample = analysis->prices->sample_bytes;

    if (sample == 0)
        return analysis->geometry->logical_bytes;
    return (uint64_t)llround((double)price->stored_bytes / (double)sample *
                             (double)analysis->geometry->logical_bytes) +
           price->meta_bytes;
}

double lp_cli_price_moved(const struct lp_cli_analysis *analysis, const struct lp_price *price)
{
    const struct lp_prices *const prices = analysis->prices;

    if (!prices->by_rows || prices->price[0].cost_bytes == 0)
        return -1;
    return (double)price->cost_bytes / (double)prices->price[0].cost_bytes;
}

const char *lp_cli_price_name(const struct lp_price *price, char *text)
{
    if (price->codec == LP_CODEC_IBP)
        (void)snprintf(text, LP_CLI_PRICE_TEXT, "ibp s=%u", price->ibp_word_bytes);
    else
        (void)snprintf(text, LP_CLI_PRICE_TEXT, "%s", lp_codec_id_name(price->codec));
    return text;
}

bool lp_cli_price_is_chosen(const struct lp_cli_analysis *analysis, const struct lp_price *price)
{
    const struct lp_table *const chosen = analysis->chosen;

    return price->codec == chosen->codec &&
           (price->codec != LP_CODEC_IBP || price->ibp_word_bytes == chosen->ibp.word_bytes);
}

void lp_cli_analysis_add(struct lp_cli_analysis_sum *sum, const struct lp_cli_analysis *analysis)
{
    sum->tensors++;
    sum->logical_bytes += analysis->geometry->logical_bytes;
    for (uint32_t i = 0; i < analysis->prices->n; i++)
        if (lp_cli_price_is_chosen(analysis, &analysis->prices->price[i]))
            sum->stored_bytes += lp_cli_price_stored(analysis, &analysis->prices->price[i]);
}

char lp_cli_bit_kind(const struct lp_analysis *found, uint32_t b)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(found->dtype);

    if (info->exponent_bits == 0)
        return 'b';
    if (b < info->mantissa_bits)
        return 'm';
    return b < info->mantissa_bits + info->exponent_bits ? 'e' : 's';
}

static json_t *entropy_json(const struct lp_analysis_entropy *entropy)
{
    return entropy->bits < 0
               ? json_null()
               : json_pack("{s:f, s:f}", "bits", entropy->bits, "saving", entropy->saving);
}

static json_t *prices_json(const struct lp_cli_analysis *analysis)
{
    char name[LP_CLI_PRICE_TEXT];
    json_t *prices = json_array();

    for (uint32_t i = 0; i < analysis->prices->n; i++) {
        const struct lp_price *const price = &analysis->prices->price[i];
        json_t *row =
            json_pack("{s:s, s:s, s:b, s:b, s:s}", "codec", lp_codec_id_name(price->codec), "label",
                      lp_cli_price_name(price, name), "possible", price->possible, "chosen",
                      lp_cli_price_is_chosen(analysis, price), "note", price->note);

        if (price->possible && lp_cli_price_moved(analysis, price) >= 0)
            (void)json_object_set_new(row, "moved_by_rows",
                                      json_real(lp_cli_price_moved(analysis, price)));
        if (price->possible)
            (void)json_object_update_new(
                row,
                json_pack("{s:f, s:I, s:I}", "payload_saving", lp_cli_price_saving(analysis, price),
                          "meta_bytes", (json_int_t)price->meta_bytes, "stored_bytes_estimate",
                          (json_int_t)lp_cli_price_stored(analysis, price)));
        (void)json_array_append_new(prices, row);
    }
    return prices;
}

/* The field's distribution: pairs of a value and its count, of the values that occur. */
static json_t *field_json(const struct lp_analysis *found)
{
    json_t *counts = json_array();

    for (uint32_t v = 0; v < 1u << found->field_bits; v++)
        if (found->field_count[v] > 0)
            (void)json_array_append_new(
                counts, json_pack("[I, I]", (json_int_t)v, (json_int_t)found->field_count[v]));
    return json_pack("{s:i, s:o, s:o, s:o, s:I, s:o}", "bits", (int)found->field_bits, "whole",
                     entropy_json(&found->whole), "by_column", entropy_json(&found->by_column),
                     "by_block", entropy_json(&found->by_block), "columns",
                     (json_int_t)found->columns, "counts", counts);
}

/* Share of ones: a row for each bit from the highest down, an entry for each bin of columns. */
static json_t *bits_json(const struct lp_analysis *found)
{
    json_t *rows = json_array();

    for (uint32_t b = found->element_bits; b-- > 0;) {
        const char kind[2] = {lp_cli_bit_kind(found, b), '\0'};
        json_t *ones = json_array();

        for (uint32_t i = 0; i < found->n_bins; i++)
            (void)json_array_append_new(
                ones, json_real(found->bin_elements[i] > 0
                                    ? (double)found->ones[i][b] / (double)found->bin_elements[i]
                                    : 0));
        (void)json_array_append_new(
            rows, json_pack("{s:i, s:s, s:o}", "bit", (int)b, "part", kind, "ones", ones));
    }
    return json_pack("{s:I, s:o}", "columns_per_bin", (json_int_t)found->bin_columns, "rows", rows);
}

static json_t *found_json(const struct lp_analysis *found)
{
    json_t *json = json_pack("{s:I, s:I, s:o}", "elements", (json_int_t)found->n_elements, "zeros",
                             (json_int_t)found->zeros, "bit_map", bits_json(found));

    if (found->element_entropy >= 0)
        (void)json_object_update_new(json, json_pack("{s:I, s:f}", "distinct",
                                                     (json_int_t)found->distinct, "element_entropy",
                                                     found->element_entropy));
    if (found->field_bits > 0)
        (void)json_object_set_new(json, "field", field_json(found));
    return json;
}

static json_t *invariance_json(const struct lp_cli_analysis *analysis)
{
    json_t *tables = json_array();

    for (uint32_t t = 0; t < analysis->n_invariance; t++) {
        const struct lp_ibp_invariance *const table = &analysis->invariance[t];
        json_t *rows = json_array();

        for (uint32_t r = 0; r < LP_IBP_INVARIANCE_ROWS; r++) {
            json_t *bits = json_array();

            for (uint32_t b = 8 * table->word_bytes; b-- > 0;)
                (void)json_array_append_new(bits, json_real(table->row[r].bit_share[b]));
            (void)json_array_append_new(rows,
                                        json_pack("{s:f, s:f, s:f, s:o}", "threshold",
                                                  (double)table->row[r].threshold, "masked_share",
                                                  table->row[r].masked_share, "saved_share",
                                                  table->row[r].saved_share, "bit_share", bits));
        }
        (void)json_array_append_new(tables, json_pack("{s:i, s:i, s:o}", "word_bytes",
                                                      (int)table->word_bytes, "words",
                                                      (int)table->n_words, "rows", rows));
    }
    return tables;
}

json_t *lp_cli_analysis_json(const struct lp_cli_analysis *analysis)
{
    json_t *json = json_pack("{s:s, s:s, s:o, s:I, s:I, s:s, s:s, s:o}", "name", analysis->name,
                             "dtype", lp_codec_dtype_info(analysis->geometry->dtype)->name, "shape",
                             lp_cli_shape_json(analysis->geometry), "logical_bytes",
                             (json_int_t)analysis->geometry->logical_bytes, "sample_bytes",
                             (json_int_t)analysis->prices->sample_bytes, "codec",
                             lp_codec_id_name(analysis->chosen->codec), "reason",
                             analysis->chosen->reason, "prices", prices_json(analysis));

    (void)json_object_set_new(json, "invariance", invariance_json(analysis));
    if (analysis->found != NULL)
        (void)json_object_set_new(json, "looked_at", found_json(analysis->found));
    return json;
}
