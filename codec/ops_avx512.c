/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX-512 tier's row in the table. */
#include "codec/ops_avx512.h"

#include "codec/ops_dict.h"
#include "codec/ops_ibp.h"
#include "codec/ops_sparse.h"

void lp_codec_ops_avx512_fill(struct lp_codec_ops *ops)
{
    ops->tier = "avx512";
    ops->lane_decode = lp_codec_avx512_lane_decode;
    ops->lane_encode = lp_codec_avx512_lane_encode;
    lp_codec_avx512_dict_fill(ops);
    lp_codec_avx512_ibp_fill(ops);
    lp_codec_avx512_sparse_fill(ops);
    lp_codec_avx512_counts_fill(ops);
    ops->exponent_histogram = lp_codec_avx512_exponent_histogram;
    ops->exponent_shift = lp_codec_avx512_exponent_shift;
}
