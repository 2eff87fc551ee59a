/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding lane records with AVX-512, level by level from the last to the first.
 *
 * A level turns 64 codes into 64 exponents: mask bits build an index, a byte shuffle looks it up,
 * and VPEXPANDB puts the next level's exponents, which are already there as bytes, where the codes
 * are zero. No step depends on the one before by more than a pointer, and levels that few elements
 * reach cost little. A last step joins exponents and other bits. */
#include "codec/ops_avx512_join.h"

#define LINE_BYTES 64u
#define AHEAD_ELEMENTS_MIN 1024u

/* Where a level's codes come from, and the exponents behind them. */
struct level {
    const uint8_t *src;
    uint64_t bit; /* first bit of the first plane */
    uint32_t count;
    const uint8_t *next;  /* exponents for the zero codes; count + 64 bytes are readable */
    const uint8_t *ahead; /* ahead_bytes from here are prefetched per block, while the loop runs */
    uint32_t ahead_bytes;
};

/* Zero codes among 512, of planes that begin at any bit. */
static LP_ALWAYS_INLINE __m512i load_plane_512(const uint8_t *src, uint64_t bit)
{
    const __m512i low = _mm512_loadu_si512(src + bit / 8);
    const __m512i high = _mm512_loadu_si512(src + bit / 8 + 1);
    const __m128i down = _mm_cvtsi32_si128((int)(bit % 8));
    const __m128i up = _mm_cvtsi32_si128((int)(8 - bit % 8));

    return _mm512_or_si512(_mm512_srl_epi64(low, down), _mm512_sll_epi64(high, up));
}

