/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding a lane record, the same for every vector tier: elements are split; then each level finds
 * the place of each exponent that it gets, makes its planes of those, and leaves to the next level
 * what it has no code for. Included once by a file of a tier, which has defined before
 *
 *   struct output         with at least uint8_t *dst and uint64_t bit, limit_bits: a bit string
 *                         that grows at its end
 *   put_plane(out, words, n)
 *                         appends the first n bits of words; false: that were more than limit_bits.
 *                         A word before words and LANE_PLANE_SLACK behind them may be written
 *   take_planes(bytes, n, n_planes, planes, stride)
 *                         bits 0 .. n_planes - 1 of n bytes to a plane each, stride words apart
 *   struct look_up        the tier's own; zeroed where places go down the levels
 *   start_levels(table, exponent_bits, work, n, ret_look_up)
 *                         what goes down the levels: work->exponents as they are, or work->places,
 *                         now filled; table has the place of each of 2^exponent_bits exponents
 *   code_level(look_up, from, count, k, width, work)
 *                         the planes of level k to work->planes; what has no code there goes to
 *                         work->bits, which may be from; returns how many
 *   match(places, place)  which of 64 places are this one, the first in bit 0
 *   count_exponents(exponents, n, limit, hist)
 *                         struct lp_lane_counts of exponents of one byte, none above limit
 *
 * and the functions of codec/lane_vector.h. Up to 64 bytes behind those that count may be read and
 * written in all buffers of bytes. */
#ifndef LP_CODEC_LANE_ENCODE_H
#define LP_CODEC_LANE_ENCODE_H

#include "codec/lane_parts.h"
#include "codec/lane_split.h"
#include "codec/lane_work.h"

static LP_ALWAYS_INLINE bool put_planes(struct output *out, const struct lane_work *work,
                                        uint32_t n_planes, uint32_t n)
{
    for (uint32_t p = 0; p < n_planes; p++) {
        if (!put_plane(out, work->planes + (size_t)p * work->stride, n))
            return false;
    }
    return true;
}

static void find_wide_places(const struct lp_lane *lane, uint32_t base,
                             const struct lane_work *work, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        work->places[i] = lane->place_of[(lp_load_u16(work->exponents + 2 * (size_t)i) - base) &
                                         lane->exponent_mask];
}

/* The exponents that no level has a code for, to dst. They are few, so one by one. */
static void put_raw(const struct lp_lane *lane, const struct lane_work *work, uint32_t n,
                    uint8_t *dst)
{
    const uint32_t size = lane->escape_bytes;

    for (uint32_t i = 0; i < n; i += 64) {
        uint64_t raw = match(work->places + i, (uint8_t)(lane->n_levels << LP_LANE_LEVEL_SHIFT));

        if (n - i < 64)
            raw &= (UINT64_C(1) << (n - i)) - 1;
        for (; raw != 0; raw &= raw - 1, dst += size) {
            const size_t at = (size_t)(i + (uint32_t)__builtin_ctzll(raw)) * size;

            dst[0] = work->exponents[at];
            if (size == 2)
                dst[1] = work->exponents[at + 1];
        }
    }
}

/* What is left behind the last level: raw exponents, or places that stand for them. */
static void put_left(const struct lp_lane *lane, const struct lane_work *work, bool are_exponents,
                     uint32_t n, uint32_t n_left, uint8_t *dst)
{
    if (are_exponents)
        memcpy(dst, work->bits, n_left);
    else if (n_left != 0)
        put_raw(lane, work, n, dst);
}

/* Bit string and raw exponents; returns the size, or 0 when it is not below the limit. */
static uint32_t put_levels(const struct lp_lane *lane, const struct lane_work *work, uint32_t n,
                           uint32_t base, struct output *out)
{
    const uint8_t *from = work->places;
    struct look_up look_up;
    bool are_exponents;
    uint32_t count = n;
    uint64_t size;

    if (lane->exponent_bits > 8) {
        memset(&look_up, 0, sizeof(look_up));
        find_wide_places(lane, base, work, n);
    } else {
        /* The table has period 2^E, so another start shifts it by the base. */
        from = start_levels(lane->place_of + (lane->exponent_mask + 1 - base), lane->exponent_bits,
                            work, n, &look_up);
    }
    are_exponents = from == work->exponents;
    for (uint32_t k = 0; k < lane->n_levels; k++) {
        const uint32_t left = code_level(&look_up, from, count, k, lane->widths[k], work);

        if (!put_planes(out, work, lane->widths[k], count))
            return 0;
        count = left;
        from = work->bits;
    }
    size = (out->bit + 7) / 8 + (uint64_t)count * lane->escape_bytes;
    if (size * 8 > out->limit_bits)
        return 0;
    put_left(lane, work, are_exponents, n, count, out->dst + (out->bit + 7) / 8);
    return (uint32_t)size;
}

