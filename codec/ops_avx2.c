/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX2 tier's row in the table. */
#include "codec/ops_avx2.h"

#include "codec/ops_dict.h"
#include "codec/ops_ibp.h"
#include "codec/ops_sparse.h"

void lp_codec_ops_avx2_fill(struct lp_codec_ops *ops)
{
    ops->tier = "avx2";
    ops->lane_decode = lp_codec_avx2_lane_decode;
    ops->lane_encode = lp_codec_avx2_lane_encode;
    ops->exponent_histogram = lp_codec_avx2_exponent_histogram;
    lp_codec_avx2_dict_fill(ops);
    ops->exponent_shift = lp_codec_avx2_exponent_shift;
    lp_codec_avx2_ibp_fill(ops);
    lp_codec_avx2_sparse_fill(ops);
    lp_codec_avx2_counts_fill(ops);
}
