/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with NEON, eight words a turn: all that have a byte of participation bits together.
 * Nothing branches on which of them are packed. What unpacking and packing share. */
#ifndef LP_CODEC_OPS_NEON_IBP_H
#define LP_CODEC_OPS_NEON_IBP_H

#include "codec/ibp_moves.h"
#include "codec/ops_neon.h"

#define LP_NEON_WORDS 8u /* a turn */

static LP_ALWAYS_INLINE uint8x8_t bit_of_word(void)
{
    return vcreate_u8(UINT64_C(0x8040201008040201));
}

/* The masks from word j on, a multiple of LP_NEON_WORDS: what is below takes those of its first
 * word. */
static LP_ALWAYS_INLINE struct lp_ibp_masks masks_from(const struct lp_ibp_masks *masks, uint32_t j,
                                                       const uint32_t s)
{
    const size_t turn_bytes = lp_ibp_steps(s) * LP_NEON_WORDS * s;

    return (struct lp_ibp_masks){
        masks->mask + j,     masks->value + j,       masks->mask_32 + j,
        masks->value_32 + j, masks->packed_bits + j, masks->moves + j / LP_NEON_WORDS * turn_bytes};
}

/* Ones in byte i where word i of eight is packed. */
static LP_ALWAYS_INLINE uint8x8_t packed_words(uint8_t participation)
{
    return vtst_u8(vdup_n_u8(participation), bit_of_word());
}

/* The bits that each of eight words takes. */
static LP_ALWAYS_INLINE uint8x8_t lengths_of(const struct lp_ibp_masks *masks, const uint32_t s,
                                             uint8x8_t packed)
{
    return vbsl_u8(packed, vld1_u8(masks->packed_bits), vdup_n_u8((uint8_t)(8 * s)));
}

/* Words that are packed: ones stay ones. */
static LP_ALWAYS_INLINE uint16x8_t widen_mask(uint8x8_t mask)
{
    return vreinterpretq_u16_s16(vmovl_s8(vreinterpret_s8_u8(mask)));
}

static LP_ALWAYS_INLINE uint32x4_t widen_mask_32(uint16x4_t mask)
{
    return vreinterpretq_u32_s32(vmovl_s16(vreinterpret_s16_u16(mask)));
}

static LP_ALWAYS_INLINE uint64x2_t widen_mask_64(uint32x2_t mask)
{
    return vreinterpretq_u64_s64(vmovl_s32(vreinterpret_s32_u32(mask)));
}

static LP_ALWAYS_INLINE uint32x4_t load_32(const void *p)
{
    return vreinterpretq_u32_u8(vld1q_u8(p));
}

static LP_ALWAYS_INLINE uint64x2_t load_64(const void *p)
{
    return vreinterpretq_u64_u8(vld1q_u8(p));
}

/* As ibp_encode of codec/ops.h. */
uint32_t lp_codec_neon_ibp_encode(const struct lp_ibp *ibp, const void *src, uint32_t n_words,
                                  void *dst, uint32_t limit_bytes);

#endif
