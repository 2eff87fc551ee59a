/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding dict records with AVX-512, level by level from the last to the first, as lane records
 * are: a level turns 64 codes into 64 values, by permutes where its values fit registers, else by
 * gathers, and VPEXPAND puts the next level's values, which are already there, where the codes are
 * zero. */
#include "codec/ops_avx512_values.h"
#include "codec/ops_dict.h"

#include <string.h>

/* Buffers for records of up to so many bytes; only longer ones take much of the stack. */
#define SMALL_BYTES 32768u
#define BUFFER_BYTES(n) ((n) + LP_AVX512_BLOCK * 8)
LP_STATIC_ASSERT(2 * BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX) < LP_LANE_STACK_BYTES_MAX / 2,
                 "a decoder's stack is bounded");

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

/* Codes of one level into dst, which has room for a whole last block. False: one has no value. */
static LP_ALWAYS_INLINE bool decode_level_of(struct level *level, const uint32_t elem_bytes,
                                             const uint32_t width, uint8_t *dst)
{
    const __m512i last = _mm512_set1_epi8((char)level->last_code);
    const uint8_t *next = level->next;
    struct lp_avx512_reader planes[8];
    struct lp_dict_table table;
    uint64_t bad = 0;

    if (!lp_dict_is_gathered(elem_bytes, width))
        table = lp_dict_load_table(level->table, elem_bytes, width);
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
        lp_dict_put_block(&table, level->table, elem_bytes, width, code, ~any, &next, dst);
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
    return (struct level){.src = src,
                          .bit = parts->level_bit[k],
                          .count = parts->count[k],
                          .end = parts->count[k],
                          .last_code = lp_dict_level_last(dict, k),
                          .table = lp_dict_level_values(dict, k),
                          .next = next};
}

/* Two buffers in turn: a level reads the one that the level behind it wrote. Raw elements are
 * copied there, too, so that no read leaves the record even if it changes meanwhile. */
static int decode_in(const struct lp_dict *dict, const uint8_t *src, uint32_t src_bytes,
                     uint32_t align_bytes, uint8_t *dst, uint32_t n, uint8_t *const buffer[2])
{
    struct lp_dict_parts parts;
    const uint8_t *next;
    struct level level;

    if (!lp_dict_find_parts(dict, src, src_bytes, align_bytes, n, count_zeros, &parts))
        return LP_ECORRUPT;
    next = buffer[dict->n_levels % 2];
    memcpy(buffer[dict->n_levels % 2], src + parts.raw_byte,
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

static __attribute__((noinline)) int decode_large(const struct lp_dict *dict, const uint8_t *src,
                                                  uint32_t src_bytes, uint32_t align_bytes,
                                                  uint8_t *dst, uint32_t n)
{
    uint8_t first[BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX)];
    uint8_t second[BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX)];

    return decode_in(dict, src, src_bytes, align_bytes, dst, n, (uint8_t *const[]){first, second});
}

static int dict_decode(const struct lp_dict *dict, const void *src, uint32_t src_bytes,
                       uint32_t align_bytes, void *dst, uint32_t n)
{
    uint8_t first[BUFFER_BYTES(SMALL_BYTES)], second[BUFFER_BYTES(SMALL_BYTES)];
    const uint64_t bytes = (uint64_t)n * dict->elem_bytes;

    if (n <= LP_AVX512_BLOCK && n > 0)
        return lp_codec_avx512_dict_decode_short(dict, src, src_bytes, align_bytes, dst, n);
    /* Longer than the format allows: nobody has one. */
    if (bytes > LP_FORMAT_RECORD_BYTES_MAX)
        return lp_codec_scalar_dict_decode(dict, src, src_bytes, align_bytes, dst, n);
    if (bytes > SMALL_BYTES)
        return decode_large(dict, src, src_bytes, align_bytes, dst, n);
    return decode_in(dict, src, src_bytes, align_bytes, dst, n, (uint8_t *const[]){first, second});
}

void lp_codec_avx512_dict_fill(struct lp_codec_ops *ops)
{
    ops->dict_decode = dict_decode;
    ops->dict_encode = lp_codec_avx512_dict_encode;
}
