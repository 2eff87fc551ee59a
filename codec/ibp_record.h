/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking one ibp record, written once for every CPU tier: a tier passes how it
 * closes the gaps of a word (pext) and how it opens them again (pdep), and these bodies are inlined
 * around that.
 *
 * A record is its head, participation bits and where there are groups a byte with the record's,
 * then a bit string that fills each word from its most significant bit. Which set of masks a record
 * has is decided at its head, here for every tier; what follows knows only that set. */
#ifndef LP_CODEC_IBP_RECORD_H
#define LP_CODEC_IBP_RECORD_H

#include "base/bytes.h"
#include "codec/table.h"

#include <string.h>

#define LP_IBP_INLINE static inline __attribute__((always_inline))

typedef uint64_t (*lp_ibp_bits_fn)(uint64_t bits, uint64_t keep);

LP_IBP_INLINE uint64_t lp_ibp_load(const uint8_t *p, uint32_t s)
{
    return s == 4 ? lp_load_u32(p) : lp_load_u64(p);
}

LP_IBP_INLINE void lp_ibp_store(uint8_t *p, uint64_t v, uint32_t s)
{
    if (s == 4)
        lp_store_u32(p, (uint32_t)v);
    else
        lp_store_u64(p, v);
}

/* Bytes of the head that say something; behind them is padding to a word. */
LP_IBP_INLINE uint32_t lp_ibp_head_used(uint32_t n_words, uint32_t n_groups)
{
    return (n_words + 7) / 8 + (n_groups > 0);
}

LP_IBP_INLINE uint32_t lp_ibp_head_bytes(uint32_t n_words, uint32_t s, uint32_t n_groups)
{
    return (lp_ibp_head_used(n_words, n_groups) + s - 1) & ~(s - 1);
}

/* Bytes of a bit string. */
LP_IBP_INLINE uint32_t lp_ibp_string_bytes(uint64_t n_bits, uint32_t s)
{
    return (uint32_t)((n_bits + 8 * s - 1) / (8 * s)) * s;
}

LP_IBP_INLINE bool lp_ibp_zero(const uint8_t *p, uint32_t n)
{
    uint8_t any = 0;

    for (uint32_t i = 0; i < n; i++)
        any |= p[i];
    return any == 0;
}

/* n bits of the string from bit pos on, as a number. Reads up to a word behind them, which the
 * slack allows. */
LP_IBP_INLINE uint64_t lp_ibp_take(const uint8_t *string, uint64_t pos, uint32_t n, uint32_t s)
{
    uint64_t window;

    if (s == 4) {
        const uint8_t *const p = string + pos / 32 * 4;

        window = ((uint64_t)lp_load_u32(p) << 32 | lp_load_u32(p + 4)) << (pos % 32);
    } else {
        const uint8_t *const p = string + pos / 64 * 8;
        const uint32_t shift = (uint32_t)(pos % 64);

        /* Two shifts, because one by 64 is undefined. */
        window = lp_load_u64(p) << shift | lp_load_u64(p + 8) >> 1 >> (63 - shift);
    }
    return n > 0 ? window >> (64 - n) : 0;
}

/* The masks of a record that has arrived; NULL when its head does not fit or names no group.
 * n_groups here and below: ibp's, or where the caller knows that there are none a constant 0. */
LP_IBP_INLINE const struct lp_ibp_masks *lp_ibp_masks_of(const struct lp_ibp *ibp,
                                                         const uint8_t *src, uint32_t src_bytes,
                                                         uint32_t n_words, uint32_t s,
                                                         uint32_t n_groups)
{
    uint32_t group;

    if (lp_ibp_head_bytes(n_words, s, n_groups) > src_bytes)
        return NULL;
    if (n_groups == 0)
        return ibp->set;
    group = src[(n_words + 7) / 8];
    return group < n_groups ? &ibp->set[group] : NULL;
}

/* What must hold behind the last bit: zeros to the end of the word, and zeros to the end of the
 * stored record. */
