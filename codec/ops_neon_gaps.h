/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that stand back to back, and the same at the places that a word of 64 bits names. NEON
 * cannot move elements by a mask, so tables say for each eight bits, or four, which bytes go where.
 * Few elements are sooner moved one by one. */
#ifndef LP_CODEC_OPS_NEON_GAPS_H
#define LP_CODEC_OPS_NEON_GAPS_H

#include "codec/ops_neon.h"

#include <string.h>

#define LP_NEON_WORD 64u /* elements that a word names */

/* Indices for byte tables. open: in place i how many bits of the row's number are set below bit i,
 * or LP_NEON_NONE where bit i is not. close: in place k the number of the bit that is set and has k
 * others below it, or more than there are. */
#define LP_NEON_NONE 0x7fu

struct lp_neon_gaps {
    uint8_t open[256][8], close[256][8];     /* of elements */
    uint8_t open_4[16][16], close_4[16][16]; /* of the bytes of elements of 4 */
};

extern const struct lp_neon_gaps lp_codec_neon_gaps;

/* Byte k: how many bits byte k of word has set. */
static LP_ALWAYS_INLINE uint64_t bits_of_bytes(uint64_t word)
{
    return vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(word))), 0);
}

/* The same of half bytes. */
static LP_ALWAYS_INLINE uint64_t bits_of_nibbles(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    return (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
}

/* With more bits than this in a word tables take fewer instructions. Elements of 8 bytes, of which
 * a register has two, always go one by one. */
static LP_ALWAYS_INLINE uint32_t few_bits(const uint32_t elem_bytes)
{
    return elem_bytes == 1 ? 10 : elem_bytes == 2 ? 14 : elem_bytes == 4 ? 22 : 64;
}

static LP_ALWAYS_INLINE bool has_few(const uint32_t elem_bytes, uint64_t word)
{
    return elem_bytes == 8 || (uint32_t)__builtin_popcountll(word) <= few_bits(elem_bytes);
}

/* From indices of eight elements of 2 bytes to those of their bytes; LP_NEON_NONE stays past the
 * end of a table of 16. */
static LP_ALWAYS_INLINE uint8x16_t index_of_pairs(const uint8_t *index)
{
    const uint16x8_t wide = vmovl_u8(vld1_u8(index));

    return vreinterpretq_u8_u16(vmlaq_u16(vdupq_n_u16(0x0100), wide, vdupq_n_u16(0x0202)));
}

/* --- opening --------------------------------------------------------------------------------- */

static LP_ALWAYS_INLINE const uint8_t *open_few(const uint32_t elem_bytes, uint64_t word,
                                                const uint8_t *in, uint8_t *dst)
{
    for (; word != 0; word &= word - 1, in += elem_bytes)
        memcpy(dst + (uint32_t)__builtin_ctzll(word) * elem_bytes, in, elem_bytes);
    return in;
}

static LP_ALWAYS_INLINE const uint8_t *open_1(uint64_t word, const uint8_t *in, uint8_t *dst)
{
    uint64_t counts = bits_of_bytes(word);

    for (uint32_t i = 0; i < LP_NEON_WORD; i += 8, word >>= 8, counts >>= 8) {
        const uint8x8_t index = vld1_u8(lp_codec_neon_gaps.open[word & 0xff]);

        vst1_u8(dst + i, vtbx1_u8(vld1_u8(dst + i), vld1_u8(in), index));
        in += counts & 0xff;
    }
    return in;
}

static LP_ALWAYS_INLINE const uint8_t *open_2(uint64_t word, const uint8_t *in, uint8_t *dst)
{
    uint64_t counts = bits_of_bytes(word);

    for (uint32_t i = 0; i < LP_NEON_WORD; i += 8, word >>= 8, counts >>= 8, dst += 16) {
        const uint8x16_t index = index_of_pairs(lp_codec_neon_gaps.open[word & 0xff]);

        vst1q_u8(dst, vqtbx1q_u8(vld1q_u8(dst), vld1q_u8(in), index));
        in += 2 * (counts & 0xff);
    }
    return in;
}

static LP_ALWAYS_INLINE const uint8_t *open_4(uint64_t word, const uint8_t *in, uint8_t *dst)
{
    uint64_t counts = bits_of_nibbles(word);

    for (uint32_t i = 0; i < LP_NEON_WORD; i += 4, word >>= 4, counts >>= 4, dst += 16) {
        const uint8x16_t index = vld1q_u8(lp_codec_neon_gaps.open_4[word & 0xf]);

        vst1q_u8(dst, vqtbx1q_u8(vld1q_u8(dst), vld1q_u8(in), index));
        in += 4 * (counts & 0xf);
    }
    return in;
}

/* The next elements of in to those of the 64 at dst whose bit of word is set; the others stay. 15
 * bytes behind what is taken of in may be read. Returns the element behind those taken. */
static LP_ALWAYS_INLINE const uint8_t *open_gaps(const uint32_t elem_bytes, uint64_t word,
                                                 const uint8_t *in, uint8_t *dst)
{
    if (has_few(elem_bytes, word))
        return open_few(elem_bytes, word, in, dst);
    switch (elem_bytes) {
    case 1:
        return open_1(word, in, dst);
    case 2:
        return open_2(word, in, dst);
    default:
        return open_4(word, in, dst);
    }
}

/* --- closing --------------------------------------------------------------------------------- */

static LP_ALWAYS_INLINE uint8_t *close_few(const uint32_t elem_bytes, uint64_t word,
                                           const uint8_t *src, uint8_t *out)
{
    for (; word != 0; word &= word - 1, out += elem_bytes)
        memcpy(out, src + (uint32_t)__builtin_ctzll(word) * elem_bytes, elem_bytes);
    return out;
}

static LP_ALWAYS_INLINE uint8_t *close_1(uint64_t word, const uint8_t *src, uint8_t *out)
{
    uint64_t counts = bits_of_bytes(word);

    for (uint32_t i = 0; i < LP_NEON_WORD; i += 8, word >>= 8, counts >>= 8) {
        vst1_u8(out, vtbl1_u8(vld1_u8(src + i), vld1_u8(lp_codec_neon_gaps.close[word & 0xff])));
        out += counts & 0xff;
    }
    return out;
}

static LP_ALWAYS_INLINE uint8_t *close_2(uint64_t word, const uint8_t *src, uint8_t *out)
{
    uint64_t counts = bits_of_bytes(word);

    for (uint32_t i = 0; i < LP_NEON_WORD; i += 8, word >>= 8, counts >>= 8, src += 16) {
        const uint8x16_t index = index_of_pairs(lp_codec_neon_gaps.close[word & 0xff]);

        vst1q_u8(out, vqtbl1q_u8(vld1q_u8(src), index));
        out += 2 * (counts & 0xff);
    }
    return out;
}

static LP_ALWAYS_INLINE uint8_t *close_4(uint64_t word, const uint8_t *src, uint8_t *out)
{
    uint64_t counts = bits_of_nibbles(word);

    for (uint32_t i = 0; i < LP_NEON_WORD; i += 4, word >>= 4, counts >>= 4, src += 16) {
        const uint8x16_t index = vld1q_u8(lp_codec_neon_gaps.close_4[word & 0xf]);

        vst1q_u8(out, vqtbl1q_u8(vld1q_u8(src), index));
        out += 4 * (counts & 0xf);
    }
    return out;
}

/* Those of the 64 elements at src whose bit of word is set, to out, back to back; 16 bytes behind
 * them may be written. Returns the end of them. */
static LP_ALWAYS_INLINE uint8_t *close_gaps(const uint32_t elem_bytes, uint64_t word,
                                            const uint8_t *src, uint8_t *out)
{
    if (has_few(elem_bytes, word))
        return close_few(elem_bytes, word, src, out);
    switch (elem_bytes) {
    case 1:
        return close_1(word, src, out);
    case 2:
        return close_2(word, src, out);
    default:
        return close_4(word, src, out);
    }
}

#endif
