/* SPDX-License-Identifier: Apache-2.0 */
/* The search for one position's ibp masks, written once for every CPU tier, with vectors that the
 * compiler lowers to what the tier has; a tier passes how it counts what two sets have in common.
 * Vectors stay in memory or in registers; none is an argument. */
#ifndef LP_CODEC_IBP_PICK_BODY_H
#define LP_CODEC_IBP_PICK_BODY_H

#include "codec/ibp_record.h"
#include "codec/ibp_search.h"

typedef uint32_t lp_ibp_rows_32 __attribute__((vector_size(LP_IBP_PICK_RECORDS / 8)));
typedef uint64_t lp_ibp_rows_64 __attribute__((vector_size(LP_IBP_PICK_RECORDS / 8)));

/* A set of records, and for one bit of their words those where it is set. */
#define LP_IBP_SET_WORDS (LP_IBP_PICK_RECORDS / 64)

struct lp_ibp_set {
    uint64_t word[LP_IBP_SET_WORDS];
};

/* Records in both sets. */
typedef uint32_t (*lp_ibp_common_fn)(const struct lp_ibp_set *a, const struct lp_ibp_set *b);

/* What the search stands on: n records, bit b of their words set in bit[b]. Records come in
 * squares, a lane each: of w records, one a row, until they are mirrored. */
struct lp_ibp_bits {
    union {
        struct lp_ibp_set bit[64];
        uint32_t words_32[32][LP_IBP_PICK_RECORDS / 32];
        uint64_t words_64[64][LP_IBP_PICK_RECORDS / 64];
        lp_ibp_rows_32 rows_32[32];
        lp_ibp_rows_64 rows_64[64];
    };
    struct lp_ibp_set all;
    uint32_t w, n;
};

/* A choice and what it is worth: records that match times bits that these then save. */
struct lp_ibp_choice {
    struct lp_ibp_pick pick;
    uint32_t n_match, n_bits;
};

LP_IBP_INLINE uint32_t lp_ibp_worth(const struct lp_ibp_choice *choice)
{
    return choice->n_match * choice->n_bits;
}

/* Squares mirrored: row k's bit b becomes row b's bit k. */
LP_IBP_INLINE void lp_ibp_mirror_32(lp_ibp_rows_32 row[32])
{
    uint32_t low = 0xffff;

    for (uint32_t j = 16; j != 0; j /= 2, low ^= low << j) {
        for (uint32_t k = 0; k < 32; k = (k + j + 1) & ~j) {
            const lp_ibp_rows_32 t = (row[k] >> j ^ row[k + j]) & low;

            row[k] ^= t << j;
            row[k + j] ^= t;
        }
    }
}

LP_IBP_INLINE void lp_ibp_mirror_64(lp_ibp_rows_64 row[64])
{
    uint64_t low = 0xffffffff;

    for (uint32_t j = 32; j != 0; j /= 2, low ^= low << j) {
        for (uint32_t k = 0; k < 64; k = (k + j + 1) & ~j) {
            const lp_ibp_rows_64 t = (row[k] >> j ^ row[k + j]) & low;

            row[k] ^= t << j;
            row[k + j] ^= t;
        }
    }
}

LP_IBP_INLINE void lp_ibp_bits_of(const struct lp_ibp_column *column, struct lp_ibp_bits *bits)
{
    const uint8_t *word = column->first;

    bits->w = 8 * column->word_bytes;
    bits->n = column->n;
    memset(&bits->all, 0, sizeof(bits->all));
    for (uint32_t i = 0; i < column->n; i++)
        bits->all.word[i / 64] |= 1ull << (i % 64);
    if (column->n < LP_IBP_PICK_RECORDS)
        memset(bits->bit, 0, bits->w * sizeof(bits->bit[0]));
    for (uint32_t i = 0; i < column->n; i++, word += column->pitch) {
        if (column->word_bytes == 4)
            bits->words_32[i % 32][i / 32] = lp_load_u32(word);
        else
            bits->words_64[i % 64][i / 64] = lp_load_u64(word);
    }
    if (column->word_bytes == 4)
        lp_ibp_mirror_32(bits->rows_32);
    else
        lp_ibp_mirror_64(bits->rows_64);
}

/* Records of a set in which bit b is value. */
LP_IBP_INLINE void lp_ibp_keep(struct lp_ibp_set *set, const struct lp_ibp_bits *bits, uint32_t b,
                               uint64_t value)
{
    for (uint32_t i = 0; i < LP_IBP_SET_WORDS; i++)
        set->word[i] &= bits->bit[b].word[i] ^ (value - 1);
}

LP_IBP_INLINE void lp_ibp_mask_bit(struct lp_ibp_choice *choice, uint32_t b, uint64_t value,
                                   uint32_t n_match)
{
    choice->pick.mask |= 1ull << b;
    choice->pick.value |= value << b;
    choice->n_bits++;
    choice->n_match = n_match;
}

/* Mask one bit after the other, each time the one that most of the records that still match agree
 * on; the best of these choices. A bit on which all agree costs nothing. */