static LP_ALWAYS_INLINE uint32_t count_zeros_of(const uint8_t *src, uint64_t bit,
                                                const uint32_t width, uint32_t count)
{
    __m512i ones = _mm512_setzero_si512();
    uint32_t i = 0, non_zero = 0;

    for (; i + 512 <= count; i += 512) {
        __m512i any = load_plane_512(src, bit + i);

        for (uint32_t p = 1; p < width; p++)
            any = _mm512_or_si512(any, load_plane_512(src, bit + (uint64_t)p * count + i));
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

static LP_ALWAYS_INLINE uint32_t count_zeros(const uint8_t *src, uint64_t bit, uint32_t width,
                                             uint32_t count)
{
    switch (width) {
    case 1:
        return count_zeros_of(src, bit, 1, count);
    case 2:
        return count_zeros_of(src, bit, 2, count);
    default:
        return count_zeros_of(src, bit, 3, count);
    }
}

/* A load that stays apart from the VPEXPANDB behind it: with a memory operand that instruction is
 * microcode on some CPUs (Zen 4), and compilers like to join the two. */
static LP_ALWAYS_INLINE __m512i load_apart(const uint8_t *p)
{
    __m512i v = _mm512_loadu_si512(p);

    __asm__("" : "+v"(v));
    return v;
}

/* One plane, read from its first bit on, 64 bits at a time. */
struct plane {
    const uint8_t *p;
    uint64_t down, up;
};

static LP_ALWAYS_INLINE struct plane plane_at(const uint8_t *src, uint64_t bit)
{
    return (struct plane){src + bit / 8, bit % 8, 8 - bit % 8};
}

static LP_ALWAYS_INLINE uint64_t next_bits(struct plane *plane)
{
    const uint64_t bits = lp_load_u64(plane->p) >> plane->down | lp_load_u64(plane->p + 1)
                                                                     << plane->up;

    plane->p += 8;
    return bits;
}

/* Exponents of one level's codes into dst, which has room for 63 more. What the last block holds
 * behind count is garbage, and harmless. */
static LP_ALWAYS_INLINE void decode_level_of(const struct level *level, const uint32_t width,
                                             __m512i exponents, uint8_t *dst)
{
    const uint8_t *const end = dst + level->count;
    const uint8_t *next = level->next, *ahead = level->ahead;
    struct plane planes[3];

    for (uint32_t p = 0; p < width; p++)
        planes[p] = plane_at(level->src, level->bit + (uint64_t)p * level->count);
    for (; dst < end; dst += LP_AVX512_BLOCK) {
        uint64_t any = next_bits(&planes[0]);
        __m512i code = _mm512_maskz_set1_epi8(any, 1);

        for (uint32_t p = 1; p < width; p++) {
            const uint64_t bits = next_bits(&planes[p]);

            code = _mm512_mask_add_epi8(code, bits, code, _mm512_set1_epi8((char)(1 << p)));
            any |= bits;
        }
        code = _mm512_shuffle_epi8(exponents, code);
        code = _mm512_mask_expand_epi8(code, ~any, load_apart(next));
        next += _mm_popcnt_u64(~any);
        _mm512_storeu_si512(dst, code);
        for (uint32_t i = 0; i < level->ahead_bytes; i += LINE_BYTES)
            __builtin_prefetch(ahead + i);
        ahead += level->ahead_bytes;
    }
}

static void decode_level(const struct lp_lane *lane, uint32_t k, uint32_t base,
                         const struct level *level, uint8_t *dst)
{
    const __m512i exponents = lp_avx512_level_exponents(lane, k, base);

    switch (lane->widths[k]) {
    case 1:
        decode_level_of(level, 1, exponents, dst);
        break;
    case 2:
        decode_level_of(level, 2, exponents, dst);
        break;
    default:
        decode_level_of(level, 3, exponents, dst);
    }
}

/* Blocks may overlap, so the last one ends with the last element; only a record of less than one
 * block goes through buffers. */
static LP_ALWAYS_INLINE void join_of(const uint32_t dtype, const uint32_t elem_bytes,
                                     struct lp_avx512_record *record, const uint8_t *exponents,
                                     uint8_t *dst)
{
    uint8_t arrays[LP_AVX512_BLOCK * 4], block[LP_AVX512_BLOCK * 4];
    const uint32_t n = record->n;
    uint32_t i = 0;

    if (n < LP_AVX512_BLOCK) {
        memcpy(arrays, record->src, (size_t)n * (elem_bytes - 1));
        record->arrays = arrays;
        lp_avx512_join_block(dtype, record, 0, _mm512_loadu_si512(exponents), block);
        memcpy(dst, block, (size_t)n * elem_bytes);
        return;
    }
    for (; i + LP_AVX512_BLOCK <= n; i += LP_AVX512_BLOCK)
        lp_avx512_join_block(dtype, record, i, _mm512_loadu_si512(exponents + i),
                             dst + (size_t)i * elem_bytes);
    if (i < n) {
        i = n - LP_AVX512_BLOCK;
        lp_avx512_join_block(dtype, record, i, _mm512_loadu_si512(exponents + i),
                             dst + (size_t)i * elem_bytes);
    }
}

static void join(uint32_t dtype, struct lp_avx512_record *record, const uint8_t *exponents,
                 uint8_t *dst)
{
    switch (dtype) {
    case LP_DTYPE_BF16:
        join_of(LP_DTYPE_BF16, 2, record, exponents, dst);
        break;
    case LP_DTYPE_F32:
        join_of(LP_DTYPE_F32, 4, record, exponents, dst);
        break;
    case LP_DTYPE_F16:
        join_of(LP_DTYPE_F16, 2, record, exponents, dst);
        break;
    case LP_DTYPE_F8_E4M3:
        join_of(LP_DTYPE_F8_E4M3, 1, record, exponents, dst);
        break;
    default:
        join_of(LP_DTYPE_F8_E5M2, 1, record, exponents, dst);
    }
}

/* Records of any length up to LP_LANE_FAST_ELEMENTS_MAX, level by level through memory. */
static int decode_long(const struct lp_lane *lane, const uint8_t *src, uint32_t src_bytes,
                       uint32_t align_bytes, uint8_t *dst, uint32_t n, const uint8_t *ahead)
{
    /* The first level has a block for each 64 elements. Short records come to the front of the
     * hardware's own prefetcher as it is. */
    const uint32_t ahead_bytes =
        ahead != NULL && n >= AHEAD_ELEMENTS_MIN ? LP_AVX512_BLOCK * lane->byte_bits / 8 : 0;
    /* Two buffers in turn: a level reads the one that the level behind it wrote. Raw exponents are
     * copied there, too, so that no read leaves the record even if it changes meanwhile. */
    uint8_t buffer[2][LP_LANE_FAST_ELEMENTS_MAX + LP_AVX512_BLOCK];
    struct lp_avx512_record record = {src, src, 0, n};
    struct lp_lane_parts parts;
    const uint8_t *next;

    if (!lp_lane_find_parts(lane, src, src_bytes, align_bytes, n, count_zeros, &parts))
        return LP_ECORRUPT;
    memcpy(buffer[lane->n_levels % 2], src + parts.raw_byte, parts.count[lane->n_levels]);
    next = buffer[lane->n_levels % 2];
    for (uint32_t k = lane->n_levels; k-- > 0;) {
        /* Without a hint something stands in for it: adding to NULL is undefined, even 0. */
        const struct level level = {src,  parts.level_bit[k],          parts.count[k],
                                    next, ahead != NULL ? ahead : src, k == 0 ? ahead_bytes : 0};

        decode_level(lane, k, parts.base, &level, buffer[k % 2]);
        next = buffer[k % 2];
    }
    record.bit = parts.planes_bit;
    join(lane->dtype, &record, next, dst);
    return 0;
}

int lp_codec_avx512_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n, const void *ahead)
{
    int rc;

    if (lane->exponent_bits > 8 || n > LP_LANE_FAST_ELEMENTS_MAX || !lp_lane_keeps_all(lane))
        return lp_codec_scalar_lane_decode(lane, src, src_bytes, align_bytes, dst, n, NULL);
    if (n >= LP_AVX512_SHORT_MIN && n <= LP_AVX512_SHORT_MAX) {
        rc = lp_codec_avx512_lane_decode_short(lane, src, src_bytes, align_bytes, dst, n);
        if (rc != LP_AVX512_NOT_SHORT)
            return rc;
    }
    return decode_long(lane, src, src_bytes, align_bytes, dst, n, ahead);
}
