/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/plan.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct lp_geometry geometry_of(uint32_t dtype, uint64_t rows, uint64_t columns)
{
    struct lp_geometry geometry;

    cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, 2, (uint64_t[]){rows, columns}, NULL), 0);
    return geometry;
}

/* Plan for rows x columns of one kind of data; everything is priced. */
static struct lp_table plan(enum samples_kind kind, uint32_t dtype, uint64_t rows, uint64_t columns,
                            const struct lp_plan_params *params, struct lp_prices *ret_prices)
{
    const struct lp_geometry geometry = geometry_of(dtype, rows, columns);
    void *const data = malloc(geometry.logical_bytes + 8);
    struct lp_error err = LP_ERROR_INIT;
    struct lp_table table;

    samples_fill(kind, dtype, geometry.n_elements, 11, data);
    cr_assert_eq(
        lp_codec_plan(&table, &geometry, params, data, geometry.n_elements, ret_prices, &err), 0,
        "%s", err.text);
    cr_assert_neq(table.reason[0], '\0');
    free(data);
    return table;
}

static const struct lp_price *price_of(const struct lp_prices *prices, uint32_t codec, uint32_t s)
{
    for (uint32_t i = 0; i < prices->n; i++)
        if (prices->price[i].codec == codec && prices->price[i].ibp_word_bytes == s)
            return &prices->price[i];
    cr_assert_fail("codec %u is not priced", codec);
    return NULL;
}

/* Bell curves go to lane; the prices stand beside each other, and the bound is below them all. */
Test(codec_plan, auto_takes_the_cheapest)
{
    struct lp_prices prices;
    struct lp_table table = plan(SAMPLES_NORMAL, LP_DTYPE_BF16, 500, 128, NULL, &prices);
    const uint64_t raw = price_of(&prices, LP_CODEC_RAW, 0)->cost_bytes;
    const uint64_t lane = price_of(&prices, LP_CODEC_LANE, 0)->cost_bytes;

    cr_assert_eq(table.codec, LP_CODEC_LANE);
    cr_assert_eq(prices.sample_bytes, raw);
    cr_assert_eq(prices.n, 7);
    cr_assert_lt(lane, raw);
    cr_assert_lt(lane, price_of(&prices, LP_CODEC_IBP, 4)->cost_bytes);
    cr_assert_lt(lane, price_of(&prices, LP_CODEC_IBP, 8)->cost_bytes);
    cr_assert(prices.entropy_bits > 2.4 && prices.entropy_bits < 2.7, "%f", prices.entropy_bits);
    cr_assert_float_eq(prices.bound_saving, 1 - (8 + prices.entropy_bits) / 16, 1e-12);
    cr_assert_gt(1 - (double)price_of(&prices, LP_CODEC_LANE, 0)->payload_bytes / (double)raw,
                 0.96 * prices.bound_saving);
    lp_codec_table_fini(&table);
}

/* Who does not ask for prices gets the same choice, though less is tried. */
Test(codec_plan, the_choice_does_not_depend_on_who_looks)
{
    static const uint64_t shapes[][2] = {{3, 7}, {40, 64}, {300, 32}, {2000, 40}};
    static const uint32_t dtypes[] = {LP_DTYPE_F64, LP_DTYPE_F32, LP_DTYPE_BF16, LP_DTYPE_I8};

    for (uint32_t kind = 0; kind < SAMPLES_KINDS; kind++) {
        for (uint32_t i = 0; i < LP_ARRAY_LEN(shapes) * LP_ARRAY_LEN(dtypes); i++) {
            const struct lp_plan_params params = {
                .layout = (kind + i) % 3 == 0 ? LP_LAYOUT_SLOTTED : LP_LAYOUT_PACKED,
                .access = (kind + i) % 5 == 0 ? LP_ACCESS_ROWS : LP_ACCESS_WHOLE};
            const uint32_t dtype = dtypes[i % LP_ARRAY_LEN(dtypes)];
            const uint64_t *const shape = shapes[i / LP_ARRAY_LEN(dtypes)];
            struct lp_prices prices;
            struct lp_table a =
                plan((enum samples_kind)kind, dtype, shape[0], shape[1], &params, &prices);
            struct lp_table b =
                plan((enum samples_kind)kind, dtype, shape[0], shape[1], &params, NULL);

            cr_assert_eq(a.codec, b.codec);
            cr_assert_eq(a.head_bytes, b.head_bytes);
            cr_assert_str_eq(a.reason, b.reason);
            lp_codec_table_fini(&a);
            lp_codec_table_fini(&b);
        }
    }
    ASSERT_NO_LEAK();
}

