/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/codec_zip7.h"
#include "codec/ops.h"
#include "codec/plan.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#define ELEMENTS 4096u
#define BELL_ELEMENTS (64u * ELEMENTS)

static uint16_t words[BELL_ELEMENTS];

static uint16_t bf16_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Bell curve of this deviation into words. */
static void fill_bell(double sigma, uint64_t seed)
{
    for (uint32_t i = 0; i < BELL_ELEMENTS; i += 2) {
        const double u = (double)(samples_next(&seed) >> 11) * 0x1p-53 + 0x1p-54;
        const double turn = 6.283185307179586 * (double)(samples_next(&seed) >> 11) * 0x1p-53;
        const double radius = sigma * sqrt(-2 * log(u));

        words[i] = bf16_of((float)(radius * cos(turn)));
        words[i + 1] = bf16_of((float)(radius * sin(turn)));
    }
}

static void init(struct lp_lane *lane, uint32_t first)
{
    cr_assert_eq(lp_codec_zip7_init(lane, LP_DTYPE_BF16, first, NULL), 0);
}

/* Bits per value of words in records of ELEMENTS, raw ones included; *ret_covered gets the share
 * of exponents in the window. */
static double bits_per_value(const struct lp_lane *lane, double *ret_covered)
{
    static uint8_t coded[2 * ELEMENTS + LP_CODEC_SLACK_BYTES];
    uint64_t bytes = 0, escapes = 0;

    for (uint32_t at = 0; at < BELL_ELEMENTS; at += ELEMENTS) {
        const uint32_t size =
            lp_codec_ops()->lane_encode(lane, words + at, ELEMENTS, coded, 2 * ELEMENTS);

        bytes += size == 0 ? 2 * ELEMENTS : size;
        if (size == 0)
            continue;
        escapes += lp_codec_zip7_dynamic_bytes(coded, ELEMENTS);
        cr_assert_eq(size, lp_codec_zip7_static_bytes(ELEMENTS) +
                               lp_codec_zip7_dynamic_bytes(coded, ELEMENTS));
    }
    if (ret_covered != NULL)
        *ret_covered = 1 - (double)escapes / BELL_ELEMENTS;
    return 8.0 * (double)bytes / BELL_ELEMENTS;
}

/* The paper's examples, the turn within an octave, and the ends of the range. */
Test(codec_zip7, sigma_places_the_window)
{
    static const struct {
        float sigma;
        uint32_t first;
    } cases[] = {{0.02f, 116},   {0.01f, 115},   {1, 122},       {1.6466f, 122},
                 {1.6468f, 123}, {0x1p-122f, 0}, {0, 0},         {0x1p-140f, 0},
                 {-1, 0},        {3e38f, 249},   {0x1p126f, 248}};

    for (size_t i = 0; i < LP_ARRAY_LEN(cases); i++)
        cr_assert_eq(lp_codec_zip7_first_of_sigma(cases[i].sigma), cases[i].first, "sigma %g",
                     (double)cases[i].sigma);
    cr_assert_eq(lp_codec_zip7_first_of_sigma(INFINITY), 249);
    cr_assert_leq(lp_codec_zip7_first_of_sigma(NAN), 249);
}

/* The window with most in it; where several in a row hold all, the middle one. */
Test(codec_zip7, counts_place_the_window)
{
    uint32_t hist[256] = {0};

    cr_assert_eq(lp_codec_zip7_first_of_counts(hist), 124, "nothing counted: any will do");
    hist[127] = 5;
    cr_assert_eq(lp_codec_zip7_first_of_counts(hist), 124);
    hist[0] = 6;
    cr_assert_eq(lp_codec_zip7_first_of_counts(hist), 0, "zeros are exponents, too");
    hist[0] = 0;
    hist[255] = 9;
    cr_assert_eq(lp_codec_zip7_first_of_counts(hist), 249);
    hist[121] = 5;
    cr_assert_eq(lp_codec_zip7_first_of_counts(hist), 121);
}

