/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/dict.h"
#include "codec/dict_places.h"
#include "codec/ops.h"
#include "codec/plan.h"
#include "codec/shape.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define ELEMENTS 4096u
#define META_MAX (LP_FORMAT_DICT_META_FIXED + 8u * 1275)

static const uint32_t sizes[] = {1, 2, 4, 8};
static uint8_t elements[8 * ELEMENTS], coded[16 * ELEMENTS]; /* longer than raw, at worst */
static uint8_t back[8 * ELEMENTS];

/* Value number i of elements of this size: all differ, in upper and lower bits. */
static uint64_t value_of(uint32_t i, uint32_t elem_bytes)
{
    const uint64_t word = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;

    return elem_bytes == 8 ? word : elem_bytes == 1 ? i * 53 % 256 : (i << 7 | i >> 9) & 0xffffu;
}

/* n elements of n_values values, the first ones most often. */
static void fill_ranked(uint32_t elem_bytes, uint32_t n, uint32_t n_values, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t random = samples_next(&seed);
        const uint32_t range = (uint32_t)(random % n_values) + 1;

        lp_store_uint(elements + (size_t)i * elem_bytes, elem_bytes,
                      value_of((uint32_t)(random >> 32) % range, elem_bytes));
    }
}

/* Levels and the first n_values values. */
static int make(struct lp_dict *ret_dict, uint32_t elem_bytes, uint32_t n_levels,
                const uint8_t *widths, uint32_t n_values)
{
    uint8_t values[8 * 1500];

    for (uint32_t i = 0; i < n_values; i++)
        lp_store_uint(values + (size_t)i * elem_bytes, elem_bytes, value_of(i, elem_bytes));
    return lp_codec_dict_init(ret_dict, elem_bytes, n_levels, widths, n_values, values, NULL);
}

/* Code and decode n elements, exactly; returns the size. */
static uint32_t check(const struct lp_dict *dict, uint32_t n)
{
    const uint32_t raw = n * dict->elem_bytes;
    const uint32_t size = lp_codec_ops()->dict_encode(dict, elements, n, coded, UINT32_MAX);

    cr_assert_gt(size, 0);
    memset(back, 0xa5, raw);
    cr_assert_eq(lp_codec_ops()->dict_decode(dict, coded, size, 1, back, n), 0);
    cr_assert_arr_eq(back, elements, raw);
    return size;
}

/* What is written is what is read, every value has its symbol and no other word has one. */
Test(codec_dict, metadata_comes_back)
{
    static const uint8_t widths[] = {6, 7, 8};
    static uint8_t meta[META_MAX];
    struct lp_dict dict, again;

    for (size_t s = 0; s < LP_ARRAY_LEN(sizes); s++) {
        const uint32_t n_values = sizes[s] == 1 ? 191 : 350;

        cr_assert_eq(make(&dict, sizes[s], 3, widths, n_values), 0);
        cr_assert_eq(lp_codec_dict_meta_bytes(&dict), 16 + n_values * sizes[s]);
        lp_codec_dict_meta_emit(&dict, meta);
        cr_assert_eq(
            lp_codec_dict_meta_parse(&again, sizes[s], meta, lp_codec_dict_meta_bytes(&dict), NULL),
            0);
        cr_assert_eq(again.n_values, n_values);
        cr_assert_eq(again.last_codes, n_values - 190);
        cr_assert_arr_eq(again.first, dict.first, sizeof(dict.first));
        for (uint32_t i = 0; i < n_values; i++)
            cr_assert_eq(lp_dict_find(&again, value_of(i, sizes[s])), i);
        for (uint32_t i = n_values; i < (sizes[s] == 1 ? 256 : 1000); i++)
            cr_assert_eq(lp_dict_find(&again, value_of(i, sizes[s])), 445);
        lp_codec_dict_fini(&dict);
        lp_codec_dict_fini(&again);
    }
    lp_codec_dict_fini(NULL);
    ASSERT_NO_LEAK();
}

