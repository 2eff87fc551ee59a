/* SPDX-License-Identifier: Apache-2.0 */
/* Closing and opening the gaps of a word on a CPU that has no instruction for it: step i moves some
 * of the bits by 2^i, and after a step for each bit of a bit's number all are where they belong.
 * Which bits a step moves is the same for all words with one mask, so it is worked out once; the
 * steps then go over a vector of words, each with a mask of its own.
 *
 * Steps of words that fill 16 bytes lie together: step 0 of all of them, step 1, and so on. Source
 * of the idea: Warren, Hacker's Delight, on compress and expand. */
#ifndef LP_CODEC_IBP_MOVES_H
#define LP_CODEC_IBP_MOVES_H

#include "codec/ibp_record.h"

/* Only the NEON tier has a use for them. */
#if defined(__aarch64__)
#define LP_IBP_HAS_MOVES true
#else
#define LP_IBP_HAS_MOVES false
#endif

#define LP_IBP_MOVES_VECTOR 16u

LP_IBP_INLINE uint32_t lp_ibp_steps(uint32_t s)
{
    return s == 4 ? 5 : 6;
}

/* Bytes that the moves of n_words words take. */
static inline size_t lp_ibp_moves_bytes(uint32_t n_words, uint32_t s)
{
    const size_t vectors = ((size_t)n_words * s + LP_IBP_MOVES_VECTOR - 1) / LP_IBP_MOVES_VECTOR;

    return LP_IBP_HAS_MOVES ? vectors * lp_ibp_steps(s) * LP_IBP_MOVES_VECTOR : 0;
}

/* Where the moves of the vector with word j begin. */
LP_IBP_INLINE const uint8_t *lp_ibp_moves_at(const uint8_t *moves, uint32_t j, uint32_t s)
{
    return moves + (size_t)j * s / LP_IBP_MOVES_VECTOR * lp_ibp_steps(s) * LP_IBP_MOVES_VECTOR;
}

/* Those of word j: a step behind another by LP_IBP_MOVES_VECTOR bytes. */
LP_IBP_INLINE const uint8_t *lp_ibp_moves_of(const uint8_t *moves, uint32_t j, uint32_t s)
{
    return lp_ibp_moves_at(moves, j, s) + (size_t)j * s % LP_IBP_MOVES_VECTOR;
}

/* Write the moves of word j, whose mask leaves the bits keep. As bits close up, a bit moves in step
 * i where bit i is set in the number of gaps below it: the first step goes by the parity of that
 * number, and leaves every second gap to the next one. */
static inline void lp_ibp_find_moves(uint8_t *moves, uint32_t j, uint32_t s, uint64_t keep)
{
    uint8_t *const at = (uint8_t *)(uintptr_t)lp_ibp_moves_of(moves, j, s);
    uint64_t gaps = ~keep << 1;

    for (uint32_t i = 0; i < lp_ibp_steps(s); i++) {
        uint64_t odd = gaps, move;

        for (uint32_t by = 1; by < 64; by *= 2)
            odd ^= odd << by;
        move = keep & odd;
        keep = (keep & ~move) | move >> (1u << i);
        gaps &= ~odd;
        lp_ibp_store(at + (size_t)i * LP_IBP_MOVES_VECTOR, move, s);
    }
}

/* The low bits of closed to where word j's mask leaves room; other bits mean nothing. */
LP_IBP_INLINE uint64_t lp_ibp_moves_open(const uint8_t *moves, uint32_t j, uint32_t s,
                                         uint64_t closed)
{
    const uint8_t *const at = lp_ibp_moves_of(moves, j, s);

    for (uint32_t i = lp_ibp_steps(s); i-- > 0;) {
        const uint64_t move = lp_ibp_load(at + (size_t)i * LP_IBP_MOVES_VECTOR, s);

        closed = (closed & ~move) | (closed << (1u << i) & move);
    }
    return closed;
}

/* The way back; x has no bit that the mask takes. */
LP_IBP_INLINE uint64_t lp_ibp_moves_close(const uint8_t *moves, uint32_t j, uint32_t s, uint64_t x)
{
    const uint8_t *const at = lp_ibp_moves_of(moves, j, s);

    for (uint32_t i = 0; i < lp_ibp_steps(s); i++) {
        const uint64_t move = x & lp_ibp_load(at + (size_t)i * LP_IBP_MOVES_VECTOR, s);

        x = (x ^ move) | move >> (1u << i);
    }
    return x;
}

#endif
