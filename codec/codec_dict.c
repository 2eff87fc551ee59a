/* SPDX-License-Identifier: Apache-2.0 */
/* Codec dict: parameters and metadata. The records themselves are coded in the tiers.
 *
 * Values are coded by their rank among the most frequent ones, in the same cascade of levels as the
 * exponents of codec lane, but with levels of up to eight bits. Source: docs/FORMAT.md, section 7.
 */
#include "base/alloc.h"
#include "codec/dict.h"
#include "codec/dict_places.h"

#include <string.h>

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

int lp_codec_dict_init(struct lp_dict *ret_dict, uint32_t elem_bytes, uint32_t n_levels,
                       const uint8_t *widths, uint32_t n_values, const void *values,
                       struct lp_error *err)
{
    struct lp_dict dict = {.elem_bytes = elem_bytes};
    int rc;

    memset(ret_dict, 0, sizeof(*ret_dict));
    LP_TRY(rc, check_sizes(elem_bytes, n_levels, err));
    LP_TRY(rc, set_levels(&dict, n_levels, widths, n_values, err));
    rc = lp_codec_dict_place(&dict, values, err);
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
