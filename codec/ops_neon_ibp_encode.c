/* SPDX-License-Identifier: Apache-2.0 */
/* Packing ibp records with NEON: gaps are closed in steps (codec/ibp_moves.h), and what is left of
 * words joined to 64 bits where it fits, so that fewer are appended one by one. */
#include "codec/ops_neon_ibp.h"

/* What moves is taken out of x and, shifted, added to it. */
#define CLOSE(w, x, moves, i)                                                                      \
    vsraq_n_u##w(vbicq_u##w(x, load_##w((moves) + 16 * (i))),                                      \
                 vandq_u##w(x, load_##w((moves) + 16 * (i))), 1 << (i))

static LP_ALWAYS_INLINE uint32x4_t close_32(uint32x4_t x, const uint8_t *moves)
{
    x = CLOSE(32, x, moves, 0);
    x = CLOSE(32, x, moves, 1);
    x = CLOSE(32, x, moves, 2);
    x = CLOSE(32, x, moves, 3);
    return CLOSE(32, x, moves, 4);
}

static LP_ALWAYS_INLINE uint64x2_t close_64(uint64x2_t x, const uint8_t *moves)
{
    x = CLOSE(64, x, moves, 0);
    x = CLOSE(64, x, moves, 1);
    x = CLOSE(64, x, moves, 2);
    x = CLOSE(64, x, moves, 3);
    x = CLOSE(64, x, moves, 4);
    return CLOSE(64, x, moves, 5);
}

static LP_ALWAYS_INLINE uint32x4_t match_four(const struct lp_ibp_masks *masks, uint32_t j,
                                              const uint8_t *src)
{
    return vceqq_u32(vandq_u32(load_32(src), load_32(masks->mask_32 + j)),
                     load_32(masks->value_32 + j));
}

static LP_ALWAYS_INLINE uint32x4_t match_four_8(const struct lp_ibp_masks *masks, uint32_t j,
                                                const uint8_t *src)
{
    const uint64x2_t a =
        vceqq_u64(vandq_u64(load_64(src), load_64(masks->mask + j)), load_64(masks->value + j));
    const uint64x2_t b = vceqq_u64(vandq_u64(load_64(src + 16), load_64(masks->mask + j + 2)),
                                   load_64(masks->value + j + 2));

    return vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}

/* As lp_ibp_match_fn. */
static LP_ALWAYS_INLINE uint64_t match_of(const struct lp_ibp_masks *masks, const uint8_t *src,
                                          uint32_t n_words, const uint32_t s, uint8_t *dst)
{
    const struct lp_ibp_masks set = *masks;
    uint64_t n_bits = 0;
    uint32_t j = 0;

    for (; j + LP_NEON_WORDS <= n_words; j += LP_NEON_WORDS, src += LP_NEON_WORDS * s) {
        const struct lp_ibp_masks here = masks_from(&set, j, s);
        const uint32x4_t a = s == 4 ? match_four(&here, 0, src) : match_four_8(&here, 0, src);
        const uint32x4_t b =
            s == 4 ? match_four(&here, 4, src + 16) : match_four_8(&here, 4, src + 32);
        const uint8x8_t packed =
            vmovn_u16(vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b)));

        *dst++ = vaddv_u8(vand_u8(packed, bit_of_word()));
        n_bits += vaddlv_u8(lengths_of(&here, s, packed));
    }
    if (j < n_words) {
        const struct lp_ibp_masks rest = masks_from(&set, j, s);

        n_bits += lp_ibp_match(&rest, src, n_words - j, s, dst);
    }
    return n_bits;
}

static uint64_t match(const struct lp_ibp_masks *masks, const uint8_t *src, uint32_t n_words,
                      uint32_t s, uint8_t *dst)
{
    return s == 4 ? match_of(masks, src, n_words, 4, dst) : match_of(masks, src, n_words, 8, dst);
}

/* A bit string in the making, and those of its next 64 bits that are known, from the top. */
struct string {
    uint8_t *at;
    uint64_t known;
    uint32_t n_known; /* below 64 */
};

static LP_ALWAYS_INLINE void store_known(const struct string *string, uint64_t known,
                                         const uint32_t s)
{
    lp_store_u64(string->at, s == 4 ? known << 32 | known >> 32 : known);
}

/* The n low bits of bits, which has no others, behind the string. They are stored each time, full
 * or not, so that nothing branches on it. */
static LP_ALWAYS_INLINE void append(struct string *string, uint64_t bits, uint32_t n,
                                    const uint32_t s)
{
    const uint32_t used = string->n_known, end = used + n;
    const uint64_t top = bits << (-n % 64);

    string->known |= top >> used;
    store_known(string, string->known, s);
    /* What did not fit; in two shifts, as one by 64 is undefined. */
    if (end >= 64)
        string->known = top << 1 << (63 - used);
    string->at += end / 64 * 8;
    string->n_known = end % 64;
}

