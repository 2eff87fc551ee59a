/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking ibp records in units of 64 bits: a word, or for s = 4 two, the first in the
 * upper half, as they follow each other in the bit string. Included only by files that are compiled
 * for BMI2; a tier passes what it does with vectors.
 *
 * Masks and values are selected by participation bits for eight units at once; an unpacked word is
 * one whose mask is empty. What is left to do one by one is to find a unit's bits and to spread or
 * close them, and the only chain between units is their position. */
#ifndef LP_CODEC_IBP_UNITS_H
#define LP_CODEC_IBP_UNITS_H

#include "codec/ibp_record.h"

#include <immintrin.h>

#define LP_IBP_UNITS 8u
#define LP_IBP_SHORT_WORDS 32u /* so many of 4 bytes have only 4 bytes of participation bits */
/* Long records are mostly read in order, so what lies this far ahead is wanted even past the end.
 */
#define LP_IBP_AHEAD_BYTES 512u
#define LP_IBP_AHEAD_RECORD_BYTES_MIN 2048u

/* The bits that masks leave, and values, of some units. */
struct lp_ibp_units {
    uint64_t keep[LP_IBP_UNITS], value[LP_IBP_UNITS];
};

/* A tier's part. select: the units from word j on, given their participation bits. match: these
 * bits, of the words from word j on at src, a unit's number of them; adds the bits that they will
 * take to *n_bits. */
struct lp_ibp_unit_ops {
    void (*select)(const struct lp_ibp_masks *masks, uint32_t j, uint32_t participation, uint32_t s,
                   struct lp_ibp_units *ret_units);
    uint32_t (*match)(const struct lp_ibp_masks *masks, const uint8_t *src, uint32_t j, uint32_t s,
                      uint64_t *n_bits);
};

LP_IBP_INLINE uint32_t lp_ibp_participation(const uint8_t *src, uint32_t j, uint32_t s)
{
    return s == 4 ? lp_load_u16(src + j / 8) : src[j / 8];
}

LP_IBP_INLINE uint64_t lp_ibp_load_unit(const uint8_t *p, const uint32_t s)
{
    const uint64_t x = lp_load_u64(p);

    return s == 4 ? x << 32 | x >> 32 : x;
}

LP_IBP_INLINE void lp_ibp_store_unit(uint8_t *p, uint64_t unit, const uint32_t s)
{
    lp_store_u64(p, s == 4 ? unit << 32 | unit >> 32 : unit);
}

/* --- unpacking ------------------------------------------------------------------------------- */

/* The bits [pos, end) of the string, at most 64, as the low bits of what is returned, with others
 * before them. Shifts take the last 6 bits of their count: ~pos shifts by 63 less what pos shifts
 * by.
 *
 * Looked at from their end, bits need not be shifted down once more, but 8 bytes before the string
 * are read: inside is false where a record has less than that there. Up to 16 bytes behind pos are
 * read. */
LP_IBP_INLINE uint64_t lp_ibp_bits(const uint8_t *string, uint64_t pos, uint64_t end,
                                   const uint32_t s, const bool inside)
{
    const uint64_t from = inside ? end : pos;
    const uint8_t *const p = string + from / (8 * s) * s;

    if (s == 8)
        return lp_load_u64(p - 8) << (end & 63) | lp_load_u64(p) >> (~end & 63) >> 1;
    if (inside)
        return lp_ibp_load_unit(p - 8, 4) << (end & 31) |
               (uint64_t)lp_load_u32(p) << (end & 31) >> 32;
    /* No bits at all are taken from where a shift by 64 does nothing. */
    return (lp_ibp_load_unit(p, 4) << (pos & 31) |
            (uint64_t)lp_load_u32(p + 8) << (pos & 31) >> 32) >>
           ((pos - end) & 63);
}

/* One unit to dst, keep being the bits that its mask leaves; returns the position behind it. */
LP_IBP_INLINE uint64_t lp_ibp_unit_decode(const uint8_t *string, uint64_t pos, uint64_t keep,
                                          uint64_t value, uint8_t *dst, const uint32_t s,
                                          const bool inside)
{
    const uint64_t end = pos + (uint64_t)_mm_popcnt_u64(keep);
    const uint64_t bits = lp_ibp_bits(string, pos, end, s, inside);

    /* Only as many bits are spread as keep has. */
    lp_ibp_store_unit(dst, _pdep_u64(bits, keep) | value, s);
    return end;
}

/* Four units to dst, the first of them at keep and value. Their windows end within the slack
 * wherever that was, so that positions need no check in between. */
LP_IBP_INLINE uint64_t lp_ibp_four_decode(const uint64_t *keep, const uint64_t *value,
                                          const uint8_t *string, uint64_t pos, uint8_t *dst,
                                          const uint32_t s, const bool inside)
{
    pos = lp_ibp_unit_decode(string, pos, keep[0], value[0], dst, s, inside);
    pos = lp_ibp_unit_decode(string, pos, keep[1], value[1], dst + 8, s, inside);
    pos = lp_ibp_unit_decode(string, pos, keep[2], value[2], dst + 16, s, inside);
    return lp_ibp_unit_decode(string, pos, keep[3], value[3], dst + 24, s, inside);
}

