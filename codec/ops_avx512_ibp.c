/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with AVX-512 and BMI2. */
#include "codec/ibp_pick_body.h"
#include "codec/ibp_units.h"
#include "codec/ops_avx512.h"
#include "codec/ops_ibp.h"

/* --- records --------------------------------------------------------------------------------- */

/* How many bits each of eight units has, a byte each. */
static LP_ALWAYS_INLINE __m128i count_bits(const struct lp_ibp_masks *masks, uint32_t j,
                                           uint32_t participation, uint32_t s)
{
    const __m128i *const packed = (const __m128i *)(const void *)(masks->packed_bits + j);
    __m128i counts;

    if (s == 8)
        return _mm_mask_blend_epi8((__mmask16)participation, _mm_set1_epi8(64),
                                   _mm_loadl_epi64(packed));
    counts =
        _mm_mask_blend_epi8((__mmask16)participation, _mm_set1_epi8(32), _mm_loadu_si128(packed));
    counts = _mm_maddubs_epi16(counts, _mm_set1_epi8(1));
    return _mm_packus_epi16(counts, counts);
}

/* The halves of each unit change places. */
static LP_ALWAYS_INLINE __m512i turn(__m512i units, uint32_t s)
{
    return s == 4 ? _mm512_rol_epi64(units, 32) : units;
}

/* Bits that masks leave, in the order of memory. */
static LP_ALWAYS_INLINE __m512i load_keep(const struct lp_ibp_masks *masks, uint32_t j,
                                          uint32_t participation, uint32_t s)
{
    const __m512i ones = _mm512_set1_epi64(-1);

    if (s == 8)
        return _mm512_mask_xor_epi64(ones, (__mmask8)participation, ones,
                                     _mm512_loadu_si512(masks->mask + j));
    return _mm512_mask_xor_epi32(ones, (__mmask16)participation, ones,
                                 _mm512_loadu_si512(masks->mask_32 + j));
}

static LP_ALWAYS_INLINE void keep_units(const struct lp_ibp_masks *masks, uint32_t j,
                                        uint32_t participation, uint32_t s,
                                        uint64_t ret_keep[LP_IBP_UNITS])
{
    _mm512_storeu_si512(ret_keep, turn(load_keep(masks, j, participation, s), s));
}

static LP_ALWAYS_INLINE __m512i load_value(const struct lp_ibp_masks *masks, uint32_t j,
                                           uint32_t participation, uint32_t s)
{
    if (s == 8)
        return _mm512_maskz_loadu_epi64((__mmask8)participation, masks->value + j);
    return _mm512_maskz_loadu_epi32((__mmask16)participation, masks->value_32 + j);
}

/* Nine words of the string have the bits of eight units. Each unit's window is the word in which it
 * begins and the one behind, shifted together up to its first bit. */
static LP_ALWAYS_INLINE uint64_t take_units(const struct lp_ibp_masks *masks, uint32_t j,
                                            uint32_t participation, uint32_t s,
                                            const struct lp_ibp_source *source, uint64_t pos,
                                            struct lp_ibp_units *ret_units)
{
    /* Byte b of unit u is set where b < u. */
    const __m512i before = _mm512_set_epi64(0xffffffffffffff, 0xffffffffffff, 0xffffffffff,
                                            0xffffffff, 0xffffff, 0xffff, 0xff, 0);
    const uint8_t *const words = lp_ibp_word_at(source, pos);
    /* The ninth may lie behind what is readable; then nothing that counts is in it. */
    const __mmask8 behind = source->end - pos / 64 * 64 >= 64 ? 0xff : 0x7f;
    const __m128i counts = count_bits(masks, j, participation, s);
    const __m512i n = _mm512_cvtepu8_epi64(counts);
    const __m512i sums = _mm512_sad_epu8(_mm512_and_si512(_mm512_broadcastq_epi64(counts), before),
                                         _mm512_setzero_si512());
    const __m512i start = _mm512_add_epi64(_mm512_set1_epi64((int64_t)(pos % 64)), sums);
    const __m512i at = _mm512_srli_epi64(start, 6);
    const __m512i high = _mm512_permutexvar_epi64(at, turn(_mm512_loadu_si512(words), s));
    const __m512i low =
        _mm512_permutexvar_epi64(at, turn(_mm512_maskz_loadu_epi64(behind, words + 8), s));

    _mm512_storeu_si512(ret_units->bits,
                        _mm512_srlv_epi64(_mm512_shldv_epi64(high, low, start),
                                          _mm512_sub_epi64(_mm512_set1_epi64(64), n)));
    keep_units(masks, j, participation, s, ret_units->keep);
    _mm512_storeu_si512(ret_units->value, load_value(masks, j, participation, s));
    return pos +
           (uint64_t)_mm_cvtsi128_si64(_mm_sad_epu8(_mm_move_epi64(counts), _mm_setzero_si128()));
}

static LP_ALWAYS_INLINE uint32_t match_units(const struct lp_ibp_masks *masks, const uint8_t *src,
                                             uint32_t j, uint32_t s, uint64_t *n_bits)
{
    const __m512i x = _mm512_loadu_si512(src);
    uint32_t participation;
    __m128i bits;

    if (s == 8) {
        const __m512i mask = _mm512_loadu_si512(masks->mask + j);

        participation = _mm512_cmpeq_epi64_mask(_mm512_and_si512(x, mask),
                                                _mm512_loadu_si512(masks->value + j));
        bits = _mm_loadl_epi64((const __m128i *)(const void *)(masks->packed_bits + j));
        bits = _mm_mask_blend_epi8((__mmask16)participation, _mm_cvtsi64_si128(0x4040404040404040),
                                   bits);
    } else {
        const __m512i mask = _mm512_loadu_si512(masks->mask_32 + j);

        participation = _mm512_cmpeq_epi32_mask(_mm512_and_si512(x, mask),
                                                _mm512_loadu_si512(masks->value_32 + j));
        bits = _mm_loadu_si128((const __m128i *)(const void *)(masks->packed_bits + j));
        bits = _mm_mask_blend_epi8((__mmask16)participation, _mm_set1_epi8(32), bits);
    }
    bits = _mm_sad_epu8(bits, _mm_setzero_si128());
    *n_bits += (uint64_t)_mm_cvtsi128_si64(bits) + (uint64_t)_mm_extract_epi64(bits, 1);
    return participation;
}

#include "codec/ibp_units_ops.h"

/* --- the search for masks -------------------------------------------------------------------- */

LP_STATIC_ASSERT(sizeof(struct lp_ibp_set) == 64, "a set of records is a register");

static inline uint32_t common(const struct lp_ibp_set *a, const struct lp_ibp_set *b)
{
    const __m512i both = _mm512_and_si512(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
    const __m512i sums = _mm512_sad_epu8(_mm512_popcnt_epi8(both), _mm512_setzero_si512());

    return (uint32_t)_mm512_reduce_add_epi64(sums);
}

#include "codec/ibp_search_ops.h"

void lp_codec_avx512_ibp_fill(struct lp_codec_ops *ops)
{
    fill_records(ops);
    fill_search(ops);
}
