/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of codec lane, from the shape to the elements that come back. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/lane_shift.h"
#include "codec/sample.h"
#include "codec/view.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <string.h>

/* Which element has which column, written out. */
struct columns {
    uint64_t period, span;
};

static uint64_t column_of(const struct columns *columns, uint64_t i)
{
    return columns->span == 0 ? i % columns->period
                              : i / columns->span * columns->period + i % columns->period;
}

/* The scale of a column, anywhere on the ring of exponents, both ends included. */
static uint32_t base_of(uint64_t column, uint32_t exponents)
{
    uint64_t state = column + 1;

    return (uint32_t)(samples_next(&state) % exponents);
}

/* A bell curve, each column with a scale of its own: exponents wrap, so some elements are
 * infinities, NaN or denormals. Every 97th is any bits, every 89th the zero with a sign. */
static void fill(const struct lp_geometry *geometry, const struct columns *columns, uint8_t *data)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(geometry->dtype);
    const uint32_t bits = info->exponent_bits != 0 ? info->exponent_bits : 4;
    const uint32_t shift = 8 * info->bytes - bits - (info->exponent_bits != 0);
    const uint64_t field = ((UINT64_C(1) << bits) - 1) << shift;
    uint64_t state = 5;

    samples_fill(SAMPLES_NORMAL, geometry->dtype, geometry->n_elements, 3, data);
    for (uint64_t i = 0; i < geometry->n_elements; i++) {
        uint64_t word = 0;

        memcpy(&word, data + i * info->bytes, info->bytes);
        word = (word & ~field) |
               ((word + ((uint64_t)base_of(column_of(columns, i), 1u << bits) << shift)) & field);
        if (i % 97 == 0)
            word = samples_next(&state);
        if (i % 89 == 0)
            word = UINT64_C(1) << (8 * info->bytes - 1);
        memcpy(data + i * info->bytes, &word, info->bytes);
    }
}

static struct lp_geometry geometry_of(uint32_t dtype, uint32_t ndim, const uint64_t *dims)
{
    struct lp_geometry geometry;

    cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, ndim, dims, NULL), 0);
    return geometry;
}

/* Every way to read gives the elements back: all, from any element on, records, single rows. */
static void check_reads(const struct packed *packed, const uint8_t *data)
{
    const struct lp_geometry *const geometry = &packed->table.geometry;
    const uint32_t size = geometry->elem_bytes;
    uint8_t *const back = lp_mem_alloc(geometry->logical_bytes + 1);
    uint64_t state = 1, row;

    cr_assert_eq(lp_codec_view_elements(&packed->view, 0, geometry->n_elements, back, NULL), 0);
    cr_assert_eq(memcmp(back, data, geometry->logical_bytes), 0);
    for (uint32_t i = 0; i < 50; i++) {
        const uint64_t first = samples_next(&state) % geometry->n_elements;
        const uint64_t wanted = samples_next(&state) % 3000;
        const uint64_t n = LP_MIN(wanted, geometry->n_elements - first);

        cr_assert_eq(lp_codec_view_elements(&packed->view, first, n, back, NULL), 0);
        cr_assert_eq(memcmp(back, data + first * size, n * size), 0);
        row = samples_next(&state) % geometry->n_rows;
        cr_assert_eq(
            lp_codec_view_gather(&packed->view, &row, 8, 1, back, geometry->row_bytes, NULL, NULL),
            0);
        cr_assert_eq(memcmp(back, data + row * geometry->row_bytes, geometry->row_bytes), 0);
    }
    lp_mem_free(back);
}

static bool verifies(const struct packed *packed)
{
    uint8_t *const scratch = lp_mem_alloc(LP_FORMAT_RECORD_BYTES_MAX + LP_CODEC_SLACK_BYTES);
    const int rc =
        lp_codec_view_verify(&packed->view, 0, packed->table.checks_bytes / 8, true, scratch, NULL);

    lp_mem_free(scratch);
    return rc == 0;
}

/* Packed, emitted, parsed and read. named: the columns are asked for by name. */
static void round_trip(uint32_t dtype, uint32_t ndim, const uint64_t *dims,
                       const struct columns *columns, bool named, uint32_t record_elements)
{
    const struct lp_geometry geometry = geometry_of(dtype, ndim, dims);
    const struct lp_plan_params params = {.codec = LP_CODEC_LANE,
                                          .record_elements = record_elements,
                                          .column_period = named ? (uint32_t)columns->period : 0,
                                          .column_span = named ? columns->span : 0};
    uint8_t *const data = lp_mem_alloc(geometry.logical_bytes);
    struct packed packed;
    struct lp_table table;

    fill(&geometry, columns, data);
    packed_must(&packed, dtype, ndim, dims, &params, data);
    cr_assert_eq(packed.table.codec, LP_CODEC_LANE);
    cr_assert_eq(packed.table.lane.window, LP_LANE_WINDOW_COLUMNS);
    cr_assert_eq(packed.table.lane.column_period, columns->period);
    cr_assert_eq(packed.table.lane.column_span, columns->span);
    cr_assert_eq(lp_codec_table_parse(&table, packed.head, packed.table.head_bytes, NULL), 0);
    packed.view.table = &table;
    check_reads(&packed, data);
    cr_assert(verifies(&packed));
    lp_codec_table_fini(&table);
    packed_fini(&packed);
    lp_mem_free(data);
}

