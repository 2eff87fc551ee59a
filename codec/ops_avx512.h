/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the AVX-512 tier share. Included only by files that are compiled for it.
 *
 * The tier works on blocks of 64 elements: one exponent per byte of a register, one bit of a plane
 * per bit of a mask. */
#ifndef LP_CODEC_OPS_AVX512_H
#define LP_CODEC_OPS_AVX512_H

#include "codec/lane_bits.h"
#include "codec/lane_parts.h"
#include "codec/ops.h"

#include <immintrin.h>
#include <stdbool.h>

#define LP_AVX512_BLOCK 64u

int lp_codec_avx512_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n, const void *ahead);

/* The same for LP_AVX512_SHORT_MIN to LP_AVX512_SHORT_MAX elements with exponents of 8 bits at
 * most, without a step through memory. Two more answers: LP_AVX512_NOT_SHORT, more than one block
 * is left behind the first level; LP_AVX512_NOT_JOINED, the record is right, but not all of its
 * bits are kept: exponents has those of its n elements, and dst is as it was. */
#define LP_AVX512_SHORT_MIN 64u
#define LP_AVX512_SHORT_MAX 128u
#define LP_AVX512_NOT_SHORT 1
#define LP_AVX512_NOT_JOINED 2
int lp_codec_avx512_lane_decode_short(const struct lp_lane *lane, const uint8_t *src,
                                      uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                      uint32_t n, uint8_t exponents[LP_AVX512_SHORT_MAX]);

uint32_t lp_codec_avx512_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes);
void lp_codec_avx512_exponent_shift(const struct lp_lane *lane, void *elements, uint32_t n,
                                    const void *bases, uint32_t phase, bool subtract);
void lp_codec_avx512_exponent_histogram(uint32_t dtype, const void *src, uint64_t n,
                                        uint32_t *hist);

#endif
