/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/counts.h"
#include "codec/counts_fit.h"
#include "codec/ops.h"
#include "codec/plan.h"
#include "codec/sparse.h"
#include "tests/lib/counts_data.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ROWS 400u
#define COLUMNS 160u

static const struct counts_data rows_and_columns = {
    .n_rows = ROWS, .n_columns = COLUMNS, .of = 8, .seed = 1};

/* What thread modes do to f32 products is what the hardware says; whole numbers must agree. */
Test(codec_counts, products_are_those_of_the_hardware)
{
    uint64_t state = 1;

    for (uint32_t i = 0; i < 200000; i++) {
        const uint64_t random = samples_next(&state);
        /* Short mantissas too: ties are rare else. */
        const uint32_t mask = i % 2 == 0 ? 0x7fffff : 0x7ff800;
        uint32_t bits[2], expected;
        volatile float a, b, product;

        bits[0] = ((uint32_t)random & mask) | (77 + (uint32_t)(random >> 32) % 101) << 23;
        bits[1] = ((uint32_t)(random >> 20) & mask) | (77 + (uint32_t)(random >> 48) % 101) << 23;
        memcpy((void *)&a, &bits[0], sizeof(a));
        memcpy((void *)&b, &bits[1], sizeof(b));
        product = a * b;
        memcpy(&expected, (void *)&product, sizeof(expected));
        cr_assert_eq(lp_counts_product(bits[0], bits[1]), expected);
    }
    for (uint32_t count = 1; count <= 1u << 16; count++) {
        const float as_float = (float)count;
        uint32_t expected;

        memcpy(&expected, &as_float, sizeof(expected));
        cr_assert_eq(lp_counts_bits(count), expected);
    }
}

/* Worked out by hand from docs/FORMAT.md: 3 * 0.1 * 1.5 is 0.45000002 in f32, whose bits end in
 * 0x67, and one ulp less is symbol (3 - 1) * 16 + 7. */
Test(codec_counts, symbols_stand_for_what_the_document_says)
{
    const uint32_t tenth = 0x3dcccccd, one_and_a_half = 0x3fc00000;
    const uint32_t product =
        lp_counts_product(lp_counts_product(0x40400000, tenth), one_and_a_half);

    cr_assert_eq(product, 0x3ee66667);
    cr_assert_eq(lp_counts_element(2 * 16 + 8, tenth, one_and_a_half), product);
    cr_assert_eq(lp_counts_element(2 * 16 + 7, tenth, one_and_a_half), product - 1);
    cr_assert_eq(lp_counts_element(2 * 16 + 15, tenth, one_and_a_half), product + 7);
    cr_assert_eq(lp_counts_element((1u << 20) - 1, tenth, 0x3f800000),
                 lp_counts_product(0x47800000, tenth) + 7);
    cr_assert_eq(lp_counts_element(1u << 20, tenth, one_and_a_half), 1u << 20);
    cr_assert_eq(lp_counts_element(0xffc00001, tenth, one_and_a_half), 0xffc00001);
}

/* --- learning -------------------------------------------------------------------------------- */

static int learn_from(struct lp_sparse *ret_sparse, const struct counts_data *data,
                      const void *elements, struct lp_error *err)
{
    const struct lp_sparse_sample sample = {.dtype = LP_DTYPE_F32,
                                            .record_elements = data->n_columns,
                                            .align_bytes = 4,
                                            .elements = elements,
                                            .n_records = data->n_rows,
                                            .table_records = data->n_rows};

    return lp_codec_sparse_learn(ret_sparse, &sample, err);
}

/* Bytes of all records, which must come back; a record that is stored raw counts as such. */
static uint64_t code_all(const struct lp_sparse *sparse, uint32_t n_rows, uint32_t n,
                         const uint8_t *elements)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = n * sizeof(float);
    uint8_t *const record = calloc(1, bytes + LP_CODEC_SLACK_BYTES), *const back = malloc(bytes);
    uint64_t all = 0;

    for (uint32_t r = 0; r < n_rows; r++, elements += bytes) {
        const uint32_t size =
            lp_codec_sparse_encode(sparse, lp_codec_ops(), elements, n, record, bytes);

        all += size == 0 ? bytes : size;
        for (int t = 0; t < n_tiers && size != 0; t++) {
            cr_assert_eq(lp_codec_sparse_decode(sparse, tiers[t], record, size, 1, back, n, NULL),
                         0);
            cr_assert(memcmp(back, elements, bytes) == 0, "%s: row %u", tiers[t]->tier, r);
        }
    }
    free(record);
    free(back);
    return all;
}