/* What is written is what is read; what breaks the document's section 6 is refused. */
Test(codec_zip7, metadata_comes_back_and_is_checked)
{
    uint8_t meta[LP_FORMAT_ZIP7_META_BYTES];
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lane lane, back;

    for (uint32_t first = 0; first <= LP_FORMAT_ZIP7_FIRST_MAX; first++) {
        init(&lane, first);
        lp_codec_zip7_meta_emit(&lane, meta);
        cr_assert_eq(lp_codec_zip7_meta_parse(&back, LP_DTYPE_BF16, meta, sizeof(meta), NULL), 0);
        cr_assert_arr_eq(&lane, &back, sizeof(lane));
    }
    meta[0] = LP_FORMAT_ZIP7_FIRST_MAX + 1;
    cr_assert_eq(lp_codec_zip7_meta_parse(&back, LP_DTYPE_BF16, meta, 8, &err), LP_ECORRUPT);
    cr_assert_not_null(strstr(err.text, "exponent 250"));
    meta[0] = 100;
    for (uint64_t n = 0; n < 20; n++)
        if (n != sizeof(meta))
            cr_assert_eq(lp_codec_zip7_meta_parse(&back, LP_DTYPE_BF16, meta, n, NULL),
                         LP_ECORRUPT);
    for (uint32_t i = 1; i < sizeof(meta); i++) {
        meta[i] = 1;
        cr_assert_eq(lp_codec_zip7_meta_parse(&back, LP_DTYPE_BF16, meta, 8, NULL), LP_ECORRUPT);
        meta[i] = 0;
    }
    cr_assert_eq(lp_codec_zip7_meta_parse(&back, LP_DTYPE_F16, meta, 8, NULL), LP_ECORRUPT);
    cr_assert_eq(lp_codec_zip7_meta_parse(&back, 99, meta, 8, NULL), LP_ECORRUPT);
}

/* Anything but bf16 is refused by name, and a plan says so. */
Test(codec_zip7, is_for_bf16_only)
{
    const struct lp_plan_params params = {.codec = LP_CODEC_ZIP7};
    static const float data[256];
    struct lp_error err = LP_ERROR_INIT;
    struct lp_geometry geometry;
    struct lp_table table;
    struct lp_lane lane;

    cr_assert_eq(lp_codec_zip7_learn(&lane, LP_DTYPE_F32, data, 256, &err), LP_ENOTSUP);
    cr_assert_not_null(strstr(err.text, "f32"));
    cr_assert_eq(lp_codec_zip7_learn(&lane, 99, data, 256, NULL), LP_ENOTSUP);
    cr_assert_eq(lp_codec_geometry_init(&geometry, LP_DTYPE_F32, 1, (uint64_t[]){256}, NULL), 0);
    cr_assert_eq(lp_codec_plan(&table, &geometry, &params, data, 256, NULL, NULL), 0);
    cr_assert_eq(table.codec, LP_CODEC_RAW);
    cr_assert_not_null(strstr(table.reason, "bf16, not f32"), "%s", table.reason);
}

/* 16 scales within an octave: the bar of the codec page is 11.26 bits with counts, and from the
 * deviation alone 96.97 to 97.87 % are in the window. */
Test(codec_zip7, bell_curve_stays_below_the_bar)
{
    for (uint32_t phase = 0; phase < 16; phase++) {
        const double sigma = 0.02 * exp2(phase / 16.0);
        struct lp_lane lane;
        double covered;

        fill_bell(sigma, phase);
        cr_assert_eq(lp_codec_zip7_learn(&lane, LP_DTYPE_BF16, words, BELL_ELEMENTS, NULL), 0);
        cr_assert_leq(bits_per_value(&lane, NULL), 11.26, "phase %u", phase);
        init(&lane, lp_codec_zip7_first_of_sigma((float)sigma));
        cr_assert_leq(bits_per_value(&lane, &covered), 11.26, "phase %u", phase);
        cr_assert(covered > 0.968 && covered < 0.980, "phase %u: %.4f", phase, covered);
    }
}

/* What a wrong deviation costs: 3 bits when it is 4 times too small, 0.15 when 2 times too large;
 * never more than raw. */
