/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp's records as functions of codec/ops.h, the same in every vector tier. Included once by
 * a file of a tier, which has defined before, always inline,
 *
 *   take_units(), keep_units(), match_units()
 *                         as struct lp_ibp_unit_ops of codec/ibp_units.h says */
#ifndef LP_CODEC_IBP_UNITS_OPS_H
#define LP_CODEC_IBP_UNITS_OPS_H

#include "codec/ibp_units.h"
#include "codec/ops.h"

static const struct lp_ibp_unit_ops unit_ops = {take_units, keep_units, match_units};

LP_IBP_UNITS_DECODE(decode_8, 8, false, &unit_ops)
LP_IBP_UNITS_DECODE(decode_4, 4, false, &unit_ops)
LP_IBP_UNITS_DECODE(decode_8_groups, 8, true, &unit_ops)
LP_IBP_UNITS_DECODE(decode_4_groups, 4, true, &unit_ops)

static int decode_groups(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                         uint32_t align_bytes, void *dst, uint32_t n_words)
{
    if (ibp->word_bytes == 8)
        return decode_8_groups(ibp, src, src_bytes, align_bytes, dst, n_words);
    return decode_4_groups(ibp, src, src_bytes, align_bytes, dst, n_words);
}

static int decode(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                  uint32_t align_bytes, void *dst, uint32_t n_words)
{
    if (n_words > ibp->n_words)
        return LP_ECORRUPT;
    if (ibp->n_groups > 0)
        return decode_groups(ibp, src, src_bytes, align_bytes, dst, n_words);
    if (ibp->word_bytes == 8)
        return decode_8(ibp, src, src_bytes, align_bytes, dst, n_words);
    return decode_4(ibp, src, src_bytes, align_bytes, dst, n_words);
}

LP_IBP_INLINE uint64_t match_record(const struct lp_ibp_masks *masks, const uint8_t *src,
                                    uint32_t n_words, uint32_t s, uint8_t *dst)
{
    return lp_ibp_units_match(masks, src, n_words, s, dst, &unit_ops);
}

LP_IBP_UNITS_ENCODE(encode_one, false, &unit_ops, match_record)
LP_IBP_UNITS_ENCODE(encode_groups, true, &unit_ops, match_record)

static uint32_t encode(const struct lp_ibp *ibp, const void *src, uint32_t n_words, void *dst,
                       uint32_t limit_bytes)
{
    if (ibp->n_groups > 0)
        return encode_groups(ibp, src, n_words, dst, limit_bytes);
    return encode_one(ibp, src, n_words, dst, limit_bytes);
}

static void fill_records(struct lp_codec_ops *ops)
{
    ops->ibp_decode = decode;
    ops->ibp_encode = encode;
}

#endif
