/* SPDX-License-Identifier: Apache-2.0 */
/* Where the parts of one coded dict record lie, found and checked before anything is decoded.
 * Shared by the tiers, each of which brings its own way to count zero codes. Source:
 * docs/FORMAT.md, section 7. */
#ifndef LP_CODEC_DICT_PARTS_H
#define LP_CODEC_DICT_PARTS_H

#include "codec/dict.h"
#include "codec/lane_parts.h"

struct lp_dict_parts {
    uint64_t level_bit[LP_FORMAT_DICT_LEVELS_MAX]; /* first bit of each level's planes */
    uint32_t count[LP_FORMAT_DICT_LEVELS_MAX + 1]; /* codes in each level; then raw elements */
    uint32_t raw_byte;                             /* first raw element */
};

/* What must hold at the end of a record whose bit string ends with bit, with n_raw elements behind
 * it: it fills src_bytes up to less than an alignment of zeros. */
static inline bool lp_dict_end_is_right(const struct lp_dict *dict, const uint8_t *src,
                                        uint32_t src_bytes, uint32_t align_bytes, uint64_t bit,
                                        uint32_t n_raw)
{
    const uint64_t used_bytes = (bit + 7) / 8 + (uint64_t)n_raw * dict->elem_bytes;

    return used_bytes <= src_bytes && src_bytes - used_bytes < align_bytes &&
           lp_lane_padding_is_zero(src, bit, (uint32_t)used_bytes, src_bytes);
}

/* False: the record does not fill src_bytes up to less than an alignment of zeros. Each part is
 * known to lie within src_bytes before it is read. */
static inline __attribute__((always_inline)) bool
lp_dict_find_parts(const struct lp_dict *dict, const uint8_t *src, uint32_t src_bytes,
                   uint32_t align_bytes, uint32_t n, lp_lane_count_zeros *count_zeros,
                   struct lp_dict_parts *parts)
{
    uint64_t bit = 0;

    parts->count[0] = n;
    for (uint32_t k = 0; k < dict->n_levels; k++) {
        parts->level_bit[k] = bit;
        bit += (uint64_t)dict->widths[k] * parts->count[k];
        if (bit > (uint64_t)src_bytes * 8)
            return false;
        parts->count[k + 1] =
            count_zeros(src, parts->level_bit[k], dict->widths[k], parts->count[k]);
    }
    parts->raw_byte = (uint32_t)((bit + 7) / 8);
    return lp_dict_end_is_right(dict, src, src_bytes, align_bytes, bit,
                                parts->count[dict->n_levels]);
}

#endif
