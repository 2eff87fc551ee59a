/* SPDX-License-Identifier: Apache-2.0 */
/* The cascade's parameters (docs/FORMAT.md, section 5): levels, ranks, columns, and how an element
 * splits into exponent and other bits. */
#ifndef LP_CODEC_LANE_H
#define LP_CODEC_LANE_H

#include "base/error.h"
#include "codec/format.h"

struct lp_geometry;
struct lp_sample;

#include <stdbool.h>

/* A place names where an exponent's code stands: level << 3 | code, levels from 0 on. Code 0 at
 * level n_levels stands for a raw exponent; code 0 at other levels is no place. */
#define LP_LANE_LEVEL_SHIFT 3u
#define LP_LANE_PLACES 48u          /* five levels, the raw exponents, 8 codes each */
#define LP_LANE_EXPONENTS_MAX 2048u /* 2^E of f64 */

/* What the caller of lp_codec_lane_init() knows; it borrows for the call. */
struct lp_lane_params {
    uint32_t dtype;
    uint32_t exponent_bits; /* of the field; 0: as the dtype has it, which i8 and u8 do not */
    uint32_t n_levels;
    const uint8_t *widths; /* n_levels */
    const uint16_t *ranks; /* one per symbol */
    uint32_t window;       /* enum lp_lane_window */
    uint32_t sign;         /* enum lp_lane_sign */
    uint32_t trailing_bits;
    /* With LP_LANE_WINDOW_COLUMNS only: bases, group after group, period numbers each. */
    uint32_t column_period;
    uint64_t column_span; /* 0: one group */
    uint32_t n_columns;   /* groups * column_period */
    const uint16_t *columns;
};

/* Entries behind a group's bases that repeat its first ones, so that from any phase this many may
 * be read as if the bases went round. */
#define LP_LANE_COLUMN_SLACK 64u

/* Parsed metadata, with tables made once so that a record needs no thought. Plain data, copied
 * freely, but for the columns: copies share them, and one of them ends with lp_codec_lane_fini().
 *
 * An element is, from the top, the sign (has_sign), exponent_bits of exponent (of i8 and u8: their
 * top bits, called so all the same), mantissa_bits of mantissa. Its other bits, R = sign_bits +
 * kept_bits of them, are kept as they are: mantissa >> trailing_bits, and above it the sign where
 * sign_bits is 1. */
struct lp_lane {
    uint32_t dtype;
    uint32_t elem_bytes, exponent_bits, mantissa_bits;
    uint32_t trailing_bits; /* lowest bits of the mantissa, always 0 and left out */
    uint32_t kept_bits;     /* mantissa_bits - trailing_bits */
    uint32_t sign_bits;     /* 1: the sign is kept; 0: it is constant, or there is none */
    bool has_sign;          /* false: i8 and u8 */
    uint8_t sign;           /* enum lp_lane_sign */
    uint8_t window;         /* enum lp_lane_window */
    uint64_t fixed_mask;    /* bits of an element that the metadata knows: trailing, sign ... */
    uint64_t fixed_value;   /* ... and what they are; an element that differs is stored raw */
    uint32_t byte_bits;     /* other bits kept as bytes: 8 * floor(R / 8) */
    uint32_t plane_bits;    /* other bits kept as planes: R mod 8 */
    uint32_t n_levels;
    uint8_t widths[LP_FORMAT_LANE_LEVELS_MAX];
    uint32_t n_symbols;
    uint16_t rank[LP_FORMAT_LANE_SYMBOLS_MAX];        /* symbol -> exponent minus base */
    uint32_t base_bytes;                              /* 0, 1 or 2 per record */
    uint32_t escape_bytes;                            /* of a raw exponent: 1, or 2 for f64 */
    uint32_t exponent_mask;                           /* 2^E - 1 */
    uint16_t rank_at[LP_LANE_PLACES];                 /* place -> exponent minus base; else 0 */
    uint8_t cost_bits[LP_FORMAT_LANE_LEVELS_MAX + 1]; /* level -> bits of a code there, in all */
    uint8_t place_of[LP_LANE_EXPONENTS_MAX]; /* exponent minus base -> place, with period 2^E */

    /* With LP_LANE_WINDOW_COLUMNS; else 0 and NULL. The element with the index i in the tensor has
     * the group i / column_span (0 without a span) and in it the column i % column_period. */
    uint32_t column_period;
    uint32_t n_columns; /* of all groups */
    uint64_t column_span;
    void *columns; /* owned: for each group column_period + LP_LANE_COLUMN_SLACK bases of
                      escape_bytes each, the last ones as LP_LANE_COLUMN_SLACK says */
};