/* Four words of 4 bytes, joined two by two before they are appended. */
static LP_ALWAYS_INLINE void append_four(struct string *string, const struct lp_ibp_masks *masks,
                                         uint32_t j, const uint8_t *src, uint32x4_t n,
                                         uint32x4_t packed)
{
    const uint32x4_t x = load_32(src);
    const uint32x4_t closed =
        close_32(vbicq_u32(x, load_32(masks->mask_32 + j)), lp_ibp_moves_at(masks->moves, j, 4));
    const uint64x2_t words = vreinterpretq_u64_u32(vbslq_u32(packed, closed, x));
    const uint64x2_t lengths = vpaddlq_u32(n);
    const uint64x2_t first = vandq_u64(words, vdupq_n_u64(UINT32_MAX));
    const uint64x2_t n_second = vshrq_n_u64(vreinterpretq_u64_u32(n), 32);
    const uint64x2_t both =
        vsraq_n_u64(vshlq_u64(first, vreinterpretq_s64_u64(n_second)), words, 32);

    append(string, vgetq_lane_u64(both, 0), (uint32_t)vgetq_lane_u64(lengths, 0), 4);
    append(string, vgetq_lane_u64(both, 1), (uint32_t)vgetq_lane_u64(lengths, 1), 4);
}

/* Two words of 8 bytes, whose lengths are the low bytes of lengths. */
static LP_ALWAYS_INLINE void append_two(struct string *string, const struct lp_ibp_masks *masks,
                                        uint32_t j, const uint8_t *src, uint64_t lengths,
                                        uint64x2_t packed)
{
    const uint64x2_t x = load_64(src);
    const uint64x2_t closed =
        close_64(vbicq_u64(x, load_64(masks->mask + j)), lp_ibp_moves_at(masks->moves, j, 8));
    const uint64x2_t words = vbslq_u64(packed, closed, x);

    append(string, vgetq_lane_u64(words, 0), lengths & 0xff, 8);
    append(string, vgetq_lane_u64(words, 1), lengths >> 8 & 0xff, 8);
}

static LP_ALWAYS_INLINE void append_eight(struct string *string, const struct lp_ibp_masks *masks,
                                          const uint8_t *src, uint8_t participation,
                                          const uint32_t s)
{
    const uint8x8_t packed = packed_words(participation), n = lengths_of(masks, s, packed);
    const uint16x8_t packed_16 = widen_mask(packed), n_16 = vmovl_u8(n);
    const uint32x4_t low = widen_mask_32(vget_low_u16(packed_16));
    const uint32x4_t high = widen_mask_32(vget_high_u16(packed_16));
    const uint64_t lengths = vget_lane_u64(vreinterpret_u64_u8(n), 0);

    if (s == 4) {
        append_four(string, masks, 0, src, vmovl_u16(vget_low_u16(n_16)), low);
        append_four(string, masks, 4, src + 16, vmovl_high_u16(n_16), high);
        return;
    }
    append_two(string, masks, 0, src, lengths, widen_mask_64(vget_low_u32(low)));
    append_two(string, masks, 2, src + 16, lengths >> 16, widen_mask_64(vget_high_u32(low)));
    append_two(string, masks, 4, src + 32, lengths >> 32, widen_mask_64(vget_low_u32(high)));
    append_two(string, masks, 6, src + 48, lengths >> 48, widen_mask_64(vget_high_u32(high)));
}

static LP_ALWAYS_INLINE void put_string(const struct lp_ibp_masks *masks, const uint8_t *src,
                                        uint32_t n_words, const uint32_t s,
                                        const uint8_t *participation, uint8_t *dst)
{
    const struct lp_ibp_masks set = *masks;
    struct string string = {dst, 0, 0};
    uint32_t j = 0;

    for (; j + LP_NEON_WORDS <= n_words; j += LP_NEON_WORDS, src += LP_NEON_WORDS * s) {
        const struct lp_ibp_masks here = masks_from(&set, j, s);

        append_eight(&string, &here, src, participation[j / 8], s);
    }
    for (; j < n_words; j++, src += s) {
        const uint64_t x = lp_ibp_load(src, s), packed = participation[j / 8] >> (j % 8) & 1;
        const uint64_t bits =
            packed != 0 ? lp_ibp_moves_close(masks->moves, j, s, x & ~masks->mask[j]) : x;

        append(&string, bits, (uint32_t)lp_ibp_word_bits(masks, j, s, packed), s);
    }
    store_known(&string, string.known, s);
}

static LP_ALWAYS_INLINE uint32_t encode_words(const struct lp_ibp *ibp, const uint8_t *src,
                                              uint32_t n_words, uint8_t *dst, uint32_t limit_bytes,
                                              const uint32_t s)
{
    const uint32_t head = lp_ibp_head_bytes(n_words, s, ibp->n_groups);
    const struct lp_ibp_masks *masks;
    uint32_t size;

    /* The head alone may pass the raw size, for which dst has room. */
    if (head >= limit_bytes)
        return 0;
    size = lp_ibp_encode_head(ibp, src, n_words, s, dst, match, ibp->n_groups, &masks);
    if (size >= limit_bytes)
        return 0;
    put_string(masks, src, n_words, s, dst, dst + head);
    return size;
}

uint32_t lp_codec_neon_ibp_encode(const struct lp_ibp *ibp, const void *src, uint32_t n_words,
                                  void *dst, uint32_t limit_bytes)
{
    if (ibp->word_bytes == 4)
        return encode_words(ibp, src, n_words, dst, limit_bytes, 4);
    return encode_words(ibp, src, n_words, dst, limit_bytes, 8);
}
