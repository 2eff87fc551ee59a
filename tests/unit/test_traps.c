/* SPDX-License-Identifier: Apache-2.0 */
/* What sank others, over every codec and dtype: a codec that is added is taken along by itself.
 * Exactness first, then what a table may cost at worst. */
#include "base/bytes.h"
#include "codec/packer.h"
#include "codec/sample.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

/* Elements that some code takes for impossible. */
enum trap {
    TRAP_RANDOM,  /* what no codec can shrink: escapes everywhere */
    TRAP_ONES,    /* all bits set: a NaN with every payload bit */
    TRAP_ZEROS,   /* zeros, and here and there a negative one, which is another pattern */
    TRAP_ENDS,    /* exponents at both ends of their range, in turn */
    TRAP_SPREAD,  /* every exponent equally often: a window holds few of them */
    TRAP_LAST_BAD /* a bell curve whose last element is like no other */
};

static void fill(enum trap trap, uint32_t dtype, uint64_t n, uint8_t *data)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const uint32_t field = info->exponent_bits > 0 ? info->exponent_bits : 8;
    const uint32_t at = info->exponent_bits > 0 ? info->mantissa_bits : 0;
    uint64_t seed = trap;

    samples_fill(trap == TRAP_LAST_BAD ? SAMPLES_NORMAL : SAMPLES_RANDOM, dtype, n, 5, data);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t mask = ((UINT64_C(1) << field) - 1) << at;
        uint64_t word = 0;

        memcpy(&word, data + i * info->bytes, info->bytes);
        switch (trap) {
        case TRAP_ONES:
            word = UINT64_MAX;
            break;
        case TRAP_ZEROS:
            word = samples_next(&seed) % 50 == 0 ? UINT64_C(1) << (8 * info->bytes - 1) : 0;
            break;
        case TRAP_ENDS:
            word =
                (word & ~mask) | ((i % 7 < 3 ? i % 3 : ((UINT64_C(1) << field) - 1 - i % 4)) << at);
            break;
        case TRAP_SPREAD:
            word = (word & ~mask) | ((i * 11 % (UINT64_C(1) << field)) << at);
            break;
        case TRAP_LAST_BAD:
            word = i + 1 == n ? UINT64_C(0x5555555555555555) : word;
            break;
        case TRAP_RANDOM:
            break;
        }
        memcpy(data + i * info->bytes, &word, info->bytes);
    }
}

static void check_exact(const struct packed *packed, const uint8_t *data)
{
    const struct lp_geometry *const geometry = &packed->table.geometry;
    uint8_t *const back = malloc(geometry->logical_bytes + 1);
    struct lp_error err = LP_ERROR_INIT;

    memset(back, 0x77, geometry->logical_bytes + 1);
    cr_assert_eq(lp_codec_view_elements(&packed->view, 0, geometry->n_elements, back, &err), 0,
                 "%s", err.text);
    cr_assert_eq(memcmp(back, data, geometry->logical_bytes), 0);
    cr_assert_eq(back[geometry->logical_bytes], 0x77);
    free(back);
}

/* Raw bytes, index, 0.4 % and 64 bytes: what a table may cost whatever is in it. */
static void check_cost(const struct packed *packed)
{
    const struct lp_table *const table = &packed->table;
    const double per_record = table->index_entry_bytes == 4 ? 4.25 : 2.25;
    const double groups = (double)(table->n_records + LP_FORMAT_GROUP_RECORDS - 1) /
                          LP_FORMAT_GROUP_RECORDS * LP_FORMAT_GROUP_RECORDS;
    const double most = 1.004 * (double)table->geometry.logical_bytes + per_record * groups + 64;

    /* Head and checks have sections of their own, padded to 64 bytes. */
    cr_assert_leq((double)(lp_codec_table_stored_bytes(table) - table->meta_bytes), most + 64);
    if (table->raw_records == table->n_records)
        cr_assert_eq(table->codec, LP_CODEC_RAW, "without a shrunk record there is no index");
}

static void check_trap(enum trap trap, uint32_t dtype, uint32_t codec, uint64_t rows,
                       uint64_t columns)
{
    const uint64_t dims[LP_FORMAT_DIMS_MAX] = {rows, columns};
    const struct lp_plan_params params = {.codec = codec};
    const uint64_t n = rows * columns;
    uint8_t *const data = malloc(n * lp_codec_dtype_info(dtype)->bytes + 16);
    struct packed packed;

    fill(trap, dtype, n, data);
    packed_must(&packed, dtype, 2, dims, &params, data);
    check_exact(&packed, data);
    check_cost(&packed);
    packed_fini(&packed);
    free(data);
}

/* Every codec, dtype and shape: each bit comes back, at a bounded cost. */
static void spring(enum trap trap)
{
    static const uint64_t shapes[][2] = {{1, 1},  {1, 3},   {3, 1},     {0, 5},    {5, 0},
                                         {1, 40}, {70, 10}, {37, 1433}, {3, 9001}, {4099, 1}};

    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++)
        for (uint32_t codec = 0; codec < LP_CODEC_END; codec++)
            for (size_t s = 0; s < LP_ARRAY_LEN(shapes); s++)
                check_trap(trap, dtype, codec, shapes[s][0], shapes[s][1]);
}

#define TRAP_TEST(name, trap)                                                                      \
    Test(traps, name, .timeout = 120)                                                              \
    {                                                                                              \
        spring(trap);                                                                              \
    }

