/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ops.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define ROOM (4096 + LP_CODEC_SLACK_BYTES)

/* Masks learned from a table of n_words words, as published. */
static struct lp_ibp learn(uint32_t s, const void *sample, uint64_t n_records, uint32_t n_words)
{
    const struct lp_ibp_params params = {
        .word_bytes = s, .record_bytes = n_words * s, .exact = true};
    struct lp_ibp ibp;

    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, sample, n_records, NULL, NULL), 0);
    return ibp;
}

/* A record worked out by hand from docs/FORMAT.md, section 4. */
Test(codec_ibp, record_is_as_the_document_says)
{
    const uint64_t mask[4] = {0xffff0000, 0xfffffff0, 0xffffffff, 0x0000ffff};
    const uint64_t value[4] = {0x3f800000, 0x00000040, 0x12345678, 0x0000aaaa};
    const uint32_t words[4] = {0x3f80abcd, 0x00000045, 0x12345678, 0xdeadbeef};
    /* Bits: abcd, 5, none, then a raw word: abcd5dea dbeef000. */
    const uint8_t expected[12] = {0x07, 0, 0, 0, 0xea, 0x5d, 0xcd, 0xab, 0x00, 0xf0, 0xee, 0xdb};
    uint8_t packed[32 + LP_CODEC_SLACK_BYTES] = {0};
    uint32_t back[4];
    struct lp_ibp ibp;

    cr_assert_eq(lp_codec_ibp_init(&ibp, 4, 4, 0, NULL), 0);
    cr_assert_eq(lp_codec_ibp_set_masks(&ibp, mask, value, NULL), 0);
    cr_assert_eq(lp_codec_ibp_size(&ibp, words, 4), 12);
    cr_assert_eq(lp_codec_ibp_encode_scalar(&ibp, words, 4, packed, 12), 0);
    cr_assert_eq(lp_codec_ibp_encode_scalar(&ibp, words, 4, packed, 13), 12);
    cr_assert_arr_eq(packed, expected, 12);
    cr_assert_eq(lp_codec_ibp_decode_scalar(&ibp, packed, 12, 4, back, 4), 0);
    cr_assert_arr_eq(back, words, sizeof(words));
    lp_codec_ibp_fini(&ibp);
    ASSERT_NO_LEAK();
}

/* With groups: the record takes the one with which it is smallest, of equals the first, and says so
 * behind its participation bits. */
Test(codec_ibp, record_of_a_group_is_as_the_document_says)
{
    const uint64_t mask[12] = {0xffff0000, 0,          0,          0,
                               0xffff0000, 0xfffffff0, 0xffffffff, 0x0000ffff,
                               0xffff0000, 0xfffffff0, 0xffffffff, 0x0000ffff};
    const uint64_t value[12] = {0x3f800000, 0,          0,          0,
                                0x3f800000, 0x00000040, 0x12345678, 0x0000aaaa,
                                0x3f800000, 0x00000040, 0x12345678, 0x0000aaaa};
    const uint32_t words[4] = {0x3f80abcd, 0x00000045, 0x12345678, 0xdeadbeef};
    const uint8_t expected[12] = {0x07, 1, 0, 0, 0xea, 0x5d, 0xcd, 0xab, 0x00, 0xf0, 0xee, 0xdb};
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    uint8_t packed[32 + LP_CODEC_SLACK_BYTES] = {0};
    uint32_t back[4];
    struct lp_ibp ibp;

    cr_assert_eq(lp_codec_ibp_init(&ibp, 4, 4, 3, NULL), 0);
    cr_assert_eq(lp_codec_ibp_set_masks(&ibp, mask, value, NULL), 0);
    cr_assert_eq(lp_codec_ibp_size(&ibp, words, 4), 12);
    for (int t = 0; t < n_tiers; t++) {
        cr_assert_eq(tiers[t]->ibp_encode(&ibp, words, 4, packed, 13), 12);
        cr_assert_arr_eq(packed, expected, 12);
        cr_assert_eq(tiers[t]->ibp_decode(&ibp, packed, 12, 4, back, 4), 0);
        cr_assert_arr_eq(back, words, sizeof(words));
        packed[1] = 2; /* another group that has these masks: a decoder need not check the choice */
        cr_assert_eq(tiers[t]->ibp_decode(&ibp, packed, 12, 4, back, 4), 0);
        packed[1] = 3;
        cr_assert_eq(tiers[t]->ibp_decode(&ibp, packed, 12, 4, back, 4), LP_ECORRUPT);
        packed[1] = 1;
        packed[2] = 1;
        cr_assert_eq(tiers[t]->ibp_decode(&ibp, packed, 12, 4, back, 4), LP_ECORRUPT);
        packed[2] = 0;
    }
    lp_codec_ibp_fini(&ibp);
    ASSERT_NO_LEAK();
}

