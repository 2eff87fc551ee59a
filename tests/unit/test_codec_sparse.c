/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/plan.h"
#include "codec/shape.h"
#include "codec/sparse.h"
#include "codec/sparse_places.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define ROOM 8192u

static const struct lp_sparse plain16 = {.values = LP_SPARSE_VALUES_RAW, .elem_bytes = 2};
static const struct lp_sparse ones16 = {
    .values = LP_SPARSE_VALUES_ONE, .elem_bytes = 2, .one = {1, 0}};

static uint32_t encode(const struct lp_sparse *sparse, const void *src, uint32_t n, void *dst)
{
    memset(dst, 0, ROOM);
    return lp_codec_sparse_encode(sparse, lp_codec_ops(), src, n, dst, n * sparse->elem_bytes);
}

/* Every tier decodes these stored bytes, or none. */
static int decode(const struct lp_sparse *sparse, const void *record, uint32_t stored,
                  uint32_t align, void *dst, uint32_t n)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    /* The block ends where the slack ends, so that sanitizers see more. */
    uint8_t *const src = malloc(stored + LP_CODEC_SLACK_BYTES);
    int rc = 0;

    memcpy(src, record, stored);
    memset(src + stored, 0xff, LP_CODEC_SLACK_BYTES);
    for (int t = 0; t < n_tiers; t++) {
        const int tier_rc =
            lp_codec_sparse_decode(sparse, tiers[t], src, stored, align, dst, n, NULL);

        cr_assert(t == 0 || tier_rc == rc, "%s", tiers[t]->tier);
        rc = tier_rc;
    }
    free(src);
    return rc;
}

/* A list worked out by hand from docs/FORMAT.md, section 8: places 5 and 17 of 20, so l = 3. */
Test(codec_sparse, list_is_as_the_document_says)
{
    const uint8_t expected[8] = {0x02, 0x00, 0x4d, 0x02, 0x34, 0x12, 0x00, 0x80};
    const uint16_t elements[20] = {[5] = 0x1234, [17] = 0x8000};
    uint8_t record[ROOM];
    uint16_t back[20];

    cr_assert_eq(encode(&plain16, elements, 20, record), sizeof(expected));
    cr_assert_arr_eq(record, expected, sizeof(expected));
    cr_assert_eq(decode(&plain16, record, sizeof(expected), 4, back, 20), 0);
    cr_assert_arr_eq(back, elements, sizeof(elements));
}

/* A map, with values that need no bytes; then with one that is another. */
Test(codec_sparse, map_is_as_the_document_says)
{
    const uint8_t expected[3] = {0x04, 0x00, 0x93}, plain[3] = {0x04, 0x80, 0x93};
    uint16_t elements[8] = {1, 1, 0, 0, 1, 0, 0, 1}, back[8];
    uint8_t record[ROOM];

    cr_assert_eq(encode(&ones16, elements, 8, record), sizeof(expected));
    cr_assert_arr_eq(record, expected, sizeof(expected));
    cr_assert_eq(decode(&ones16, record, 4, 4, back, 8), 0);
    cr_assert_arr_eq(back, elements, sizeof(elements));
    elements[4] = 0x8000;
    cr_assert_eq(encode(&ones16, elements, 8, record), 3 + 8);
    cr_assert_arr_eq(record, plain, sizeof(plain));
    cr_assert_eq(decode(&ones16, record, 12, 4, back, 8), 0);
    cr_assert_arr_eq(back, elements, sizeof(elements));
}

/* Nothing but zeros is a head of zeros; nothing but others may still be shorter than raw. */
Test(codec_sparse, empty_and_full_records)
{
    uint16_t elements[64] = {0}, back[64];
    uint8_t record[ROOM];

    cr_assert_eq(encode(&plain16, elements, 64, record), 2);
    cr_assert_eq(lp_load_u32(record), 0);
    memset(back, 0xee, sizeof(back));
    cr_assert_eq(decode(&plain16, record, 4, 4, back, 64), 0);
    cr_assert_arr_eq(back, elements, sizeof(elements));
    for (uint32_t i = 0; i < 64; i++)
        elements[i] = 1;
    cr_assert_eq(encode(&plain16, elements, 64, record), 0, "a map more than raw");
    cr_assert_eq(encode(&ones16, elements, 64, record), 2 + 8);
    cr_assert_eq(decode(&ones16, record, 12, 4, back, 64), 0);
    cr_assert_arr_eq(back, elements, sizeof(elements));
}

