/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of ibp masks, against the rule written out bit by bit, and against what records really
 * take. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ibp_search.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define THRESHOLDS 7u

static uint64_t load_word(const uint8_t *p, uint32_t s)
{
    return s == 4 ? lp_load_u32(p) : lp_load_u64(p);
}

/* --- the published rule, slowly -------------------------------------------------------------- */

struct slow {
    uint32_t s, n;
    uint64_t records;
    const uint8_t *sample;
    uint64_t mask[600], value[600];
};

static void slow_masks(struct slow *slow, float threshold)
{
    const uint32_t s = slow->s;

    for (uint32_t j = 0; j < slow->n; j++) {
        slow->mask[j] = slow->value[j] = 0;
        for (uint32_t b = 0; b < 8 * s; b++) {
            uint64_t count = 0;

            for (uint64_t r = 0; r < slow->records; r++)
                count += load_word(slow->sample + (r * slow->n + j) * s, s) >> b & 1;
            if ((float)count > (float)slow->records * threshold)
                slow->value[j] |= 1ull << b;
            else if (!((double)count < (1.0 - (double)threshold) * (double)slow->records))
                continue;
            slow->mask[j] |= 1ull << b;
        }
    }
}

static uint64_t slow_score(const struct slow *slow)
{
    uint64_t saved = 0;

    for (uint64_t r = 0; r < slow->records; r++) {
        uint64_t bits = 0;

        for (uint32_t j = 0; j < slow->n; j++) {
            const uint64_t word = load_word(slow->sample + (r * slow->n + j) * slow->s, slow->s);

            if ((word & slow->mask[j]) == slow->value[j])
                bits += (uint64_t)__builtin_popcountll(slow->mask[j]);
        }
        saved += bits > slow->n ? bits - slow->n : 0;
    }
    return saved;
}

/* What the sweep must give. */
static void check_exact(struct slow *slow)
{
    const struct lp_ibp_params params = {
        .word_bytes = slow->s, .record_bytes = slow->n * slow->s, .exact = true};
    struct lp_ibp_report report;
    uint64_t best = 0, score;
    float threshold = 0.70f;
    struct lp_ibp ibp;

    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, slow->sample, slow->records, &report, NULL), 0);
    cr_assert_eq(report.n_trials, THRESHOLDS);
    for (uint32_t i = 0; i < THRESHOLDS; i++, threshold += 0.05f) {
        slow_masks(slow, threshold);
        score = slow_score(slow);
        cr_assert_eq(report.trial[i].saved_bits, score, "%u words of %u, %llu records", slow->n,
                     slow->s, (unsigned long long)slow->records);
        if (score > best) {
            best = score;
            cr_assert_leq(report.kept, THRESHOLDS);
        }
    }
    cr_assert_eq(report.saves, best > 0);
    for (uint32_t i = 0; report.saves && i < report.kept; i++)
        cr_assert_lt(report.trial[i].saved_bits, best, "the first of equal scores stays");
    if (report.saves) {
        cr_assert_eq(report.trial[report.kept].saved_bits, best);
        memcpy(&threshold, &ibp.threshold_bits, sizeof(threshold));
        slow_masks(slow, threshold);
        cr_assert_arr_eq(ibp.set->mask, slow->mask, slow->n * sizeof(uint64_t));
        cr_assert_arr_eq(ibp.set->value, slow->value, slow->n * sizeof(uint64_t));
    }
    lp_codec_ibp_fini(&ibp);
}

/* Records narrower than a vector, with every kind of end, few and many. */
Test(ibp_learn, exact_is_the_published_rule)
{
    static const uint64_t records[] = {1, 2, 7, 8, 9, 255, 2041};
    static uint8_t table[2041 * 40 * 8];
    static struct slow slow;

    for (size_t i = 0; i < LP_ARRAY_LEN(records); i++) {
        for (uint32_t n = 1; n <= 40; n += records[i] > 255 ? 13 : 1) {
            slow = (struct slow){.s = n % 2 == 0 ? 4 : 8, .n = n, .records = records[i]};
            slow.sample = table;
            samples_fill(n % 3 == 0 ? SAMPLES_SPARSE : SAMPLES_NORMAL, LP_DTYPE_F32,
                         records[i] * n * slow.s / 4, n, table);
            check_exact(&slow);
        }
    }
}

