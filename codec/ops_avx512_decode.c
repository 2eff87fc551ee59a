/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding lane records with AVX-512, level by level from the last to the first.
 *
 * A level turns 64 codes into 64 exponents: mask bits build an index, a byte shuffle looks it up,
 * and VPEXPANDB puts the next level's exponents, which are already there as bytes, where the codes
 * are zero. No step depends on the one before by more than a pointer, and levels that few elements
 * reach cost little. A last step joins exponents and other bits. */
#include "codec/ops_avx512.h"

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
        uint64_t any = lp_avx512_load_bits(src, bit + i);

        for (uint32_t p = 1; p < width; p++)
            any |= lp_avx512_load_bits(src, bit + (uint64_t)p * count + i);
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

/* The exponents of the 8 codes of a level in every 128-bit lane. */
static __m512i level_exponents(const struct lp_lane *lane, uint32_t k, uint32_t base)
{
    const __m128i ranks = _mm_loadu_si128(
        (const __m128i *)(const void *)(lane->rank_at + (k << LP_LANE_LEVEL_SHIFT)));
    const __m128i exponents = _mm_and_si128(_mm_add_epi16(ranks, _mm_set1_epi16((short)base)),
                                            _mm_set1_epi16((short)lane->exponent_mask));

    return _mm512_broadcast_i32x4(_mm_packus_epi16(exponents, exponents));
}

static void decode_level(const struct lp_lane *lane, uint32_t k, uint32_t base,
                         const struct level *level, uint8_t *dst)
{
    const __m512i exponents = level_exponents(lane, k, base);

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

/* Sign and 7 bits of mantissa, one byte each, and exponents to words of 16 bits: a bf16, or the
 * upper half of an f32. */
static LP_ALWAYS_INLINE __m512i join_upper(const uint8_t *other, const uint8_t *exponent)
{
    const __m512i o =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)other));
    const __m512i e =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)exponent));
    const __m512i mantissa_exponent =
        _mm512_ternarylogic_epi32(_mm512_slli_epi16(e, 7), o, _mm512_set1_epi16(0x7f), 0xf8);

    return _mm512_ternarylogic_epi32(mantissa_exponent, _mm512_slli_epi16(o, 8),
                                     _mm512_set1_epi16((short)0x8000), 0xf8);
}

static LP_ALWAYS_INLINE void join_bf16(const uint8_t *src, uint32_t i, const uint8_t *exponents,
                                       uint8_t *dst)
{
    _mm512_storeu_si512(dst, join_upper(src + i, exponents + i));
    _mm512_storeu_si512(dst + 64, join_upper(src + i + 32, exponents + i + 32));
}

/* 32 f32 from their halves. */
static LP_ALWAYS_INLINE void store_f32(uint8_t *dst, __m512i lower, __m512i upper)
{
    const __m512i first =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                         37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));

    _mm512_storeu_si512(dst, _mm512_permutex2var_epi16(lower, first, upper));
    _mm512_storeu_si512(dst + 64, _mm512_permutex2var_epi16(lower, second, upper));
}

static LP_ALWAYS_INLINE void join_f32(const uint8_t *src, uint32_t n, uint32_t i,
                                      const uint8_t *exponents, uint8_t *dst)
{
    const uint8_t *const lower = src + 2 * (size_t)i, *const upper = src + 2 * (size_t)n + i;

    store_f32(dst, _mm512_loadu_si512(lower), join_upper(upper, exponents + i));
    store_f32(dst + 128, _mm512_loadu_si512(lower + 64),
              join_upper(upper + 32, exponents + i + 32));
}

/* Sign, exponent and the first mantissa_planes bits of the mantissa as bytes; planes of n bits
 * begin at bit. */
static LP_ALWAYS_INLINE __m512i join_planes(const uint8_t *src, uint64_t bit, uint32_t n,
                                            uint32_t i, const uint32_t mantissa_planes,
                                            const uint8_t *exponents)
{
    /* Exponents have at most 5 bits here, so none leaves its byte. */
    __m512i v = _mm512_slli_epi16(_mm512_loadu_si512(exponents + i), mantissa_planes);

    for (uint32_t p = 0; p < mantissa_planes; p++) {
        const __mmask64 plane = lp_avx512_load_bits(src, bit + (uint64_t)p * n + i);

        v = _mm512_mask_add_epi8(v, plane, v, _mm512_set1_epi8((char)(1 << p)));
    }
    return _mm512_mask_add_epi8(v,
                                lp_avx512_load_bits(src, bit + (uint64_t)mantissa_planes * n + i),
                                v, _mm512_set1_epi8((char)0x80));
}

static LP_ALWAYS_INLINE void join_f16(const uint8_t *arrays, const uint8_t *src, uint64_t bit,
                                      uint32_t n, uint32_t i, const uint8_t *exponents,
                                      uint8_t *dst)
{
    const __m512i order = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const __m512i lower = _mm512_loadu_si512(arrays + i);
    const __m512i upper = join_planes(src, bit, n, i, 2, exponents);
    const __m512i even = _mm512_unpacklo_epi8(lower, upper);
    const __m512i odd = _mm512_unpackhi_epi8(lower, upper);

    _mm512_storeu_si512(dst, _mm512_permutex2var_epi64(even, order, odd));
    _mm512_storeu_si512(dst + 64, _mm512_permutex2var_epi64(
                                      even, _mm512_add_epi64(order, _mm512_set1_epi64(4)), odd));
}

