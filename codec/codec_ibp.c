/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of codec ibp, written and read; and the scalar tier of its records. */
#include "codec/codec_ibp.h"

#include "base/alloc.h"
#include "codec/ibp_record.h"

#include <string.h>

#define BYTES_PER_WORD 25u /* of the block that holds what is known of a word */

int lp_codec_ibp_init(struct lp_ibp *ret_ibp, uint32_t word_bytes, uint32_t n_words,
                      struct lp_error *err)
{
    struct lp_ibp ibp = {.word_bytes = word_bytes, .n_words = n_words};

    /* Per word 8 + 8 bytes, 4 + 4 and one more. */
    ibp.mask = lp_mem_alloc_array(n_words, BYTES_PER_WORD);
    if (ibp.mask == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u ibp masks", n_words);
    ibp.value = ibp.mask + n_words;
    ibp.mask_32 = (uint32_t *)(ibp.value + n_words);
    ibp.value_32 = ibp.mask_32 + n_words;
    ibp.packed_bits = (uint8_t *)(ibp.value_32 + n_words);
    memset(ibp.mask, 0, (size_t)n_words * BYTES_PER_WORD);
    lp_codec_ibp_derive(&ibp);
    *ret_ibp = ibp;
    return 0;
}

void lp_codec_ibp_fini(struct lp_ibp *ibp)
{
    if (ibp == NULL)
        return;
    lp_mem_free(ibp->mask);
    memset(ibp, 0, sizeof(*ibp));
}

void lp_codec_ibp_derive(struct lp_ibp *ibp)
{
    for (uint32_t j = 0; j < ibp->n_words; j++) {
        ibp->mask_32[j] = (uint32_t)ibp->mask[j];
        ibp->value_32[j] = (uint32_t)ibp->value[j];
        ibp->packed_bits[j] =
            (uint8_t)(8 * ibp->word_bytes - (uint32_t)__builtin_popcountll(ibp->mask[j]));
    }
}

int lp_codec_ibp_set_masks(struct lp_ibp *ibp, const uint64_t *mask, const uint64_t *value,
                           struct lp_error *err)
{
    const uint64_t ones = ~0ull >> (64 - 8 * ibp->word_bytes);

    for (uint32_t j = 0; j < ibp->n_words; j++)
        if ((value[j] & ~mask[j]) != 0 || (mask[j] & ~ones) != 0)
            return lp_error_set(err, LP_EINVAL, "ibp value %u has bits outside of its mask", j);
    memcpy(ibp->mask, mask, ibp->n_words * sizeof(*mask));
    memcpy(ibp->value, value, ibp->n_words * sizeof(*value));
    lp_codec_ibp_derive(ibp);
    return 0;
}

uint64_t lp_codec_ibp_meta_bytes(const struct lp_ibp *ibp)
{
    return LP_FORMAT_IBP_META_FIXED + 2ull * ibp->n_words * ibp->word_bytes;
}

void lp_codec_ibp_meta_emit(const struct lp_ibp *ibp, void *dst)
{
    const uint32_t s = ibp->word_bytes, n = ibp->n_words;
    uint8_t *const p = dst;

    memset(p, 0, LP_FORMAT_IBP_META_FIXED);
    p[0] = (uint8_t)s;
    lp_store_u32(p + 4, n);
    lp_store_u32(p + 8, ibp->threshold_bits);
    for (uint32_t j = 0; j < n; j++) {
        lp_ibp_store(p + LP_FORMAT_IBP_META_FIXED + (size_t)j * s, ibp->mask[j], s);
        lp_ibp_store(p + LP_FORMAT_IBP_META_FIXED + ((size_t)n + j) * s, ibp->value[j], s);
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
    n_words = lp_load_u32(p + 4);
    if ((uint64_t)n_words * p[0] != record_bytes)
        return lp_error_set(err, LP_ECORRUPT, "%u ibp words of %u bytes are no record of %u",
                            n_words, p[0], record_bytes);
    if (meta_bytes != LP_FORMAT_IBP_META_FIXED + 2ull * n_words * p[0])
        return lp_error_set(err, LP_ECORRUPT, "ibp metadata has %llu bytes for %u words",
                            (unsigned long long)meta_bytes, n_words);
    if (!lp_ibp_zero(p + 1, 3) || !lp_ibp_zero(p + 12, 4))
        return lp_error_set(err, LP_ECORRUPT, "ibp metadata has bytes where zeros belong");
    return 0;
}

int lp_codec_ibp_meta_parse(struct lp_ibp *ret_ibp, uint32_t record_bytes, const void *meta,
                            uint64_t meta_bytes, struct lp_error *err)
{
    const uint8_t *const p = meta;
    struct lp_ibp ibp;
    int rc;

    LP_TRY(rc, parse_fixed(p, record_bytes, meta_bytes, err));
    LP_TRY(rc, lp_codec_ibp_init(&ibp, p[0], record_bytes / p[0], err));
    ibp.threshold_bits = lp_load_u32(p + 8);
    for (uint32_t j = 0; j < ibp.n_words; j++) {
        const uint8_t *const word = p + LP_FORMAT_IBP_META_FIXED + (size_t)j * ibp.word_bytes;

        ibp.mask[j] = lp_ibp_load(word, ibp.word_bytes);
        ibp.value[j] = lp_ibp_load(word + (size_t)ibp.n_words * ibp.word_bytes, ibp.word_bytes);
        if ((ibp.value[j] & ~ibp.mask[j]) != 0) {
            lp_codec_ibp_fini(&ibp);
            return lp_error_set(err, LP_ECORRUPT, "ibp value %u has bits outside of its mask", j);
        }
    }
    lp_codec_ibp_derive(&ibp);
    *ret_ibp = ibp;
    return 0;
}

uint32_t lp_codec_ibp_size(const struct lp_ibp *ibp, const void *src, uint32_t n_words)
{
    const uint32_t s = ibp->word_bytes;

    return s == 4 ? lp_ibp_record_bytes(n_words, 4, lp_ibp_match(ibp, src, n_words, 4, NULL))
                  : lp_ibp_record_bytes(n_words, 8, lp_ibp_match(ibp, src, n_words, 8, NULL));
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
