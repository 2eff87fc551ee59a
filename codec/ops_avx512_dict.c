/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding dict records with AVX-512, level by level from the last to the first, as lane records
 * are: a level turns 64 codes into 64 values, by permutes where its values fit registers, else by
 * gathers, and VPEXPAND puts the next level's values, which are already there, where the codes are
 * zero. */
#include "codec/dict_parts.h"
#include "codec/ops_avx512_planes.h"
#include "codec/ops_dict.h"

#include <string.h>

/* Longer records are left to the scalar tier, which bounds the stack. */
#define BYTES_MAX 32768u
#define BUFFER_BYTES (BYTES_MAX + LP_AVX512_BLOCK * 8)

/* Where a level's codes come from, and the values behind them. */
struct level {
    const uint8_t *src;
    uint64_t bit; /* first bit of the first plane */
    uint32_t count;
    uint32_t begin, end;  /* the codes to decode now; begin is a multiple of a block */
    uint32_t last_code;   /* the largest code that has a value */
    const uint8_t *table; /* the value of code c, from 1 on, is element number c */
    const uint8_t *next;  /* values for the zero codes, moved on; a block more is readable */
};

static LP_ALWAYS_INLINE uint32_t count_zeros(const uint8_t *src, uint64_t bit, uint32_t width,
                                             uint32_t count)
{
    switch (width) {
    case 6:
        return lp_avx512_count_zeros_of(src, bit, 6, count);
    case 7:
        return lp_avx512_count_zeros_of(src, bit, 7, count);
    case 8:
        return lp_avx512_count_zeros_of(src, bit, 8, count);
    default:
        return lp_avx512_count_zeros_of(src, bit, width, count);
    }
}

/* A level's values in registers, as many as its codes need. */
struct table {
    __m512i part[8];
};

static LP_ALWAYS_INLINE uint32_t table_parts(uint32_t elem_bytes, uint32_t width)
{
    const uint32_t bytes = elem_bytes << width;

    return bytes <= 64 ? 1 : bytes / 64;
}

/* Values that stand in more registers than permutes are worth are gathered. */
static LP_ALWAYS_INLINE bool is_gathered(uint32_t elem_bytes, uint32_t width)
{
    return elem_bytes >= 4 && table_parts(elem_bytes, width) > 4;
}

static LP_ALWAYS_INLINE struct table load_table(const uint8_t *values, const uint32_t elem_bytes,
                                                const uint32_t width)
{
    struct table table;

    for (uint32_t i = 0; i < table_parts(elem_bytes, width); i++)
        table.part[i] = _mm512_loadu_si512(values + 64 * (size_t)i);
    return table;
}

/* The values of 64 codes, one per byte, of 32, one per 16 bits, and so on. */
static LP_ALWAYS_INLINE __m512i look_up_8(const struct table *t, const uint32_t width, __m512i code)
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

static LP_ALWAYS_INLINE __m512i look_up_16(const struct table *t, const uint32_t width,
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

static LP_ALWAYS_INLINE __m512i look_up_32(const struct table *t, const uint32_t width,
                                           const uint8_t *values, __m512i code)
{
    __m512i low, high;

    if (is_gathered(4, width))
        return _mm512_i32gather_epi32(code, values, 4);
    if (width <= 4)
        return _mm512_permutexvar_epi32(code, t->part[0]);
    low = _mm512_permutex2var_epi32(t->part[0], code, t->part[1]);
    if (width == 5)
        return low;
    high = _mm512_permutex2var_epi32(t->part[2], code, t->part[3]);
    return _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(code, _mm512_set1_epi32(32)), high);
}

static LP_ALWAYS_INLINE __m512i look_up_64(const struct table *t, const uint32_t width,
                                           const uint8_t *values, __m512i code)
{
    __m512i low, high;

    if (is_gathered(8, width))
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
static LP_ALWAYS_INLINE void put_block(const struct level *level, const struct table *table,
                                       const uint32_t elem_bytes, const uint32_t width,
                                       __m512i code, uint64_t zero, const uint8_t **next,
                                       uint8_t *dst)
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
            v = look_up_32(table, width, level->table, v);
            v = _mm512_mask_expand_epi32(v, (__mmask16)here, lp_avx512_load_apart(*next));
        } else {
            v = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)part));
            v = look_up_64(table, width, level->table, v);
            v = _mm512_mask_expand_epi64(v, (__mmask8)here, lp_avx512_load_apart(*next));
        }
        *next += (size_t)_mm_popcnt_u32(here) * elem_bytes;
        _mm512_storeu_si512(dst, v);
    }
}

/* Codes of one level into dst, which has room for a whole last block. False: one has no value. */
static LP_ALWAYS_INLINE bool decode_level_of(struct level *level, const uint32_t elem_bytes,
                                             const uint32_t width, uint8_t *dst)
{
    const __m512i last = _mm512_set1_epi8((char)level->last_code);
    const uint8_t *next = level->next;
    struct lp_avx512_reader planes[8];
    struct table table;
    uint64_t bad = 0;

    if (!is_gathered(elem_bytes, width))
        table = load_table(level->table, elem_bytes, width);
    for (uint32_t p = 0; p < width; p++)
        planes[p] =
            lp_avx512_read_from(level->src, level->bit + (uint64_t)p * level->count + level->begin);
    for (uint32_t i = level->begin; i < level->end; i += LP_AVX512_BLOCK) {
        uint64_t any = lp_avx512_next_bits(&planes[0]), inside = UINT64_MAX;
        __m512i code = _mm512_maskz_set1_epi8(any, 1);

        for (uint32_t p = 1; p < width; p++) {
            const uint64_t bits = lp_avx512_next_bits(&planes[p]);

            code = _mm512_mask_add_epi8(code, bits, code, _mm512_set1_epi8((char)(1 << p)));
            any |= bits;
        }
        if (level->end - i < LP_AVX512_BLOCK)
            inside = (UINT64_C(1) << (level->end - i)) - 1;
        bad |= _mm512_mask_cmpgt_epu8_mask(inside, code, last);
        put_block(level, &table, elem_bytes, width, code, ~any, &next, dst);
        dst += LP_AVX512_BLOCK * elem_bytes;
    }
    level->next = next;
    return bad == 0;
}

