/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding dict records with NEON, 64 codes at a time. Planes become codes of a byte each; their
 * values come from byte tables in registers, one table for each byte of a value, where up to 32
 * registers hold them, and else one by one. Values of the next level are then put where codes are
 * zero. */
#include "codec/dict_level.h"
#include "codec/ops_neon_bits.h"
#include "codec/ops_neon_gaps.h"

/* Levels of fewer codes are not worth filling tables. */
#define FEW_CODES 24u

/* --- values ---------------------------------------------------------------------------------- */

/* Byte b of the values of codes 64 * q to 64 * q + 63 in part[b][q]. */
struct tables {
    uint8x16x4_t part[4][4];
};

/* Registers that a table takes, for each byte of a value. */
static LP_ALWAYS_INLINE uint32_t registers_of(uint32_t width)
{
    return width <= 4 ? 1 : 1u << (width - 4);
}

static LP_ALWAYS_INLINE struct tables load_tables(const uint8_t *values, const uint32_t elem_bytes,
                                                  const uint32_t registers)
{
    struct tables t;

    for (uint32_t i = 0; i < registers; i++) {
        if (elem_bytes == 1) {
            t.part[0][i / 4].val[i % 4] = vld1q_u8(values + 16 * (size_t)i);
        } else if (elem_bytes == 2) {
            const uint8x16x2_t v = vld2q_u8(values + 32 * (size_t)i);

            t.part[0][i / 4].val[i % 4] = v.val[0];
            t.part[1][i / 4].val[i % 4] = v.val[1];
        } else {
            const uint8x16x4_t v = vld4q_u8(values + 64 * (size_t)i);

            for (uint32_t b = 0; b < 4; b++)
                t.part[b][i / 4].val[i % 4] = v.val[b];
        }
    }
    return t;
}

/* Bytes of 16 codes from one of the tables. */
static LP_ALWAYS_INLINE uint8x16_t look_up(const uint8x16x4_t *table, const uint32_t registers,
                                           uint8x16_t codes)
{
    uint8x16_t v;

    if (registers == 1)
        return vqtbl1q_u8(table[0].val[0], codes);
    if (registers == 2)
        return vqtbl2q_u8((uint8x16x2_t){{table[0].val[0], table[0].val[1]}}, codes);
    v = vqtbl4q_u8(table[0], codes);
    for (uint32_t q = 1; q < registers / 4; q++)
        v = vqtbx4q_u8(v, table[q], vsubq_u8(codes, vdupq_n_u8((uint8_t)(64 * q))));
    return v;
}

/* Values of 64 codes to dst. */
static LP_ALWAYS_INLINE void put_values(const struct tables *t, const uint32_t elem_bytes,
                                        const uint32_t registers, const struct bytes *codes,
                                        uint8_t *dst)
{
    uint8x16_t v[4][4];

    for (uint32_t b = 0; b < elem_bytes; b++)
        for (uint32_t i = 0; i < 4; i++)
            v[b][i] = look_up(t->part[b], registers, codes->part[i]);
    for (uint32_t i = 0; i < 4; i++, dst += 16 * elem_bytes) {
        if (elem_bytes == 1) {
            vst1q_u8(dst, v[0][i]);
        } else if (elem_bytes == 2) {
            const uint8x16x2_t both = {{v[0][i], v[1][i]}};

            vst2q_u8(dst, both);
        } else {
            const uint8x16x4_t all = {{v[0][i], v[1][i], v[2][i], v[3][i]}};

            vst4q_u8(dst, all);
        }
    }
}

/* The first n of 64 codes, and up to seven more. */
static LP_ALWAYS_INLINE void put_one_by_one(const uint8_t *values, const uint32_t elem_bytes,
                                            const struct bytes *codes, uint32_t n, uint8_t *dst)
{
    uint8_t code[DICT_BLOCK];

    for (uint32_t i = 0; i < 4; i++)
        vst1q_u8(code + 16 * (size_t)i, codes->part[i]);
    for (uint32_t i = 0; i < n; i += 8, dst += 8 * elem_bytes) {
        const uint64_t eight = lp_load_u64(code + i);

        for (uint32_t k = 0; k < 8; k++)
            memcpy(dst + k * elem_bytes, values + (eight >> 8 * k & 0xff) * elem_bytes, elem_bytes);
    }
}

/* --- levels ---------------------------------------------------------------------------------- */

/* registers: those of a table; 0: values are looked up one by one. */
static LP_ALWAYS_INLINE bool decode_level_of(const struct dict_level *level,
                                             const uint32_t elem_bytes, const uint32_t registers,
                                             uint8_t *dst)
{
    const struct tables tables = load_tables(level->table, elem_bytes, registers);
    uint8_t last[DICT_BLOCK * 8];
    uint8x16_t most = vdupq_n_u8(0);
    const uint8_t *next = level->next;

    for (uint32_t at = 0; at < level->count; at += DICT_BLOCK, dst += DICT_BLOCK * elem_bytes) {
        const uint32_t n = LP_MIN(level->count - at, DICT_BLOCK);
        const uint64_t valid = n < DICT_BLOCK ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
        uint8_t *const out = n < DICT_BLOCK ? last : dst;
        struct bytes codes;
        const uint64_t zero = valid & ~load_codes(level->src, level->bit + at, level->count,
                                                  level->width, valid, &codes);

        for (uint32_t i = 0; i < 4; i++)
            most = vmaxq_u8(most, codes.part[i]);
        if (registers > 0)
            put_values(&tables, elem_bytes, registers, &codes, out);
        else
            put_one_by_one(level->table, elem_bytes, &codes, n, out);
        next = open_gaps(elem_bytes, zero, next, out);
        if (n < DICT_BLOCK)
            memcpy(dst, last, (size_t)n * elem_bytes);
    }
    return vmaxvq_u8(most) <= level->last_code;
}

/* Elements of 4 bytes have tables of up to 4 registers, those of 8 none. */
static LP_ALWAYS_INLINE bool decode_level_in(const struct dict_level *level,
                                             const uint32_t elem_bytes, uint32_t registers,
                                             uint8_t *dst)
{
    switch (registers) {
    case 1:
        return decode_level_of(level, elem_bytes, 1, dst);
    case 2:
        return decode_level_of(level, elem_bytes, 2, dst);
    case 4:
        return decode_level_of(level, elem_bytes, 4, dst);
    case 8:
        return decode_level_of(level, elem_bytes, elem_bytes < 4 ? 8 : 0, dst);
    case 16:
        return decode_level_of(level, elem_bytes, elem_bytes < 4 ? 16 : 0, dst);
    default:
        return decode_level_of(level, elem_bytes, 0, dst);
    }
}

static bool decode_level(uint32_t elem_bytes, const struct dict_level *level, uint8_t *dst)
{
    const uint32_t registers = level->count < FEW_CODES ? 0 : registers_of(level->width);

    switch (elem_bytes) {
    case 1:
        return decode_level_in(level, 1, registers, dst);
    case 2:
        return decode_level_in(level, 2, registers, dst);
    case 4:
        return decode_level_in(level, 4, registers, dst);
    default:
        return decode_level_in(level, 8, 0, dst);
    }
}

#include "codec/dict_decode.h"

void lp_codec_neon_dict_fill(struct lp_codec_ops *ops)
{
    ops->dict_decode = dict_decode;
    ops->dict_encode = lp_codec_neon_dict_encode;
}
