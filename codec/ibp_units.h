/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking ibp records in units of 64 bits: a word, or for s = 4 two, the first in the
 * upper half, as they follow each other in the bit string. Included only by files that are compiled
 * for BMI2; a tier passes what it does with vectors.
 *
 * Masks and values are selected by participation bits for eight units at once; an unpacked word is
 * one whose mask is empty. How many bits a unit has is known from these bits alone, so where each
 * of the eight begins is a sum that a register does at once, and their windows of the string are
 * found by permutes and shifts. What is left to do one by one is to spread or close bits, and the
 * only chain between eight units and the next is their position. */
#ifndef LP_CODEC_IBP_UNITS_H
#define LP_CODEC_IBP_UNITS_H

#include "codec/ibp_record.h"

#include <immintrin.h>

#define LP_IBP_UNITS 8u
/* Times so many units are taken before they are put: words are loaded one by one from what vectors
 * store, and that is fast only when it has settled. */
#define LP_IBP_STEPS 8u
/* Long records are mostly read in order, so what lies this far ahead is wanted even past the end.
 */
#define LP_IBP_AHEAD_BYTES 512u
#define LP_IBP_AHEAD_RECORD_BYTES_MIN 2048u

/* Eight units of a record that is unpacked: which of their bits stand in the string, what these
 * bits are, the last one lowest, and, in the order of words in memory, the values of the others.
 * Aligned, so that no register's worth crosses a line. */
struct lp_ibp_units {
    _Alignas(64) uint64_t keep[LP_IBP_UNITS];
    uint64_t bits[LP_IBP_UNITS], value[LP_IBP_UNITS];
};

/* A bit string that is read, and how many bits it has; LP_CODEC_SLACK_BYTES behind them are
 * readable. */
struct lp_ibp_source {
    const uint8_t *string;
    uint64_t end;
};

/* A tier's part; each takes words from j on. take: their units, whose bits begin with bit pos of
 * the string, at most source->end; returns where they end, and when that is behind source->end the
 * bits mean nothing. keep: the bits that their masks leave. match: participation bits of the words
 * at src, a unit's number of them; adds the bits that they will take to *n_bits. */
struct lp_ibp_unit_ops {
    uint64_t (*take)(const struct lp_ibp_masks *masks, uint32_t j, uint32_t participation,
                     uint32_t s, const struct lp_ibp_source *source, uint64_t pos,
                     struct lp_ibp_units *ret_units);
    void (*keep)(const struct lp_ibp_masks *masks, uint32_t j, uint32_t participation, uint32_t s,
                 uint64_t ret_keep[LP_IBP_UNITS]);
    uint32_t (*match)(const struct lp_ibp_masks *masks, const uint8_t *src, uint32_t j, uint32_t s,
                      uint64_t *n_bits);
};

/* Where string words of 64 bits begin, the one with bit pos first. */
LP_IBP_INLINE const uint8_t *lp_ibp_word_at(const struct lp_ibp_source *source, uint64_t pos)
{
    return source->string + pos / 64 * 8;
}

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

/* A record that is unpacked: its masks, its participation bits, its bit string. */
struct lp_ibp_record {
    const struct lp_ibp_masks *masks;
    const uint8_t *participation;
    struct lp_ibp_source source;
};

/* All units to dst, in the order of its words. */
LP_IBP_INLINE void lp_ibp_units_put(const struct lp_ibp_units *units, uint8_t *dst,
                                    const uint32_t s)
{
    for (uint32_t u = 0; u < LP_IBP_UNITS; u++) {
        /* Only as many bits are spread as keep has. */
        const uint64_t unit = _pdep_u64(units->bits[u], units->keep[u]);

        lp_store_u64(dst + 8 * (size_t)u,
                     (s == 4 ? unit << 32 | unit >> 32 : unit) | units->value[u]);
    }
}

/* Words [j, j + step * n_steps) to dst, n_steps being LP_IBP_STEPS at most. Returns the position
 * behind them, or one behind the end when they do not fit. */
