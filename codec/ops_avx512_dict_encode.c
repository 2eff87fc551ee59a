/* SPDX-License-Identifier: Apache-2.0 */
/* Coding dict records with AVX-512: symbols, but for elements of one byte found as in every vector
 * tier, go through the levels of levels_avx512.h. */
#include "codec/dict_look_up.h"
#include "codec/levels_avx512.h"
#include "codec/ops_avx512_values.h"
#include "codec/ops_dict.h"

#include <string.h>

#define PLANE_WORDS LP_LEVELS_PLANE_WORDS(LP_LANE_FAST_ELEMENTS_MAX)

static LP_ALWAYS_INLINE uint64_t first_bits(uint32_t n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* Symbols of all values of one byte, and a byte of ones for each that has none. */
struct byte_symbols {
    struct lp_dict_table symbol, none;
};

static LP_ALWAYS_INLINE struct byte_symbols load_byte_symbols(const struct lp_dict *dict)
{
    const __m512i none = _mm512_set1_epi16((short)lp_dict_symbols(dict));
    struct byte_symbols t;

    for (uint32_t g = 0; g < 4; g++) {
        const uint16_t *const at = dict->symbol_at + dict->group_at[g];
        const __m512i low = _mm512_loadu_si512(at), high = _mm512_loadu_si512(at + 32);

        t.symbol.part[g] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)),
                                              _mm512_cvtepi16_epi8(high), 1);
        t.none.part[g] = _mm512_movm_epi8((uint64_t)_mm512_cmpeq_epi16_mask(low, none) |
                                          (uint64_t)_mm512_cmpeq_epi16_mask(high, none) << 32);
    }
    return t;
}

/* As lp_dict_look_up() for elements of one byte, 64 at a time: their values all stand in
 * registers. */
static void look_up_bytes(const struct lp_dict *dict, const uint8_t *src, uint32_t n,
                          uint16_t *symbols)
{
    const struct byte_symbols t = load_byte_symbols(dict);
    const __m512i step = _mm512_set1_epi16(32);
    __m512i none = _mm512_add_epi16(_mm512_set1_epi16((short)lp_dict_symbols(dict)),
                                    _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,
                                                     19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8,
                                                     7, 6, 5, 4, 3, 2, 1, 0));

    for (uint32_t i = 0; i < n; i += LP_AVX512_BLOCK) {
        const __m512i v = _mm512_maskz_loadu_epi8(first_bits(LP_MIN(n - i, 64)), src + i);
        const __m512i symbol = look_up_8(&t.symbol, 8, v);
        const uint64_t missing = _mm512_movepi8_mask(look_up_8(&t.none, 8, v));

        for (uint32_t half = 0; half < 2; half++, none = _mm512_add_epi16(none, step)) {
            const __m256i bytes =
                half == 0 ? _mm512_castsi512_si256(symbol) : _mm512_extracti64x4_epi64(symbol, 1);

            _mm512_storeu_si512(symbols + i + 32 * half,
                                _mm512_mask_mov_epi16(_mm512_cvtepu8_epi16(bytes),
                                                      (__mmask32)(missing >> 32 * half), none));
        }
    }
}

/* As lp_dict_look_up(); up to a block of symbols behind those of the elements is written. */
static void look_up(const struct lp_dict *dict, const uint8_t *src, uint32_t n, uint16_t *symbols)
{
    if (dict->elem_bytes == 1)
        look_up_bytes(dict, src, n, symbols);
    else
        lp_dict_look_up(dict, src, n, symbols);
}

/* A bit string that grows at its end by up to 64 bits at a time; 8 bytes behind it are written. */
struct bit_writer {
    uint8_t *dst;
    uint64_t bits; /* not yet stored */
    uint32_t n_bits;
};

static LP_ALWAYS_INLINE void put_bits(struct bit_writer *out, uint64_t bits, uint32_t n)
{
    out->bits |= bits << out->n_bits;
    if (out->n_bits + n >= 64) {
        lp_store_u64(out->dst, out->bits);
        out->dst += 8;
        out->bits = out->n_bits != 0 ? bits >> (64 - out->n_bits) : 0;
        out->n_bits -= 64;
    }
    out->n_bits += n;
}

/* Codes of count symbols, a block at most, that lie below end, into planes; the others move to the
 * front. Returns how many. */
