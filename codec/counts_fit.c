/* SPDX-License-Identifier: Apache-2.0 */
/* Scales of rows and columns, and symbols. */
#include "codec/counts_fit.h"

#include "base/bytes.h"

#include <math.h>
#include <string.h>

/* How far a quotient may be from a whole number, as a share of it: some 8 ulp, as residuals are. */
#define WHOLE_SHARE 0x1p-20f
/* A scale may be such a part of a value, at most. */
#define PARTS 8u
/* This share of whole quotients is enough to look no further, in eighths. */
#define ENOUGH_EIGHTHS 7u

static float of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

void lp_codec_counts_pick(struct lp_counts_picks *picks, uint32_t value, float factor)
{
    const uint32_t i = picks->n;

    if (value >> 23 < 1 || value >> 23 > 254)
        return;
    picks->value[i] = of_bits(value);
    picks->factor[i] = factor;
    picks->quotient[i] = picks->value[i] / factor;
    picks->n++;
}

/* The nearest count. */
static uint32_t nearest(float quotient)
{
    if (!(quotient < (float)LP_COUNTS_MAX))
        return LP_COUNTS_MAX;
    return LP_MAX((uint32_t)(quotient + 0.5f), 1);
}

uint32_t lp_codec_counts_whole(float quotient)
{
    const uint32_t count = nearest(quotient);

    return fabsf(quotient - (float)count) <= (float)count * WHOLE_SHARE ? count : 0;
}

static uint32_t cost_of(const struct lp_counts_costs *costs, uint32_t symbol)
{
    return symbol < LP_COUNTS_NEAR ? costs->near[symbol] : costs->far;
}

/* What the picks would cost with a scale, residuals left aside. */
static uint32_t price(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                      float scale, uint32_t *ret_whole)
{
    const float inverse = 1.0f / scale;
    uint32_t cost = 0, whole = 0;

    for (uint32_t i = 0; i < picks->n; i++) {
        const uint32_t count = lp_codec_counts_whole(picks->quotient[i] * inverse);

        whole += count != 0;
        cost += count == 0 ? costs->far
                           : cost_of(costs, (count - 1) << LP_FORMAT_COUNTS_RESIDUAL_BITS |
                                                LP_FORMAT_COUNTS_RESIDUAL_BIAS);
    }
    *ret_whole = whole;
    return cost;
}

struct base {
    float scale;
    uint32_t cost, whole;
};

/* Parts of a quotient, the largest first; true: enough. */
static bool try_parts(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                      float quotient, struct base *best)
{
    for (uint32_t part = 1; part <= PARTS; part++) {
        const float scale = quotient / (float)part;
        uint32_t cost, whole;

        if (!lp_counts_is_scale(bits_of(scale)))
            continue;
        cost = price(picks, costs, scale, &whole);
        if (whole > 0 && (best->scale == 0 || cost < best->cost))
            *best = (struct base){scale, cost, whole};
        if (8 * whole >= ENOUGH_EIGHTHS * picks->n)
            return true;
    }
    return false;
}

/* The smallest quotient comes first: a scale cannot be more, and often it is that one. Where it is
 * a value that has nothing to do with counts, others are tried. */
float lp_codec_counts_base(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                           uint32_t *ret_whole)
{
    const uint32_t others[] = {0, picks->n / 3, picks->n / 2, picks->n - 1};
    struct base best = {0};
    uint32_t least = 0;

    *ret_whole = 0;
    if (picks->n == 0)
        return 0;
    for (uint32_t i = 1; i < picks->n; i++)
        if (picks->quotient[i] < picks->quotient[least])
            least = i;
    if (!try_parts(picks, costs, picks->quotient[least], &best)) {
        for (uint32_t i = 0; i < LP_ARRAY_LEN(others); i++)
            if (try_parts(picks, costs, picks->quotient[others[i]], &best))
                break;
    }
    *ret_whole = best.whole;
    return best.scale;
}

/* What the picks cost with a row's scale, residuals and all; *ret_sum gets the sum of those that
 * are small. */
static uint32_t price_row(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                          float row, int32_t *ret_sum, uint32_t *ret_n)
{
    const float inverse = 1.0f / row;
    int32_t sum = 0;
    uint32_t cost = 0, n = 0;

    for (uint32_t i = 0; i < picks->n; i++) {
        const uint32_t count = nearest(picks->quotient[i] * inverse);
        const float product = (float)count * row * picks->factor[i];
        const uint32_t residual =
            bits_of(picks->value[i]) - bits_of(product) + LP_FORMAT_COUNTS_RESIDUAL_BIAS;
        const bool small = residual >> LP_FORMAT_COUNTS_RESIDUAL_BITS == 0;

        cost += small ? cost_of(costs, (count - 1) << LP_FORMAT_COUNTS_RESIDUAL_BITS | residual)
                      : costs->far;
        sum += small ? (int32_t)residual - (int32_t)LP_FORMAT_COUNTS_RESIDUAL_BIAS : 0;
        n += small;
    }
    *ret_sum = sum;
    *ret_n = n;
    return cost;
}

float lp_codec_counts_row(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                          float base)
{
    uint32_t best_cost, n, best, centre;
    int32_t sum;

    if (base == 0)
        return 1.0f;
    best = bits_of(base);
    best_cost = price_row(picks, costs, base, &sum, &n);
    if (n == 0)
        return base;
    /* A mean of residuals that is not 0 moves the scale by about as much. */
    centre = best + (uint32_t)((2 * sum + (sum > 0 ? (int32_t)n : -(int32_t)n)) / (2 * (int32_t)n));
    for (uint32_t row = centre - 1; row != centre + 2; row++) {
        uint32_t cost;

        if (row == best || !lp_counts_is_scale(row))
            continue;
        cost = price_row(picks, costs, of_bits(row), &sum, &n);
        if (cost < best_cost) {
            best_cost = cost;
            best = row;
        }
    }
    return of_bits(best);
}

uint32_t lp_codec_counts_symbol(uint32_t value, float row, float column)
{
    if (value >> 23 >= 1 && value >> 23 <= 254) {
        const uint32_t count = nearest(of_bits(value) / column / row);
        const float product = (float)count * row * column;
        const uint32_t residual = value - bits_of(product) + LP_FORMAT_COUNTS_RESIDUAL_BIAS;

        if (residual >> LP_FORMAT_COUNTS_RESIDUAL_BITS == 0)
            return (count - 1) << LP_FORMAT_COUNTS_RESIDUAL_BITS | residual;
    }
    return value >= LP_FORMAT_COUNTS_SYMBOLS ? value : LP_COUNTS_NONE;
}
