/* SPDX-License-Identifier: Apache-2.0 */
/* Coding a dict record, the same for tiers that have no way of their own: symbols are found, then
 * go down the levels. Included once by a file of a tier, which has defined before
 *
 *   take_level(symbols, count, first, end, codes)
 *                       codes of the symbols below end, first's being 1, and 0 for the others,
 *                       which move to the front of symbols; returns how many these are
 *   struct output, start_output(dst)
 *                       a bit string that grows at its end
 *   put_planes(out, codes, count, width)
 *                       the planes of count codes of a byte each behind it
 *   end_output(out)     what is not stored yet; up to 8 bytes behind the string may be written
 *
 * Up to DICT_BLOCK symbols and codes behind those that count may be read and written. Gives
 * dict_encode() of codec/ops.h. */
#ifndef LP_CODEC_DICT_ENCODE_H
#define LP_CODEC_DICT_ENCODE_H

#include "codec/dict_level.h"
#include "codec/dict_look_up.h"
#include "codec/ops_dict.h"

static uint32_t dict_encode(const struct lp_dict *dict, const void *src, uint32_t n, void *dst,
                            uint32_t limit_bytes)
{
    uint16_t symbols[LP_LANE_FAST_ELEMENTS_MAX + DICT_BLOCK];
    uint8_t codes[LP_LANE_FAST_ELEMENTS_MAX + DICT_BLOCK];
    const uint32_t size = dict->elem_bytes, first_raw = lp_dict_symbols(dict);
    struct output out = start_output(dst);
    uint64_t bits = 0, all_bytes;
    uint32_t left = n;
    uint8_t *raw;

    if (n > LP_LANE_FAST_ELEMENTS_MAX)
        return lp_codec_scalar_dict_encode(dict, src, n, dst, limit_bytes);
    lp_dict_look_up(dict, src, n, symbols);
    for (uint32_t k = 0; k < dict->n_levels; k++) {
        const uint32_t count = left;

        bits += (uint64_t)dict->widths[k] * count;
        if (bits >= (uint64_t)limit_bytes * 8)
            return 0;
        left = take_level(symbols, count, dict->first[k], dict->first[k + 1], codes);
        put_planes(&out, codes, count, dict->widths[k]);
    }
    all_bytes = (bits + 7) / 8 + (uint64_t)left * size;
    if (all_bytes >= limit_bytes)
        return 0;
    end_output(&out);
    raw = (uint8_t *)dst + (bits + 7) / 8;
    for (uint32_t j = 0; j < left; j++, raw += size)
        memcpy(raw, (const uint8_t *)src + (size_t)(symbols[j] - first_raw) * size, size);
    return (uint32_t)all_bytes;
}

#endif
