/* SPDX-License-Identifier: Apache-2.0 */
/* The levels of a cascade to symbols of 16 bits and back, for widths of 1 to 8 bits: for codecs
 * whose symbols are plain numbers, as docs/FORMAT.md, section 7, has them. Included only by files
 * that are compiled for the AVX-512 tier.
 *
 * Decoding, for n elements whose bit string begins with bit:
 *
 *     if (!lp_levels_avx512_find(src, src_bytes, bit, widths, n_levels, n, &parts))
 *         return LP_ECORRUPT;
 *     check the bytes that follow parts.end_bit: parts.count[n_levels] elements are raw
 *     lp_levels_avx512_decode(&parts, src, first_raw, symbols, scratch);
 *
 * Then symbols[i] is the symbol of element i, or first_raw + j for the raw element number j.
 *
 * Encoding is lp_levels_avx512_encode(), on a struct lp_avx512_output. */
#ifndef LP_CODEC_LEVELS_AVX512_H
#define LP_CODEC_LEVELS_AVX512_H

#include "codec/format.h"
#include "codec/ops_avx512_planes.h"

#define LP_LEVELS_WIDTH_MAX 8u
/* Entries that symbols and scratch must have behind those of the elements. */
#define LP_LEVELS_SLACK 64u

struct lp_levels_parts {
    const uint8_t *widths; /* borrowed, n_levels */
    uint32_t n_levels;
    uint64_t bit[LP_FORMAT_LANE_LEVELS_MAX];       /* first bit of each level's planes */
    uint64_t end_bit;                              /* behind the last level */
    uint32_t count[LP_FORMAT_LANE_LEVELS_MAX + 1]; /* codes in each level; then raw elements */
};

/* Where the levels of n elements lie. False: they do not end within src_bytes. Nothing is read
 * that may not be there: src_bytes and LP_CODEC_SLACK_BYTES behind them. */
static inline bool lp_levels_avx512_find(const uint8_t *src, uint32_t src_bytes, uint64_t bit,
                                         const uint8_t *widths, uint32_t n_levels, uint32_t n,
                                         struct lp_levels_parts *parts)
{
    parts->widths = widths;
    parts->n_levels = n_levels;
    parts->count[0] = n;
    for (uint32_t k = 0; k < n_levels; k++) {
        parts->bit[k] = bit;
        bit += (uint64_t)widths[k] * parts->count[k];
        if (bit > (uint64_t)src_bytes * 8)
            return false;
        parts->count[k + 1] =
            lp_avx512_count_zeros_of(src, parts->bit[k], widths[k], parts->count[k]);
    }
    parts->end_bit = bit;
    return true;
}

/* What a level with symbols from first on makes of its codes; next are the symbols for the zero
 * ones. dst has room for LP_LEVELS_SLACK more than count. */
static LP_ALWAYS_INLINE void lp_levels_avx512_decode_one(const uint8_t *src, uint64_t bit,
                                                         const uint32_t width, uint32_t count,
                                                         uint32_t first, const uint16_t *next,
                                                         uint16_t *dst)
{
    const __m512i before = _mm512_set1_epi16((short)(first - 1));
    struct lp_avx512_reader reader[LP_LEVELS_WIDTH_MAX];

    for (uint32_t p = 0; p < width; p++)
        reader[p] = lp_avx512_read_from(src, bit + (uint64_t)p * count);
    for (uint32_t i = 0; i < count; i += LP_AVX512_BLOCK) {
        uint64_t any = lp_avx512_next_bits(&reader[0]);
        __m512i code = _mm512_maskz_set1_epi8(any, 1), low, high;

        for (uint32_t p = 1; p < width; p++) {
            const uint64_t bits = lp_avx512_next_bits(&reader[p]);

            code = _mm512_mask_add_epi8(code, bits, code, _mm512_set1_epi8((char)(1 << p)));
            any |= bits;
        }
        low = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(code)), before);
        high = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(code, 1)), before);
        low = _mm512_mask_expand_epi16(low, (uint32_t)~any, lp_avx512_load_apart(next));
        next += _mm_popcnt_u32((uint32_t)~any);
        high = _mm512_mask_expand_epi16(high, (uint32_t)(~any >> 32), lp_avx512_load_apart(next));
        next += _mm_popcnt_u32((uint32_t)(~any >> 32));
        _mm512_storeu_si512(dst + i, low);
        _mm512_storeu_si512(dst + i + 32, high);
    }
}

