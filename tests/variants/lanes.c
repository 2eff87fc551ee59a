/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/variants/lanes.h"

#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "tests/lib/samples.h"

#include <string.h>

static const struct {
    uint32_t n_levels;
    uint8_t widths[LP_FORMAT_LANE_LEVELS_MAX];
} shapes[LANES_SHAPES] = {
    {1, {1}},
    {1, {2}},
    {1, {3}},
    {2, {3, 3}},
    {2, {1, 2}},
    {3, {2, 2, 3}},
    {3, {1, 2, 3}},
    {4, {2, 2, 2, 3}},
    {4, {1, 1, 2, 3}},
    {4, {3, 2, 1, 3}},
    {5, {1, 1, 1, 1, 1}},
    {5, {3, 3, 3, 3, 3}},
};

/* Indices of hist, largest count first. */
static void sort_exponents(const uint32_t *hist, uint32_t n, uint16_t *order)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;

        for (; at > 0 && hist[order[at - 1]] < hist[i]; at--)
            order[at] = order[at - 1];
        order[at] = (uint16_t)i;
    }
}

static void scramble(uint16_t *order, uint32_t n)
{
    uint64_t state = n;

    for (uint32_t i = n - 1; i > 0; i--) {
        const uint32_t j = (uint32_t)(samples_next(&state) % (i + 1));
        const uint16_t other = order[j];

        order[j] = order[i];
        order[i] = other;
    }
}

/* The most frequent exponents of n elements, in whose order ranks are. i8 and u8 are counted as
 * whole bytes. */
static void order_exponents(uint32_t dtype, uint32_t exponent_bits, const void *elements,
                            uint32_t n, uint16_t *order)
{
    const bool whole = lp_codec_dtype_info(dtype)->exponent_bits == 0;
    uint32_t counts[LP_LANE_EXPONENTS_MAX] = {0}, hist[LP_LANE_EXPONENTS_MAX] = {0};

    lp_codec_scalar_exponent_histogram(dtype, elements, n, counts);
    for (uint32_t i = 0; i < LP_LANE_EXPONENTS_MAX; i++)
        hist[whole ? (i & 0xff) >> (8 - exponent_bits) : i] += counts[i];
    sort_exponents(hist, 1u << exponent_bits, order);
}

static bool make(struct lp_lane *ret_lane, uint32_t shape, const struct lp_lane_params *params,
                 bool scrambled, const void *elements, uint32_t n)
{
    const uint32_t n_exponents = 1u << params->exponent_bits;
    struct lp_lane_params all = *params;
    uint16_t order[LP_LANE_EXPONENTS_MAX];
    uint32_t n_symbols = 0;

    for (uint32_t k = 0; k < shapes[shape].n_levels; k++)
        n_symbols += (1u << shapes[shape].widths[k]) - 1;
    if (n_symbols > n_exponents)
        return false;
    order_exponents(params->dtype, params->exponent_bits, elements, n, order);
    if (scrambled)
        scramble(order, n_exponents);
    all.n_levels = shapes[shape].n_levels;
    all.widths = shapes[shape].widths;
    all.ranks = order;
    return lp_codec_lane_init(ret_lane, &all, NULL) == 0;
}

bool lanes_make(struct lp_lane *ret_lane, uint32_t dtype, uint32_t shape, uint32_t window,
                bool scrambled, const void *elements, uint32_t n)
{
    const struct lp_lane_params params = {.dtype = dtype,
                                          .exponent_bits =
                                              lp_codec_dtype_info(dtype)->exponent_bits,
                                          .window = window};

    return make(ret_lane, shape, &params, scrambled, elements, n);
}

bool lanes_make_bits(struct lp_lane *ret_lane, uint32_t dtype, const struct lanes_bits *bits,
                     uint32_t shape, uint32_t window, const void *elements, uint32_t n)
{
    const struct lp_lane_params params = {.dtype = dtype,
                                          .exponent_bits = bits->exponent_bits,
                                          .sign = bits->sign,
                                          .trailing_bits = bits->trailing_bits,
                                          .window = window};

    return make(ret_lane, shape, &params, false, elements, n);
}