TRAP_TEST(random_bits, TRAP_RANDOM)
TRAP_TEST(all_bits_set, TRAP_ONES)
TRAP_TEST(zeros_of_both_signs, TRAP_ZEROS)
TRAP_TEST(ends_of_the_exponent_range, TRAP_ENDS)
TRAP_TEST(exponents_everywhere, TRAP_SPREAD)
TRAP_TEST(an_element_like_no_other, TRAP_LAST_BAD)

/* Rows of 40 bytes share records, rows of 512 KiB are cut into many; both are gathered by row. */
Test(traps, short_and_long_rows_come_back_one_by_one, .timeout = 60)
{
    static const uint64_t shapes[][2] = {{1000, 20}, {5, 262144}};

    for (size_t s = 0; s < LP_ARRAY_LEN(shapes); s++) {
        for (uint32_t codec = 0; codec < LP_CODEC_END; codec++) {
            const uint64_t dims[LP_FORMAT_DIMS_MAX] = {shapes[s][0], shapes[s][1]};
            const struct lp_plan_params params = {.codec = codec};
            const uint64_t bytes = 2 * shapes[s][1];
            uint8_t *const data = malloc(bytes * shapes[s][0]), *const row = malloc(bytes);
            struct packed packed;

            samples_fill(SAMPLES_NORMAL, LP_DTYPE_BF16, shapes[s][0] * shapes[s][1], 3, data);
            packed_must(&packed, LP_DTYPE_BF16, 2, dims, &params, data);
            for (uint64_t r = shapes[s][0]; r-- > 0;) {
                cr_assert_eq(lp_codec_view_gather(&packed.view, &r, 8, 1, row, bytes, NULL, NULL),
                             0);
                cr_assert_eq(memcmp(row, data + r * bytes, bytes), 0);
            }
            packed_fini(&packed);
            free(row);
            free(data);
        }
    }
}

/* The sample is all of one kind; between its runs stands what it never showed. What it promised,
 * masks, signs, trailing zeros, a dictionary, fails there record by record, and nowhere else. */
Test(traps, a_sample_may_be_wrong_about_the_rest, .timeout = 120)
{
    const uint64_t dims[LP_FORMAT_DIMS_MAX] = {6 << 20};
    const uint32_t record = 4096;
    struct lp_geometry geometry;
    struct lp_sample layout;
    uint16_t *data;

    cr_assert_eq(lp_codec_geometry_init(&geometry, LP_DTYPE_BF16, 1, dims, NULL), 0);
    layout = lp_codec_sample(&geometry, record, LP_PLAN_SAMPLE_BYTES, LP_SAMPLE_RUN_BYTES);
    cr_assert_not(layout.whole);
    data = malloc(geometry.logical_bytes);
    samples_fill(SAMPLES_RANDOM, LP_DTYPE_BF16, geometry.n_elements, 11, data);
    for (uint64_t k = 0; k < layout.n_runs; k++)
        for (uint64_t i = 0; i < lp_codec_sample_run_elements(&layout); i++)
            data[lp_codec_sample_run_first(&layout, k) + i] = i % 10 == 0 ? 0x3f00 : 0;
    for (uint32_t codec = 0; codec < LP_CODEC_END; codec++) {
        const struct lp_plan_params params = {.codec = codec};
        struct packed packed;

        packed_must(&packed, LP_DTYPE_BF16, 1, dims, &params, data);
        check_exact(&packed, (const uint8_t *)data);
        cr_assert(codec != LP_CODEC_AUTO || packed.table.codec != LP_CODEC_RAW);
        packed_fini(&packed);
    }
    free(data);
}

/* Metadata that belong to another table are no metadata of this one, though they are well formed.
 */
Test(traps, metadata_of_another_table_are_refused)
{
    const uint64_t dims[LP_FORMAT_DIMS_MAX] = {64, 64};
    uint16_t data[2][64 * 64];
    uint32_t swapped = 0;

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_BF16, 64 * 64, 1, data[0]);
    for (uint32_t i = 0; i < 64 * 64; i++)
        data[1][i] = (uint16_t)(data[0][i] ^ 0x0400 ^ (i % 5 == 0 ? 0x100 : 0));
    for (uint32_t codec = LP_CODEC_RAW + 1; codec < LP_CODEC_END; codec++) {
        const struct lp_plan_params params = {.codec = codec};
        struct packed packed[2];
        struct lp_table parsed;

        for (int t = 0; t < 2; t++)
            packed_must(&packed[t], LP_DTYPE_BF16, 2, dims, &params, data[t]);
        if (packed[0].table.codec == codec && packed[1].table.codec == codec &&
            packed[0].table.meta_bytes == packed[1].table.meta_bytes &&
            memcmp(packed[0].head + packed[0].table.meta_offset,
                   packed[1].head + packed[1].table.meta_offset, packed[0].table.meta_bytes) != 0) {
            swapped++;
            memcpy(packed[0].head + packed[0].table.meta_offset,
                   packed[1].head + packed[1].table.meta_offset, packed[0].table.meta_bytes);
            cr_assert_eq(
                lp_codec_table_parse(&parsed, packed[0].head, packed[0].table.head_bytes, NULL),
                LP_ECORRUPT);
        }
        for (int t = 0; t < 2; t++)
            packed_fini(&packed[t]);
    }
    cr_assert_geq(swapped, 2, "masks and ranks at least");
}