/* All units to dst. Returns the position behind them, or more than end when they do not fit. */
LP_IBP_INLINE uint64_t lp_ibp_units_decode(const struct lp_ibp_units *units, const uint8_t *string,
                                           uint64_t pos, uint64_t end, uint8_t *dst,
                                           const uint32_t s, const bool inside)
{
    pos = lp_ibp_four_decode(units->keep, units->value, string, pos, dst, s, inside);
    if (pos > end)
        return pos;
    return lp_ibp_four_decode(units->keep + 4, units->value + 4, string, pos, dst + 32, s, inside);
}

LP_IBP_INLINE int lp_ibp_units_decode_words(const struct lp_ibp *ibp, const uint8_t *src,
                                            uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                            uint32_t n_words, const uint32_t s, const bool inside,
                                            const uint32_t n_groups,
                                            const struct lp_ibp_unit_ops *ops)
{
    const struct lp_ibp_masks *const masks =
        lp_ibp_masks_of(ibp, src, src_bytes, n_words, s, n_groups);
    const uint32_t step = LP_IBP_UNITS * 8 / s, head = lp_ibp_head_bytes(n_words, s, n_groups);
    const uint8_t *const string = src + head;
    const bool ahead = src_bytes >= LP_IBP_AHEAD_RECORD_BYTES_MIN;
    struct lp_ibp_units units[2];
    uint64_t pos = 0, end;
    uint32_t j = 0;

    if (masks == NULL)
        return LP_ECORRUPT;
    end = (uint64_t)(src_bytes - head) * 8;
    if (step <= n_words)
        ops->select(masks, 0, lp_ibp_participation(src, 0, s), s, &units[0]);
    for (; j + step <= n_words; j += step) {
        const uint32_t next = j + step;

        /* A step ahead: what vectors store is loaded word by word only when it has settled. */
        if (next + step <= n_words)
            ops->select(masks, next, lp_ibp_participation(src, next, s), s,
                        &units[next / step % 2]);
        if (ahead) {
            __builtin_prefetch(dst + (size_t)j * s + LP_IBP_AHEAD_BYTES, 1);
            __builtin_prefetch(string + pos / 8 + LP_IBP_AHEAD_BYTES);
        }
        pos = lp_ibp_units_decode(&units[j / step % 2], string, pos, end, dst + (size_t)j * s, s,
                                  inside);
        if (pos > end)
            return LP_ECORRUPT;
    }
    for (; j < n_words; j++) {
        /* Nothing branches on which words are packed. */
        const uint64_t packed = src[j / 8] >> (j % 8) & 1;
        const uint64_t keep = (~masks->mask[j] | (packed - 1)) & ~0ull >> (64 - 8 * s);
        const uint32_t n = (uint32_t)lp_ibp_word_bits(masks, j, s, packed);
        uint64_t word;

        if (pos + n > end)
            return LP_ECORRUPT;
        word = _pdep_u64(lp_ibp_take(string, pos, n, s), keep) | (masks->value[j] & -packed);
        lp_ibp_store(dst + (size_t)j * s, word, s);
        pos += n;
    }
    return lp_ibp_tail_ok(src, src_bytes, align_bytes, n_words, pos, s, n_groups) ? 0 : LP_ECORRUPT;
}

/* As codec/ops.h describes ibp_decode; groups says whether there are any. A function each, so that
 * registers last for its loop, and one set of masks costs what it did without groups. */
#define LP_IBP_UNITS_DECODE(name, s, inside, groups, ops)                                          \
    static __attribute__((noinline)) int name(const struct lp_ibp *ibp, const uint8_t *src,        \
                                              uint32_t src_bytes, uint32_t align_bytes,            \
                                              uint8_t *dst, uint32_t n_words)                      \
    {                                                                                              \
        return lp_ibp_units_decode_words(ibp, src, src_bytes, align_bytes, dst, n_words, s,        \
                                         inside, (groups) ? ibp->n_groups : 0, ops);               \
    }

/* --- packing --------------------------------------------------------------------------------- */

/* As lp_ibp_match_fn. */
LP_IBP_INLINE uint64_t lp_ibp_units_match(const struct lp_ibp_masks *masks, const uint8_t *src,
                                          uint32_t n_words, const uint32_t s, uint8_t *dst,
                                          const struct lp_ibp_unit_ops *ops)
{
    const uint32_t step = LP_IBP_UNITS * 8 / s;
    uint64_t n_bits = 0;
    uint32_t j = 0;

    for (; j + step <= n_words; j += step) {
        const uint32_t participation = ops->match(masks, src + (size_t)j * s, j, s, &n_bits);

        dst[j / 8] = (uint8_t)participation;
        if (s == 4)
            dst[j / 8 + 1] = (uint8_t)(participation >> 8);
    }
    for (; j < n_words; j++) {
        const uint64_t packed =
            (lp_ibp_load(src + (size_t)j * s, s) & masks->mask[j]) == masks->value[j];

        n_bits += lp_ibp_word_bits(masks, j, s, packed);
        dst[j / 8] = (uint8_t)((j % 8 > 0 ? dst[j / 8] : 0) | packed << (j % 8));
    }
    return n_bits;
}

