/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with nothing but C. */
#include "codec/codec_ibp.h"
#include "codec/ibp_pick_body.h"
#include "codec/ops_ibp.h"

/* In each byte of the result how many of its bits are set: the CPU may have no instruction. */
static inline uint64_t byte_counts(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
}

static inline uint32_t common(const struct lp_ibp_set *a, const struct lp_ibp_set *b)
{
    uint64_t sum = 0;

    /* 8 words: no byte of the sum passes 64. */
    for (uint32_t i = 0; i < LP_IBP_SET_WORDS; i++)
        sum += byte_counts(a->word[i] & b->word[i]);
    sum = (sum & 0x00ff00ff00ff00ffull) + (sum >> 8 & 0x00ff00ff00ff00ffull);
    return (uint32_t)(sum * 0x0001000100010001ull >> 48);
}

#include "codec/ibp_search_ops.h"

void lp_codec_scalar_ibp_fill(struct lp_codec_ops *ops)
{
    ops->ibp_decode = lp_codec_ibp_decode_scalar;
    ops->ibp_encode = lp_codec_ibp_encode_scalar;
    fill_search(ops);
}
