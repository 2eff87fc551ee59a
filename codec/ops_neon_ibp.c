/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking ibp records with NEON, and the search for masks. Lengths of words give their places in
 * the bit string; a byte table or a pair of loads fetches what stands there, shifts by vectors move
 * it down, and gaps are opened in steps (codec/ibp_moves.h).
 *
 * Of the search, counting and measuring are the compiler's vectors, which on this CPU are NEON in
 * the scalar tier, too: nothing is won by them here. Sets are counted with cnt. */
#include "codec/ops_neon_ibp.h"

#include "codec/ibp_pick_body.h"
#include "codec/ops_ibp.h"

/* --- unpacking ------------------------------------------------------------------------------- */

/* Step i, which moves bits by 2^i. A shift must be a constant. */
#define OPEN(w, x, moves, i) vbslq_u##w(load_##w((moves) + 16 * (i)), vshlq_n_u##w(x, 1 << (i)), x)

static LP_ALWAYS_INLINE uint32x4_t open_32(uint32x4_t x, const uint8_t *moves)
{
    x = OPEN(32, x, moves, 4);
    x = OPEN(32, x, moves, 3);
    x = OPEN(32, x, moves, 2);
    x = OPEN(32, x, moves, 1);
    return OPEN(32, x, moves, 0);
}

static LP_ALWAYS_INLINE uint64x2_t open_64(uint64x2_t x, const uint8_t *moves)
{
    x = OPEN(64, x, moves, 5);
    x = OPEN(64, x, moves, 4);
    x = OPEN(64, x, moves, 3);
    x = OPEN(64, x, moves, 2);
    x = OPEN(64, x, moves, 1);
    return OPEN(64, x, moves, 0);
}

/* Four words of 4 bytes. Word i begins at bit at[i] of the string that begins at string, which is
 * below 128, and has n[i] bits. A shift by a negative number is one to the right, and by all bits
 * there are leaves none. */
static LP_ALWAYS_INLINE void decode_four(const struct lp_ibp_masks *masks, uint32_t j,
                                         const uint8_t *string, uint32x4_t at, uint32x4_t n,
                                         uint32x4_t packed, uint8_t *dst)
{
    const uint8x16x2_t window = {{vld1q_u8(string), vld1q_u8(string + 16)}};
    const uint32x4_t next_word = vdupq_n_u32(0x04040404);
    const uint32x4_t index = vmlaq_u32(vdupq_n_u32(0x03020100), vshrq_n_u32(at, 5), next_word);
    const uint32x4_t first = vreinterpretq_u32_u8(vqtbl2q_u8(window, vreinterpretq_u8_u32(index)));
    const uint32x4_t second =
        vreinterpretq_u32_u8(vqtbl2q_u8(window, vreinterpretq_u8_u32(vaddq_u32(index, next_word))));
    const int32x4_t shift = vreinterpretq_s32_u32(vandq_u32(at, vdupq_n_u32(31)));
    const int32x4_t word_bits = vdupq_n_s32(32);
    uint32x4_t bits, word;

    bits = vorrq_u32(vshlq_u32(first, shift), vshlq_u32(second, vsubq_s32(shift, word_bits)));
    bits = vshlq_u32(bits, vsubq_s32(vreinterpretq_s32_u32(n), word_bits));
    word = open_32(bits, lp_ibp_moves_at(masks->moves, j, 4));
    word = vbslq_u32(load_32(masks->mask_32 + j), load_32(masks->value_32 + j), word);
    vst1q_u8(dst, vreinterpretq_u8_u32(vbslq_u32(packed, word, bits)));
}