/* A bit string in the making: where the next 64 bits go, and those of them that are known. */
struct lp_ibp_string {
    uint8_t *at;
    uint64_t bits;
    uint32_t used; /* below 64 */
};

/* Behind the string the n low bits of bits. All 64 are stored each time, so that nothing branches
 * on whether they are full; the last ones are left to the caller. */
LP_IBP_INLINE void lp_ibp_append(struct lp_ibp_string *string, uint64_t bits, uint32_t n,
                                 const uint32_t s)
{
    const uint64_t top = bits << (-n & 63), now = string->bits | top >> string->used;
    const uint32_t used = string->used + n;

    lp_ibp_store_unit(string->at, now, s);
    /* In two steps, because a shift by 64 does nothing. */
    string->bits = used < 64 ? now : top << (63 - string->used) << 1;
    string->at += used / 64 * 8;
    string->used = used % 64;
}

LP_IBP_INLINE void lp_ibp_units_string(const struct lp_ibp_masks *masks, const uint8_t *src,
                                       uint32_t n_words, const uint32_t s,
                                       const uint8_t *participation, uint8_t *dst,
                                       const struct lp_ibp_unit_ops *ops)
{
    const uint32_t step = LP_IBP_UNITS * 8 / s;
    struct lp_ibp_string string = {dst, 0, 0};
    struct lp_ibp_units units[2];
    uint32_t j = 0;

    if (step <= n_words)
        ops->select(masks, 0, lp_ibp_participation(participation, 0, s), s, &units[0]);
    for (; j + step <= n_words; j += step) {
        const uint64_t *const keep = units[j / step % 2].keep;
        const uint32_t next = j + step;

        if (next + step <= n_words)
            ops->select(masks, next, lp_ibp_participation(participation, next, s), s,
                        &units[next / step % 2]);
        for (uint32_t u = 0; u < LP_IBP_UNITS; u++) {
            const uint64_t unit = lp_ibp_load_unit(src + (size_t)j * s + 8 * u, s);

            lp_ibp_append(&string, _pext_u64(unit, keep[u]), (uint32_t)_mm_popcnt_u64(keep[u]), s);
        }
    }
    for (; j < n_words; j++) {
        const uint64_t x = lp_ibp_load(src + (size_t)j * s, s);
        const uint64_t packed = participation[j / 8] >> (j % 8) & 1;
        const uint64_t keep = (~masks->mask[j] | (packed - 1)) & ~0ull >> (64 - 8 * s);

        lp_ibp_append(&string, _pext_u64(x, keep), (uint32_t)_mm_popcnt_u64(keep), s);
    }
    lp_ibp_store_unit(string.at, string.bits, s);
}

LP_IBP_INLINE uint32_t lp_ibp_units_encode_words(const struct lp_ibp *ibp, const uint8_t *src,
                                                 uint32_t n_words, uint8_t *dst,
                                                 uint32_t limit_bytes, const uint32_t s,
                                                 const uint32_t n_groups,
                                                 const struct lp_ibp_unit_ops *ops,
                                                 lp_ibp_match_fn match)
{
    const uint32_t head = lp_ibp_head_bytes(n_words, s, n_groups);
    const struct lp_ibp_masks *masks;
    uint32_t size;

    /* The head alone may pass the raw size, for which dst has room. */
    if (head >= limit_bytes)
        return 0;
    size = lp_ibp_encode_head(ibp, src, n_words, s, dst, match, n_groups, &masks);
    if (size >= limit_bytes)
        return 0;
    lp_ibp_units_string(masks, src, n_words, s, dst, dst + head, ops);
    return size;
}

/* As codec/ops.h describes ibp_encode; match is lp_ibp_units_match() of ops. */
#define LP_IBP_UNITS_ENCODE(name, groups, ops, match)                                              \
    static __attribute__((noinline)) uint32_t name(const struct lp_ibp *ibp, const uint8_t *src,   \
                                                   uint32_t n_words, uint8_t *dst,                 \
                                                   uint32_t limit_bytes)                           \
    {                                                                                              \
        const uint32_t n_groups = (groups) ? ibp->n_groups : 0;                                    \
                                                                                                   \
        if (ibp->word_bytes == 4)                                                                  \
            return lp_ibp_units_encode_words(ibp, src, n_words, dst, limit_bytes, 4, n_groups,     \
                                             ops, match);                                          \
        return lp_ibp_units_encode_words(ibp, src, n_words, dst, limit_bytes, 8, n_groups, ops,    \
                                         match);                                                   \
    }

#endif
