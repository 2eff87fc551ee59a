/* SPDX-License-Identifier: Apache-2.0 */
/* Codec sparse in the tiers: each file fills its functions of codec/ops.h. */
#ifndef LP_CODEC_OPS_SPARSE_H
#define LP_CODEC_OPS_SPARSE_H

#include "codec/ops.h"

void lp_codec_scalar_sparse_fill(struct lp_codec_ops *ops);
#if defined(__x86_64__)
void lp_codec_avx2_sparse_fill(struct lp_codec_ops *ops);
void lp_codec_avx2_counts_fill(struct lp_codec_ops *ops);
void lp_codec_avx512_sparse_fill(struct lp_codec_ops *ops);
void lp_codec_avx512_counts_fill(struct lp_codec_ops *ops);
#elif defined(__aarch64__)
void lp_codec_neon_sparse_fill(struct lp_codec_ops *ops);
void lp_codec_neon_counts_fill(struct lp_codec_ops *ops);
#endif

#endif
