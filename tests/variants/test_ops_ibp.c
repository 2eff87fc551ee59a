/* SPDX-License-Identifier: Apache-2.0 */
/* As test_ops.c, for the records of codec ibp. */
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ops.h"
#include "tests/lib/fence.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <string.h>

#define WORDS_MAX 600u
#define GROUPS 5u
#define BYTES_MAX (8u * WORDS_MAX)
#define RECORDS_MAX 600u

struct bench_ibp {
    const struct lp_codec_ops *tier[LP_CODEC_TIERS_MAX];
    int n_tiers;
    struct fence src, coded, dst, records;
    uint8_t want[BYTES_MAX + LP_CODEC_SLACK_BYTES];
    uint8_t words[BYTES_MAX];
};

static struct bench_ibp bench;
static uint8_t records[RECORDS_MAX * 600]; /* to learn masks from */

static void setup(void)
{
    bench.n_tiers = lp_codec_ops_tiers(bench.tier);
    fence_init(&bench.src, 2 * BYTES_MAX);
    fence_init(&bench.coded, 2 * BYTES_MAX);
    fence_init(&bench.dst, 2 * BYTES_MAX);
    fence_init(&bench.records, sizeof(records));
}

static void teardown(void)
{
    fence_fini(&bench.src);
    fence_fini(&bench.coded);
    fence_fini(&bench.dst);
    fence_fini(&bench.records);
}

TestSuite(ops_ibp, .init = setup, .fini = teardown);

/* Masks of every density in each set. */
static void make_masks(struct lp_ibp *ibp, uint32_t word_bytes, uint32_t n_words, uint32_t n_groups,
                       uint64_t *state)
{
    static uint64_t mask[GROUPS * WORDS_MAX], value[GROUPS * WORDS_MAX];
    const uint64_t ones = word_bytes == 4 ? UINT32_MAX : UINT64_MAX;

    for (uint32_t j = 0; j < LP_MAX(n_groups, 1) * n_words; j++) {
        const uint64_t density = samples_next(state) % 4;

        mask[j] = samples_next(state);
        mask[j] = density == 0 ? 0 : density == 1 ? ~UINT64_C(0) : mask[j];
        mask[j] = (density == 3 ? mask[j] | samples_next(state) : mask[j]) & ones;
        value[j] = samples_next(state) & mask[j];
    }
    cr_assert_eq(lp_codec_ibp_init(ibp, word_bytes, n_words, n_groups, NULL), 0);
    cr_assert_eq(lp_codec_ibp_set_masks(ibp, mask, value, NULL), 0);
}

/* Words that match one of the sets in most places. */
static void make_words(const struct lp_ibp *ibp, uint64_t *state)
{
    const struct lp_ibp_masks *const set =
        &ibp->set[samples_next(state) % LP_MAX(ibp->n_groups, 1)];

    for (uint32_t j = 0; j < ibp->n_words; j++) {
        uint64_t word = (samples_next(state) & ~set->mask[j]) | set->value[j];

        if (samples_next(state) % 8 == 0)
            word = samples_next(state);
        memcpy(bench.words + (size_t)j * ibp->word_bytes, &word, ibp->word_bytes);
    }
}

static int decode(int tier, const struct lp_ibp *ibp, uint32_t stored, uint32_t align,
                  uint32_t n_words, uint32_t offset, uint8_t **ret_dst)
{
    const uint32_t raw = n_words * ibp->word_bytes;
    uint8_t *const src = fence_place(&bench.src, stored + LP_CODEC_SLACK_BYTES, offset);
    int rc;

    memcpy(src, bench.want, stored);
    *ret_dst = fence_place(&bench.dst, raw, offset);
    rc = bench.tier[tier]->ibp_decode(ibp, src, stored, align, *ret_dst, n_words);
    fence_check(&bench.dst, raw, bench.tier[tier]->tier);
    return rc;
}

