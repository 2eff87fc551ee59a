/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/counts_data.h"

#include "base/bytes.h"
#include "tests/lib/samples.h"

#include <stdlib.h>
#include <string.h>

#define BIAS LP_FORMAT_COUNTS_RESIDUAL_BIAS

/* Rows of this number modulo 16, where rows are odd. */
#define EMPTY_ROW 3u
#define PLAIN_ROW 7u
#define TINY_ROW 11u

static uint64_t hash_of(uint64_t a, uint64_t b)
{
    uint64_t state = a * UINT64_C(0x9e3779b97f4a7c15) + b;

    return samples_next(&state);
}

/* Any mantissa, exponents of 120 to 127. */
static uint32_t scale_of(uint64_t hash)
{
    return (uint32_t)(120 + (hash >> 40) % 8) << 23 | (uint32_t)(hash & 0x7fffff);
}

uint32_t counts_data_column(const struct counts_data *data, uint32_t column)
{
    return data->equal_columns ? 0x3f800000 : scale_of(hash_of(~data->seed, column));
}

uint32_t counts_data_row(const struct counts_data *data, uint32_t row)
{
    return scale_of(hash_of(~data->seed, UINT64_C(1) << 40 | row));
}

/* Counts of 1 are half of all, then they thin out; the product is now and then an ulp off. */
static uint32_t symbol_of(uint64_t hash)
{
    const uint32_t zeros = (uint32_t)__builtin_ctzll(hash | UINT64_C(1) << 6);
    const uint32_t count = (1u << zeros) + ((uint32_t)(hash >> 8) & ((1u << zeros) - 1));
    const uint32_t residual = BIAS + (hash >> 20 & 7) / 7 - (hash >> 24 & 7) / 7;

    return (count - 1) << LP_FORMAT_COUNTS_RESIDUAL_BITS | residual;
}

static uint32_t element_of(const struct counts_data *data, uint32_t row, uint32_t column)
{
    const uint64_t hash = hash_of(data->seed, (uint64_t)row << 32 | column);
    const uint64_t other = hash_of(hash, 1);

    if (hash % data->of != 0 || (data->odd && row % 16 == EMPTY_ROW))
        return 0;
    if (data->odd && (row % 16 == PLAIN_ROW || other >> 40 < 1u << 18))
        return (uint32_t)other | 0x100000;
    if (data->odd && row % 16 == TINY_ROW && other >> 40 < 1u << 20)
        return 1 + (uint32_t)other % 0xfffff;
    return lp_counts_element(symbol_of(other), counts_data_row(data, row),
                             counts_data_column(data, column));
}

void counts_data_fill(const struct counts_data *data, void *elements)
{
    uint8_t *out = elements;

    for (uint32_t r = 0; r < data->n_rows; r++) {
        for (uint32_t c = 0; c < data->n_columns; c++, out += sizeof(uint32_t))
            lp_store_u32(out, element_of(data, r, c));
    }
}

void counts_data_params(const struct counts_data *data, struct lp_counts *ret_counts)
{
    static const uint8_t widths[3] = {2, 3, 5};
    uint32_t values[3 + 7 + 20], n = 0;
    uint32_t *const columns = malloc(data->n_columns * sizeof(*columns));
    struct lp_dict symbols;

    if (columns == NULL)
        abort();
    for (uint32_t c = 0; c < data->n_columns; c++)
        columns[c] = counts_data_column(data, c);
    for (uint32_t count = 1; n < LP_ARRAY_LEN(values); count++)
        for (uint32_t i = 0; i < 3; i++)
            values[n++] = (count - 1) << LP_FORMAT_COUNTS_RESIDUAL_BITS | (BIAS + (i + 2) % 3 - 1);
    if (lp_codec_dict_init(&symbols, LP_FORMAT_COUNTS_SYMBOL_BYTES, LP_ARRAY_LEN(widths), widths, n,
                           values, NULL) < 0 ||
        lp_codec_counts_init_take(ret_counts, data->n_columns, columns, &symbols, NULL) < 0)
        abort();
    free(columns);
}