/* Counts are found where they are, and cost about what they should: places, four bytes for a row,
 * and three bits and a half for a symbol. */
Test(codec_counts, learning_finds_rows_and_columns)
{
    static float elements[ROWS * COLUMNS];
    const struct counts_data cases[] = {
        rows_and_columns,
        {.n_rows = ROWS, .n_columns = COLUMNS, .of = 8, .seed = 2, .equal_columns = true},
        {.n_rows = ROWS, .n_columns = COLUMNS, .of = 3, .seed = 3},
        {.n_rows = ROWS, .n_columns = COLUMNS, .of = 8, .seed = 4, .odd = true},
    };
    static const uint64_t most[] = {34, 34, 68, 60};

    for (size_t i = 0; i < LP_ARRAY_LEN(cases); i++) {
        struct lp_error err = LP_ERROR_INIT;
        struct lp_sparse sparse;
        uint64_t bytes;

        counts_data_fill(&cases[i], elements);
        cr_assert_eq(learn_from(&sparse, &cases[i], elements, &err), 0, "%s", err.text);
        cr_assert_eq(sparse.values, LP_SPARSE_VALUES_COUNTS, "case %zu: values %u", i,
                     sparse.values);
        bytes = code_all(&sparse, ROWS, COLUMNS, (const uint8_t *)elements) / ROWS;
        cr_assert_leq(bytes, most[i], "case %zu: %llu bytes a row", i, (unsigned long long)bytes);
        lp_codec_sparse_fini(&sparse);
    }
    ASSERT_NO_LEAK();
}

/* Other values have other ways, even where a few of them are counts. */
Test(codec_counts, learning_leaves_other_values_alone)
{
    static float elements[ROWS * COLUMNS];
    uint32_t *const words = (uint32_t *)elements;
    struct lp_sparse sparse;
    uint64_t state = 1;

    counts_data_fill(&rows_and_columns, elements);
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
        if (words[i] != 0 && samples_next(&state) % 8 != 0)
            words[i] = 0x3f000000 | (uint32_t)(samples_next(&state) & 0xffffff);
    cr_assert_eq(learn_from(&sparse, &rows_and_columns, elements, NULL), 0);
    cr_assert_neq(sparse.values, LP_SPARSE_VALUES_COUNTS);
    lp_codec_sparse_fini(&sparse);
    ASSERT_NO_LEAK();
}

/* Infinities, NaN, denormals and the extremes of f32 are no counts, alone or among some. */
Test(codec_counts, learning_survives_special_values)
{
    static float elements[ROWS * COLUMNS], special[ROWS * COLUMNS];
    uint32_t *const words = (uint32_t *)elements;

    samples_fill(SAMPLES_SPECIAL, LP_DTYPE_F32, ROWS * COLUMNS, 1, special);
    for (uint32_t of = 1; of <= 64; of *= 4) {
        struct lp_sparse sparse;
        uint64_t state = of;

        counts_data_fill(&rows_and_columns, elements);
        for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
            if (words[i] != 0 && samples_next(&state) % of == 0)
                memcpy(&words[i], &special[i], sizeof(words[i]));
        cr_assert_eq(learn_from(&sparse, &rows_and_columns, elements, NULL), 0);
        cr_assert(of < 16 || sparse.values == LP_SPARSE_VALUES_COUNTS, "one in %u", of);
        (void)code_all(&sparse, ROWS, COLUMNS, (const uint8_t *)elements);
        lp_codec_sparse_fini(&sparse);
    }
    ASSERT_NO_LEAK();
}

/* Counts of rows with the smallest and the largest values that f32 has normal ones of: the scales
 * would be out of range, and what is done about it is exact. */
