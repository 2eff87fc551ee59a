/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/lane.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#define ELEMENTS 4096u

static const uint8_t widths_223[LP_FORMAT_LANE_LEVELS_MAX] = {2, 2, 3};
static const uint16_t ranks_13[13] = {118, 119, 117, 116, 120, 115, 114,
                                      113, 112, 111, 110, 109, 121};

/* Learn from records without a shape. */
static int learn(struct lp_lane *lane, uint32_t dtype, const void *elements, uint64_t n_records,
                 uint32_t record_elements, uint64_t *ret_payload, struct lp_error *err)
{
    return lp_codec_lane_learn(lane,
                               &(struct lp_lane_sample){.dtype = dtype,
                                                        .elements = elements,
                                                        .n_records = n_records,
                                                        .record_elements = record_elements},
                               ret_payload, err);
}

static void make_lane(struct lp_lane *lane, uint32_t window)
{
    const struct lp_lane_params params = {.dtype = LP_DTYPE_BF16,
                                          .n_levels = 3,
                                          .widths = widths_223,
                                          .window = window,
                                          .ranks = ranks_13};

    cr_assert_eq(lp_codec_lane_init(lane, &params, NULL), 0);
}

/* What is written is what is read. */
Test(codec_lane, metadata_comes_back)
{
    uint8_t meta[LP_FORMAT_LANE_META_FIXED + 13];
    struct lp_lane lane, back;

    make_lane(&lane, LP_LANE_WINDOW_RECORD);
    cr_assert_eq(lp_codec_lane_meta_bytes(&lane), sizeof(meta));
    lp_codec_lane_meta_emit(&lane, meta);
    cr_assert_eq(lp_codec_lane_meta_parse(&back, LP_DTYPE_BF16, 8, 64, meta, sizeof(meta), NULL),
                 0);
    cr_assert_arr_eq(&lane, &back, sizeof(lane));
}

/* Each broken rule of the document, section 5, is named. */
Test(codec_lane, metadata_is_checked)
{
    static const struct {
        uint32_t at;
        uint8_t value;
    } wrong[] = {{0, 0},  {0, 6},  {1, 0},  {1, 4},  {3, 4},  {4, 1},   {5, 9},
                 {6, 2},  {6, 3},  {7, 3},  {8, 0},  {8, 5},  {8, 11},  {9, 8},
                 {10, 1}, {11, 1}, {12, 1}, {16, 1}, {23, 1}, {25, 118}};
    uint8_t meta[LP_FORMAT_LANE_META_FIXED + 13];
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lane lane, back;

    make_lane(&lane, LP_LANE_WINDOW_TABLE);
    for (size_t i = 0; i < LP_ARRAY_LEN(wrong); i++) {
        lp_codec_lane_meta_emit(&lane, meta);
        meta[wrong[i].at] = wrong[i].value;
        lp_error_clear(&err);
        cr_assert_eq(
            lp_codec_lane_meta_parse(&back, LP_DTYPE_BF16, 8, 64, meta, sizeof(meta), &err),
            LP_ECORRUPT, "byte %u = %u", wrong[i].at, wrong[i].value);
        cr_assert(strstr(err.text, "lane metadata") != NULL, "%s", err.text);
    }
    lp_codec_lane_meta_emit(&lane, meta);
    for (uint64_t n = 0; n < sizeof(meta); n++)
        cr_assert_eq(lp_codec_lane_meta_parse(&back, LP_DTYPE_BF16, 8, 64, meta, n, NULL),
                     LP_ECORRUPT);
    cr_assert_eq(lp_codec_lane_meta_parse(&back, LP_DTYPE_I32, 8, 64, meta, sizeof(meta), NULL),
                 LP_ECORRUPT);
    /* An exponent of f16 has 5 bits. */
    cr_assert_eq(lp_codec_lane_meta_parse(&back, LP_DTYPE_F16, 8, 64, meta, sizeof(meta), NULL),
                 LP_ECORRUPT);
}