/* Counters of a byte are emptied in time: more records than they hold. */
Test(ibp_learn, counts_do_not_overflow)
{
    const uint64_t records = 100001;
    const struct lp_ibp_params params = {.word_bytes = 4, .record_bytes = 64, .threshold = 1};
    uint8_t *const table = malloc(records * 64);
    struct lp_ibp_report report;
    struct lp_ibp ibp;

    cr_assert_not_null(table);
    /* More than all records is none, and so is fewer than none. */
    memset(table, 0xff, records * 64);
    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, table, records, &report, NULL), 0);
    cr_assert_eq(report.trial[0].mask_bits, 0);
    lp_codec_ibp_fini(&ibp);

    const struct lp_ibp_params almost = {
        .word_bytes = 4, .record_bytes = 64, .threshold = 0.99999f};
    table[77 * 64 + 5] = 0xfe;
    table[78 * 64 + 5] = 0xfe;
    cr_assert_eq(lp_codec_ibp_learn(&ibp, &almost, table, records, &report, NULL), 0);
    cr_assert_eq(ibp.set->mask[0], 0xffffffff);
    cr_assert_eq(ibp.set->mask[1], 0xfffffeff, "two records less are too few");
    lp_codec_ibp_fini(&ibp);
    free(table);
}

/* --- position by position -------------------------------------------------------------------- */

/* What the records take under these masks, as the codec itself says. */
static void check_bytes(const struct lp_ibp *ibp, const struct lp_ibp_params *params,
                        const uint8_t *sample, uint64_t records, const struct lp_ibp_trial *trial)
{
    const uint32_t bytes = params->record_bytes, align = LP_MAX(params->align_bytes, 4u);
    const uint64_t raw_length = lp_round_up_u64(bytes, align);
    uint64_t payload = 0, stored = 0;

    for (uint64_t r = 0; r < records; r++) {
        const uint32_t size = lp_codec_ibp_size(ibp, sample + r * bytes, ibp->n_words);
        const uint64_t length = lp_round_up_u64(size, align);

        payload += length < raw_length ? size : bytes;
        stored += LP_MIN(length, raw_length);
    }
    cr_assert_eq(trial->payload_bytes, payload);
    cr_assert_eq(trial->stored_bytes, stored);
}

static void check_never_worse(const struct lp_ibp_params *wish, const uint8_t *sample,
                              uint64_t records)
{
    struct lp_ibp_params params = *wish;
    struct lp_ibp_report exact, report;
    struct lp_ibp ibp, published;
    uint64_t least[2], *counts;

    cr_assert_eq(lp_codec_ibp_count(&counts, wish->record_bytes, sample, records, NULL), 0);
    lp_codec_ibp_least(counts, wish->record_bytes, records, least);
    cr_assert_eq(least[1] == 0, wish->record_bytes % 8 != 0);
    params.exact = true;
    cr_assert_eq(lp_codec_ibp_learn(&published, &params, sample, records, &exact, NULL), 0);
    cr_assert_eq(lp_codec_ibp_learn(&ibp, wish, sample, records, &report, NULL), 0);
    cr_assert_eq(report.n_trials, THRESHOLDS + 1);
    cr_assert_leq(report.trial[report.kept].stored_bytes, exact.trial[exact.kept].stored_bytes);
    cr_assert_eq(ibp.threshold_bits, report.saves ? report.trial[report.kept].threshold_bits : 0);
    for (uint32_t i = 0; i < THRESHOLDS; i++)
        cr_assert(memcmp(&report.trial[i], &exact.trial[i], sizeof(exact.trial[i])) == 0);
    for (uint32_t i = 0; i < report.n_trials; i++)
        cr_assert_leq(least[wish->word_bytes / 8], report.trial[i].stored_bytes);
    if (report.saves)
        check_bytes(&ibp, wish, sample, records, &report.trial[report.kept]);
    if (exact.saves)
        check_bytes(&published, wish, sample, records, &exact.trial[exact.kept]);
    /* With counts that the caller made, the same comes out. */
    params = *wish;
    params.counts = counts;
    lp_codec_ibp_fini(&published);
    cr_assert_eq(lp_codec_ibp_learn(&published, &params, sample, records, &exact, NULL), 0);
    cr_assert(memcmp(&exact.trial, &report.trial, sizeof(report.trial)) == 0);
    lp_mem_free(counts);
    lp_codec_ibp_fini(&ibp);
    lp_codec_ibp_fini(&published);
}

