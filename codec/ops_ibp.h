/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp's part of each tier's row of codec/ops.h. */
#ifndef LP_CODEC_OPS_IBP_H
#define LP_CODEC_OPS_IBP_H

#include "codec/ops.h"

void lp_codec_scalar_ibp_fill(struct lp_codec_ops *ops);
#if defined(__x86_64__)
void lp_codec_avx2_ibp_fill(struct lp_codec_ops *ops);
void lp_codec_avx512_ibp_fill(struct lp_codec_ops *ops);
#elif defined(__aarch64__)
void lp_codec_neon_ibp_fill(struct lp_codec_ops *ops);
#endif

#endif
