/* SPDX-License-Identifier: Apache-2.0 */
/* Between bits and bytes with NEON, which has no instruction that moves a bit of each byte to a
 * general register or back: a bit for each place, and pairwise sums, stand in for it. */
#ifndef LP_CODEC_OPS_NEON_BITS_H
#define LP_CODEC_OPS_NEON_BITS_H

#include "codec/ops_neon.h"

/* Bit i % 8 in byte i. */
static LP_ALWAYS_INLINE uint8x16_t bit_of_byte(void)
{
    return vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
}

/* All bits of byte i set where bit i of bits is, of which there are 16. */
static LP_ALWAYS_INLINE uint8x16_t spread_16(uint64_t bits)
{
    const uint8x16_t bytes = vcombine_u8(vdup_n_u8((uint8_t)bits), vdup_n_u8((uint8_t)(bits >> 8)));

    return vtstq_u8(bytes, bit_of_byte());
}

/* 64 bytes. */
struct bytes {
    uint8x16_t part[4];
};

static LP_ALWAYS_INLINE struct bytes load_64(const uint8_t *p)
{
    return (struct bytes){{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
}

/* A bit for each of 64 bytes, which are all ones or zero. */
static LP_ALWAYS_INLINE uint64_t bits_of(const struct bytes *masks)
{
    const uint8x16_t bit = bit_of_byte();
    const uint8x16_t low = vpaddq_u8(vandq_u8(masks->part[0], bit), vandq_u8(masks->part[1], bit));
    const uint8x16_t high = vpaddq_u8(vandq_u8(masks->part[2], bit), vandq_u8(masks->part[3], bit));
    const uint8x16_t sums = vpaddq_u8(low, high);

    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}

/* Bit p of each of 64 bytes. */
static LP_ALWAYS_INLINE uint64_t plane_of(const struct bytes *bytes, uint32_t p)
{
    const uint8x16_t bit = vdupq_n_u8((uint8_t)(1u << p));
    struct bytes masks;

    for (uint32_t i = 0; i < 4; i++)
        masks.part[i] = vtstq_u8(bytes->part[i], bit);
    return bits_of(&masks);
}

/* 64 codes, a byte each, of width planes: each stride bits behind the one before, the first from
 * bit on. Only bits of valid count, the others are taken as zero. Returns which codes are not zero.
 * Reads 9 bytes of each plane. */
static LP_ALWAYS_INLINE uint64_t load_codes(const uint8_t *src, uint64_t bit, uint32_t stride,
                                            const uint32_t width, uint64_t valid,
                                            struct bytes *ret_codes)
{
    const uint8x16_t each = bit_of_byte();
    struct bytes codes = {{vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)}};
    uint8x16_t weight = vdupq_n_u8(1);
    uint64_t any = 0;

    for (uint32_t p = 0; p < width; p++, bit += stride) {
        const uint64_t plane = lp_lane_load_bits(src, bit) & valid;
        const uint8x16_t bytes = vcombine_u8(vcreate_u8(plane), vcreate_u8(0));

        for (uint32_t i = 0; i < 4; i++) {
            const uint8x16_t index =
                vcombine_u8(vdup_n_u8((uint8_t)(2 * i)), vdup_n_u8((uint8_t)(2 * i + 1)));

            codes.part[i] =
                vbslq_u8(weight, vtstq_u8(vqtbl1q_u8(bytes, index), each), codes.part[i]);
        }
        weight = vaddq_u8(weight, weight);
        any |= plane;
    }
    *ret_codes = codes;
    return any;
}

#endif
