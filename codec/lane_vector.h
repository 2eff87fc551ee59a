/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of words as gcc and clang have them in C: what tiers share is written with these, and
 * with the few functions below that each tier brings. Included by a tier's own header, which has
 * defined LP_LANE_VECTOR, the bytes of its registers. */
#ifndef LP_CODEC_LANE_VECTOR_H
#define LP_CODEC_LANE_VECTOR_H

#include "codec/lane_bits.h"

typedef uint8_t lane_u8 __attribute__((vector_size(LP_LANE_VECTOR)));
typedef uint16_t lane_u16 __attribute__((vector_size(LP_LANE_VECTOR)));
typedef uint32_t lane_u32 __attribute__((vector_size(LP_LANE_VECTOR)));
typedef uint64_t lane_u64 __attribute__((vector_size(LP_LANE_VECTOR)));

/* A tier defines, always inline, for A, B = 8, 16; 8, 32; 16, 32; 8, 64; 16, 64; 32, 64:
 *
 *   lane_uB lane_widen_A_B(const uint8_t *p)
 *       LP_LANE_VECTOR * 8 / B numbers of A bits from p
 *   void lane_narrow_B_A(uint8_t *p, lane_uB v)
 *       their low A bits to p, not a byte more
 *   lane_u8 lane_gather_planes(const uint8_t *src, uint64_t bit, uint32_t stride,
 *                              uint32_t n_planes)
 *       byte i gets bit (bit + i) of src, and above it those of n_planes - 1 more planes, each
 *       stride bits behind the one before; reads up to 9 bytes behind the first bit of each
 *
 * and for LP_LANE_VECTOR elements of bf16 and f32 with all their bits, which most tables are:
 *
 *   void lane_join_bf16(const uint8_t *other, const uint8_t *exponents, uint8_t *dst)
 *   void lane_join_f32(const uint8_t *lower, const uint8_t *other, const uint8_t *exponents,
 *                      uint8_t *dst)
 *   void lane_split_bf16(const uint8_t *src, uint8_t *other, uint8_t *exponents)
 *   void lane_split_f32(const uint8_t *src, uint8_t *lower, uint8_t *other, uint8_t *exponents)
 *       other: the sign above 7 bits of the mantissa; lower: 16 bits of it
 */

static LP_ALWAYS_INLINE lane_u8 lane_load_8(const uint8_t *p)
{
    lane_u8 v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static LP_ALWAYS_INLINE lane_u16 lane_load_16(const uint8_t *p)
{
    return (lane_u16)lane_load_8(p);
}

static LP_ALWAYS_INLINE lane_u32 lane_load_32(const uint8_t *p)
{
    return (lane_u32)lane_load_8(p);
}

static LP_ALWAYS_INLINE lane_u64 lane_load_64(const uint8_t *p)
{
    return (lane_u64)lane_load_8(p);
}

static LP_ALWAYS_INLINE void lane_store(uint8_t *p, lane_u8 v)
{
    memcpy(p, &v, sizeof(v));
}

#endif
