/* SPDX-License-Identifier: Apache-2.0 */
/* Counting exponents of any number of elements, the same for every vector tier: they are split a
 * piece at a time, and bytes are counted. Included once by a file of a tier, behind
 * codec/lane_split.h and its own
 *
 *   add_counts(counts, n, hist)    hist[i] += what all parts have counted of byte i, for i < n */
#ifndef LP_CODEC_LANE_HISTOGRAM_H
#define LP_CODEC_LANE_HISTOGRAM_H

#include "codec/lane_split.h"
#include "codec/ops.h"
#include "codec/shape.h"

#define LANE_PIECE_ELEMENTS 2048u
/* Whole pieces, as many as parts can count. */
#define LANE_PIECES_COUNTED (LP_LANE_COUNTED_MAX / LANE_PIECE_ELEMENTS)

/* One-byte exponents of a piece of elements to exponents, which has room for LP_LANE_VECTOR more.
 */
static void split_piece(uint32_t dtype, const uint8_t *src, uint32_t n, uint8_t *exponents)
{
    uint8_t arrays[3 * LANE_PIECE_ELEMENTS], planes[LANE_PIECE_ELEMENTS + LP_LANE_VECTOR];
    const struct lane_parts_out out = {arrays, planes, exponents, n};

    switch (dtype) {
    case LP_DTYPE_BF16:
        (void)split_of(lane_layout(2, 1, 8, 0, 1, 0), src, &out);
        break;
    case LP_DTYPE_F32:
        (void)split_of(lane_layout(4, 1, 8, 0, 1, 0), src, &out);
        break;
    case LP_DTYPE_F16:
        (void)split_of(lane_layout(2, 1, 5, 0, 1, 0), src, &out);
        break;
    case LP_DTYPE_F8_E4M3:
        (void)split_of(lane_layout(1, 1, 4, 0, 1, 0), src, &out);
        break;
    default:
        (void)split_of(lane_layout(1, 1, 5, 0, 1, 0), src, &out);
    }
}

/* As exponent_histogram of codec/ops.h. f64 is left to scalar, which is in step with elements of 8
 * bytes. */
static void exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const uint32_t bits = info->exponent_bits != 0 ? info->exponent_bits : 8;
    const uint8_t *elements = src;

    if (bits > 8) {
        lp_codec_scalar_exponent_histogram(dtype, src, n, hist);
        return;
    }
    while (n > 0) {
        uint8_t exponents[LANE_PIECE_ELEMENTS + LP_LANE_VECTOR];
        struct lp_lane_part_counts counts = {0};

        for (uint32_t i = 0; i < LANE_PIECES_COUNTED && n > 0; i++) {
            const uint32_t n_now = (uint32_t)LP_MIN(n, LANE_PIECE_ELEMENTS);
            const uint8_t *bytes = elements;

            if (info->exponent_bits != 0) {
                split_piece(dtype, elements, n_now, exponents);
                bytes = exponents;
            }
            lp_lane_count_bytes(bytes, n_now, &counts);
            elements += (size_t)n_now * info->bytes;
            n -= n_now;
        }
        add_counts(&counts, 1u << bits, hist);
    }
}

#endif
