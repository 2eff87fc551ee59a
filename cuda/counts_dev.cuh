/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions: one warp decodes one coded sparse record whose values are counts, scaled by row
 * and by column (docs/FORMAT.md, section 8).
 *
 * Places and steps are those of sparse_dev.cuh, symbols those of codec dict. A lane turns its eight
 * symbols into values on their way to their places. The scales of the columns lie behind the
 * symbols' values in the device's metadata, so that only places that the record has are read. */
#ifndef LP_CUDA_COUNTS_DEV_CUH
#define LP_CUDA_COUNTS_DEV_CUH

#include "cuda/sparse_dev.cuh"

/* A scale is positive and its exponent field within the bounds. */
LP_DEVICE bool lp_gpu_scale_is_good(uint32_t bits)
{
    return (bits >> 23) - LP_FORMAT_COUNTS_EXPONENT_MIN <=
           LP_FORMAT_COUNTS_EXPONENT_MAX - LP_FORMAT_COUNTS_EXPONENT_MIN;
}

/* The bits of the product. Written so that no compiler joins what is rounded twice. */
LP_DEVICE uint32_t lp_gpu_count_product(uint32_t count, uint32_t row, uint32_t column)
{
    const float scaled = __fmul_rn((float)count, __uint_as_float(row));

    return __float_as_uint(__fmul_rn(scaled, __uint_as_float(column)));
}

/* What a symbol stands for, column being the bits of its column's scale. */
LP_DEVICE uint32_t lp_gpu_count_value(uint32_t symbol, uint32_t row, uint32_t column)
{
    const uint32_t count = (symbol >> LP_FORMAT_COUNTS_RESIDUAL_BITS) + 1,
                   residual = (symbol & ((1u << LP_FORMAT_COUNTS_RESIDUAL_BITS) - 1)) -
                              LP_FORMAT_COUNTS_RESIDUAL_BIAS;

    return symbol < LP_FORMAT_COUNTS_SYMBOLS ? lp_gpu_count_product(count, row, column) + residual
                                             : symbol;
}

/* As the values of sparse_dev.cuh. */
struct lp_sparse_counts {
    LP_DEVICE void put(lp_sparse_counts &v, const lp_gpu_record &record,
                       const lp_gather_table &table, const lp_sparse_places &p, uint32_t first,
                       uint32_t end)
    {
        const uint32_t at = min(first + 8 * p.lane, end), count = min(end - at, 8u);
        uint32_t w[8], places[8];

        lp_dict_elements<4>(v.state, table, at, count, w);
        lp_sparse_eight_places(places, p, at);
#pragma unroll
        for (uint32_t i = 0; i < 8; i++) {
            if (i >= count)
                continue;
            uint32_t column[2];

            lp_gpu_load_global<4>(column, v.columns_dev + 4 * places[i]);
            const uint32_t value[2] = {lp_gpu_count_value(w[i], v.row, column[0]), 0};
            lp_sparse_put<4>(record, places[i], value);
        }
    }
    lp_dict_state state;
    uint64_t columns_dev; /* scales, of each place in a record */
    uint32_t row;         /* bits of the record's own scale */
};

LP_DEVICE bool lp_sparse_count_values(lp_sparse_places &p, const lp_gpu_record &record,
                                      const lp_gather_table &table, uint32_t end)
{
    lp_sparse_counts values;
    lp_gpu_record inner = record;
    uint32_t row[2];

    lp_gpu_load_element<4>(row, record.bytes, end);
    values.row = row[0];
    values.columns_dev = table.meta_dev + table.dict.n_levels * LP_GATHER_DICT_CODES * 4u;
    inner.elements = p.count;
    if (!lp_gpu_scale_is_good(values.row) ||
        !lp_dict_begin<4>(values.state, inner, table, 8 * (end + LP_FORMAT_COUNTS_ROW_BYTES)) ||
        !lp_sparse_put_all(values, p, record, table))
        return false;
    return lp_dict_end(values.state, table);
}

/* The two kinds of values that records of such a table have. */
struct lp_sparse_counts_kinds {
    LP_DEVICE bool values(lp_sparse_places &p, const lp_gpu_record &record,
                          const lp_gather_table &table, uint32_t end, uint32_t kind)
    {
        return kind == LP_CODEC_RAW ? lp_sparse_plain_values<4>(p, record, table, end)
                                    : lp_sparse_count_values(p, record, table, end);
    }
};

#endif
