/* SPDX-License-Identifier: Apache-2.0 */
/* Dict records with AVX2: planes become codes of a byte each, and codes planes, 32 at a time;
 * values are looked up one by one, which no instruction of this tier does better, and those of the
 * next level put where codes are zero. */
#include "codec/dict_parts.h"
#include "codec/ops_avx2.h"
#include "codec/ops_dict.h"

#include <string.h>

#define BLOCK 64u
/* Buffers for records of up to so many bytes; only longer ones take much of the stack. */
#define SMALL_BYTES 32768u
#define BUFFER_BYTES(n) ((n) + BLOCK * 8)
LP_STATIC_ASSERT(2 * BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX) < LP_LANE_STACK_BYTES_MAX / 2,
                 "a decoder's stack is bounded");

static uint32_t count_zeros(const uint8_t *src, uint64_t bit, uint32_t width, uint32_t count)
{
    uint32_t non_zero = 0;

    for (uint32_t i = 0; i < count; i += BLOCK) {
        uint64_t any = lp_lane_load_bits(src, bit + i);

        for (uint32_t p = 1; p < width; p++)
            any |= lp_lane_load_bits(src, bit + (uint64_t)p * count + i);
        if (count - i < BLOCK)
            any &= (UINT64_C(1) << (count - i)) - 1;
        non_zero += (uint32_t)_mm_popcnt_u64(any);
    }
    return count - non_zero;
}

/* Where a level's codes come from, and the values behind them. */
struct level {
    const uint8_t *src;
    uint64_t bit; /* first bit of the first plane */
    uint32_t count, width;
    uint32_t last_code;   /* the largest code that has a value */
    const uint8_t *table; /* the value of code c, from 1 on, is element number c */
    const uint8_t *next;  /* values for the zero codes; a block more than count is readable */
};

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
static LP_ALWAYS_INLINE uint64_t load_codes(const struct level *level, uint32_t at, uint8_t *codes)
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

    for (uint32_t i = 0; i < BLOCK; i += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));

        good |= (uint64_t)(uint32_t)_mm256_movemask_epi8(
                    _mm256_cmpeq_epi8(_mm256_max_epu8(v, last), last))
                << i;
    }
    return (~good & (n < BLOCK ? (UINT64_C(1) << n) - 1 : UINT64_MAX)) == 0;
}

/* One level into dst, the last block only as far as it goes. False: a code has no value. */
static LP_ALWAYS_INLINE bool decode_level_of(const struct level *level, const uint32_t elem_bytes,
                                             uint8_t *dst)
{
    const uint8_t *next = level->next;
    uint8_t codes[BLOCK];
    bool good = true;

    for (uint32_t at = 0; at < level->count; at += BLOCK, dst += BLOCK * elem_bytes) {
        const uint32_t n = LP_MIN(level->count - at, BLOCK);
        uint64_t zero = load_codes(level, at, codes);

        good &= codes_in_range(codes, n, level->last_code);
        for (uint32_t i = 0; i < n; i++)
            memcpy(dst + i * elem_bytes, level->table + codes[i] * elem_bytes, elem_bytes);
        if (n < BLOCK)
            zero &= (UINT64_C(1) << n) - 1;
        for (; zero != 0; zero &= zero - 1, next += elem_bytes)
            memcpy(dst + (uint32_t)__builtin_ctzll(zero) * elem_bytes, next, elem_bytes);
    }
    return good;
}

static bool decode_level(uint32_t elem_bytes, const struct level *level, uint8_t *dst)
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

/* Two buffers in turn: a level reads the one that the level behind it wrote. Raw elements are
 * copied there, too, so that no read leaves the record even if it changes meanwhile. */
static int decode_in(const struct lp_dict *dict, const uint8_t *src, uint32_t src_bytes,
                     uint32_t align_bytes, uint8_t *dst, uint32_t n, uint8_t *const buffer[2])
{
    const uint32_t size = dict->elem_bytes;
    struct lp_dict_parts parts;
    const uint8_t *next;

    if (!lp_dict_find_parts(dict, src, src_bytes, align_bytes, n, count_zeros, &parts))
        return LP_ECORRUPT;
    next = buffer[dict->n_levels % 2];
    memcpy(buffer[dict->n_levels % 2], src + parts.raw_byte,
           (size_t)parts.count[dict->n_levels] * size);
    for (uint32_t k = dict->n_levels; k-- > 0;) {
        const struct level level = {
            .src = src,
            .bit = parts.level_bit[k],
            .count = parts.count[k],
            .width = dict->widths[k],
            .last_code = k + 1 == dict->n_levels ? dict->last_codes : (1u << dict->widths[k]) - 1,
            .table = dict->values + dict->first[k] * size - size,
            .next = next};

        if (!decode_level(size, &level, k > 0 ? buffer[k % 2] : dst))
            return LP_ECORRUPT;
        next = buffer[k % 2];
    }
    return 0;
}