/* 32 words of 4 bytes: the group's byte needs a word of the head for itself. */
Test(codec_ibp, group_may_need_a_word_of_the_head)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    uint8_t packed[136 + LP_CODEC_SLACK_BYTES] = {0};
    uint32_t words[32], back[32];
    struct lp_ibp ibp;

    samples_fill(SAMPLES_RANDOM, LP_DTYPE_F32, 32, 5, words);
    cr_assert_eq(lp_codec_ibp_init(&ibp, 4, 32, 2, NULL), 0);
    for (uint32_t j = 0; j < 32; j++) {
        ibp.set[1].mask[j] = 0xff000000;
        ibp.set[1].value[j] = words[j] & 0xff000000;
    }
    lp_codec_ibp_derive(&ibp);
    for (int t = 0; t < n_tiers; t++) {
        cr_assert_eq(tiers[t]->ibp_encode(&ibp, words, 32, packed, 128), 8 + 32 * 3);
        cr_assert_eq(packed[4], 1);
        cr_assert_eq(tiers[t]->ibp_decode(&ibp, packed, 8 + 32 * 3, 4, back, 32), 0);
        cr_assert_arr_eq(back, words, sizeof(words));
        cr_assert_eq(tiers[t]->ibp_decode(&ibp, packed, 4, 4, back, 32), LP_ECORRUPT,
                     "half a head");
    }
    lp_codec_ibp_fini(&ibp);
}

/* The same for words of 8 bytes, one of them packed to nothing. */
Test(codec_ibp, record_of_wide_words_is_as_the_document_says)
{
    const uint64_t mask[3] = {~0ull, 0xffffffff00000000, 0};
    const uint64_t value[3] = {0x0102030405060708, 0x1122334400000000, 0};
    const uint64_t words[3] = {0x0102030405060708, 0x11223344cafebabe, 0x0123456789abcdef};
    const uint64_t expected[3] = {0x07, 0xcafebabe01234567, 0x89abcdef00000000};
    uint8_t packed[24 + LP_CODEC_SLACK_BYTES] = {0};
    uint64_t back[3];
    struct lp_ibp ibp;

    cr_assert_eq(lp_codec_ibp_init(&ibp, 8, 3, 0, NULL), 0);
    cr_assert_eq(lp_codec_ibp_set_masks(&ibp, mask, value, NULL), 0);
    cr_assert_eq(lp_codec_ibp_encode_scalar(&ibp, words, 3, packed, 25), 24);
    cr_assert_arr_eq(packed, expected, 24);
    cr_assert_eq(lp_codec_ibp_decode_scalar(&ibp, packed, 24, 4, back, 3), 0);
    cr_assert_arr_eq(back, words, sizeof(words));
    lp_codec_ibp_fini(&ibp);
}

/* The float for 0.70 lies below 0.7, so a bit that is set in exactly 3 of 10 records is masked as
 * zero; one that is set in exactly 7 of 10 is not masked as one either way. */
Test(codec_ibp, mask_rule_compares_in_float_and_double)
{
    const struct lp_ibp_params params = {.word_bytes = 4, .record_bytes = 4, .threshold = 0.70f};
    struct lp_ibp_report report;
    uint32_t table[10];
    struct lp_ibp ibp;

    for (uint32_t r = 0; r < 10; r++)
        table[r] = (r < 3 ? 1u : 0) | (r < 7 ? 2u : 0) | (r < 8 ? 4u : 0) | (r < 4 ? 8u : 0);
    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, table, 10, &report, NULL), 0);
    cr_assert_eq(report.n_trials, 1);
    cr_assert_eq(report.trial[0].threshold_bits, 0x3f333333u);
    cr_assert_eq(ibp.set->mask[0], 0xfffffff0u | 4 | 1 | (7.0f > 10.0f * 0.70f ? 2 : 0));
    cr_assert_eq(ibp.set->value[0] & 4, 4);
    lp_codec_ibp_fini(&ibp);
}

