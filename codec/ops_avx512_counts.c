/* SPDX-License-Identifier: Apache-2.0 */
/* Counts with AVX-512. Symbols are taken apart where they stand back to back: into count times row,
 * and what is added to the bits of the product. Both are then expanded to where they belong, as
 * codec/ops_avx512_sparse.c does with values, and the first is multiplied by the scales of columns
 * there. An element as it is has 0 for the first and its bits for the second, and so has, with
 * zeros for both, an element that has no symbol: no lane needs a mask. Where symbols are few they
 * are put between zeros one by one instead.
 *
 * Instructions with a rounding mode of their own neither see that of the thread nor set flags. */
#include "base/bytes.h"
#include "codec/ops_avx512.h"
#include "codec/ops_sparse.h"
#include "codec/sparse_places.h"

#include <string.h>

/* Fewer than one in so many are put one by one: of one in 20 that takes two thirds of the time, of
 * one in 10 an eighth more. */
#define FEW_OF 16u
#define LANES 16u
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define PIECE 1024u /* elements: a multiple of 64; what is taken apart stays in the cache */

/* Symbols taken apart. */
struct parts {
    float scaled[PIECE + LANES]; /* count times row, or 0 */
    uint32_t added[PIECE + LANES];
};

/* 16 symbols from src on into part i of parts. */
static LP_ALWAYS_INLINE void take_apart(const uint8_t *src, __m512 row, struct parts *parts,
                                        uint32_t i)
{
    const __m512i symbols = _mm512_loadu_si512(src);
    const __mmask16 plain =
        _mm512_cmpge_epu32_mask(symbols, _mm512_set1_epi32((int)LP_FORMAT_COUNTS_SYMBOLS));
    const __m512i counts = _mm512_add_epi32(
        _mm512_srli_epi32(symbols, LP_FORMAT_COUNTS_RESIDUAL_BITS), _mm512_set1_epi32(1));
    const __m512i residuals = _mm512_sub_epi32(
        _mm512_and_si512(symbols, _mm512_set1_epi32((1 << LP_FORMAT_COUNTS_RESIDUAL_BITS) - 1)),
        _mm512_set1_epi32((int)LP_FORMAT_COUNTS_RESIDUAL_BIAS));

    _mm512_storeu_ps(parts->scaled + i,
                     _mm512_maskz_mul_round_ps(_knot_mask16(plain),
                                               _mm512_cvt_roundepi32_ps(counts, NEAREST), row,
                                               NEAREST));
    _mm512_storeu_si512(parts->added + i, _mm512_mask_mov_epi32(residuals, plain, symbols));
}

/* 16 elements that stand where some says, of parts from i on. */
static LP_ALWAYS_INLINE __m512i put_together(const struct parts *parts, uint32_t i, __mmask16 some,
                                             const float *columns)
{
    const __m512 scaled = _mm512_maskz_expand_ps(some, _mm512_loadu_ps(parts->scaled + i));
    const __m512i added = _mm512_maskz_expand_epi32(some, _mm512_loadu_si512(parts->added + i));

    return _mm512_add_epi32(
        _mm512_castps_si512(_mm512_mul_round_ps(scaled, _mm512_loadu_ps(columns), NEAREST)), added);
}

/* One symbol. */
static LP_ALWAYS_INLINE uint32_t element_of(uint32_t symbol, __m128 row, __m128 column)
{
    const __m128 count =
        _mm_cvt_roundu32_ss(row, (symbol >> LP_FORMAT_COUNTS_RESIDUAL_BITS) + 1, NEAREST);
    const __m128 product = _mm_mul_round_ss(_mm_mul_round_ss(count, row, NEAREST), column, NEAREST);
    const uint32_t residual =
        symbol % (1u << LP_FORMAT_COUNTS_RESIDUAL_BITS) - LP_FORMAT_COUNTS_RESIDUAL_BIAS;
    const uint32_t bits = (uint32_t)_mm_cvtsi128_si32(_mm_castps_si128(product)) + residual;

    return symbol < LP_FORMAT_COUNTS_SYMBOLS ? bits : symbol;
}

/* Few of them, put between zeros one by one. */
static void spread_few(const float *columns, uint32_t row, const uint64_t *map, uint32_t n,
                       const uint8_t *in, uint8_t *dst)
{
    const __m128 scale = _mm_castsi128_ps(_mm_cvtsi32_si128((int)row));

    memset(dst, 0, (size_t)n * LP_FORMAT_COUNTS_SYMBOL_BYTES);
    for (uint32_t w = 0; w < lp_sparse_map_words(n); w++) {
        for (uint64_t word = map[w]; word != 0; word = _blsr_u64(word)) {
            const uint64_t i = 64 * w + _tzcnt_u64(word);

            lp_store_u32(dst + i * LP_FORMAT_COUNTS_SYMBOL_BYTES,
                         element_of(lp_load_u32(in), scale, _mm_load_ss(columns + i)));
            in += LP_FORMAT_COUNTS_SYMBOL_BYTES;
        }
    }
}

/* m symbols from in on to n elements, at most PIECE of them. */
static LP_ALWAYS_INLINE void spread_piece(const float *columns, __m512 row, const uint64_t *map,
                                          uint32_t n, const uint8_t *in, uint32_t m, uint8_t *dst)
{
    struct parts parts;
    uint32_t i = 0;

    for (uint32_t at = 0; at < m; at += LANES)
        take_apart(in + (size_t)at * LP_FORMAT_COUNTS_SYMBOL_BYTES, row, &parts, at);
    for (uint32_t at = 0; at < n; at += LANES, dst += LANES * LP_FORMAT_COUNTS_SYMBOL_BYTES) {
        const __mmask16 some = (__mmask16)(map[at / 64] >> at % 64);
        const __m512i v = put_together(&parts, i, some, columns + at);

        if (n - at >= LANES)
            _mm512_storeu_si512(dst, v);
        else
            _mm512_mask_storeu_epi32(dst, (__mmask16)_bzhi_u32(0xffff, n - at), v);
        i += (uint32_t)_mm_popcnt_u32(some);
    }
}

static uint32_t count_of(const uint64_t *map, uint32_t n)
{
    uint32_t m = 0;

    for (uint32_t w = 0; w < lp_sparse_map_words(n); w++)
        m += (uint32_t)_mm_popcnt_u64(map[w]);
    return m;
}

/* Piece by piece, each as it suits what it has. */
static void counts_spread(const struct lp_counts *counts, uint32_t row, const uint64_t *map,
                          uint32_t n, const void *symbols, void *dst)
{
    const __m512 scale = _mm512_castsi512_ps(_mm512_set1_epi32((int)row));
    const uint8_t *in = symbols;
    uint8_t *const out = dst;

    for (uint32_t at = 0; at < n; at += PIECE) {
        const uint32_t n_piece = n - at < PIECE ? n - at : PIECE;
        const uint32_t m = count_of(map + at / 64, n_piece);
        uint8_t *const to = out + (size_t)at * LP_FORMAT_COUNTS_SYMBOL_BYTES;

        if (m < n_piece / FEW_OF)
            spread_few(counts->columns + at, row, map + at / 64, n_piece, in, to);
        else
            spread_piece(counts->columns + at, scale, map + at / 64, n_piece, in, m, to);
        in += (size_t)m * LP_FORMAT_COUNTS_SYMBOL_BYTES;
    }
}

void lp_codec_avx512_counts_fill(struct lp_codec_ops *ops)
{
    ops->counts_spread = counts_spread;
}
