/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX2 tier's row in the table, and its codec ibp, which closes and opens the gaps of a word
 * with one instruction each. */
#include "codec/ops_avx2.h"

#include "codec/ibp_record.h"
#include "codec/ops_sparse.h"

static inline uint64_t close_gaps(uint64_t bits, uint64_t keep)
{
    return _pext_u64(bits, keep);
}

static inline uint64_t open_gaps(uint64_t bits, uint64_t keep)
{
    return _pdep_u64(bits, keep);
}

static int ibp_decode(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                      uint32_t align_bytes, void *dst, uint32_t n_words)
{
    return lp_ibp_decode(ibp, src, src_bytes, align_bytes, dst, n_words, open_gaps);
}

static uint32_t ibp_encode(const struct lp_ibp *ibp, const void *src, uint32_t n_words, void *dst,
                           uint32_t limit_bytes)
{
    return lp_ibp_encode(ibp, src, n_words, dst, limit_bytes, close_gaps);
}

void lp_codec_ops_avx2_fill(struct lp_codec_ops *ops)
{
    ops->tier = "avx2";
    ops->lane_decode = lp_codec_avx2_lane_decode;
    ops->lane_encode = lp_codec_avx2_lane_encode;
    ops->exponent_histogram = lp_codec_avx2_exponent_histogram;
    ops->ibp_decode = ibp_decode;
    ops->ibp_encode = ibp_encode;
    lp_codec_avx2_sparse_fill(ops);
}
