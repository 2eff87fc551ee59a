/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's format: tiles of 128 uint32, each value with its own bit length (0..14) or an escape.
 *
 *   words 0..15   128 nibbles: the bit length, 15 = escape
 *   then          the values' bits, LSB first, in value order (escapes take none), to a full word
 *   then          the escaped values, 32 bits each: for k in 0..3, lane in 0..31, value 4*lane+k
 *   padded to 16 bytes. A table gives each tile's offset in units of 16 bytes (tiles + 1 entries).
 *
 * Only the executors' own tests use it: it is small, and its decoder needs all that a real one does
 * (asynchronous double buffering, ballots, a warp scan, bit fields, 128-bit stores). */
#ifndef LP_TESTS_SIMT_DEMO_FORMAT_HPP
#define LP_TESTS_SIMT_DEMO_FORMAT_HPP

#include <cstdint>
#include <vector>

namespace demo {

constexpr uint32_t TILE = 128, HEAD_WORDS = 16, ESCAPE = 15, MAX_LENGTH = 14;
constexpr uint32_t MAX_TILE_WORDS = HEAD_WORDS + TILE + 4; /* every value escaped, then padding */

struct Packed {
    std::vector<uint32_t> offsets, words;
    uint32_t n = 0;
};

Packed pack(const std::vector<uint32_t> &values);

/* The reference: one value at a time, no shared code with the kernel. */
std::vector<uint32_t> unpack_scalar(const Packed &packed);

/* n test values, most of 1 to 13 bits, about 3 % escapes; the same on every machine. */
std::vector<uint32_t> sample_values(uint32_t n);
uint32_t count_escapes(const std::vector<uint32_t> &values);

} /* namespace demo */

#endif
