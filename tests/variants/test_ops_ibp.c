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
#define BYTES_MAX (8u * WORDS_MAX)

struct bench_ibp {
    const struct lp_codec_ops *tier[LP_CODEC_TIERS_MAX];
    int n_tiers;
    struct fence src, coded, dst;
    uint8_t want[BYTES_MAX + LP_CODEC_SLACK_BYTES];
    uint8_t words[BYTES_MAX];
};

static struct bench_ibp bench;

static void setup(void)
{
    bench.n_tiers = lp_codec_ops_tiers(bench.tier);
    fence_init(&bench.src, 2 * BYTES_MAX);
    fence_init(&bench.coded, 2 * BYTES_MAX);
    fence_init(&bench.dst, 2 * BYTES_MAX);
}

static void teardown(void)
{
    fence_fini(&bench.src);
    fence_fini(&bench.coded);
    fence_fini(&bench.dst);
}

TestSuite(ops_ibp, .init = setup, .fini = teardown);

/* Masks of every density, words that match in most places. */
static void make_masks(struct lp_ibp *ibp, uint32_t word_bytes, uint32_t n_words, uint64_t *state)
{
    uint64_t mask[WORDS_MAX], value[WORDS_MAX];
    const uint64_t ones = word_bytes == 4 ? UINT32_MAX : UINT64_MAX;

    for (uint32_t j = 0; j < n_words; j++) {
        const uint64_t density = samples_next(state) % 4;

        mask[j] = samples_next(state);
        mask[j] = density == 0 ? 0 : density == 1 ? ~UINT64_C(0) : mask[j];
        mask[j] = (density == 3 ? mask[j] | samples_next(state) : mask[j]) & ones;
        value[j] = samples_next(state) & mask[j];
        uint64_t word = (samples_next(state) & ~mask[j]) | value[j];

        if (samples_next(state) % 8 == 0)
            word = samples_next(state);
        memcpy(bench.words + (size_t)j * word_bytes, &word, word_bytes);
    }
    cr_assert_eq(lp_codec_ibp_init(ibp, word_bytes, n_words, NULL), 0);
    cr_assert_eq(lp_codec_ibp_set_masks(ibp, mask, value, NULL), 0);
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
Test(ops_ibp, tiers_agree)
{
    uint64_t state = 7;

    for (uint32_t n = 1; n <= WORDS_MAX; n = n < 300 ? n + 1 : n + 97) {
        for (uint32_t word_bytes = 4; word_bytes <= 8; word_bytes += 4) {
            struct lp_ibp ibp;
            uint32_t size;

            make_masks(&ibp, word_bytes, n, &state);
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