/* The sweep steps in single precision, up to the 1.0 that masks nothing. */
Test(codec_ibp, sweep_tries_the_published_thresholds)
{
    static const uint32_t expected[7] = {0x3f333333, 0x3f400000, 0x3f4ccccd, 0x3f59999a,
                                         0x3f666667, 0x3f733334, 0x3f800000};
    const struct lp_ibp_params params = {.word_bytes = 4, .record_bytes = 32, .exact = true};
    struct lp_ibp_report report;
    uint32_t table[64] = {0};
    struct lp_ibp ibp;

    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, table, 8, &report, NULL), 0);
    cr_assert_eq(report.n_trials, 7);
    for (uint32_t i = 0; i < 7; i++)
        cr_assert_eq(report.trial[i].threshold_bits, expected[i]);
    cr_assert_eq(report.trial[6].mask_bits, 0);
    cr_assert_eq(report.trial[6].saved_bits, 0);
    cr_assert_eq(ibp.threshold_bits, expected[0], "the first of equal scores stays");
    lp_codec_ibp_fini(&ibp);
}

/* Random bits save nothing: no mask, no threshold. */
Test(codec_ibp, nothing_saved_means_no_mask)
{
    struct lp_ibp_params params = {.word_bytes = 8, .record_bytes = 64};
    struct lp_ibp_report report;
    uint8_t table[64 * 64];
    struct lp_ibp ibp;

    samples_fill(SAMPLES_RANDOM, LP_DTYPE_U8, sizeof(table), 1, table);
    params.exact = true;
    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, table, 64, &report, NULL), 0);
    cr_assert(!report.saves);
    cr_assert_eq(ibp.threshold_bits, 0);
    cr_assert_eq(report.average_words, 0);
    for (uint32_t j = 0; j < ibp.n_words; j++)
        cr_assert(ibp.set->mask[j] == 0 && ibp.set->value[j] == 0 && ibp.set->packed_bits[j] == 64);
    lp_codec_ibp_fini(&ibp);
}

/* Arguments that make no sense are refused, not rounded. */
Test(codec_ibp, learn_refuses_bad_arguments)
{
    static const struct lp_ibp_params bad[] = {
        {.word_bytes = 2, .record_bytes = 16},
        {.word_bytes = 8, .record_bytes = 12},
        {.word_bytes = 4, .record_bytes = 0},
        {.word_bytes = 4, .record_bytes = 16, .threshold = -0.5f},
        {.word_bytes = 4, .record_bytes = 16, .threshold = 1.5f},
    };
    struct lp_ibp ibp = {.n_words = 7};
    uint8_t table[64] = {0};

    for (size_t i = 0; i < LP_ARRAY_LEN(bad); i++)
        cr_assert_eq(lp_codec_ibp_learn(&ibp, &bad[i], table, 4, NULL, NULL), LP_EINVAL);
    cr_assert_eq(ibp.n_words, 7);
}

static void round_trip(const struct lp_codec_ops *ops, const struct lp_ibp *ibp,
                       const uint8_t *words, uint32_t n, uint32_t offset)
{
    const uint32_t s = ibp->word_bytes;
    static uint8_t src[ROOM + 16], packed[2 * ROOM], scalar[2 * ROOM], back[ROOM + 16];
    uint32_t size, length;

    memcpy(src + offset, words, (size_t)n * s);
    memset(packed, 0xee, sizeof(packed));
    memset(back, 0xee, sizeof(back));
    size = ops->ibp_encode(ibp, src + offset, n, packed + offset, UINT32_MAX);
    cr_assert_eq(size, lp_codec_ibp_size(ibp, words, n));
    cr_assert_eq(lp_codec_ibp_encode_scalar(ibp, words, n, scalar, UINT32_MAX), size);
    cr_assert_arr_eq(packed + offset, scalar, size, "%s, n %u", ops->tier, n);
    cr_assert_eq(ops->ibp_encode(ibp, src + offset, n, scalar, size), 0);
    length = (uint32_t)lp_round_up_u64(size, 32);
    memset(packed + offset + size, 0, length - size);
    cr_assert_eq(ops->ibp_decode(ibp, packed + offset, length, 32, back + offset, n), 0);
    cr_assert_arr_eq(back + offset, words, (size_t)n * s, "%s, n %u", ops->tier, n);
    cr_assert_eq(back[offset + (size_t)n * s], 0xee, "%s writes past the end", ops->tier);
    cr_assert_eq(ops->ibp_decode(ibp, packed + offset, length + 32, 32, back, n), LP_ECORRUPT);
}

