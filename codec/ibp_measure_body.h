/* SPDX-License-Identifier: Apache-2.0 */
/* Counting bits and measuring masks of codec ibp, written once for every CPU tier, with vectors
 * that the compiler lowers to what the tier has. Vectors stay in memory or in registers; none is an
 * argument. */
#ifndef LP_CODEC_IBP_MEASURE_BODY_H
#define LP_CODEC_IBP_MEASURE_BODY_H

#include "codec/ibp_record.h"
#include "codec/ibp_search.h"

/* A register of the tier: comparisons of wider vectors are taken apart element by element. */
#if defined(__AVX512F__)
#define LP_IBP_VECTOR 64
#elif defined(__AVX2__)
#define LP_IBP_VECTOR 32
#else
#define LP_IBP_VECTOR 16
#endif
typedef uint32_t lp_ibp_v32 __attribute__((vector_size(LP_IBP_VECTOR < 32 ? LP_IBP_VECTOR : 32)));
typedef uint64_t lp_ibp_v64 __attribute__((vector_size(LP_IBP_VECTOR)));

/* A block of a record. */
typedef uint64_t lp_ibp_block __attribute__((vector_size(LP_IBP_COUNT_BLOCK)));

/* --- counting -------------------------------------------------------------------------------- */

/* The state of one block of a record: sums of ones, twos and fours of eight records so far, and for
 * each bit of a byte how many eights. */
struct lp_ibp_counter {
    lp_ibp_block ones, twos, fours, eights[8];
};

/* Two bits of a sum of three. */
#define LP_IBP_ADD(carry, sum, a, b)                                                               \
    do {                                                                                           \
        const lp_ibp_block x_ = (a), y_ = (b), s_ = (sum), h_ = x_ ^ y_;                           \
                                                                                                   \
        (carry) = (x_ & y_) | (h_ & s_);                                                           \
        (sum) = h_ ^ s_;                                                                           \
    } while (0)

/* The block at offset of eight records. */
LP_IBP_INLINE void lp_ibp_count_block(struct lp_ibp_counter *c, const uint8_t *const *records,
                                      size_t offset)
{
    lp_ibp_block d[8], twos_a, twos_b, fours_a, fours_b, eights;

    for (uint32_t i = 0; i < 8; i++)
        memcpy(&d[i], records[i] + offset, sizeof(d[i]));
    LP_IBP_ADD(twos_a, c->ones, d[0], d[1]);
    LP_IBP_ADD(twos_b, c->ones, d[2], d[3]);
    LP_IBP_ADD(fours_a, c->twos, twos_a, twos_b);
    LP_IBP_ADD(twos_a, c->ones, d[4], d[5]);
    LP_IBP_ADD(twos_b, c->ones, d[6], d[7]);
    LP_IBP_ADD(fours_b, c->twos, twos_a, twos_b);
    LP_IBP_ADD(eights, c->fours, fours_a, fours_b);
    for (uint32_t b = 0; b < 8; b++)
        c->eights[b] += eights >> b & 0x0101010101010101ull;
}

/* Bytes [skip, LP_IBP_COUNT_BLOCK) of a block to counts, which are those of the block's first byte;
 * the state begins anew. */
LP_IBP_INLINE void lp_ibp_count_flush(struct lp_ibp_counter *c, uint32_t skip, uint64_t *counts)
{
    uint8_t state[LP_IBP_COUNT_STATE][LP_IBP_COUNT_BLOCK];

    memcpy(state, c, sizeof(state));
    for (uint32_t i = skip; i < LP_IBP_COUNT_BLOCK; i++)
        for (uint32_t b = 0; b < 8; b++)
            counts[8 * i + b] += 8u * state[3 + b][i] + 4u * (state[2][i] >> b & 1) +
                                 2u * (state[1][i] >> b & 1) + (state[0][i] >> b & 1);
    memset(c, 0, sizeof(*c));
}

/* Where block k begins: the last one ends with the record, and so begins within its predecessor. */
LP_IBP_INLINE uint32_t lp_ibp_block_at(uint32_t k, uint32_t record_bytes)
{
    return LP_MIN(k * LP_IBP_COUNT_BLOCK, record_bytes - LP_IBP_COUNT_BLOCK);
}

/* Records of fewer bytes than a block has: one bit after another. */
LP_IBP_INLINE void lp_ibp_count_narrow(const uint8_t *records, uint64_t n_records,
                                       uint32_t record_bytes, uint64_t *counts)
{
    for (uint64_t r = 0; r < n_records; r++)
        for (uint32_t i = 0; i < record_bytes; i++)
            for (uint32_t b = 0; b < 8; b++)
                counts[8 * i + b] += records[r * record_bytes + i] >> b & 1u;
}