/* The count has 15 bits. */
Test(codec_sparse, a_record_of_32768_ones_is_raw)
{
    static uint8_t elements[LP_FORMAT_SPARSE_ELEMENTS_MAX], back[LP_FORMAT_SPARSE_ELEMENTS_MAX];
    static uint8_t record[LP_FORMAT_SPARSE_ELEMENTS_MAX + LP_CODEC_SLACK_BYTES];
    const struct lp_sparse ones8 = {.values = LP_SPARSE_VALUES_ONE, .elem_bytes = 1, .one = {1}};
    const uint32_t n = sizeof(elements);

    memset(elements, 1, n);
    cr_assert_eq(lp_codec_sparse_encode(&ones8, lp_codec_ops(), elements, n, record, n), 0);
    elements[77] = 0;
    cr_assert_eq(lp_codec_sparse_encode(&ones8, lp_codec_ops(), elements, n, record, n), 2 + n / 8);
    memset(record + 2 + n / 8, 0, 4);
    cr_assert_eq(decode(&ones8, record, 4 + n / 8, 4, back, n), 0);
    cr_assert_arr_eq(back, elements, n);
}

/* Each rule of the list, broken alone. Places 5 and 17 of 20: lows 101 100, upper 1001. */
Test(codec_sparse, hostile_lists_are_refused)
{
    static const struct {
        const char *what;
        uint8_t record[12];
        uint32_t stored, align;
        int rc;
    } cases[] = {
        {"as it is", {2, 0, 0x4d, 2, 0x34, 0x12, 0, 0x80}, 8, 4, 0},
        {"padded", {2, 0, 0x4d, 2, 0x34, 0x12, 0, 0x80}, 12, 32, 0},
        {"another value is none of ours to judge", {2, 0, 0x4d, 2, 0, 0, 0, 0}, 8, 4, 0},
        {"more than there are", {21, 0, 0x4d, 2, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"far more", {0xff, 0x7f, 0x4d, 2, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"plain twice", {2, 0x80, 0x4d, 2, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"a one too many", {2, 0, 0xcd, 2, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"a one too few", {2, 0, 0x4d, 0, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"the second at 20", {2, 0, 0x65, 2, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"the second at 23", {2, 0, 0x7d, 2, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"the second before the first", {2, 0, 0xcd, 0, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"both at 5", {2, 0, 0xed, 0, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"a bit behind the places", {2, 0, 0x4d, 6, 0x34, 0x12, 0, 0x80}, 8, 4, LP_ECORRUPT},
        {"a byte behind the values", {2, 0, 0x4d, 2, 0x34, 0x12, 0, 0x80, 1}, 12, 32, LP_ECORRUPT},
        {"zeros behind the values", {2, 0, 0x4d, 2, 0x34, 0x12, 0, 0x80}, 12, 4, LP_ECORRUPT},
        {"no second value", {2, 0, 0x4d, 2, 0x34, 0x12}, 4, 4, LP_ECORRUPT},
        {"no places", {2, 0}, 2, 1, LP_ECORRUPT},
        {"half a head", {2}, 1, 1, LP_ECORRUPT},
        {"nothing", {0}, 0, 4, LP_ECORRUPT},
        {"nothing set, plain", {0, 0x80}, 4, 4, LP_ECORRUPT},
        {"nothing set, and a byte", {0, 0, 1}, 4, 4, LP_ECORRUPT},
        {"nothing set", {0, 0}, 4, 4, 0},
    };
    uint16_t back[20];

    for (size_t i = 0; i < LP_ARRAY_LEN(cases); i++)
        cr_assert_eq(decode(&plain16, cases[i].record, cases[i].stored, cases[i].align, back, 20),
                     cases[i].rc, "%s", cases[i].what);
}

/* The same for a map, of 11 elements: 0x0493 and five bits of padding. */
Test(codec_sparse, hostile_maps_are_refused)
{
    static const struct {
        const char *what;
        uint8_t record[16];
        uint32_t stored;
        int rc;
    } cases[] = {
        {"as it is", {5, 0, 0x93, 4}, 4, 0},
        {"a bit more", {5, 0, 0x97, 4}, 4, LP_ECORRUPT},
        {"a bit less", {5, 0, 0x93, 0}, 4, LP_ECORRUPT},
        {"counted too low", {4, 0, 0x93, 4}, 4, LP_ECORRUPT},
        {"counted too high", {6, 0, 0x93, 4}, 4, LP_ECORRUPT},
        {"a bit of padding", {5, 0, 0x93, 0x0c}, 4, LP_ECORRUPT},
        {"a bit of padding for one of the map", {5, 0, 0x93, 8}, 4, LP_ECORRUPT},
        {"a byte of padding", {5, 0, 0x93, 4, 1}, 8, LP_ECORRUPT},
        {"plain", {5, 0x80, 0x93, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 16, 0},
        {"plain, cut", {5, 0x80, 0x93, 4, 1, 1, 1, 1, 1, 1, 1, 1}, 12, LP_ECORRUPT},
    };
    uint16_t back[11];

    for (size_t i = 0; i < LP_ARRAY_LEN(cases); i++)
        cr_assert_eq(decode(&ones16, cases[i].record, cases[i].stored, 4, back, 11), cases[i].rc,
                     "%s", cases[i].what);
}

/* Elements of a bell curve in one of so many places. */
static void make_rows(uint32_t dtype, uint64_t n, uint32_t of, uint64_t seed, void *elements)
{
    const uint32_t size = lp_codec_dtype_info(dtype)->bytes;

    samples_fill(SAMPLES_NORMAL, dtype, n, seed, elements);
    for (uint64_t i = 0; i < n; i++)
        if (samples_next(&seed) % of != 0)
            memset((uint8_t *)elements + i * size, 0, size);
}

/* Cut anywhere, a record of any kind is refused; with a bit changed it is refused or gives other
 * values, never a crash. */
static void check_hostile(const struct lp_sparse *sparse, const void *elements, uint32_t n)
{
    uint8_t record[ROOM], back[ROOM];
    const uint32_t size = encode(sparse, elements, n, record);
    const uint32_t stored = (uint32_t)lp_round_up_u64(size, 4);

    cr_assert_gt(size, 0);
    cr_assert_eq(decode(sparse, record, stored, 4, back, n), 0);
    cr_assert_arr_eq(back, elements, n * sparse->elem_bytes);
    for (uint32_t cut = 0; cut < size; cut++)
        cr_assert_eq(decode(sparse, record, cut, 1, back, n), LP_ECORRUPT, "cut to %u", cut);
    for (uint32_t bit = 0; bit < 8 * stored; bit++) {
        record[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)decode(sparse, record, stored, 4, back, n);
        record[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static struct lp_sparse learn(uint32_t dtype, const void *elements, uint64_t n_records,
                              uint32_t record_elements)
{
    const struct lp_sparse_sample sample = {dtype,    record_elements, 4,
                                            elements, n_records,       n_records};
    struct lp_error err = LP_ERROR_INIT;
    struct lp_sparse sparse;

    cr_assert_eq(lp_codec_sparse_learn(&sparse, &sample, &err), 0, "%s", err.text);
    return sparse;
}

/* What is learned fits the data; its metadata comes back, and so does every record. */
static void check_way(uint32_t dtype, const void *elements, uint32_t want)
{
    struct lp_sparse sparse = learn(dtype, elements, 64, 100), again;
    const uint64_t bytes = lp_codec_sparse_meta_bytes(&sparse);
    uint8_t meta[ROOM], other[ROOM];

    cr_assert_eq(sparse.values, want, "values %u, not %u", sparse.values, want);
    lp_codec_sparse_meta_emit(&sparse, meta);
    cr_assert_eq(lp_codec_sparse_meta_parse(&again, dtype, 100, meta, bytes, NULL), 0);
    cr_assert_eq(lp_codec_sparse_meta_bytes(&again), bytes);
    lp_codec_sparse_meta_emit(&again, other);
    cr_assert_arr_eq(other, meta, bytes);
    check_hostile(&again, elements, 100);
    lp_codec_sparse_fini(&again);
    for (uint64_t n = 0; n < bytes; n++)
        cr_assert_eq(lp_codec_sparse_meta_parse(&again, dtype, 100, meta, n, NULL), LP_ECORRUPT);
    cr_assert_eq(lp_codec_sparse_meta_parse(&again, dtype, LP_FORMAT_SPARSE_ELEMENTS_MAX + 1, meta,
                                            bytes, NULL),
                 LP_ECORRUPT);
    cr_assert_eq(lp_codec_sparse_meta_parse(&again, LP_DTYPE_F6_E2M3_X4, 100, meta, bytes, NULL),
                 LP_ECORRUPT);
    for (uint32_t at = 0; at < LP_FORMAT_SPARSE_META_FIXED; at++) {
        meta[at] ^= 0x40;
        cr_assert_eq(lp_codec_sparse_meta_parse(&again, dtype, 100, meta, bytes, NULL),
                     LP_ECORRUPT);
        meta[at] ^= 0x40;
    }
    lp_codec_sparse_fini(&sparse);
}

Test(codec_sparse, learning_finds_the_cheapest_way)
{
    static double elements[64 * 100];
    uint32_t *const words = (uint32_t *)elements;
    uint64_t state = 1;

    make_rows(LP_DTYPE_F32, 6400, 5, 1, elements);
    check_way(LP_DTYPE_F32, elements, LP_SPARSE_VALUES_LANE);
    for (uint32_t i = 0; i < 6400; i++)
        words[i] = words[i] == 0 ? 0 : 0x3f800000;
    check_way(LP_DTYPE_F32, elements, LP_SPARSE_VALUES_ONE);
    for (uint32_t i = 0; i < 6400; i++)
        words[i] = words[i] == 0 ? 0 : (uint32_t)samples_next(&state) | 1;
    check_way(LP_DTYPE_F32, elements, LP_SPARSE_VALUES_RAW);
    for (uint32_t i = 0; i < 6400; i++)
        words[i] = words[i] == 0 ? 0 : words[i % 7 * 100];
    words[0] = 77;
    check_way(LP_DTYPE_F32, elements, LP_SPARSE_VALUES_DICT);
    ASSERT_NO_LEAK();
}

/* Zeros alone need no values; of a table without them nothing can be left out. */
Test(codec_sparse, learning_from_the_extremes)
{
    static uint32_t elements[64 * 100];
    struct lp_sparse_sample sample = {LP_DTYPE_F32, 100, 4, elements, 64, 64};
    struct lp_error err = LP_ERROR_INIT;
    struct lp_sparse sparse = learn(LP_DTYPE_F32, elements, 64, 100);

    cr_assert_eq(sparse.values, LP_SPARSE_VALUES_RAW);
    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, LP_ARRAY_LEN(elements), 1, elements);
    cr_assert_eq(lp_codec_sparse_learn(&sparse, &sample, &err), LP_ENOTSUP);
    cr_assert_str_eq(err.text, "too few elements are zero");
    sample.dtype = LP_DTYPE_F6_E2M3_X4;
    cr_assert_eq(lp_codec_sparse_learn(&sparse, &sample, &err), LP_ENOTSUP);
    sample.dtype = LP_DTYPE_U8;
    sample.record_elements = LP_FORMAT_SPARSE_ELEMENTS_MAX + 1;
    sample.n_records = 0;
    cr_assert_eq(lp_codec_sparse_learn(&sparse, &sample, &err), LP_ENOTSUP);
    ASSERT_NO_LEAK();
}

/* Behind the one value stand zeros; values in lanes of columns would have no columns. */
Test(codec_sparse, metadata_of_the_values_is_read_strictly)
{
    static float elements[64 * 100];
    struct lp_sparse sparse;
    uint8_t meta[ROOM] = {0};

    meta[8] = 1;
    cr_assert_eq(lp_codec_sparse_meta_parse(&sparse, LP_DTYPE_U16, 9, meta, 16, NULL), 0);
    meta[10] = 1;
    cr_assert_eq(lp_codec_sparse_meta_parse(&sparse, LP_DTYPE_U16, 9, meta, 16, NULL), LP_ECORRUPT);
    make_rows(LP_DTYPE_F32, 6400, 5, 1, elements);
    sparse = learn(LP_DTYPE_F32, elements, 64, 100);
    cr_assert_eq(sparse.values, LP_SPARSE_VALUES_LANE);
    lp_codec_sparse_meta_emit(&sparse, meta);
    meta[8 + 6] = LP_LANE_WINDOW_RECORD;
    cr_assert_eq(lp_codec_sparse_meta_parse(&sparse, LP_DTYPE_F32, 100, meta,
                                            lp_codec_sparse_meta_bytes(&sparse), NULL),
                 LP_ECORRUPT);
    meta[8 + 6] = LP_LANE_WINDOW_TABLE;
    cr_assert_eq(lp_codec_sparse_meta_parse(&sparse, LP_DTYPE_I64, 100, meta,
                                            lp_codec_sparse_meta_bytes(&sparse), NULL),
                 LP_ECORRUPT);
}

/* Any allocation may fail: a code, nothing leaked, and a retry works. */
Test(codec_sparse, learning_survives_failing_allocations)
{
    static float elements[64 * 100];
    const struct lp_sparse_sample sample = {LP_DTYPE_F32, 100, 4, elements, 64, 64};
    struct fault_loop loop;
    struct lp_sparse sparse;

    make_rows(LP_DTYPE_F32, 6400, 5, 1, elements);
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = lp_codec_sparse_learn(&sparse, &sample, NULL);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            continue;
        }
        cr_assert_eq(rc, 0);
        lp_codec_sparse_fini(&sparse);
    }
    cr_assert_gt(loop.nth, 2);
    ASSERT_NO_LEAK();
}

/* Rows out of a table, one by one and back to front, from what its bytes say, and without memory
 * but the stack. */
static void check_rows(struct packed *packed, const uint8_t *elements)
{
    const uint64_t bytes = packed->table.geometry.row_bytes;
    const uint64_t n_rows = packed->table.geometry.n_rows;
    uint8_t *const back = malloc(n_rows * bytes);
    uint64_t *const rows = malloc(n_rows * sizeof(*rows));
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    struct lp_table table;

    cr_assert_eq(packed->table.codec, LP_CODEC_SPARSE, "%s", packed->table.reason);
    cr_assert_eq(lp_codec_table_parse(&table, packed->head, packed->table.head_bytes, &err), 0,
                 "%s", err.text);
    packed->view.table = &table;
    for (uint64_t i = 0; i < n_rows; i++)
        rows[i] = n_rows - 1 - i;
    fault_arm(&loop, LP_FAULT_ALLOC, 1);
    cr_assert_eq(
        lp_codec_view_gather(&packed->view, rows, 8, n_rows, back, n_rows * bytes, NULL, &err), 0,
        "%s", err.text);
    cr_assert(!fault_loop_hit(&loop));
    fault_disarm();
    for (uint64_t i = 0; i < n_rows; i++)
        cr_assert_arr_eq(back + i * bytes, elements + rows[i] * bytes, bytes);
    lp_codec_table_fini(&table);
    free(rows);
    free(back);
}

/* Rows that are records, several rows in a record, rows across records, tiles; all layouts; the
 * price is what is stored. */
Test(codec_sparse, tables_come_back_row_by_row)
{
    static const struct {
        uint64_t rows, columns;
        uint32_t record_elements;
    } shapes[] = {{70, 301, 0}, {700, 9, 0}, {33, 64, 100}, {3, 9000, 0}, {2, 40000, 32768}};
    static const uint32_t dtypes[] = {LP_DTYPE_F32, LP_DTYPE_BF16, LP_DTYPE_U8};
    static uint8_t elements[80000 * 4];
    struct lp_geometry geometry;

    for (size_t i = 0; i < 2 * LP_ARRAY_LEN(shapes) * LP_ARRAY_LEN(dtypes); i++) {
        const uint32_t shape = (uint32_t)i % LP_ARRAY_LEN(shapes), dtype = dtypes[i % 3];
        const uint64_t dims[2] = {shapes[shape].rows, shapes[shape].columns};
        const struct lp_plan_params params = {
            .layout = 1 + i % 2,
            .record_elements = dtype == LP_DTYPE_F32 ? LP_MIN(shapes[shape].record_elements, 9999)
                                                     : shapes[shape].record_elements};
        struct lp_prices prices;
        struct lp_table table;
        struct packed packed;

        make_rows(dtype, dims[0] * dims[1], 30, i, elements);
        packed_must(&packed, dtype, 2, dims, &params, elements);
        check_rows(&packed, elements);
        cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, 2, dims, NULL), 0);
        cr_assert_eq(
            lp_codec_plan(&table, &geometry, &params, elements, geometry.n_elements, &prices, NULL),
            0);
        for (uint32_t p = 0; p < prices.n && packed.table.last_elements == table.record_elements;
             p++)
            if (prices.price[p].codec == LP_CODEC_SPARSE)
                cr_assert_eq(prices.price[p].payload_bytes, packed.table.payload_bytes);
        lp_codec_table_fini(&table);
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}

/* Whoever asks for the codec where it does not work hears why. */
Test(codec_sparse, what_it_cannot_take_says_why)
{
    static const struct {
        uint32_t dtype, record_elements;
        const char *why;
    } cases[] = {
        {LP_DTYPE_F6_E2M3_X4, 0, "raw: elements of f6_e2m3_x4 have no power of two of bytes"},
        {LP_DTYPE_U8, 40000, "raw: records have more than 32768 elements"},
        {LP_DTYPE_F32, 0, "raw: too few elements are zero"},
    };
    static uint8_t elements[80000 * 4];

    samples_fill(SAMPLES_RANDOM, LP_DTYPE_U8, sizeof(elements), 1, elements);
    for (size_t i = 0; i < LP_ARRAY_LEN(cases); i++) {
        const struct lp_plan_params params = {.codec = LP_CODEC_SPARSE,
                                              .record_elements = cases[i].record_elements};
        struct packed packed;

        packed_must(&packed, cases[i].dtype, 2, (uint64_t[]){2, 40000}, &params, elements);
        cr_assert_eq(packed.table.codec, LP_CODEC_RAW);
        cr_assert_str_eq(packed.table.reason, cases[i].why);
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}
