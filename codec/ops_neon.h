/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the NEON tier share. Included only where the CPU is an aarch64, of which NEON
 * is a part; nothing is used that the first version of the architecture does not have.
 *
 * Lane works on 16 elements at a time, and all codecs on 64 bits of a plane or a map. */
#ifndef LP_CODEC_OPS_NEON_H
#define LP_CODEC_OPS_NEON_H

#include "codec/lane_bits.h"
#include "codec/lane_parts.h"
#include "codec/ops.h"

#include <arm_neon.h>
#include <stdbool.h>

#define LP_NEON_BLOCK 16u

int lp_codec_neon_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                              uint32_t align_bytes, void *dst, uint32_t n, const void *ahead);
uint32_t lp_codec_neon_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                   void *dst, uint32_t limit_bytes);
void lp_codec_neon_exponent_shift(const struct lp_lane *lane, void *elements, uint32_t n,
                                  const void *bases, uint32_t phase, bool subtract);
void lp_codec_neon_exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist);

#endif
