/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding a dict record level by level, the same for vector tiers. Included once by a file of a
 * tier, which has defined before
 *
 *   decode_level(elem_bytes, level, dst)   values of all codes of a struct dict_level to dst, not a
 *                                          byte more; false: a code has none
 *
 * and gives dict_decode() of codec/ops.h. */
#ifndef LP_CODEC_DICT_DECODE_H
#define LP_CODEC_DICT_DECODE_H

#include "codec/dict_level.h"
#include "codec/dict_parts.h"
#include "codec/ops_dict.h"
#include "codec/zero_codes.h"

/* Buffers for records of up to so many bytes; only longer ones take much of the stack. */
#define DICT_SMALL_BYTES 32768u
#define DICT_BUFFER_BYTES(n) ((n) + DICT_BLOCK * 8)
LP_STATIC_ASSERT(2 * DICT_BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX) < LP_LANE_STACK_BYTES_MAX / 2,
                 "a decoder's stack is bounded");

static inline struct dict_level dict_level_at(const struct lp_dict *dict,
                                              const struct lp_dict_parts *parts, uint32_t k,
                                              const uint8_t *src, const uint8_t *next)
{
    const uint32_t codes = 1u << dict->widths[k];

    return (struct dict_level){.src = src,
                               .bit = parts->level_bit[k],
                               .count = parts->count[k],
                               .width = dict->widths[k],
                               .last_code = k + 1 == dict->n_levels ? dict->last_codes : codes - 1,
                               .table = dict->values + dict->first[k] * dict->elem_bytes -
                                        dict->elem_bytes,
                               .next = next};
}

/* Two buffers in turn: a level reads the one that the level behind it wrote. Raw elements are
 * copied there, too, so that no read leaves the record even if it changes meanwhile. */
static int dict_decode_in(const struct lp_dict *dict, const uint8_t *src, uint32_t src_bytes,
                          uint32_t align_bytes, uint8_t *dst, uint32_t n, uint8_t *const buffer[2])
{
    struct lp_dict_parts parts;
    uint8_t *next = buffer[dict->n_levels % 2];

    if (!lp_dict_find_parts(dict, src, src_bytes, align_bytes, n, count_zeros, &parts))
        return LP_ECORRUPT;
    memcpy(next, src + parts.raw_byte, (size_t)parts.count[dict->n_levels] * dict->elem_bytes);
    for (uint32_t k = dict->n_levels; k-- > 0;) {
        const struct dict_level level = dict_level_at(dict, &parts, k, src, next);

        next = k > 0 ? buffer[k % 2] : dst;
        if (!decode_level(dict->elem_bytes, &level, next))
            return LP_ECORRUPT;
    }
    return 0;
}

static __attribute__((noinline)) int dict_decode_large(const struct lp_dict *dict,
                                                       const uint8_t *src, uint32_t src_bytes,
                                                       uint32_t align_bytes, uint8_t *dst,
                                                       uint32_t n)
{
    uint8_t first[DICT_BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX)];
    uint8_t second[DICT_BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX)];

    return dict_decode_in(dict, src, src_bytes, align_bytes, dst, n,
                          (uint8_t *const[]){first, second});
}

static int dict_decode(const struct lp_dict *dict, const void *src, uint32_t src_bytes,
                       uint32_t align_bytes, void *dst, uint32_t n)
{
    uint8_t first[DICT_BUFFER_BYTES(DICT_SMALL_BYTES)];
    uint8_t second[DICT_BUFFER_BYTES(DICT_SMALL_BYTES)];
    const uint64_t bytes = (uint64_t)n * dict->elem_bytes;

    /* Longer than the format allows: nobody has one. */
    if (bytes > LP_FORMAT_RECORD_BYTES_MAX)
        return lp_codec_scalar_dict_decode(dict, src, src_bytes, align_bytes, dst, n);
    if (bytes > DICT_SMALL_BYTES)
        return dict_decode_large(dict, src, src_bytes, align_bytes, dst, n);
    return dict_decode_in(dict, src, src_bytes, align_bytes, dst, n,
                          (uint8_t *const[]){first, second});
}

#endif