/* As codec/ops.h describes ibp_count. */
LP_IBP_INLINE void lp_ibp_count(const uint8_t *records, uint64_t n_records, uint32_t record_bytes,
                                void *scratch, uint64_t *counts)
{
    const uint32_t blocks = (record_bytes + LP_IBP_COUNT_BLOCK - 1) / LP_IBP_COUNT_BLOCK;
    const uint8_t *const zeros = scratch;
    struct lp_ibp_counter *const counters =
        (void *)((uint8_t *)scratch + (size_t)blocks * LP_IBP_COUNT_BLOCK);

    if (record_bytes < LP_IBP_COUNT_BLOCK) {
        lp_ibp_count_narrow(records, n_records, record_bytes, counts);
        return;
    }
    for (uint64_t r = 0, eights = 0; r < n_records; r += 8) {
        const uint8_t *record[8];

        for (uint32_t i = 0; i < 8; i++)
            record[i] = r + i < n_records ? records + (r + i) * record_bytes : zeros;
        for (uint32_t k = 0; k < blocks; k++)
            lp_ibp_count_block(&counters[k], record, lp_ibp_block_at(k, record_bytes));
        /* Before a counter of eights overflows, and at the end. */
        if (++eights < 255 && r + 8 < n_records)
            continue;
        eights = 0;
        for (uint32_t k = 0; k < blocks; k++) {
            const uint32_t at = lp_ibp_block_at(k, record_bytes);

            lp_ibp_count_flush(&counters[k], k * LP_IBP_COUNT_BLOCK - at, counts + 8 * (size_t)at);
        }
    }
}

/* --- measuring ------------------------------------------------------------------------------- */

/* Bits saved in one record under each set of masks, participation bits not yet paid. */
LP_IBP_INLINE void lp_ibp_score_record_4(const struct lp_ibp_score *score, const uint8_t *record,
                                         int64_t *ret_matched)
{
    enum { VECTORS = LP_IBP_LANES * 4 / sizeof(lp_ibp_v32) };
    const lp_ibp_v32 *at = (const void *)score->lanes;
    lp_ibp_v32 sum[VECTORS] = {{0}};
    uint32_t sums[LP_IBP_LANES];

    for (uint32_t j = 0; j < score->n_words; j++, at += 3 * VECTORS) {
        const uint32_t word = lp_load_u32(record + 4 * (size_t)j);

        for (uint32_t k = 0; k < VECTORS; k++)
            sum[k] += (lp_ibp_v32)(((word ^ at[VECTORS + k]) & at[k]) == 0) & at[2 * VECTORS + k];
    }
    memcpy(sums, sum, sizeof(sums));
    for (uint32_t i = 0; i < LP_IBP_LANES; i++)
        ret_matched[i] = sums[i];
}

LP_IBP_INLINE void lp_ibp_score_record_8(const struct lp_ibp_score *score, const uint8_t *record,
                                         int64_t *ret_matched)
{
    enum { VECTORS = LP_IBP_LANES * 8 / sizeof(lp_ibp_v64) };
    const lp_ibp_v64 *at = (const void *)score->lanes;
    lp_ibp_v64 sum[VECTORS] = {{0}};

    for (uint32_t j = 0; j < score->n_words; j++, at += 3 * VECTORS) {
        const uint64_t word = lp_load_u64(record + 8 * (size_t)j);

        for (uint32_t k = 0; k < VECTORS; k++)
            sum[k] += (lp_ibp_v64)(((word ^ at[VECTORS + k]) & at[k]) == 0) & at[2 * VECTORS + k];
    }
    memcpy(ret_matched, sum, sizeof(sum));
}

/* What one record adds to the totals of one set of masks. */
LP_IBP_INLINE void lp_ibp_score_add(const struct lp_ibp_score *score, int64_t matched, uint32_t i,
                                    const uint32_t s, struct lp_ibp_totals *totals)
{
    const int64_t n = score->n_words, raw_bytes = n * s, align = score->align_bytes;
    const int64_t bits = 8 * raw_bytes - matched;
    const int64_t size = score->head_bytes + (bits + 8 * s - 1) / (8 * s) * s;
    const int64_t length = (size + align - 1) & -align;
    const bool packed = length < score->raw_length;

    totals->saved_bits[i] += (uint64_t)(matched > n ? matched - n : 0);
    totals->payload_bytes[i] += (uint64_t)(packed ? size : raw_bytes);
    totals->stored_bytes[i] += (uint64_t)(packed ? length : score->raw_length);
}

LP_IBP_INLINE void lp_ibp_score_words(const struct lp_ibp_score *score, const uint8_t *records,
                                      uint64_t n_records, struct lp_ibp_totals *totals,
                                      const uint32_t s)
{
    int64_t matched[LP_IBP_LANES];

    memset(totals, 0, sizeof(*totals));
    for (uint64_t r = 0; r < n_records; r++, records += (size_t)score->n_words * s) {
        if (s == 4)
            lp_ibp_score_record_4(score, records, matched);
        else
            lp_ibp_score_record_8(score, records, matched);
        for (uint32_t i = 0; i < LP_IBP_LANES; i++)
            lp_ibp_score_add(score, matched[i], i, s, totals);
    }
}

/* As codec/ops.h describes ibp_score. */
LP_IBP_INLINE void lp_ibp_score(const struct lp_ibp_score *score, const uint8_t *records,
                                uint64_t n_records, struct lp_ibp_totals *ret_totals)
{
    if (score->word_bytes == 4)
        lp_ibp_score_words(score, records, n_records, ret_totals, 4);
    else
        lp_ibp_score_words(score, records, n_records, ret_totals, 8);
}

#endif
