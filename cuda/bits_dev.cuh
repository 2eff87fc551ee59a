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

#endif
