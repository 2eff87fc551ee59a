/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of codec dict (docs/FORMAT.md, section 7): the distinct values that have a symbol,
 * and the cascade of levels that codes symbols. */
#ifndef LP_CODEC_DICT_H
#define LP_CODEC_DICT_H

#include "base/bytes.h"
#include "base/error.h"
#include "codec/format.h"

/* Bytes before the first value that may be read, and bytes behind the last level's last possible
 * value: vectors are loaded whole. What lies there is never used as a value. */
#define LP_DICT_SLACK_BYTES 64u

/* Parsed metadata, with the tables that an encoder needs made once. Copies share what is owned; one
 * of them ends with lp_codec_dict_fini(). */
struct lp_dict {
    uint32_t elem_bytes; /* 1, 2, 4 or 8 */
    uint32_t n_levels;
    uint8_t widths[LP_FORMAT_DICT_LEVELS_MAX];
    uint32_t n_values; /* symbols that stand for something: 0 .. n_values - 1 */
    uint16_t first[LP_FORMAT_DICT_LEVELS_MAX + 1]; /* symbol of a level's code 1; then, behind the
                                                      last level, n_symbols */
    uint32_t last_codes; /* the last level's largest code that has a value */
    uint8_t *values;     /* owned, aligned to 64: elem_bytes per symbol, zeros from n_values up to
                            n_symbols, LP_DICT_SLACK_BYTES on both sides */
    /* Where an encoder finds an element's symbol, in the block of values: at a place of its own in
     * its group, which begins at a place of the group's. Elements of 1 or 2 bytes have groups of
     * neighbours; wider ones have both from a hash that keeps all values apart. */
    uint32_t *group_at;
    uint16_t *symbol_at; /* of narrow elements; n_symbols where nothing stands */
    uint8_t *entry_at;   /* of wider ones: a value and its symbol, elem_bytes each; where nothing
                            stands a value that stands elsewhere */
    uint32_t group_shift, place_shift, place_mask; /* of the hash */
    uint32_t hash_factor; /* 0: there is no hash, and each wider element is compared with all values
                             in turn */
};

static inline uint32_t lp_dict_symbols(const struct lp_dict *dict)
{
    return dict->first[dict->n_levels];
}

/* Elements of 1 or 2 bytes in a group differ in so many bits, the lowest ones. */
#define LP_DICT_NEAR_BITS 6u

/* What gives group and place of an element; elem_bytes is the dictionary's, and with 4 or 8
 * hash_factor is not 0. Values have few bits in common with numbers that are drawn at random: often
 * only their upper ones are used, which are folded down before the factor spreads them. */
static inline __attribute__((always_inline)) uint32_t
lp_dict_hash(const struct lp_dict *dict, const uint32_t elem_bytes, uint64_t word)
{
    uint32_t fold = (uint32_t)word;

    if (elem_bytes <= 2)
        return fold;
    if (elem_bytes == 8)
        fold += (uint32_t)(word >> 32) * dict->hash_factor;
    return (fold ^ fold >> 16) * dict->hash_factor;
}

static inline __attribute__((always_inline)) uint32_t
lp_dict_group(const struct lp_dict *dict, const uint32_t elem_bytes, uint32_t hash)
{
    return elem_bytes <= 2 ? hash >> LP_DICT_NEAR_BITS : hash >> dict->group_shift;
}

static inline __attribute__((always_inline)) uint32_t
lp_dict_place(const struct lp_dict *dict, const uint32_t elem_bytes, uint32_t hash)
{
    return elem_bytes <= 2 ? hash & ((1u << LP_DICT_NEAR_BITS) - 1)
                           : hash >> dict->place_shift & dict->place_mask;
}

/* The symbol of an element's value, or n_symbols: it has none. */
uint32_t lp_dict_find(const struct lp_dict *dict, uint64_t word);

/* From parameters to a checked struct. widths and values borrow for the call: n_levels widths,
 * n_values elements in the order of their symbols. LP_ENOTSUP: elements of this size have no
 * dictionary. LP_ECORRUPT: a parameter breaks docs/FORMAT.md. LP_ENOMEM. On failure *ret_dict owns
 * nothing. */
int lp_codec_dict_init(struct lp_dict *ret_dict, uint32_t elem_bytes, uint32_t n_levels,
                       const uint8_t *widths, uint32_t n_values, const void *values,
                       struct lp_error *err);

/* Ends a dictionary; NULL and zeroed ones are fine. */
void lp_codec_dict_fini(struct lp_dict *dict);

/* The metadata section's bytes: size, emit, parse. On failure *ret_dict owns nothing. */
uint64_t lp_codec_dict_meta_bytes(const struct lp_dict *dict);
void lp_codec_dict_meta_emit(const struct lp_dict *dict, void *dst);
int lp_codec_dict_meta_parse(struct lp_dict *ret_dict, uint32_t elem_bytes, const void *meta,
                             uint64_t meta_bytes, struct lp_error *err);

/* Choose values and levels for data like these n elements, 0 < n < 2^32, borrowed: of all lists of
 * up to LP_DICT_LEARN_LEVELS levels the one with which elements and metadata are smallest.
 * *ret_payload_bytes gets the size of the elements coded as one record. LP_ENOTSUP, with a
 * sentence: elements of this size have no dictionary, or they have more than LP_DICT_DISTINCT_MAX
 * distinct values (of elements with 1 or 2 bytes any number is counted). LP_EINVAL: no elements.
 * LP_ENOMEM.
 */
#define LP_DICT_LEARN_LEVELS 4u
#define LP_DICT_DISTINCT_MAX 65536u
int lp_codec_dict_learn(struct lp_dict *ret_dict, uint32_t elem_bytes, const void *elements,
                        uint64_t n, uint64_t *ret_payload_bytes, struct lp_error *err);

#endif
