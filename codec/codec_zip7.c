/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_zip7.h"

#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/shape.h"

#include <string.h>

#define WIDTH 3u
#define WINDOW 7u /* exponents that have a code */
#define EXPONENTS 256u
/* The paper's rule: from this significand on the window begins one exponent higher. */
#define SIGMA_TURN 1.6467f

int lp_codec_zip7_init(struct lp_lane *ret_lane, uint32_t dtype, uint32_t first,
                       struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const uint8_t width = WIDTH;
    uint16_t ranks[WINDOW];
    const struct lp_lane_params params = {
        .dtype = dtype, .n_levels = 1, .widths = &width, .ranks = ranks};

    if (dtype != LP_DTYPE_BF16)
        return lp_error_set(err, LP_ENOTSUP, "codec zip7 codes bf16, not %s",
                            info != NULL ? info->name : "an unknown dtype");
    if (first > LP_FORMAT_ZIP7_FIRST_MAX)
        return lp_error_set(err, LP_ECORRUPT, "zip7 metadata: a window from exponent %u on",
                            (unsigned)first);
    for (uint32_t i = 0; i < WINDOW; i++)
        ranks[i] = (uint16_t)(first + i);
    return lp_codec_lane_init(ret_lane, &params, err);
}

uint32_t lp_codec_zip7_first_of_sigma(float sigma)
{
    uint32_t bits, exponent, below = 5;
    float significand;

    memcpy(&bits, &sigma, sizeof(bits));
    if (bits >> 31 != 0)
        return 0;
    exponent = bits >> 23;
    bits = (bits & 0x7fffff) | 0x3f800000; /* the same digits between 1 and 2 */
    memcpy(&significand, &bits, sizeof(significand));
    if (significand > SIGMA_TURN)
        below = 4;
    if (exponent < below)
        return 0;
    return LP_MIN(exponent - below, LP_FORMAT_ZIP7_FIRST_MAX);
}

uint32_t lp_codec_zip7_first_of_counts(const uint32_t *hist)
{
    uint64_t inside = 0, most = 0;
    uint32_t best = 0, last = 0;

    for (uint32_t e = 0; e < EXPONENTS; e++) {
        const uint32_t first = e + 1 - WINDOW;

        inside += hist[e];
        if (e + 1 < WINDOW)
            continue;
        if (inside > most || e + 1 == WINDOW) {
            most = inside;
            best = last = first;
        } else if (inside == most && first == last + 1) {
            last = first;
        }
        inside -= hist[first];
    }
    return best + (last - best) / 2;
}

void lp_codec_zip7_meta_emit(const struct lp_lane *lane, void *dst)
{
    memset(dst, 0, LP_FORMAT_ZIP7_META_BYTES);
    *(uint8_t *)dst = (uint8_t)lane->rank[0];
}

int lp_codec_zip7_meta_parse(struct lp_lane *ret_lane, uint32_t dtype, const void *meta,
                             uint64_t meta_bytes, struct lp_error *err)
{
    const uint8_t *const bytes = meta;
    int rc;

    if (meta_bytes != LP_FORMAT_ZIP7_META_BYTES)
        return lp_error_set(err, LP_ECORRUPT, "zip7 metadata has %llu bytes, not %u",
                            (unsigned long long)meta_bytes, LP_FORMAT_ZIP7_META_BYTES);
    for (uint32_t i = 1; i < LP_FORMAT_ZIP7_META_BYTES; i++) {
        if (bytes[i] != 0)
            return lp_error_set(err, LP_ECORRUPT, "zip7 metadata: byte %u is not zero",
                                (unsigned)i);
    }
    rc = lp_codec_zip7_init(ret_lane, dtype, bytes[0], err);
    return rc == LP_ENOTSUP ? lp_error_wrap(err, LP_ECORRUPT, "zip7 metadata") : rc;
}

int lp_codec_zip7_learn(struct lp_lane *ret_lane, uint32_t dtype, const void *elements, uint64_t n,
                        struct lp_error *err)
{
    uint32_t hist[EXPONENTS] = {0};

    if (dtype == LP_DTYPE_BF16)
        lp_codec_ops()->exponent_histogram(dtype, elements, n, hist);
    return lp_codec_zip7_init(ret_lane, dtype, lp_codec_zip7_first_of_counts(hist), err);
}

uint32_t lp_codec_zip7_static_bytes(uint32_t n)
{
    return n + (WIDTH * n + 7) / 8;
}

static uint32_t bit_at(const uint8_t *src, uint64_t bit)
{
    return src[bit / 8] >> (bit % 8) & 1;
}

uint32_t lp_codec_zip7_dynamic_bytes(const void *record, uint32_t n)
{
    const uint8_t *const planes = (const uint8_t *)record + n;
    uint32_t escapes = 0;

    for (uint32_t i = 0; i < n; i++)
        escapes += (bit_at(planes, i) | bit_at(planes, (uint64_t)n + i) |
                    bit_at(planes, 2 * (uint64_t)n + i)) == 0;
    return escapes;
}
