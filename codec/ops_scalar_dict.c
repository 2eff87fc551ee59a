/* SPDX-License-Identifier: Apache-2.0 */
/* The reference tier's part of codec dict: one element at a time, as docs/FORMAT.md, section 7
 * tells it. */
#include "codec/dict_parts.h"
#include "codec/ops_dict.h"
#include "codec/scalar_codes.h"

#include <string.h>

/* No symbol: a code without a value, or the source has changed since its parts were counted. */
#define SYMBOL_NONE UINT32_MAX

/* The next element's symbol, n_symbols for a raw one; next[k] counts what has been read of level k.
 */
static uint32_t next_symbol(const struct lp_dict *dict, const uint8_t *src,
                            const struct lp_dict_parts *parts, uint32_t *next)
{
    for (uint32_t k = 0; k < dict->n_levels; k++) {
        uint32_t code, symbol;

        if (next[k] == parts->count[k])
            return SYMBOL_NONE;
        code = lp_scalar_load_code(src, parts->level_bit[k], dict->widths[k], parts->count[k],
                                   next[k]++);
        symbol = dict->first[k] + code - 1;
        if (code != 0)
            return symbol < dict->n_values ? symbol : SYMBOL_NONE;
    }
    return next[dict->n_levels] == parts->count[dict->n_levels] ? SYMBOL_NONE
                                                                : lp_dict_symbols(dict);
}

int lp_codec_scalar_dict_decode(const struct lp_dict *dict, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n)
{
    const uint32_t size = dict->elem_bytes;
    uint32_t next[LP_FORMAT_DICT_LEVELS_MAX + 1] = {0};
    struct lp_dict_parts parts;
    const uint8_t *raw;
    uint8_t *out = dst;

    if (!lp_dict_find_parts(dict, src, src_bytes, align_bytes, n, lp_scalar_count_zeros, &parts))
        return LP_ECORRUPT;
    raw = (const uint8_t *)src + parts.raw_byte;
    for (uint32_t i = 0; i < n; i++, out += size) {
        const uint32_t symbol = next_symbol(dict, src, &parts, next);

        if (symbol == SYMBOL_NONE)
            return LP_ECORRUPT;
        if (symbol < dict->n_values)
            memcpy(out, dict->values + (size_t)symbol * size, size);
        else
            memcpy(out, raw + (size_t)next[dict->n_levels]++ * size, size);
    }
    return 0;
}

static uint32_t symbol_at(const struct lp_dict *dict, const void *src, uint32_t i)
{
    const uint8_t *const p = (const uint8_t *)src + (size_t)i * dict->elem_bytes;

    return lp_dict_find(dict, lp_load_uint(p, dict->elem_bytes));
}

/* Elements that reach each level; then raw ones. Returns the codec's size. */
static uint32_t count_levels(const struct lp_dict *dict, const void *src, uint32_t n,
                             uint32_t *counts)
{
    uint64_t bits = 0;

    memset(counts, 0, (dict->n_levels + 1) * sizeof(counts[0]));
    counts[0] = n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t symbol = symbol_at(dict, src, i);

        for (uint32_t k = 1; k <= dict->n_levels; k++)
            counts[k] += symbol >= dict->first[k];
    }
    for (uint32_t k = 0; k < dict->n_levels; k++)
        bits += (uint64_t)dict->widths[k] * counts[k];
    return (uint32_t)((bits + 7) / 8) + counts[dict->n_levels] * dict->elem_bytes;
}

/* The planes of level k, of count codes each, from bit on, where dst is zero. */
static void put_level(const struct lp_dict *dict, uint32_t k, const void *src, uint32_t n,
                      uint32_t count, uint8_t *dst, uint64_t bit)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t symbol = symbol_at(dict, src, i);
        const uint32_t code = symbol < dict->first[k + 1] ? symbol - dict->first[k] + 1 : 0;

        if (symbol < dict->first[k])
            continue;
        for (uint32_t p = 0; p < dict->widths[k]; p++) {
            const uint64_t at = bit + (uint64_t)p * count;

            dst[at / 8] |= (uint8_t)((code >> p & 1) << (at % 8));
        }
        bit++;
    }
}

uint32_t lp_codec_scalar_dict_encode(const struct lp_dict *dict, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes)
{
    uint32_t counts[LP_FORMAT_DICT_LEVELS_MAX + 1];
    const uint32_t size = count_levels(dict, src, n, counts);
    uint64_t bit = 0;
    uint8_t *out = dst;

    if (size >= limit_bytes)
        return 0;
    memset(dst, 0, size);
    for (uint32_t k = 0; k < dict->n_levels; k++) {
        put_level(dict, k, src, n, counts[k], dst, bit);
        bit += (uint64_t)dict->widths[k] * counts[k];
    }
    out += (bit + 7) / 8;
    for (uint32_t i = 0; i < n; i++) {
        if (symbol_at(dict, src, i) < lp_dict_symbols(dict))
            continue;
        memcpy(out, (const uint8_t *)src + (size_t)i * dict->elem_bytes, dict->elem_bytes);
        out += dict->elem_bytes;
    }
    return size;
}

void lp_codec_scalar_dict_fill(struct lp_codec_ops *ops)
{
    ops->dict_decode = lp_codec_scalar_dict_decode;
    ops->dict_encode = lp_codec_scalar_dict_encode;
}