Test(codec_counts, learning_survives_extreme_scales)
{
    static const int32_t exponents[] = {-120, -60, 60, 110};
    static float elements[ROWS * COLUMNS];
    uint32_t *const words = (uint32_t *)elements;

    for (size_t i = 0; i < LP_ARRAY_LEN(exponents); i++) {
        struct lp_sparse sparse;

        counts_data_fill(&rows_and_columns, elements);
        for (uint32_t k = 0; k < ROWS * COLUMNS; k++)
            if (words[k] != 0)
                words[k] += (uint32_t)exponents[i] << 23;
        cr_assert_eq(learn_from(&sparse, &rows_and_columns, elements, NULL), 0);
        (void)code_all(&sparse, ROWS, COLUMNS, (const uint8_t *)elements);
        lp_codec_sparse_fini(&sparse);
    }
    ASSERT_NO_LEAK();
}

/* Any allocation may fail: a code, nothing leaked, and a retry works. */
Test(codec_counts, learning_survives_failing_allocations)
{
    static float elements[ROWS * COLUMNS];
    struct fault_loop loop;
    struct lp_sparse sparse;

    counts_data_fill(&rows_and_columns, elements);
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = learn_from(&sparse, &rows_and_columns, elements, NULL);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            continue;
        }
        cr_assert_eq(rc, 0);
        cr_assert_eq(sparse.values, LP_SPARSE_VALUES_COUNTS);
        lp_codec_sparse_fini(&sparse);
    }
    cr_assert_gt(loop.nth, 10);
    ASSERT_NO_LEAK();
}

/* --- modes of the thread --------------------------------------------------------------------- */

static void learn_and_code(uint8_t *meta, uint64_t *ret_meta_bytes, uint8_t *records,
                           const void *elements)
{
    struct lp_sparse sparse;
    const uint32_t bytes = COLUMNS * sizeof(float);

    cr_assert_eq(learn_from(&sparse, &rows_and_columns, elements, NULL), 0);
    *ret_meta_bytes = lp_codec_sparse_meta_bytes(&sparse);
    lp_codec_sparse_meta_emit(&sparse, meta);
    (void)code_all(&sparse, ROWS, COLUMNS, elements);
    for (uint32_t r = 0; r < ROWS; r++) {
        uint8_t record[COLUMNS * sizeof(float) + LP_CODEC_SLACK_BYTES];
        const uint32_t size = lp_codec_sparse_encode(&sparse, lp_codec_ops(),
                                                     (const uint8_t *)elements + (size_t)r * bytes,
                                                     COLUMNS, record, bytes);

        memset(records + (size_t)r * bytes, 0, bytes);
        memcpy(records + (size_t)r * bytes, record, size);
    }
    lp_codec_sparse_fini(&sparse);
}

static float elements_of_modes[ROWS * COLUMNS];
static uint8_t meta_of_modes[2][65536], records_of_modes[2][sizeof(elements_of_modes)];

/* Metadata and records are those that the default mode gives. */
static void check_mode(const char *what)
{
    static uint64_t meta_bytes;
    const bool first = meta_bytes == 0;
    uint64_t bytes;

    learn_and_code(meta_of_modes[first ? 0 : 1], &bytes, records_of_modes[first ? 0 : 1],
                   elements_of_modes);
    if (first) {
        meta_bytes = bytes;
        return;
    }
    cr_assert_eq(bytes, meta_bytes, "%s", what);
    cr_assert(memcmp(meta_of_modes[0], meta_of_modes[1], bytes) == 0, "%s: metadata", what);
    cr_assert(memcmp(records_of_modes[0], records_of_modes[1], sizeof(records_of_modes[0])) == 0,
              "%s: records", what);
}

/* The rounding mode of the thread changes nothing, and is not changed. */
Test(codec_counts, every_rounding_mode_gives_the_same)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

    counts_data_fill(&rows_and_columns, elements_of_modes);
    for (size_t i = 0; i < LP_ARRAY_LEN(modes); i++) {
        (void)fesetround(modes[i]);
        check_mode("rounding");
        cr_assert_eq(fegetround(), modes[i]);
    }
    (void)fesetround(FE_TONEAREST);
    ASSERT_NO_LEAK();
}