#define DIMS(...)                                                                                  \
    LP_ARRAY_LEN(((uint64_t[]){__VA_ARGS__})), (uint64_t[])                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* The shape alone tells: channels; channels of each head; heads and channels; and of all but the
 * last two dimensions. */
Test(lane_columns, are_found_from_the_shape, .timeout = 60)
{
    round_trip(LP_DTYPE_BF16, DIMS(2000, 48), &(struct columns){48, 0}, false, 0);
    round_trip(LP_DTYPE_BF16, DIMS(3, 1000, 64), &(struct columns){64, 64000}, false, 0);
    round_trip(LP_DTYPE_F32, DIMS(700, 4, 24), &(struct columns){96, 0}, false, 0);
    round_trip(LP_DTYPE_F32, DIMS(2, 3, 300, 32), &(struct columns){32, 9600}, false, 0);
    ASSERT_NO_LEAK();
}

/* Every dtype that has a field. */
Test(lane_columns, of_every_dtype_come_back, .timeout = 60)
{
    static const uint32_t dtypes[] = {LP_DTYPE_F64,  LP_DTYPE_F32,     LP_DTYPE_F16,
                                      LP_DTYPE_BF16, LP_DTYPE_F8_E5M2, LP_DTYPE_F8_E4M3,
                                      LP_DTYPE_I8,   LP_DTYPE_U8};

    for (size_t d = 0; d < LP_ARRAY_LEN(dtypes); d++)
        round_trip(dtypes[d], DIMS(2, 1500, 20), &(struct columns){20, 30000}, false, 0);
    ASSERT_NO_LEAK();
}

/* Records that begin inside of a period and reach over the end of a span; rows of 40 bytes and of
 * 512 KiB; a last record that is short. */
Test(lane_columns, phases_and_spans_come_back, .timeout = 60)
{
    const struct columns by_group = {10, 1030}, plain = {7, 0};

    round_trip(LP_DTYPE_BF16, DIMS(3001, 20), &by_group, true, 1000);
    round_trip(LP_DTYPE_BF16, DIMS(3001, 20), &by_group, true, 33);
    round_trip(LP_DTYPE_F32, DIMS(3001, 10), &by_group, true, 1030);
    round_trip(LP_DTYPE_F32, DIMS(3001, 10), &plain, true, 64);
    round_trip(LP_DTYPE_F32, DIMS(3, 131072), &(struct columns){128, 0}, true, 0);
    round_trip(LP_DTYPE_BF16, DIMS(2, 4096, 64), &(struct columns){64, 262144}, false, 1000);
    ASSERT_NO_LEAK();
}

/* Columns of one scale are not worth their metadata. */
Test(lane_columns, that_do_not_pay_are_left_out)
{
    static uint16_t data[100 * 64];
    const struct lp_plan_params params = {.codec = LP_CODEC_LANE};
    struct packed packed;

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_BF16, LP_ARRAY_LEN(data), 1, data);
    packed_must(&packed, LP_DTYPE_BF16, DIMS(100, 64), &params, data);
    cr_assert_neq(packed.table.lane.window, LP_LANE_WINDOW_COLUMNS);
    packed_fini(&packed);
}

/* A sample of a large tensor, of which the layout tells where its records lie: groups that it saw
 * little of have bases all the same, and without the layout only columns that are the same in each
 * record are found. */
Test(lane_columns, are_learned_from_a_sample)
{
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_BF16, DIMS(40, 10000, 16));
    const struct columns columns = {16, 160000};
    const struct lp_sample layout = lp_codec_sample(&geometry, 4096, UINT64_C(1) << 20, 1 << 16);
    const uint64_t run = lp_codec_sample_run_elements(&layout);
    struct lp_plan_params params = {.codec = LP_CODEC_LANE, .sample_layout = &layout};
    uint8_t *const data = lp_mem_alloc(geometry.logical_bytes);
    uint8_t *const sample = lp_mem_alloc(layout.n_elements * 2);
    struct lp_table table;

    fill(&geometry, &columns, data);
    for (uint64_t k = 0; k < layout.n_runs; k++)
        memcpy(sample + k * run * 2, data + lp_codec_sample_run_first(&layout, k) * 2, run * 2);
    cr_assert_eq(lp_codec_plan(&table, &geometry, &params, sample, layout.n_elements, NULL, NULL),
                 0);
    cr_assert_eq(table.lane.window, LP_LANE_WINDOW_COLUMNS);
    cr_assert_eq(table.lane.column_span, columns.span);
    lp_codec_table_fini(&table);
    params.sample_layout = NULL;
    cr_assert_eq(lp_codec_plan(&table, &geometry, &params, sample, layout.n_elements, NULL, NULL),
                 0);
    cr_assert_eq(table.lane.column_span, 0);
    lp_codec_table_fini(&table);
    lp_mem_free(sample);
    lp_mem_free(data);
}

