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
    picks->value[i] = value;
    picks->factor[i] = factor;
    picks->quotient[i] = of_bits(value) / factor;
    picks->n++;
}

/* The nearest count. Without a branch, so that compilers make vectors of it. */
static inline int32_t nearest(float quotient)
{
    const float most = (float)LP_COUNTS_MAX;
    const int32_t count = (int32_t)((quotient < most ? quotient : most) + 0.5f);

    return count < 1 ? 1 : count;
}

uint32_t lp_codec_counts_whole(float quotient)
{
    const int32_t count = nearest(quotient);

    return fabsf(quotient - (float)count) <= (float)count * WHOLE_SHARE ? (uint32_t)count : 0;
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

/* The symbol of a value, the quotient of which by both scales is given; or its bits. */
static inline uint32_t symbol_of(uint32_t value, float quotient, float row, float column)
{
    const int32_t count = nearest(quotient);
    const float product = (float)count * row * column;
    const uint32_t residual = value - bits_of(product) + LP_FORMAT_COUNTS_RESIDUAL_BIAS;
    const uint32_t symbol = (uint32_t)(count - 1) << LP_FORMAT_COUNTS_RESIDUAL_BITS | residual;

    return residual >> LP_FORMAT_COUNTS_RESIDUAL_BITS == 0 ? symbol : value;
}

/* A scale of a row, and what the picks become with it. */
struct trial {
    uint32_t row;    /* bits */
    uint32_t cost;   /* of all */
    int32_t sum;     /* of residuals */
    int32_t n_small; /* picks that have one */
    uint32_t symbols[LP_COUNTS_PICKS];
};

static void try_row(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                    uint32_t row, struct trial *trial)
{
    const float scale = of_bits(row), inverse = 1.0f / scale;

    trial->row = row;
    trial->cost = 0;
    trial->sum = 0;
    trial->n_small = 0;
    for (uint32_t i = 0; i < picks->n; i++)
        trial->symbols[i] =
            symbol_of(picks->value[i], picks->quotient[i] * inverse, scale, picks->factor[i]);
    for (uint32_t i = 0; i < picks->n; i++) {
        const uint32_t symbol = trial->symbols[i];
        const int32_t small = symbol < LP_FORMAT_COUNTS_SYMBOLS;
        const int32_t residual = (int32_t)(symbol % (1u << LP_FORMAT_COUNTS_RESIDUAL_BITS)) -
                                 (int32_t)LP_FORMAT_COUNTS_RESIDUAL_BIAS;

        trial->cost += cost_of(costs, symbol);
        trial->sum += small * residual;
        trial->n_small += small;
    }
}

float lp_codec_counts_row(const struct lp_counts_picks *picks, const struct lp_counts_costs *costs,
                          float base, uint32_t *symbols)
{
    struct trial trials[2], *best = &trials[0], *next = &trials[1];
    uint32_t centre;

    try_row(picks, costs, bits_of(base == 0 ? 1.0f : base), best);
    centre = best->row;
    /* A mean of residuals that is not 0 moves the scale by about as much. */
    if (best->n_small > 0)
        centre += (uint32_t)((2 * best->sum + (best->sum > 0 ? best->n_small : -best->n_small)) /
                             (2 * best->n_small));
    for (uint32_t row = centre - 1; best->n_small > 0 && row != centre + 2; row++) {
        if (row == best->row || !lp_counts_is_scale(row))
            continue;
        try_row(picks, costs, row, next);
        if (next->cost < best->cost) {
            struct trial *const worse = best;

            best = next;
            next = worse;
        }
    }
    memcpy(symbols, best->symbols, picks->n * sizeof(*symbols));
    return of_bits(best->row);
}

uint32_t lp_codec_counts_symbol(uint32_t value, float row, float column)
{
    uint32_t symbol = value;

    if (value >> 23 >= 1 && value >> 23 <= 254)
        symbol = symbol_of(value, of_bits(value) / column / row, row, column);
    return symbol != value || value >= LP_FORMAT_COUNTS_SYMBOLS ? symbol : LP_COUNTS_NONE;
}