/* Each bit is set in some twentieths of the rows: thresholds in hundredths are met exactly, so a
 * product rounded in another way gives other masks. */
static void fill_twentieths(uint32_t *words, uint32_t n_rows, uint32_t n_words)
{
    for (uint32_t r = 0; r < n_rows; r++)
        for (uint32_t w = 0; w < n_words; w++) {
            words[r * n_words + w] = 0;
            for (uint32_t b = 0; b < 32; b++)
                if (20 * r < n_rows * ((w + b) % 21))
                    words[r * n_words + w] |= UINT32_C(1) << b;
        }
}

/* The rounding mode of the thread changes no byte of what is packed, and is not changed. */
Test(codec_plan, every_rounding_mode_gives_the_same)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const struct lp_plan_params params = {.codec = LP_CODEC_IBP, .ibp_exact = true};

    for (uint32_t n_rows = 20; n_rows <= 400; n_rows += 20) {
        const uint64_t dims[] = {n_rows, 64};
        struct packed first, other;
        uint32_t words[400 * 64];

        fill_twentieths(words, n_rows, 64);
        packed_must(&first, LP_DTYPE_I32, 2, dims, &params, words);
        for (size_t i = 0; i < LP_ARRAY_LEN(modes); i++) {
            (void)fesetround(modes[i]);
            packed_must(&other, LP_DTYPE_I32, 2, dims, &params, words);
            cr_assert_eq(fegetround(), modes[i]);
            (void)fesetround(FE_TONEAREST);
            cr_assert_eq(first.table.head_bytes, other.table.head_bytes);
            cr_assert(memcmp(first.head, other.head, first.table.head_bytes) == 0,
                      "%u rows, mode %d", (unsigned)n_rows, modes[i]);
            packed_fini(&other);
        }
        packed_fini(&first);
    }
    ASSERT_NO_LEAK();
}

/* Prices of a whole tensor are what packing it then gives. */
Test(codec_plan, prices_are_exact_for_a_whole_tensor)
{
    static const uint32_t codecs[] = {LP_CODEC_IBP, LP_CODEC_LANE};

    for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++) {
        for (uint32_t layout = LP_LAYOUT_PACKED; layout < LP_LAYOUT_END; layout++) {
            const struct lp_plan_params params = {
                .codec = codecs[c], .layout = layout, .ibp_word_bytes = 4};
            const struct lp_geometry geometry = geometry_of(LP_DTYPE_F32, 200, 200);
            float *const data = malloc(geometry.logical_bytes);
            const struct lp_price *price;
            struct lp_prices prices;
            struct packed packed;
            struct lp_table table;

            samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, geometry.n_elements, 11, data);
            cr_assert_eq(
                lp_codec_plan(&table, &geometry, &params, data, geometry.n_elements, &prices, NULL),
                0);
            cr_assert_eq(packed_make(&packed, &geometry, &params, data, 0, NULL), 0);
            price = price_of(&prices, codecs[c], codecs[c] == LP_CODEC_IBP ? 4 : 0);
            cr_assert_eq(packed.table.payload_bytes, price->payload_bytes);
            cr_assert_eq(packed.table.meta_bytes, price->meta_bytes);
            cr_assert_eq(layout == LP_LAYOUT_PACKED
                             ? packed.table.data_bytes + packed.table.index_bytes
                             : packed.table.wire_bytes,
                         price->cost_bytes);
            packed_fini(&packed);
            lp_codec_table_fini(&table);
            free(data);
        }
    }
    ASSERT_NO_LEAK();
}

/* Integers have no exponent: lane says so, others take them where bits are invariant, values few or
 * most of them zero. */
