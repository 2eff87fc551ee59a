/* SPDX-License-Identifier: Apache-2.0 */
/* Codec dict in the tiers: the reference, which other tiers call for what they leave out, and what
 * each tier fills in. What the functions do stands in codec/ops.h. */
#ifndef LP_CODEC_OPS_DICT_H
#define LP_CODEC_OPS_DICT_H

#include "codec/ops.h"

int lp_codec_scalar_dict_decode(const struct lp_dict *dict, const void *src, uint32_t src_bytes,
                                uint32_t align_bytes, void *dst, uint32_t n);
uint32_t lp_codec_scalar_dict_encode(const struct lp_dict *dict, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes);

void lp_codec_scalar_dict_fill(struct lp_codec_ops *ops);
#if defined(__x86_64__)
uint32_t lp_codec_avx512_dict_encode(const struct lp_dict *dict, const void *src, uint32_t n,
                                     void *dst, uint32_t limit_bytes);

void lp_codec_avx2_dict_fill(struct lp_codec_ops *ops);
void lp_codec_avx512_dict_fill(struct lp_codec_ops *ops);
#elif defined(__aarch64__)
uint32_t lp_codec_neon_dict_encode(const struct lp_dict *dict, const void *src, uint32_t n,
                                   void *dst, uint32_t limit_bytes);

void lp_codec_neon_dict_fill(struct lp_codec_ops *ops);
#endif

#endif