Test(codec_zip7, a_wrong_sigma_costs_what_the_paper_says)
{
    struct lp_lane lane;
    double right, cost;

    fill_bell(0.02, 3);
    init(&lane, lp_codec_zip7_first_of_sigma(0.02f));
    right = bits_per_value(&lane, NULL);
    init(&lane, lp_codec_zip7_first_of_sigma(0.04f));
    cost = bits_per_value(&lane, NULL) - right;
    cr_assert(cost > 0.10 && cost < 0.20, "twice: %.3f", cost);
    init(&lane, lp_codec_zip7_first_of_sigma(0.005f));
    cost = bits_per_value(&lane, NULL) - right;
    cr_assert(cost > 2.5 && cost < 3.5, "a quarter: %.3f", cost);
    init(&lane, lp_codec_zip7_first_of_sigma(1e-6f));
    cr_assert_eq(bits_per_value(&lane, NULL), 16);
}

/* All 65,536 patterns come back, zeros as escapes. */
Test(codec_zip7, every_pattern_comes_back)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    static uint8_t coded[2 * ELEMENTS + LP_CODEC_SLACK_BYTES];
    uint16_t record[ELEMENTS], back[ELEMENTS];
    struct lp_lane lane;

    init(&lane, 116);
    for (uint32_t first = 0; first < 65536; first += 256) {
        uint32_t want = 0;

        /* Enough of the window, or the record would be raw. */
        for (uint32_t i = 0; i < ELEMENTS; i++)
            record[i] = (uint16_t)(i < 256 ? first + i : 119 << 7);
        record[300] = 0;
        for (uint32_t i = 0; i < ELEMENTS; i++)
            want += (record[i] >> 7 & 255) < 116 || (record[i] >> 7 & 255) > 122;
        for (int t = 0; t < n_tiers; t++) {
            const uint32_t size =
                tiers[t]->lane_encode(&lane, record, ELEMENTS, coded, 2 * ELEMENTS);

            cr_assert_eq(size, lp_codec_zip7_static_bytes(ELEMENTS) + want);
            cr_assert_eq(lp_codec_zip7_dynamic_bytes(coded, ELEMENTS), want);
            cr_assert_eq(tiers[t]->lane_decode(&lane, coded, size, 1, back, ELEMENTS, NULL), 0);
            cr_assert_arr_eq(back, record, sizeof(record));
        }
    }
}

/* Zeros are escapes: half of them cost 4 bits a value. A record of zeros learns them instead. */
Test(codec_zip7, zeros_are_escapes)
{
    struct lp_lane lane;
    double dense, sparse;

    fill_bell(0.02, 1);
    init(&lane, 116);
    dense = bits_per_value(&lane, NULL);
    for (uint32_t i = 0; i < BELL_ELEMENTS; i += 2)
        words[i] = 0;
    sparse = bits_per_value(&lane, NULL);
    cr_assert(sparse - dense > 3.8 && sparse - dense < 4, "%.3f", sparse - dense);
    memset(words, 0, sizeof(words));
    cr_assert_eq(lp_codec_zip7_learn(&lane, LP_DTYPE_BF16, words, BELL_ELEMENTS, NULL), 0);
    cr_assert_eq(bits_per_value(&lane, NULL), 11);
}

/* A table comes back through plan, packer and view, the window counted and from the deviation;
 * auto leaves bell curves to lane. */
Test(codec_zip7, tables_come_back)
{
    static const float sigmas[] = {0, 0.02f};
    const uint64_t dims[] = {BELL_ELEMENTS / 128, 128};
    static uint16_t back[BELL_ELEMENTS];

    fill_bell(0.02, 5);
    for (size_t i = 0; i < LP_ARRAY_LEN(sigmas); i++) {
        const struct lp_plan_params params = {.codec = LP_CODEC_ZIP7, .zip7_sigma = sigmas[i]};
        struct packed packed;
        struct lp_table table;

        packed_must(&packed, LP_DTYPE_BF16, 2, dims, &params, words);
        cr_assert_eq(packed.table.codec, LP_CODEC_ZIP7);
        cr_assert_eq(packed.table.meta_bytes, LP_FORMAT_ZIP7_META_BYTES);
        cr_assert_eq(lp_codec_table_parse(&table, packed.head, packed.table.head_bytes, NULL), 0);
        cr_assert_eq(table.lane.rank[0], 116);
        packed.view.table = &table;
        cr_assert_eq(lp_codec_view_elements(&packed.view, 0, BELL_ELEMENTS, back, NULL), 0);
        cr_assert_arr_eq(back, words, sizeof(words));
        lp_codec_table_fini(&table);
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}