/* True: all bits but the exponent are kept, as in every lane table whose metadata knows no more. */
static inline bool lp_lane_keeps_all(const struct lp_lane *lane)
{
    return lane->has_sign && lane->fixed_mask == 0;
}

/* The bases of group g, to be read from any phase < column_period on. */
static inline const void *lp_lane_column_group(const struct lp_lane *lane, uint64_t group)
{
    return (const uint8_t *)lane->columns +
           group * (lane->column_period + LP_LANE_COLUMN_SLACK) * lane->escape_bytes;
}

/* From parameters to a checked struct. LP_ENOTSUP: dtype is neither float nor i8 nor u8.
 * LP_ECORRUPT: a parameter breaks docs/FORMAT.md. LP_ENOMEM: for the columns. On errors *ret_lane
 * owns nothing. */
int lp_codec_lane_init(struct lp_lane *ret_lane, const struct lp_lane_params *params,
                       struct lp_error *err);

/* Ends the columns; NULL and zeroed ones are fine. */
void lp_codec_lane_fini(struct lp_lane *lane);

/* The metadata section's bytes: size, emit, parse. meta_bytes is the whole section. A table of
 * n_elements in records of record_elements bounds the columns. */
uint64_t lp_codec_lane_meta_bytes(const struct lp_lane *lane);
void lp_codec_lane_meta_emit(const struct lp_lane *lane, void *dst);
int lp_codec_lane_meta_parse(struct lp_lane *ret_lane, uint32_t dtype, uint32_t record_elements,
                             uint64_t n_elements, const void *meta, uint64_t meta_bytes,
                             struct lp_error *err);

/* What the parameters are chosen from; all borrowed. */
struct lp_lane_sample {
    uint32_t dtype;
    const void *elements; /* n_records of record_elements each, back to back */
    uint64_t n_records;
    uint32_t record_elements;
    bool table_window_only; /* one window for all: the records of other codecs have no place for
                               more */
    /* For columns; NULL: none. */
    const struct lp_geometry *geometry;
    /* Where the records lie in the tensor; NULL: not known, and columns must then be the same in
     * each record. */
    const struct lp_sample *layout;
    uint32_t column_period; /* columns to try instead of those that the shape suggests; 0: those */
    uint64_t column_span; /* with a period: elements until the next group of bases; 0: one group */
};

/* Choose field, levels, window kind, ranks, columns, sign and trailing bits for data like the
 * sample. ret_payload_bytes, where not NULL, gets the payload that the sample has with this choice,
 * exactly as packing it would count it (metadata apart). lp_codec_lane_fini() ends *ret_lane.
 * LP_ENOTSUP: neither a float nor i8 nor u8. LP_EINVAL: no records. LP_ENOMEM. On errors *ret_lane
 * owns nothing. */
int lp_codec_lane_learn(struct lp_lane *ret_lane, const struct lp_lane_sample *sample,
                        uint64_t *ret_payload_bytes, struct lp_error *err);

/* Whether lp_codec_lane_learn() takes this period and span for that shape. LP_EINVAL says why not.
 */
int lp_codec_lane_check_columns(const struct lp_geometry *geometry, uint32_t record_elements,
                                uint32_t period, uint64_t span, struct lp_error *err);

/* The parameters in words: "2,2,3 by columns of 64 in 131072, sign 0, 16 bits 0". */
void lp_codec_lane_describe(const struct lp_lane *lane, char *text, size_t text_bytes);

/* What follows from the exponents of a record of n elements: hist[e] counts exponent e, and is 0
 * outside [low, high]. */
struct lp_lane_counts {
    const uint32_t *hist; /* borrowed, 2^E entries */
    uint32_t low, high;
    uint32_t n;
};

/* Narrows [low, high] down to exponents that occur; to one, where none does. */
static inline void lp_lane_counts_trim(struct lp_lane_counts *counts)
{
    while (counts->low < counts->high && counts->hist[counts->low] == 0)
        counts->low++;
    while (counts->high > counts->low && counts->hist[counts->high] == 0)
        counts->high--;
}

/* The most frequent exponent, the least of equals. */
static inline uint32_t lp_lane_counts_mode(const struct lp_lane_counts *counts)
{
    uint32_t mode = counts->low;

    for (uint32_t e = counts->low; e <= counts->high; e++)
        mode = counts->hist[e] > counts->hist[mode] ? e : mode;
    return mode;
}

/* The base with which the record is smallest, among those that put its most frequent exponent on
 * one of the first symbols; 0 with a window per table. Every encoder takes this one. */
uint32_t lp_codec_lane_pick_base(const struct lp_lane *lane, const struct lp_lane_counts *counts);

/* The codec's size of that record with this base. */
uint32_t lp_codec_lane_size(const struct lp_lane *lane, const struct lp_lane_counts *counts,
                            uint32_t base);

#endif