/* Metadata of a table of 600 elements in records of 100: columns of period 20, bases after 300. */
#define COLUMNS 40u
#define COLUMNS_META_BYTES (LP_FORMAT_LANE_META_FIXED + 13u + COLUMNS)

static void emit_columns(uint8_t meta[COLUMNS_META_BYTES])
{
    uint16_t columns[COLUMNS];
    struct lp_lane_params params = {.dtype = LP_DTYPE_F32,
                                    .n_levels = 3,
                                    .widths = widths_223,
                                    .ranks = ranks_13,
                                    .window = LP_LANE_WINDOW_COLUMNS,
                                    .sign = LP_LANE_SIGN_ONE,
                                    .trailing_bits = 16,
                                    .column_period = 20,
                                    .column_span = 300,
                                    .n_columns = COLUMNS,
                                    .columns = columns};
    struct lp_lane lane;

    for (uint32_t i = 0; i < COLUMNS; i++)
        columns[i] = (uint16_t)(250 + i % 6);
    cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), 0);
    cr_assert_eq(lp_codec_lane_meta_bytes(&lane), COLUMNS_META_BYTES);
    lp_codec_lane_meta_emit(&lane, meta);
    lp_codec_lane_fini(&lane);
}

static int parse_columns(const uint8_t *meta, uint64_t meta_bytes, uint32_t record_elements,
                         uint64_t n_elements)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lane lane;
    const int rc = lp_codec_lane_meta_parse(&lane, LP_DTYPE_F32, record_elements, n_elements, meta,
                                            meta_bytes, &err);

    if (rc == 0)
        lp_codec_lane_fini(&lane);
    else
        cr_assert(strstr(err.text, "lane metadata") != NULL, "%s", err.text);
    return rc;
}

/* Columns, sign and trailing bits are read as they were written, bases repeated at their end. */
Test(codec_lane, metadata_with_columns_comes_back)
{
    uint8_t meta[COLUMNS_META_BYTES], again[COLUMNS_META_BYTES];
    struct lp_lane lane;

    emit_columns(meta);
    cr_assert_eq(lp_codec_lane_meta_parse(&lane, LP_DTYPE_F32, 100, 600, meta, sizeof(meta), NULL),
                 0);
    cr_assert_eq(lane.column_span, 300);
    cr_assert_eq(lane.fixed_value, 0x80000000);
    cr_assert_eq(lane.fixed_mask, 0x8000ffff);
    cr_assert_eq(lane.byte_bits + lane.plane_bits, 7);
    for (uint32_t i = 0; i < 20 + LP_LANE_COLUMN_SLACK; i++)
        cr_assert_eq(((const uint8_t *)lp_lane_column_group(&lane, 1))[i], 250 + (20 + i % 20) % 6);
    lp_codec_lane_meta_emit(&lane, again);
    cr_assert_arr_eq(again, meta, sizeof(meta));
    lp_codec_lane_fini(&lane);
    ASSERT_NO_LEAK();
}

/* Each broken rule of columns; and metadata that is right, but of another table. */
Test(codec_lane, columns_are_checked)
{
    static const struct {
        uint32_t at;
        uint8_t value;
    } wrong[] = {{6, 0},  {6, 1},  {7, 3},    {9, 24}, {12, 0}, {12, 19}, {12, 40}, {13, 1},
                 {14, 1}, {15, 1}, {15, 255}, {16, 0}, {16, 1}, {17, 0},  {17, 2},  {23, 128}};
    uint8_t meta[COLUMNS_META_BYTES];

    for (size_t i = 0; i < LP_ARRAY_LEN(wrong); i++) {
        emit_columns(meta);
        meta[wrong[i].at] = wrong[i].value;
        cr_assert_eq(parse_columns(meta, sizeof(meta), 100, 600), LP_ECORRUPT, "byte %u = %u",
                     wrong[i].at, wrong[i].value);
    }
    emit_columns(meta);
    cr_assert_eq(parse_columns(meta, sizeof(meta), 300, 600), 0);
    cr_assert_eq(parse_columns(meta, sizeof(meta), 301, 600), LP_ECORRUPT, "span < a record");
    cr_assert_eq(parse_columns(meta, sizeof(meta), 100, 300), LP_ECORRUPT, "span >= the table");
    cr_assert_eq(parse_columns(meta, sizeof(meta), 100, 601), LP_ECORRUPT, "three groups");
    cr_assert_eq(parse_columns(meta, sizeof(meta), 100, UINT64_MAX), LP_ECORRUPT);
    /* As many groups as make groups * period wrap to what there is. */
    lp_store_u32(meta + 12, UINT32_C(1) << 31);
    lp_store_u64(meta + 16, UINT64_C(1) << 31);
    cr_assert_eq(parse_columns(meta, sizeof(meta), 100, UINT64_C(1) << 61), LP_ECORRUPT);
    for (uint64_t n = 0; n < sizeof(meta); n++) {
        emit_columns(meta);
        cr_assert_eq(parse_columns(meta, n, 100, 600), LP_ECORRUPT);
    }
    ASSERT_NO_LEAK();
}

