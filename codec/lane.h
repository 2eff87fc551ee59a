/* SPDX-License-Identifier: Apache-2.0 */
/* The cascade's parameters (docs/FORMAT.md, section 5): levels, ranks, and how an element splits into exponent and other bits. */
#ifndef LP_CODEC_LANE_H
#define LP_CODEC_LANE_H

#include "base/error.h"
#include "codec/format.h"

/* Parsed metadata, with tables made once so that a record needs no thought. Plain data, copied freely. */
struct lp_lane {
    uint32_t dtype;
    uint32_t n_levels;
    uint8_t widths[LP_FORMAT_LANE_LEVELS_MAX];
    uint8_t window;                                /* enum lp_lane_window */
    uint32_t n_symbols;
    uint16_t rank[LP_FORMAT_LANE_SYMBOLS_MAX];     /* symbol -> exponent minus base */
    uint32_t exponent_bits, mantissa_bits;
    uint32_t byte_bits;                            /* other bits kept as bytes: 8 * floor(R / 8) */
    uint32_t plane_bits;                           /* other bits kept as planes: R mod 8 */
    uint32_t base_bytes;                           /* 0, 1 or 2 per record */
    uint32_t escape_bytes;                         /* of a raw exponent: 1, or 2 for f64 */
    uint8_t symbol_of[2048];                       /* exponent minus base mod 2^E -> symbol, or 255 */
};

/* From parameters to a checked struct. dtype must be a float. LP_ENOTSUP for another dtype, LP_ECORRUPT for bad widths or ranks. */
int lp_codec_lane_init(struct lp_lane *ret_lane, uint32_t dtype, uint32_t n_levels, const uint8_t *widths, uint32_t window,
                       const uint16_t *ranks, struct lp_error *err);

/* The metadata section's bytes: size, emit, parse. */
uint64_t lp_codec_lane_meta_bytes(const struct lp_lane *lane);
void lp_codec_lane_meta_emit(const struct lp_lane *lane, void *dst);
int lp_codec_lane_meta_parse(struct lp_lane *ret_lane, uint32_t dtype, const void *meta, uint64_t meta_bytes,
                             struct lp_error *err);

/* Choose levels, window kind and ranks for data like the sample: n_records records of record_elements each, back to back, borrowed. The price is
 * exact for the sample: *ret_payload_bytes gets its payload (metadata counted apart). LP_ENOTSUP: not a float. */
int lp_codec_lane_learn(struct lp_lane *ret_lane, uint32_t dtype, const void *sample, uint64_t n_records, uint32_t record_elements,
                        uint64_t *ret_payload_bytes, struct lp_error *err);

#endif
