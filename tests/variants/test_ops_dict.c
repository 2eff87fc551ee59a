/* SPDX-License-Identifier: Apache-2.0 */
/* As test_ops.c, for the records of codec dict. */
#include "base/bytes.h"
#include "codec/dict.h"
#include "codec/ops.h"
#include "tests/lib/fence.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <string.h>

#define BYTES_MAX LP_FORMAT_RECORD_BYTES_MAX
#define ROOM_BYTES (BYTES_MAX + 4096u)
#define VALUES_MAX 1275u

struct bench_dict {
    const struct lp_codec_ops *tier[LP_CODEC_TIERS_MAX];
    int n_tiers;
    struct fence src, coded, dst;
    uint8_t want[BYTES_MAX + LP_CODEC_SLACK_BYTES]; /* a record as scalar codes it */
    uint8_t elements[BYTES_MAX], values[8 * VALUES_MAX];
};

static struct bench_dict bench;

static const struct {
    uint32_t n_levels;
    uint8_t widths[LP_FORMAT_DICT_LEVELS_MAX];
} shapes[] = {{1, {1}},
              {1, {2}},
              {1, {3}},
              {1, {4}},
              {1, {5}},
              {1, {6}},
              {1, {7}},
              {1, {8}},
              {2, {6, 7}},
              {3, {6, 7, 8}},
              {2, {3, 5}},
              {2, {1, 8}},
              {4, {2, 3, 4, 6}},
              {5, {1, 1, 1, 1, 1}},
              {5, {8, 8, 8, 8, 8}},
              {5, {5, 4, 3, 2, 7}}};
#define SHAPES LP_ARRAY_LEN(shapes)

static const uint32_t sizes[] = {1, 2, 4, 8};

static void setup(void)
{
    bench.n_tiers = lp_codec_ops_tiers(bench.tier);
    fence_init(&bench.src, ROOM_BYTES);
    fence_init(&bench.coded, ROOM_BYTES);
    fence_init(&bench.dst, ROOM_BYTES);
}

static void teardown(void)
{
    fence_fini(&bench.src);
    fence_fini(&bench.coded);
    fence_fini(&bench.dst);
}

TestSuite(ops_dict, .init = setup, .fini = teardown);

/* Value number i of this kind: words of a plain row of numbers, which hash well, or words that
 * differ in a few places only, which do not. All differ. */
static uint64_t value_of(uint32_t i, uint32_t elem_bytes, uint32_t kind)
{
    if (elem_bytes == 1)
        return i;
    if (elem_bytes == 2)
        return kind % 2 == 0 ? i : (i << 5 & 0xffff) | i >> 11;
    if (elem_bytes == 4)
        return kind % 2 == 0 ? i * 0x01000193u : i << 20 | i >> 12;
    return kind % 2 == 0 ? i * UINT64_C(0x9e3779b97f4a7c15) : (uint64_t)i << 32 | i;
}

/* A shape with as many values as it takes, or some fewer. False: the size has too few. */
static bool make_dict(struct lp_dict *ret_dict, uint32_t elem_bytes, size_t shape, uint32_t turn)
{
    uint32_t n_symbols = 0, before = 0, n_values;

    for (uint32_t k = 0; k < shapes[shape].n_levels; k++) {
        before = n_symbols;
        n_symbols += (1u << shapes[shape].widths[k]) - 1;
    }
    n_values = elem_bytes == 1 ? LP_MIN(n_symbols, 256) : n_symbols;
    if (n_values <= before)
        return false;
    if (turn % 3 != 0)
        n_values -= turn % (n_values - before);
    for (uint32_t i = 0; i < n_values; i++)
        lp_store_uint(bench.values + (size_t)i * elem_bytes, elem_bytes,
                      value_of(i, elem_bytes, turn));
    cr_assert_eq(lp_codec_dict_init(ret_dict, elem_bytes, shapes[shape].n_levels,
                                    shapes[shape].widths, n_values, bench.values, NULL),
                 0);
    return true;
}

/* Elements that are mostly first values, with some of all others and some without a symbol; turn
 * chooses how many of each. */
static void fill(const struct lp_dict *dict, uint32_t n, uint32_t turn)
{
    uint64_t state = turn;

    for (uint32_t i = 0; i < n; i++) {
        const uint64_t random = samples_next(&state);
        uint32_t range = dict->n_values;

        if (random % 8 < turn % 8)
            range = 1 + (uint32_t)(random >> 8) % LP_MIN(range, 40);
        if (turn % 4 != 0 && random % 64 < turn % 16)
            range += 300;
        lp_store_uint(bench.elements + (size_t)i * dict->elem_bytes, dict->elem_bytes,
                      value_of((uint32_t)(random >> 32) % range, dict->elem_bytes, turn));
    }
}

/* Encode at some offset from the fence; returns the size, the record at *ret_coded. */
static uint32_t encode(int tier, const struct lp_dict *dict, uint32_t n, uint32_t offset,
                       uint32_t limit, uint8_t **ret_coded)
{
    const uint32_t raw = n * dict->elem_bytes, room = raw + LP_CODEC_SLACK_BYTES;
    uint8_t *const src = fence_place(&bench.src, raw, offset);
    uint32_t size;

    memcpy(src, bench.elements, raw);
    *ret_coded = fence_place(&bench.coded, room, offset);
    size = bench.tier[tier]->dict_encode(dict, src, n, *ret_coded, limit);
    fence_check(&bench.coded, room, bench.tier[tier]->tier);
    return size;
}

