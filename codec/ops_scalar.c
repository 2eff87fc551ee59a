/* SPDX-License-Identifier: Apache-2.0 */
/* The reference tier: one element at a time, as docs/FORMAT.md tells it. Every other tier is
 * compared with this one. */
#include "base/bytes.h"
#include "codec/lane_parts.h"
#include "codec/ops.h"
#include "codec/ops_dict.h"
#include "codec/ops_ibp.h"
#include "codec/ops_sparse.h"
#include "codec/scalar_codes.h"

#include <string.h>

/* The other bits of element i, from byte arrays and planes. */
static uint64_t load_other(const struct lp_lane *lane, const uint8_t *src,
                           const struct lp_lane_parts *parts, uint32_t n, uint32_t i)
{
    const uint8_t *array = src;
    uint32_t shift = 0;
    uint64_t other = 0;

    for (uint32_t size = 4; size > 0; size /= 2) {
        if ((lane->byte_bits / 8 & size) == 0)
            continue;
        other |= lp_load_uint(array + (size_t)i * size, size) << shift;
        array += (size_t)n * size;
        shift += 8 * size;
    }
    for (uint32_t p = 0; p < lane->plane_bits; p++)
        other |= (uint64_t)lp_scalar_load_bit(src, parts->planes_bit + (uint64_t)p * n + i)
                 << (shift + p);
    return other;
}

/* No exponent: the source has changed since its parts were counted. */
#define EXPONENT_NONE UINT32_MAX

/* The next element's exponent; next[k] counts what has been read of level k, then of the raw
 * exponents. */
static uint32_t next_exponent(const struct lp_lane *lane, const uint8_t *src,
                              const struct lp_lane_parts *parts, uint32_t *next)
{
    for (uint32_t k = 0; k < lane->n_levels; k++) {
        uint32_t code;

        if (next[k] == parts->count[k])
            return EXPONENT_NONE;
        code = lp_scalar_load_code(src, parts->level_bit[k], lane->widths[k], parts->count[k],
                                   next[k]++);
        if (code != 0)
            return (parts->base + lane->rank_at[k << LP_LANE_LEVEL_SHIFT | code]) &
                   lane->exponent_mask;
    }
    if (next[lane->n_levels] == parts->count[lane->n_levels])
        return EXPONENT_NONE;
    return lp_lane_load_exponent(
        src + parts->raw_byte + next[lane->n_levels]++ * lane->escape_bytes, lane->escape_bytes);
}

/* An element from its parts; what the metadata knows of it comes from there. */
static uint64_t join(const struct lp_lane *lane, uint64_t exponent, uint64_t other)
{
    const uint64_t mantissa = other & ((UINT64_C(1) << lane->kept_bits) - 1);
    const uint64_t sign = lane->sign_bits != 0 ? other >> lane->kept_bits : 0;

    return lane->fixed_value | sign << (8 * lane->elem_bytes - 1) |
           exponent << lane->mantissa_bits | mantissa << lane->trailing_bits;
}

int lp_codec_scalar_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n, const void *ahead)
{
    uint32_t next[LP_FORMAT_LANE_LEVELS_MAX + 1] = {0};
    struct lp_lane_parts parts;

    (void)ahead;
    if (!lp_lane_find_parts(lane, src, src_bytes, align_bytes, n, lp_scalar_count_zeros, &parts))
        return LP_ECORRUPT;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t other = load_other(lane, src, &parts, n, i);
        const uint64_t exponent = next_exponent(lane, src, &parts, next);

        if (exponent == EXPONENT_NONE)
            return LP_ECORRUPT;
        lp_store_uint((uint8_t *)dst + (size_t)i * lane->elem_bytes, lane->elem_bytes,
                      join(lane, exponent, other));
    }
    return 0;
}

/* A bit string that grows at its end. */
struct bit_writer {
    uint8_t *dst;
    uint64_t bit;
};

static void put_bit(struct bit_writer *out, uint32_t value)
{
    if (out->bit % 8 == 0)
        out->dst[out->bit / 8] = 0;
    out->dst[out->bit / 8] |= (uint8_t)((value & 1) << (out->bit % 8));
    out->bit++;
}

static uint64_t load_element(const struct lp_lane *lane, const void *src, uint32_t i)
{
    return lp_load_uint((const uint8_t *)src + (size_t)i * lane->elem_bytes, lane->elem_bytes);
}

/* Element i split: its exponent, and its other bits in *ret_other. */
static uint32_t split(const struct lp_lane *lane, const void *src, uint32_t i, uint64_t *ret_other)
{
    const uint64_t word = load_element(lane, src, i);
    const uint64_t kept = (UINT64_C(1) << lane->kept_bits) - 1;

    *ret_other = word >> lane->trailing_bits & kept;
    if (lane->sign_bits != 0)
        *ret_other |= word >> (8 * lane->elem_bytes - 1) << lane->kept_bits;
    return (uint32_t)(word >> lane->mantissa_bits) & lane->exponent_mask;
}

static uint32_t place_at(const struct lp_lane *lane, const void *src, uint32_t i, uint32_t base)
{
    uint64_t other;

    return lane->place_of[(split(lane, src, i, &other) - base) & lane->exponent_mask];
}

