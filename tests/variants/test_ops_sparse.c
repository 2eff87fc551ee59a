/* SPDX-License-Identifier: Apache-2.0 */
/* As test_ops.c, for codec sparse: its two functions alone, then whole records. */
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "codec/sparse.h"
#include "codec/sparse_places.h"
#include "tests/lib/counts_data.h"
#include "tests/lib/fence.h"
#include "tests/lib/samples.h"
#include "tests/variants/lanes.h"

#include <criterion/criterion.h>

#include <string.h>

#define BYTES_MAX LP_FORMAT_RECORD_BYTES_MAX
#define ROOM_BYTES (BYTES_MAX + 4096u)

/* Every size of elements, floats and others. */
static const uint32_t dtypes[] = {LP_DTYPE_U8,  LP_DTYPE_F8_E5M2, LP_DTYPE_BF16, LP_DTYPE_U16,
                                  LP_DTYPE_F32, LP_DTYPE_I32,     LP_DTYPE_F64,  LP_DTYPE_I64};

/* Non-zero elements in 10,000; ONE_ELEMENT: one of them. */
#define ONE_ELEMENT UINT32_MAX
static const uint32_t densities[] = {0, ONE_ELEMENT, 100, 1000, 2500, 5000, 10000};

struct bench_sparse {
    const struct lp_codec_ops *tier[LP_CODEC_TIERS_MAX]; /* tier[0] is scalar */
    int n_tiers;
    struct fence src, coded, dst, map;
    uint8_t want[BYTES_MAX + LP_CODEC_SLACK_BYTES]; /* a record, or values, as scalar makes them */
    uint64_t want_map[LP_SPARSE_MAP_WORDS];
};

static struct bench_sparse bench;
static uint8_t elements[BYTES_MAX];

static void setup(void)
{
    bench.n_tiers = lp_codec_ops_tiers(bench.tier);
    fence_init(&bench.src, ROOM_BYTES);
    fence_init(&bench.coded, ROOM_BYTES);
    fence_init(&bench.dst, ROOM_BYTES);
    fence_init(&bench.map, sizeof(bench.want_map) + 64);
}

static void teardown(void)
{
    fence_fini(&bench.src);
    fence_fini(&bench.coded);
    fence_fini(&bench.dst);
    fence_fini(&bench.map);
}

TestSuite(ops_sparse, .init = setup, .fini = teardown);

/* Elements of a bell curve and zeros; now and then one is -0.0, or the least that is not zero. */
static void make_elements(uint32_t dtype, uint32_t n, uint32_t density, uint64_t *state)
{
    const uint32_t size = lp_codec_dtype_info(dtype)->bytes;
    const uint32_t only = (uint32_t)(samples_next(state) % LP_MAX(n, 1));

    samples_fill(SAMPLES_NORMAL, dtype, n, *state, elements);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *const element = elements + (size_t)i * size;
        const uint64_t random = samples_next(state);
        const bool zero = density == ONE_ELEMENT ? i != only : random % 10000 >= density;

        if (zero)
            memset(element, 0, size);
        if (!zero && (random >> 40) % 32 == 0)
            element[size - 1] = 0x80;
        if (!zero && (random >> 40) % 32 == 1)
            element[0] |= 1;
    }
}

static uint8_t *copy_into(struct fence *fence, const void *bytes, size_t n, size_t room,
                          uint32_t offset)
{
    uint8_t *const copy = fence_place(fence, room, offset);

    memcpy(copy, bytes, n);
    return copy;
}

