/* SPDX-License-Identifier: Apache-2.0 */
/* Dict records with AVX2: planes become codes of a byte each, and codes planes, 32 at a time;
 * values are looked up one by one, which no instruction of this tier does better, and those of the
 * next level put where codes are zero. */
#include "codec/dict_level.h"
#include "codec/ops_avx2_bits.h"
#include "codec/ops_dict.h"

#include <string.h>

/* --- decoding -------------------------------------------------------------------------------- */

/* A byte of weight for each bit set in bits. */
static LP_ALWAYS_INLINE __m256i weigh(uint32_t bits, uint32_t weight)
{
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                            2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i each = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), spread);

    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(v, each), each),
                            _mm256_set1_epi8((char)weight));
}

/* The codes of a block; returns those that are zero. */
static LP_ALWAYS_INLINE uint64_t load_codes(const struct dict_level *level, uint32_t at,
                                            uint8_t *codes)
{
    __m256i low = _mm256_setzero_si256(), high = low;
    uint64_t any = 0;

    for (uint32_t p = 0; p < level->width; p++) {
        const uint64_t bits =
            lp_lane_load_bits(level->src, level->bit + (uint64_t)p * level->count + at);

        low = _mm256_or_si256(low, weigh((uint32_t)bits, 1u << p));
        high = _mm256_or_si256(high, weigh((uint32_t)(bits >> 32), 1u << p));
        any |= bits;
    }
    _mm256_storeu_si256((__m256i *)(void *)codes, low);
    _mm256_storeu_si256((__m256i *)(void *)(codes + 32), high);
    return ~any;
}

/* True: each of the first n codes has a value. */
static LP_ALWAYS_INLINE bool codes_in_range(const uint8_t *codes, uint32_t n, uint32_t last_code)
{
    const __m256i last = _mm256_set1_epi8((char)last_code);
    uint64_t good = 0;

    for (uint32_t i = 0; i < DICT_BLOCK; i += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));

        good |= (uint64_t)(uint32_t)_mm256_movemask_epi8(
                    _mm256_cmpeq_epi8(_mm256_max_epu8(v, last), last))
                << i;
    }
    return (~good & (n < DICT_BLOCK ? (UINT64_C(1) << n) - 1 : UINT64_MAX)) == 0;
}

/* One level into dst, the last block only as far as it goes. False: a code has no value. */
static LP_ALWAYS_INLINE bool decode_level_of(const struct dict_level *level,
                                             const uint32_t elem_bytes, uint8_t *dst)
{
    const uint8_t *next = level->next;
    uint8_t codes[DICT_BLOCK];
    bool good = true;

    for (uint32_t at = 0; at < level->count; at += DICT_BLOCK, dst += DICT_BLOCK * elem_bytes) {
        const uint32_t n = LP_MIN(level->count - at, DICT_BLOCK);
        uint64_t zero = load_codes(level, at, codes);

        good &= codes_in_range(codes, n, level->last_code);
        for (uint32_t i = 0; i < n; i++)
            memcpy(dst + i * elem_bytes, level->table + codes[i] * elem_bytes, elem_bytes);
        if (n < DICT_BLOCK)
            zero &= (UINT64_C(1) << n) - 1;
        for (; zero != 0; zero &= zero - 1, next += elem_bytes)
            memcpy(dst + (uint32_t)__builtin_ctzll(zero) * elem_bytes, next, elem_bytes);
    }
    return good;
}

static bool decode_level(uint32_t elem_bytes, const struct dict_level *level, uint8_t *dst)
{
    switch (elem_bytes) {
    case 1:
        return decode_level_of(level, 1, dst);
    case 2:
        return decode_level_of(level, 2, dst);
    case 4:
        return decode_level_of(level, 4, dst);
    default:
        return decode_level_of(level, 8, dst);
    }
}

#include "codec/dict_decode.h"

/* --- coding ---------------------------------------------------------------------------------- */

/* The symbols at src, four, whose bits are set in some go to left, back to back; returns where the
 * next ones go. */
static LP_ALWAYS_INLINE uint16_t *put_some(const uint16_t *src, uint32_t some, uint16_t *left)
{
    const uint64_t words = _pdep_u64(some, UINT64_C(0x0001000100010001)) * 0xffff;

    lp_store_u64(left, _pext_u64(lp_load_u64(src), words));
    return left + _mm_popcnt_u32(some);
}

static uint32_t take_level(uint16_t *symbols, uint32_t count, uint32_t first, uint32_t end,
                           uint8_t *codes)
{
    const __m256i before = _mm256_set1_epi16((short)(first - 1));
    const __m256i ends = _mm256_set1_epi16((short)end);
    uint16_t *left = symbols;

    for (uint32_t i = 0; i < count; i += 16) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(symbols + i));
        const __m256i none = _mm256_cmpeq_epi16(_mm256_subs_epu16(ends, v), _mm256_setzero_si256());
        const __m256i code = _mm256_andnot_si256(none, _mm256_sub_epi16(v, before));
        const __m128i bytes =
            _mm_packus_epi16(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
        uint32_t behind = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));

        if (count - i < 16)
            behind &= (1u << (count - i)) - 1;
        _mm_storeu_si128((__m128i *)(void *)(codes + i), bytes);
        /* What is written ends before the next symbol that is read. */
        for (uint32_t k = 0; k < 16; k += 4, behind >>= 4)
            left = put_some(symbols + i + k, behind & 15, left);
    }
    return (uint32_t)(left - symbols);
}

/* A bit string that grows at its end; up to four bytes behind it are written. */
struct output {
    uint8_t *dst;
    uint64_t bits; /* not yet stored, fewer than 32 */
    uint32_t n_bits;
};

static LP_ALWAYS_INLINE struct output start_output(uint8_t *dst)
{
    return (struct output){dst, 0, 0};
}

static LP_ALWAYS_INLINE void put_bits(struct output *out, uint32_t bits, uint32_t n)
{
    out->bits |= (uint64_t)bits << out->n_bits;
    out->n_bits += n;
    if (out->n_bits >= 32) {
        lp_store_u32(out->dst, (uint32_t)out->bits);
        out->dst += 4;
        out->bits >>= 32;
        out->n_bits -= 32;
    }
}

static void put_planes(struct output *out, const uint8_t *codes, uint32_t count, uint32_t width)
{
    for (uint32_t p = 0; p < width; p++) {
        /* The bit of each byte that is asked for goes to its top. */
        const __m128i up = _mm_cvtsi32_si128((int)(7 - p));

        for (uint32_t i = 0; i < count; i += 32) {
            const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));
            const uint32_t n = LP_MIN(count - i, 32);
            const uint32_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_sll_epi16(v, up));

            put_bits(out, n < 32 ? bits & ((1u << n) - 1) : bits, n);
        }
    }
}

static LP_ALWAYS_INLINE void end_output(const struct output *out)
{
    lp_store_u32(out->dst, (uint32_t)out->bits);
}

#include "codec/dict_encode.h"

void lp_codec_avx2_dict_fill(struct lp_codec_ops *ops)
{
    ops->dict_decode = dict_decode;
    ops->dict_encode = dict_encode;
}