Test(codec_plan, integers_have_no_exponent)
{
    const struct lp_plan_params lane = {.codec = LP_CODEC_LANE};
    struct lp_prices prices;
    struct lp_table table = plan(SAMPLES_SPARSE, LP_DTYPE_I64, 300, 64, NULL, &prices);

    cr_assert_eq(table.codec, LP_CODEC_SPARSE);
    cr_assert_lt(price_of(&prices, LP_CODEC_IBP, 8)->cost_bytes, prices.sample_bytes);
    cr_assert_eq(price_of(&prices, LP_CODEC_LANE, 0)->possible, 0);
    cr_assert_neq(price_of(&prices, LP_CODEC_LANE, 0)->note[0], '\0');
    cr_assert_lt(prices.entropy_bits, 0);
    cr_assert_eq(prices.bound_saving, 0);
    lp_codec_table_fini(&table);

    table = plan(SAMPLES_SPARSE, LP_DTYPE_I64, 300, 64, &lane, NULL);
    cr_assert_eq(table.codec, LP_CODEC_RAW);
    cr_assert_not_null(strstr(table.reason, "exponent"));
    lp_codec_table_fini(&table);
}

/* Rows that are no words of 8 or of 4 bytes: the word that fits, or raw with the reason. */
Test(codec_plan, ibp_needs_whole_words)
{
    const struct lp_plan_params wide = {.codec = LP_CODEC_IBP, .ibp_word_bytes = 8};
    const struct lp_plan_params any = {.codec = LP_CODEC_IBP};
    struct lp_table table = plan(SAMPLES_EQUAL, LP_DTYPE_U8, 30, 68, &any, NULL);

    cr_assert_eq(table.codec, LP_CODEC_IBP);
    cr_assert_eq(table.ibp.word_bytes, 4);
    lp_codec_table_fini(&table);
    table = plan(SAMPLES_EQUAL, LP_DTYPE_U8, 30, 68, &wide, NULL);
    cr_assert_eq(table.codec, LP_CODEC_RAW);
    cr_assert_not_null(strstr(table.reason, "words of 8"));
    table = plan(SAMPLES_EQUAL, LP_DTYPE_U8, 30, 67, &any, NULL);
    cr_assert_eq(table.codec, LP_CODEC_RAW);
    ASSERT_NO_LEAK();
}

/* Random bits, all equal, empty: raw, ibp, raw; and min_ratio moves the border. */
Test(codec_plan, auto_knows_when_not_to)
{
    const struct lp_plan_params strict = {.min_ratio = 1.6}, lax = {.min_ratio = 1.4};
    struct lp_prices prices;
    struct lp_table table;

    cr_assert_eq(plan(SAMPLES_RANDOM, LP_DTYPE_F32, 100, 128, NULL, NULL).codec, LP_CODEC_RAW);
    cr_assert_eq(plan(SAMPLES_NORMAL, LP_DTYPE_BF16, 0, 128, NULL, &prices).codec, LP_CODEC_RAW);
    cr_assert_eq(plan(SAMPLES_NORMAL, LP_DTYPE_BF16, 500, 512, &strict, NULL).codec, LP_CODEC_RAW);
    table = plan(SAMPLES_NORMAL, LP_DTYPE_BF16, 500, 512, &lax, NULL);
    cr_assert_eq(table.codec, LP_CODEC_LANE);
    lp_codec_table_fini(&table);
    table = plan(SAMPLES_EQUAL, LP_DTYPE_F32, 500, 128, NULL, NULL);
    cr_assert_eq(table.codec, LP_CODEC_IBP);
    lp_codec_table_fini(&table);
    ASSERT_NO_LEAK();
}

/* In slotted tables only whole sectors count: 64 f32 save under 32 bytes with the published masks,
 * so nothing. */
Test(codec_plan, slotted_prices_are_sectors)
{
    const struct lp_plan_params slotted = {.layout = LP_LAYOUT_SLOTTED, .ibp_exact = true};
    struct lp_prices prices;
    struct lp_table table = plan(SAMPLES_NORMAL, LP_DTYPE_F32, 500, 64, &slotted, &prices);

    cr_assert_eq(table.codec, LP_CODEC_LANE);
    cr_assert_eq(table.layout, LP_LAYOUT_SLOTTED);
    cr_assert_eq(price_of(&prices, LP_CODEC_LANE, 0)->cost_bytes % 32, 0);
    cr_assert_eq(price_of(&prices, LP_CODEC_IBP, 4)->cost_bytes, prices.sample_bytes);
    lp_codec_table_fini(&table);
}