/* Two words of 8 bytes; the first begins at bit pos of string, and has n_first bits. */
static LP_ALWAYS_INLINE void decode_two(const struct lp_ibp_masks *masks, uint32_t j,
                                        const uint8_t *string, uint64_t pos, uint64_t n_first,
                                        uint64x2_t n, uint64x2_t packed, uint8_t *dst)
{
    const uint64x2_t a = load_64(string + pos / 64 * 8);
    const uint64x2_t b = load_64(string + (pos + n_first) / 64 * 8);
    const uint64x2_t at = vaddq_u64(vdupq_n_u64(pos), vextq_u64(vdupq_n_u64(0), n, 1));
    const int64x2_t shift = vreinterpretq_s64_u64(vandq_u64(at, vdupq_n_u64(63)));
    const int64x2_t word_bits = vdupq_n_s64(64);
    uint64x2_t bits, word;

    bits = vorrq_u64(vshlq_u64(vzip1q_u64(a, b), shift),
                     vshlq_u64(vzip2q_u64(a, b), vsubq_s64(shift, word_bits)));
    bits = vshlq_u64(bits, vsubq_s64(vreinterpretq_s64_u64(n), word_bits));
    word = open_64(bits, lp_ibp_moves_at(masks->moves, j, 8));
    word = vbslq_u64(load_64(masks->mask + j), load_64(masks->value + j), word);
    vst1q_u8(dst, vreinterpretq_u8_u64(vbslq_u64(packed, word, bits)));
}

/* Eight words whose lengths are n; starts has in byte i the sum of those before word i, which for
 * words of 4 bytes fit. */
static LP_ALWAYS_INLINE void decode_eight_4(const struct lp_ibp_masks *masks, const uint8_t *string,
                                            uint64_t pos, uint8x8_t n, uint8x8_t packed,
                                            uint8_t *dst)
{
    const uint64_t starts = vget_lane_u64(vreinterpret_u64_u8(n), 0) * UINT64_C(0x0101010101010100);
    const uint64_t fifth = pos + (starts >> 32 & 0xff);
    const uint16x8_t at = vmovl_u8(vcreate_u8(starts)), n_16 = vmovl_u8(n);
    const uint16x8_t packed_16 = widen_mask(packed);

    decode_four(masks, 0, string + pos / 32 * 4,
                vaddq_u32(vmovl_u16(vget_low_u16(at)), vdupq_n_u32((uint32_t)pos & 31)),
                vmovl_u16(vget_low_u16(n_16)), widen_mask_32(vget_low_u16(packed_16)), dst);
    decode_four(masks, 4, string + fifth / 32 * 4,
                vaddq_u32(vmovl_high_u16(at), vdupq_n_u32((uint32_t)(pos - fifth / 32 * 32))),
                vmovl_high_u16(n_16), widen_mask_32(vget_high_u16(packed_16)), dst + 16);
}

/* Four words of 8 bytes, whose lengths are n, and also the low bytes of lengths. Returns the
 * position behind them. */
static LP_ALWAYS_INLINE uint64_t decode_four_8(const struct lp_ibp_masks *masks, uint32_t j,
                                               const uint8_t *string, uint64_t pos, uint32x4_t n,
                                               uint64_t lengths, uint32x4_t packed, uint8_t *dst)
{
    const uint64_t a = lengths & 0xff, b = lengths >> 8 & 0xff;
    const uint64_t c = lengths >> 16 & 0xff, d = lengths >> 24 & 0xff;

    decode_two(masks, j, string, pos, a, vmovl_u32(vget_low_u32(n)),
               widen_mask_64(vget_low_u32(packed)), dst);
    pos += a + b;
    decode_two(masks, j + 2, string, pos, c, vmovl_high_u32(n),
               widen_mask_64(vget_high_u32(packed)), dst + 16);
    return pos + c + d;
}

static LP_ALWAYS_INLINE void decode_eight_8(const struct lp_ibp_masks *masks, const uint8_t *string,
                                            uint64_t pos, uint8x8_t n, uint8x8_t packed,
                                            uint8_t *dst)
{
    const uint64_t lengths = vget_lane_u64(vreinterpret_u64_u8(n), 0);
    const uint16x8_t n_16 = vmovl_u8(n), packed_16 = widen_mask(packed);

    pos = decode_four_8(masks, 0, string, pos, vmovl_u16(vget_low_u16(n_16)), lengths,
                        widen_mask_32(vget_low_u16(packed_16)), dst);
    (void)decode_four_8(masks, 4, string, pos, vmovl_high_u16(n_16), lengths >> 32,
                        widen_mask_32(vget_high_u16(packed_16)), dst + 32);
}

