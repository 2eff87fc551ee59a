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
    /* Open addressing: a value stands at the first free place from its hash on, as its symbol + 1
     * in the upper half and the lower half of lp_dict_fold() in the lower one; 0 where there is
     * none. 2^slot_bits places, in the block of values. */
    uint32_t *slots;
    uint32_t slot_bits;
    uint32_t hash_factor;
};

static inline uint32_t lp_dict_symbols(const struct lp_dict *dict)
{
    return dict->first[dict->n_levels];
}

/* What is hashed: either half of a wide value may be the same for all. */
static inline uint32_t lp_dict_fold(uint64_t word)
{
    return (uint32_t)(word ^ word >> 32);
}

/* Where to begin looking for a value. One-byte values stand at their own place: the factor only
 * shifts them up. */
static inline uint32_t lp_dict_slot(const struct lp_dict *dict, uint32_t fold)
{
    return fold * dict->hash_factor >> (32 - dict->slot_bits);
}

/* The symbol of a value, or n_symbols: it has none. elem_bytes is the dictionary's. */
static inline __attribute__((always_inline)) uint32_t
lp_dict_find_of(const struct lp_dict *dict, const uint32_t elem_bytes, uint64_t word)
{
    const uint32_t fold = lp_dict_fold(word), mask = (1u << dict->slot_bits) - 1;
    uint32_t slot = lp_dict_slot(dict, fold);

    for (; dict->slots[slot] != 0; slot = (slot + 1) & mask) {
        const uint32_t symbol = (dict->slots[slot] >> 16) - 1;

        if ((uint16_t)dict->slots[slot] == (uint16_t)fold &&
            (elem_bytes <= 2 ||
             lp_load_uint(dict->values + (size_t)symbol * elem_bytes, elem_bytes) == word))
            return symbol;
    }
    return lp_dict_symbols(dict);
}

static inline uint32_t lp_dict_find(const struct lp_dict *dict, uint64_t word)
{
    return lp_dict_find_of(dict, dict->elem_bytes, word);
}

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
