/* SPDX-License-Identifier: Apache-2.0 */
/* How an element's bits are dealt out, in the form that vector tiers work with: masks and shifts
 * of a word. Functions that take a layout are inlined, so that one made of constants leaves only
 * the instructions it needs. */
#ifndef LP_CODEC_LANE_LAYOUT_H
#define LP_CODEC_LANE_LAYOUT_H

#include "codec/lane.h"
#include "codec/lane_bits.h"

/* Elements of one byte are worked on in pairs, as words of 16 bits: their masks stand twice. */
struct lane_layout {
    uint32_t elem_bytes, mantissa_bits, trailing_bits;
    uint32_t sign_shift; /* from where the sign stands among the other bits to where it belongs */
    uint32_t byte_bits, plane_bits;
    uint32_t wide_exponents; /* 1: they have 2 bytes each; 0: one */
    bool plain;              /* bf16 or f32 with all their bits, for which tiers have own code */
    uint64_t kept_mask;      /* the kept bits of the mantissa, among the other bits */
    uint64_t sign_mask;      /* the sign in an element, where it is kept; else 0 */
    uint64_t exponent_mask;  /* in the low bits */
    uint64_t fixed_mask, fixed_value;
};

static LP_ALWAYS_INLINE struct lane_layout lane_layout(uint32_t elem_bytes, uint32_t has_sign,
                                                       uint32_t exponent_bits,
                                                       uint32_t trailing_bits, uint32_t sign_bits,
                                                       uint64_t fixed_value)
{
    const uint64_t each = elem_bytes == 1 ? 0x0101 : 1;
    const uint32_t mantissa_bits = 8 * elem_bytes - has_sign - exponent_bits;
    const uint32_t kept_bits = mantissa_bits - trailing_bits, other_bits = kept_bits + sign_bits;
    const uint64_t top = UINT64_C(1) << (8 * elem_bytes - 1);

    return (struct lane_layout){
        .elem_bytes = elem_bytes,
        .mantissa_bits = mantissa_bits,
        .trailing_bits = trailing_bits,
        .sign_shift = 8 * elem_bytes - 1 - kept_bits,
        .byte_bits = other_bits / 8 * 8,
        .plane_bits = other_bits % 8,
        .wide_exponents = exponent_bits > 8,
        .plain = (elem_bytes == 2 || elem_bytes == 4) && exponent_bits == 8 &&
                 other_bits % 8 == 0 && sign_bits == 1 && trailing_bits == 0,
        .kept_mask = ((UINT64_C(1) << kept_bits) - 1) * each,
        .sign_mask = sign_bits != 0 ? top * each : 0,
        .exponent_mask = ((UINT64_C(1) << exponent_bits) - 1) * each,
        .fixed_mask =
            (((UINT64_C(1) << trailing_bits) - 1) | (has_sign != 0 && sign_bits == 0 ? top : 0)) *
            each,
        .fixed_value = fixed_value * each,
    };
}

/* That of a table whose elements have elem_bytes, a constant in the code that gets it. */
static LP_ALWAYS_INLINE struct lane_layout lane_layout_of(const struct lp_lane *lane,
                                                          const uint32_t elem_bytes)
{
    struct lane_layout layout =
        lane_layout(elem_bytes, lane->has_sign, lane->exponent_bits, lane->trailing_bits,
                    lane->sign_bits, lane->fixed_value);

    layout.plain = false; /* LANE_LAYOUTS has these */
    return layout;
}

/* Layouts that are common, or whose speed counts, and therefore have code of their own:
 * X(elem_bytes, exponent_bits, trailing_bits, sign_bits). All dtypes with all bits kept, then
 * bf16 and f32 without a sign, and f32 that were bf16 or f16 before. */
#define LANE_LAYOUTS(X)                                                                            \
    X(2, 8, 0, 1)                                                                                  \
    X(4, 8, 0, 1)                                                                                  \
    X(2, 5, 0, 1)                                                                                  \
    X(1, 4, 0, 1)                                                                                  \
    X(1, 5, 0, 1)                                                                                  \
    X(8, 11, 0, 1)                                                                                 \
    X(2, 8, 0, 0)                                                                                  \
    X(4, 8, 0, 0)                                                                                  \
    X(4, 8, 16, 1)                                                                                 \
    X(4, 8, 13, 1)

#define LANE_LAYOUT_KEY(elem_bytes, exponent_bits, trailing_bits, sign_bits)                       \
    ((elem_bytes) << 24 | (exponent_bits) << 16 | (trailing_bits) << 8 | (sign_bits))

/* What a switch over LANE_LAYOUTS takes; 0 for i8 and u8, which have no sign. */
static inline uint32_t lane_layout_key(const struct lp_lane *lane)
{
    return lane->has_sign ? LANE_LAYOUT_KEY(lane->elem_bytes, lane->exponent_bits,
                                            lane->trailing_bits, lane->sign_bits)
                          : 0;
}

#define LANE_CASE(elem_bytes, exponent_bits, trailing_bits, sign_bits)                             \
    case LANE_LAYOUT_KEY(elem_bytes, exponent_bits, trailing_bits, sign_bits):                     \
        LANE_CALL(lane_layout(elem_bytes, 1, exponent_bits, trailing_bits, sign_bits,              \
                              (sign_bits) != 0 ? 0 : lane->fixed_value));                          \
        break;

/* Statements: LANE_CALL, a macro that the caller defines, on the layout of lane, of which only the
 * size of elements is a constant; and the same with more constants where LANE_LAYOUTS has them. */
#define LANE_SWITCH_SIZES(lane)                                                                    \
    switch ((lane)->elem_bytes) {                                                                  \
    case 1:                                                                                        \
        LANE_CALL(lane_layout_of(lane, 1));                                                        \
        break;                                                                                     \
    case 2:                                                                                        \
        LANE_CALL(lane_layout_of(lane, 2));                                                        \
        break;                                                                                     \
    case 4:                                                                                        \
        LANE_CALL(lane_layout_of(lane, 4));                                                        \
        break;                                                                                     \
    default:                                                                                       \
        LANE_CALL(lane_layout_of(lane, 8));                                                        \
    }

#define LANE_SWITCH(lane)                                                                          \
    switch (lane_layout_key(lane)) {                                                               \
        LANE_LAYOUTS(LANE_CASE)                                                                    \
    default:                                                                                       \
        LANE_SWITCH_SIZES(lane)                                                                    \
    }

#endif