/* A base must be an exponent: E5M2 has 32 of them. Bytes have no sign, and a field of 3 to 6. */
Test(codec_lane, parameters_fit_the_dtype)
{
    static const uint16_t columns[1] = {32}, ranks[3] = {0, 1, 2};
    static const uint8_t widths[1] = {2};
    const struct lp_lane_params good = {
        .dtype = LP_DTYPE_I8, .exponent_bits = 4, .n_levels = 1, .widths = widths, .ranks = ranks};
    struct lp_lane_params params = good;
    struct lp_lane lane;

    cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), 0);
    cr_assert_eq(lane.plane_bits, 4);
    params.trailing_bits = 5;
    cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), LP_ECORRUPT);
    params = good;
    params.sign = LP_LANE_SIGN_ZERO;
    cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), LP_ECORRUPT);
    for (uint32_t bits = 0; bits <= 9; bits++) {
        params = good;
        params.exponent_bits = bits;
        cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL),
                     bits >= 3 && bits <= 6 ? 0 : LP_ECORRUPT, "%u", bits);
    }
    params = good;
    params.dtype = LP_DTYPE_F8_E5M2;
    cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), LP_ECORRUPT, "5 bits, not 4");
    params.exponent_bits = 0;
    cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), 0);
    params.window = LP_LANE_WINDOW_COLUMNS;
    params.column_period = params.n_columns = 1;
    params.columns = columns;
    cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), LP_ECORRUPT, "base 32 of 32");
    ASSERT_NO_LEAK();
}

/* A record that is not as the metadata says is never coded: one sign, one bit is enough. */
Test(codec_lane, odd_records_are_not_coded)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const struct lp_lane_params params = {.dtype = LP_DTYPE_F32,
                                          .n_levels = 3,
                                          .widths = widths_223,
                                          .ranks = ranks_13,
                                          .sign = LP_LANE_SIGN_ZERO,
                                          .trailing_bits = 16};
    static uint8_t coded[4 * ELEMENTS + LP_CODEC_SLACK_BYTES];
    static uint32_t words[ELEMENTS], back[ELEMENTS];
    struct lp_lane lane;

    cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), 0);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        words[i] = (118 + i % 3) << 23 | i % 128 << 16;
    for (int t = 0; t < n_tiers; t++) {
        for (uint32_t n = 1; n <= ELEMENTS; n = 2 * n + 1) {
            const uint32_t last = words[n - 1];
            const uint32_t size = tiers[t]->lane_encode(&lane, words, n, coded, 4 * n);

            cr_assert_gt(size, 0);
            cr_assert_eq(tiers[t]->lane_decode(&lane, coded, size, 1, back, n, NULL), 0);
            cr_assert_arr_eq(back, words, 4 * (size_t)n);
            for (uint32_t bit = 0; bit < 32; bit = bit < 22 ? bit + 1 : bit + 9) {
                words[n - 1] = last | UINT32_C(1) << bit;
                cr_assert_eq(tiers[t]->lane_encode(&lane, words, n, coded, 4 * n),
                             bit < 16 || bit == 31 ? 0 : size, "%s: n %u, bit %u", tiers[t]->tier,
                             n, bit);
                words[n - 1] = last;
            }
        }
    }
}