/* Every kind of data, both words, both alignments, more and fewer records than are looked at. Nor
 * does any choice get below what counts of bits say is the least. */
Test(ibp_learn, never_stores_more_than_the_published_choice)
{
    static uint8_t table[1300 * 130 * 8];
    static const uint64_t records[] = {1, 5, 64, 511, 512, 513, 1300};

    for (uint32_t kind = 0; kind < SAMPLES_KINDS; kind++) {
        for (size_t i = 0; i < LP_ARRAY_LEN(records); i++) {
            for (uint32_t s = 4; s <= 8; s += 4) {
                const uint32_t n = 1 + (uint32_t)(i * 37 + kind * 11) % 130;
                const struct lp_ibp_params params = {
                    .word_bytes = s, .record_bytes = n * s, .align_bytes = i % 2 == 0 ? 0 : 32};

                samples_fill((enum samples_kind)kind, i % 3 == 0 ? LP_DTYPE_BF16 : LP_DTYPE_F32,
                             records[i] * n * s / (i % 3 == 0 ? 2 : 4), i, table);
                check_never_worse(&params, table, records[i]);
            }
        }
    }
    ASSERT_NO_LEAK();
}

/* Exponents around a power of two: each of their bits is set in half of the words, so no threshold
 * masks them, but all seven are known once one is. */
Test(ibp_learn, bits_that_move_together_are_masked_together)
{
    const struct lp_ibp_params params = {.word_bytes = 4, .record_bytes = 16 * 4};
    static uint32_t table[400][16];
    struct lp_ibp_report report;
    uint64_t state = 3;
    struct lp_ibp ibp;

    for (uint32_t r = 0; r < 400; r++) {
        for (uint32_t j = 0; j < 16; j++)
            table[r][j] = (samples_next(&state) % 100 < 60 ? 0x80000000 : 0x7f000000) |
                          (uint32_t)(samples_next(&state) & 0x00ffffff);
    }
    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, table, 400, &report, NULL), 0);
    for (uint32_t i = 0; i < THRESHOLDS; i++)
        cr_assert_eq(report.trial[i].saved_bits, 0);
    cr_assert_eq(report.kept, THRESHOLDS);
    cr_assert_eq(ibp.threshold_bits, 0);
    for (uint32_t j = 0; j < 16; j++) {
        cr_assert_eq(ibp.set->mask[j] & 0xff000000, 0xff000000);
        cr_assert_eq(ibp.set->value[j] & 0xff000000, 0x80000000);
    }
    lp_codec_ibp_fini(&ibp);
}

/* Random bits of few records: masks that match some of them by chance are not worth their bytes. */
Test(ibp_learn, chance_is_no_reason)
{
    const struct lp_ibp_params params = {.word_bytes = 4, .record_bytes = 128 * 4};
    static uint8_t table[64 * 512];
    struct lp_ibp_report report;
    struct lp_ibp ibp;

    samples_fill(SAMPLES_RANDOM, LP_DTYPE_F32, sizeof(table) / 4, 7, table);
    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, table, 64, &report, NULL), 0);
    cr_assert_lt(report.trial[THRESHOLDS].stored_bytes, sizeof(table));
    cr_assert(!report.saves);
    for (uint32_t j = 0; j < ibp.n_words; j++)
        cr_assert_eq(ibp.set->mask[j], 0);
    lp_codec_ibp_fini(&ibp);
}

/* A column that is constant in the records that were looked at, and in no other: measuring all of
 * them shows that these masks do not help, and others are kept. */
