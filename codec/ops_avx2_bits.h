/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the AVX2 tier share. Included only by files that are compiled for it.
 *
 * The tier works on eight exponents at a time, the bytes of a 64-bit word: BMI2 moves bits between
 * planes and bytes, and closes and opens gaps between bytes. */
#ifndef LP_CODEC_OPS_AVX2_BITS_H
#define LP_CODEC_OPS_AVX2_BITS_H

#include "codec/lane_bits.h"
#include "codec/lane_parts.h"
#include "codec/ops.h"

#include <immintrin.h>
#include <stdbool.h>

#define LP_AVX2_BLOCK 32u /* elements that are split or joined at a time */

/* Bit b of each byte of a word. */
#define LP_AVX2_EACH_BYTE UINT64_C(0x0101010101010101)

/* A byte of ones for each bit set in bits, which are eight. */
static LP_ALWAYS_INLINE uint64_t lp_avx2_spread_mask(uint64_t bits)
{
    return _pdep_u64(bits, LP_AVX2_EACH_BYTE) * 0xff;
}

#endif
