/* SPDX-License-Identifier: Apache-2.0 */
/* Codec dict: parameters and metadata. The records themselves are coded in the tiers.
 *
 * Values are coded by their rank among the most frequent ones, in the same cascade of levels as the
 * exponents of codec lane, but with levels of up to eight bits. Source: docs/FORMAT.md, section 7.
 */
#include "base/alloc.h"
#include "codec/dict.h"

#include <string.h>

/* Places per value in the hash table, at least: few values are then pushed on by another. */
#define SLOTS_PER_VALUE 4u
#define SLOT_BITS_MIN 6u
#define SLOT_BITS_BYTE 8u            /* a place for each value of one byte */
#define HASH_FACTOR 0x9e3779b1u      /* 2^32 over the golden ratio: Knuth's multiplicative hash */
#define HASH_FACTOR_BYTE (1u << 24u) /* to the upper eight bits, which are the place */

#define META_WIDTHS 1u
#define META_ZERO_16 6u
#define META_VALUES 8u
#define META_ZERO_32 12u

static int check_sizes(uint32_t elem_bytes, uint32_t n_levels, struct lp_error *err)
{
    if (elem_bytes != 1 && elem_bytes != 2 && elem_bytes != 4 && elem_bytes != 8)
        return lp_error_set(err, LP_ENOTSUP, "codec dict takes elements of 1, 2, 4 or 8 bytes");
    if (n_levels < 1 || n_levels > LP_FORMAT_DICT_LEVELS_MAX)
        return lp_error_set(err, LP_ECORRUPT, "dict metadata: %u levels, of 1 to %u",
                            (unsigned)n_levels, LP_FORMAT_DICT_LEVELS_MAX);
    return 0;
}

static int set_levels(struct lp_dict *dict, uint32_t n_levels, const uint8_t *widths,
                      uint32_t n_values, struct lp_error *err)
{
    uint32_t n_symbols = 0;

    for (uint32_t k = 0; k < n_levels; k++) {
        if (widths[k] < 1 || widths[k] > LP_FORMAT_DICT_WIDTH_MAX)
            return lp_error_set(err, LP_ECORRUPT, "dict metadata: level %u has %u bits, of 1 to %u",
                                (unsigned)k + 1, (unsigned)widths[k], LP_FORMAT_DICT_WIDTH_MAX);
        dict->widths[k] = widths[k];
        dict->first[k] = (uint16_t)n_symbols;
        n_symbols += (1u << widths[k]) - 1;
    }
    dict->n_levels = n_levels;
    dict->first[n_levels] = (uint16_t)n_symbols;
    if (n_values > n_symbols || n_values <= dict->first[n_levels - 1])
        return lp_error_set(err, LP_ECORRUPT, "dict metadata: %u values for %u symbols",
                            (unsigned)n_values, (unsigned)n_symbols);
    dict->n_values = n_values;
    dict->last_codes = n_values - dict->first[n_levels - 1];
    return 0;
}