/* Decode what is in bench.want; returns the verdict, the elements at *ret_dst. */
static int decode(int tier, const struct lp_dict *dict, uint32_t stored, uint32_t align, uint32_t n,
                  uint32_t offset, uint8_t **ret_dst)
{
    const uint32_t raw = n * dict->elem_bytes;
    uint8_t *const src =
        fence_place(&bench.src, stored + LP_CODEC_SLACK_BYTES, offset % LP_CODEC_SLACK_BYTES);
    int rc;

    memcpy(src, bench.want, stored);
    *ret_dst = fence_place(&bench.dst, raw, offset);
    rc = bench.tier[tier]->dict_decode(dict, src, stored, align, *ret_dst, n);
    fence_check(&bench.dst, raw, bench.tier[tier]->tier);
    return rc;
}

/* bench.elements through every tier; scalar's record stays in bench.want. Returns its size. */
static uint32_t check_record(const struct lp_dict *dict, uint32_t n, uint32_t offset)
{
    const uint32_t raw = n * dict->elem_bytes;
    uint8_t *out;
    const uint32_t size = encode(0, dict, n, offset, raw, &out);

    memset(bench.want, 0, LP_MIN(sizeof(bench.want), (size_t)raw + LP_CODEC_SLACK_BYTES));
    memcpy(bench.want, out, size);
    for (int tier = 0; tier < bench.n_tiers; tier++) {
        const char *const name = bench.tier[tier]->tier;

        cr_assert_eq(encode(tier, dict, n, offset, raw, &out), size, "%s: %u of %u bytes", name, n,
                     dict->elem_bytes);
        cr_assert(memcmp(out, bench.want, size) == 0, "%s: %u of %u bytes", name, n,
                  dict->elem_bytes);
        if (size == 0)
            continue;
        cr_assert_eq(encode(tier, dict, n, offset, size, &out), 0, "%s ignores the limit", name);
        cr_assert_eq(decode(tier, dict, (uint32_t)lp_round_up_u64(size, 4), 4, n, offset, &out), 0,
                     "%s refuses %u of %u bytes", name, n, dict->elem_bytes);
        cr_assert(memcmp(out, bench.elements, raw) == 0, "%s: %u of %u bytes", name, n,
                  dict->elem_bytes);
        /* As a part of another record: any end up to less than an alignment. */
        cr_assert_eq(decode(tier, dict, size, 32, n, offset, &out), 0, "%s refuses a bare record",
                     name);
        cr_assert_eq(decode(tier, dict, size + 3, 3, n, offset, &out), LP_ECORRUPT, "%s", name);
    }
    return size;
}

/* A few of the shapes for each length, so that over neighbouring lengths all have their turn. */
static void check_length(uint32_t elem_bytes, uint32_t n)
{
    for (uint32_t i = 0; i < 5; i++) {
        const uint32_t turn = 5 * n + i;
        struct lp_dict dict;

        if (!make_dict(&dict, elem_bytes, turn % SHAPES, turn))
            continue;
        fill(&dict, n, turn);
        (void)check_record(&dict, n, turn % 16);
        lp_codec_dict_fini(&dict);
    }
}

/* All lengths up to a few blocks, every size of elements, offsets 0 to 15. */
Test(ops_dict, tiers_agree_on_short_records)
{
    for (size_t s = 0; s < LP_ARRAY_LEN(sizes); s++)
        for (uint32_t n = 0; n <= 300; n++)
            check_length(sizes[s], n);
    ASSERT_NO_LEAK();
}

/* Powers of two and their neighbours, and the longest records that the format has. */
Test(ops_dict, tiers_agree_on_longer_records)
{
    for (size_t s = 0; s < LP_ARRAY_LEN(sizes); s++) {
        for (uint32_t n = 512; n <= 4096; n *= 2)
            for (uint32_t near = n - 1; near <= n + 1; near++)
                check_length(sizes[s], near);
        check_length(sizes[s], 16384 / sizes[s] + 70);
        check_length(sizes[s], BYTES_MAX / sizes[s]);
    }
    ASSERT_NO_LEAK();
}

/* One bit or the length wrong: each tier refuses what scalar refuses, and else gives the same. */
static void check_damage(const struct lp_dict *dict, uint32_t n, uint32_t size, uint64_t *state)
{
    static uint8_t values[BYTES_MAX];
    const uint64_t random = samples_next(state);
    uint32_t stored = (uint32_t)lp_round_up_u64(size, 4);
    uint8_t *dst;
    int want;

    if (random % 8 == 0)
        stored = (uint32_t)(random >> 8) % (stored + 1);
    else
        bench.want[(random >> 8) % stored] ^= (uint8_t)(1u << (random >> 40) % 8);
    want = decode(0, dict, stored, 4, n, 0, &dst);
    memcpy(values, dst, n * dict->elem_bytes);
    for (int tier = 1; tier < bench.n_tiers; tier++) {
        cr_assert_eq(decode(tier, dict, stored, 4, n, 0, &dst), want, "%s: %u of %u bytes",
                     bench.tier[tier]->tier, n, dict->elem_bytes);
        cr_assert(want != 0 || memcmp(dst, values, n * dict->elem_bytes) == 0, "%s: %u of %u",
                  bench.tier[tier]->tier, n, dict->elem_bytes);
    }
}

Test(ops_dict, tiers_refuse_the_same_records)
{
    uint64_t state = 3;

    for (uint32_t turn = 0; turn < 1200; turn++) {
        const uint32_t n = 1 + (uint32_t)(samples_next(&state) % 400);
        struct lp_dict dict;

        if (!make_dict(&dict, sizes[turn % 4], turn / 4 % SHAPES, turn))
            continue;
        fill(&dict, n, turn);
        for (uint32_t round = 0; round < 12; round++) {
            const uint32_t size = check_record(&dict, n, 0);

            if (size > 0)
                check_damage(&dict, n, size, &state);
        }
        lp_codec_dict_fini(&dict);
    }
    ASSERT_NO_LEAK();
}