#if defined(__x86_64__)
/* Rounding in MXCSR alone, and denormals flushed there. */
Test(codec_counts, every_mode_of_the_vector_unit_gives_the_same)
{
    static const uint32_t modes[] = {0x1f80, 0x3f80, 0x5f80, 0x7f80, 0x9fc0, 0xffc0};

    counts_data_fill(&rows_and_columns, elements_of_modes);
    for (size_t i = 0; i < LP_ARRAY_LEN(modes); i++) {
        uint32_t after;

        _mm_setcsr(modes[i]);
        check_mode("MXCSR");
        after = _mm_getcsr();
        _mm_setcsr(0x1f80);
        cr_assert_eq(after & ~0x3fu, modes[i] & ~0x3fu, "%#x became %#x", modes[i], after);
    }
    ASSERT_NO_LEAK();
}

/* Records are coded and decoded where every exception is trapped, and leave no flag behind. */
Test(codec_counts, no_trap_is_sprung)
{
    struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_COUNTS, .elem_bytes = 4};
    uint32_t after;

    counts_data_fill(&rows_and_columns, elements_of_modes);
    counts_data_params(&rows_and_columns, &sparse.counts);
    _mm_setcsr(0x6000);
    (void)code_all(&sparse, ROWS, COLUMNS, (const uint8_t *)elements_of_modes);
    after = _mm_getcsr();
    _mm_setcsr(0x1f80);
    cr_assert_eq(after, 0x6000, "%#x", after);
    lp_codec_sparse_fini(&sparse);
    ASSERT_NO_LEAK();
}
#endif

/* --- metadata and records -------------------------------------------------------------------- */

static int parse(struct lp_counts *counts, uint32_t n_columns, const void *meta, uint64_t bytes)
{
    return lp_codec_counts_meta_parse(counts, n_columns, meta, bytes, NULL);
}

/* What is emitted comes back; cut anywhere, or with a scale out of range, it is refused. */
Test(codec_counts, metadata_is_read_strictly)
{
    static const uint32_t scales[] = {0,          76u << 23 | 0x7fffff, 178u << 23,
                                      0xbf800000, 0x7f800000,           0x7fc00000};
    struct lp_counts counts, again;
    uint8_t meta[8192], other[8192];
    uint64_t bytes;

    counts_data_params(&rows_and_columns, &counts);
    bytes = lp_codec_counts_meta_bytes(&counts);
    lp_codec_counts_meta_emit(&counts, meta);
    cr_assert_eq(parse(&again, COLUMNS, meta, bytes), 0);
    cr_assert_eq(lp_codec_counts_meta_bytes(&again), bytes);
    lp_codec_counts_meta_emit(&again, other);
    cr_assert_arr_eq(other, meta, bytes);
    lp_codec_counts_fini(&again);
    for (uint64_t n = 0; n < bytes; n++)
        cr_assert_eq(parse(&again, COLUMNS, meta, n), LP_ECORRUPT);
    cr_assert_eq(parse(&again, COLUMNS + 1, meta, bytes), LP_ECORRUPT);
    for (size_t i = 0; i < LP_ARRAY_LEN(scales); i++) {
        lp_store_u32(meta + 8, scales[i]);
        cr_assert_eq(parse(&again, COLUMNS, meta, bytes), LP_ECORRUPT, "%#x", scales[i]);
    }
    lp_store_u32(meta + 8, 77u << 23);
    lp_store_u32(meta + 12, 177u << 23 | 0x7fffff);
    cr_assert_eq(parse(&again, COLUMNS, meta, bytes), 0);
    lp_codec_counts_fini(&again);
    lp_codec_counts_fini(&counts);
    ASSERT_NO_LEAK();
}

/* The same with any allocation that fails. */
Test(codec_counts, parsing_survives_failing_allocations)
{
    struct lp_counts counts, again;
    struct fault_loop loop;
    uint8_t meta[8192];

    counts_data_params(&rows_and_columns, &counts);
    lp_codec_counts_meta_emit(&counts, meta);
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = parse(&again, COLUMNS, meta, lp_codec_counts_meta_bytes(&counts));

        cr_assert_eq(rc, fault_loop_hit(&loop) ? LP_ENOMEM : 0);
        if (rc == 0)
            lp_codec_counts_fini(&again);
    }
    lp_codec_counts_fini(&counts);
    ASSERT_NO_LEAK();
}

