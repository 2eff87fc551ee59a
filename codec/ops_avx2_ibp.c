/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp with AVX2 and BMI2, which close and open the gaps of a word with one instruction. */
#include "codec/ibp_record.h"
#include "codec/ibp_measure_body.h"
#include "codec/ibp_pick_body.h"
#include "codec/ops_ibp.h"

#include <immintrin.h>

static inline uint64_t close_gaps(uint64_t bits, uint64_t keep)
{
    return _pext_u64(bits, keep);
}

static inline uint64_t open_gaps(uint64_t bits, uint64_t keep)
{
    return _pdep_u64(bits, keep);
}

static int decode(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                  uint32_t align_bytes, void *dst, uint32_t n_words)
{
    return lp_ibp_decode(ibp, src, src_bytes, align_bytes, dst, n_words, open_gaps);
}

static uint32_t encode(const struct lp_ibp *ibp, const void *src, uint32_t n_words, void *dst,
                       uint32_t limit_bytes)
{
    return lp_ibp_encode(ibp, src, n_words, dst, limit_bytes, close_gaps);
}

static inline uint32_t common(const struct lp_ibp_set *a, const struct lp_ibp_set *b)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < LP_IBP_SET_WORDS; i++)
        sum += (uint64_t)_mm_popcnt_u64(a->word[i] & b->word[i]);
    return (uint32_t)sum;
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

void lp_codec_avx2_ibp_fill(struct lp_codec_ops *ops)
{
    ops->ibp_decode = decode;
    ops->ibp_encode = encode;
    ops->ibp_count = count;
    ops->ibp_score = score;
    ops->ibp_pick = pick;
}
