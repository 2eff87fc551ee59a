/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding lane records with AVX2 and BMI2: byte masks make planes of places, and PEXT closes the
 * gaps between those that are left to the next level. */
#include "codec/lane_places.h"
#include "codec/ops_avx2.h"
#include "codec/ops_avx2_vector.h"
#include "codec/shape.h"

/* Bit p of each of 32 bytes. */
static LP_ALWAYS_INLINE uint64_t bits_of(__m256i bytes, uint32_t p)
{
    /* Shifts reach over the borders of bytes, but no further than the bit that is asked for. */
    return (uint32_t)_mm256_movemask_epi8(_mm256_sll_epi16(bytes, _mm_cvtsi32_si128((int)(7 - p))));
}

static void take_planes(const uint8_t *bytes, uint32_t n, uint32_t n_planes, uint64_t *planes,
                        uint32_t stride)
{
    for (uint32_t i = 0; i < n; i += 64) {
        const __m256i a = load_256(bytes + i), b = load_256(bytes + i + 32);

        for (uint32_t p = 0; p < n_planes; p++)
            planes[(size_t)p * stride + i / 64] = bits_of(a, p) | bits_of(b, p) << 32;
    }
}

/* Codes of 64 places into the planes' words at word; returns which have none at this level. */
static LP_ALWAYS_INLINE uint64_t code_block(const uint8_t *places, uint32_t k, uint32_t width,
                                            uint64_t *word, uint32_t stride)
{
    const __m256i end = _mm256_set1_epi8((char)((k + 1) << LP_LANE_LEVEL_SHIFT));
    const __m256i a = load_256(places), b = load_256(places + 32);
    const __m256i a_here = _mm256_cmpgt_epi8(end, a), b_here = _mm256_cmpgt_epi8(end, b);

    for (uint32_t p = 0; p < width; p++)
        word[(size_t)p * stride] =
            bits_of(_mm256_and_si256(a, a_here), p) | bits_of(_mm256_and_si256(b, b_here), p) << 32;
    return ~((uint64_t)(uint32_t)_mm256_movemask_epi8(a_here) |
             (uint64_t)(uint32_t)_mm256_movemask_epi8(b_here) << 32);
}

static uint32_t code_level(const struct look_up *look_up, const uint8_t *from, uint32_t count,
                           uint32_t k, uint32_t width, const struct lane_work *work)
{
    /* In variables: bytes that are stored could be anything that a pointer reaches. */
    uint8_t *const first_left = work->bits, *left = first_left;
    uint64_t *const planes = work->planes;
    const uint32_t stride = work->stride;

    (void)look_up;
    for (uint32_t i = 0; i < count; i += 64) {
        uint64_t behind = code_block(from + i, k, width, planes + i / 64, stride);

        if (count - i < 64)
            behind &= (UINT64_C(1) << (count - i)) - 1;
        for (const uint8_t *p = from + i; behind != 0; p += 8, behind >>= 8) {
            const uint64_t mask = lp_avx2_spread_mask(behind & 0xff);

            /* What the store overwrites has been read: left never passes p. */
            lp_store_u64(left, _pext_u64(lp_load_u64(p), mask));
            left += _mm_popcnt_u64(behind & 0xff);
        }
    }
    return (uint32_t)(left - first_left);
}

static LP_ALWAYS_INLINE uint64_t match(const uint8_t *places, uint8_t place)
{
    const __m256i v = _mm256_set1_epi8((char)place);
    const __m256i a = _mm256_cmpeq_epi8(load_256(places), v);
    const __m256i b = _mm256_cmpeq_epi8(load_256(places + 32), v);

    return (uint64_t)(uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b)
                                                             << 32;
}

#include "codec/lane_count.h"
#include "codec/lane_encode.h"
#include "codec/lane_histogram.h"

uint32_t lp_codec_avx2_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                   void *dst, uint32_t limit_bytes)
{
    if (!lp_lane_fits_tiers(lane, n))
        return lp_codec_scalar_lane_encode(lane, src, n, dst, limit_bytes);
    return encode_record(lane, src, n, dst, limit_bytes);
}

void lp_codec_avx2_exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist)
{
    exponent_histogram(dtype, src, n, hist);
}
