/* SPDX-License-Identifier: Apache-2.0 */
/* The table of CPU tiers: each function once per tier, weakest first, a stronger one overwriting
 * what it does better. Chosen once, at first use, from base/cpu.h, which LANEPACK_CPU_MASK can
 * restrict. ops_scalar.c is the reference and always built. */
#ifndef LP_CODEC_OPS_H
#define LP_CODEC_OPS_H

#include "codec/counts.h"
#include "codec/dict.h"
#include "codec/ibp_search.h"
#include "codec/lane.h"
#include "codec/table.h"

struct lp_codec_ops {
    const char *tier; /* "scalar", "avx512", ...: of the strongest function */

    /* Decode one coded lane record of n elements. src has src_bytes (stored length, padding
     * included) and LP_CODEC_SLACK_BYTES readable behind; dst gets n elements and not a byte more;
     * no alignment is assumed. 0, or LP_ECORRUPT (dst unspecified) when the record does not end
     * within src_bytes, and less than align_bytes before their end (inside of another codec's
     * record src_bytes is no multiple of that), an exponent is out of range, or padding is not
     * zero. A source that changes meanwhile gives wrong values, but no access elsewhere. Allocates
     * nothing. ahead: what the caller will decode next, brought nearer meanwhile; a hint, any
     * address may be given, NULL for none. */
    int (*lane_decode)(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                       uint32_t align_bytes, void *dst, uint32_t n, const void *ahead);

    /* Code n elements; dst has room for their raw size and LP_CODEC_SLACK_BYTES. limit_bytes is at
     * most the raw size. Returns the codec's size, or 0 when it is not below limit_bytes or an
     * element has other bits than lane->fixed_value where they are fixed; dst is unspecified behind
     * it, or from its start. Every tier gives the same bytes. */
    uint32_t (*lane_encode)(const struct lp_lane *lane, const void *src, uint32_t n, void *dst,
                            uint32_t limit_bytes);

    /* With LP_LANE_WINDOW_COLUMNS, before lane_encode and after lane_decode, which know nothing of
     * columns: subtract from the exponents of n elements, or add to them, the bases of their
     * columns, modulo 2^E, in place; all other bits stay. Element j has the base (phase + j) %
     * column_period of bases, which lp_lane_column_group() gives: entries of lane->escape_bytes,
     * readable as LP_LANE_COLUMN_SLACK says. phase < column_period. Elements are at any address,
     * and nothing around them is touched. */
    void (*exponent_shift)(const struct lp_lane *lane, void *elements, uint32_t n,
                           const void *bases, uint32_t phase, bool subtract);

    /* Count exponents: hist[e] += number of elements with exponent e; hist has 2^E entries. dtype
     * is a float, or i8 or u8: then a whole byte counts as its exponent. */
    void (*exponent_histogram)(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist);

    /* One dict record of n elements (docs/FORMAT.md, section 7); sizes and errors as for lane, and
     * LP_ECORRUPT for a code without a value. */
    int (*dict_decode)(const struct lp_dict *dict, const void *src, uint32_t src_bytes,
                       uint32_t align_bytes, void *dst, uint32_t n);
    uint32_t (*dict_encode)(const struct lp_dict *dict, const void *src, uint32_t n, void *dst,
                            uint32_t limit_bytes);

    /* One ibp record of n words (docs/FORMAT.md, section 4); sizes and errors as for lane. */
    int (*ibp_decode)(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                      uint32_t align_bytes, void *dst, uint32_t n_words);
    uint32_t (*ibp_encode)(const struct lp_ibp *ibp, const void *src, uint32_t n_words, void *dst,
                           uint32_t limit_bytes);

    /* Learning ibp masks (codec/ibp_search.h). Add to counts[8 * p + b] the records, back to back,
     * in which bit b of byte p is set; scratch has lp_ibp_count_scratch() zeros, and ends so. */
    void (*ibp_count)(const uint8_t *records, uint64_t n_records, uint32_t record_bytes,
                      void *scratch, uint64_t *counts);
    /* What each set of masks makes of the records; lanes aligned to 64 bytes. */
    void (*ibp_score)(const struct lp_ibp_score *score, const uint8_t *records, uint64_t n_records,
                      struct lp_ibp_totals *ret_totals);
    /* In: masks of a position, where to begin. Out: those, or others that save more bits in the
     * records of the column. */
    void (*ibp_pick)(const struct lp_ibp_column *column, struct lp_ibp_pick *pick);

    /* Both sides of codec sparse. find: which of n elements are not zero, as a map of
     * codec/sparse_places.h, and these elements back to back; values has room for n and
     * LP_CODEC_SLACK_BYTES. Returns how many. spread: the way back; values has as many as map has
     * bits, and LP_CODEC_SLACK_BYTES readable behind; dst gets n elements and not a byte more.
     * elem_bytes is 1, 2, 4 or 8; nothing else needs an alignment. */
    uint32_t (*sparse_find)(uint32_t elem_bytes, const void *src, uint32_t n, uint64_t *map,
                            void *values);
    void (*sparse_spread)(uint32_t elem_bytes, const uint64_t *map, uint32_t n, const void *values,
                          void *dst);

    /* As sparse_spread, for values that stand as symbols of 4 bytes (codec/counts.h); row has the
     * bits of the row's scale, map no bit from counts->n_columns on. Whatever the thread's rounding
     * mode is, and without a change of it, its flags or its traps that anyone could see. */
    void (*counts_spread)(const struct lp_counts *counts, uint32_t row, const uint64_t *map,
                          uint32_t n, const void *symbols, void *dst);
};

/* The tier in use. */
const struct lp_codec_ops *lp_codec_ops(void);

/* All tiers that this CPU can run, weakest first, the mask ignored: for tests and benches. Returns
 * how many; tier i in ret_ops[i]. */
#define LP_CODEC_TIERS_MAX 4
int lp_codec_ops_tiers(const struct lp_codec_ops *ret_ops[LP_CODEC_TIERS_MAX]);

/* The reference, which other tiers call for what they leave out. */
int lp_codec_scalar_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n, const void *ahead);
uint32_t lp_codec_scalar_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes);
void lp_codec_scalar_exponent_shift(const struct lp_lane *lane, void *elements, uint32_t n,
                                    const void *bases, uint32_t phase, bool subtract);
void lp_codec_scalar_exponent_histogram(uint32_t dtype, const void *src, uint64_t n,
                                        uint32_t *hist);

/* Each tier's own file fills what it has. */
void lp_codec_ops_scalar_fill(struct lp_codec_ops *ops);
#if defined(__x86_64__)
void lp_codec_ops_avx2_fill(struct lp_codec_ops *ops);
void lp_codec_ops_avx512_fill(struct lp_codec_ops *ops);
#elif defined(__aarch64__)
void lp_codec_ops_neon_fill(struct lp_codec_ops *ops);
#endif

#endif
