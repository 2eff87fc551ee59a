/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions: bits, bytes and stores that the decoders share. A lane works on eight elements
 * at a time: their bits in the eight nibbles of a word, their bytes in two words. */
#ifndef LP_CUDA_BITS_DEV_CUH
#define LP_CUDA_BITS_DEV_CUH

#include "cuda/gpu_port.h"

#define LP_NIBBLES 0x11111111u

/* Bit i of eight goes to bit 4 * i. */
LP_DEVICE uint32_t lp_gpu_spread(uint32_t bits)
{
    bits = (bits * 0x1001u) & 0x000f000fu;
    bits = (bits * 0x41u) & 0x03030303u;
    return (bits * 9u) & LP_NIBBLES;
}

/* Ones in the nibbles from count on; count is at most 8. */
LP_DEVICE uint32_t lp_gpu_nibbles_from(uint32_t count)
{
    return __funnelshift_lc(0u, LP_NIBBLES, 4u * count);
}

/* For each nibble, how many of the nibbles below it hold a one. */
LP_DEVICE uint32_t lp_gpu_nibble_ranks(uint32_t ones)
{
    return ones * 0x11111110u;
}

/* From bytes of 0 or 1 to nibbles. */
LP_DEVICE uint32_t lp_gpu_nibbles_of_bytes(const uint32_t bytes[2])
{
    const uint32_t low = (bytes[0] | bytes[0] >> 4) & 0x00110011u,
                   high = (bytes[1] | bytes[1] >> 4) & 0x00110011u;

    return lp_gpu_permute(low | low >> 8, high | high >> 8, 0x5410) & LP_NIBBLES;
}

/* Bytes of the four elements (low half of the selectors, or high half) in a table of eight. */
LP_DEVICE uint32_t lp_gpu_bytes_low(const uint32_t table[2], uint32_t selectors)
{
    return lp_gpu_permute(table[0], table[1], selectors);
}

LP_DEVICE uint32_t lp_gpu_bytes_high(const uint32_t table[2], uint32_t selectors)
{
    return lp_gpu_permute(table[0], table[1], selectors >> 16);
}

/* 0xff where a nibble holds a one, for the low four nibbles. */
LP_DEVICE uint32_t lp_gpu_byte_mask(uint32_t ones)
{
    return lp_gpu_lookup<0x0000ff00u, 0u>(ones);
}

/* Eight bits of each of up to MOST planes that begin bit, bit + step, .. : plane i in byte i. */
template <uint32_t MOST>
LP_DEVICE void lp_gpu_planes(uint32_t rows[2], const lp_gpu_words &string, uint32_t bit,
                             uint32_t step, uint32_t planes)
{
    constexpr uint32_t INTO[4] = {0x3214u, 0x3240u, 0x3410u, 0x4210u};

    rows[0] = 0;
    rows[1] = 0;
#pragma unroll
    for (uint32_t i = 0; i < MOST; i++) {
        if (i >= planes)
            break;
        rows[i / 4] = lp_gpu_permute(rows[i / 4], lp_gpu_window(string, bit), INTO[i % 4]);
        bit += step;
    }
}

/* Bit j of byte i to bit i of byte j. Hacker's Delight, section 7-3. */
LP_DEVICE void lp_gpu_transpose(uint32_t rows[2])
{
    const uint32_t low = rows[0], high = rows[1];

    rows[0] = lp_gpu_select<0x0f0f0f0fu>(low, high << 4);
    rows[1] = lp_gpu_select<0x0f0f0f0fu>(low >> 4, high);
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t swap = (rows[i] ^ rows[i] >> 14) & 0x0000ccccu;

        rows[i] ^= swap ^ swap << 14;
        swap = (rows[i] ^ rows[i] >> 7) & 0x00aa00aau;
        rows[i] ^= swap ^ swap << 7;
    }
}

