/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding lane records with NEON: bit tests and pairwise sums make planes of places. */
#include "codec/lane_places.h"
#include "codec/ops_neon_vector.h"
#include "codec/shape.h"

/* 64 bytes. */
struct bytes {
    uint8x16_t part[4];
};

static LP_ALWAYS_INLINE struct bytes load_64(const uint8_t *p)
{
    return (struct bytes){{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
}

/* A bit for each of 64 bytes, which are all ones or zero. */
static LP_ALWAYS_INLINE uint64_t bits_of(const struct bytes *masks)
{
    const uint8x16_t bit = bit_of_byte();
    const uint8x16_t low = vpaddq_u8(vandq_u8(masks->part[0], bit), vandq_u8(masks->part[1], bit));
    const uint8x16_t high = vpaddq_u8(vandq_u8(masks->part[2], bit), vandq_u8(masks->part[3], bit));
    const uint8x16_t sums = vpaddq_u8(low, high);

    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}

/* Bit p of each of 64 bytes. */
static LP_ALWAYS_INLINE uint64_t plane_of(const struct bytes *bytes, uint32_t p)
{
    const uint8x16_t bit = vdupq_n_u8((uint8_t)(1u << p));
    struct bytes masks;

    for (uint32_t i = 0; i < 4; i++)
        masks.part[i] = vtstq_u8(bytes->part[i], bit);
    return bits_of(&masks);
}

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
        for (; behind != 0; behind &= behind - 1)
            *left++ = from[i + (uint32_t)__builtin_ctzll(behind)];
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