LP_IBP_INLINE bool lp_ibp_tail_ok(const uint8_t *src, uint32_t src_bytes, uint32_t align_bytes,
                                  uint32_t n_words, uint64_t n_bits, uint32_t s, uint32_t n_groups)
{
    const uint32_t head = lp_ibp_head_bytes(n_words, s, n_groups);
    const uint32_t head_used = lp_ibp_head_used(n_words, n_groups);
    const uint32_t size = head + lp_ibp_string_bytes(n_bits, s);
    const uint32_t used = (uint32_t)(n_bits % (8 * s));

    if (((size + align_bytes - 1) & ~(align_bytes - 1)) != src_bytes)
        return false;
    if (used > 0 && (lp_ibp_load(src + size - s, s) & (~0ull >> (64 - 8 * s + used))) != 0)
        return false;
    if (n_words % 8 != 0 && src[n_words / 8] >> (n_words % 8) != 0)
        return false;
    return lp_ibp_zero(src + head_used, head - head_used) &&
           lp_ibp_zero(src + size, src_bytes - size);
}

/* The source may be hostile, and may change while it is read: every step is checked against
 * src_bytes. */
LP_IBP_INLINE int lp_ibp_decode_words(const struct lp_ibp *ibp, const uint8_t *src,
                                      uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                      uint32_t n_words, uint32_t s, lp_ibp_bits_fn open_gaps)
{
    const uint32_t n_groups = ibp->n_groups, head = lp_ibp_head_bytes(n_words, s, n_groups);
    const struct lp_ibp_masks *const masks =
        lp_ibp_masks_of(ibp, src, src_bytes, n_words, s, n_groups);
    const uint8_t *const string = src + head;
    const uint64_t ones = ~0ull >> (64 - 8 * s);
    uint64_t pos = 0, end;

    if (masks == NULL)
        return LP_ECORRUPT;
    end = (uint64_t)(src_bytes - head) * 8;
    for (uint32_t j = 0; j < n_words; j++) {
        const bool packed = (src[j / 8] >> (j % 8) & 1) != 0;
        const uint32_t n = packed ? masks->packed_bits[j] : 8 * s;

        if (pos + n > end)
            return LP_ECORRUPT;
        const uint64_t bits = lp_ibp_take(string, pos, n, s);
        lp_ibp_store(dst + (size_t)j * s,
                     packed ? open_gaps(bits, ~masks->mask[j] & ones) | masks->value[j] : bits, s);
        pos += n;
    }
    return lp_ibp_tail_ok(src, src_bytes, align_bytes, n_words, pos, s, n_groups) ? 0 : LP_ECORRUPT;
}

LP_IBP_INLINE int lp_ibp_decode(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n_words,
                                lp_ibp_bits_fn open_gaps)
{
    if (n_words > ibp->n_words)
        return LP_ECORRUPT;
    if (ibp->word_bytes == 4)
        return lp_ibp_decode_words(ibp, src, src_bytes, align_bytes, dst, n_words, 4, open_gaps);
    return lp_ibp_decode_words(ibp, src, src_bytes, align_bytes, dst, n_words, 8, open_gaps);
}

/* Bits of word j, packed being 0 or 1. Which words are packed is hard to predict, so nothing
 * branches on it. */
LP_IBP_INLINE uint64_t lp_ibp_word_bits(const struct lp_ibp_masks *masks, uint32_t j, uint32_t s,
                                        uint64_t packed)
{
    return 8 * s - ((8 * s - masks->packed_bits[j]) & -packed);
}

/* Participation bits of words under these masks into dst, whatever stands there; returns the bits
 * of the string. */
typedef uint64_t (*lp_ibp_match_fn)(const struct lp_ibp_masks *masks, const uint8_t *src,
                                    uint32_t n_words, uint32_t s, uint8_t *dst);

/* dst may be NULL. */
LP_IBP_INLINE uint64_t lp_ibp_match(const struct lp_ibp_masks *masks, const uint8_t *src,
                                    uint32_t n_words, uint32_t s, uint8_t *dst)
{
    uint64_t n_bits = 0;

    for (uint32_t first = 0; first < n_words; first += 8) {
        const uint32_t end = LP_MIN(first + 8, n_words);
        uint64_t byte = 0;

        for (uint32_t j = first; j < end; j++) {
            const uint64_t word = lp_ibp_load(src + (size_t)j * s, s);
            const uint64_t packed = (word & masks->mask[j]) == masks->value[j];

            n_bits += lp_ibp_word_bits(masks, j, s, packed);
            byte |= packed << (j - first);
        }
        if (dst != NULL)
            dst[first / 8] = (uint8_t)byte;
    }
    return n_bits;
}