/* Word j alone. */
static LP_ALWAYS_INLINE uint64_t decode_word(const struct lp_ibp_masks *masks, uint32_t j,
                                             const uint8_t *string, uint64_t pos, uint32_t n,
                                             bool packed, const uint32_t s)
{
    const uint64_t bits = lp_ibp_take(string, pos, n, s);

    if (!packed)
        return bits;
    return (lp_ibp_moves_open(masks->moves, j, s, bits) & ~masks->mask[j]) | masks->value[j];
}

/* The source may change while it is read: lengths come from participation bits that are read once,
 * and are checked before what they lead to is read. */
static LP_ALWAYS_INLINE int decode_words(const struct lp_ibp *ibp, const uint8_t *src,
                                         uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                         uint32_t n_words, const uint32_t s)
{
    const uint32_t n_groups = ibp->n_groups, head = lp_ibp_head_bytes(n_words, s, n_groups);
    const struct lp_ibp_masks *const masks =
        lp_ibp_masks_of(ibp, src, src_bytes, n_words, s, n_groups);
    const uint8_t *const string = src + head;
    struct lp_ibp_masks set; /* in registers: masks could be anything that dst reaches */
    uint64_t pos = 0, end;
    uint32_t j = 0;

    if (masks == NULL)
        return LP_ECORRUPT;
    set = *masks;
    end = (uint64_t)(src_bytes - head) * 8;
    for (; j + LP_NEON_WORDS <= n_words; j += LP_NEON_WORDS, dst += LP_NEON_WORDS * s) {
        const struct lp_ibp_masks here = masks_from(&set, j, s);
        const uint8x8_t packed = packed_words(src[j / 8]);
        const uint8x8_t n = lengths_of(&here, s, packed);
        const uint64_t next = pos + vaddlv_u8(n);

        if (next > end)
            return LP_ECORRUPT;
        if (s == 4)
            decode_eight_4(&here, string, pos, n, packed, dst);
        else
            decode_eight_8(&here, string, pos, n, packed, dst);
        pos = next;
    }
    for (; j < n_words; j++, dst += s) {
        const bool packed = (src[j / 8] >> (j % 8) & 1) != 0;
        const uint32_t n = packed ? masks->packed_bits[j] : 8 * s;

        if (pos + n > end)
            return LP_ECORRUPT;
        lp_ibp_store(dst, decode_word(masks, j, string, pos, n, packed, s), s);
        pos += n;
    }
    return lp_ibp_tail_ok(src, src_bytes, align_bytes, n_words, pos, s, n_groups) ? 0 : LP_ECORRUPT;
}

static int decode(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                  uint32_t align_bytes, void *dst, uint32_t n_words)
{
    if (n_words > ibp->n_words)
        return LP_ECORRUPT;
    if (ibp->word_bytes == 4)
        return decode_words(ibp, src, src_bytes, align_bytes, dst, n_words, 4);
    return decode_words(ibp, src, src_bytes, align_bytes, dst, n_words, 8);
}

/* --- the search for masks -------------------------------------------------------------------- */

static inline uint32_t common(const struct lp_ibp_set *a, const struct lp_ibp_set *b)
{
    uint8x16_t sum = vdupq_n_u8(0);

    /* 4 registers: no byte of the sum passes 32. */
    for (uint32_t i = 0; i < LP_IBP_SET_WORDS; i += 2) {
        const uint64x2_t both = vandq_u64(vld1q_u64(a->word + i), vld1q_u64(b->word + i));

        sum = vaddq_u8(sum, vcntq_u8(vreinterpretq_u8_u64(both)));
    }
    return vaddlvq_u8(sum);
}

#include "codec/ibp_search_ops.h"

void lp_codec_neon_ibp_fill(struct lp_codec_ops *ops)
{
    ops->ibp_decode = decode;
    ops->ibp_encode = lp_codec_neon_ibp_encode;
    fill_search(ops);
}