/* Each broken rule of the document, section 7, is refused. */
Test(codec_dict, metadata_is_checked)
{
    static const uint8_t widths[] = {2, 3};
    static const struct {
        uint32_t at;
        uint8_t value;
    } wrong[] = {{0, 0},  {0, 1},  {0, 3},  {0, 6}, {1, 0}, {1, 9},  {2, 0},
                 {2, 9},  {3, 1},  {5, 1},  {6, 1}, {7, 1}, {8, 11}, {9, 1},
                 {11, 1}, {12, 1}, {15, 1}, {8, 3}, {8, 0}, {2, 2}};
    struct lp_error err = LP_ERROR_INIT;
    uint8_t meta[16 + 2 * 11];
    struct lp_dict dict, again;

    cr_assert_eq(make(&dict, 2, 2, widths, 10), 0);
    for (size_t i = 0; i < LP_ARRAY_LEN(wrong); i++) {
        memset(meta, 0, sizeof(meta));
        lp_codec_dict_meta_emit(&dict, meta);
        meta[wrong[i].at] = wrong[i].value;
        lp_error_clear(&err);
        cr_assert_eq(lp_codec_dict_meta_parse(&again, 2, meta, 16 + 2 * 10, &err), LP_ECORRUPT,
                     "byte %u = %u", wrong[i].at, wrong[i].value);
        cr_assert_not_null(strstr(err.text, "dict metadata"), "%s", err.text);
        cr_assert_null(again.values);
    }
    lp_codec_dict_meta_emit(&dict, meta);
    for (uint64_t n = 0; n < sizeof(meta); n++)
        if (n != 16 + 2 * 10)
            cr_assert_eq(lp_codec_dict_meta_parse(&again, 2, meta, n, NULL), LP_ECORRUPT);
    /* A value twice; more values than symbols, with all their bytes there. */
    memcpy(meta + 16 + 2 * 9, meta + 16, 2);
    cr_assert_eq(lp_codec_dict_meta_parse(&again, 2, meta, 16 + 2 * 10, &err), LP_ECORRUPT);
    cr_assert_not_null(strstr(err.text, "twice"));
    lp_codec_dict_meta_emit(&dict, meta);
    lp_store_u32(meta + 8, 11);
    cr_assert_eq(lp_codec_dict_meta_parse(&again, 2, meta, 16 + 2 * 11, NULL), LP_ECORRUPT);
    lp_store_u32(meta + 8, UINT32_MAX);
    cr_assert_eq(lp_codec_dict_meta_parse(&again, 2, meta, 16 + 2 * 10, NULL), LP_ECORRUPT);
    lp_codec_dict_meta_emit(&dict, meta);
    cr_assert_eq(lp_codec_dict_meta_parse(&again, 3, meta, 16 + 3 * 10, NULL), LP_ENOTSUP);
    lp_codec_dict_fini(&dict);
    ASSERT_NO_LEAK();
}

/* Every element size, any number of values and levels. */
/* Two values for each factor that it puts at one place of one group, of 16 groups and 64 places. */
static void fill_defeating(uint32_t elem_bytes, uint8_t *values)
{
    for (uint32_t i = 0; i < LP_DICT_FACTORS; i++) {
        const struct lp_dict dict = {.hash_factor = lp_dict_factor(i)};
        const uint64_t a = 1 + i, place = lp_dict_hash(&dict, elem_bytes, a) >> 22;
        uint64_t b = a + LP_DICT_FACTORS;

        while (lp_dict_hash(&dict, elem_bytes, b) >> 22 != place)
            b += LP_DICT_FACTORS; /* no two factors share one */
        lp_store_uint(values + (size_t)2 * i * elem_bytes, elem_bytes, a);
        lp_store_uint(values + (size_t)(2 * i + 1) * elem_bytes, elem_bytes, b);
    }
}

