/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of codec ibp, written and read; and the scalar tier of its records. */
#include "codec/codec_ibp.h"

#include "base/alloc.h"
#include "codec/ibp_moves.h"
#include "codec/ibp_record.h"

#include <string.h>

#define LINE_BYTES 64u
#define BYTES_PER_WORD 25u /* of a set: 8 + 8, 4 + 4 and one more, and behind them moves */

static uint32_t n_sets(uint32_t n_groups)
{
    return LP_MAX(n_groups, 1u);
}

/* Of the sets themselves: behind them vectors of words begin a cache line. */
static size_t sets_bytes(uint32_t n_groups)
{
    return (size_t)lp_round_up_u64(n_sets(n_groups) * sizeof(struct lp_ibp_masks), LINE_BYTES);
}

static size_t block_bytes(const struct lp_ibp *ibp)
{
    const size_t set_bytes =
        (size_t)ibp->n_words * BYTES_PER_WORD + lp_ibp_moves_bytes(ibp->n_words, ibp->word_bytes);

    return sets_bytes(ibp->n_groups) + n_sets(ibp->n_groups) * set_bytes;
}

/* Give each set its part of the arrays behind the sets. */
static void lay_out(struct lp_ibp *ibp)
{
    const size_t n = ibp->n_words, all = n_sets(ibp->n_groups) * n;
    const size_t moves_bytes = lp_ibp_moves_bytes(ibp->n_words, ibp->word_bytes);
    uint64_t *const mask = (uint64_t *)((uintptr_t)ibp->set + sets_bytes(ibp->n_groups));
    uint64_t *const value = mask + all;
    uint32_t *const mask_32 = (uint32_t *)(value + all), *const value_32 = mask_32 + all;
    uint8_t *const packed_bits = (uint8_t *)(value_32 + all), *const moves = packed_bits + all;

    for (uint32_t g = 0; g < n_sets(ibp->n_groups); g++)
        ibp->set[g] =
            (struct lp_ibp_masks){mask + g * n,     value + g * n,       mask_32 + g * n,
                                  value_32 + g * n, packed_bits + g * n, moves + g * moves_bytes};
}

int lp_codec_ibp_init(struct lp_ibp *ret_ibp, uint32_t word_bytes, uint32_t n_words,
                      uint32_t n_groups, struct lp_error *err)
{
    struct lp_ibp ibp = {.word_bytes = word_bytes, .n_words = n_words, .n_groups = n_groups};
    const size_t bytes = block_bytes(&ibp);

    ibp.set = lp_mem_alloc_aligned(LINE_BYTES, bytes);
    if (ibp.set == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u sets of %u ibp masks",
                            n_sets(n_groups), n_words);
    memset(ibp.set, 0, bytes);
    lay_out(&ibp);
    lp_codec_ibp_derive(&ibp);
    *ret_ibp = ibp;
    return 0;
}

void lp_codec_ibp_fini(struct lp_ibp *ibp)
{
    if (ibp == NULL)
        return;
    lp_mem_free(ibp->set);
    memset(ibp, 0, sizeof(*ibp));
}

static void derive_set(struct lp_ibp_masks *set, uint32_t word_bytes, uint32_t n_words)
{
    const uint64_t ones = ~0ull >> (64 - 8 * word_bytes);

    for (uint32_t j = 0; j < n_words; j++) {
        set->mask_32[j] = (uint32_t)set->mask[j];
        set->value_32[j] = (uint32_t)set->value[j];
        set->packed_bits[j] =
            (uint8_t)(8 * word_bytes - (uint32_t)__builtin_popcountll(set->mask[j]));
        if (LP_IBP_HAS_MOVES)
            lp_ibp_find_moves(set->moves, j, word_bytes, ~set->mask[j] & ones);
    }
}

void lp_codec_ibp_derive(struct lp_ibp *ibp)
{
    for (uint32_t g = 0; g < n_sets(ibp->n_groups); g++)
        derive_set(&ibp->set[g], ibp->word_bytes, ibp->n_words);
}