static LP_ALWAYS_INLINE bool decode_level(struct level *level, const uint32_t elem_bytes,
                                          uint32_t width, uint8_t *dst)
{
    switch (width) {
    case 1:
        return decode_level_of(level, elem_bytes, 1, dst);
    case 2:
        return decode_level_of(level, elem_bytes, 2, dst);
    case 3:
        return decode_level_of(level, elem_bytes, 3, dst);
    case 4:
        return decode_level_of(level, elem_bytes, 4, dst);
    case 5:
        return decode_level_of(level, elem_bytes, 5, dst);
    case 6:
        return decode_level_of(level, elem_bytes, 6, dst);
    case 7:
        return decode_level_of(level, elem_bytes, 7, dst);
    default:
        return decode_level_of(level, elem_bytes, 8, dst);
    }
}

static bool decode_level_1(struct level *level, uint32_t width, uint8_t *dst)
{
    return decode_level(level, 1, width, dst);
}

static bool decode_level_2(struct level *level, uint32_t width, uint8_t *dst)
{
    return decode_level(level, 2, width, dst);
}

static bool decode_level_4(struct level *level, uint32_t width, uint8_t *dst)
{
    return decode_level(level, 4, width, dst);
}

static bool decode_level_8(struct level *level, uint32_t width, uint8_t *dst)
{
    return decode_level(level, 8, width, dst);
}

static bool decode_level_any(const struct lp_dict *dict, uint32_t k, struct level *level,
                             uint8_t *dst)
{
    switch (dict->elem_bytes) {
    case 1:
        return decode_level_1(level, dict->widths[k], dst);
    case 2:
        return decode_level_2(level, dict->widths[k], dst);
    case 4:
        return decode_level_4(level, dict->widths[k], dst);
    default:
        return decode_level_8(level, dict->widths[k], dst);
    }
}

/* Whole blocks go straight to where they belong, the rest by way of a buffer. */
static bool decode_first(const struct lp_dict *dict, struct level *level, uint8_t *dst)
{
    const uint32_t n = level->count, whole = n & ~(LP_AVX512_BLOCK - 1);
    uint8_t block[LP_AVX512_BLOCK * 8];

    level->end = whole;
    if (!decode_level_any(dict, 0, level, dst))
        return false;
    if (whole == n)
        return true;
    level->begin = whole;
    level->end = n;
    if (!decode_level_any(dict, 0, level, block))
        return false;
    memcpy(dst + (size_t)whole * dict->elem_bytes, block, (size_t)(n - whole) * dict->elem_bytes);
    return true;
}

static struct level level_at(const struct lp_dict *dict, const struct lp_dict_parts *parts,
                             uint32_t k, const uint8_t *src, const uint8_t *next)
{
    return (struct level){
        .src = src,
        .bit = parts->level_bit[k],
        .count = parts->count[k],
        .end = parts->count[k],
        .last_code = k + 1 == dict->n_levels ? dict->last_codes : (1u << dict->widths[k]) - 1,
        /* Code 1 stands for the level's first symbol. */
        .table = dict->values + dict->first[k] * dict->elem_bytes - dict->elem_bytes,
        .next = next};
}

static int dict_decode(const struct lp_dict *dict, const void *src, uint32_t src_bytes,
                       uint32_t align_bytes, void *dst, uint32_t n)
{
    /* Two buffers in turn: a level reads the one that the level behind it wrote. Raw elements are
     * copied there, too, so that no read leaves the record even if it changes meanwhile. */
    uint8_t buffer[2][BUFFER_BYTES];
    struct lp_dict_parts parts;
    const uint8_t *next;
    struct level level;

    if (n > BYTES_MAX / dict->elem_bytes)
        return lp_codec_scalar_dict_decode(dict, src, src_bytes, align_bytes, dst, n);
    if (!lp_dict_find_parts(dict, src, src_bytes, align_bytes, n, count_zeros, &parts))
        return LP_ECORRUPT;
    next = buffer[dict->n_levels % 2];
    memcpy(buffer[dict->n_levels % 2], (const uint8_t *)src + parts.raw_byte,
           (size_t)parts.count[dict->n_levels] * dict->elem_bytes);
    for (uint32_t k = dict->n_levels; k-- > 1;) {
        level = level_at(dict, &parts, k, src, next);
        if (!decode_level_any(dict, k, &level, buffer[k % 2]))
            return LP_ECORRUPT;
        next = buffer[k % 2];
    }
    level = level_at(dict, &parts, 0, src, next);
    return decode_first(dict, &level, dst) ? 0 : LP_ECORRUPT;
}

void lp_codec_avx512_dict_fill(struct lp_codec_ops *ops)
{
    ops->dict_decode = dict_decode;
    ops->dict_encode = lp_codec_avx512_dict_encode;
}