Test(codec_dict, values_that_no_hash_keeps_apart)
{
    const uint32_t n_values = 2 * LP_DICT_FACTORS;
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    uint8_t values[8 * 2 * LP_DICT_FACTORS], want[8 * 1000];
    struct lp_dict dict;

    for (uint32_t size = 4; size <= 8; size += 4) {
        uint32_t n_bytes;

        fill_defeating(size, values);
        cr_assert_eq(
            lp_codec_dict_init(&dict, size, 1, (const uint8_t[]){6}, n_values, values, NULL), 0);
        cr_assert_eq(dict.hash_factor, 0);
        for (uint32_t i = 0; i < 500; i++)
            lp_store_uint(elements + (size_t)i * size, size,
                          i % 9 == 0 ? UINT32_MAX - i
                                     : lp_load_uint(values + i % n_values * size, size));
        n_bytes = tiers[0]->dict_encode(&dict, elements, 500, want, UINT32_MAX);
        cr_assert_eq(check(&dict, 500), n_bytes);
        for (int t = 1; t < n_tiers; t++) {
            cr_assert_eq(tiers[t]->dict_encode(&dict, elements, 500, coded, UINT32_MAX), n_bytes);
            cr_assert_arr_eq(coded, want, n_bytes);
        }
        lp_codec_dict_fini(&dict);
        memcpy(values + (size_t)9 * size, values + (size_t)4 * size, size);
        cr_assert_eq(
            lp_codec_dict_init(&dict, size, 1, (const uint8_t[]){6}, n_values, values, NULL),
            LP_ECORRUPT);
    }
    ASSERT_NO_LEAK();
}

Test(codec_dict, elements_come_back)
{
    static const uint8_t lists[][LP_FORMAT_DICT_LEVELS_MAX] = {
        {1}, {8}, {6, 7}, {6, 7, 8}, {1, 1, 1, 1, 1}, {8, 8, 8, 8, 8}, {3, 4, 6}, {2, 2, 2, 3}};

    for (size_t s = 0; s < LP_ARRAY_LEN(sizes); s++) {
        for (size_t l = 0; l < LP_ARRAY_LEN(lists); l++) {
            uint32_t n_levels = 0, n_symbols = 0, before = 0;
            struct lp_dict dict;

            for (; n_levels < 5 && lists[l][n_levels] != 0; n_levels++) {
                before = n_symbols;
                n_symbols += (1u << lists[l][n_levels]) - 1;
            }
            if (sizes[s] == 1 && before >= 256)
                continue;
            cr_assert_eq(make(&dict, sizes[s], n_levels, lists[l],
                              sizes[s] == 1 ? LP_MIN(n_symbols, 256) : n_symbols),
                         0);
            for (uint32_t n = 0; n <= 300; n += n < 140 ? 1 : 53) {
                fill_ranked(sizes[s], n, sizes[s] == 1 ? 256 : 1400, n);
                if (n > 0)
                    check(&dict, n);
            }
            lp_codec_dict_fini(&dict);
        }
    }
    ASSERT_NO_LEAK();
}

/* The example that a reader can follow: 5 elements, widths 1 and 2, one of them raw. */
Test(codec_dict, a_record_by_hand)
{
    static const uint8_t widths[] = {1, 2};
    static const uint16_t values[] = {0x1111, 0x2222, 0x3333},
                          input[] = {0x1111, 0x2222, 0x9999, 0x1111, 0x3333};
    struct lp_dict dict;
    uint32_t size;

    cr_assert_eq(lp_codec_dict_init(&dict, 2, 2, widths, 3, values, NULL), 0);
    memcpy(elements, input, sizeof(input));
    size = check(&dict, 5);
    /* Level 1: 1 0 0 1 0; level 2 of the elements 1, 2 and 4: codes 1, 0, 2: planes 1 0 0, 0 0 1.
     */
    cr_assert_eq(size, 2 + 2);
    cr_assert_eq(coded[0], 1u | 1u << 3 | 1u << 5);
    cr_assert_eq(coded[1], 1u << 2);
    cr_assert_eq(lp_load_u16(coded + 2), 0x9999);
    lp_codec_dict_fini(&dict);
}

/* A code without a value, padding that is not zero, a byte too few or too many. */
Test(codec_dict, broken_records_are_refused)
{
    static const uint8_t widths[] = {3};
    uint8_t record[64 + LP_CODEC_SLACK_BYTES] = {0};
    struct lp_dict dict;

    cr_assert_eq(make(&dict, 4, 1, widths, 5), 0);
    /* Five elements of code 5 each: planes 11111, 00000, 11111. */
    record[0] = 0x1f;
    record[1] = 0x7c;
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 2, 1, back, 5), 0);
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 4, 4, back, 5), 0);
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 3, 4, back, 5), 0, "inside another");
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 4, 2, back, 5), LP_ECORRUPT);
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 8, 4, back, 5), LP_ECORRUPT);
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 1, 4, back, 5), LP_ECORRUPT);
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 0, 4, back, 5), LP_ECORRUPT);
    record[0] |= 0x20; /* code 7 */
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 4, 4, back, 5), LP_ECORRUPT);
    record[0] &= 0x1f;
    record[1] |= 0x80; /* bits behind the string */
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 4, 4, back, 5), LP_ECORRUPT);
    record[1] &= 0x7f;
    record[3] = 1; /* bytes behind the record */
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 4, 4, back, 5), LP_ECORRUPT);
    record[3] = 0;
    record[1] &= (uint8_t)~0x40; /* the last code is 1 now; then 0, and nothing raw behind */
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 4, 4, back, 5), 0);
    record[0] &= (uint8_t)~0x10;
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 4, 4, back, 5), LP_ECORRUPT);
    cr_assert_eq(lp_codec_ops()->dict_decode(&dict, record, 6, 1, back, 5), 0);
    lp_codec_dict_fini(&dict);
}