/* What cannot be columns of this tensor is said, before anything is looked at. */
Test(lane_columns, that_make_no_sense_are_refused)
{
    static const struct {
        uint32_t period;
        uint64_t span;
    } bad[] = {{0, 64}, {10, 64}, {8, 32}, {70000, 0}, {2048, 4096}};
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_BF16, DIMS(10000, 64));
    static uint16_t sample[64 * 100];
    struct lp_table table;

    for (size_t i = 0; i < LP_ARRAY_LEN(bad); i++) {
        const struct lp_plan_params params = {.column_period = bad[i].period,
                                              .column_span = bad[i].span};

        cr_assert_eq(lp_codec_plan(&table, &geometry, &params, sample, 6400, NULL, NULL), LP_EINVAL,
                     "period %u", bad[i].period);
    }
}

/* The shift against the formula, at indices far behind 2^32, and back. */
Test(lane_columns, shift_goes_by_the_index_in_the_tensor)
{
    static const uint64_t firsts[] = {0, 3, 95, 97, 4294967296, 4294967201, 30000000000019};
    static const uint8_t widths[1] = {1};
    static const uint16_t ranks[1] = {0};
    static uint16_t bases[40 * 12];
    struct lp_lane lane;

    for (uint32_t i = 0; i < LP_ARRAY_LEN(bases); i++)
        bases[i] = (uint16_t)base_of(i, 256);
    for (size_t f = 0; f < LP_ARRAY_LEN(firsts); f++) {
        const uint64_t span = firsts[f] < 1000 ? 96 : 1000000000008;
        const struct lp_lane_params params = {.dtype = LP_DTYPE_BF16,
                                              .n_levels = 1,
                                              .widths = widths,
                                              .ranks = ranks,
                                              .window = LP_LANE_WINDOW_COLUMNS,
                                              .column_period = 12,
                                              .column_span = span,
                                              .n_columns = LP_ARRAY_LEN(bases),
                                              .columns = bases};
        const struct columns columns = {12, span};
        uint16_t elements[96], back[96];

        cr_assert_eq(lp_codec_lane_init(&lane, &params, NULL), 0);
        samples_fill(SAMPLES_RANDOM, LP_DTYPE_BF16, 96, f, elements);
        memcpy(back, elements, sizeof(back));
        lp_lane_shift(&lane, lp_codec_ops(), firsts[f], back, 96, true);
        for (uint32_t i = 0; i < 96; i++) {
            const uint32_t base = bases[column_of(&columns, firsts[f] + i)];

            cr_assert_eq(back[i], (elements[i] & 0x807f) | ((elements[i] - (base << 7)) & 0x7f80));
        }
        lp_lane_shift(&lane, lp_codec_ops(), firsts[f], back, 96, false);
        cr_assert_arr_eq(back, elements, sizeof(back));
        lp_codec_lane_fini(&lane);
    }
    ASSERT_NO_LEAK();
}

/* Without memory: an error, nothing kept, and a retry works. */
Test(lane_columns, survive_a_lack_of_memory, .timeout = 60)
{
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_BF16, DIMS(3, 200, 64));
    const struct lp_plan_params params = {.codec = LP_CODEC_LANE};
    uint8_t *const data = lp_mem_alloc(geometry.logical_bytes);
    struct fault_loop loop;

    fill(&geometry, &(struct columns){64, 12800}, data);
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct packed packed;
        struct lp_table table;
        const int rc = packed_make(&packed, &geometry, &params, data, 0, NULL);
        int parsed;

        if (rc < 0) {
            cr_assert(fault_loop_hit(&loop));
            cr_assert_eq(rc, LP_ENOMEM);
            continue;
        }
        cr_assert_eq(packed.table.lane.window, LP_LANE_WINDOW_COLUMNS);
        parsed = lp_codec_table_parse(&table, packed.head, packed.table.head_bytes, NULL);
        cr_assert(parsed == 0 || (parsed == LP_ENOMEM && fault_loop_hit(&loop)));
        if (parsed == 0)
            lp_codec_table_fini(&table);
        packed_fini(&packed);
    }
    lp_mem_free(data);
    cr_assert_gt(loop.nth, 10);
    ASSERT_NO_LEAK();
}
