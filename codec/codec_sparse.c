/* SPDX-License-Identifier: Apache-2.0 */
/* Codec sparse: metadata, and records.
 *
 * In between elements and a record stand a map of the non-zero elements and these elements back to
 * back, the values. Making both from elements and elements from both is up to the tiers; places and
 * values then go their own ways. Source: docs/FORMAT.md, section 8. */
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "codec/sparse.h"
#include "codec/sparse_places.h"

#include <string.h>

#define HEAD_BYTES 2u
#define ONE_BYTES 8u /* of the one value in the metadata */
#define VALUES_BYTES (LP_FORMAT_RECORD_BYTES_MAX + LP_CODEC_SLACK_BYTES)
#define CODED_BYTES (VALUES_BYTES + LP_FORMAT_COUNTS_ROW_BYTES)

void lp_codec_sparse_fini(struct lp_sparse *sparse)
{
    if (sparse == NULL)
        return;
    lp_codec_lane_fini(&sparse->lane);
    lp_codec_dict_fini(&sparse->dict);
    lp_codec_counts_fini(&sparse->counts);
    memset(sparse, 0, sizeof(*sparse));
}

/* --- metadata -------------------------------------------------------------------------------- */

uint64_t lp_codec_sparse_meta_bytes(const struct lp_sparse *sparse)
{
    switch ((enum lp_sparse_values)sparse->values) {
    case LP_SPARSE_VALUES_ONE:
        return LP_FORMAT_SPARSE_META_FIXED + ONE_BYTES;
    case LP_SPARSE_VALUES_LANE:
        return LP_FORMAT_SPARSE_META_FIXED + lp_codec_lane_meta_bytes(&sparse->lane);
    case LP_SPARSE_VALUES_DICT:
        return LP_FORMAT_SPARSE_META_FIXED + lp_codec_dict_meta_bytes(&sparse->dict);
    case LP_SPARSE_VALUES_COUNTS:
        return LP_FORMAT_SPARSE_META_FIXED + lp_codec_counts_meta_bytes(&sparse->counts);
    case LP_SPARSE_VALUES_RAW:
        break;
    }
    return LP_FORMAT_SPARSE_META_FIXED;
}

void lp_codec_sparse_meta_emit(const struct lp_sparse *sparse, void *dst)
{
    uint8_t *const meta = dst;

    memset(meta, 0, LP_FORMAT_SPARSE_META_FIXED);
    meta[0] = (uint8_t)sparse->values;
    switch ((enum lp_sparse_values)sparse->values) {
    case LP_SPARSE_VALUES_ONE:
        memcpy(meta + LP_FORMAT_SPARSE_META_FIXED, sparse->one, ONE_BYTES);
        break;
    case LP_SPARSE_VALUES_LANE:
        lp_codec_lane_meta_emit(&sparse->lane, meta + LP_FORMAT_SPARSE_META_FIXED);
        break;
    case LP_SPARSE_VALUES_DICT:
        lp_codec_dict_meta_emit(&sparse->dict, meta + LP_FORMAT_SPARSE_META_FIXED);
        break;
    case LP_SPARSE_VALUES_COUNTS:
        lp_codec_counts_meta_emit(&sparse->counts, meta + LP_FORMAT_SPARSE_META_FIXED);
        break;
    case LP_SPARSE_VALUES_RAW:
        break;
    }
}

static int parse_one(struct lp_sparse *sparse, const uint8_t *meta, uint64_t meta_bytes,
                     struct lp_error *err)
{
    if (meta_bytes != ONE_BYTES)
        return lp_error_set(err, LP_ECORRUPT, "sparse metadata: one value in %llu bytes",
                            (unsigned long long)meta_bytes);
    memcpy(sparse->one, meta, ONE_BYTES);
    for (uint32_t i = sparse->elem_bytes; i < ONE_BYTES; i++)
        if (meta[i] != 0)
            return lp_error_set(err, LP_ECORRUPT, "sparse metadata: byte %u behind the one value",
                                (unsigned)i);
    return 0;
}

/* Columns are bound to the places of elements, which values have left. */
static int parse_lane(struct lp_sparse *sparse, uint32_t dtype, uint32_t record_elements,
                      const uint8_t *meta, uint64_t meta_bytes, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, lp_codec_lane_meta_parse(&sparse->lane, dtype, record_elements, record_elements,
                                        meta, meta_bytes, err));
    if (sparse->lane.window == LP_LANE_WINDOW_TABLE)
        return 0;
    lp_codec_lane_fini(&sparse->lane);
    return lp_error_set(err, LP_ECORRUPT, "sparse metadata: values with a window of kind %u",
                        (unsigned)meta[6]);
}