/* With access rows a codec costs the sectors that reading each row alone touches, as the packed
 * table then has it, and the index. */
Test(codec_plan, rows_are_priced_by_what_they_touch)
{
    static const uint32_t columns[] = {8, 25, 64, 200, 8192};
    static const uint32_t codecs[] = {LP_CODEC_RAW, LP_CODEC_LANE, LP_CODEC_IBP};

    for (uint32_t i = 0; i < LP_ARRAY_LEN(columns) * LP_ARRAY_LEN(codecs) * 2; i++) {
        const uint32_t codec = codecs[i % LP_ARRAY_LEN(codecs)];
        const struct lp_geometry geometry =
            geometry_of(LP_DTYPE_F32, 320, columns[i / LP_ARRAY_LEN(codecs) / 2]);
        const bool grouped = i / LP_ARRAY_LEN(codecs) % 2 != 0 && geometry.row_bytes < 4096;
        const struct lp_plan_params params = {.codec = codec,
                                              .access = LP_ACCESS_ROWS,
                                              .ibp_word_bytes = 4,
                                              .record_rows = grouped ? 4 : 0};
        uint8_t *const data = malloc(geometry.logical_bytes);
        const struct lp_price *price;
        struct lp_prices prices;
        struct lp_table table;
        struct packed packed;

        samples_fill(SAMPLES_EQUAL, LP_DTYPE_F32, geometry.n_elements, 11, data);
        samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, geometry.n_elements / 2, 11, data);
        cr_assert_eq(
            lp_codec_plan(&table, &geometry, &params, data, geometry.n_elements, &prices, NULL), 0);
        cr_assert_eq(packed_make(&packed, &geometry, &params, data, 0, NULL), 0);
        cr_assert_eq(packed.table.codec, codec);
        price = price_of(&prices, codec, codec == LP_CODEC_IBP ? 4 : 0);
        if (geometry.n_elements % packed.table.record_elements == 0)
            cr_assert_eq(price->cost_bytes,
                         32 * lp_codec_view_sectors(&packed.view, NULL, 8, 320) +
                             packed.table.index_bytes,
                         "case %u", i);
        cr_assert_leq(price->stored_bytes, packed.table.data_bytes + packed.table.index_bytes);
        packed_fini(&packed);
        lp_codec_table_fini(&table);
        free(data);
    }
    ASSERT_NO_LEAK();
}

/* Rows of 32 bytes share a record and shrink, unless they are read one by one: raw then moves less,
 * or one row a record where that was asked for. Long rows don't mind. */
Test(codec_plan, access_rows_keeps_rows_apart)
{
    struct lp_plan_params params = {.access = LP_ACCESS_WHOLE};
    struct lp_prices prices;
    struct lp_table table = plan(SAMPLES_NORMAL, LP_DTYPE_BF16, 4096, 16, &params, &prices);
    const uint64_t whole = price_of(&prices, LP_CODEC_LANE, 0)->cost_bytes;

    cr_assert_eq(table.codec, LP_CODEC_LANE);
    cr_assert_eq(table.record_bytes, 256);
    cr_assert_eq(whole, price_of(&prices, LP_CODEC_LANE, 0)->stored_bytes);
    cr_assert(!prices.by_rows);
    lp_codec_table_fini(&table);

    params.access = LP_ACCESS_ROWS;
    table = plan(SAMPLES_NORMAL, LP_DTYPE_BF16, 4096, 16, &params, &prices);
    cr_assert_eq(table.codec, LP_CODEC_RAW);
    cr_assert_eq(price_of(&prices, LP_CODEC_RAW, 0)->cost_bytes, 4096 * 32);
    cr_assert_neq(strstr(table.reason, "moves"), NULL, "%s", table.reason);
    cr_assert(prices.by_rows);
    lp_codec_table_fini(&table);

    params.codec = LP_CODEC_LANE;
    table = plan(SAMPLES_NORMAL, LP_DTYPE_BF16, 4096, 16, &params, NULL);
    cr_assert_eq(table.codec, LP_CODEC_LANE);
    cr_assert_eq(table.record_bytes, 32);
    lp_codec_table_fini(&table);

    params.codec = LP_CODEC_AUTO;
    table = plan(SAMPLES_NORMAL, LP_DTYPE_BF16, 500, 128, &params, NULL);
    cr_assert_eq(table.codec, LP_CODEC_LANE);
    cr_assert_eq(table.record_bytes, 256);
    lp_codec_table_fini(&table);
    ASSERT_NO_LEAK();
}

