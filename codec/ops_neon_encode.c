/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding lane records with NEON: bit tests and pairwise sums make planes of places. */
#include "codec/lane_places.h"
#include "codec/ops_neon_gaps.h"
#include "codec/ops_neon_vector.h"
#include "codec/shape.h"

static void take_planes(const uint8_t *bytes, uint32_t n, uint32_t n_planes, uint64_t *planes,
                        uint32_t stride)
{
    for (uint32_t i = 0; i < n; i += 64) {
        const struct bytes v = load_64(bytes + i);

        for (uint32_t p = 0; p < n_planes; p++)
            planes[(size_t)p * stride + i / 64] = plane_of(&v, p);
    }
}

/* Codes of 64 places into the planes' words at word; returns which have none at this level. */
static LP_ALWAYS_INLINE uint64_t code_block(const uint8_t *places, uint32_t k, uint32_t width,
                                            uint64_t *word, uint32_t stride)
{
    const uint8x16_t end = vdupq_n_u8((uint8_t)((k + 1) << LP_LANE_LEVEL_SHIFT));
    struct bytes v = load_64(places), here;

    for (uint32_t i = 0; i < 4; i++) {
        here.part[i] = vcltq_u8(v.part[i], end);
        v.part[i] = vandq_u8(v.part[i], here.part[i]);
    }
    for (uint32_t p = 0; p < width; p++)
        word[(size_t)p * stride] = plane_of(&v, p);
    return ~bits_of(&here);
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
        left = close_gaps(1, behind, from + i, left);
    }
    return (uint32_t)(left - first_left);
}

static LP_ALWAYS_INLINE uint64_t match(const uint8_t *places, uint8_t place)
{
    struct bytes v = load_64(places);

    for (uint32_t i = 0; i < 4; i++)
        v.part[i] = vceqq_u8(v.part[i], vdupq_n_u8(place));
    return bits_of(&v);
}

#include "codec/lane_count.h"
#include "codec/lane_encode.h"
#include "codec/lane_histogram.h"

uint32_t lp_codec_neon_lane_encode(const struct lp_lane *lane, const void *src, uint32_t n,
                                   void *dst, uint32_t limit_bytes)
{
    if (!lp_lane_fits_tiers(lane, n))
        return lp_codec_scalar_lane_encode(lane, src, n, dst, limit_bytes);
    return encode_record(lane, src, n, dst, limit_bytes);
}

void lp_codec_neon_exponent_histogram(uint32_t dtype, const void *src, uint64_t n, uint32_t *hist)
{
    exponent_histogram(dtype, src, n, hist);
}
