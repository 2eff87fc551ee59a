/* SPDX-License-Identifier: Apache-2.0 */
/* From codes of codec dict to values with AVX-512: 64 codes at a time, by permutes where a level's
 * values fit registers, else by gathers. Included only by files that are compiled for the tier.
 *
 * A level's values begin at an address where the value of code c, from 1 on, is element number c.
 */
#ifndef LP_CODEC_OPS_AVX512_VALUES_H
#define LP_CODEC_OPS_AVX512_VALUES_H

#include "codec/dict_parts.h"
#include "codec/ops_avx512_planes.h"

/* A level's values in registers, as many as its codes need. */
struct lp_dict_table {
    __m512i part[8];
};

static LP_ALWAYS_INLINE uint32_t lp_dict_table_parts(uint32_t elem_bytes, uint32_t width)
{
    const uint32_t bytes = elem_bytes << width;

    return bytes <= 64 ? 1 : bytes / 64;
}

/* Values that stand in more registers than permutes are worth are gathered. */
static LP_ALWAYS_INLINE bool lp_dict_is_gathered(uint32_t elem_bytes, uint32_t width)
{
    return elem_bytes >= 4 && lp_dict_table_parts(elem_bytes, width) > 4;
}

static LP_ALWAYS_INLINE struct lp_dict_table
lp_dict_load_table(const uint8_t *values, const uint32_t elem_bytes, const uint32_t width)
{
    struct lp_dict_table table;

    for (uint32_t i = 0; i < lp_dict_table_parts(elem_bytes, width); i++)
        table.part[i] = _mm512_loadu_si512(values + 64 * (size_t)i);
    return table;
}

/* The values of 64 codes, one per byte, of 32, one per 16 bits, and so on. */
static LP_ALWAYS_INLINE __m512i look_up_8(const struct lp_dict_table *t, const uint32_t width,
                                          __m512i code)
{
    __m512i low, high;

    if (width <= 6)
        return _mm512_permutexvar_epi8(code, t->part[0]);
    low = _mm512_permutex2var_epi8(t->part[0], code, t->part[1]);
    if (width == 7)
        return low;
    high = _mm512_permutex2var_epi8(t->part[2], code, t->part[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(code), high);
}

static LP_ALWAYS_INLINE __m512i look_up_16_of_128(const __m512i *part, __m512i code)
{
    const __m512i low = _mm512_permutex2var_epi16(part[0], code, part[1]);
    const __m512i high = _mm512_permutex2var_epi16(part[2], code, part[3]);

    return _mm512_mask_mov_epi16(low, _mm512_test_epi16_mask(code, _mm512_set1_epi16(64)), high);
}

static LP_ALWAYS_INLINE __m512i look_up_16(const struct lp_dict_table *t, const uint32_t width,
                                           __m512i code)
{
    if (width <= 5)
        return _mm512_permutexvar_epi16(code, t->part[0]);
    if (width == 6)
        return _mm512_permutex2var_epi16(t->part[0], code, t->part[1]);
    if (width == 7)
        return look_up_16_of_128(t->part, code);
    return _mm512_mask_mov_epi16(look_up_16_of_128(t->part, code),
                                 _mm512_test_epi16_mask(code, _mm512_set1_epi16(128)),
                                 look_up_16_of_128(t->part + 4, code));
}

static LP_ALWAYS_INLINE __m512i look_up_32(const struct lp_dict_table *t, const uint32_t width,
                                           const uint8_t *values, __m512i code)
{
    __m512i low, high;

    if (lp_dict_is_gathered(4, width))
        return _mm512_i32gather_epi32(code, values, 4);
    if (width <= 4)
        return _mm512_permutexvar_epi32(code, t->part[0]);
    low = _mm512_permutex2var_epi32(t->part[0], code, t->part[1]);
    if (width == 5)
        return low;
    high = _mm512_permutex2var_epi32(t->part[2], code, t->part[3]);
    return _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(code, _mm512_set1_epi32(32)), high);
}

static LP_ALWAYS_INLINE __m512i look_up_64(const struct lp_dict_table *t, const uint32_t width,
                                           const uint8_t *values, __m512i code)
{
    __m512i low, high;

    if (lp_dict_is_gathered(8, width))
        return _mm512_i64gather_epi64(code, values, 8);
    if (width <= 3)
        return _mm512_permutexvar_epi64(code, t->part[0]);
    low = _mm512_permutex2var_epi64(t->part[0], code, t->part[1]);
    if (width == 4)
        return low;
    high = _mm512_permutex2var_epi64(t->part[2], code, t->part[3]);
    return _mm512_mask_mov_epi64(low, _mm512_test_epi64_mask(code, _mm512_set1_epi64(16)), high);
}

/* 64 values by their codes; where zero is set the next ones of *next. */
static LP_ALWAYS_INLINE void lp_dict_put_block(const struct lp_dict_table *table,
                                               const uint8_t *values, const uint32_t elem_bytes,
                                               const uint32_t width, __m512i code, uint64_t zero,
                                               const uint8_t **next, uint8_t *dst)
{
    const uint32_t per_part = 64 / elem_bytes;
    uint8_t codes[LP_AVX512_BLOCK];
    __m512i v;

    if (elem_bytes == 1) {
        v = look_up_8(table, width, code);
        v = _mm512_mask_expand_epi8(v, zero, lp_avx512_load_apart(*next));
        *next += _mm_popcnt_u64(zero);
        _mm512_storeu_si512(dst, v);
        return;
    }
    _mm512_storeu_si512(codes, code);
    for (uint32_t i = 0; i < elem_bytes; i++, dst += 64, zero >>= per_part % 64) {
        const uint8_t *const part = codes + per_part * i;
        const uint32_t here = (uint32_t)(zero & ((UINT64_C(1) << per_part % 64) - 1));

        if (elem_bytes == 2) {
            v = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)part));
            v = look_up_16(table, width, v);
            v = _mm512_mask_expand_epi16(v, here, lp_avx512_load_apart(*next));
        } else if (elem_bytes == 4) {
            v = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)part));
            v = look_up_32(table, width, values, v);
            v = _mm512_mask_expand_epi32(v, (__mmask16)here, lp_avx512_load_apart(*next));
        } else {
            v = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)part));
            v = look_up_64(table, width, values, v);
            v = _mm512_mask_expand_epi64(v, (__mmask8)here, lp_avx512_load_apart(*next));
        }
        *next += (size_t)_mm_popcnt_u32(here) * elem_bytes;
        _mm512_storeu_si512(dst, v);
    }
}

static inline const uint8_t *lp_dict_level_values(const struct lp_dict *dict, uint32_t k)
{
    return dict->values + dict->first[k] * dict->elem_bytes - dict->elem_bytes;
}

/* The largest code of level k that has a value. */
static inline uint32_t lp_dict_level_last(const struct lp_dict *dict, uint32_t k)
{
    return k + 1 == dict->n_levels ? dict->last_codes : (1u << dict->widths[k]) - 1;
}

/* One record of 1 to LP_AVX512_BLOCK elements, whose codes stay in registers. */
int lp_codec_avx512_dict_decode_short(const struct lp_dict *dict, const uint8_t *src,
                                      uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                      uint32_t n);

#endif