LP_IBP_INLINE uint64_t lp_ibp_units_decode_steps(const struct lp_ibp_record *record, uint32_t j,
                                                 uint32_t n_steps, uint64_t pos, uint8_t *dst,
                                                 const bool ahead, const uint32_t s,
                                                 const struct lp_ibp_unit_ops *ops)
{
    const uint32_t step = LP_IBP_UNITS * 8 / s;
    struct lp_ibp_units units[LP_IBP_STEPS];

    for (uint32_t k = 0; k < n_steps; k++) {
        const uint32_t at = j + k * step;

        if (ahead) {
            __builtin_prefetch(dst + 8 * LP_IBP_UNITS * (size_t)k + LP_IBP_AHEAD_BYTES, 1);
            __builtin_prefetch(record->source.string + pos / 8 + LP_IBP_AHEAD_BYTES);
        }
        pos = ops->take(record->masks, at, lp_ibp_participation(record->participation, at, s), s,
                        &record->source, pos, &units[k]);
        if (pos > record->source.end)
            return pos;
    }
    for (uint32_t k = 0; k < n_steps; k++)
        lp_ibp_units_put(&units[k], dst + 8 * LP_IBP_UNITS * (size_t)k, s);
    return pos;
}

/* Word j to dst; returns as lp_ibp_units_decode_steps() does. Nothing branches on whether it is
 * packed. */
LP_IBP_INLINE uint64_t lp_ibp_word_decode(const struct lp_ibp_record *record, uint32_t j,
                                          uint64_t pos, uint8_t *dst, const uint32_t s)
{
    const struct lp_ibp_masks *const masks = record->masks;
    const uint64_t packed = record->participation[j / 8] >> (j % 8) & 1;
    const uint64_t keep = (~masks->mask[j] | (packed - 1)) & ~0ull >> (64 - 8 * s);
    const uint32_t n = (uint32_t)lp_ibp_word_bits(masks, j, s, packed);

    if (pos + n > record->source.end)
        return pos + n;
    lp_ibp_store(dst,
                 _pdep_u64(lp_ibp_take(record->source.string, pos, n, s), keep) |
                     (masks->value[j] & -packed),
                 s);
    return pos + n;
}

LP_IBP_INLINE int lp_ibp_units_decode_words(const struct lp_ibp *ibp, const uint8_t *src,
                                            uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                            uint32_t n_words, const uint32_t s,
                                            const uint32_t n_groups,
                                            const struct lp_ibp_unit_ops *ops)
{
    const uint32_t step = LP_IBP_UNITS * 8 / s, head = lp_ibp_head_bytes(n_words, s, n_groups);
    const struct lp_ibp_record record = {lp_ibp_masks_of(ibp, src, src_bytes, n_words, s, n_groups),
                                         src,
                                         {src + head, ((uint64_t)src_bytes - head) * 8}};
    const bool ahead = src_bytes >= LP_IBP_AHEAD_RECORD_BYTES_MIN;
    uint64_t pos = 0;
    uint32_t j = 0;

    if (record.masks == NULL)
        return LP_ECORRUPT;
    while (j + step <= n_words) {
        const uint32_t n_steps = LP_MIN((n_words - j) / step, LP_IBP_STEPS);

        pos =
            lp_ibp_units_decode_steps(&record, j, n_steps, pos, dst + (size_t)j * s, ahead, s, ops);
        if (pos > record.source.end)
            return LP_ECORRUPT;
        j += n_steps * step;
    }
    for (; j < n_words; j++) {
        pos = lp_ibp_word_decode(&record, j, pos, dst + (size_t)j * s, s);
        if (pos > record.source.end)
            return LP_ECORRUPT;
    }
    return lp_ibp_tail_ok(src, src_bytes, align_bytes, n_words, pos, s, n_groups) ? 0 : LP_ECORRUPT;
}

/* As codec/ops.h describes ibp_decode; groups says whether there are any. A function each, so that
 * registers last for its loop, and one set of masks costs what it did without groups. */
#define LP_IBP_UNITS_DECODE(name, s, groups, ops)                                                  \
    static __attribute__((noinline)) int name(const struct lp_ibp *ibp, const uint8_t *src,        \
                                              uint32_t src_bytes, uint32_t align_bytes,            \
                                              uint8_t *dst, uint32_t n_words)                      \
    {                                                                                              \
        return lp_ibp_units_decode_words(ibp, src, src_bytes, align_bytes, dst, n_words, s,        \
                                         (groups) ? ibp->n_groups : 0, ops);                       \
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
    _Alignas(64) uint64_t keeps[2][LP_IBP_UNITS];
    uint32_t j = 0;

    if (step <= n_words)
        ops->keep(masks, 0, lp_ibp_participation(participation, 0, s), s, keeps[0]);
    for (; j + step <= n_words; j += step) {
        const uint64_t *const keep = keeps[j / step % 2];
        const uint32_t next = j + step;

        /* A step ahead: what vectors store is loaded word by word only when it has settled. */
        if (next + step <= n_words)
            ops->keep(masks, next, lp_ibp_participation(participation, next, s), s,
                      keeps[next / step % 2]);
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