/* What learning says is what the encoder then needs, and more levels or other widths need more. */
Test(codec_dict, learning_is_exact_and_best)
{
    static const uint32_t counts[] = {1, 2, 3, 15, 46, 200, 574, 1400, 4000};

    for (size_t s = 0; s < LP_ARRAY_LEN(sizes); s++) {
        for (size_t c = 0; c < LP_ARRAY_LEN(counts); c++) {
            const uint32_t n_values = sizes[s] == 1 ? LP_MIN(counts[c], 256) : counts[c];
            uint64_t payload, cost;
            struct lp_dict dict;

            fill_ranked(sizes[s], ELEMENTS, n_values, c);
            cr_assert_eq(lp_codec_dict_learn(&dict, sizes[s], elements, ELEMENTS, &payload, NULL),
                         0);
            cr_assert_eq(check(&dict, ELEMENTS), payload);
            cost = payload + dict.n_values * sizes[s];
            for (uint32_t a = 1; a <= 8; a++) {
                for (uint32_t b = 0; b <= 8; b++) {
                    const uint8_t widths[] = {(uint8_t)a, (uint8_t)b};
                    const uint32_t n_symbols = (1u << a) - 1 + (b > 0 ? (1u << b) - 1 : 0);
                    struct lp_dict other;

                    if (n_symbols > dict.n_values || b == 0)
                        continue;
                    /* The learned values come in the order of their counts. */
                    cr_assert_eq(lp_codec_dict_init(&other, sizes[s], 2, widths, n_symbols,
                                                    dict.values, NULL),
                                 0);
                    cr_assert_geq(check(&other, ELEMENTS) + n_symbols * sizes[s] + 1, cost);
                    lp_codec_dict_fini(&other);
                }
            }
            lp_codec_dict_fini(&dict);
        }
    }
    ASSERT_NO_LEAK();
}

struct ranked {
    uint64_t value;
    uint32_t count;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *const x = a, *const y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* All distinct values of n elements, by count and value, counted the slow way. */
static uint32_t rank_values(uint32_t elem_bytes, uint32_t n, struct ranked *ranked)
{
    static struct ranked all[ELEMENTS];
    uint32_t n_distinct = 0;

    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct ranked){lp_load_uint(elements + (size_t)i * elem_bytes, elem_bytes), 0};
    qsort(all, n, sizeof(all[0]), by_rank);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || all[i].value != all[i - 1].value)
            ranked[n_distinct++] = all[i];
        ranked[n_distinct - 1].count++;
    }
    qsort(ranked, n_distinct, sizeof(ranked[0]), by_rank);
    return n_distinct;
}

/* The values are the most frequent ones, in order, of equals the smaller ones first: also where
 * their counts are large, where more values than have a symbol are equally frequent, and where all
 * are. */
