/* SPDX-License-Identifier: Apache-2.0 */
/* Bit planes with AVX-512: read 64 bits at a time from any bit on, counted, and appended to a bit
 * string. Included only by files that are compiled for the tier. */
#ifndef LP_CODEC_OPS_AVX512_PLANES_H
#define LP_CODEC_OPS_AVX512_PLANES_H

#include "codec/ops_avx512.h"

static LP_ALWAYS_INLINE __m512i lp_avx512_load_plane_512(const uint8_t *src, uint64_t bit)
{
    const __m512i low = _mm512_loadu_si512(src + bit / 8);
    const __m512i high = _mm512_loadu_si512(src + bit / 8 + 1);
    const __m128i down = _mm_cvtsi32_si128((int)(bit % 8));
    const __m128i up = _mm_cvtsi32_si128((int)(8 - bit % 8));

    return _mm512_or_si512(_mm512_srl_epi64(low, down), _mm512_sll_epi64(high, up));
}

/* How many of count codes of width planes, the first of which begins with bit, are zero. */
static LP_ALWAYS_INLINE uint32_t lp_avx512_count_zeros_of(const uint8_t *src, uint64_t bit,
                                                          const uint32_t width, uint32_t count)
{
    __m512i ones = _mm512_setzero_si512();
    uint32_t i = 0, non_zero = 0;

    for (; i + 512 <= count; i += 512) {
        __m512i any = lp_avx512_load_plane_512(src, bit + i);

        for (uint32_t p = 1; p < width; p++)
            any =
                _mm512_or_si512(any, lp_avx512_load_plane_512(src, bit + (uint64_t)p * count + i));
        ones = _mm512_add_epi64(ones,
                                _mm512_sad_epu8(_mm512_popcnt_epi8(any), _mm512_setzero_si512()));
    }
    if (i > 0)
        non_zero = (uint32_t)_mm512_reduce_add_epi64(ones);
    for (; i < count; i += LP_AVX512_BLOCK) {
        uint64_t any = lp_lane_load_bits(src, bit + i);

        for (uint32_t p = 1; p < width; p++)
            any |= lp_lane_load_bits(src, bit + (uint64_t)p * count + i);
        if (count - i < LP_AVX512_BLOCK)
            any &= (UINT64_C(1) << (count - i)) - 1;
        non_zero += (uint32_t)_mm_popcnt_u64(any);
    }
    return count - non_zero;
}

/* One plane, read from its first bit on, 64 bits at a time. */
struct lp_avx512_reader {
    const uint8_t *p;
    uint64_t down, up;
};

static LP_ALWAYS_INLINE struct lp_avx512_reader lp_avx512_read_from(const uint8_t *src,
                                                                    uint64_t bit)
{
    return (struct lp_avx512_reader){src + bit / 8, bit % 8, 8 - bit % 8};
}

static LP_ALWAYS_INLINE uint64_t lp_avx512_next_bits(struct lp_avx512_reader *reader)
{
    const uint64_t bits = lp_load_u64(reader->p) >> reader->down | lp_load_u64(reader->p + 1)
                                                                       << reader->up;

    reader->p += 8;
    return bits;
}

/* A load that stays apart from the VPEXPAND behind it: with a memory operand that instruction is
 * microcode on some CPUs (Zen 4), and compilers like to join the two. */
static LP_ALWAYS_INLINE __m512i lp_avx512_load_apart(const void *p)
{
    __m512i v = _mm512_loadu_si512(p);

    __asm__("" : "+v"(v));
    return v;
}

/* Where bits are appended; no more than limit_bits come out, whatever is appended. */
struct lp_avx512_output {
    uint8_t *dst;
    uint64_t bit;
    uint64_t limit_bits;
};

/* Append the first n bits of a plane. words has n_words of them, one word before the first and
 * LP_AVX512_PLANE_SLACK behind the last, all of which are scratch. False: no room. Stores up to 63
 * bytes behind the bits. */
#define LP_AVX512_PLANE_SLACK 9u

/* Up to so many bits go one word at a time: a register would wait for its words to settle. */
#define LP_AVX512_PLANE_SHORT 512u

static inline bool lp_avx512_put_plane(struct lp_avx512_output *out, uint64_t *words, uint32_t n)
{
    const uint32_t shift = out->bit % 8, n_words = (n + 63) / 64;
    const __m128i up = _mm_cvtsi32_si128((int)shift), down = _mm_cvtsi32_si128((int)(64 - shift));
    uint8_t *dst = out->dst + out->bit / 8;

    if (out->bit + n > out->limit_bits)
        return false;
    if (n <= LP_AVX512_PLANE_SHORT) {
        lp_lane_put_bits(out->dst, out->bit, words, n);
        out->bit += n;
        return true;
    }
    if (n % 64 != 0)
        words[n_words - 1] &= (UINT64_C(1) << (n % 64)) - 1;
    words[n_words] = 0;
    words[-1] = shift != 0 ? (uint64_t)(*dst & ((1u << shift) - 1)) << (64 - shift) : 0;
    for (uint32_t i = 0; i * 64 < n + shift; i += 8, dst += 64) {
        const __m512i now = _mm512_loadu_si512(words + i);
        const __m512i before = _mm512_loadu_si512(words + i - 1);

        _mm512_storeu_si512(
            dst, _mm512_or_si512(_mm512_sll_epi64(now, up), _mm512_srl_epi64(before, down)));
    }
    out->bit += n;
    return true;
}

#endif
