/* SPDX-License-Identifier: Apache-2.0 */
/* Counts with NEON: the columns' scales that a piece of the map names are brought together, so that
 * symbols become elements four at a time, in a rounding mode that is set for it; elements then go
 * where they belong. */
#include "codec/ops_neon_gaps.h"
#include "codec/ops_sparse.h"
#include "codec/rounding.h"
#include "codec/sparse_places.h"

/* Words of the map in a piece. */
#define PIECE_WORDS 32u
#define ELEM_BYTES LP_FORMAT_COUNTS_SYMBOL_BYTES
#define VECTOR_BYTES 16u

/* Elements of four symbols. */
static LP_ALWAYS_INLINE uint32x4_t elements_of(uint32x4_t symbols, float32x4_t row,
                                               float32x4_t columns)
{
    const uint32x4_t residual_mask = vdupq_n_u32((1u << LP_FORMAT_COUNTS_RESIDUAL_BITS) - 1);
    const uint32x4_t before = vshrq_n_u32(symbols, LP_FORMAT_COUNTS_RESIDUAL_BITS);
    const float32x4_t count = vcvtq_f32_u32(vaddq_u32(before, vdupq_n_u32(1)));
    const float32x4_t product = vmulq_f32(vmulq_f32(count, row), columns);
    const uint32x4_t residual =
        vsubq_u32(vandq_u32(symbols, residual_mask), vdupq_n_u32(LP_FORMAT_COUNTS_RESIDUAL_BIAS));

    return vbslq_u32(vcltq_u32(symbols, vdupq_n_u32(LP_FORMAT_COUNTS_SYMBOLS)),
                     vaddq_u32(vreinterpretq_u32_f32(product), residual), symbols);
}

/* The scales of columns, which end at end, to elements in their place; up to a vector behind both
 * in and end are read. Not inlined, so that nothing of it is moved to where another mode is set. */
static __attribute__((noinline)) void make_elements(float row, const uint8_t *in, uint8_t *columns,
                                                    const uint8_t *end)
{
    const float32x4_t rows = vdupq_n_f32(row);

    for (; columns < end; columns += VECTOR_BYTES, in += VECTOR_BYTES) {
        const uint32x4_t symbols = vreinterpretq_u32_u8(vld1q_u8(in));
        const float32x4_t scales = vreinterpretq_f32_u8(vld1q_u8(columns));

        vst1q_u8(columns, vreinterpretq_u8_u32(elements_of(symbols, rows, scales)));
    }
}

/* A piece of the map, n elements of it. Where they do not fill a word they go one by one: tables
 * would read and write past their end. Returns the symbol behind those taken. */
static const uint8_t *spread_piece(const float *scales, float row, const uint64_t *map, uint32_t n,
                                   const uint8_t *in, uint8_t *dst)
{
    uint8_t room[(PIECE_WORDS * LP_NEON_WORD + 4) * ELEM_BYTES], *end = room;
    const uint8_t *const columns = (const uint8_t *)scales, *from = room;
    const uint32_t whole = n / LP_NEON_WORD, word_bytes = LP_NEON_WORD * ELEM_BYTES;

    for (uint32_t w = 0; w < whole; w++)
        end = close_gaps(ELEM_BYTES, map[w], columns + (size_t)w * word_bytes, end);
    if (n % LP_NEON_WORD != 0)
        end = close_few(ELEM_BYTES, map[whole], columns + (size_t)whole * word_bytes, end);
    make_elements(row, in, room, end);
    for (uint32_t w = 0; w < whole; w++)
        from = open_gaps(ELEM_BYTES, map[w], from, dst + (size_t)w * word_bytes);
    if (n % LP_NEON_WORD != 0)
        (void)open_few(ELEM_BYTES, map[whole], from, dst + (size_t)whole * word_bytes);
    return in + (end - room);
}

static void counts_spread(const struct lp_counts *counts, uint32_t row, const uint64_t *map,
                          uint32_t n, const void *symbols, void *dst)
{
    const struct lp_rounding mode = lp_rounding_set();
    const uint32_t piece = PIECE_WORDS * LP_NEON_WORD;
    const uint8_t *in = symbols;
    uint8_t *const out = dst;
    float scale;

    memcpy(&scale, &row, sizeof(scale));
    memset(dst, 0, (size_t)n * ELEM_BYTES);
    for (uint32_t at = 0; at < n; at += piece, map += PIECE_WORDS)
        in = spread_piece(counts->columns + at, scale, map, LP_MIN(n - at, piece), in,
                          out + (size_t)at * ELEM_BYTES);
    lp_rounding_restore(&mode);
}

void lp_codec_neon_counts_fill(struct lp_codec_ops *ops)
{
    ops->counts_spread = counts_spread;
}
