/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of codec ibp: learned, written, read; and the scalar tier of its records. The rule's
 * comparisons mix float and double on purpose: the published masks come out of exactly these
 * (tests/unit/test_ibp_vectors.c). */
#include "codec/codec_ibp.h"

#include "base/alloc.h"
#include "codec/ibp_record.h"

#include <string.h>

#define SWEEP_FIRST 0.70f
#define SWEEP_STEP 0.05f
#define BYTE_COUNTER_MAX 255u /* rows after which byte-wide counters must be emptied */

int lp_codec_ibp_init(struct lp_ibp *ret_ibp, uint32_t word_bytes, uint32_t n_words,
                      struct lp_error *err)
{
    struct lp_ibp ibp = {.word_bytes = word_bytes, .n_words = n_words};

    /* Per word 8 + 8 bytes and one more. */
    ibp.mask = lp_mem_alloc_array(n_words, 17);
    if (ibp.mask == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u ibp masks", n_words);
    ibp.value = ibp.mask + n_words;
    ibp.packed_bits = (uint8_t *)(ibp.value + n_words);
    memset(ibp.mask, 0, (size_t)n_words * 16);
    memset(ibp.packed_bits, (int)(8 * word_bytes), n_words);
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

static void count_packed_bits(struct lp_ibp *ibp)
{
    for (uint32_t j = 0; j < ibp->n_words; j++)
        ibp->packed_bits[j] =
            (uint8_t)(8 * ibp->word_bytes - (uint32_t)__builtin_popcountll(ibp->mask[j]));
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
    count_packed_bits(ibp);
    return 0;
}

/* Eight bytes of a record from p on; behind its end zeros. */
static inline uint64_t load_bytes(const uint8_t *record, uint32_t record_bytes, uint32_t p)
{
    uint64_t bytes = 0;

    if (p + 8 <= record_bytes)
        return lp_load_u64(record + p);
    for (uint32_t i = 0; p + i < record_bytes; i++)
        bytes |= (uint64_t)record[p + i] << (8 * i);
    return bytes;
}

/* counts[8 * p + b]: records in which bit b of byte p is set. narrow: for each bit of eight bytes
 * eight byte counters, emptied before they overflow; record_bytes + 7 words. */
static void count_bits(const uint8_t *sample, uint64_t n_records, uint32_t record_bytes,
                       uint64_t *narrow, uint64_t *counts)
{
    memset(counts, 0, (size_t)record_bytes * 8 * sizeof(*counts));
    for (uint64_t first = 0; first < n_records; first += BYTE_COUNTER_MAX) {
        const uint64_t n = LP_MIN(n_records - first, BYTE_COUNTER_MAX);

        memset(narrow, 0, (record_bytes + 7) / 8 * 8 * sizeof(*narrow));
        for (uint64_t r = first; r < first + n; r++) {
            for (uint32_t p = 0; p < record_bytes; p += 8) {
                const uint64_t bytes = load_bytes(sample + r * record_bytes, record_bytes, p);

                for (uint32_t b = 0; b < 8; b++)
                    narrow[p + b] += bytes >> b & 0x0101010101010101ull;
            }
        }
        for (uint32_t p = 0; p < record_bytes; p++)
            for (uint32_t b = 0; b < 8; b++)
                counts[8 * (size_t)p + b] += narrow[p / 8 * 8 + b] >> (8 * (p % 8)) & 0xff;
    }
}

/* The rule: a bit set in more than T of the records is masked as one, one set in fewer than 1 - T
 * as zero. */
static void make_masks(struct lp_ibp *ibp, const uint64_t *counts, uint64_t n_records,
                       float threshold)
{
    const uint32_t w = 8 * ibp->word_bytes;
    const float ones_above = (float)n_records * threshold;
    const double zeros_below = (1.0 - (double)threshold) * (double)n_records;

    for (uint32_t j = 0; j < ibp->n_words; j++) {
        uint64_t mask = 0, value = 0;

        for (uint32_t b = 0; b < w; b++) {
            const uint64_t c = counts[(size_t)j * w + b];

            if ((float)c > ones_above)
                value |= 1ull << b;
            else if (!((double)c < zeros_below))
                continue;
            mask |= 1ull << b;
        }
        ibp->mask[j] = mask;
        ibp->value[j] = value;
    }
    count_packed_bits(ibp);
}

/* Bits saved over all records, each record's participation bits paid, no record below zero. */
static uint64_t score(const struct lp_ibp *ibp, const uint8_t *sample, uint64_t n_records)
{
    const uint32_t s = ibp->word_bytes, n = ibp->n_words;
    const uint64_t raw_bits = (uint64_t)n * s * 8;
    uint64_t saved = 0;

    for (uint64_t r = 0; r < n_records; r++) {
        const uint8_t *const record = sample + r * n * s;
        const uint64_t bits = n + (s == 4 ? lp_ibp_match(ibp, record, n, 4, NULL)
                                          : lp_ibp_match(ibp, record, n, 8, NULL));

        saved += bits < raw_bits ? raw_bits - bits : 0;
    }
    return saved;
}

static uint64_t mask_bits(const struct lp_ibp *ibp)
{
    uint64_t n = 0;

    for (uint32_t j = 0; j < ibp->n_words; j++)
        n += (uint64_t)__builtin_popcountll(ibp->mask[j]);
    return n;
}

static uint32_t float_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static void copy_masks(struct lp_ibp *dst, const struct lp_ibp *src)
{
    memcpy(dst->mask, src->mask, (size_t)src->n_words * 17);
    dst->threshold_bits = src->threshold_bits;
}

/* floor(n (B - saved) / B) + 1 with B raw bits, as published. */
static uint64_t average_words(const struct lp_ibp *ibp, uint64_t n_records, uint64_t saved)
{
    const __uint128_t raw_bits = (__uint128_t)8 * n_records * ibp->n_words * ibp->word_bytes;

    return saved == 0 ? 0 : (uint64_t)(ibp->n_words * (raw_bits - saved) / raw_bits) + 1;
}

/* Try each threshold; the first of equal scores stays. previous and trial alternate, so that a
 * threshold that changes no mask costs no pass. */
static void sweep(struct lp_ibp *best, struct lp_ibp *trial, const uint64_t *counts,
                  const uint8_t *sample, uint64_t n_records, float threshold,
                  struct lp_ibp_report *report)
{
    uint64_t best_saved = 0;
    uint64_t saved = 0, masked = 0;
    float t = threshold > 0 ? threshold : SWEEP_FIRST;

    for (uint32_t i = 0; i < LP_IBP_TRIALS_MAX && (i == 0 || threshold == 0);
         i++, t += SWEEP_STEP) {
        make_masks(trial, counts, n_records, t);
        trial->threshold_bits = float_bits(t);
        /* A higher threshold masks a subset of the bits, so an equal number means equal masks. */
        if (i == 0 || mask_bits(trial) != masked)
            saved = score(trial, sample, n_records);
        masked = mask_bits(trial);
        report->trial[report->n_trials++] =
            (struct lp_ibp_trial){trial->threshold_bits, masked, saved};
        if (saved > best_saved) {
            best_saved = saved;
            copy_masks(best, trial);
        }
    }
    report->average_words = average_words(best, n_records, best_saved);
}

int lp_codec_ibp_learn(struct lp_ibp *ret_ibp, uint32_t word_bytes, const void *sample,
                       uint64_t n_records, uint32_t record_bytes, float threshold,
                       struct lp_ibp_report *ret_report, struct lp_error *err)
{
    struct lp_ibp best = {0}, trial = {0};
    struct lp_ibp_report report = {0};
    uint64_t *counts;
    int rc;

    if ((word_bytes != 4 && word_bytes != 8) || record_bytes == 0 || record_bytes % word_bytes != 0)
        return lp_error_set(err, LP_EINVAL, "records of %u bytes are no ibp words of %u",
                            record_bytes, word_bytes);
    if (!(threshold >= 0 && threshold <= 1))
        return lp_error_set(err, LP_EINVAL, "ibp threshold %g is not in 0 .. 1", (double)threshold);
    /* Per byte of a record eight 64-bit counters, and one word of eight narrow ones, in eights. */
    counts = lp_mem_alloc_array((size_t)record_bytes + 1, 9 * sizeof(*counts));
    if (counts == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to count the bits of records of %u bytes",
                            record_bytes);
    LP_TRY_GOTO(rc, lp_codec_ibp_init(&best, word_bytes, record_bytes / word_bytes, err),
                free_counts);
    LP_TRY_GOTO(rc, lp_codec_ibp_init(&trial, word_bytes, record_bytes / word_bytes, err),
                free_best);
    count_bits(sample, n_records, record_bytes, counts + (size_t)record_bytes * 8, counts);
    sweep(&best, &trial, counts, sample, n_records, threshold, &report);
    *ret_ibp = best;
    if (ret_report != NULL)
        *ret_report = report;
    lp_codec_ibp_fini(&trial);
    lp_mem_free(counts);
    return 0;

free_best:
    lp_codec_ibp_fini(&best);
free_counts:
    lp_mem_free(counts);
    return rc;
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
    count_packed_bits(&ibp);
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
