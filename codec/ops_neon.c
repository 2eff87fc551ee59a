/* SPDX-License-Identifier: Apache-2.0 */
/* The NEON tier's row in the table. */
#include "codec/ops_neon.h"

#include "codec/ops_dict.h"
#include "codec/ops_ibp.h"
#include "codec/ops_sparse.h"

void lp_codec_ops_neon_fill(struct lp_codec_ops *ops)
{
    ops->tier = "neon";
    ops->lane_decode = lp_codec_neon_lane_decode;
    ops->lane_encode = lp_codec_neon_lane_encode;
    ops->exponent_histogram = lp_codec_neon_exponent_histogram;
    ops->exponent_shift = lp_codec_neon_exponent_shift;
    lp_codec_neon_dict_fill(ops);
    lp_codec_neon_ibp_fill(ops);
    lp_codec_neon_sparse_fill(ops);
    lp_codec_neon_counts_fill(ops);
}
