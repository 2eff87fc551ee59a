/* SPDX-License-Identifier: Apache-2.0 */
/* The list writes each place's low bits as they are, and the other bits of all places in unary:
 * about two bits and log2(n / m) for each, whatever the places are. */
#include "codec/sparse_places.h"

#include "base/bytes.h"
#include "codec/lane_bits.h"

#include <string.h>

/* A bit string that grows at its end. Stores of 8 bytes: those behind the last bit are zero, or
 * overwritten by what comes next. */
struct bit_writer {
    uint8_t *dst;
    uint64_t bits; /* not stored for good yet: fewer than 8 */
    uint32_t n;
};

/* width is at most 56, and bits has no others. */
static inline void put_bits(struct bit_writer *out, uint64_t bits, uint32_t width)
{
    out->bits |= bits << out->n;
    out->n += width;
    lp_store_u64(out->dst, out->bits);
    out->dst += out->n / 8;
    out->bits >>= out->n & ~7u;
    out->n &= 7;
}

/* Whole words of bits, of which the last may have fewer than 64. */
static void put_words(struct bit_writer *out, const uint64_t *words, uint32_t n_bits)
{
    for (uint32_t at = 0; at < n_bits; at += 32) {
        const uint64_t word = words[at / 64] >> at % 64 & UINT32_MAX;

        put_bits(out, word, LP_MIN(n_bits - at, 32));
    }
}

static void put_list(const struct lp_sparse_places *places, const uint64_t *map, uint8_t *dst)
{
    const uint32_t l = places->low_bits, low_mask = (1u << l) - 1;
    struct bit_writer out = {dst, 0, 0};
    uint64_t upper[LP_SPARSE_MAP_WORDS]; /* a list has fewer bits than a map */
    uint32_t i = 0;

    memset(upper, 0, lp_sparse_map_words(places->upper_bits) * sizeof(upper[0]));
    for (uint32_t w = 0; w < lp_sparse_map_words(places->n); w++) {
        for (uint64_t word = map[w]; word != 0; word &= word - 1, i++) {
            const uint32_t place = 64 * w + (uint32_t)__builtin_ctzll(word);
            const uint32_t bit = (place >> l) + i;

            put_bits(&out, place & low_mask, l);
            upper[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
    put_words(&out, upper, places->upper_bits);
}

void lp_codec_sparse_places_put(const struct lp_sparse_places *places, const uint64_t *map,
                                uint8_t *dst)
{
    struct bit_writer out = {dst, 0, 0};

    if (places->is_list)
        put_list(places, map, dst);
    else
        put_words(&out, map, places->n);
}

/* Bits [at, at + 64) of src that lie before end. */
static inline uint64_t load_before(const uint8_t *src, uint32_t at, uint32_t end)
{
    const uint64_t word = lp_lane_load_bits(src, at);

    return end - at < 64 ? word & ((UINT64_C(1) << (end - at)) - 1) : word;
}

static bool get_list(const struct lp_sparse_places *places, const uint8_t *src, uint64_t *map)
{
    const uint32_t l = places->low_bits, low_mask = (1u << l) - 1, m = places->m;
    const uint32_t upper_at = m * l;
    uint32_t i = 0, next = 0; /* the least that place i may be */

    memset(map, 0, lp_sparse_map_words(places->n) * sizeof(map[0]));
    for (uint32_t at = 0; at < places->upper_bits; at += 64) {
        uint64_t word = load_before(src, upper_at + at, places->bits);

        if (i + (uint32_t)__builtin_popcountll(word) > m)
            return false;
        for (; word != 0; word &= word - 1, i++) {
            const uint32_t high = at + (uint32_t)__builtin_ctzll(word) - i;
            const uint32_t low = lp_load_u32(src + i * l / 8) >> i * l % 8 & low_mask;
            const uint32_t place = high << l | low;

            if (place < next || place >= places->n)
                return false;
            map[place / 64] |= UINT64_C(1) << place % 64;
            next = place + 1;
        }
    }
    return i == m;
}

static bool get_map(const struct lp_sparse_places *places, const uint8_t *src, uint64_t *map)
{
    uint32_t count = 0;

    for (uint32_t w = 0; w < lp_sparse_map_words(places->n); w++) {
        map[w] = load_before(src, 64 * w, places->n);
        count += (uint32_t)__builtin_popcountll(map[w]);
    }
    return count == places->m;
}

bool lp_codec_sparse_places_get(const struct lp_sparse_places *places, const uint8_t *src,
                                uint64_t *map)
{
    const uint32_t tail = places->bits % 8;

    if (tail != 0 && src[places->bits / 8] >> tail != 0)
        return false;
    return places->is_list ? get_list(places, src, map) : get_map(places, src, map);
}
