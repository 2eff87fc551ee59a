/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with nothing but C. */
#include "codec/codec_ibp.h"
#include "codec/ibp_measure_body.h"
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

static void count(const uint8_t *records, uint64_t n_records, uint32_t record_bytes, void *scratch,
                  uint64_t *counts)
{
    lp_ibp_count(records, n_records, record_bytes, scratch, counts);
}

static void score(const struct lp_ibp_score *job, const uint8_t *records, uint64_t n_records,
                  struct lp_ibp_totals *ret_totals)
{
    lp_ibp_score(job, records, n_records, ret_totals);
}

static void pick(const struct lp_ibp_column *column, struct lp_ibp_pick *ret_pick)
{
    lp_ibp_pick(column, ret_pick, common);
}

void lp_codec_scalar_ibp_fill(struct lp_codec_ops *ops)
{
    ops->ibp_decode = lp_codec_ibp_decode_scalar;
    ops->ibp_encode = lp_codec_ibp_encode_scalar;
    ops->ibp_count = count;
    ops->ibp_score = score;
    ops->ibp_pick = pick;
}