Test(codec_dict, values_are_the_most_frequent)
{
    static const uint32_t counts[] = {1, 2, 7, 100, 300, 1000, 1100, 3000, 4096};
    static struct ranked ranked[ELEMENTS];

    for (size_t s = 0; s < LP_ARRAY_LEN(sizes); s++) {
        for (size_t c = 0; c < 2 * LP_ARRAY_LEN(counts); c++) {
            const uint32_t n_values = sizes[s] == 1 ? LP_MIN(counts[c / 2], 256) : counts[c / 2];
            uint64_t payload;
            struct lp_dict dict;

            fill_ranked(sizes[s], ELEMENTS, n_values, c);
            for (uint32_t i = 0; c % 2 == 1 && i < ELEMENTS; i++) /* each about as often */
                lp_store_uint(elements + (size_t)i * sizes[s], sizes[s],
                              value_of(i * 7 % n_values, sizes[s]));
            cr_assert_eq(lp_codec_dict_learn(&dict, sizes[s], elements, ELEMENTS, &payload, NULL),
                         0);
            cr_assert_leq(dict.n_values, rank_values(sizes[s], ELEMENTS, ranked));
            for (uint32_t i = 0; i < dict.n_values; i++)
                cr_assert_eq(lp_load_uint(dict.values + (size_t)i * sizes[s], sizes[s]),
                             ranked[i].value, "value %u of %u, %u bytes", i, n_values, sizes[s]);
            lp_codec_dict_fini(&dict);
            memset(ranked, 0, sizeof(ranked));
        }
    }
    ASSERT_NO_LEAK();
}

/* Too many distinct values are given up early; odd sizes and nothing at all are refused. */
Test(codec_dict, learning_knows_when_not_to)
{
    static uint32_t words[LP_DICT_DISTINCT_MAX + 1];
    struct lp_error err = LP_ERROR_INIT;
    struct lp_dict dict;
    uint64_t payload;

    for (uint32_t i = 0; i < LP_ARRAY_LEN(words); i++)
        words[i] = i * 77;
    cr_assert_eq(lp_codec_dict_learn(&dict, 4, words, LP_ARRAY_LEN(words), &payload, &err),
                 LP_ENOTSUP);
    cr_assert_not_null(strstr(err.text, "distinct"));
    cr_assert_eq(lp_codec_dict_learn(&dict, 4, words, LP_ARRAY_LEN(words) - 1, &payload, &err), 0);
    lp_codec_dict_fini(&dict);
    cr_assert_eq(lp_codec_dict_learn(&dict, 3, words, 100, &payload, &err), LP_ENOTSUP);
    cr_assert_eq(lp_codec_dict_learn(&dict, 4, words, 0, &payload, &err), LP_EINVAL);
    ASSERT_NO_LEAK();
}

/* Without memory: an error, and a retry works. */
Test(codec_dict, survives_a_lack_of_memory)
{
    struct fault_loop loop;

    for (size_t s = 0; s < LP_ARRAY_LEN(sizes); s++) {
        fill_ranked(sizes[s], 500, 40, s);
        FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
            struct lp_error err = LP_ERROR_INIT;
            struct lp_dict dict;
            uint64_t payload = 1;
            const int rc = lp_codec_dict_learn(&dict, sizes[s], elements, 500, &payload, &err);

            if (fault_loop_hit(&loop)) {
                cr_assert_eq(rc, LP_ENOMEM);
                cr_assert_eq(payload, 1);
                continue;
            }
            cr_assert_eq(rc, 0);
            lp_codec_dict_fini(&dict);
        }
        cr_assert_gt(loop.nth, 2);
    }
    ASSERT_NO_LEAK();
}

/* A table of few values goes to dict by itself and comes back through packer and view. */
Test(codec_dict, tables_come_back)
{
    static const uint32_t dtypes[] = {LP_DTYPE_U8, LP_DTYPE_BF16, LP_DTYPE_I32, LP_DTYPE_F64};
    const uint64_t dims[] = {ELEMENTS / 64, 64};

    for (size_t d = 0; d < LP_ARRAY_LEN(dtypes); d++) {
        const uint32_t bytes = lp_codec_dtype_info(dtypes[d])->bytes;
        struct packed packed;
        struct lp_table table;

        fill_ranked(bytes, ELEMENTS, 40, d);
        packed_must(&packed, dtypes[d], 2, dims, NULL, elements);
        cr_assert_eq(packed.table.codec, LP_CODEC_DICT, "dtype %u: %s", dtypes[d],
                     packed.table.reason);
        cr_assert_eq(lp_codec_table_parse(&table, packed.head, packed.table.head_bytes, NULL), 0);
        packed.view.table = &table;
        cr_assert_eq(lp_codec_view_elements(&packed.view, 0, ELEMENTS, back, NULL), 0);
        cr_assert_arr_eq(back, elements, ELEMENTS * bytes);
        lp_codec_table_fini(&table);
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}