LP_IBP_INLINE struct lp_ibp_choice lp_ibp_greedy(const struct lp_ibp_bits *bits,
                                                 lp_ibp_common_fn common)
{
    struct lp_ibp_choice now = {.n_match = bits->n}, best = now;
    struct lp_ibp_set match = bits->all;
    uint64_t open = ~0ull >> (64 - bits->w);

    while (open != 0 && now.n_match * bits->w > lp_ibp_worth(&best)) {
        uint32_t most = 0, at = 0;
        uint64_t value = 0;

        for (uint64_t left = open; left != 0; left &= left - 1) {
            const uint32_t b = (uint32_t)__builtin_ctzll(left);
            const uint32_t ones = common(&match, &bits->bit[b]), zeros = now.n_match - ones;
            const uint32_t n = LP_MAX(ones, zeros);

            if (n == now.n_match) {
                lp_ibp_mask_bit(&now, b, ones > zeros, n);
                open &= ~(1ull << b);
            } else if (n > most) {
                most = n;
                at = b;
                value = ones > zeros;
            }
        }
        if (lp_ibp_worth(&now) > lp_ibp_worth(&best))
            best = now;
        if (most == 0)
            break;
        lp_ibp_mask_bit(&now, at, value, most);
        lp_ibp_keep(&match, bits, at, value);
        open &= ~(1ull << at);
        if (lp_ibp_worth(&now) > lp_ibp_worth(&best))
            best = now;
    }
    return best;
}

/* Records that match a choice, and those that only one of its bits keeps from it. */
LP_IBP_INLINE void lp_ibp_near(const struct lp_ibp_bits *bits, const struct lp_ibp_pick *pick,
                               struct lp_ibp_set *ret_match, struct lp_ibp_set *ret_near)
{
    struct lp_ibp_set one = {{0}}, two = {{0}};

    for (uint64_t left = pick->mask; left != 0; left &= left - 1) {
        const uint32_t b = (uint32_t)__builtin_ctzll(left);
        const uint64_t flip = 0 - (pick->value >> b & 1);

        for (uint32_t i = 0; i < LP_IBP_SET_WORDS; i++) {
            const uint64_t off = bits->bit[b].word[i] ^ flip;

            two.word[i] |= one.word[i] & off;
            one.word[i] |= off;
        }
    }
    for (uint32_t i = 0; i < LP_IBP_SET_WORDS; i++) {
        ret_match->word[i] = bits->all.word[i] & ~one.word[i];
        ret_near->word[i] = bits->all.word[i] & one.word[i] & ~two.word[i];
    }
}

/* now with bit b masked, or no longer, or masked as its opposite, whichever is worth most. */
LP_IBP_INLINE struct lp_ibp_choice lp_ibp_turn(const struct lp_ibp_choice *now, uint32_t b,
                                               uint32_t ones, uint32_t n_near)
{
    const uint64_t bit = 1ull << b;
    struct lp_ibp_choice next = *now, flipped = *now;

    if ((now->pick.mask & bit) == 0) {
        lp_ibp_mask_bit(&next, b, ones > now->n_match - ones, LP_MAX(ones, now->n_match - ones));
        return next;
    }
    flipped.pick.value ^= bit;
    flipped.n_match = (now->pick.value & bit) != 0 ? n_near - ones : ones;
    next.pick.mask &= ~bit;
    next.pick.value &= ~bit;
    next.n_bits--;
    next.n_match += flipped.n_match;
    return lp_ibp_worth(&flipped) > lp_ibp_worth(&next) ? flipped : next;
}

/* Go on to the best choice that differs in one bit, for as long as that is better. */
LP_IBP_INLINE void lp_ibp_climb(const struct lp_ibp_bits *bits, struct lp_ibp_choice *choice,
                                lp_ibp_common_fn common)
{
    for (;;) {
        struct lp_ibp_choice best;
        struct lp_ibp_set match, near;
        uint32_t n_near;

        lp_ibp_near(bits, &choice->pick, &match, &near);
        n_near = common(&near, &bits->all);
        choice->n_match = common(&match, &bits->all);
        best = *choice;
        for (uint32_t b = 0; b < bits->w; b++) {
            const bool masked = (choice->pick.mask >> b & 1) != 0;
            const uint32_t ones = common(masked ? &near : &match, &bits->bit[b]);
            const struct lp_ibp_choice next = lp_ibp_turn(choice, b, ones, n_near);

            if (lp_ibp_worth(&next) > lp_ibp_worth(&best))
                best = next;
        }
        if (lp_ibp_worth(&best) == lp_ibp_worth(choice))
            return;
        *choice = best;
    }
}

/* As codec/ops.h describes ibp_pick. */
LP_IBP_INLINE void lp_ibp_pick(const struct lp_ibp_column *column, struct lp_ibp_pick *pick,
                               lp_ibp_common_fn common)
{
    struct lp_ibp_choice given = {.pick = *pick}, best;
    struct lp_ibp_bits bits;

    lp_ibp_bits_of(column, &bits);
    best = lp_ibp_greedy(&bits, common);
    lp_ibp_climb(&bits, &best, common);
    for (uint64_t left = pick->mask; left != 0; left &= left - 1)
        given.n_bits++;
    if (pick->mask != best.pick.mask || pick->value != best.pick.value)
        lp_ibp_climb(&bits, &given, common);
    *pick = lp_ibp_worth(&given) > lp_ibp_worth(&best) ? given.pick : best.pick;
}

#endif