static int parse_counts(struct lp_sparse *sparse, uint32_t dtype, uint32_t record_elements,
                        const uint8_t *meta, uint64_t meta_bytes, struct lp_error *err)
{
    if (dtype != LP_DTYPE_F32)
        return lp_error_set(err, LP_ECORRUPT, "sparse metadata: counts are of f32 alone");
    return lp_codec_counts_meta_parse(&sparse->counts, record_elements, meta, meta_bytes, err);
}

static int check_fixed(const struct lp_dtype_info *info, uint32_t record_elements,
                       const uint8_t *meta, uint64_t meta_bytes, struct lp_error *err)
{
    if (info == NULL || (info->bytes & (info->bytes - 1)) != 0 ||
        record_elements > LP_FORMAT_SPARSE_ELEMENTS_MAX)
        return lp_error_set(err, LP_ECORRUPT, "codec sparse on records of %u elements of %u bytes",
                            (unsigned)record_elements, info != NULL ? (unsigned)info->bytes : 0);
    if (meta_bytes < LP_FORMAT_SPARSE_META_FIXED)
        return lp_error_set(err, LP_ECORRUPT, "sparse metadata has %llu bytes, of %u at least",
                            (unsigned long long)meta_bytes, LP_FORMAT_SPARSE_META_FIXED);
    for (uint32_t i = 1; i < LP_FORMAT_SPARSE_META_FIXED; i++)
        if (meta[i] != 0)
            return lp_error_set(err, LP_ECORRUPT, "sparse metadata: byte %u is not zero",
                                (unsigned)i);
    return 0;
}

int lp_codec_sparse_meta_parse(struct lp_sparse *ret_sparse, uint32_t dtype,
                               uint32_t record_elements, const void *meta, uint64_t meta_bytes,
                               struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const uint8_t *const fixed = meta, *const inner = fixed + LP_FORMAT_SPARSE_META_FIXED;
    struct lp_sparse *const sparse = ret_sparse;
    int rc;

    LP_TRY(rc, check_fixed(info, record_elements, fixed, meta_bytes, err));
    meta_bytes -= LP_FORMAT_SPARSE_META_FIXED;
    memset(sparse, 0, sizeof(*sparse));
    sparse->values = fixed[0];
    sparse->elem_bytes = info->bytes;
    switch (sparse->values) {
    case LP_SPARSE_VALUES_ONE:
        return parse_one(sparse, inner, meta_bytes, err);
    case LP_SPARSE_VALUES_RAW:
        return meta_bytes == 0 ? 0
                               : lp_error_set(err, LP_ECORRUPT,
                                              "sparse metadata: %llu bytes for "
                                              "values as they are",
                                              (unsigned long long)meta_bytes);
    case LP_SPARSE_VALUES_LANE:
        return parse_lane(sparse, dtype, record_elements, inner, meta_bytes, err);
    case LP_SPARSE_VALUES_DICT:
        return lp_codec_dict_meta_parse(&sparse->dict, info->bytes, inner, meta_bytes, err);
    case LP_SPARSE_VALUES_COUNTS:
        return parse_counts(sparse, dtype, record_elements, inner, meta_bytes, err);
    default:
        return lp_error_set(err, LP_ECORRUPT, "sparse metadata: values of kind %u",
                            (unsigned)fixed[0]);
    }
}

/* --- encoding -------------------------------------------------------------------------------- */

/* A record on its way; on the stack of whoever encodes it. */
struct encoding {
    uint64_t map[LP_SPARSE_MAP_WORDS];
    uint8_t values[VALUES_BYTES];
    uint8_t coded[CODED_BYTES]; /* the values again, where dst has no room to try */
};

static bool all_are_one(const struct lp_sparse *sparse, const uint8_t *values, uint32_t m)
{
    const uint32_t size = sparse->elem_bytes;

    return memcmp(values, sparse->one, size) == 0 &&
           memcmp(values, values + size, (size_t)(m - 1) * size) == 0;
}

