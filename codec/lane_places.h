/* SPDX-License-Identifier: Apache-2.0 */
/* What codec/lane_encode.h asks of a tier, for those that look exponents up one by one and have no
 * better way to append bits: an output, and levels that places go down. */
#ifndef LP_CODEC_LANE_PLACES_H
#define LP_CODEC_LANE_PLACES_H

#include "codec/lane_bits.h"
#include "codec/lane_work.h"

#include <stdbool.h>

/* Where bits are appended; no more than limit_bits come out, whatever is appended. */
struct output {
    uint8_t *dst;
    uint64_t bit;
    uint64_t limit_bits;
};

static bool put_plane(struct output *out, uint64_t *words, uint32_t n)
{
    if (out->bit + n > out->limit_bits)
        return false;
    lp_lane_put_bits(out->dst, out->bit, words, n);
    out->bit += n;
    return true;
}

/* Nothing is left to look up once levels have started. */
struct look_up {
    bool done;
};

/* A look-up is the slowest step here, so there is one for each exponent, and places go down the
 * levels. */
static const uint8_t *start_levels(const uint8_t *table, uint32_t exponent_bits,
                                   const struct lane_work *work, uint32_t n, struct look_up *ret)
{
    const uint8_t *const exponents = work->exponents;
    uint8_t *const places = work->places;

    (void)exponent_bits;
    ret->done = true;
    for (uint32_t i = 0; i < n; i += 8) {
        const uint64_t e = lp_load_u64(exponents + i);
        uint64_t v = 0;

        for (uint32_t j = 0; j < 64; j += 8)
            v |= (uint64_t)table[e >> j & 0xff] << j;
        lp_store_u64(places + i, v);
    }
    return places;
}

#endif