/* Encode by every tier; scalar's record stays in bench.want. Returns its size. */
static uint32_t check_encode(const struct lp_ibp *ibp, uint32_t n_words, uint32_t offset)
{
    const uint32_t raw = n_words * ibp->word_bytes;
    uint32_t size = 0;

    memset(bench.want, 0, sizeof(bench.want));
    for (int tier = 0; tier < bench.n_tiers; tier++) {
        uint8_t *const src = fence_place(&bench.src, raw, offset);
        uint8_t *const dst = fence_place(&bench.coded, raw + LP_CODEC_SLACK_BYTES, offset);
        uint32_t got;

        memcpy(src, bench.words, raw);
        got = bench.tier[tier]->ibp_encode(ibp, src, n_words, dst, raw);
        fence_check(&bench.coded, raw + LP_CODEC_SLACK_BYTES, bench.tier[tier]->tier);
        if (tier == 0) {
            size = got;
            memcpy(bench.want, dst, size);
        }
        cr_assert_eq(got, size, "%s: %u words of %u", bench.tier[tier]->tier, n_words,
                     ibp->word_bytes);
        cr_assert_arr_eq(dst, bench.want, size);
    }
    return size;
}

static void check_decode(const struct lp_ibp *ibp, uint32_t size, uint32_t n_words, uint32_t offset)
{
    uint8_t *dst;

    for (int tier = 0; size > 0 && tier < bench.n_tiers; tier++) {
        cr_assert_eq(
            decode(tier, ibp, (uint32_t)lp_round_up_u64(size, 4), 4, n_words, offset, &dst), 0);
        cr_assert_arr_eq(dst, bench.words, n_words * ibp->word_bytes);
    }
}

static void check_damage(const struct lp_ibp *ibp, uint32_t size, uint32_t n_words, uint64_t *state)
{
    const uint64_t random = samples_next(state);
    uint32_t stored = (uint32_t)lp_round_up_u64(size, 4);
    static uint8_t values[BYTES_MAX];
    uint8_t *dst;
    int want;

    if (size == 0)
        return;
    if (random % 4 == 0)
        stored = (uint32_t)(random >> 8) % (stored + 1);
    else
        bench.want[(random >> 8) % stored] ^= (uint8_t)(1u << (random >> 40) % 8);
    want = decode(0, ibp, stored, 4, n_words, 0, &dst);
    memcpy(values, dst, n_words * ibp->word_bytes);
    for (int tier = 1; tier < bench.n_tiers; tier++) {
        cr_assert_eq(decode(tier, ibp, stored, 4, n_words, 0, &dst), want, "%s: %u words",
                     bench.tier[tier]->tier, n_words);
        cr_assert(want != 0 || memcmp(dst, values, n_words * ibp->word_bytes) == 0);
    }
}

/* Both word sizes, lengths 1 to 300 and some more, damaged and not. */
static void check_tiers(uint32_t n_groups)
{
    uint64_t state = 7;

    for (uint32_t n = 1; n <= WORDS_MAX; n = n < 300 ? n + 1 : n + 97) {
        for (uint32_t word_bytes = 4; word_bytes <= 8; word_bytes += 4) {
            struct lp_ibp ibp;
            uint32_t size;

            make_masks(&ibp, word_bytes, n, n_groups, &state);
            make_words(&ibp, &state);
            size = check_encode(&ibp, n, n % 16);
            check_decode(&ibp, size, n, n % 16);
            for (uint32_t round = 0; round < 20; round++) {
                size = check_encode(&ibp, n, 0);
                check_damage(&ibp, size, n, &state);
            }
            lp_codec_ibp_fini(&ibp);
        }
    }
}

Test(ops_ibp, tiers_agree)
{
    check_tiers(0);
}

Test(ops_ibp, tiers_agree_on_groups)
{
    check_tiers(GROUPS);
}

/* --- the search for masks -------------------------------------------------------------------- */