/* Every length, offset, word and kind of data comes back, on every tier, with the scalar tier's
 * bytes. */
Test(codec_ibp, round_trips_on_every_tier, .timeout = 60)
{
    static const enum samples_kind kinds[] = {SAMPLES_NORMAL, SAMPLES_RANDOM, SAMPLES_EQUAL,
                                              SAMPLES_SPECIAL, SAMPLES_SPARSE};
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    static uint8_t table[16 * 130 * 8];

    for (size_t k = 0; k < LP_ARRAY_LEN(kinds); k++) {
        for (uint32_t s = 4; s <= 8; s += 4) {
            for (uint32_t n = 1; n <= 130; n++) {
                struct lp_ibp ibp;

                samples_fill(kinds[k], LP_DTYPE_F32, 16ull * n * s / 4, n, table);
                ibp = learn(s, table, 16, n);
                for (int t = 0; t < n_tiers; t++)
                    for (uint32_t r = 0; r < 16; r++)
                        round_trip(tiers[t], &ibp, table + (size_t)r * n * s, n, (n + r) % 16);
                lp_codec_ibp_fini(&ibp);
            }
        }
    }
    ASSERT_NO_LEAK();
}

/* Nothing before a record is read, nor past its slack: it fills a block, where sanitizers see that.
 */
Test(codec_ibp, records_are_read_where_they_are)
{
    static uint8_t table[16 * 70 * 8], packed[ROOM], back[70 * 8];
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);

    for (uint32_t i = 0; i < 140; i++) {
        const uint32_t s = i % 2 == 0 ? 4 : 8, n = 1 + i / 2;
        struct lp_ibp ibp;
        uint32_t size;
        uint8_t *block;

        samples_fill(SAMPLES_SPARSE, LP_DTYPE_F32, 16ull * n * s / 4, n, table);
        ibp = learn(s, table, 16, n);
        size = lp_codec_ibp_encode_scalar(&ibp, table, n, packed, UINT32_MAX);
        block = malloc(size + LP_CODEC_SLACK_BYTES);
        cr_assert_not_null(block);
        memcpy(block, packed, size);
        memset(block + size, 0xff, LP_CODEC_SLACK_BYTES);
        for (int t = 0; t < n_tiers; t++) {
            memset(back, 0xee, sizeof(back));
            cr_assert_eq(tiers[t]->ibp_decode(&ibp, block, size, 4, back, n), 0);
            cr_assert_arr_eq(back, table, (size_t)n * s, "%s, n %u", tiers[t]->tier, n);
        }
        free(block);
        lp_codec_ibp_fini(&ibp);
    }
}

/* Records with a bit wrong give LP_ECORRUPT or other values, never a crash; every cut is noticed.
 */