/* find and spread by one tier against scalar's map and values. */
static void check_pieces(int tier, uint32_t size, uint32_t n, uint32_t m, uint32_t offset)
{
    const struct lp_codec_ops *const ops = bench.tier[tier];
    const size_t map_bytes = lp_sparse_map_words(n) * sizeof(uint64_t);
    const size_t room = (size_t)n * size + LP_CODEC_SLACK_BYTES;
    uint8_t *const src = copy_into(&bench.src, elements, n * size, n * size, offset);
    uint64_t *const map = (uint64_t *)(void *)fence_place(&bench.map, map_bytes, 8 * (offset % 4));
    uint8_t *values = fence_place(&bench.coded, room, offset), *dst;

    cr_assert_eq(ops->sparse_find(size, src, n, map, values), m, "%s: n %u", ops->tier, n);
    fence_check(&bench.coded, room, ops->tier);
    fence_check(&bench.map, map_bytes, ops->tier);
    cr_assert_arr_eq(map, bench.want_map, map_bytes);
    cr_assert_arr_eq(values, bench.want, m * size);

    values = copy_into(&bench.coded, bench.want, m * size, m * size + LP_CODEC_SLACK_BYTES, 0);
    dst = fence_place(&bench.dst, n * size, offset);
    ops->sparse_spread(size, map, n, values, dst);
    fence_check(&bench.dst, n * size, ops->tier);
    cr_assert(memcmp(dst, elements, n * size) == 0, "%s: n %u of %u bytes", ops->tier, n, size);
}

/* Encode by one tier at some offset; the record at *ret_coded. */
static uint32_t encode(int tier, const struct lp_sparse *sparse, uint32_t n, uint32_t offset,
                       uint32_t limit, uint8_t **ret_coded)
{
    const uint32_t bytes = n * sparse->elem_bytes, room = bytes + LP_CODEC_SLACK_BYTES;
    const uint8_t *const src = copy_into(&bench.src, elements, bytes, bytes, offset);
    uint32_t size;

    *ret_coded = fence_place(&bench.coded, room, offset);
    size = lp_codec_sparse_encode(sparse, bench.tier[tier], src, n, *ret_coded, limit);
    fence_check(&bench.coded, room, bench.tier[tier]->tier);
    return size;
}

/* Decode what stands in bench.want. */
static int decode(int tier, const struct lp_sparse *sparse, uint32_t stored, uint32_t align,
                  uint32_t n, uint32_t offset, uint8_t **ret_dst)
{
    const uint32_t bytes = n * sparse->elem_bytes;
    const uint8_t *const src =
        copy_into(&bench.src, bench.want, stored, stored + LP_CODEC_SLACK_BYTES, offset);
    int rc;

    *ret_dst = fence_place(&bench.dst, bytes, offset);
    rc = lp_codec_sparse_decode(sparse, bench.tier[tier], src, stored, align, *ret_dst, n, NULL);
    fence_check(&bench.dst, bytes, bench.tier[tier]->tier);
    return rc;
}

/* Scalar's record in bench.want, padded with zeros; its size, 0 when it does not shrink. */
static uint32_t make_record(const struct lp_sparse *sparse, uint32_t n, uint32_t offset)
{
    uint8_t *coded;
    const uint32_t size = encode(0, sparse, n, offset, n * sparse->elem_bytes, &coded);

    memset(bench.want, 0, sizeof(bench.want));
    memcpy(bench.want, coded, size);
    return size;
}

static void check_record(const struct lp_sparse *sparse, uint32_t n, uint32_t offset)
{
    const uint32_t bytes = n * sparse->elem_bytes, size = make_record(sparse, n, offset);
    const uint32_t align = offset % 2 == 0 ? 4 : 32;
    uint8_t *out;

    for (int tier = 0; tier < bench.n_tiers; tier++) {
        const char *const name = bench.tier[tier]->tier;

        cr_assert_eq(encode(tier, sparse, n, offset, bytes, &out), size, "%s: values %u, n %u",
                     name, sparse->values, n);
        cr_assert_arr_eq(out, bench.want, size);
        if (size == 0)
            continue;
        cr_assert_eq(encode(tier, sparse, n, offset, size, &out), 0, "%s ignores the limit", name);
        cr_assert_eq(
            decode(tier, sparse, (uint32_t)lp_round_up_u64(size, align), align, n, offset, &out), 0,
            "%s refuses: values %u, n %u", name, sparse->values, n);
        cr_assert(memcmp(out, elements, bytes) == 0, "%s: values %u, n %u", name, sparse->values,
                  n);
    }
}