static struct lp_lane_counts count_wide(const uint8_t *exponents, uint32_t n, uint32_t limit,
                                        uint32_t *hist)
{
    const struct lp_lane_counts counts = {hist, 0, limit, n};

    memset(hist, 0, (limit + 1) * sizeof(hist[0]));
    for (uint32_t i = 0; i < n; i++)
        hist[lp_load_u16(exponents + 2 * (size_t)i)]++;
    return counts;
}

/* The base for these exponents, and *ret_fits: whether the record gets below limit_bytes. */
static uint32_t choose_base(const struct lp_lane *lane, const uint8_t *exponents, uint32_t n,
                            uint32_t limit_bytes, bool *ret_fits)
{
    uint32_t hist[LP_LANE_EXPONENTS_MAX];
    const struct lp_lane_counts counts =
        lane->exponent_bits > 8 ? count_wide(exponents, n, lane->exponent_mask, hist)
                                : count_exponents(exponents, n, lane->exponent_mask, hist);
    const uint32_t base = lp_codec_lane_pick_base(lane, &counts);

    *ret_fits = lp_codec_lane_size(lane, &counts, base) < limit_bytes;
    return base;
}

static LP_ALWAYS_INLINE uint32_t encode_in(const struct lp_lane *lane, const uint8_t *src,
                                           uint32_t n, uint8_t *dst, uint32_t limit_bytes,
                                           const struct lane_work *work)
{
    const uint32_t head_bytes = lp_lane_head_bytes(lane, n);
    const struct lane_parts_out parts = {dst, work->bits, work->exponents, n};
    struct output out = {.dst = dst, .bit = (uint64_t)head_bytes * 8};
    uint32_t base = 0;
    bool fits = head_bytes < limit_bytes;

    if (!fits)
        return 0;
    out.limit_bits = (uint64_t)(limit_bytes - 1) * 8;
    if (!split(lane, src, &parts))
        return 0;
    if (lane->base_bytes != 0) {
        base = choose_base(lane, work->exponents, n, limit_bytes, &fits);
        if (!fits)
            return 0;
        dst[head_bytes - 1] = (uint8_t)(base >> (8 * (lane->base_bytes - 1)));
        if (lane->base_bytes == 2)
            dst[head_bytes - 2] = (uint8_t)base;
    }
    if (lane->plane_bits != 0)
        take_planes(work->bits, n, lane->plane_bits, work->planes, work->stride);
    if (!put_planes(&out, work, lane->plane_bits, n))
        return 0;
    return put_levels(lane, work, n, base, &out);
}

static __attribute__((noinline)) uint32_t encode_large(const struct lp_lane *lane,
                                                       const uint8_t *src, uint32_t n, uint8_t *dst,
                                                       uint32_t limit_bytes)
{
    struct lane_work_large w;
    const struct lane_work work = {w.exponents, w.places, w.bits, w.planes + 1,
                                   LANE_PLANE_STRIDE(LP_FORMAT_RECORD_BYTES_MAX)};

    return encode_in(lane, src, n, dst, limit_bytes, &work);
}

/* A record of any length that the format has. Only long ones take much of the stack. */
static uint32_t encode_record(const struct lp_lane *lane, const uint8_t *src, uint32_t n,
                              uint8_t *dst, uint32_t limit_bytes)
{
    struct lane_work_small w;
    const struct lane_work work = {w.exponents, w.places, w.bits, w.planes + 1,
                                   LANE_PLANE_STRIDE(LANE_SMALL_ELEMENTS)};

    if (n > LANE_SMALL_ELEMENTS >> (lane->exponent_bits > 8))
        return encode_large(lane, src, n, dst, limit_bytes);
    return encode_in(lane, src, n, dst, limit_bytes, &work);
}

#endif
