/* SPDX-License-Identifier: Apache-2.0 */
/* Coding dict records with NEON. Symbols are found one by one (codec/dict_look_up.h), which a CPU
 * without gathers does no better; what follows goes 64 at a time: symbols to codes, the gaps that
 * they leave among symbols closed, and codes to planes. */
#include "codec/dict_level.h"
#include "codec/ops_neon_bits.h"
#include "codec/ops_neon_gaps.h"

/* Codes of 16 symbols, zero from end on. */
static LP_ALWAYS_INLINE uint8x16_t codes_of(const uint16_t *symbols, uint16x8_t before,
                                            uint16x8_t end)
{
    const uint16x8_t a = vld1q_u16(symbols), b = vld1q_u16(symbols + 8);
    const uint16x8_t code_a = vandq_u16(vsubq_u16(a, before), vcltq_u16(a, end));
    const uint16x8_t code_b = vandq_u16(vsubq_u16(b, before), vcltq_u16(b, end));

    return vuzp1q_u8(vreinterpretq_u8_u16(code_a), vreinterpretq_u8_u16(code_b));
}

static uint32_t take_level(uint16_t *symbols, uint32_t count, uint32_t first, uint32_t end,
                           uint8_t *codes)
{
    const uint16x8_t before = vdupq_n_u16((uint16_t)(first - 1)), ends = vdupq_n_u16((uint16_t)end);
    uint8_t *const front = (uint8_t *)symbols, *left = front;

    for (uint32_t i = 0; i < count; i += DICT_BLOCK) {
        struct bytes none;
        uint64_t behind;

        for (uint32_t k = 0; k < 4; k++) {
            const uint8x16_t v = codes_of(symbols + i + 16 * (size_t)k, before, ends);

            vst1q_u8(codes + i + 16 * (size_t)k, v);
            none.part[k] = vceqzq_u8(v);
        }
        behind = bits_of(&none);
        if (count - i < DICT_BLOCK)
            behind &= (UINT64_C(1) << (count - i)) - 1;
        /* What is written ends before the next symbol that is read. */
        left = close_gaps(2, behind, (const uint8_t *)(symbols + i), left);
    }
    return (uint32_t)(left - front) / 2;
}

struct output {
    uint8_t *dst;
    uint64_t bits; /* not yet stored */
    uint32_t n_bits;
};

static LP_ALWAYS_INLINE struct output start_output(uint8_t *dst)
{
    return (struct output){dst, 0, 0};
}

/* n bits, at most 64; word has no others. */
static LP_ALWAYS_INLINE void put_word(struct output *out, uint64_t word, uint32_t n)
{
    const uint32_t shift = out->n_bits;

    out->bits |= word << shift;
    out->n_bits += n;
    if (out->n_bits < 64)
        return;
    lp_store_u64(out->dst, out->bits);
    out->dst += 8;
    /* In two steps, as a shift by 64 is undefined. */
    out->bits = word >> 1 >> (63 - shift);
    out->n_bits -= 64;
}

static void put_planes(struct output *out, const uint8_t *codes, uint32_t count, uint32_t width)
{
    for (uint32_t p = 0; p < width; p++) {
        uint32_t i = 0;

        for (; i + DICT_BLOCK <= count; i += DICT_BLOCK) {
            const struct bytes v = load_64(codes + i);

            put_word(out, plane_of(&v, p), DICT_BLOCK);
        }
        if (i < count) {
            const struct bytes v = load_64(codes + i);

            put_word(out, plane_of(&v, p) & ((UINT64_C(1) << (count - i)) - 1), count - i);
        }
    }
}

static LP_ALWAYS_INLINE void end_output(const struct output *out)
{
    lp_store_u64(out->dst, out->bits);
}

#include "codec/dict_encode.h"

uint32_t lp_codec_neon_dict_encode(const struct lp_dict *dict, const void *src, uint32_t n,
                                   void *dst, uint32_t limit_bytes)
{
    return dict_encode(dict, src, n, dst, limit_bytes);
}
