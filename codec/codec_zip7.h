/* SPDX-License-Identifier: Apache-2.0 */
/* Codec zip7: three bits for seven consecutive exponents of bf16, the exponent code of ZipCCL.
 *
 * Its records are those of codec lane with one level of width 3, so everything that decodes,
 * encodes or gathers lane records serves them; what is its own is where the window comes from and
 * that a record has a static part, whose size follows from the number of elements alone, so that it
 * can travel before the dynamic part is known. Source: docs/FORMAT.md, section 6. */
#ifndef LP_CODEC_CODEC_ZIP7_H
#define LP_CODEC_CODEC_ZIP7_H

#include "codec/lane.h"

/* The window E0 .. E0 + 6. LP_ENOTSUP: dtype is not bf16. LP_ECORRUPT: first, E0, is above
 * LP_FORMAT_ZIP7_FIRST_MAX. On failure *ret_lane is unspecified. */
int lp_codec_zip7_init(struct lp_lane *ret_lane, uint32_t dtype, uint32_t first,
                       struct lp_error *err);

/* E0 for values of a bell curve around zero with this standard deviation, without a look at them:
 * the published rule, cut off at the ends of the range. Any float will do; what is no finite
 * positive number gives an end of the range. */
uint32_t lp_codec_zip7_first_of_sigma(float sigma);

/* E0 with which most of the exponents counted in hist[256] are in the window; among windows in a
 * row that hold the same the one in the middle, because a sample leaves gaps on both sides. */
uint32_t lp_codec_zip7_first_of_counts(const uint32_t *hist);

/* The metadata section's bytes: size (LP_FORMAT_ZIP7_META_BYTES), emit, parse. */
void lp_codec_zip7_meta_emit(const struct lp_lane *lane, void *dst);
int lp_codec_zip7_meta_parse(struct lp_lane *ret_lane, uint32_t dtype, const void *meta,
                             uint64_t meta_bytes, struct lp_error *err);

/* Choose the window for n < 2^32 elements, borrowed, by counting their exponents. LP_ENOTSUP. */
int lp_codec_zip7_learn(struct lp_lane *ret_lane, uint32_t dtype, const void *elements, uint64_t n,
                        struct lp_error *err);

/* The static part of a record of n elements (n <= 32,768): the dynamic part begins behind it. */
uint32_t lp_codec_zip7_static_bytes(uint32_t n);

/* Bytes of the dynamic part of a coded record, counted in its static part, which must be whole:
 * one for each exponent outside of the window. */
uint32_t lp_codec_zip7_dynamic_bytes(const void *record, uint32_t n);

#endif