int lp_codec_ibp_set_masks(struct lp_ibp *ibp, const uint64_t *mask, const uint64_t *value,
                           struct lp_error *err)
{
    const uint64_t ones = ~0ull >> (64 - 8 * ibp->word_bytes);
    const size_t n = (size_t)n_sets(ibp->n_groups) * ibp->n_words;

    for (size_t j = 0; j < n; j++)
        if ((value[j] & ~mask[j]) != 0 || (mask[j] & ~ones) != 0)
            return lp_error_set(err, LP_EINVAL, "ibp value %zu has bits outside of its mask", j);
    memcpy(ibp->set->mask, mask, n * sizeof(*mask));
    memcpy(ibp->set->value, value, n * sizeof(*value));
    lp_codec_ibp_derive(ibp);
    return 0;
}

/* --- metadata -------------------------------------------------------------------------------- */

static uint64_t meta_bytes_of(uint32_t word_bytes, uint32_t n_words, uint32_t n_groups)
{
    return LP_FORMAT_IBP_META_FIXED + 2ull * n_sets(n_groups) * n_words * word_bytes;
}

uint64_t lp_codec_ibp_meta_bytes(const struct lp_ibp *ibp)
{
    return meta_bytes_of(ibp->word_bytes, ibp->n_words, ibp->n_groups);
}

void lp_codec_ibp_meta_emit(const struct lp_ibp *ibp, void *dst)
{
    const uint32_t s = ibp->word_bytes, n = ibp->n_words;
    uint8_t *p = dst;

    memset(p, 0, LP_FORMAT_IBP_META_FIXED);
    p[0] = (uint8_t)s;
    p[1] = (uint8_t)ibp->n_groups;
    lp_store_u32(p + 4, n);
    lp_store_u32(p + 8, ibp->threshold_bits);
    p += LP_FORMAT_IBP_META_FIXED;
    for (uint32_t g = 0; g < n_sets(ibp->n_groups); g++) {
        for (uint32_t j = 0; j < n; j++, p += s)
            lp_ibp_store(p, ibp->set[g].mask[j], s);
        for (uint32_t j = 0; j < n; j++, p += s)
            lp_ibp_store(p, ibp->set[g].value[j], s);
    }
}

/* The fixed part. */
static int parse_fixed(const uint8_t *p, uint32_t record_bytes, uint64_t meta_bytes,
                       struct lp_error *err)
{
    uint32_t n_words;

    if (meta_bytes < LP_FORMAT_IBP_META_FIXED)
        return lp_error_set(err, LP_ECORRUPT, "ibp metadata has only %llu bytes",
                            (unsigned long long)meta_bytes);
    if (p[0] != 4 && p[0] != 8)
        return lp_error_set(err, LP_ECORRUPT, "ibp word of %u bytes", p[0]);
    if (p[1] == 1 || p[1] > LP_FORMAT_IBP_GROUPS_MAX)
        return lp_error_set(err, LP_ECORRUPT, "%u groups of ibp masks", p[1]);
    n_words = lp_load_u32(p + 4);
    if ((uint64_t)n_words * p[0] != record_bytes)
        return lp_error_set(err, LP_ECORRUPT, "%u ibp words of %u bytes are no record of %u",
                            n_words, p[0], record_bytes);
    if (meta_bytes != meta_bytes_of(p[0], n_words, p[1]))
        return lp_error_set(err, LP_ECORRUPT, "ibp metadata has %llu bytes for %u sets of %u words",
                            (unsigned long long)meta_bytes, n_sets(p[1]), n_words);
    if (!lp_ibp_zero(p + 2, 2) || !lp_ibp_zero(p + 12, 4))
        return lp_error_set(err, LP_ECORRUPT, "ibp metadata has bytes where zeros belong");
    return 0;
}

static int parse_set(struct lp_ibp_masks *set, const struct lp_ibp *ibp, const uint8_t *p,
                     struct lp_error *err)
{
    const uint32_t s = ibp->word_bytes, n = ibp->n_words;