/* Values in their coded form; its size, which may be 0, or -1 when they have none below limit. */
static int32_t code_values(const struct lp_sparse *sparse, const struct lp_codec_ops *ops,
                           const uint64_t *map, const uint8_t *values, uint32_t m, uint8_t *dst,
                           uint32_t limit)
{
    uint32_t size = 0;

    switch ((enum lp_sparse_values)sparse->values) {
    case LP_SPARSE_VALUES_ONE:
        return all_are_one(sparse, values, m) ? 0 : -1;
    case LP_SPARSE_VALUES_LANE:
        size = ops->lane_encode(&sparse->lane, values, m, dst, limit);
        break;
    case LP_SPARSE_VALUES_DICT:
        size = ops->dict_encode(&sparse->dict, values, m, dst, limit);
        break;
    case LP_SPARSE_VALUES_COUNTS:
        size = lp_codec_counts_encode(&sparse->counts, ops, map, values, m, dst, limit);
        break;
    case LP_SPARSE_VALUES_RAW:
        break;
    }
    return size == 0 ? -1 : (int32_t)size;
}

/* Values from at on, and the head; the record's size or 0. Where the coded form has to be below
 * what is left of limit, so has the plain one, and a record that has neither is stored raw. */
static uint32_t put_values(const struct lp_sparse *sparse, const struct lp_codec_ops *ops,
                           struct encoding *encoding, const struct lp_sparse_places *places,
                           uint8_t *dst, uint32_t at, uint32_t limit_bytes)
{
    const uint32_t m = places->m, plain_bytes = m * sparse->elem_bytes;
    const bool fits =
        at + LP_FORMAT_COUNTS_ROW_BYTES + plain_bytes <= places->n * sparse->elem_bytes;
    uint8_t *const out = fits ? dst + at : encoding->coded;
    const int32_t size = code_values(sparse, ops, encoding->map, encoding->values, m, out,
                                     LP_MIN(plain_bytes, limit_bytes - at));

    if (size >= 0) {
        if (!fits)
            memcpy(dst + at, out, (size_t)size);
        lp_store_u16(dst, (uint16_t)m);
        return at + (uint32_t)size;
    }
    if (plain_bytes >= limit_bytes - at)
        return 0;
    memcpy(dst + at, encoding->values, plain_bytes);
    lp_store_u16(
        dst, (uint16_t)(sparse->values == LP_SPARSE_VALUES_RAW ? m : m | LP_FORMAT_SPARSE_PLAIN));
    return at + plain_bytes;
}

uint32_t lp_codec_sparse_encode(const struct lp_sparse *sparse, const struct lp_codec_ops *ops,
                                const void *src, uint32_t n, void *dst, uint32_t limit_bytes)
{
    struct encoding encoding;
    struct lp_sparse_places places;
    uint8_t *const out = dst;
    uint32_t m, at;

    if (n == 0 || limit_bytes <= HEAD_BYTES)
        return 0;
    m = ops->sparse_find(sparse->elem_bytes, src, n, encoding.map, encoding.values);
    if (m > LP_FORMAT_SPARSE_COUNT_MASK)
        return 0;
    if (m == 0) {
        lp_store_u16(out, 0);
        return HEAD_BYTES;
    }
    places = lp_sparse_places(n, m);
    at = HEAD_BYTES + places.bytes;
    if (at >= limit_bytes)
        return 0;
    lp_codec_sparse_places_put(&places, encoding.map, out + HEAD_BYTES);
    return put_values(sparse, ops, &encoding, &places, out, at, limit_bytes);
}

/* --- decoding -------------------------------------------------------------------------------- */

/* The record ends at used: nothing but zeros, fewer than an alignment, stand behind. */
static bool end_is_right(const uint8_t *src, uint32_t src_bytes, uint32_t used,
                         uint32_t align_bytes)
{
    uint8_t any = 0;

    if (used > src_bytes || src_bytes - used >= align_bytes)
        return false;
    for (uint32_t i = used; i < src_bytes; i++)
        any |= src[i];
    return any == 0;
}

static void repeat_one(const struct lp_sparse *sparse, uint8_t *values, uint32_t m)
{
    const size_t bytes = (size_t)m * sparse->elem_bytes;

    memcpy(values, sparse->one, sparse->elem_bytes);
    for (size_t have = sparse->elem_bytes; have < bytes; have *= 2)
        memcpy(values + have, values, LP_MIN(have, bytes - have));
}

