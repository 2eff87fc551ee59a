/* SPDX-License-Identifier: Apache-2.0 */
/* Counts with AVX-512: symbols are expanded to where they belong, as codec/ops_avx512_sparse.c does
 * with values, and multiplied there, beside the scales of their columns, in lanes that have one or
 * not. Instructions with a rounding mode of their own neither see that of the thread nor set flags.
 */
#include "codec/ops_avx512.h"
#include "codec/ops_sparse.h"

#define LANES 16u
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

static LP_ALWAYS_INLINE __m512i elements_of(__m512i symbols, __m512 row, __m512 columns)
{
    const __m512i counts = _mm512_add_epi32(
        _mm512_srli_epi32(symbols, LP_FORMAT_COUNTS_RESIDUAL_BITS), _mm512_set1_epi32(1));
    const __m512i residuals = _mm512_sub_epi32(
        _mm512_and_si512(symbols, _mm512_set1_epi32((1 << LP_FORMAT_COUNTS_RESIDUAL_BITS) - 1)),
        _mm512_set1_epi32((int)LP_FORMAT_COUNTS_RESIDUAL_BIAS));
    const __m512 products = _mm512_mul_round_ps(
        _mm512_mul_round_ps(_mm512_cvt_roundepi32_ps(counts, NEAREST), row, NEAREST), columns,
        NEAREST);
    const __mmask16 plain =
        _mm512_cmpge_epu32_mask(symbols, _mm512_set1_epi32((int)LP_FORMAT_COUNTS_SYMBOLS));

    return _mm512_mask_mov_epi32(_mm512_add_epi32(_mm512_castps_si512(products), residuals), plain,
                                 symbols);
}

static void counts_spread(const struct lp_counts *counts, uint32_t row, const uint64_t *map,
                          uint32_t n, const void *symbols, void *dst)
{
    const __m512 scale = _mm512_castsi512_ps(_mm512_set1_epi32((int)row));
    const float *const columns = counts->columns;
    const uint8_t *in = symbols;
    uint8_t *const out = dst;

    for (uint32_t i = 0; i < n; i += LANES) {
        const __mmask16 some = (__mmask16)(map[i / 64] >> i % 64);
        const __m512i v = elements_of(_mm512_maskz_expand_epi32(some, _mm512_loadu_si512(in)),
                                      scale, _mm512_loadu_ps(columns + i));
        uint8_t *const at = out + (size_t)i * LP_FORMAT_COUNTS_SYMBOL_BYTES;

        if (n - i >= LANES)
            _mm512_storeu_si512(at, _mm512_maskz_mov_epi32(some, v));
        else
            _mm512_mask_storeu_epi32(at, (__mmask16)_bzhi_u32(0xffff, n - i),
                                     _mm512_maskz_mov_epi32(some, v));
        in += (uint32_t)_mm_popcnt_u32(some) * LP_FORMAT_COUNTS_SYMBOL_BYTES;
    }
}

void lp_codec_avx512_counts_fill(struct lp_codec_ops *ops)
{
    ops->counts_spread = counts_spread;
}