/* Change bits or the length of the record in bench.want: what scalar says, all say. */
static void check_damage(const struct lp_sparse *sparse, uint32_t n, uint64_t *state)
{
    const uint32_t bytes = n * sparse->elem_bytes;
    uint32_t stored = (uint32_t)lp_round_up_u64(make_record(sparse, n, 0), 4);
    static uint8_t values[BYTES_MAX];
    const uint64_t random = samples_next(state);
    uint8_t *out;
    int want;

    if (stored == 0)
        return;
    if (random % 8 == 0)
        stored = 4 * ((uint32_t)(random >> 8) % (stored / 4 + 4));
    else
        bench.want[random % 3 == 0 ? 0 : (random >> 8) % stored] ^=
            (uint8_t)(1u << (random >> 40) % 8);
    want = decode(0, sparse, stored, 4, n, 0, &out);
    memcpy(values, out, bytes);
    for (int tier = 1; tier < bench.n_tiers; tier++) {
        cr_assert_eq(decode(tier, sparse, stored, 4, n, 0, &out), want, "%s: values %u, n %u",
                     bench.tier[tier]->tier, sparse->values, n);
        cr_assert(want != 0 || memcmp(out, values, bytes) == 0);
    }
}

/* Ways to keep the values that the format has; false where this dtype or these values have none. */
#define WAYS 4u
static bool make_way(struct lp_sparse *sparse, uint32_t way, uint32_t dtype, const uint8_t *values,
                     uint32_t m)
{
    uint64_t payload_bytes;

    memset(sparse, 0, sizeof(*sparse));
    sparse->elem_bytes = lp_codec_dtype_info(dtype)->bytes;
    switch (way) {
    case 0:
        sparse->values = LP_SPARSE_VALUES_ONE;
        if (m > 0)
            memcpy(sparse->one, values, sparse->elem_bytes);
        return true;
    case 1:
        sparse->values = LP_SPARSE_VALUES_RAW;
        return true;
    case 2:
        sparse->values = LP_SPARSE_VALUES_LANE;
        return lp_codec_dtype_info(dtype)->exponent_bits > 0 &&
               lanes_make(&sparse->lane, dtype, m % LANES_SHAPES, LP_LANE_WINDOW_TABLE, false,
                          values, m);
    default:
        sparse->values = LP_SPARSE_VALUES_DICT;
        return m > 0 && lp_codec_dict_learn(&sparse->dict, sparse->elem_bytes, values, m,
                                            &payload_bytes, NULL) == 0;
    }
}

/* Every density, every way; with values that are all the same, too. */
static void check_length(uint32_t dtype, uint32_t n, uint64_t *state)
{
    const uint32_t size = lp_codec_dtype_info(dtype)->bytes;
    static uint8_t values[BYTES_MAX + LP_CODEC_SLACK_BYTES];
    struct lp_sparse sparse;

    for (uint32_t i = 0; i < 2 * LP_ARRAY_LEN(densities); i++) {
        uint32_t m, offset = (uint32_t)(samples_next(state) % 16);

        make_elements(dtype, n, densities[i / 2], state);
        for (uint32_t j = 0; i % 2 == 1 && j < n * size; j++)
            elements[j] = elements[j / size * size] & 1;
        m = bench.tier[0]->sparse_find(size, elements, n, bench.want_map, values);
        memcpy(bench.want, values, m * size);
        for (int tier = 0; tier < bench.n_tiers; tier++)
            check_pieces(tier, size, n, m, offset);
        for (uint32_t way = 0; way < WAYS; way++) {
            if (!make_way(&sparse, way, dtype, values, m))
                continue;
            check_record(&sparse, n, offset);
            for (uint32_t round = 0; round < 3; round++)
                check_damage(&sparse, n, state);
            lp_codec_sparse_fini(&sparse);
        }
    }
}

Test(ops_sparse, tiers_agree_on_short_records)
{
    uint64_t state = 1;

    for (uint32_t d = 0; d < LP_ARRAY_LEN(dtypes); d++) {
        for (uint32_t n = 0; n <= 130; n++)
            check_length(dtypes[d], n, &state);
    }
}

