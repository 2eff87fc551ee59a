/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of groups of records for ibp, against what records really take. */
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ibp_starts.h"
#include "codec/ops.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <string.h>

#define RECORDS 1500u
#define WORDS 16u

static uint32_t table[RECORDS * WORDS];
static const struct lp_ibp_params usual = {.word_bytes = 4, .record_bytes = 4 * WORDS};

/* Rows of n_kinds kinds, in no order: of each column half the bits are the kind's own. */
static void make_table(uint32_t n_kinds)
{
    uint64_t state = 3;

    for (uint32_t r = 0; r < RECORDS; r++) {
        const uint32_t kind = (uint32_t)(samples_next(&state) % n_kinds);

        for (uint32_t j = 0; j < WORDS; j++) {
            uint64_t own = (kind + 1) * 1000 + j;

            table[r * WORDS + j] = (uint32_t)(samples_next(&own) & 0xffff0000) |
                                   (uint32_t)(samples_next(&state) & 0xffff);
        }
    }
}

/* What records take is what encoding them says. */
static void check_taken(const struct lp_ibp *ibp, const struct lp_ibp_trial *taken,
                        uint64_t n_records)
{
    uint64_t stored = 0;

    for (uint64_t r = 0; r < n_records; r++) {
        uint8_t packed[8 * WORDS + LP_CODEC_SLACK_BYTES];
        const uint32_t size =
            lp_codec_ops()->ibp_encode(ibp, table + r * WORDS, WORDS, packed, 4 * WORDS);

        cr_assert(size == 0 || size == lp_codec_ibp_size(ibp, table + r * WORDS, WORDS));
        stored += size == 0 ? 4 * WORDS : size;
    }
    cr_assert_eq(taken->stored_bytes, stored);
    cr_assert_eq(taken->payload_bytes, stored);
}

/* Each kind gets its group; twice the same, for nothing is random. */
Test(ibp_groups, kinds_of_records_are_found)
{
    for (uint32_t n_kinds = 2; n_kinds <= 8; n_kinds *= 2) {
        struct lp_ibp_trial taken, taken_again;
        struct lp_ibp ibp, again;

        make_table(n_kinds);
        cr_assert_eq(lp_codec_ibp_learn_groups(&ibp, &usual, RECORDS, table, RECORDS, &taken, NULL),
                     0);
        cr_assert_eq(ibp.n_groups, n_kinds);
        cr_assert_eq(taken.stored_bytes, RECORDS * (4 + WORDS * 2));
        cr_assert_eq(taken.mask_bits, n_kinds * WORDS * 16);
        check_taken(&ibp, &taken, RECORDS);
        cr_assert_eq(
            lp_codec_ibp_learn_groups(&again, &usual, RECORDS, table, RECORDS, &taken_again, NULL),
            0);
        cr_assert_eq(again.n_groups, n_kinds);
        cr_assert_arr_eq(again.set->mask, ibp.set->mask, n_kinds * WORDS * sizeof(uint64_t));
        cr_assert_arr_eq(again.set->value, ibp.set->value, n_kinds * WORDS * sizeof(uint64_t));
        cr_assert_arr_eq(&taken_again, &taken, sizeof(taken));
        lp_codec_ibp_fini(&ibp);
        lp_codec_ibp_fini(&again);
    }
    ASSERT_NO_LEAK();
}

/* Nobody wants groups of the published choice or of a threshold; few records and equal ones have
 * none, and random ones have nothing at all. */
Test(ibp_groups, one_set_where_groups_do_not_pay)
{
    struct lp_ibp_params params = usual;
    struct lp_ibp_trial taken;
    struct lp_ibp ibp;

    make_table(4);
    params.exact = true;
    cr_assert_eq(lp_codec_ibp_learn_groups(&ibp, &params, RECORDS, table, RECORDS, &taken, NULL),
                 0);
    cr_assert_eq(ibp.n_groups, 0);
    lp_codec_ibp_fini(&ibp);
    params.exact = false;
    params.threshold = 0.9f;
    cr_assert_eq(lp_codec_ibp_learn_groups(&ibp, &params, RECORDS, table, RECORDS, &taken, NULL),
                 0);
    cr_assert_eq(ibp.n_groups, 0);
    lp_codec_ibp_fini(&ibp);
    cr_assert_eq(lp_codec_ibp_learn_groups(&ibp, &usual, RECORDS, table, 1023, &taken, NULL), 0);
    cr_assert_eq(ibp.n_groups, 0);
    check_taken(&ibp, &taken, 1023);
    lp_codec_ibp_fini(&ibp);

    make_table(1);
    cr_assert_eq(lp_codec_ibp_learn_groups(&ibp, &usual, RECORDS, table, RECORDS, &taken, NULL), 0);
    cr_assert_eq(ibp.n_groups, 0);
    check_taken(&ibp, &taken, RECORDS);
    lp_codec_ibp_fini(&ibp);

    samples_fill(SAMPLES_RANDOM, LP_DTYPE_F32, RECORDS * WORDS, 8, table);
    cr_assert_eq(lp_codec_ibp_learn_groups(&ibp, &usual, RECORDS, table, RECORDS, &taken, NULL), 0);
    cr_assert(ibp.n_groups == 0 && taken.saved_bits == 0);
    lp_codec_ibp_fini(&ibp);
}

/* Any allocation may fail. */
Test(ibp_groups, learning_survives_failing_allocations)
{
    struct lp_ibp_trial taken;
    struct fault_loop loop;
    struct lp_ibp ibp;

    make_table(2);
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc =
            lp_codec_ibp_learn_groups(&ibp, &usual, RECORDS, table, RECORDS, &taken, NULL);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            continue;
        }
        cr_assert_eq(rc, 0);
        lp_codec_ibp_fini(&ibp);
    }
    cr_assert_gt(loop.nth, 10);
    ASSERT_NO_LEAK();
}

/* Records of two kinds, a few of them of the other: each kind has a start. */
Test(ibp_groups, starts_are_spread)
{
    static struct lp_ibp_starts starts;
    const uint8_t *records[64];
    uint8_t bytes[64][12];

    for (uint32_t i = 0; i < 64; i++) {
        memset(bytes[i], i % 8 == 6 ? 0xf0 : 0, sizeof(bytes[i]));
        bytes[i][i % 8] ^= 1;
        records[i] = bytes[i];
    }
    lp_codec_ibp_find_starts(&starts, records, 64, sizeof(bytes[0]));
    for (uint32_t i = 0; i < 64; i++)
        cr_assert_eq(lp_codec_ibp_nearest_start(&starts, i, 2), i % 8 == 6);
}