static LP_ALWAYS_INLINE uint32_t put_level(struct bit_writer *out, uint16_t *symbols,
                                           uint32_t count, uint32_t first, uint32_t end,
                                           uint32_t width)
{
    const __m512i low = _mm512_loadu_si512(symbols), high = _mm512_loadu_si512(symbols + 32);
    const __m512i limit = _mm512_set1_epi16((short)end);
    const uint64_t inside = first_bits(count);
    const uint64_t here = ((uint64_t)_mm512_cmplt_epu16_mask(low, limit) |
                           (uint64_t)_mm512_cmplt_epu16_mask(high, limit) << 32) &
                          inside;
    const uint64_t behind = ~here & inside;
    const __m512i code =
        _mm512_maskz_sub_epi8(here,
                              _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)),
                                                 _mm512_cvtepi16_epi8(high), 1),
                              _mm512_set1_epi8((char)(first - 1)));

    for (uint32_t p = 0; p < width; p++)
        put_bits(out, _mm512_test_epi8_mask(code, _mm512_set1_epi8((char)(1u << p))), count);
    _mm512_storeu_si512(symbols, _mm512_maskz_compress_epi16((__mmask32)behind, low));
    symbols += _mm_popcnt_u32((uint32_t)behind);
    _mm512_storeu_si512(symbols, _mm512_maskz_compress_epi16((__mmask32)(behind >> 32), high));
    return (uint32_t)_mm_popcnt_u64(behind);
}

/* The levels of a record of one block, whose planes are words. Returns the bits, or 0: too many. */
static uint64_t put_levels(const struct lp_dict *dict, uint16_t *symbols, uint32_t n, void *dst,
                           uint64_t limit_bits, uint32_t *ret_n_raw)
{
    struct bit_writer out = {dst, 0, 0};
    uint32_t count = n;
    uint64_t bits = 0;

    for (uint32_t k = 0; k < dict->n_levels; k++) {
        bits += (uint64_t)dict->widths[k] * count;
        if (bits >= limit_bits)
            return 0;
        count =
            put_level(&out, symbols, count, dict->first[k], dict->first[k + 1], dict->widths[k]);
    }
    lp_store_u64(out.dst, out.bits);
    *ret_n_raw = count;
    return bits;
}

/* Behind a bit string of so many bits: raw elements, whose symbols tell where they are. Returns the
 * record's size, 0 when it is not below limit_bytes. */
static uint32_t put_raw(const struct lp_dict *dict, const uint8_t *src, const uint16_t *symbols,
                        uint32_t n_raw, uint64_t bits, uint8_t *dst, uint32_t limit_bytes)
{
    const uint32_t elem_bytes = dict->elem_bytes, first_raw = lp_dict_symbols(dict);
    const uint64_t size = (bits + 7) / 8 + (uint64_t)n_raw * elem_bytes;
    uint8_t *raw = dst + (bits + 7) / 8;

    if (size >= limit_bytes)
        return 0;
    for (uint32_t j = 0; j < n_raw; j++, raw += elem_bytes)
        memcpy(raw, src + (size_t)(symbols[j] - first_raw) * elem_bytes, elem_bytes);
    return (uint32_t)size;
}

static uint32_t encode_short(const struct lp_dict *dict, const uint8_t *src, uint32_t n,
                             uint8_t *dst, uint32_t limit_bytes)
{
    uint16_t symbols[LP_AVX512_BLOCK + 32] = {0};
    uint32_t n_raw = 0;
    uint64_t bits;

    look_up(dict, src, n, symbols);
    bits = put_levels(dict, symbols, n, dst, (uint64_t)limit_bytes * 8, &n_raw);
    return bits == 0 ? 0 : put_raw(dict, src, symbols, n_raw, bits, dst, limit_bytes);
}

uint32_t lp_codec_avx512_dict_encode(const struct lp_dict *dict, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes)
{
    uint16_t symbols[LP_LANE_FAST_ELEMENTS_MAX + LP_LEVELS_SLACK];
    uint64_t planes[LP_LEVELS_WIDTH_MAX * PLANE_WORDS];
    struct lp_avx512_output out = {dst, 0, (uint64_t)limit_bytes * 8};
    uint32_t n_raw;

    if (n <= LP_AVX512_BLOCK)
        return encode_short(dict, src, n, dst, limit_bytes);
    if (n > LP_LANE_FAST_ELEMENTS_MAX)
        return lp_codec_scalar_dict_encode(dict, src, n, dst, limit_bytes);
    look_up(dict, src, n, symbols);
    if (!lp_levels_avx512_encode(dict->widths, dict->n_levels, symbols, n, planes, PLANE_WORDS,
                                 &out, &n_raw))
        return 0;
    return put_raw(dict, src, symbols, n_raw, out.bit, dst, limit_bytes);
}