/* Records with something to find: some bits mostly alike, some random. */
static void make_records(uint64_t n_records, uint32_t record_bytes, uint64_t *state)
{
    for (uint64_t i = 0; i < n_records * record_bytes; i++)
        records[i] = (uint8_t)(samples_next(state) & (i % 3 == 0 ? 0xff : samples_next(state)) &
                               (i % 4 < 2 ? 0xff : samples_next(state)));
}

static void check_count(uint64_t n_records, uint32_t record_bytes, uint32_t offset)
{
    static uint64_t want[8 * 600], got[8 * 600];
    const size_t bytes = n_records * record_bytes,
                 scratch_bytes = lp_ibp_count_scratch(record_bytes);
    static _Alignas(64) uint8_t scratch[64 * 12 * 16];

    cr_assert_leq(scratch_bytes, sizeof(scratch));
    memset(want, 0, sizeof(want));
    for (size_t i = 0; i < bytes; i++)
        for (uint32_t b = 0; b < 8; b++)
            want[8 * (i % record_bytes) + b] += records[i] >> b & 1u;
    for (int tier = 0; tier < bench.n_tiers; tier++) {
        uint8_t *const src = fence_place(&bench.records, bytes, offset);

        memcpy(src, records, bytes);
        memset(got, 0, sizeof(got));
        bench.tier[tier]->ibp_count(src, n_records, record_bytes, scratch, got);
        cr_assert_arr_eq(got, want, sizeof(want), "%s: %u bytes", bench.tier[tier]->tier,
                         record_bytes);
        for (size_t i = 0; i < scratch_bytes; i++)
            cr_assert_eq(scratch[i], 0);
    }
}

/* Record sizes around the blocks that are counted at once, records around the eights. */
Test(ops_ibp, count_tiers_agree)
{
    uint64_t state = 11;

    for (uint32_t record_bytes = 1; record_bytes <= 300; record_bytes++) {
        const uint64_t n_records = 1 + record_bytes % 37;

        make_records(n_records, record_bytes, &state);
        check_count(n_records, record_bytes, record_bytes % 16);
    }
    make_records(RECORDS_MAX, 592, &state);
    check_count(RECORDS_MAX, 592, 0);
}

static void check_score(uint32_t s, uint32_t n_words, uint64_t n_records, uint64_t *state)
{
    static _Alignas(64) uint8_t lanes[128 * 3 * LP_IBP_LANES * 8];
    const uint32_t record_bytes = s * n_words;
    const struct lp_ibp_score score = {.word_bytes = s,
                                       .n_words = n_words,
                                       .align_bytes = n_words % 2 == 0 ? 4 : 32,
                                       .raw_length = (record_bytes + 31) & ~31u,
                                       .head_bytes = 8,
                                       .lanes = lanes};
    struct lp_ibp_totals want, got;

    for (uint32_t at = 0; at < n_words * 3 * LP_IBP_LANES; at++) {
        const uint32_t part = at / LP_IBP_LANES % 3;
        const uint64_t mask = samples_next(state) & samples_next(state) & samples_next(state);
        const uint64_t word = part == 2 ? samples_next(state) % (8 * s + 1) : part == 0 ? mask : 0;

        memcpy(lanes + (size_t)at * s, &word, s);
    }
    for (int tier = 0; tier < bench.n_tiers; tier++) {
        uint8_t *const src = fence_place(&bench.records, n_records * record_bytes, n_words % 16);

        memcpy(src, records, n_records * record_bytes);
        bench.tier[tier]->ibp_score(&score, src, n_records, tier == 0 ? &want : &got);
        cr_assert(tier == 0 || memcmp(&got, &want, sizeof(want)) == 0, "%s: %u words of %u",
                  bench.tier[tier]->tier, n_words, s);
    }
}

