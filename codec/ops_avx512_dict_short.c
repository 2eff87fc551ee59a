/* SPDX-License-Identifier: Apache-2.0 */
/* Dict records of one block with AVX-512. What a longer record reads twice, once to count and once
 * to decode, is read once here: each level's codes fit a register. */
#include "codec/ops_avx512_values.h"

#include <string.h>

struct short_record {
    __m512i code[LP_FORMAT_DICT_LEVELS_MAX];
    uint64_t zero[LP_FORMAT_DICT_LEVELS_MAX]; /* codes that are zero */
    uint64_t bit;                             /* where the bit string ends */
    uint32_t n_raw;
};

/* Codes of all levels. False: they do not lie within src_bytes, or one has no value. */
static LP_ALWAYS_INLINE bool read_levels(const struct lp_dict *dict, const uint8_t *src,
                                         uint32_t src_bytes, uint32_t n,
                                         struct short_record *record)
{
    uint32_t count = n;
    uint64_t bit = 0, bad = 0;

    for (uint32_t k = 0; k < dict->n_levels; k++) {
        const uint64_t inside = count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
        const uint32_t width = dict->widths[k];
        __m512i code = _mm512_setzero_si512(), weight = _mm512_set1_epi8(1);
        uint64_t any = 0;

        if (bit + (uint64_t)width * count > (uint64_t)src_bytes * 8)
            return false;
        for (uint32_t p = 0; p < width; p++, bit += count) {
            const uint64_t bits = lp_lane_load_bits(src, bit) & inside;

            code = _mm512_mask_add_epi8(code, bits, code, weight);
            weight = _mm512_add_epi8(weight, weight);
            any |= bits;
        }
        bad |= _mm512_cmpgt_epu8_mask(code, _mm512_set1_epi8((char)lp_dict_level_last(dict, k)));
        record->code[k] = code;
        record->zero[k] = ~any & inside;
        count = (uint32_t)_mm_popcnt_u64(record->zero[k]);
    }
    record->bit = bit;
    record->n_raw = count;
    return bad == 0;
}

static LP_ALWAYS_INLINE void put_level_of(const struct lp_dict *dict, uint32_t k,
                                          const struct short_record *record,
                                          const uint32_t elem_bytes, const uint32_t width,
                                          const uint8_t *next, uint8_t *dst)
{
    const uint8_t *const values = lp_dict_level_values(dict, k);
    struct lp_dict_table table;

    if (!lp_dict_is_gathered(elem_bytes, width))
        table = lp_dict_load_table(values, elem_bytes, width);
    lp_dict_put_block(&table, values, elem_bytes, width, record->code[k], record->zero[k], &next,
                      dst);
}

/* Narrow levels are looked up as the widest one whose values fit one register. */
static LP_ALWAYS_INLINE void put_level(const struct lp_dict *dict, uint32_t k,
                                       const struct short_record *record, const uint32_t elem_bytes,
                                       const uint8_t *next, uint8_t *dst)
{
    const uint32_t narrow = elem_bytes == 1 ? 6 : elem_bytes == 2 ? 5 : elem_bytes == 4 ? 4 : 3;
    const uint32_t width = dict->widths[k];

    if (width <= narrow)
        put_level_of(dict, k, record, elem_bytes, narrow, next, dst);
    else if (width == narrow + 1)
        put_level_of(dict, k, record, elem_bytes, narrow + 1, next, dst);
    else if (width == narrow + 2)
        put_level_of(dict, k, record, elem_bytes, narrow + 2, next, dst);
    else
        put_level_of(dict, k, record, elem_bytes, narrow + 3, next, dst);
}

static LP_ALWAYS_INLINE void put_all(const struct lp_dict *dict, const struct short_record *record,
                                     const uint32_t elem_bytes, const uint8_t *raw, uint32_t n,
                                     uint8_t *dst)
{
    /* A level reads what the level behind it wrote, and a register more. */
    uint8_t buffer[2][LP_AVX512_BLOCK * 8 + 64];
    const uint8_t *next = raw;

    for (uint32_t k = dict->n_levels; k-- > 1;) {
        put_level(dict, k, record, elem_bytes, next, buffer[k % 2]);
        next = buffer[k % 2];
    }
    if (n == LP_AVX512_BLOCK) {
        put_level(dict, 0, record, elem_bytes, next, dst);
        return;
    }
    put_level(dict, 0, record, elem_bytes, next, buffer[0]);
    memcpy(dst, buffer[0], (size_t)n * elem_bytes);
}

int lp_codec_avx512_dict_decode_short(const struct lp_dict *dict, const uint8_t *src,
                                      uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                      uint32_t n)
{
    struct short_record record;
    const uint8_t *raw;

    if (!read_levels(dict, src, src_bytes, n, &record) ||
        !lp_dict_end_is_right(dict, src, src_bytes, align_bytes, record.bit, record.n_raw))
        return LP_ECORRUPT;
    raw = src + (record.bit + 7) / 8;
    switch (dict->elem_bytes) {
    case 1:
        put_all(dict, &record, 1, raw, n, dst);
        break;
    case 2:
        put_all(dict, &record, 2, raw, n, dst);
        break;
    case 4:
        put_all(dict, &record, 4, raw, n, dst);
        break;
    default:
        put_all(dict, &record, 8, raw, n, dst);
    }
    return 0;
}