/* Zero codes among count codes of some planes that begin at bit. All 32 lanes call. */
LP_DEVICE uint32_t lp_gpu_count_zeros(const lp_gpu_words &words, uint32_t bit, uint32_t width,
                                      uint32_t count, uint32_t lane)
{
    uint32_t zeros = 0;

    for (uint32_t first = 0; first < count; first += 32 * 32) {
        const uint32_t at = min(first + 32 * lane, count), left = min(count - at, 32u);
        uint32_t any = lp_gpu_window(words, bit + at);

#pragma unroll
        for (uint32_t plane = 1; plane < width; plane++)
            any |= lp_gpu_window(words, bit + plane * count + at);
        zeros += (uint32_t)__popc(~(any | __funnelshift_lc(0u, 0xffffffffu, left)));
    }
    return lp_gpu_sum(zeros);
}

/* 32 bits, the first one on top, from any bit of a string that fills its words from the top. flip
 * is 1 where the string's words have 64 bits. */
LP_DEVICE uint32_t lp_gpu_top_bits(const uint32_t *words, uint32_t bit, uint32_t flip)
{
    const uint32_t at = bit >> 5;

    return __funnelshift_l(words[(at + 1) ^ flip], words[at ^ flip], bit);
}

/* The lower one of both is kept; 0 means none yet. */
LP_DEVICE void lp_gpu_report(uint64_t status_dev, uint64_t what)
{
    unsigned long long *const status = reinterpret_cast<unsigned long long *>(status_dev);
    unsigned long long old = 0;

    if (status == nullptr)
        return;
    for (;;) {
        const unsigned long long seen = atomicCAS(status, old, (unsigned long long)what);

        if (seen == old || (seen != 0 && seen <= what))
            return;
        old = seen;
    }
}

/* Where eight consecutive elements of ELEM bytes go: elements [first, last) of them only. */
struct lp_gpu_target {
    unsigned char *at; /* of element 0, wanted or not */
    uint32_t first, last;
};

template <class T> LP_DEVICE T *lp_gpu_as(unsigned char *at)
{
    return reinterpret_cast<T *>(at);
}

/* Element by element, for rows that begin or end within the eight or on an odd border. */
template <uint32_t ELEM>
LP_DEVICE void lp_gpu_store_some(const lp_gpu_target &to, const uint32_t *w)
{
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        if (i < to.first || i >= to.last)
            continue;
        if (ELEM == 1)
            to.at[i] = (unsigned char)(w[i / 4] >> (8 * (i % 4)));
        else if (ELEM == 2)
            lp_gpu_as<uint16_t>(to.at)[i] = (uint16_t)(w[i / 2] >> (16 * (i % 2)));
        else if (ELEM == 4)
            lp_gpu_as<uint32_t>(to.at)[i] = w[i % (2 * ELEM)];
        else
            lp_gpu_as<uint2>(to.at)[i] =
                make_uint2(w[2 * i % (2 * ELEM)], w[(2 * i + 1) % (2 * ELEM)]);
    }
}

template <uint32_t ELEM> LP_DEVICE void lp_gpu_store_words(unsigned char *at, const uint32_t *w)
{
#pragma unroll
    for (uint32_t i = 0; i < 2 * ELEM; i++)
        lp_gpu_as<uint32_t>(at)[i] = w[i];
}

template <uint32_t ELEM> LP_DEVICE void lp_gpu_store_wide(unsigned char *at, const uint32_t *w)
{
    if constexpr (ELEM == 1) {
        *lp_gpu_as<uint2>(at) = make_uint2(w[0], w[1]);
    } else {
#pragma unroll
        for (uint32_t i = 0; i < ELEM / 2; i++)
            lp_gpu_as<uint4>(at)[i] =
                make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
    }
}

/* w holds eight elements. wide: to.at is on a border of 16 bytes (8 where ELEM is 1) in every lane.
 * All 32 lanes call. */
template <uint32_t ELEM>
LP_DEVICE void lp_gpu_store(const lp_gpu_target &to, const uint32_t *w, bool wide)
{
    const bool whole = to.first == 0 && to.last >= 8, none = to.first >= to.last;

    if (wide && __all_sync(0xffffffffu, whole || none)) {
        if (whole)
            lp_gpu_store_wide<ELEM>(to.at, w);
    } else if (whole && (reinterpret_cast<uintptr_t>(to.at) & 3) == 0) {
        lp_gpu_store_words<ELEM>(to.at, w);
    } else if (!none) {
        lp_gpu_store_some<ELEM>(to, w);
    }
}