Test(ops_ibp, score_tiers_agree)
{
    uint64_t state = 12;

    for (uint32_t s = 4; s <= 8; s += 4) {
        for (uint32_t n_words = 1; n_words <= 70; n_words++) {
            make_records(20, s * n_words, &state);
            check_score(s, n_words, 1 + n_words % 20, &state);
        }
    }
}

/* Records that have a position's masks, and those that these save together. */
static uint64_t worth(const struct lp_ibp_column *column, const struct lp_ibp_pick *pick)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < column->n; i++) {
        uint64_t word = 0;

        memcpy(&word, column->first + (size_t)i * column->pitch, column->word_bytes);
        n += (word & pick->mask) == pick->value;
    }
    return n * (uint64_t)__builtin_popcountll(pick->mask);
}

static void check_pick(uint32_t s, uint32_t n, uint64_t *state)
{
    const uint64_t mask = s == 4 ? samples_next(state) & UINT32_MAX : samples_next(state);
    const struct lp_ibp_pick given = {mask, samples_next(state) & mask};
    struct lp_ibp_pick want = given;

    for (int tier = 0; tier < bench.n_tiers; tier++) {
        uint8_t *const src = fence_place(&bench.records, (size_t)n * s, n % 16);
        const struct lp_ibp_column column = {src, s, n, s};
        struct lp_ibp_pick got = given;

        memcpy(src, records, (size_t)n * s);
        bench.tier[tier]->ibp_pick(&column, &got);
        if (tier == 0)
            want = got;
        cr_assert_eq(got.value & ~got.mask, 0);
        cr_assert(s == 8 || got.mask <= UINT32_MAX);
        cr_assert_geq(worth(&column, &got), worth(&column, &given));
        cr_assert(got.mask == want.mask && got.value == want.value, "%s: %u words of %u",
                  bench.tier[tier]->tier, n, s);
    }
}

Test(ops_ibp, pick_tiers_agree)
{
    uint64_t state = 13;

    for (uint32_t s = 4; s <= 8; s += 4) {
        for (uint32_t n = 1; n <= LP_IBP_PICK_RECORDS; n = n < 70 ? n + 1 : n + 13) {
            make_records(n, s, &state);
            check_pick(s, n, &state);
        }
        make_records(LP_IBP_PICK_RECORDS, s, &state);
        check_pick(s, LP_IBP_PICK_RECORDS, &state);
    }
}

/* Words whose bits end behind the record, with others behind them that have none: nothing that
 * follows may bring the position back. */
Test(ops_ibp, words_without_bits_do_not_hide_the_end)
{
    for (uint32_t size = 4; size <= 8; size += 4) {
        const uint32_t n_words = 64 / size, head = size; /* one word of participation bits */
        static const uint64_t value[16];
        struct lp_ibp ibp;
        uint64_t mask[16];

        for (uint32_t j = 0; j < n_words; j++)
            mask[j] = j < n_words / 2 ? 0 : UINT64_MAX >> (64 - 8 * size);
        cr_assert_eq(lp_codec_ibp_init(&ibp, size, n_words, 0, NULL), 0);
        cr_assert_eq(lp_codec_ibp_set_masks(&ibp, mask, value, NULL), 0);
        for (uint32_t bytes = 0; bytes <= 32; bytes += size) {
            uint8_t *const src = fence_place(&bench.coded, head + bytes + LP_CODEC_SLACK_BYTES, 0);

            memset(src, 0, head + bytes + LP_CODEC_SLACK_BYTES);
            memset(src, 0xff, n_words / 8);
            for (int t = 0; t < bench.n_tiers; t++)
                cr_assert_eq(
                    bench.tier[t]->ibp_decode(&ibp, src, head + bytes, 4, bench.words, n_words),
                    bytes == 32 ? 0 : LP_ECORRUPT, "%s, %u of %u bytes", bench.tier[t]->tier,
                    (unsigned)bytes, (unsigned)size);
        }
        lp_codec_ibp_fini(&ibp);
    }
}