Test(codec_ibp, hostile_records_are_refused)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    uint32_t table[16 * 37], back[37];
    uint8_t packed[ROOM], broken[ROOM];
    struct lp_ibp ibp;
    uint32_t size;

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, LP_ARRAY_LEN(table), 3, table);
    ibp = learn(4, table, 16, 37);
    size = lp_codec_ibp_encode_scalar(&ibp, table, 37, packed, UINT32_MAX);
    for (int t = 0; t < n_tiers; t++) {
        for (uint32_t n = 0; n < size; n += 4) {
            /* The block ends where the slack ends, so that sanitizers see more. */
            uint8_t *const cut = malloc(n + LP_CODEC_SLACK_BYTES);

            memcpy(cut, packed, n);
            memset(cut + n, 0xff, LP_CODEC_SLACK_BYTES);
            cr_assert_eq(tiers[t]->ibp_decode(&ibp, cut, n, 4, back, 37), LP_ECORRUPT);
            free(cut);
        }
        for (uint32_t bit = 0; bit < 8 * size; bit++) {
            memcpy(broken, packed, size);
            broken[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            cr_assert_eq(tiers[t]->ibp_decode(&ibp, broken, size, 4, back, 37),
                         tiers[0]->ibp_decode(&ibp, broken, size, 4, back, 37), "%s, bit %u",
                         tiers[t]->tier, bit);
        }
        memcpy(broken, packed, size);
        broken[4] |= 0x20;
        cr_assert_eq(tiers[t]->ibp_decode(&ibp, broken, size, 4, back, 37), LP_ECORRUPT,
                     "padding of the participation bits");
        cr_assert_eq(tiers[t]->ibp_decode(&ibp, packed, size, 4, back, 38), LP_ECORRUPT,
                     "more words than masks");
    }
    lp_codec_ibp_fini(&ibp);
}

/* Words behind a cut may have no bits at all: that some before them passed the end is not
 * forgotten. All words have masks of all bits, and one is not packed. */
Test(codec_ibp, cuts_before_words_without_bits_are_noticed)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);

    for (uint32_t i = 0; i < 2 * 70 * 70; i++) {
        const uint32_t s = i % 2 == 0 ? 4 : 8, n = 1 + i / 2 % 70, odd = i / 2 / 70;
        uint8_t block[80 + LP_CODEC_SLACK_BYTES] = {0}, back[70 * 8];
        const uint32_t head = (uint32_t)lp_round_up_u64((n + 7) / 8, s);
        struct lp_ibp ibp;

        if (odd >= n)
            continue;
        cr_assert_eq(lp_codec_ibp_init(&ibp, s, n, 0, NULL), 0);
        for (uint32_t j = 0; j < n; j++) {
            ibp.set->mask[j] = ~0ull >> (64 - 8 * s);
            block[j / 8] |= (uint8_t)((j != odd) << (j % 8));
        }
        lp_codec_ibp_derive(&ibp);
        for (int t = 0; t < n_tiers; t++) {
            cr_assert_eq(tiers[t]->ibp_decode(&ibp, block, head + s, 4, back, n), 0);
            cr_assert_eq(tiers[t]->ibp_decode(&ibp, block, head, 4, back, n), LP_ECORRUPT,
                         "%s, word %u of %u of %u bytes", tiers[t]->tier, odd, n, s);
        }
        lp_codec_ibp_fini(&ibp);
    }
}

/* Metadata comes back; each of its fields is checked. */
Test(codec_ibp, metadata_is_read_strictly)
{
    uint64_t table[8 * 5];
    uint8_t meta[16 + 2 * 5 * 8];
    struct lp_ibp ibp, again;

    samples_fill(SAMPLES_SPARSE, LP_DTYPE_F64, LP_ARRAY_LEN(table), 9, table);
    ibp = learn(8, table, 8, 5);
    cr_assert_neq(ibp.threshold_bits, 0);
    cr_assert_eq(lp_codec_ibp_meta_bytes(&ibp), sizeof(meta));
    lp_codec_ibp_meta_emit(&ibp, meta);
    cr_assert_eq(lp_codec_ibp_meta_parse(&again, 40, meta, sizeof(meta), NULL), 0);
    cr_assert_eq(again.threshold_bits, ibp.threshold_bits);
    cr_assert_arr_eq(again.set->mask, ibp.set->mask, 5 * sizeof(*ibp.set->mask));
    cr_assert_arr_eq(again.set->value, ibp.set->value, 5 * sizeof(*ibp.set->value));
    cr_assert_arr_eq(again.set->packed_bits, ibp.set->packed_bits, 5);
    lp_codec_ibp_fini(&again);

    for (size_t n = 0; n < sizeof(meta); n++)
        cr_assert_eq(lp_codec_ibp_meta_parse(&again, 40, meta, n, NULL), LP_ECORRUPT);
    cr_assert_eq(lp_codec_ibp_meta_parse(&again, 48, meta, sizeof(meta), NULL), LP_ECORRUPT);
    for (size_t at = 0; at < 16; at++) {
        meta[at] ^= 1;
        cr_assert_eq(lp_codec_ibp_meta_parse(&again, 40, meta, sizeof(meta), NULL),
                     at >= 8 && at < 12 ? 0 : LP_ECORRUPT, "byte %zu", at);
        if (at >= 8 && at < 12)
            lp_codec_ibp_fini(&again);
        meta[at] ^= 1;
    }
    lp_store_u64(meta + 16, 0);
    lp_store_u64(meta + 16 + 40, 1);
    cr_assert_eq(lp_codec_ibp_meta_parse(&again, 40, meta, sizeof(meta), NULL), LP_ECORRUPT);
    lp_codec_ibp_fini(&ibp);
    ASSERT_NO_LEAK();
}