/* The group with which a record is smallest, of equals the first. dst has room for participation
 * bits, which mean nothing afterwards. */
LP_IBP_INLINE uint32_t lp_ibp_best_group(const struct lp_ibp *ibp, const uint8_t *src,
                                         uint32_t n_words, uint32_t s, uint8_t *dst,
                                         lp_ibp_match_fn match)
{
    uint32_t best = 0, fewest = UINT32_MAX;

    for (uint32_t g = 0; g < ibp->n_groups; g++) {
        const uint32_t bytes = lp_ibp_string_bytes(match(&ibp->set[g], src, n_words, s, dst), s);

        if (bytes < fewest) {
            fewest = bytes;
            best = g;
        }
    }
    return best;
}

/* The head of a record into dst, padding included. Returns the record's size, and the masks that it
 * takes. */
LP_IBP_INLINE uint32_t lp_ibp_encode_head(const struct lp_ibp *ibp, const uint8_t *src,
                                          uint32_t n_words, uint32_t s, uint8_t *dst,
                                          lp_ibp_match_fn match, uint32_t n_groups,
                                          const struct lp_ibp_masks **ret_masks)
{
    const uint32_t head = lp_ibp_head_bytes(n_words, s, n_groups);
    uint32_t group = 0;

    if (n_groups > 0)
        group = lp_ibp_best_group(ibp, src, n_words, s, dst, match);
    memset(dst, 0, head);
    if (n_groups > 0)
        dst[(n_words + 7) / 8] = (uint8_t)group;
    *ret_masks = &ibp->set[group];
    return head + lp_ibp_string_bytes(match(*ret_masks, src, n_words, s, dst), s);
}

LP_IBP_INLINE void lp_ibp_encode_string(const struct lp_ibp_masks *masks, const uint8_t *src,
                                        uint32_t n_words, uint32_t s, const uint8_t *participation,
                                        uint8_t *string, lp_ibp_bits_fn close_gaps)
{
    const uint32_t w = 8 * s;
    const uint64_t ones = ~0ull >> (64 - w);
    uint64_t word = 0;
    uint32_t used = 0;

    for (uint32_t j = 0; j < n_words; j++) {
        const uint64_t x = lp_ibp_load(src + (size_t)j * s, s);
        const uint64_t packed = participation[j / 8] >> (j % 8) & 1;
        const uint64_t bits = close_gaps(x, (~masks->mask[j] | (packed - 1)) & ones);
        const uint32_t n = (uint32_t)lp_ibp_word_bits(masks, j, s, packed), room = w - used;

        if (n < room) {
            /* In two steps: nothing to add and an empty word would shift by 64. */
            word |= bits << (room - n - 1) << 1;
            used += n;
            continue;
        }
        used = n - room;
        lp_ibp_store(string, word | bits >> used, s);
        string += s;
        word = used > 0 ? bits << (w - used) & ones : 0;
    }
    if (used > 0)
        lp_ibp_store(string, word, s);
}

LP_IBP_INLINE uint32_t lp_ibp_encode_words(const struct lp_ibp *ibp, const uint8_t *src,
                                           uint32_t n_words, uint8_t *dst, uint32_t limit_bytes,
                                           uint32_t s, lp_ibp_bits_fn close_gaps)
{
    const uint32_t head = lp_ibp_head_bytes(n_words, s, ibp->n_groups);
    const struct lp_ibp_masks *masks;
    uint32_t size;

    /* The head alone may pass the raw size, for which dst has room. */
    if (head >= limit_bytes)
        return 0;
    size = lp_ibp_encode_head(ibp, src, n_words, s, dst, lp_ibp_match, ibp->n_groups, &masks);
    if (size >= limit_bytes)
        return 0;
    lp_ibp_encode_string(masks, src, n_words, s, dst, dst + head, close_gaps);
    return size;
}

LP_IBP_INLINE uint32_t lp_ibp_encode(const struct lp_ibp *ibp, const void *src, uint32_t n_words,
                                     void *dst, uint32_t limit_bytes, lp_ibp_bits_fn close_gaps)
{
    if (ibp->word_bytes == 4)
        return lp_ibp_encode_words(ibp, src, n_words, dst, limit_bytes, 4, close_gaps);
    return lp_ibp_encode_words(ibp, src, n_words, dst, limit_bytes, 8, close_gaps);
}

#endif