/* One element of ELEM bytes, in the low bytes of two words. */
template <uint32_t ELEM> LP_DEVICE void lp_gpu_load_global(uint32_t ret[2], uint64_t address)
{
    ret[1] = 0;
    if (ELEM == 1) {
        ret[0] = __ldg(reinterpret_cast<const unsigned char *>(address));
    } else if (ELEM == 2) {
        ret[0] = __ldg(reinterpret_cast<const unsigned short *>(address));
    } else if (ELEM == 4) {
        ret[0] = __ldg(reinterpret_cast<const unsigned int *>(address));
    } else {
        const uint2 both = __ldg(reinterpret_cast<const uint2 *>(address));

        ret[0] = both.x;
        ret[1] = both.y;
    }
}

/* The same from any byte on of a run that begins on a 4-byte border. */
template <uint32_t ELEM>
LP_DEVICE void lp_gpu_load_element(uint32_t ret[2], const unsigned char *bytes, uint32_t byte)
{
    const uint32_t *const w = reinterpret_cast<const uint32_t *>(bytes) + (byte >> 2);
    const uint32_t shift = 8 * (byte & 3);

    ret[1] = 0;
    if (ELEM == 1) {
        ret[0] = bytes[byte];
    } else {
        ret[0] = __funnelshift_r(w[0], w[1], shift);
        if (ELEM == 2)
            ret[0] &= 0xffff;
        if (ELEM == 8)
            ret[1] = __funnelshift_r(w[1], w[2], shift);
    }
}

/* Element i of eight, i known to the compiler. Set one after the other, from 0 on. */
template <uint32_t ELEM>
LP_DEVICE void lp_gpu_set_element(uint32_t (&to)[2 * ELEM], uint32_t i, const uint32_t value[2])
{
    if constexpr (ELEM == 8) {
        to[2 * i] = value[0];
        to[2 * i + 1] = value[1];
    } else {
        constexpr uint32_t PER_WORD = 4 / ELEM;
        const uint32_t shift = 8 * ELEM * (i % PER_WORD);

        to[i / PER_WORD] = shift == 0 ? value[0] : to[i / PER_WORD] | value[0] << shift;
    }
}

/* The same, where zeros stand. */
template <uint32_t ELEM>
LP_DEVICE void lp_gpu_add_element(uint32_t (&to)[2 * ELEM], uint32_t i, const uint32_t value[2])
{
    if constexpr (ELEM == 8) {
        to[2 * i] |= value[0];
        to[2 * i + 1] |= value[1];
    } else {
        constexpr uint32_t PER_WORD = 4 / ELEM;

        to[i / PER_WORD] |= value[0] << (8 * ELEM * (i % PER_WORD));
    }
}

template <uint32_t ELEM>
LP_DEVICE void lp_gpu_get_element(uint32_t ret[2], const uint32_t (&from)[2 * ELEM], uint32_t i)
{
    if constexpr (ELEM == 8) {
        ret[0] = from[2 * i];
        ret[1] = from[2 * i + 1];
    } else {
        constexpr uint32_t PER_WORD = 4 / ELEM;

        ret[0] = from[i / PER_WORD] >> (8 * ELEM * (i % PER_WORD));
        ret[1] = 0;
    }
}

/* Zeros to n_bytes of memory on any border. */
LP_DEVICE void lp_gpu_zero_out(unsigned char *out, uint32_t n_bytes, uint32_t lane)
{
    const uint32_t head = min((0u - (uint32_t) reinterpret_cast<uintptr_t>(out)) & 15, n_bytes);
    const uint32_t tail = head + ((n_bytes - head) & ~15u);

    if (lane < head)
        out[lane] = 0;
    for (uint32_t at = head + 16 * lane; at < tail; at += 16 * 32)
        *lp_gpu_as<uint4>(out + at) = make_uint4(0, 0, 0, 0);
    if (tail + lane < n_bytes)
        out[tail + lane] = 0;
}

#endif