/* A sample stands for the table; the shape of the table is that of the tensor. */
Test(codec_plan, a_sample_stands_for_the_tensor)
{
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_BF16, 1000000, 128);
    static uint16_t sample[64 * 128];
    struct lp_prices prices;
    struct lp_table table;

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_BF16, LP_ARRAY_LEN(sample), 2, sample);
    cr_assert_eq(
        lp_codec_plan(&table, &geometry, NULL, sample, LP_ARRAY_LEN(sample), &prices, NULL), 0);
    cr_assert_eq(table.codec, LP_CODEC_LANE);
    cr_assert_eq(prices.sample_bytes, sizeof(sample));
    cr_assert_eq(table.n_records, 1000000);
    cr_assert_eq(table.index_bytes, 1000000 / 32 * 72);
    cr_assert_eq(table.segment_bytes, LP_PLAN_SEGMENT_BYTES);
    cr_assert_geq((uint64_t)table.check_records * table.record_bytes, 65536 - 256 * 32);
    lp_codec_table_fini(&table);
    cr_assert_eq(lp_codec_plan(&table, &geometry, NULL, sample, 127, NULL, NULL), LP_EINVAL);
    cr_assert_eq(lp_codec_plan(&table, &geometry, NULL, sample, 128000001, NULL, NULL), LP_EINVAL);
}

/* The record's size is the caller's within the format's limits. */
Test(codec_plan, records_are_rows_or_elements_as_asked)
{
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_F32, 100, 40);
    struct lp_plan_params params = {.record_rows = 8};
    uint32_t elements;

    cr_assert_eq(lp_codec_plan_record(&geometry, NULL, &elements, NULL), 0);
    cr_assert_eq(elements, 40);
    cr_assert_eq(lp_codec_plan_record(&geometry, &params, &elements, NULL), 0);
    cr_assert_eq(elements, 320);
    params.record_rows = 1000;
    cr_assert_eq(lp_codec_plan_record(&geometry, &params, &elements, NULL), 0);
    cr_assert_eq(elements, 4000, "never more than the tensor");
    params.record_elements = 5;
    cr_assert_eq(lp_codec_plan_record(&geometry, &params, &elements, NULL), LP_EINVAL);
    params = (struct lp_plan_params){.record_elements = 7};
    cr_assert_eq(lp_codec_plan_record(&geometry, &params, &elements, NULL), 0);
    cr_assert_eq(elements, 7);
    const struct lp_geometry large = geometry_of(LP_DTYPE_F32, 100000, 40);
    params.record_elements = 16385;
    cr_assert_eq(lp_codec_plan_record(&large, &params, &elements, NULL), LP_EINVAL);
    params = (struct lp_plan_params){.record_rows = UINT32_MAX};
    cr_assert_eq(lp_codec_plan_record(&large, &params, &elements, NULL), LP_EINVAL);
}

/* Parameters that make no sense. */
Test(codec_plan, bad_parameters_are_refused)
{
    static const struct lp_plan_params bad[] = {
        {.codec = LP_CODEC_END},
        {.layout = LP_LAYOUT_END},
        {.access = LP_ACCESS_END},
        {.align_bytes = 8},
        {.align_bytes = 4, .layout = LP_LAYOUT_SLOTTED},
        {.ibp_word_bytes = 2},
        {.ibp_threshold = -1},
        {.ibp_threshold = 1.5f},
        {.ibp_threshold = NAN},
        {.segment_bytes = 65536},
        {.segment_bytes = (4 << 20) + 32},
        {.segment_bytes = 1ull << 41},
        {.min_ratio = -1},
        {.min_ratio = NAN},
        {.min_ratio = INFINITY},
    };
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_F32, 100, 40);
    static float data[4000];
    struct lp_table table;

    for (size_t i = 0; i < LP_ARRAY_LEN(bad); i++)
        cr_assert_eq(lp_codec_plan(&table, &geometry, &bad[i], data, 4000, NULL, NULL), LP_EINVAL,
                     "case %zu", i);
    ASSERT_NO_LEAK();
}
