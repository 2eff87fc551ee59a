/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding a lane record, the same for every vector tier: level by level from the last to the
 * first, then joined. Included once by a file of a tier, which has defined before
 *
 *   count_zeros     as codec/lane_parts.h has it
 *   decode_level    below
 *   find_wide       below; lane_find_wide() is one
 *
 * and the functions of codec/lane_vector.h. */
#ifndef LP_CODEC_LANE_DECODE_H
#define LP_CODEC_LANE_DECODE_H

#include "codec/lane_join.h"
#include "codec/lane_level.h"
#include "codec/lane_parts.h"

/* Records that need no larger buffers than LANE_SMALL_BYTES are decoded in a small piece of stack,
 * so that a caller who has no longer ones needs no more. In all a call takes less than
 * LP_LANE_STACK_BYTES_MAX. */
#define LANE_SMALL_BYTES 4096u
#define LANE_BUFFER_SLACK 64u

/* What comes next is asked for where a record has so many bytes of elements; shorter ones come to
 * the front of the hardware's own prefetcher as it is. */
#define LANE_AHEAD_BYTES_MIN 2048u

struct lane_small_buffers {
    uint8_t buffer[2][LANE_SMALL_BYTES + LANE_BUFFER_SLACK];
};
struct lane_large_buffers {
    uint8_t buffer[2][LP_FORMAT_RECORD_BYTES_MAX + LANE_BUFFER_SLACK];
};
LP_STATIC_ASSERT(sizeof(struct lane_large_buffers) < LP_LANE_STACK_BYTES_MAX / 2,
                 "a decoder's stack is bounded");

/* Two buffers in turn: a level reads the one that the level behind it wrote. Raw exponents are
 * copied there, too, so that no read leaves the record even if it changes meanwhile. */
static LP_ALWAYS_INLINE int decode_in(const struct lp_lane *lane, const uint8_t *src,
                                      uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                      uint32_t n, const uint8_t *ahead, uint8_t *even, uint8_t *odd)
{
    uint8_t *const buffer[2] = {even, odd};
    uint8_t *next = buffer[lane->n_levels % 2];
    struct lane_record record = {src, src, 0, n};
    struct lp_lane_parts parts;

    if (n * lane->elem_bytes < LANE_AHEAD_BYTES_MIN)
        ahead = NULL;
    if (!lp_lane_find_parts(lane, src, src_bytes, align_bytes, n, count_zeros, &parts))
        return LP_ECORRUPT;
    if (lane->exponent_bits > 8)
        memset(next, (int)(lane->n_levels << LP_LANE_LEVEL_SHIFT), parts.count[lane->n_levels]);
    else
        memcpy(next, src + parts.raw_byte, parts.count[lane->n_levels]);
    for (uint32_t k = lane->n_levels; k-- > 0;) {
        /* The first level has a block for each 64 elements. Without a hint something stands in for
         * it: adding to NULL is undefined, even 0. */
        const bool wanted = k == 0 && ahead != NULL;
        const struct lane_level level = {
            .src = src,
            .bit = parts.level_bit[k],
            .count = parts.count[k],
            .next = next,
            .table = lane_level_table(lane, k, parts.base),
            .ahead = wanted ? ahead : src,
            .ahead_bytes = wanted ? 64 * lane->byte_bits / 8 : 0,
        };

        next = buffer[k % 2];
        decode_level(&level, lane->widths[k], next);
    }
    if (lane->exponent_bits > 8) {
        find_wide(lane, parts.base, src + parts.raw_byte, parts.count[lane->n_levels], next, n,
                  odd);
        next = odd;
    }
    record.bit = parts.planes_bit;
    join(lane, &record, next, dst);
    return 0;
}

static __attribute__((noinline)) int decode_large(const struct lp_lane *lane, const uint8_t *src,
                                                  uint32_t src_bytes, uint32_t align_bytes,
                                                  uint8_t *dst, uint32_t n, const uint8_t *ahead)
{
    struct lane_large_buffers b;

    return decode_in(lane, src, src_bytes, align_bytes, dst, n, ahead, b.buffer[0], b.buffer[1]);
}

/* A record of any length that the format has. ahead as for lane_decode of codec/ops.h. */
static int decode_record(const struct lp_lane *lane, const uint8_t *src, uint32_t src_bytes,
                         uint32_t align_bytes, uint8_t *dst, uint32_t n, const uint8_t *ahead)
{
    struct lane_small_buffers b;

    if (n > LANE_SMALL_BYTES >> (lane->exponent_bits > 8))
        return decode_large(lane, src, src_bytes, align_bytes, dst, n, ahead);
    return decode_in(lane, src, src_bytes, align_bytes, dst, n, ahead, b.buffer[0], b.buffer[1]);
}

#endif