/* No dtype but f32 has counts. */
Test(codec_counts, other_dtypes_have_none)
{
    struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_COUNTS, .elem_bytes = 4}, again;
    uint8_t meta[8192];

    counts_data_params(&rows_and_columns, &sparse.counts);
    lp_codec_sparse_meta_emit(&sparse, meta);
    cr_assert_eq(lp_codec_sparse_meta_parse(&again, LP_DTYPE_F32, COLUMNS, meta,
                                            lp_codec_sparse_meta_bytes(&sparse), NULL),
                 0);
    lp_codec_sparse_fini(&again);
    cr_assert_eq(lp_codec_sparse_meta_parse(&again, LP_DTYPE_I32, COLUMNS, meta,
                                            lp_codec_sparse_meta_bytes(&sparse), NULL),
                 LP_ECORRUPT);
    lp_codec_sparse_fini(&sparse);
    ASSERT_NO_LEAK();
}

static int decode_everywhere(const struct lp_sparse *sparse, const uint8_t *record, uint32_t stored,
                             uint32_t n)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    uint8_t *const src = malloc(stored + LP_CODEC_SLACK_BYTES);
    uint8_t *const dst = malloc(n * sizeof(float)), *const first = malloc(n * sizeof(float));
    int rc = 0;

    memcpy(src, record, stored);
    memset(src + stored, 0xff, LP_CODEC_SLACK_BYTES);
    for (int t = 0; t < n_tiers; t++) {
        const int tier_rc = lp_codec_sparse_decode(sparse, tiers[t], src, stored, 1, dst, n, NULL);

        cr_assert(t == 0 || tier_rc == rc, "%s", tiers[t]->tier);
        rc = tier_rc;
        if (t == 0)
            memcpy(first, dst, n * sizeof(float));
        else
            cr_assert(rc != 0 || memcmp(first, dst, n * sizeof(float)) == 0);
    }
    free(src);
    free(dst);
    free(first);
    return rc;
}

/* A record cut anywhere is refused, also within its scale, and so is a scale out of range; with a
 * bit changed it is refused by all or means the same to all. */
