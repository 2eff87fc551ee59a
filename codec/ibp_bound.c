/* SPDX-License-Identifier: Apache-2.0 */
/* What ibp can't get below, from counts of bits alone.
 *
 * A bit that has its more frequent value in m of n records is masked with success in at most m of
 * them, so k bits of a position save at most k m bits there, m of the k-th most frequent. The best
 * k of every position, taken together, is more than any masks save: they would have to match in the
 * same records. Participation bits come off that: with B bits saved in p records, each of W bits
 * and with a head of h, B <= p W, so at least B h / W of them. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ibp_record.h"
#include "codec/ops.h"

#include <string.h>

/* Bits of a position are counted by how rare their rarer value is, in so many classes. */
#define CLASSES 32u
#define SHIFT 32u
#define RECORDS_MAX (UINT64_C(1) << 31)

/* Classes of bits: d records have the rarer value, d <= n / 2. */
struct classes {
    uint64_t n_records, scale;
    uint64_t most[CLASSES]; /* records that have the other value, at most, in this class */
};

static void classes_init(struct classes *classes, uint64_t n_records)
{
    classes->n_records = n_records;
    classes->scale = ((uint64_t)CLASSES << SHIFT) / (n_records / 2 + 1);
    for (uint64_t i = 0; i < CLASSES; i++)
        classes->most[i] =
            n_records - ((i << SHIFT) + classes->scale - 1) / classes->scale; /* the least d */
}

static void count_word(const struct classes *classes, const uint64_t *counts, uint8_t *bits_of)
{
    memset(bits_of, 0, CLASSES);
    for (uint32_t b = 0; b < 32; b++) {
        const uint64_t rarer = LP_MIN(counts[b], classes->n_records - counts[b]);

        bits_of[rarer * classes->scale >> SHIFT]++;
    }
}

static uint64_t most_saved(const struct classes *classes, const uint8_t *bits_of)
{
    uint64_t best = 0;

    for (uint32_t i = 0, bits = 0; i < CLASSES; i++) {
        bits += bits_of[i];
        best = LP_MAX(best, bits * classes->most[i]);
    }
    return best;
}

/* Bits saved in all records, at most: of words of 4 bytes, and of 8, which are pairs of these. */
static void most_saved_in_all(const uint64_t *counts, uint32_t n_words, uint64_t n_records,
                              uint64_t ret_bits[2])
{
    struct classes classes;

    classes_init(&classes, n_records);
    ret_bits[0] = ret_bits[1] = 0;
    for (uint32_t j = 0; j < n_words; j += 2) {
        uint8_t bits_of[2][CLASSES];

        count_word(&classes, counts + (size_t)j * 32, bits_of[0]);
        ret_bits[0] += most_saved(&classes, bits_of[0]);
        if (j + 1 == n_words)
            break;
        count_word(&classes, counts + (size_t)(j + 1) * 32, bits_of[1]);
        ret_bits[0] += most_saved(&classes, bits_of[1]);
        for (uint32_t i = 0; i < CLASSES; i++)
            bits_of[0][i] += bits_of[1][i];
        ret_bits[1] += most_saved(&classes, bits_of[0]);
    }
}

static uint64_t least_stored(uint64_t bits, uint32_t word_bytes, uint32_t record_bytes,
                             uint64_t n_records)
{
    const uint64_t raw_bytes = n_records * record_bytes;

    if (record_bytes % word_bytes != 0)
        return 0;
    bits -= bits / record_bytes * lp_ibp_head_bytes(record_bytes / word_bytes, word_bytes, 0);
    return raw_bytes - LP_MIN((bits + 7) / 8, raw_bytes);
}

int lp_codec_ibp_count(uint64_t **ret_counts, uint32_t record_bytes, const void *sample,
                       uint64_t n_records, struct lp_error *err)
{
    const size_t scratch_bytes = lp_ibp_count_scratch(record_bytes);
    uint64_t *const counts = lp_mem_zalloc((size_t)record_bytes * 8 * sizeof(*counts));
    uint8_t *const scratch = lp_mem_alloc_aligned(64, scratch_bytes);

    if (counts == NULL || scratch == NULL) {
        lp_mem_free(counts);
        lp_mem_free(scratch);
        return lp_error_set(err, LP_ENOMEM, "no memory to count the bits of records of %u bytes",
                            record_bytes);
    }
    memset(scratch, 0, scratch_bytes);
    lp_codec_ops()->ibp_count(sample, n_records, record_bytes, scratch, counts);
    lp_mem_free(scratch);
    *ret_counts = counts;
    return 0;
}

void lp_codec_ibp_least(const uint64_t *counts, uint32_t record_bytes, uint64_t n_records,
                        uint64_t ret_stored_bytes[2])
{
    uint64_t bits[2];

    ret_stored_bytes[0] = ret_stored_bytes[1] = 0;
    if (n_records == 0 || n_records > RECORDS_MAX)
        return;
    most_saved_in_all(counts, record_bytes / 4, n_records, bits);
    ret_stored_bytes[0] = least_stored(bits[0], 4, record_bytes, n_records);
    ret_stored_bytes[1] = least_stored(bits[1], 8, record_bytes, n_records);
}
