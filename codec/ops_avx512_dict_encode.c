/* SPDX-License-Identifier: Apache-2.0 */
/* Coding dict records with AVX-512: sixteen values at a time are hashed and looked for in the
 * dictionary's own table, those that stand further on or have no symbol in a few more rounds; the
 * symbols then go through the levels of levels_avx512.h. */
#include "codec/levels_avx512.h"
#include "codec/ops_dict.h"

#include <string.h>

#define LANES 16u
#define PLANE_WORDS LP_LEVELS_PLANE_WORDS(LP_LANE_FAST_ELEMENTS_MAX)

/* Values as they are compared: 32 bits each, or 64 in two halves of eight. */
struct values {
    __m512i low, high; /* high with elements of 8 bytes only */
    __m512i fold;
};

static LP_ALWAYS_INLINE struct values load_values(const uint8_t *src, const uint32_t elem_bytes)
{
    struct values v;

    if (elem_bytes == 1)
        v.low = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)src));
    else if (elem_bytes == 2)
        v.low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)src));
    else
        v.low = _mm512_loadu_si512(src);
    v.fold = v.low;
    v.high = v.low;
    if (elem_bytes == 8) {
        v.high = _mm512_loadu_si512(src + 64);
        v.fold = _mm512_inserti64x4(
            _mm512_castsi256_si512(
                _mm512_cvtepi64_epi32(_mm512_xor_si512(v.low, _mm512_srli_epi64(v.low, 32)))),
            _mm512_cvtepi64_epi32(_mm512_xor_si512(v.high, _mm512_srli_epi64(v.high, 32))), 1);
    }
    return v;
}

/* Which of the values in mask are those of the symbols. */
static LP_ALWAYS_INLINE __mmask16 same(const struct lp_dict *dict, const struct values *v,
                                       const uint32_t elem_bytes, __mmask16 mask, __m512i symbol)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i low, high;

    if (elem_bytes <= 2)
        return mask; /* the tag is the value */
    if (elem_bytes == 4) {
        low = _mm512_mask_i32gather_epi32(zero, mask, symbol, dict->values, 4);
        return _mm512_mask_cmpeq_epi32_mask(mask, low, v->low);
    }
    low = _mm512_mask_i32gather_epi64(zero, (__mmask8)mask, _mm512_castsi512_si256(symbol),
                                      dict->values, 8);
    high = _mm512_mask_i32gather_epi64(zero, (__mmask8)(mask >> 8),
                                       _mm512_extracti64x4_epi64(symbol, 1), dict->values, 8);
    return (__mmask16)(_mm512_mask_cmpeq_epi64_mask((__mmask8)mask, low, v->low) |
                       _mm512_mask_cmpeq_epi64_mask((__mmask8)(mask >> 8), high, v->high) << 8);
}

/* Symbols of sixteen values; where there is none, those of none. */
static LP_ALWAYS_INLINE __m512i find_symbols(const struct lp_dict *dict, const struct values *v,
                                             const uint32_t elem_bytes, __m512i none)
{
    const __m512i slots = _mm512_set1_epi32((int)((1u << dict->slot_bits) - 1));
    const __m512i one = _mm512_set1_epi32(1), low_half = _mm512_set1_epi32(0xffff);
    const __m512i tag = _mm512_and_si512(v->fold, low_half);
    const __m128i shift = _mm_cvtsi32_si128((int)(32 - dict->slot_bits));
    __m512i slot = _mm512_srl_epi32(
        _mm512_mullo_epi32(v->fold, _mm512_set1_epi32((int)dict->hash_factor)), shift);
    /* What was found is kept as it stands in the table: clang 14 breaks over a select of symbols.
     */
    __m512i entries = _mm512_setzero_si512();
    __mmask16 open = 0xffff;

    do {
        const __m512i entry =
            _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), open, slot, dict->slots, 4);
        const __m512i symbol = _mm512_sub_epi32(_mm512_srli_epi32(entry, 16), one);
        const __mmask16 taken = _mm512_test_epi32_mask(entry, entry);
        const __mmask16 tagged =
            _mm512_mask_cmpeq_epi32_mask(taken, _mm512_and_si512(entry, low_half), tag);
        const __mmask16 found = same(dict, v, elem_bytes, tagged, symbol);

        entries = _mm512_mask_mov_epi32(entries, found, entry);
        open = taken & ~found;
        slot = _mm512_and_si512(_mm512_add_epi32(slot, one), slots);
    } while (open != 0);
    return _mm512_mask_sub_epi32(none, _mm512_test_epi32_mask(entries, entries),
                                 _mm512_srli_epi32(entries, 16), one);
}

/* Symbols of all elements; n_symbols + i for element i without one. */
static LP_ALWAYS_INLINE void look_up(const struct lp_dict *dict, const uint32_t elem_bytes,
                                     const uint8_t *src, uint32_t n, uint16_t *symbols)
{
    const __m512i step = _mm512_set1_epi32(LANES);
    __m512i none =
        _mm512_add_epi32(_mm512_set1_epi32((int)lp_dict_symbols(dict)),
                         _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    uint8_t rest[LANES * 8] = {0};

    for (uint32_t i = 0; i < n; i += LANES, src += LANES * elem_bytes) {
        struct values v;

        if (n - i < LANES) {
            memcpy(rest, src, (size_t)(n - i) * elem_bytes);
            src = rest;
        }
        v = load_values(src, elem_bytes);
        _mm256_storeu_si256((__m256i *)(void *)(symbols + i),
                            _mm512_cvtepi32_epi16(find_symbols(dict, &v, elem_bytes, none)));
        none = _mm512_add_epi32(none, step);
    }
}

static void look_up_any(const struct lp_dict *dict, const uint8_t *src, uint32_t n,
                        uint16_t *symbols)
{
    switch (dict->elem_bytes) {
    case 1:
        look_up(dict, 1, src, n, symbols);
        break;
    case 2:
        look_up(dict, 2, src, n, symbols);
        break;
    case 4:
        look_up(dict, 4, src, n, symbols);
        break;
    default:
        look_up(dict, 8, src, n, symbols);
    }
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

static LP_ALWAYS_INLINE uint64_t first_bits(uint32_t n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
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

    look_up_any(dict, src, n, symbols);
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
    look_up_any(dict, src, n, symbols);
    if (!lp_levels_avx512_encode(dict->widths, dict->n_levels, symbols, n, planes, PLANE_WORDS,
                                 &out, &n_raw))
        return 0;
    return put_raw(dict, src, symbols, n_raw, out.bit, dst, limit_bytes);
}