Test(codec_counts, hostile_records_are_refused)
{
    static float elements[ROWS * COLUMNS];
    struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_COUNTS, .elem_bytes = 4};
    uint8_t record[COLUMNS * sizeof(float) + LP_CODEC_SLACK_BYTES];
    uint32_t size, scale_at;

    counts_data_fill(&rows_and_columns, elements);
    counts_data_params(&rows_and_columns, &sparse.counts);
    size = lp_codec_sparse_encode(&sparse, lp_codec_ops(), elements, COLUMNS, record,
                                  COLUMNS * sizeof(float));
    cr_assert_gt(size, 0);
    cr_assert_eq(lp_load_u16(record) & LP_FORMAT_SPARSE_PLAIN, 0);
    for (uint32_t cut = 0; cut < size; cut++)
        cr_assert_eq(decode_everywhere(&sparse, record, cut, COLUMNS), LP_ECORRUPT, "to %u", cut);
    for (scale_at = 2; lp_load_u32(record + scale_at) != counts_data_row(&rows_and_columns, 0);)
        cr_assert_lt(++scale_at, size, "the row has another scale than it was made with");
    for (uint32_t e = 0; e < 512; e++) {
        lp_store_u32(record + scale_at, e << 23 | 5);
        cr_assert_eq(decode_everywhere(&sparse, record, size, COLUMNS),
                     e >= 77 && e <= 177 ? 0 : LP_ECORRUPT, "exponent and sign %u", e);
    }
    lp_store_u32(record + scale_at, counts_data_row(&rows_and_columns, 0));
    for (uint32_t bit = 0; bit < 8 * size; bit++) {
        record[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)decode_everywhere(&sparse, record, size, COLUMNS);
        record[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    lp_codec_sparse_fini(&sparse);
    ASSERT_NO_LEAK();
}

/* Scales at both ends of what they may be, the largest count and residuals: no tier leaves the
 * normal numbers, and all agree. */
Test(codec_counts, scales_at_the_ends_of_their_range)
{
    static const uint32_t ends[] = {77u << 23, 77u << 23 | 0x7fffff, 177u << 23,
                                    177u << 23 | 0x7fffff};
    static const uint8_t widths[1] = {3};
    const uint32_t values[] = {0, 15, 8, 0xfffff, 0xffff0, 0x100000, 0xffffffff};

    for (size_t i = 0; i < 16; i++) {
        struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_COUNTS, .elem_bytes = 4};
        uint32_t columns[64], elements[64] = {0};
        uint8_t record[sizeof(elements) + LP_CODEC_SLACK_BYTES];
        struct lp_dict symbols;
        uint32_t size;

        for (uint32_t c = 0; c < 64; c++) {
            columns[c] = ends[i % 4];
            if (c % 9 == 0 && c < 63)
                elements[c] = lp_counts_element(values[c / 9], ends[i / 4], columns[c]);
        }
        cr_assert_eq(lp_codec_dict_init(&symbols, 4, 1, widths, 7, values, NULL), 0);
        cr_assert_eq(lp_codec_counts_init_take(&sparse.counts, 64, columns, &symbols, NULL), 0);
        size =
            lp_codec_sparse_encode(&sparse, lp_codec_ops(), elements, 64, record, sizeof(elements));
        cr_assert_gt(size, 0);
        cr_assert_eq(decode_everywhere(&sparse, record, size, 64), 0);
        cr_assert_eq(code_all(&sparse, 1, 64, (const uint8_t *)elements), size);
        lp_codec_sparse_fini(&sparse);
    }
    ASSERT_NO_LEAK();
}

/* Values without a symbol, and rows that no scale explains, are kept all the same. */
Test(codec_counts, odd_values_come_back)
{
    const struct counts_data odd = {
        .n_rows = 64, .n_columns = 333, .of = 9, .seed = 9, .odd = true};
    static float elements[64 * 333];
    struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_COUNTS, .elem_bytes = 4};

    counts_data_fill(&odd, elements);
    counts_data_params(&odd, &sparse.counts);
    for (uint32_t n = 1; n <= 333; n++)
        (void)code_all(&sparse, 1, n, (const uint8_t *)elements + (size_t)(n % 50) * 333 * 4);
    (void)code_all(&sparse, 64, 333, (const uint8_t *)elements);
    lp_codec_sparse_fini(&sparse);
    ASSERT_NO_LEAK();
}

/* A whole table, asked for or chosen, in both layouts, in records of one row and of several. */
Test(codec_counts, tables_come_back)
{
    static float elements[ROWS * COLUMNS], back[ROWS * COLUMNS];
    const uint64_t dims[2] = {ROWS, COLUMNS};
    uint64_t rows[ROWS];

    counts_data_fill(&rows_and_columns, elements);
    for (uint64_t r = 0; r < ROWS; r++)
        rows[r] = (r * 77) % ROWS;
    for (uint32_t i = 0; i < 4; i++) {
        const struct lp_plan_params params = {
            .codec = LP_CODEC_SPARSE, .layout = 1 + i % 2, .record_rows = 1 + 6 * (i / 2)};
        struct packed packed;
        char text[96];

        packed_must(&packed, LP_DTYPE_F32, 2, dims, &params, elements);
        cr_assert_eq(packed.table.codec, LP_CODEC_SPARSE, "%s", packed.table.reason);
        lp_codec_table_describe(&packed.table, text, sizeof(text));
        cr_assert(params.record_rows != 1 || strstr(text, "counts") != NULL, "%s", text);
        cr_assert_eq(
            lp_codec_view_gather(&packed.view, rows, 8, ROWS, back, sizeof(back), NULL, NULL), 0);
        for (uint64_t r = 0; r < ROWS; r++)
            cr_assert(memcmp(back + r * COLUMNS, elements + rows[r] * COLUMNS,
                             COLUMNS * sizeof(float)) == 0);
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}