/* What is the same everywhere is learned, from zeros of one sign to bf16 kept as f32; one odd
 * record among many costs itself, not the table. */
Test(codec_lane, fixed_bits_are_learned)
{
    static uint32_t words[200 * 64];
    struct lp_lane lane;
    uint64_t payload;

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, LP_ARRAY_LEN(words), 1, words);
    for (uint32_t i = 0; i < LP_ARRAY_LEN(words); i++)
        words[i] &= 0x7fff0000;
    cr_assert_eq(learn(&lane, LP_DTYPE_F32, words, 200, 64, &payload, NULL), 0);
    cr_assert_eq(lane.sign, LP_LANE_SIGN_ZERO);
    cr_assert_eq(lane.trailing_bits, 16);
    cr_assert_lt(payload, sizeof(words) / 3);
    words[64] |= 0x80000001;
    cr_assert_eq(learn(&lane, LP_DTYPE_F32, words, 200, 64, &payload, NULL), 0);
    cr_assert_eq(lane.fixed_mask, 0x8000ffff);
    cr_assert_lt(payload, sizeof(words) / 3 + 256);
    for (uint32_t i = 0; i < LP_ARRAY_LEN(words); i += 64)
        words[i] |= 0x80000001;
    cr_assert_eq(learn(&lane, LP_DTYPE_F32, words, 200, 64, &payload, NULL), 0);
    cr_assert_eq(lane.fixed_mask, 0);
    memset(words, 0xff, sizeof(words));
    cr_assert_eq(learn(&lane, LP_DTYPE_F32, words, 200, 64, &payload, NULL), 0);
    cr_assert_eq(lane.sign, LP_LANE_SIGN_ONE);
    memset(words, 0, sizeof(words));
    cr_assert_eq(learn(&lane, LP_DTYPE_F32, words, 200, 64, &payload, NULL), 0);
    cr_assert_eq(lane.trailing_bits, 23);
    cr_assert_eq(lane.byte_bits + lane.plane_bits, 0);
}

/* A plan from the first rows, which are all positive. */
static int plan_from_start(struct lp_table *table, void *user, struct lp_error *err)
{
    int rc;

    lp_codec_lane_fini(&table->lane);
    rc = learn(&table->lane, LP_DTYPE_F32, user, 100, 64, NULL, err);
    table->meta_bytes = rc == 0 ? lp_codec_lane_meta_bytes(&table->lane) : 0;
    return rc;
}

/* Rows behind the sample that are not as it was become raw, and all come back. */
Test(codec_lane, what_the_sample_missed_is_raw)
{
    static uint32_t words[200 * 64], back[200 * 64];
    const struct lp_plan_params params = {.codec = LP_CODEC_LANE};
    struct lp_geometry geometry;
    struct packed packed;

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, LP_ARRAY_LEN(words), 1, words);
    for (uint32_t i = 0; i < LP_ARRAY_LEN(words); i++)
        words[i] &= 0x7ffff000;
    words[150 * 64 + 7] |= 0x80000000;
    words[170 * 64] |= 1;
    words[199 * 64 + 63] = 0x7fc00001; /* a NaN with a payload */
    cr_assert_eq(lp_codec_geometry_init(&geometry, LP_DTYPE_F32, 2, (uint64_t[]){200, 64}, NULL),
                 0);
    cr_assert_eq(
        packed_make_changed(&packed, &geometry, &params, plan_from_start, words, words, NULL), 0);
    cr_assert_eq(packed.table.lane.fixed_mask, 0x80000fff);
    cr_assert_eq(packed.table.raw_records, 3);
    cr_assert_eq(lp_codec_view_elements(&packed.view, 0, LP_ARRAY_LEN(words), back, NULL), 0);
    cr_assert_arr_eq(back, words, sizeof(words));
    packed_fini(&packed);
    ASSERT_NO_LEAK();
}

