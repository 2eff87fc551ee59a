/* SPDX-License-Identifier: Apache-2.0 */
/* What codec/lane_vector.h asks of a tier, with NEON. */
#ifndef LP_CODEC_OPS_NEON_VECTOR_H
#define LP_CODEC_OPS_NEON_VECTOR_H

#include "codec/ops_neon_bits.h"

#define LP_LANE_VECTOR LP_NEON_BLOCK
#include "codec/lane_vector.h"

/* 4 bytes to as many words of 16 bits; what is above them is 0. */
static LP_ALWAYS_INLINE uint16x8_t widen_4(const uint8_t *p)
{
    return vmovl_u8(vcreate_u8(lp_load_u32(p)));
}

static LP_ALWAYS_INLINE lane_u16 lane_widen_8_16(const uint8_t *p)
{
    return (lane_u16)vmovl_u8(vld1_u8(p));
}

static LP_ALWAYS_INLINE lane_u32 lane_widen_8_32(const uint8_t *p)
{
    return (lane_u32)vmovl_u16(vget_low_u16(widen_4(p)));
}

static LP_ALWAYS_INLINE lane_u32 lane_widen_16_32(const uint8_t *p)
{
    return (lane_u32)vmovl_u16(vreinterpret_u16_u8(vld1_u8(p)));
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_8_64(const uint8_t *p)
{
    return (lane_u64){p[0], p[1]};
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_16_64(const uint8_t *p)
{
    return (lane_u64){lp_load_u16(p), lp_load_u16(p + 2)};
}

static LP_ALWAYS_INLINE lane_u64 lane_widen_32_64(const uint8_t *p)
{
    return (lane_u64)vmovl_u32(vreinterpret_u32_u8(vld1_u8(p)));
}

static LP_ALWAYS_INLINE void lane_narrow_16_8(uint8_t *p, lane_u16 v)
{
    vst1_u8(p, vmovn_u16((uint16x8_t)v));
}

static LP_ALWAYS_INLINE void lane_narrow_32_8(uint8_t *p, lane_u32 v)
{
    const uint16x4_t words = vmovn_u32((uint32x4_t)v);
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));

    lp_store_u32(p, vget_lane_u32(vreinterpret_u32_u8(bytes), 0));
}

static LP_ALWAYS_INLINE void lane_narrow_32_16(uint8_t *p, lane_u32 v)
{
    vst1_u8(p, vreinterpret_u8_u16(vmovn_u32((uint32x4_t)v)));
}

static LP_ALWAYS_INLINE void lane_narrow_64_8(uint8_t *p, lane_u64 v)
{
    p[0] = (uint8_t)v[0];
    p[1] = (uint8_t)v[1];
}

static LP_ALWAYS_INLINE void lane_narrow_64_16(uint8_t *p, lane_u64 v)
{
    lp_store_u16(p, (uint16_t)v[0]);
    lp_store_u16(p + 2, (uint16_t)v[1]);
}

static LP_ALWAYS_INLINE void lane_narrow_64_32(uint8_t *p, lane_u64 v)
{
    vst1_u8(p, vreinterpret_u8_u32(vmovn_u64((uint64x2_t)v)));
}

static LP_ALWAYS_INLINE lane_u8 lane_gather_planes(const uint8_t *src, uint64_t bit,
                                                   uint32_t stride, uint32_t n_planes)
{
    uint8x16_t v = vdupq_n_u8(0);

    for (uint32_t p = 0; p < n_planes; p++, bit += stride)
        v = vorrq_u8(
            v, vandq_u8(spread_16(lp_lane_load_bits(src, bit)), vdupq_n_u8((uint8_t)(1u << p))));
    return (lane_u8)v;
}

/* Sign and 7 bits of mantissa, and exponents, 8 of each, to words of 16 bits. */
static LP_ALWAYS_INLINE uint16x8_t join_upper(const uint8_t *other, const uint8_t *exponents)
{
    const uint8x8_t o = vld1_u8(other);
    const uint16x8_t mantissa = vmovl_u8(vand_u8(o, vdup_n_u8(0x7f)));
    const uint16x8_t sign = vshll_n_u8(vand_u8(o, vdup_n_u8(0x80)), 8);

    return vorrq_u16(vorrq_u16(mantissa, sign), vshll_n_u8(vld1_u8(exponents), 7));
}

static LP_ALWAYS_INLINE void store_words(uint8_t *p, uint16x8_t v)
{
    vst1q_u8(p, vreinterpretq_u8_u16(v));
}

static LP_ALWAYS_INLINE uint16x8_t load_words(const uint8_t *p)
{
    return vreinterpretq_u16_u8(vld1q_u8(p));
}

static LP_ALWAYS_INLINE void lane_join_bf16(const uint8_t *other, const uint8_t *exponents,
                                            uint8_t *dst)
{
    store_words(dst, join_upper(other, exponents));
    store_words(dst + 16, join_upper(other + 8, exponents + 8));
}

static LP_ALWAYS_INLINE void lane_join_f32(const uint8_t *lower, const uint8_t *other,
                                           const uint8_t *exponents, uint8_t *dst)
{
    for (uint32_t half = 0; half < LP_NEON_BLOCK; half += 8) {
        const uint16x8_t low = load_words(lower + 2 * (size_t)half);
        const uint16x8_t high = join_upper(other + half, exponents + half);

        store_words(dst + 4 * (size_t)half, vzip1q_u16(low, high));
        store_words(dst + 4 * (size_t)half + 16, vzip2q_u16(low, high));
    }
}

/* 16 words of 16 bits: sign and mantissa, and exponents, as bytes. */
static LP_ALWAYS_INLINE void split_upper(uint16x8_t first, uint16x8_t second, uint8_t *other,
                                         uint8_t *exponents)
{
    const uint8x16_t a = vreinterpretq_u8_u16(first), b = vreinterpretq_u8_u16(second);
    const uint8x16_t lower = vuzp1q_u8(a, b), upper = vuzp2q_u8(a, b);

    vst1q_u8(other, vbslq_u8(vdupq_n_u8(0x80), upper, lower));
    vst1q_u8(exponents, vorrq_u8(vshlq_n_u8(upper, 1), vshrq_n_u8(lower, 7)));
}

static LP_ALWAYS_INLINE void lane_split_bf16(const uint8_t *src, uint8_t *other, uint8_t *exponents)
{
    split_upper(load_words(src), load_words(src + 16), other, exponents);
}

static LP_ALWAYS_INLINE void lane_split_f32(const uint8_t *src, uint8_t *lower, uint8_t *other,
                                            uint8_t *exponents)
{
    const uint16x8_t a = load_words(src), b = load_words(src + 16);
    const uint16x8_t c = load_words(src + 32), d = load_words(src + 48);

    store_words(lower, vuzp1q_u16(a, b));
    store_words(lower + 16, vuzp1q_u16(c, d));
    split_upper(vuzp2q_u16(a, b), vuzp2q_u16(c, d), other, exponents);
}

#endif
