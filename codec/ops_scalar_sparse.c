/* SPDX-License-Identifier: Apache-2.0 */
/* The reference tier's part of codec sparse: one element at a time. */
#include "codec/ops_sparse.h"
#include "codec/sparse_places.h"

#include <string.h>

static uint32_t sparse_find(uint32_t elem_bytes, const void *src, uint32_t n, uint64_t *map,
                            void *values)
{
    static const uint8_t zero[8];
    const uint8_t *const elements = src;
    uint8_t *const out = values;
    uint32_t m = 0;

    memset(map, 0, lp_sparse_map_words(n) * sizeof(map[0]));
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *const element = elements + (size_t)i * elem_bytes;

        if (memcmp(element, zero, elem_bytes) == 0)
            continue;
        map[i / 64] |= UINT64_C(1) << i % 64;
        memcpy(out + (size_t)m++ * elem_bytes, element, elem_bytes);
    }
    return m;
}

static void sparse_spread(uint32_t elem_bytes, const uint64_t *map, uint32_t n, const void *values,
                          void *dst)
{
    const uint8_t *in = values;
    uint8_t *const out = dst;

    memset(out, 0, (size_t)n * elem_bytes);
    for (uint32_t i = 0; i < n; i++) {
        if ((map[i / 64] >> i % 64 & 1) == 0)
            continue;
        memcpy(out + (size_t)i * elem_bytes, in, elem_bytes);
        in += elem_bytes;
    }
}

static void counts_spread(const struct lp_counts *counts, uint32_t row, const uint64_t *map,
                          uint32_t n, const void *symbols, void *dst)
{
    const uint8_t *in = symbols;
    uint8_t *const out = dst;

    memset(out, 0, (size_t)n * LP_FORMAT_COUNTS_SYMBOL_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        if ((map[i / 64] >> i % 64 & 1) == 0)
            continue;
        lp_store_u32(out + (size_t)i * LP_FORMAT_COUNTS_SYMBOL_BYTES,
                     lp_counts_element(lp_load_u32(in), row, lp_load_u32(&counts->columns[i])));
        in += LP_FORMAT_COUNTS_SYMBOL_BYTES;
    }
}

void lp_codec_scalar_sparse_fill(struct lp_codec_ops *ops)
{
    ops->sparse_find = sparse_find;
    ops->sparse_spread = sparse_spread;
    ops->counts_spread = counts_spread;
}