/* A row's scale and its symbols, then elements. symbols has room for them. */
static int spread_counts(const struct lp_counts *counts, const struct lp_codec_ops *ops,
                         const struct lp_sparse_places *places, const uint64_t *map,
                         const uint8_t *src, uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                         uint8_t *symbols)
{
    uint32_t row;
    int rc;

    if (src_bytes < LP_FORMAT_COUNTS_ROW_BYTES)
        return LP_ECORRUPT;
    row = lp_load_u32(src);
    if (!lp_counts_is_scale(row))
        return LP_ECORRUPT;
    rc = ops->dict_decode(&counts->symbols, src + LP_FORMAT_COUNTS_ROW_BYTES,
                          src_bytes - LP_FORMAT_COUNTS_ROW_BYTES, align_bytes, symbols, places->m);
    if (rc == 0)
        ops->counts_spread(counts, row, map, places->n, symbols, dst);
    return rc;
}

/* Values in their coded form, then elements. A function of its own for its frame. */
static __attribute__((noinline)) int
spread_coded(const struct lp_sparse *sparse, const struct lp_codec_ops *ops,
             const struct lp_sparse_places *places, const uint64_t *map, const uint8_t *src,
             uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst, const void *ahead)
{
    uint8_t values[VALUES_BYTES];
    int rc = 0;

    switch ((enum lp_sparse_values)sparse->values) {
    case LP_SPARSE_VALUES_ONE:
        if (!end_is_right(src, src_bytes, 0, align_bytes))
            return LP_ECORRUPT;
        repeat_one(sparse, values, places->m);
        break;
    case LP_SPARSE_VALUES_LANE:
        rc = ops->lane_decode(&sparse->lane, src, src_bytes, align_bytes, values, places->m, ahead);
        break;
    case LP_SPARSE_VALUES_DICT:
        rc = ops->dict_decode(&sparse->dict, src, src_bytes, align_bytes, values, places->m);
        break;
    case LP_SPARSE_VALUES_COUNTS:
        return spread_counts(&sparse->counts, ops, places, map, src, src_bytes, align_bytes, dst,
                             values);
    case LP_SPARSE_VALUES_RAW:
        rc = LP_ECORRUPT;
    }
    if (rc == 0)
        ops->sparse_spread(sparse->elem_bytes, map, places->n, values, dst);
    return rc;
}

/* What a head may say: m of n elements, plain only where there is another way. */
static bool head_is_right(const struct lp_sparse *sparse, uint32_t head, uint32_t n)
{
    const uint32_t m = head & LP_FORMAT_SPARSE_COUNT_MASK;

    return m <= n && (head <= LP_FORMAT_SPARSE_COUNT_MASK ||
                      (m > 0 && sparse->values != LP_SPARSE_VALUES_RAW));
}

int lp_codec_sparse_decode(const struct lp_sparse *sparse, const struct lp_codec_ops *ops,
                           const void *src, uint32_t src_bytes, uint32_t align_bytes, void *dst,
                           uint32_t n, const void *ahead)
{
    const uint32_t size = sparse->elem_bytes;
    const uint8_t *const in = src;
    uint64_t map[LP_SPARSE_MAP_WORDS];
    struct lp_sparse_places places;
    uint32_t head, m, at;

    if (src_bytes < HEAD_BYTES)
        return LP_ECORRUPT;
    head = lp_load_u16(in);
    m = head & LP_FORMAT_SPARSE_COUNT_MASK;
    if (!head_is_right(sparse, head, n))
        return LP_ECORRUPT;
    if (m == 0) {
        memset(dst, 0, (size_t)n * size);
        return end_is_right(in, src_bytes, HEAD_BYTES, align_bytes) ? 0 : LP_ECORRUPT;
    }
    places = lp_sparse_places(n, m);
    at = HEAD_BYTES + places.bytes;
    if (at > src_bytes || !lp_codec_sparse_places_get(&places, in + HEAD_BYTES, map))
        return LP_ECORRUPT;
    if (head <= LP_FORMAT_SPARSE_COUNT_MASK && sparse->values != LP_SPARSE_VALUES_RAW)
        return spread_coded(sparse, ops, &places, map, in + at, src_bytes - at, align_bytes, dst,
                            ahead);
    if (!end_is_right(in, src_bytes, at + m * size, align_bytes))
        return LP_ECORRUPT;
    ops->sparse_spread(size, map, n, in + at, dst);
    return 0;
}
