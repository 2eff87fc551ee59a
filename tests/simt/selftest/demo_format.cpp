/* SPDX-License-Identifier: Apache-2.0 */
/* Packing, and the plain decoder that the kernel is compared with. */
#include "demo_format.hpp"

namespace demo {
namespace {

struct BitWriter {
    std::vector<uint32_t> words;
    uint32_t at = 0;

    void put(uint32_t value, uint32_t bits)
    {
        for (uint32_t b = 0; b < bits; b++, at++) {
            if (at / 32 == words.size()) {
                words.push_back(0);
            }
            words[at / 32] |= (value >> b & 1u) << (at % 32);
        }
    }
};

uint32_t length_of(uint32_t x)
{
    const uint32_t bits = x ? 32 - (uint32_t)__builtin_clz(x) : 0;
    return bits > MAX_LENGTH ? ESCAPE : bits;
}

void pack_tile(const uint32_t x[TILE], std::vector<uint32_t> &words)
{
    std::vector<uint32_t> tile(HEAD_WORDS, 0);
    BitWriter bits;

    for (uint32_t i = 0; i < TILE; i++) {
        const uint32_t length = length_of(x[i]);
        tile[i / 8] |= length << (i % 8 * 4);
        if (length != ESCAPE) {
            bits.put(x[i], length);
        }
    }
    tile.insert(tile.end(), bits.words.begin(), bits.words.end());
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t lane = 0; lane < 32; lane++) {
            if (length_of(x[4 * lane + k]) == ESCAPE) {
                tile.push_back(x[4 * lane + k]);
            }
        }
    }
    tile.resize((tile.size() + 3) / 4 * 4);
    words.insert(words.end(), tile.begin(), tile.end());
}

void unpack_tile(const uint32_t *words, uint32_t x[TILE])
{
    uint32_t length[TILE], total = 0, bit = 0;

    for (uint32_t i = 0; i < TILE; i++) {
        length[i] = words[i / 8] >> (i % 8 * 4) & 15;
        total += length[i] == ESCAPE ? 0 : length[i];
    }
    for (uint32_t i = 0; i < TILE; i++) {
        x[i] = 0;
        for (uint32_t b = 0; length[i] != ESCAPE && b < length[i]; b++, bit++) {
            x[i] |= (words[HEAD_WORDS + bit / 32] >> (bit % 32) & 1u) << b;
        }
    }
    const uint32_t *escape = words + HEAD_WORDS + (total + 31) / 32;
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t lane = 0; lane < 32; lane++) {
            if (length[4 * lane + k] == ESCAPE) {
                x[4 * lane + k] = *escape++;
            }
        }
    }
}

} /* namespace */

Packed pack(const std::vector<uint32_t> &values)
{
    Packed packed;

    packed.n = (uint32_t)values.size();
    for (uint32_t base = 0; base < packed.n; base += TILE) {
        uint32_t x[TILE] = {};
        for (uint32_t i = 0; i < TILE && base + i < packed.n; i++) {
            x[i] = values[base + i];
        }
        packed.offsets.push_back((uint32_t)(packed.words.size() / 4));
        pack_tile(x, packed.words);
    }
    packed.offsets.push_back((uint32_t)(packed.words.size() / 4));
    return packed;
}

std::vector<uint32_t> unpack_scalar(const Packed &packed)
{
    std::vector<uint32_t> out(packed.n);

    for (uint32_t t = 0; t * TILE < packed.n; t++) {
        uint32_t x[TILE];
        unpack_tile(&packed.words[packed.offsets[t] * 4ull], x);
        for (uint32_t i = 0; i < TILE && t * TILE + i < packed.n; i++) {
            out[t * TILE + i] = x[i];
        }
    }
    return out;
}

std::vector<uint32_t> sample_values(uint32_t n)
{
    std::vector<uint32_t> values(n);
    uint64_t s = 88172645463325252ull; /* xorshift64: Marsaglia, "Xorshift RNGs", 2003 */

    for (uint32_t &x : values) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        const bool wide = (s & 31) == 0;
        x = (uint32_t)(s >> 32) >> (wide ? 0 : 19 + (s >> 8) % 13);
    }
    return values;
}

uint32_t count_escapes(const std::vector<uint32_t> &values)
{
    uint32_t n = 0;
    for (const uint32_t x : values) {
        n += x >> MAX_LENGTH != 0;
    }
    return n;
}

} /* namespace demo */
