/* SPDX-License-Identifier: Apache-2.0 */
/* Bases of columns added to exponents, or subtracted, the same for every vector tier. Included once
 * by a file of a tier, behind the header that has the functions of codec/lane_vector.h. */
#ifndef LP_CODEC_LANE_COLUMN_H
#define LP_CODEC_LANE_COLUMN_H

#include "codec/lane_layout.h"
#include "codec/lane_vector.h"

/* LP_LANE_VECTOR bytes of elements at p, whose bases lie at bases. */
#define LANE_DEFINE_SHIFT(bits)                                                                    \
    static LP_ALWAYS_INLINE lane_u8 shift_##bits(const struct lane_layout *l, const uint8_t *p,    \
                                                 lane_u##bits base, const bool subtract)           \
    {                                                                                              \
        const uint##bits##_t m = (uint##bits##_t)l->mantissa_bits;                                 \
        const uint##bits##_t field = (uint##bits##_t)(l->exponent_mask << m);                      \
        const lane_u##bits v = lane_load_##bits(p), by = base << m;                                \
        const lane_u##bits moved = subtract ? v - by : v + by;                                     \
                                                                                                   \
        return (lane_u8)((v & (uint##bits##_t) ~field) | (moved & field));                         \
    }
LANE_DEFINE_SHIFT(16)
LANE_DEFINE_SHIFT(32)
LANE_DEFINE_SHIFT(64)

/* Bytes, whose sums must not reach the next one. */
static LP_ALWAYS_INLINE lane_u8 shift_8(const struct lane_layout *l, const uint8_t *p,
                                        const uint8_t *bases, const bool subtract)
{
    const uint8_t field = (uint8_t)(l->exponent_mask << l->mantissa_bits);
    const lane_u8 v = lane_load_8(p);
    /* A base is below 2^E, so none leaves its byte. */
    const lane_u8 by = (lane_u8)(lane_load_16(bases) << (uint16_t)l->mantissa_bits);
    const lane_u8 moved = subtract ? v - by : v + by;

    return (v & (uint8_t)~field) | (moved & field);
}

static LP_ALWAYS_INLINE lane_u8 shift_vector(const struct lane_layout *l, const uint8_t *p,
                                             const uint8_t *bases, const bool subtract)
{
    switch (l->elem_bytes) {
    case 1:
        return shift_8(l, p, bases, subtract);
    case 2:
        return shift_16(l, p, lane_widen_8_16(bases), subtract);
    case 4:
        return shift_32(l, p, lane_widen_8_32(bases), subtract);
    default:
        return shift_64(l, p, lane_widen_16_64(bases), subtract);
    }
}

static LP_ALWAYS_INLINE void shift_of(const struct lane_layout l, uint8_t *p, uint32_t n,
                                      const uint8_t *bases, uint32_t phase, uint32_t period,
                                      const bool subtract)
{
    const uint32_t step = LP_LANE_VECTOR / l.elem_bytes, turn = step % period;
    const uint32_t tail_bytes = n % step * l.elem_bytes;
    uint8_t tail[LP_LANE_VECTOR] = {0};

    for (; n >= step; n -= step, p += LP_LANE_VECTOR) {
        lane_store(p, shift_vector(&l, p, bases + ((size_t)phase << l.wide_exponents), subtract));
        phase += turn;
        phase -= phase >= period ? period : 0;
    }
    if (tail_bytes == 0)
        return;
    memcpy(tail, p, tail_bytes);
    lane_store(tail, shift_vector(&l, tail, bases + ((size_t)phase << l.wide_exponents), subtract));
    memcpy(p, tail, tail_bytes);
}

/* As exponent_shift of codec/ops.h. */
static void shift(const struct lp_lane *lane, uint8_t *p, uint32_t n, const uint8_t *bases,
                  uint32_t phase, bool subtract)
{
    const uint32_t period = lane->column_period;

    if (subtract) {
#define LANE_CALL(layout) shift_of(layout, p, n, bases, phase, period, true)
        LANE_SWITCH_SIZES(lane)
#undef LANE_CALL
    } else {
#define LANE_CALL(layout) shift_of(layout, p, n, bases, phase, period, false)
        LANE_SWITCH_SIZES(lane)
#undef LANE_CALL
    }
}

#endif