static __attribute__((noinline)) int decode_large(const struct lp_dict *dict, const uint8_t *src,
                                                  uint32_t src_bytes, uint32_t align_bytes,
                                                  uint8_t *dst, uint32_t n)
{
    uint8_t first[BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX)];
    uint8_t second[BUFFER_BYTES(LP_FORMAT_RECORD_BYTES_MAX)];

    return decode_in(dict, src, src_bytes, align_bytes, dst, n, (uint8_t *const[]){first, second});
}

static int dict_decode(const struct lp_dict *dict, const void *src, uint32_t src_bytes,
                       uint32_t align_bytes, void *dst, uint32_t n)
{
    uint8_t first[BUFFER_BYTES(SMALL_BYTES)], second[BUFFER_BYTES(SMALL_BYTES)];
    const uint64_t bytes = (uint64_t)n * dict->elem_bytes;

    /* Longer than the format allows: nobody has one. */
    if (bytes > LP_FORMAT_RECORD_BYTES_MAX)
        return lp_codec_scalar_dict_decode(dict, src, src_bytes, align_bytes, dst, n);
    if (bytes > SMALL_BYTES)
        return decode_large(dict, src, src_bytes, align_bytes, dst, n);
    return decode_in(dict, src, src_bytes, align_bytes, dst, n, (uint8_t *const[]){first, second});
}

/* A bit string that grows at its end; up to four bytes behind it are written. */
struct bit_writer {
    uint8_t *dst;
    uint64_t bits; /* not yet stored, fewer than 32 */
    uint32_t n_bits;
};

static LP_ALWAYS_INLINE void put_bits(struct bit_writer *out, uint32_t bits, uint32_t n)
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

/* Planes of count codes; 31 behind them are readable. */
static void put_planes(struct bit_writer *out, const uint8_t *codes, uint32_t count, uint32_t width)
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

/* Codes of the symbols below end; the others move to the front of symbols. Returns how many. */
static uint32_t take_level(uint16_t *symbols, uint32_t count, uint32_t first, uint32_t end,
                           uint8_t *codes)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t symbol = symbols[i];

        codes[i] = symbol < end ? (uint8_t)(symbol - first + 1) : 0;
        symbols[left] = (uint16_t)symbol;
        left += symbol >= end;
    }
    return left;
}

/* Symbols of all elements; n_symbols + i for element i without one. */
static LP_ALWAYS_INLINE void look_up_of(const struct lp_dict *dict, const uint32_t elem_bytes,
                                        const uint8_t *src, uint32_t n, uint16_t *symbols)
{
    const uint32_t n_symbols = lp_dict_symbols(dict);

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t symbol =
            lp_dict_find_of(dict, elem_bytes, lp_load_uint(src + i * elem_bytes, elem_bytes));

        symbols[i] = (uint16_t)(symbol < n_symbols ? symbol : n_symbols + i);
    }
}

static void look_up(const struct lp_dict *dict, const uint8_t *src, uint32_t n, uint16_t *symbols)
{
    switch (dict->elem_bytes) {
    case 1:
        look_up_of(dict, 1, src, n, symbols);
        break;
    case 2:
        look_up_of(dict, 2, src, n, symbols);
        break;
    case 4:
        look_up_of(dict, 4, src, n, symbols);
        break;
    default:
        look_up_of(dict, 8, src, n, symbols);
    }
}

static uint32_t dict_encode(const struct lp_dict *dict, const void *src, uint32_t n, void *dst,
                            uint32_t limit_bytes)
{
    uint16_t symbols[LP_LANE_FAST_ELEMENTS_MAX];
    uint8_t codes[LP_LANE_FAST_ELEMENTS_MAX + 32];
    const uint32_t size = dict->elem_bytes, first_raw = lp_dict_symbols(dict);
    struct bit_writer out = {dst, 0, 0};
    uint64_t bits = 0, all_bytes;
    uint32_t left = n;
    uint8_t *raw;

    if (n > LP_LANE_FAST_ELEMENTS_MAX)
        return lp_codec_scalar_dict_encode(dict, src, n, dst, limit_bytes);
    look_up(dict, src, n, symbols);
    for (uint32_t k = 0; k < dict->n_levels; k++) {
        const uint32_t count = left;

        bits += (uint64_t)dict->widths[k] * count;
        if (bits >= (uint64_t)limit_bytes * 8)
            return 0;
        left = take_level(symbols, count, dict->first[k], dict->first[k + 1], codes);
        put_planes(&out, codes, count, dict->widths[k]);
    }
    all_bytes = (bits + 7) / 8 + (uint64_t)left * size;
    if (all_bytes >= limit_bytes)
        return 0;
    lp_store_u32(out.dst, (uint32_t)out.bits);
    raw = (uint8_t *)dst + (bits + 7) / 8;
    for (uint32_t j = 0; j < left; j++, raw += size)
        memcpy(raw, (const uint8_t *)src + (size_t)(symbols[j] - first_raw) * size, size);
    return (uint32_t)all_bytes;
}

void lp_codec_avx2_dict_fill(struct lp_codec_ops *ops)
{
    ops->dict_decode = dict_decode;
    ops->dict_encode = dict_encode;
}
