/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the AVX2 tier give to its row in the table, but for what codec/ops_dict.h and
 * its like tell. */
#ifndef LP_CODEC_OPS_AVX2_H
#define LP_CODEC_OPS_AVX2_H

#include "codec/ops.h"

int lp_codec_avx2_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                              uint32_t align_bytes, void *dst, uint32_t n, const void *ahead);
uint32_t lp_codec_avx2_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                   void *dst, uint32_t limit_bytes);
void lp_codec_avx2_exponent_shift(const struct lp_lane *lane, void *elements, uint32_t n,
                                  const void *bases, uint32_t phase, bool subtract);
void lp_codec_avx2_exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist);

#endif
