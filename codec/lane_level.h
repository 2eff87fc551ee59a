/* SPDX-License-Identifier: Apache-2.0 */
/* One level of the cascade as vector tiers see it. Exponents of at most 8 bits are bytes all the
 * way. Wider ones (f64) go through the levels as places, which are bytes, too, and are looked up
 * when all levels are done. */
#ifndef LP_CODEC_LANE_LEVEL_H
#define LP_CODEC_LANE_LEVEL_H

#include "codec/lane.h"
#include "codec/lane_bits.h"

/* What a tier's decode_level(level, width, dst) gets: each code to a byte of dst, which has room
 * for LANE_BUFFER_SLACK more than count. What is written behind count is garbage, and harmless. */
struct lane_level {
    const uint8_t *src;
    uint64_t bit; /* first bit of the first plane */
    uint32_t count;
    const uint8_t *next;  /* bytes for the zero codes, in order; count + LANE_BUFFER_SLACK are
                             readable */
    uint64_t table;       /* byte i is for code i; byte 0 is 0 */
    const uint8_t *ahead; /* from here ahead_bytes for each 64 codes may be prefetched */
    uint32_t ahead_bytes;
};

/* What may be prefetched for 64 codes; returns from where it goes on. */
static LP_ALWAYS_INLINE const uint8_t *lane_prefetch(const struct lane_level *level,
                                                     const uint8_t *ahead)
{
    for (uint32_t i = 0; i < level->ahead_bytes; i += 64)
        __builtin_prefetch(ahead + i);
    return ahead + level->ahead_bytes;
}

/* Four words of 16 bits, none above 255, to bytes. */
static LP_ALWAYS_INLINE uint64_t lane_pack_4(uint64_t words)
{
    words = (words | words >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (words | words >> 16) & UINT32_MAX;
}

/* What the codes of level k stand for: exponents, or places where exponents are wide. */
static LP_ALWAYS_INLINE uint64_t lane_level_table(const struct lp_lane *lane, uint32_t k,
                                                  uint32_t base)
{
    const uint64_t each_word = UINT64_C(0x0001000100010001);
    const uint64_t first = UINT64_C(0x0101010101010101) * (k << LP_LANE_LEVEL_SHIFT);
    const uint8_t *const rank = (const uint8_t *)(lane->rank_at + (k << LP_LANE_LEVEL_SHIFT));
    uint64_t low, high;

    if (lane->exponent_bits > 8)
        return (first | UINT64_C(0x0706050403020100)) & ~UINT64_C(0xff);
    low = (lp_load_u64(rank) + base * each_word) & lane->exponent_mask * each_word;
    high = (lp_load_u64(rank + 8) + base * each_word) & lane->exponent_mask * each_word;
    return (lane_pack_4(low) | lane_pack_4(high) << 32) & ~UINT64_C(0xff);
}

/* A tier's find_wide(): places of n elements to exponents of 2 bytes in dst. n_raw exponents at raw
 * are taken in order where the place is that behind the last level. This one goes one by one, which
 * is in step with elements of 8 bytes. */
static inline void lane_find_wide(const struct lp_lane *lane, uint32_t base, const uint8_t *raw,
                                  uint32_t n_raw, const uint8_t *places, uint32_t n, uint8_t *dst)
{
    const uint32_t raw_place = lane->n_levels << LP_LANE_LEVEL_SHIFT;
    uint16_t exponent_at[64] = {0};
    uint32_t taken = 0;

    for (uint32_t i = 0; i < LP_LANE_PLACES; i++)
        exponent_at[i] = (uint16_t)((lane->rank_at[i] + base) & lane->exponent_mask);
    for (uint32_t i = 0; i < n; i++) {
        const bool is_raw = places[i] == raw_place;
        const uint16_t v = exponent_at[places[i] % 64];

        /* A source that has changed meanwhile may have more of these places than raw exponents. */
        lp_store_u16(dst + 2 * (size_t)i, is_raw ? lp_load_u16(raw + 2 * (size_t)taken) : v);
        taken += is_raw && taken < n_raw;
    }
}

#endif
