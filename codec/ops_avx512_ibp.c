/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with AVX-512 and BMI2. */
#include "codec/ibp_pick_body.h"
#include "codec/ibp_units.h"
#include "codec/ops_avx512.h"
#include "codec/ops_ibp.h"

/* --- records --------------------------------------------------------------------------------- */

static LP_ALWAYS_INLINE void select_units(const struct lp_ibp_masks *masks, uint32_t j,
                                          uint32_t participation, uint32_t s,
                                          struct lp_ibp_units *ret_units)
{
    __m512i mask, value;

    /* Zero where words are not packed. */
    if (s == 8) {
        mask = _mm512_maskz_loadu_epi64((__mmask8)participation, masks->mask + j);
        value = _mm512_maskz_loadu_epi64((__mmask8)participation, masks->value + j);
    } else {
        mask = _mm512_maskz_loadu_epi32((__mmask16)participation, masks->mask_32 + j);
        value = _mm512_maskz_loadu_epi32((__mmask16)participation, masks->value_32 + j);
        mask = _mm512_rol_epi64(mask, 32);
        value = _mm512_rol_epi64(value, 32);
    }
    _mm512_storeu_si512(ret_units->keep, _mm512_xor_si512(mask, _mm512_set1_epi64(-1)));
    _mm512_storeu_si512(ret_units->value, value);
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
