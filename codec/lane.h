/* SPDX-License-Identifier: Apache-2.0 */
/* The cascade's parameters (docs/FORMAT.md, section 5): levels, ranks, and how an element splits
 * into exponent and other bits. */
#ifndef LP_CODEC_LANE_H
#define LP_CODEC_LANE_H

#include "base/error.h"
#include "codec/format.h"

/* A place names where an exponent's code stands: level << 3 | code, levels from 0 on. Code 0 at
 * level n_levels stands for a raw exponent; code 0 at other levels is no place. */
#define LP_LANE_LEVEL_SHIFT 3u
#define LP_LANE_PLACES 48u          /* five levels, the raw exponents, 8 codes each */
#define LP_LANE_EXPONENTS_MAX 2048u /* 2^E of f64 */

/* Parsed metadata, with tables made once so that a record needs no thought. Plain data, copied
 * freely. */
struct lp_lane {
    uint32_t dtype;
    uint32_t elem_bytes, exponent_bits, mantissa_bits;
    uint32_t byte_bits;  /* other bits kept as bytes: 8 * floor(R / 8) */
    uint32_t plane_bits; /* other bits kept as planes: R mod 8 */
    uint32_t n_levels;
    uint8_t widths[LP_FORMAT_LANE_LEVELS_MAX];
    uint8_t window; /* enum lp_lane_window */
    uint32_t n_symbols;
    uint16_t rank[LP_FORMAT_LANE_SYMBOLS_MAX];        /* symbol -> exponent minus base */
    uint32_t base_bytes;                              /* 0, 1 or 2 per record */
    uint32_t escape_bytes;                            /* of a raw exponent: 1, or 2 for f64 */
    uint32_t exponent_mask;                           /* 2^E - 1 */
    uint16_t rank_at[LP_LANE_PLACES];                 /* place -> exponent minus base; else 0 */
    uint8_t cost_bits[LP_FORMAT_LANE_LEVELS_MAX + 1]; /* level -> bits of a code there, in all */
    uint8_t place_of[LP_LANE_EXPONENTS_MAX]; /* exponent minus base -> place, with period 2^E */
};

/* From parameters to a checked struct. widths and ranks borrow for the call: n_levels widths, and a
 * rank per symbol. LP_ENOTSUP: dtype is no float. LP_ECORRUPT: widths, window or ranks break
 * docs/FORMAT.md; *ret_lane is then unspecified. */
int lp_codec_lane_init(struct lp_lane *ret_lane, uint32_t dtype, uint32_t n_levels,
                       const uint8_t *widths, uint32_t window, const uint16_t *ranks,
                       struct lp_error *err);

/* The metadata section's bytes: size, emit, parse. */
uint64_t lp_codec_lane_meta_bytes(const struct lp_lane *lane);
void lp_codec_lane_meta_emit(const struct lp_lane *lane, void *dst);
int lp_codec_lane_meta_parse(struct lp_lane *ret_lane, uint32_t dtype, const void *meta,
                             uint64_t meta_bytes, struct lp_error *err);

/* Choose levels, window kind and ranks for data like the sample: n_records records of
 * record_elements each, back to back, borrowed. *ret_payload_bytes gets the payload that the sample
 * has with this choice, exactly as packing it would count it (metadata apart).
 * LP_ENOTSUP: not a float. LP_EINVAL: no records. LP_ENOMEM. */
int lp_codec_lane_learn(struct lp_lane *ret_lane, uint32_t dtype, const void *sample,
                        uint64_t n_records, uint32_t record_elements, uint64_t *ret_payload_bytes,
                        struct lp_error *err);

/* What follows from the exponents of a record of n elements: hist[e] counts exponent e, and is 0
 * outside [low, high]. */
struct lp_lane_counts {
    const uint32_t *hist; /* borrowed, 2^E entries */
    uint32_t low, high;
    uint32_t n;
};

/* The base with which the record is smallest, among those that put its most frequent exponent on
 * one of the first symbols; 0 with a window per table. Every encoder takes this one. */
uint32_t lp_codec_lane_pick_base(const struct lp_lane *lane, const struct lp_lane_counts *counts);

/* The codec's size of that record with this base. */
uint32_t lp_codec_lane_size(const struct lp_lane *lane, const struct lp_lane_counts *counts,
                            uint32_t base);

#endif