    for (uint32_t j = 0; j < n; j++) {
        set->mask[j] = lp_ibp_load(p + (size_t)j * s, s);
        set->value[j] = lp_ibp_load(p + ((size_t)n + j) * s, s);
        if ((set->value[j] & ~set->mask[j]) != 0)
            return lp_error_set(err, LP_ECORRUPT, "ibp value %u has bits outside of its mask", j);
    }
    return 0;
}

int lp_codec_ibp_meta_parse(struct lp_ibp *ret_ibp, uint32_t record_bytes, const void *meta,
                            uint64_t meta_bytes, struct lp_error *err)
{
    const uint8_t *p = meta;
    struct lp_ibp ibp;
    int rc;

    LP_TRY(rc, parse_fixed(p, record_bytes, meta_bytes, err));
    LP_TRY(rc, lp_codec_ibp_init(&ibp, p[0], record_bytes / p[0], p[1], err));
    ibp.threshold_bits = lp_load_u32(p + 8);
    p += LP_FORMAT_IBP_META_FIXED;
    for (uint32_t g = 0; g < n_sets(ibp.n_groups); g++, p += 2 * (size_t)record_bytes)
        LP_TRY_GOTO(rc, parse_set(&ibp.set[g], &ibp, p, err), fini);
    lp_codec_ibp_derive(&ibp);
    *ret_ibp = ibp;
    return 0;

fini:
    lp_codec_ibp_fini(&ibp);
    return rc;
}

/* --- records --------------------------------------------------------------------------------- */

uint32_t lp_codec_ibp_size(const struct lp_ibp *ibp, const void *src, uint32_t n_words)
{
    const uint32_t s = ibp->word_bytes;
    uint64_t fewest = UINT64_MAX;

    for (uint32_t g = 0; g < n_sets(ibp->n_groups); g++) {
        const struct lp_ibp_masks *const set = &ibp->set[g];

        fewest = LP_MIN(fewest, s == 4 ? lp_ibp_match(set, src, n_words, 4, NULL)
                                       : lp_ibp_match(set, src, n_words, 8, NULL));
    }
    return lp_ibp_head_bytes(n_words, s, ibp->n_groups) + lp_ibp_string_bytes(fewest, s);
}

/* Masks leave few runs of bits, so a step per run beats a step per bit. Moving a run needs its
 * place and its length. */
static inline uint64_t run_ones(uint64_t keep, uint32_t low)
{
    const uint64_t rest = ~(keep >> low);

    return rest == 0 ? ~0ull : (1ull << __builtin_ctzll(rest)) - 1;
}

static inline uint64_t close_gaps(uint64_t x, uint64_t keep)
{
    uint64_t closed = 0;
    uint32_t at = 0;

    while (keep != 0) {
        const uint32_t low = (uint32_t)__builtin_ctzll(keep);
        const uint64_t ones = run_ones(keep, low);

        closed |= (x >> low & ones) << at;
        at += (uint32_t)__builtin_popcountll(ones);
        keep &= ~(ones << low);
    }
    return closed;
}

static inline uint64_t open_gaps(uint64_t closed, uint64_t keep)
{
    uint64_t x = 0;

    while (keep != 0) {
        const uint32_t low = (uint32_t)__builtin_ctzll(keep);
        const uint64_t ones = run_ones(keep, low);

        x |= (closed & ones) << low;
        keep &= ~(ones << low);
        /* A run of all 64 bits is the last one. */
        closed = ones == ~0ull ? 0 : closed >> __builtin_popcountll(ones);
    }
    return x;
}

int lp_codec_ibp_decode_scalar(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                               uint32_t align_bytes, void *dst, uint32_t n_words)
{
    return lp_ibp_decode(ibp, src, src_bytes, align_bytes, dst, n_words, open_gaps);
}

uint32_t lp_codec_ibp_encode_scalar(const struct lp_ibp *ibp, const void *src, uint32_t n_words,
                                    void *dst, uint32_t limit_bytes)
{
    return lp_ibp_encode(ibp, src, n_words, dst, limit_bytes, close_gaps);
}
