/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/samples.h"

#include "base/bytes.h"
#include "codec/shape.h"

#include <string.h>

uint64_t samples_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A sum of twelve uniform numbers: near enough to a bell curve of deviation 1, and exact
 * everywhere. */
static double bell(uint64_t *state)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += (double)(samples_next(state) >> 40) / (double)(1u << 24);
    return sum;
}

/* x as a float of this shape, cut off, without denormals. */
static uint64_t float_bits(double x, const struct lp_dtype_info *info)
{
    const int32_t bias = (1 << (info->exponent_bits - 1)) - 1;
    uint64_t bits;
    int32_t exponent;

    memcpy(&bits, &x, sizeof(bits));
    exponent = (int32_t)(bits >> 52 & 0x7ff) - 1023 + bias;
    if (exponent <= 0 || exponent >= 2 * bias + 1)
        return 0;
    return bits >> 63 << (8 * info->bytes - 1) | (uint64_t)exponent << info->mantissa_bits |
           (bits & 0xfffffffffffffu) >> (52 - info->mantissa_bits);
}

static uint64_t bell_bits(const struct lp_dtype_info *info, uint64_t *state)
{
    const double x = bell(state);

    return info->exponent_bits > 0 ? float_bits(0.02 * x, info) : (uint64_t)(int64_t)(10 * x);
}

static uint64_t special_bits(const struct lp_dtype_info *info, uint64_t *state)
{
    const uint64_t random = samples_next(state);
    const uint64_t sign = 1ull << (8 * info->bytes - 1);
    const uint64_t mantissa = (1ull << info->mantissa_bits) - 1;
    const uint64_t exponent = info->exponent_bits > 0 ? (sign - 1) & ~mantissa : sign - 1;

    switch (random % 6) {
    case 0:
        return 0;
    case 1:
        return sign;
    case 2:
        return (random & sign) | exponent;
    case 3:
        return (random >> 8 & (sign | mantissa)) | exponent;
    case 4:
        return random >> 8 & (sign | mantissa);
    default:
        return bell_bits(info, state);
    }
}

void samples_fill(enum samples_kind kind, uint32_t dtype, uint64_t n, uint64_t seed, void *dst)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    uint64_t state = seed;
    uint64_t bits = bell_bits(info, &state);
    uint8_t word[8];

    for (uint64_t i = 0; i < n; i++) {
        if (kind == SAMPLES_NORMAL)
            bits = bell_bits(info, &state);
        else if (kind == SAMPLES_RANDOM)
            bits = samples_next(&state);
        else if (kind == SAMPLES_SPECIAL)
            bits = special_bits(info, &state);
        else if (kind == SAMPLES_SPARSE)
            bits = samples_next(&state) % 10 == 0 ? bell_bits(info, &state) : 0;
        lp_store_u64(word, bits);
        memcpy((uint8_t *)dst + i * info->bytes, word, info->bytes);
    }
}
