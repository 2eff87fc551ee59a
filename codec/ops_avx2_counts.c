/* SPDX-License-Identifier: Apache-2.0 */
/* Counts with AVX2: one symbol at a time, as few there are, but multiplied by the unit that does
 * so, in a rounding mode that is set for it. */
#include "base/bytes.h"
#include "codec/ops_avx2_bits.h"
#include "codec/ops_sparse.h"
#include "codec/rounding.h"
#include "codec/sparse_places.h"

#include <string.h>

static LP_ALWAYS_INLINE uint32_t element_of(uint32_t symbol, float row, float column)
{
    const uint32_t residual = symbol % (1u << LP_FORMAT_COUNTS_RESIDUAL_BITS);
    const int32_t count = (int32_t)(symbol >> LP_FORMAT_COUNTS_RESIDUAL_BITS) + 1;
    const float product = (float)count * row * column;
    uint32_t bits;

    memcpy(&bits, &product, sizeof(bits));
    bits += residual - LP_FORMAT_COUNTS_RESIDUAL_BIAS;
    return symbol < LP_FORMAT_COUNTS_SYMBOLS ? bits : symbol;
}

/* Not inlined, so that nothing of it is moved to where another mode is set. */
static __attribute__((noinline)) void spread(const float *columns, float row, const uint64_t *map,
                                             uint32_t n, const uint8_t *in, uint8_t *dst)
{
    for (uint32_t w = 0; w < lp_sparse_map_words(n); w++) {
        for (uint64_t word = map[w]; word != 0; word = _blsr_u64(word)) {
            const uint64_t i = 64 * w + _tzcnt_u64(word);

            lp_store_u32(dst + i * LP_FORMAT_COUNTS_SYMBOL_BYTES,
                         element_of(lp_load_u32(in), row, columns[i]));
            in += LP_FORMAT_COUNTS_SYMBOL_BYTES;
        }
    }
}

static void counts_spread(const struct lp_counts *counts, uint32_t row, const uint64_t *map,
                          uint32_t n, const void *symbols, void *dst)
{
    const struct lp_rounding mode = lp_rounding_set();
    float scale;

    memcpy(&scale, &row, sizeof(scale));
    memset(dst, 0, (size_t)n * LP_FORMAT_COUNTS_SYMBOL_BYTES);
    spread(counts->columns, scale, map, n, symbols, dst);
    lp_rounding_restore(&mode);
}

void lp_codec_avx2_counts_fill(struct lp_codec_ops *ops)
{
    ops->counts_spread = counts_spread;
}