static inline void lp_levels_avx512_decode_level(const uint8_t *src, uint64_t bit, uint32_t width,
                                                 uint32_t count, uint32_t first,
                                                 const uint16_t *next, uint16_t *dst)
{
    switch (width) {
    case 1:
        lp_levels_avx512_decode_one(src, bit, 1, count, first, next, dst);
        break;
    case 2:
        lp_levels_avx512_decode_one(src, bit, 2, count, first, next, dst);
        break;
    case 3:
        lp_levels_avx512_decode_one(src, bit, 3, count, first, next, dst);
        break;
    case 4:
        lp_levels_avx512_decode_one(src, bit, 4, count, first, next, dst);
        break;
    default:
        lp_levels_avx512_decode_one(src, bit, width, count, first, next, dst);
    }
}

/* The symbols of all elements, first_raw and up for raw ones: first_raw + the number of raw
 * elements must be at most 65,536, or their symbols are wrong. symbols and scratch: room for
 * parts->count[0] + LP_LEVELS_SLACK, all of which may be written. When the source has changed since
 * lp_levels_avx512_find(), symbols may be any number of 16 bits: check them before they are used
 * as an index. */
static inline void lp_levels_avx512_decode(const struct lp_levels_parts *parts, const uint8_t *src,
                                           uint32_t first_raw, uint16_t *symbols, uint16_t *scratch)
{
    uint16_t *const buffer[2] = {symbols, scratch};
    uint16_t *next = buffer[parts->n_levels % 2];
    uint32_t end = 0;

    for (uint32_t k = 0; k < parts->n_levels; k++)
        end += (1u << parts->widths[k]) - 1;
    for (uint32_t j = 0; j < parts->count[parts->n_levels]; j++)
        next[j] = (uint16_t)(first_raw + j);
    for (uint32_t k = parts->n_levels; k-- > 0;) {
        end -= (1u << parts->widths[k]) - 1;
        lp_levels_avx512_decode_level(src, parts->bit[k], parts->widths[k], parts->count[k], end,
                                      next, buffer[k % 2]);
        next = buffer[k % 2];
    }
}

/* Codes of symbols that lie in [first, first + 2^width - 1) into planes, whose words are
 * plane_words apart; what has none is left at the front of symbols. Returns how many. */
static LP_ALWAYS_INLINE uint32_t lp_levels_avx512_encode_one(uint16_t *symbols, uint32_t count,
                                                             uint32_t first, const uint32_t width,
                                                             uint64_t *planes, uint32_t plane_words)
{
    const __m512i before = _mm512_set1_epi16((short)(first - 1));
    const __m512i end = _mm512_set1_epi16((short)(first + (1u << width) - 1));
    uint16_t *left = symbols;

    for (uint32_t i = 0; i < count; i += 32) {
        const __m512i v = _mm512_loadu_si512(symbols + i);
        const __m512i code = _mm512_sub_epi16(v, before);
        const __mmask32 here = _mm512_cmplt_epu16_mask(v, end);
        const uint32_t behind = ~here & (count - i < 32 ? (1u << (count - i)) - 1 : ~0u);

        for (uint32_t p = 0; p < width; p++)
            lp_store_u32(
                (uint8_t *)(planes + (size_t)p * plane_words) + i / 8,
                _mm512_mask_test_epi16_mask(here, code, _mm512_set1_epi16((short)(1 << p))));
        /* What the store overwrites has been read: left never passes i. */
        _mm512_storeu_si512(left, _mm512_maskz_compress_epi16(behind, v));
        left += _mm_popcnt_u32(behind);
    }
    return (uint32_t)(left - symbols);
}

/* Words that each plane of planes must have for n elements; in all LP_LEVELS_WIDTH_MAX times as
 * many. */
#define LP_LEVELS_PLANE_WORDS(n) ((n) / 64 + 2 + LP_AVX512_PLANE_SLACK)

/* Append the planes of all levels for n symbols; a symbol that no level has (65,535 at most) goes
 * to none, which is how raw elements are told. symbols has LP_LEVELS_SLACK entries behind n, is
 * used up, and its first *ret_n_raw entries are then those of the raw elements, in order. planes:
 * LP_LEVELS_WIDTH_MAX * plane_words, where plane_words is LP_LEVELS_PLANE_WORDS(n) or more. False:
 * more than out->limit_bits. */
static inline bool lp_levels_avx512_encode(const uint8_t *widths, uint32_t n_levels,
                                           uint16_t *symbols, uint32_t n, uint64_t *planes,
                                           uint32_t plane_words, struct lp_avx512_output *out,
                                           uint32_t *ret_n_raw)
{
    uint32_t count = n, first = 0;

    for (uint32_t k = 0; k < n_levels; k++) {
        const uint32_t left =
            lp_levels_avx512_encode_one(symbols, count, first, widths[k], planes + 1, plane_words);

        for (uint32_t p = 0; p < widths[k]; p++) {
            if (!lp_avx512_put_plane(out, planes + 1 + (size_t)p * plane_words, count))
                return false;
        }
        first += (1u << widths[k]) - 1;
        count = left;
    }
    *ret_n_raw = count;
    return true;
}

#endif
