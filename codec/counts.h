/* SPDX-License-Identifier: Apache-2.0 */
/* Counts: how codec sparse keeps f32 values that are a whole number times one factor of the row
 * times one of the column, as term frequencies, normalised counts and tf-idf weights are. A value
 * becomes a symbol, its count and how far its bits are from those of the product; symbols are then
 * elements of codec dict. Source: docs/FORMAT.md, section 8.
 *
 * A record of m values is the row's scale, LP_FORMAT_COUNTS_ROW_BYTES, then m symbols in the form
 * of codec dict. The rounding mode of a thread, its flags and traps belong to the program around:
 * what is decoded is computed in whole numbers, or as codec/rounding.h has it. */
#ifndef LP_CODEC_COUNTS_H
#define LP_CODEC_COUNTS_H

#include "base/error.h"
#include "codec/dict.h"
#include "codec/format.h"

struct lp_codec_ops;

/* Bytes behind the last column's scale that may be read. What lies there is never used. */
#define LP_COUNTS_SLACK_BYTES 64u

/* What symbols cost in bits: those below LP_COUNTS_NEAR, counts to 64, one by one; others, and
 * elements as they are, alike. */
#define LP_COUNTS_NEAR 1024u
struct lp_counts_costs {
    uint8_t near[LP_COUNTS_NEAR];
    uint8_t far;
};

/* Parsed metadata. Copies share what is owned; one of them ends with lp_codec_counts_fini(). */
struct lp_counts {
    uint32_t n_columns;     /* elements of a full record: an element's column is its place */
    float *columns;         /* owned, aligned to 64: the columns' scales, all within range, then
                               LP_COUNTS_SLACK_BYTES of zeros */
    struct lp_dict symbols; /* of 4 bytes */
    struct lp_counts_costs *costs; /* in the block of columns: what symbols says */
};

/* Whether these are the bits of a scale: positive, with an exponent in range. */
static inline bool lp_counts_is_scale(uint32_t bits)
{
    return bits >> 23 >= LP_FORMAT_COUNTS_EXPONENT_MIN &&
           bits >> 23 <= LP_FORMAT_COUNTS_EXPONENT_MAX;
}

/* The bits of the product of two positive normal f32, rounded to nearest, ties to even; it must be
 * a normal one, too. */
static inline uint32_t lp_counts_product(uint32_t a, uint32_t b)
{
    const uint64_t product = (uint64_t)((a & 0x7fffff) | 0x800000) * ((b & 0x7fffff) | 0x800000);
    const uint32_t above = (uint32_t)(product >> 47); /* 1: two or more */
    const uint32_t shift = 23 + above;
    const uint64_t even = product >> shift & 1;
    const uint64_t rounded = (product + (UINT64_C(1) << (shift - 1)) - 1 + even) >> shift;

    /* A mantissa that was rounded up to two carries into the exponent. */
    return (((a >> 23) + (b >> 23) - 127 + above) << 23) + ((uint32_t)rounded - 0x800000);
}

/* The bits of a count as f32; 0 < count <= 2^16, so that it is exact. */
static inline uint32_t lp_counts_bits(uint32_t count)
{
    const uint32_t log = 31 - (uint32_t)__builtin_clz(count);

    return ((127 + log) << 23) + ((count << (23 - log)) & 0x7fffff);
}

/* The bits of the element that a symbol stands for, in a row and a column of these scales. */
static inline uint32_t lp_counts_element(uint32_t symbol, uint32_t row, uint32_t column)
{
    const uint32_t count = (symbol >> LP_FORMAT_COUNTS_RESIDUAL_BITS) + 1;

    if (symbol >= LP_FORMAT_COUNTS_SYMBOLS)
        return symbol;
    return lp_counts_product(lp_counts_product(lp_counts_bits(count), row), column) +
           symbol % (1u << LP_FORMAT_COUNTS_RESIDUAL_BITS) - LP_FORMAT_COUNTS_RESIDUAL_BIAS;
}

/* From parameters to a checked struct. columns borrows for the call: the bits of n_columns scales,
 * at any address. *symbols, a dictionary of 4-byte elements, is taken, also on failure.
 * LP_ECORRUPT: a scale is out of range; LP_ENOMEM. On failure *ret_counts owns nothing. */
int lp_codec_counts_init_take(struct lp_counts *ret_counts, uint32_t n_columns, const void *columns,
                              struct lp_dict *symbols, struct lp_error *err);

/* NULL and zeroed ones are fine. */
void lp_codec_counts_fini(struct lp_counts *counts);

/* What follows the fixed bytes of codec sparse's metadata: size, emit, parse. parse checks every
 * field; LP_ECORRUPT, LP_ENOMEM, and *ret_counts then owns nothing. */
uint64_t lp_codec_counts_meta_bytes(const struct lp_counts *counts);
void lp_codec_counts_meta_emit(const struct lp_counts *counts, void *dst);
int lp_codec_counts_meta_parse(struct lp_counts *ret_counts, uint32_t n_columns, const void *meta,
                               uint64_t meta_bytes, struct lp_error *err);

/* What there is to learn from: n_records records of f32, back to back, borrowed, of record_elements
 * each; n_values > 0 of their elements are not zero. */
struct lp_counts_sample {
    uint32_t record_elements;
    const void *elements;
    uint64_t n_records, n_values;
};

/* Find columns and symbols for data like the sample's. The same on every machine. LP_ENOTSUP: its
 * values are no counts, as far as a look at some of them tells; LP_ENOMEM. */
int lp_codec_counts_learn(struct lp_counts *ret_counts, const struct lp_counts_sample *sample,
                          struct lp_error *err);

/* One record. src: m values, m > 0, which stand in the columns that map has
 * (codec/sparse_places.h). dst has room for LP_FORMAT_COUNTS_ROW_BYTES, m elements and
 * LP_CODEC_SLACK_BYTES. Returns the size, or 0 when it is not below limit_bytes or a value has no
 * symbol. The same bytes whatever the thread's rounding mode is. Needs up to 66 KiB of stack. */
uint32_t lp_codec_counts_encode(const struct lp_counts *counts, const struct lp_codec_ops *ops,
                                const uint64_t *map, const void *src, uint32_t m, void *dst,
                                uint32_t limit_bytes);

#endif