Test(ibp_learn, a_sample_that_misleads_is_found_out)
{
    const uint64_t records = 64ull * LP_IBP_PICK_RECORDS;
    const struct lp_ibp_params params = {.word_bytes = 4, .record_bytes = 8 * 4};
    uint32_t *const table = malloc(records * 8 * 4);
    struct lp_ibp_report report;
    uint64_t state = 5;
    struct lp_ibp ibp;

    cr_assert_not_null(table);
    for (uint64_t i = 0; i < records * 8; i++) {
        const bool seen = i / 8 % 64 == 0;

        table[i] = (uint32_t)samples_next(&state);
        table[i] = seen ? 0x12345678 : i % 8 < 4 ? table[i] & 0xffff : table[i];
    }
    cr_assert_eq(lp_codec_ibp_learn(&ibp, &params, table, records, &report, NULL), 0);
    cr_assert_lt(report.kept, THRESHOLDS);
    cr_assert(report.saves);
    cr_assert_eq(ibp.set->mask[0], 0xffff0000);
    cr_assert_eq(ibp.set->mask[7], 0);
    lp_codec_ibp_fini(&ibp);
    free(table);
}

/* --- the table of invariance ----------------------------------------------------------------- */

/* Words of which 8 bits are always set, and one in three of four records. */
Test(ibp_learn, invariance_is_tabulated)
{
    uint32_t table[400][2];
    uint8_t masked[LP_IBP_INVARIANCE_ROWS][2];
    struct lp_ibp_invariance invariance;
    uint64_t state = 9;

    for (uint32_t r = 0; r < 400; r++) {
        table[r][0] = 0xff000000 | (uint32_t)(samples_next(&state) & 0x0000ffff);
        table[r][1] = (uint32_t)samples_next(&state) & ~3u;
        table[r][1] |= (r % 400 < 310 ? 2u : 0) | 1;
    }
    cr_assert_eq(lp_codec_ibp_invariance(&invariance, 4, 2, table, 400, &masked[0][0], NULL), 0);
    cr_assert_eq(invariance.word_bytes, 4);
    cr_assert_eq(invariance.n_words, 2);
    for (uint32_t i = 0; i < LP_IBP_INVARIANCE_ROWS; i++) {
        const bool often = i < 2; /* 310 of 400 are 0.775 */

        cr_assert_float_eq(invariance.row[i].threshold, 0.70 + 0.05 * i, 1e-6);
        cr_assert_eq(masked[i][0], 16);
        cr_assert_eq(masked[i][1], often ? 2 : 1);
        cr_assert_eq(invariance.row[i].bit_share[0], 0.5);
        cr_assert_eq(invariance.row[i].bit_share[1], often ? 0.5 : 0);
        cr_assert_eq(invariance.row[i].bit_share[20], 0.5);
        cr_assert_float_eq(invariance.row[i].masked_share, (often ? 18 : 17) / 64.0, 1e-12);
        cr_assert_float_eq(invariance.row[i].saved_share,
                           often ? (310 * 16.0 + 90 * 14) / 64 / 400 : 15 / 64.0, 1e-12);
    }
    ASSERT_NO_LEAK();
}

Test(ibp_learn, invariance_takes_no_records_and_refuses_no_words)
{
    struct lp_ibp_invariance invariance = {.n_words = 9};
    uint32_t table[2] = {0};

    cr_assert_eq(lp_codec_ibp_invariance(&invariance, 4, 0, table, 1, NULL, NULL), LP_EINVAL);
    cr_assert_eq(lp_codec_ibp_invariance(&invariance, 0, 1, table, 1, NULL, NULL), LP_EINVAL);
    cr_assert_eq(lp_codec_ibp_invariance(&invariance, 4, UINT32_MAX, table, 1, NULL, NULL),
                 LP_EINVAL);
    cr_assert_eq(invariance.n_words, 9);
    cr_assert_eq(lp_codec_ibp_invariance(&invariance, 8, 1, table, 0, NULL, NULL), 0);
    cr_assert_eq(invariance.row[0].saved_share, 0);
}

/* Any allocation may fail: a code, nothing leaked, and a retry works. */
Test(ibp_learn, invariance_survives_failing_allocations)
{
    struct lp_ibp_invariance invariance;
    uint32_t table[64] = {0};
    struct fault_loop loop;

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = lp_codec_ibp_invariance(&invariance, 4, 8, table, 8, NULL, NULL);

        cr_assert_eq(rc, fault_loop_hit(&loop) ? LP_ENOMEM : 0);
    }
    cr_assert_gt(loop.nth, 1);
    ASSERT_NO_LEAK();
}