/* The field of a byte follows the data: one scale wants a fine field, many a coarse one. */
Test(codec_lane, field_of_bytes_follows_the_data)
{
    static int8_t bytes[64 * 512];
    struct lp_lane lane;
    uint64_t payload, state = 1;

    for (uint32_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (int8_t)(__builtin_popcountll(samples_next(&state)) - 32);
    cr_assert_eq(learn(&lane, LP_DTYPE_I8, bytes, 64, 512, &payload, NULL), 0);
    cr_assert_eq(lane.exponent_bits, 6);
    cr_assert_lt(payload, sizeof(bytes) * 2 / 3);
    for (uint32_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (int8_t)(bytes[i] * 7 / 2);
    cr_assert_eq(learn(&lane, LP_DTYPE_I8, bytes, 64, 512, &payload, NULL), 0);
    cr_assert_lt(lane.exponent_bits, 6);
    cr_assert_lt(payload, sizeof(bytes));
    for (uint32_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (int8_t)(bytes[i] * 4);
    cr_assert_eq(learn(&lane, LP_DTYPE_U8, bytes, 64, 512, &payload, NULL), 0);
    cr_assert_eq(lane.exponent_bits + lane.kept_bits, 6);
}

/* Integers of more bytes have no exponent. */
Test(codec_lane, refuses_dtypes_without_exponent)
{
    const uint32_t words[4] = {0};
    struct lp_lane lane;
    uint64_t payload;

    cr_assert_eq(learn(&lane, LP_DTYPE_I32, words, 1, 4, &payload, NULL), LP_ENOTSUP);
    cr_assert_eq(learn(&lane, 99, words, 1, 4, &payload, NULL), LP_ENOTSUP);
    cr_assert_eq(learn(&lane, LP_DTYPE_F32, words, 0, 4, &payload, NULL), LP_EINVAL);
}

/* n elements of a bell curve, whose deviation is 2^scale(record). */
static void fill_scaled(uint16_t *words, uint32_t n_records, uint32_t record_elements, bool vary)
{
    for (uint32_t r = 0; r < n_records; r++) {
        uint16_t *const record = words + (size_t)r * record_elements;

        samples_fill(SAMPLES_NORMAL, LP_DTYPE_BF16, record_elements, r, record);
        for (uint32_t i = 0; vary && i < record_elements; i++)
            record[i] = (uint16_t)(record[i] + (record[i] % 32768 != 0 ? r % 16 * 128 : 0));
    }
}

/* The price is what the encoder then needs, record by record, raw ones included. */
Test(codec_lane, price_is_exact)
{
    static uint16_t words[64 * ELEMENTS];
    static uint8_t coded[2 * ELEMENTS + LP_CODEC_SLACK_BYTES];

    for (uint32_t n = 16; n <= ELEMENTS; n *= 4) {
        const uint32_t n_records = 64 * ELEMENTS / n;
        uint64_t payload, sum = 0;
        struct lp_lane lane;

        fill_scaled(words, n_records, n, n % 3 == 1);
        memset(words, 0x3c, 2 * n);                                   /* one record of one value, */
        samples_fill(SAMPLES_RANDOM, LP_DTYPE_BF16, n, 9, words + n); /* and one of noise */
        cr_assert_eq(learn(&lane, LP_DTYPE_BF16, words, n_records, n, &payload, NULL), 0);
        for (uint32_t r = 0; r < n_records; r++) {
            const uint32_t size =
                lp_codec_ops()->lane_encode(&lane, words + r * n, n, coded, 2 * n - 3);

            sum += size != 0 ? size : 2 * n;
        }
        cr_assert_eq(payload, sum, "records of %u: %llu, not %llu", n, (unsigned long long)payload,
                     (unsigned long long)sum);
    }
}

/* A scale that is the same everywhere needs no base per record; one that changes wants it. */
Test(codec_lane, window_follows_the_scale)
{
    static uint16_t words[64 * 1024];
    struct lp_lane lane;
    uint64_t one_scale, scales;

    fill_scaled(words, 64, 1024, false);
    cr_assert_eq(learn(&lane, LP_DTYPE_BF16, words, 64, 1024, &one_scale, NULL), 0);
    cr_assert_eq(lane.window, LP_LANE_WINDOW_TABLE);
    fill_scaled(words, 64, 1024, true);
    cr_assert_eq(learn(&lane, LP_DTYPE_BF16, words, 64, 1024, &scales, NULL), 0);
    cr_assert_eq(lane.window, LP_LANE_WINDOW_RECORD);
    /* The records are the same up to their scale, and cost the same up to their base. */
    cr_assert_leq(scales, one_scale + 64 * 8);
}

/* Bits per value of a bell curve: the bar of the codec page is 10.72 at every scale. */
Test(codec_lane, bell_curve_stays_below_the_bar)
{
    static uint16_t words[256 * ELEMENTS];

    for (uint32_t phase = 0; phase < 16; phase++) {
        const double scale = exp2(phase / 16.0) * 0.02;
        uint64_t payload, state = phase;
        struct lp_lane lane;

        for (uint32_t i = 0; i < 256 * ELEMENTS; i += 2) {
            const double u = (double)(samples_next(&state) >> 11) * 0x1p-53 + 0x1p-54;
            const double v = (double)(samples_next(&state) >> 11) * 0x1p-53;
            const double radius = scale * sqrt(-2 * log(u));

            for (uint32_t j = 0; j < 2; j++) {
                const float x = (float)(radius * (j == 0 ? cos(6.283185307179586 * v)
                                                         : sin(6.283185307179586 * v)));
                uint32_t bits;

                memcpy(&bits, &x, 4);
                words[i + j] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
            }
        }
        cr_assert_eq(learn(&lane, LP_DTYPE_BF16, words, 256, ELEMENTS, &payload, NULL), 0);
        cr_assert_leq(8.0 * (double)payload, 10.72 * 256 * ELEMENTS, "phase %u: %.3f bits", phase,
                      8.0 * (double)payload / (256 * ELEMENTS));
    }
}

/* Few exponents, or none but one: still valid parameters. */
Test(codec_lane, learns_from_any_data)
{
    static uint8_t bytes[8 * 1000];

    for (uint32_t dtype = LP_DTYPE_F64; dtype <= LP_DTYPE_U8; dtype++) {
        for (uint32_t kind = 0; kind < SAMPLES_KINDS; kind++) {
            uint8_t meta[LP_FORMAT_LANE_META_FIXED + 2 * LP_FORMAT_LANE_SYMBOLS_MAX];
            struct lp_lane lane, back;
            uint64_t payload;

            samples_fill((enum samples_kind)kind, dtype, 1000, kind, bytes);
            cr_assert_eq(learn(&lane, dtype, bytes, 10, 100, &payload, NULL), 0);
            cr_assert_leq(payload, 1000 * (uint64_t)lp_codec_dtype_info(dtype)->bytes);
            lp_codec_lane_meta_emit(&lane, meta);
            cr_assert_eq(lp_codec_lane_meta_parse(&back, dtype, 8, 64, meta,
                                                  lp_codec_lane_meta_bytes(&lane), NULL),
                         0);
        }
    }
    ASSERT_NO_LEAK();
}

/* Without memory: an error, and a retry works. */
Test(codec_lane, learning_survives_a_lack_of_memory)
{
    static uint16_t words[1000];
    struct fault_loop loop;

    fill_scaled(words, 10, 100, false);
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct lp_error err = LP_ERROR_INIT;
        struct lp_lane lane;
        uint64_t payload = 1;
        const int rc = learn(&lane, LP_DTYPE_BF16, words, 10, 100, &payload, &err);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            cr_assert_eq(payload, 1);
            continue;
        }
        cr_assert_eq(rc, 0);
    }
    cr_assert_gt(loop.nth, 1);
    ASSERT_NO_LEAK();
}
