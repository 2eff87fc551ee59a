/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding lane records of one or two blocks with AVX-512: rows of embedding tables. What counts
 * here is latency, so every level is read once, and codes and exponents never leave the registers.
 */
#include "codec/ops_avx512_join.h"

/* One block of codes, and which of the first n (up to 64) are zero. */
struct codes {
    __m512i code;
    uint64_t zero;
};

static LP_ALWAYS_INLINE uint64_t first_bits(uint32_t n)
{
    return _bzhi_u64(~UINT64_C(0), n);
}

/* A plane follows another after stride bits. */
static LP_ALWAYS_INLINE struct codes load_codes(const uint8_t *src, uint64_t bit, uint32_t stride,
                                                uint32_t width, uint32_t n)
{
    uint64_t any = lp_lane_load_bits(src, bit);
    struct codes codes = {_mm512_maskz_set1_epi8(any, 1), 0};

    for (uint32_t p = 1; p < width; p++) {
        const uint64_t bits = lp_lane_load_bits(src, bit + (uint64_t)p * stride);

        codes.code =
            _mm512_mask_add_epi8(codes.code, bits, codes.code, _mm512_set1_epi8((char)(1 << p)));
        any |= bits;
    }
    codes.zero = ~any & first_bits(n);
    return codes;
}

/* Exponents of codes; for the zero ones those of next, in order. */
static LP_ALWAYS_INLINE __m512i find_exponents(const struct codes *codes, __m512i exponents,
                                               __m512i next)
{
    return _mm512_mask_expand_epi8(_mm512_shuffle_epi8(exponents, codes->code), codes->zero, next);
}

static LP_ALWAYS_INLINE __m512i count_up(uint32_t from)
{
    const __m512i zero_to_63 = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
        40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
        17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);

    return _mm512_add_epi8(zero_to_63, _mm512_set1_epi8((char)from));
}

/* Blocks [0, 64) and [n - 64, n); two that overlap give the shared elements twice. */
static LP_ALWAYS_INLINE void join_of(const uint32_t dtype, const uint32_t elem_bytes,
                                     const struct lp_avx512_record *record, __m512i first,
                                     __m512i last, uint8_t *dst)
{
    const uint32_t i = record->n - LP_AVX512_BLOCK;

    lp_avx512_join_block(dtype, record, 0, first, dst);
    lp_avx512_join_block(dtype, record, i, last, dst + (size_t)i * elem_bytes);
}

static LP_ALWAYS_INLINE void join(uint32_t dtype, const struct lp_avx512_record *record,
                                  __m512i first, __m512i last, uint8_t *dst)
{
    switch (dtype) {
    case LP_DTYPE_BF16:
        join_of(LP_DTYPE_BF16, 2, record, first, last, dst);
        break;
    case LP_DTYPE_F32:
        join_of(LP_DTYPE_F32, 4, record, first, last, dst);
        break;
    case LP_DTYPE_F16:
        join_of(LP_DTYPE_F16, 2, record, first, last, dst);
        break;
    case LP_DTYPE_F8_E4M3:
        join_of(LP_DTYPE_F8_E4M3, 1, record, first, last, dst);
        break;
    default:
        join_of(LP_DTYPE_F8_E5M2, 1, record, first, last, dst);
    }
}

int lp_codec_avx512_lane_decode_short(const struct lp_lane *lane, const uint8_t *src,
                                      uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                      uint32_t n, uint8_t ret_exponents[LP_AVX512_SHORT_MAX])
{
    const uint32_t head_bytes = lp_lane_head_bytes(lane, n), behind = n - LP_AVX512_BLOCK;
    const struct lp_avx512_record record = {src, src, (uint64_t)head_bytes * 8, n};
    const uint64_t end = (uint64_t)src_bytes * 8;
    uint64_t bit = record.bit + (uint64_t)lane->plane_bits * n;
    struct codes first[2], level[LP_FORMAT_LANE_LEVELS_MAX];
    uint32_t base, count, skip;
    __m512i exponents, low, high;

    if (bit + (uint64_t)lane->widths[0] * n > end)
        return LP_ECORRUPT;
    base = lp_lane_base(lane, src, head_bytes);
    first[0] = load_codes(src, bit, n, lane->widths[0], LP_AVX512_BLOCK);
    first[1] = load_codes(src, bit + LP_AVX512_BLOCK, n, lane->widths[0], behind);
    bit += (uint64_t)lane->widths[0] * n;
    skip = (uint32_t)_mm_popcnt_u64(first[0].zero);
    count = skip + (uint32_t)_mm_popcnt_u64(first[1].zero);
    if (count > LP_AVX512_BLOCK)
        return LP_AVX512_NOT_SHORT;
    for (uint32_t k = 1; k < lane->n_levels; k++) {
        const uint64_t next_bit = bit + (uint64_t)lane->widths[k] * count;

        if (next_bit > end)
            return LP_ECORRUPT;
        level[k] = load_codes(src, bit, count, lane->widths[k], count);
        bit = next_bit;
        count = (uint32_t)_mm_popcnt_u64(level[k].zero);
    }
    if (!lp_lane_end_is_right(lane, src, src_bytes, align_bytes, base, bit, count))
        return LP_ECORRUPT;
    exponents = _mm512_loadu_si512(src + (bit + 7) / 8);
    for (uint32_t k = lane->n_levels; k-- > 1;)
        exponents = find_exponents(&level[k], lp_avx512_level_exponents(lane, k, base), exponents);
    low = find_exponents(&first[0], lp_avx512_level_exponents(lane, 0, base), exponents);
    high = find_exponents(&first[1], lp_avx512_level_exponents(lane, 0, base),
                          _mm512_permutexvar_epi8(count_up(skip), exponents));
    high = _mm512_permutex2var_epi8(low, count_up(behind), high);
    if (!lp_lane_keeps_all(lane)) {
        _mm512_storeu_si512(ret_exponents, low);
        _mm512_storeu_si512(ret_exponents + behind, high);
        return LP_AVX512_NOT_JOINED;
    }
    join(lane->dtype, &record, low, high, dst);
    return 0;
}