/* One block: slack, values, slack, slots. */
static int alloc_tables(struct lp_dict *dict, struct lp_error *err)
{
    const size_t values_bytes = (size_t)lp_round_up_u64(
        (uint64_t)lp_dict_symbols(dict) * dict->elem_bytes + LP_DICT_SLACK_BYTES, 64);
    size_t slots_bytes, all_bytes;
    uint8_t *block;

    dict->hash_factor = dict->elem_bytes == 1 ? HASH_FACTOR_BYTE : HASH_FACTOR;
    dict->slot_bits = dict->elem_bytes == 1 ? SLOT_BITS_BYTE : SLOT_BITS_MIN;
    while (dict->elem_bytes > 1 && 1u << dict->slot_bits < SLOTS_PER_VALUE * dict->n_values)
        dict->slot_bits++;
    slots_bytes = sizeof(dict->slots[0]) << dict->slot_bits;
    all_bytes = LP_DICT_SLACK_BYTES + values_bytes + slots_bytes;
    block = lp_mem_alloc_aligned(64, all_bytes);
    if (block == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u values", (unsigned)dict->n_values);
    memset(block, 0, all_bytes);
    dict->values = block + LP_DICT_SLACK_BYTES;
    dict->slots = (uint32_t *)(void *)(dict->values + values_bytes);
    return 0;
}

/* Values and their places in the hash table, most frequent first, so that those are found at once.
 */
static int set_values(struct lp_dict *dict, const uint8_t *values, struct lp_error *err)
{
    const uint32_t mask = (1u << dict->slot_bits) - 1;

    memcpy(dict->values, values, (size_t)dict->n_values * dict->elem_bytes);
    for (uint32_t i = 0; i < dict->n_values; i++) {
        const uint64_t word = lp_load_uint(values + (size_t)i * dict->elem_bytes, dict->elem_bytes);
        uint32_t slot = lp_dict_slot(dict, lp_dict_fold(word));

        if (lp_dict_find(dict, word) != lp_dict_symbols(dict))
            return lp_error_set(err, LP_ECORRUPT, "dict metadata: value %u appears twice",
                                (unsigned)i);
        while (dict->slots[slot] != 0)
            slot = (slot + 1) & mask;
        dict->slots[slot] = (i + 1) << 16 | (lp_dict_fold(word) & 0xffff);
    }
    return 0;
}

int lp_codec_dict_init(struct lp_dict *ret_dict, uint32_t elem_bytes, uint32_t n_levels,
                       const uint8_t *widths, uint32_t n_values, const void *values,
                       struct lp_error *err)
{
    struct lp_dict dict = {.elem_bytes = elem_bytes};
    int rc;

    memset(ret_dict, 0, sizeof(*ret_dict));
    LP_TRY(rc, check_sizes(elem_bytes, n_levels, err));
    LP_TRY(rc, set_levels(&dict, n_levels, widths, n_values, err));
    LP_TRY(rc, alloc_tables(&dict, err));
    rc = set_values(&dict, values, err);
    if (rc < 0) {
        lp_codec_dict_fini(&dict);
        return rc;
    }
    *ret_dict = dict;
    return 0;
}

void lp_codec_dict_fini(struct lp_dict *dict)
{
    if (dict == NULL)
        return;
    if (dict->values != NULL)
        lp_mem_free(dict->values - LP_DICT_SLACK_BYTES);
    memset(dict, 0, sizeof(*dict));
}

uint64_t lp_codec_dict_meta_bytes(const struct lp_dict *dict)
{
    return LP_FORMAT_DICT_META_FIXED + (uint64_t)dict->n_values * dict->elem_bytes;
}

void lp_codec_dict_meta_emit(const struct lp_dict *dict, void *dst)
{
    uint8_t *const meta = dst;

    memset(meta, 0, LP_FORMAT_DICT_META_FIXED);
    meta[0] = (uint8_t)dict->n_levels;
    memcpy(meta + META_WIDTHS, dict->widths, dict->n_levels);
    lp_store_u32(meta + META_VALUES, dict->n_values);
    memcpy(meta + LP_FORMAT_DICT_META_FIXED, dict->values,
           (size_t)dict->n_values * dict->elem_bytes);
}

/* The fixed bytes and the size; what lp_codec_dict_init() checks is left to it. */
static int check_meta(uint32_t elem_bytes, const uint8_t *meta, uint64_t meta_bytes,
                      struct lp_error *err)
{
    uint64_t n_values;

    if (meta_bytes < LP_FORMAT_DICT_META_FIXED)
        return lp_error_set(err, LP_ECORRUPT, "dict metadata has %llu bytes, of %u at least",
                            (unsigned long long)meta_bytes, LP_FORMAT_DICT_META_FIXED);
    if (lp_load_u16(meta + META_ZERO_16) != 0 || lp_load_u32(meta + META_ZERO_32) != 0)
        return lp_error_set(err, LP_ECORRUPT, "dict metadata: reserved bytes are not zero");
    for (uint32_t k = meta[0]; k < LP_FORMAT_DICT_LEVELS_MAX; k++) {
        if (meta[META_WIDTHS + k] != 0)
            return lp_error_set(err, LP_ECORRUPT, "dict metadata: width %u of level %u, of %u",
                                (unsigned)meta[META_WIDTHS + k], (unsigned)k + 1,
                                (unsigned)meta[0]);
    }
    n_values = lp_load_u32(meta + META_VALUES);
    if (meta_bytes != LP_FORMAT_DICT_META_FIXED + n_values * elem_bytes)
        return lp_error_set(err, LP_ECORRUPT, "dict metadata has %llu bytes for %llu values",
                            (unsigned long long)meta_bytes, (unsigned long long)n_values);
    return 0;
}

int lp_codec_dict_meta_parse(struct lp_dict *ret_dict, uint32_t elem_bytes, const void *meta,
                             uint64_t meta_bytes, struct lp_error *err)
{
    const uint8_t *const fixed = meta;
    int rc;

    memset(ret_dict, 0, sizeof(*ret_dict));
    LP_TRY(rc, check_meta(elem_bytes, fixed, meta_bytes, err));
    return lp_codec_dict_init(ret_dict, elem_bytes, fixed[0], fixed + META_WIDTHS,
                              lp_load_u32(fixed + META_VALUES), fixed + LP_FORMAT_DICT_META_FIXED,
                              err);
}