/* Powers of two and their neighbours. */
Test(ops_sparse, tiers_agree_on_longer_records)
{
    uint64_t state = 2;

    for (uint32_t d = 0; d < LP_ARRAY_LEN(dtypes); d++) {
        const uint32_t size = lp_codec_dtype_info(dtypes[d])->bytes;
        const uint32_t most = LP_MIN(LP_FORMAT_SPARSE_ELEMENTS_MAX, BYTES_MAX / size);

        for (uint32_t n = 256; n <= most; n *= 2) {
            check_length(dtypes[d], n - 1, &state);
            check_length(dtypes[d], n, &state);
            if (n < most)
                check_length(dtypes[d], n + 1, &state);
        }
    }
}

/* Values as counts: a row of their own, every density, counts alone and between other values. */
static void check_counts(uint32_t n, uint64_t *state)
{
    static const uint32_t of[] = {1, 2, 10, 60};

    for (uint32_t i = 0; i < 2 * LP_ARRAY_LEN(of); i++) {
        const struct counts_data data = {.n_rows = 1,
                                         .n_columns = n,
                                         .of = of[i / 2],
                                         .seed = samples_next(state),
                                         .odd = i % 2 == 1};
        struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_COUNTS,
                                   .elem_bytes = LP_FORMAT_COUNTS_SYMBOL_BYTES};

        counts_data_fill(&data, elements);
        counts_data_params(&data, &sparse.counts);
        check_record(&sparse, n, (uint32_t)(samples_next(state) % 16));
        for (uint32_t round = 0; round < 6; round++)
            check_damage(&sparse, n, state);
        lp_codec_sparse_fini(&sparse);
    }
}

Test(ops_sparse, tiers_agree_on_counts)
{
    uint64_t state = 4;

    for (uint32_t n = 1; n <= 300; n++)
        check_counts(n, &state);
    for (uint32_t n = 512; n <= BYTES_MAX / sizeof(float); n *= 2) {
        check_counts(n - 1, &state);
        check_counts(n, &state);
    }
}

/* Places from a map and back, for every count of a few lengths; then a bit of them wrong: nothing,
 * or as many places as before, all of them below n. */
Test(ops_sparse, places_come_back)
{
    static const uint32_t lengths[] = {1, 2, 3, 63, 64, 65, 130, 1000, 4096, 32768};
    static uint8_t bytes[LP_FORMAT_SPARSE_ELEMENTS_MAX / 8 + LP_CODEC_SLACK_BYTES];
    static uint64_t map[LP_SPARSE_MAP_WORDS], back[LP_SPARSE_MAP_WORDS];
    uint64_t state = 3;

    for (uint32_t i = 0; i < LP_ARRAY_LEN(lengths); i++) {
        const uint32_t n = lengths[i], words = lp_sparse_map_words(n);

        for (uint32_t m = 1; m <= LP_MIN(n, LP_FORMAT_SPARSE_COUNT_MASK);
             m = m < 200 ? m + 1 : m + m / 7) {
            const struct lp_sparse_places places = lp_sparse_places(n, m);
            uint32_t bit = 0, count = 0;

            memset(map, 0, sizeof(map));
            for (uint32_t left = m; left > 0;) {
                const uint32_t place = (uint32_t)(samples_next(&state) % n);

                left -= (map[place / 64] >> place % 64 & 1) == 0;
                map[place / 64] |= UINT64_C(1) << place % 64;
            }
            cr_assert_leq(places.bits, n);
            lp_codec_sparse_places_put(&places, map, bytes);
            cr_assert(lp_codec_sparse_places_get(&places, bytes, back), "%u of %u", m, n);
            cr_assert_arr_eq(back, map, words * sizeof(map[0]));
            bit = (uint32_t)(samples_next(&state) % (8 * places.bytes));
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (!lp_codec_sparse_places_get(&places, bytes, back))
                continue;
            cr_assert(places.is_list && bit < m * places.low_bits);
            for (uint32_t w = 0; w < words; w++)
                count += (uint32_t)__builtin_popcountll(back[w]);
            cr_assert_eq(count, m);
        }
    }
}