/* Elements [i, i + 64) to dst; arrays is where the record's bytes of other bits are. */
static LP_ALWAYS_INLINE void join_block(const uint32_t dtype, const uint8_t *arrays,
                                        const uint8_t *src, uint64_t bit, uint32_t n, uint32_t i,
                                        const uint8_t *exponents, uint8_t *dst)
{
    switch (dtype) {
    case LP_DTYPE_BF16:
        join_bf16(arrays, i, exponents, dst);
        break;
    case LP_DTYPE_F32:
        join_f32(arrays, n, i, exponents, dst);
        break;
    case LP_DTYPE_F16:
        join_f16(arrays, src, bit, n, i, exponents, dst);
        break;
    case LP_DTYPE_F8_E4M3:
        _mm512_storeu_si512(dst, join_planes(src, bit, n, i, 3, exponents));
        break;
    default:
        _mm512_storeu_si512(dst, join_planes(src, bit, n, i, 2, exponents));
    }
}

/* Blocks may overlap, so the last one ends with the last element; only a record of less than one
 * block goes through buffers. */
static LP_ALWAYS_INLINE void join_of(const uint32_t dtype, const uint32_t elem_bytes,
                                     const uint8_t *src, uint64_t bit, uint32_t n,
                                     const uint8_t *exponents, uint8_t *dst)
{
    uint8_t arrays[LP_AVX512_BLOCK * 4], block[LP_AVX512_BLOCK * 4];
    uint32_t i = 0;

    if (n < LP_AVX512_BLOCK) {
        memcpy(arrays, src, (size_t)n * (elem_bytes - 1));
        join_block(dtype, arrays, src, bit, n, 0, exponents, block);
        memcpy(dst, block, (size_t)n * elem_bytes);
        return;
    }
    for (; i + LP_AVX512_BLOCK <= n; i += LP_AVX512_BLOCK)
        join_block(dtype, src, src, bit, n, i, exponents, dst + (size_t)i * elem_bytes);
    if (i < n) {
        i = n - LP_AVX512_BLOCK;
        join_block(dtype, src, src, bit, n, i, exponents, dst + (size_t)i * elem_bytes);
    }
}

static void join(const struct lp_lane *lane, const uint8_t *src, uint64_t bit, uint32_t n,
                 const uint8_t *exponents, uint8_t *dst)
{
    switch (lane->dtype) {
    case LP_DTYPE_BF16:
        join_of(LP_DTYPE_BF16, 2, src, bit, n, exponents, dst);
        break;
    case LP_DTYPE_F32:
        join_of(LP_DTYPE_F32, 4, src, bit, n, exponents, dst);
        break;
    case LP_DTYPE_F16:
        join_of(LP_DTYPE_F16, 2, src, bit, n, exponents, dst);
        break;
    case LP_DTYPE_F8_E4M3:
        join_of(LP_DTYPE_F8_E4M3, 1, src, bit, n, exponents, dst);
        break;
    default:
        join_of(LP_DTYPE_F8_E5M2, 1, src, bit, n, exponents, dst);
    }
}

int lp_codec_avx512_lane_decode(const struct lp_lane *lane, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n, const void *ahead)
{
    /* The first level has a block for each 64 elements. Short records come to the front of the
     * hardware's own prefetcher as it is. */
    const uint32_t ahead_bytes =
        ahead != NULL && n >= AHEAD_ELEMENTS_MIN ? LP_AVX512_BLOCK * lane->byte_bits / 8 : 0;
    /* Two buffers in turn: a level reads the one that the level behind it wrote. Raw exponents are
     * copied there, too, so that no read leaves the record even if it changes meanwhile. */
    uint8_t buffer[2][LP_AVX512_ELEMENTS_MAX + LP_AVX512_BLOCK];
    struct lp_lane_parts parts;
    const uint8_t *next;

    if (lane->exponent_bits > 8 || n > LP_AVX512_ELEMENTS_MAX)
        return lp_codec_scalar_lane_decode(lane, src, src_bytes, align_bytes, dst, n, NULL);
    if (!lp_lane_find_parts(lane, src, src_bytes, align_bytes, n, count_zeros, &parts))
        return LP_ECORRUPT;
    memcpy(buffer[lane->n_levels % 2], (const uint8_t *)src + parts.raw_byte,
           parts.count[lane->n_levels]);
    next = buffer[lane->n_levels % 2];
    for (uint32_t k = lane->n_levels; k-- > 0;) {
        /* Without a hint something stands in for it: adding to NULL is undefined, even 0. */
        const struct level level = {src,  parts.level_bit[k],          parts.count[k],
                                    next, ahead != NULL ? ahead : src, k == 0 ? ahead_bytes : 0};

        decode_level(lane, k, parts.base, &level, buffer[k % 2]);
        next = buffer[k % 2];
    }
    join(lane, src, parts.planes_bit, n, next, dst);
    return 0;
}