/* The arrays of bytes; returns where they end. */
static uint8_t *put_arrays(const struct lp_lane *lane, const void *src, uint32_t n, uint8_t *dst)
{
    uint32_t shift = 0;
    uint64_t other;

    for (uint32_t size = 4; size > 0; size /= 2) {
        if ((lane->byte_bits / 8 & size) == 0)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            (void)split(lane, src, i, &other);
            lp_store_uint(dst + (size_t)i * size, size, other >> shift);
        }
        dst += (size_t)n * size;
        shift += 8 * size;
    }
    return dst;
}

/* Planes of the other bits, then those of each level, over the elements that get so far. */
static void put_planes(const struct lp_lane *lane, const void *src, uint32_t n, uint32_t base,
                       struct bit_writer *out)
{
    uint64_t other;

    for (uint32_t p = 0; p < lane->plane_bits; p++) {
        for (uint32_t i = 0; i < n; i++) {
            (void)split(lane, src, i, &other);
            put_bit(out, (uint32_t)(other >> (lane->byte_bits + p)));
        }
    }
    for (uint32_t k = 0; k < lane->n_levels; k++) {
        for (uint32_t p = 0; p < lane->widths[k]; p++) {
            for (uint32_t i = 0; i < n; i++) {
                const uint32_t place = place_at(lane, src, i, base);

                if (place >> LP_LANE_LEVEL_SHIFT >= k)
                    put_bit(out, place >> LP_LANE_LEVEL_SHIFT == k ? place >> p : 0);
            }
        }
    }
}

static uint8_t *put_raw_exponents(const struct lp_lane *lane, const void *src, uint32_t n,
                                  uint32_t base, uint8_t *dst)
{
    uint64_t other;

    for (uint32_t i = 0; i < n; i++) {
        if (place_at(lane, src, i, base) >> LP_LANE_LEVEL_SHIFT != lane->n_levels)
            continue;
        lp_store_uint(dst, lane->escape_bytes, split(lane, src, i, &other));
        dst += lane->escape_bytes;
    }
    return dst;
}

void lp_codec_scalar_exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const uint32_t bits = info->exponent_bits != 0 ? info->exponent_bits : 8;
    const uint32_t mask = (1u << bits) - 1;

    for (uint64_t i = 0; i < n; i++)
        hist[lp_load_uint((const uint8_t *)src + i * info->bytes, info->bytes) >>
                 info->mantissa_bits &
             mask]++;
}

/* Counts the exponents of a record. False: an element is not as the metadata says. */
static bool count_record(const struct lp_lane *lane, const void *src, uint32_t n, uint32_t *hist)
{
    uint64_t other, differs = 0;

    memset(hist, 0, (lane->exponent_mask + 1) * sizeof(hist[0]));
    for (uint32_t i = 0; i < n; i++) {
        hist[split(lane, src, i, &other)]++;
        differs |= (load_element(lane, src, i) & lane->fixed_mask) ^ lane->fixed_value;
    }
    return differs == 0;
}

uint32_t lp_codec_scalar_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes)
{
    uint32_t hist[LP_LANE_EXPONENTS_MAX];
    const struct lp_lane_counts counts = {hist, 0, lane->exponent_mask, n};
    struct bit_writer out;
    uint32_t base, size;
    uint8_t *end;

    if (!count_record(lane, src, n, hist))
        return 0;
    base = lp_codec_lane_pick_base(lane, &counts);
    size = lp_codec_lane_size(lane, &counts, base);
    if (size >= limit_bytes)
        return 0;
    end = put_arrays(lane, src, n, dst);
    if (lane->base_bytes != 0)
        lp_store_uint(end, lane->base_bytes, base);
    out.dst = end + lane->base_bytes;
    out.bit = 0;
    put_planes(lane, src, n, base, &out);
    put_raw_exponents(lane, src, n, base, out.dst + (out.bit + 7) / 8);
    return size;
}

void lp_codec_scalar_exponent_shift(const struct lp_lane *lane, void *elements, uint32_t n,
                                    const void *bases, uint32_t phase, bool subtract)
{
    const uint64_t field = (uint64_t)lane->exponent_mask << lane->mantissa_bits;
    uint8_t *p = elements;

    for (uint32_t i = 0; i < n; i++, p += lane->elem_bytes) {
        const uint64_t word = lp_load_uint(p, lane->elem_bytes);
        const uint64_t base =
            lp_load_uint((const uint8_t *)bases + (size_t)phase * lane->escape_bytes,
                         lane->escape_bytes)
            << lane->mantissa_bits;
        const uint64_t moved = subtract ? word - base : word + base;

        lp_store_uint(p, lane->elem_bytes, (word & ~field) | (moved & field));
        phase = phase + 1 < lane->column_period ? phase + 1 : 0;
    }
}

void lp_codec_ops_scalar_fill(struct lp_codec_ops *ops)
{
    ops->tier = "scalar";
    ops->lane_decode = lp_codec_scalar_lane_decode;
    ops->lane_encode = lp_codec_scalar_lane_encode;
    ops->exponent_histogram = lp_codec_scalar_exponent_histogram;
    lp_codec_scalar_dict_fill(ops);
    ops->exponent_shift = lp_codec_scalar_exponent_shift;
    lp_codec_scalar_sparse_fill(ops);
    lp_codec_scalar_ibp_fill(ops);
}