/* With groups, one set after the other. */
Test(codec_ibp, metadata_of_groups_is_read_strictly)
{
    const size_t n = 16 + 3 * 2 * 5 * 8;
    uint8_t meta[16 + 16 * 2 * 5 * 8 + 8] = {0};
    struct lp_ibp ibp, again;

    cr_assert_eq(lp_codec_ibp_init(&ibp, 8, 5, 3, NULL), 0);
    for (uint32_t j = 0; j < 3 * 5; j++) {
        ibp.set->mask[j] = ~0ull << j;
        ibp.set->value[j] = 3ull << (20 + j);
    }
    lp_codec_ibp_derive(&ibp);
    cr_assert_eq(lp_codec_ibp_meta_bytes(&ibp), n);
    lp_codec_ibp_meta_emit(&ibp, meta);
    cr_assert_eq(lp_codec_ibp_meta_parse(&again, 40, meta, n, NULL), 0);
    cr_assert_eq(again.n_groups, 3);
    cr_assert_arr_eq(again.set->mask, ibp.set->mask, 3 * 5 * sizeof(uint64_t));
    cr_assert_arr_eq(again.set->value, ibp.set->value, 3 * 5 * sizeof(uint64_t));
    cr_assert_arr_eq(again.set->packed_bits, ibp.set->packed_bits, 3 * 5);
    lp_codec_ibp_fini(&again);
    for (size_t bytes = 0; bytes < sizeof(meta); bytes++) {
        const bool fine = lp_codec_ibp_meta_parse(&again, 40, meta, bytes, NULL) == 0;

        cr_assert_eq(fine, bytes == n);
        if (fine)
            lp_codec_ibp_fini(&again);
    }
    for (uint32_t groups = 0; groups < 256; groups++) {
        const size_t bytes = 16 + LP_MAX(groups, 1) * (size_t)80;
        const bool fine = groups != 1 && groups <= LP_FORMAT_IBP_GROUPS_MAX;

        meta[1] = (uint8_t)groups;
        cr_assert_eq(lp_codec_ibp_meta_parse(&again, 40, meta, LP_MIN(bytes, sizeof(meta)), NULL),
                     fine ? 0 : LP_ECORRUPT, "%u groups", groups);
        if (fine)
            lp_codec_ibp_fini(&again);
    }
    meta[1] = 3;
    lp_store_u64(meta + 16 + 2 * 80, 0); /* the last group's first mask; its value is not 0 */
    cr_assert_eq(lp_codec_ibp_meta_parse(&again, 40, meta, n, NULL), LP_ECORRUPT);
    lp_codec_ibp_fini(&ibp);
    ASSERT_NO_LEAK();
}

/* Any allocation may fail: a code, nothing leaked, and a retry works. */
Test(codec_ibp, learning_survives_failing_allocations)
{
    const struct lp_ibp_params params = {.word_bytes = 4, .record_bytes = 32};
    uint32_t table[64] = {0};
    struct fault_loop loop;
    struct lp_ibp ibp;

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = lp_codec_ibp_learn(&ibp, &params, table, 8, NULL, NULL);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            continue;
        }
        cr_assert_eq(rc, 0);
        lp_codec_ibp_fini(&ibp);
    }
    cr_assert_gt(loop.nth, 1);
    ASSERT_NO_LEAK();
}
