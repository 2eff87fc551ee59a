/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/packer.h"
#include "codec/place.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static struct lp_geometry geometry_of(uint32_t dtype, uint64_t rows, uint64_t columns)
{
    struct lp_geometry geometry;

    cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, 2, (uint64_t[]){rows, columns}, NULL), 0);
    return geometry;
}

static void assert_same(const struct packed *a, const struct packed *b)
{
    cr_assert_eq(a->table.head_bytes, b->table.head_bytes);
    cr_assert_arr_eq(a->head, b->head, a->table.head_bytes);
    cr_assert_eq(a->table.n_segments, b->table.n_segments);
    for (uint32_t i = 0; i < a->table.n_segments; i++)
        cr_assert_arr_eq(a->segments[i], b->segments[i],
                         lp_codec_table_segment_bytes(&a->table, i));
}

/* However the elements come in, the same bytes go out. */
Test(codec_packer, steps_do_not_change_the_bytes)
{
    static const uint64_t steps[] = {1, 3, 39, 40, 41, 1000};
    static const uint32_t cases[][2] = {{LP_CODEC_RAW, LP_DTYPE_F32},
                                        {LP_CODEC_IBP, LP_DTYPE_F32},
                                        {LP_CODEC_LANE, LP_DTYPE_F32},
                                        {LP_CODEC_ZIP7, LP_DTYPE_BF16},
                                        {LP_CODEC_DICT, LP_DTYPE_I32},
                                        {LP_CODEC_SPARSE, LP_DTYPE_F32}};
    static float data[77 * 40];

    for (size_t c = 0; c < LP_ARRAY_LEN(cases); c++) {
        const struct lp_geometry geometry = geometry_of(cases[c][1], 77, 40);

        samples_fill(cases[c][0] == LP_CODEC_SPARSE ? SAMPLES_SPARSE : SAMPLES_NORMAL, cases[c][1],
                     LP_ARRAY_LEN(data), 1, data);
        for (uint32_t layout = LP_LAYOUT_PACKED; layout < LP_LAYOUT_END; layout++) {
            const struct lp_plan_params params = {.codec = cases[c][0], .layout = layout};
            struct packed once, often;

            cr_assert_eq(packed_make(&once, &geometry, &params, data, 0, NULL), 0);
            cr_assert(once.table.codec == cases[c][0] || layout == LP_LAYOUT_SLOTTED);
            for (size_t i = 0; i < LP_ARRAY_LEN(steps); i++) {
                cr_assert_eq(packed_make(&often, &geometry, &params, data, steps[i], NULL), 0);
                assert_same(&once, &often);
                packed_fini(&often);
            }
            packed_fini(&once);
        }
    }
    ASSERT_NO_LEAK();
}

/* What the header states is what an independent count finds. */
Test(codec_packer, sums_are_what_the_records_say)
{
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_BF16, 100, 300);
    const struct lp_plan_params params = {.codec = LP_CODEC_LANE};
    const size_t n = 100 * 300;
    uint16_t *const data = malloc(2 * n);
    uint64_t stored = 0, wire = 0, raw = 0, end = 0;
    struct packed packed;

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_BF16, n, 1, data);
    samples_fill(SAMPLES_RANDOM, LP_DTYPE_BF16, 900, 2, data + 3000);
    cr_assert_eq(packed_make(&packed, &geometry, &params, data, 0, NULL), 0);
    for (uint64_t r = 0; r < packed.table.n_records; r++) {
        struct lp_place place;

        cr_assert(lp_codec_table_place(&packed.table, packed.view.index, r, &place));
        cr_assert_eq(place.offset, end);
        end = place.offset + place.stored_bytes;
        stored += place.stored_bytes;
        wire += 32 * ((end - 1) / 32 - place.offset / 32 + 1);
        raw += place.stored_bytes == 600;
    }
    cr_assert_eq(packed.table.data_bytes, stored);
    cr_assert_eq(packed.table.wire_bytes, wire);
    cr_assert_eq(packed.table.raw_records, raw);
    cr_assert_eq(raw, 3, "the three random rows");
    cr_assert(packed.table.payload_bytes <= stored &&
              packed.table.payload_bytes > stored - 4 * packed.table.n_records);
    packed_fini(&packed);
    free(data);
}

/* Random bits: no record shrinks, so the table is stored raw and costs its checks only. Of a few
 * records the masks of ibp would fit some by chance, so here are many. */
Test(codec_packer, a_table_that_does_not_shrink_is_raw)
{
    static const uint32_t codecs[] = {LP_CODEC_AUTO, LP_CODEC_IBP, LP_CODEC_LANE, LP_CODEC_ZIP7};
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_F32, 2048, 128);
    static uint8_t data[2048 * 512];

    samples_fill(SAMPLES_RANDOM, LP_DTYPE_F32, sizeof(data) / 4, 7, data);
    for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++) {
        const struct lp_plan_params params = {.codec = codecs[c]};
        struct packed packed;

        cr_assert_eq(packed_make(&packed, &geometry, &params, data, 0, NULL), 0);
        cr_assert_eq(packed.table.codec, LP_CODEC_RAW);
        cr_assert_eq(packed.table.index_bytes, 0);
        cr_assert_eq(packed.table.raw_records, packed.table.n_records);
        cr_assert_leq(lp_codec_table_stored_bytes(&packed.table),
                      sizeof(data) + sizeof(data) / 250 + 64);
        packed_fini(&packed);
    }
}

/* Groups move to the next segment as a whole, slots and raw records as they fit; 4 MiB segments. */
Test(codec_packer, segments_end_between_groups, .timeout = 60)
{
    static const uint32_t codecs[] = {LP_CODEC_RAW, LP_CODEC_IBP, LP_CODEC_LANE};
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_F32, 3001, 1000);
    const size_t n = 3001 * 1000;
    float *const data = malloc(4 * n), *const back = malloc(4 * n);

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, n, 1, data);
    for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++) {
        for (uint32_t layout = LP_LAYOUT_PACKED; layout < LP_LAYOUT_END; layout++) {
            const struct lp_plan_params params = {
                .codec = codecs[c], .layout = layout, .segment_bytes = 4 << 20};
            struct packed packed;
            struct lp_table table;

            cr_assert_eq(packed_make(&packed, &geometry, &params, data, 1700, NULL), 0);
            cr_assert_eq(packed.table.n_segments, 3);
            cr_assert_eq(lp_codec_table_parse(&table, packed.head, packed.table.head_bytes, NULL),
                         0);
            lp_codec_table_fini(&table);
            cr_assert_eq(lp_codec_view_elements(&packed.view, 0, n, back, NULL), 0);
            cr_assert_eq(memcmp(back, data, 4 * n), 0);
            cr_assert_eq(lp_codec_view_verify(&packed.view, 0, packed.table.checks_bytes / 8, false,
                                              NULL, NULL),
                         0);
            packed_fini(&packed);
        }
    }
    free(back);
    free(data);
    ASSERT_NO_LEAK();
}

/* A sink that can fail. */
struct failing_sink {
    int reserves, commits; /* calls left before the failure */
    uint8_t room[65536 + 64];
};

static int failing_reserve(void *user, uint64_t data_offset, uint32_t n_bytes, uint8_t **ret_dst,
                           struct lp_error *err)
{
    struct failing_sink *const sink = user;

    (void)data_offset;
    if (sink->reserves-- == 0)
        return lp_error_set(err, LP_ENOSPC, "the test's sink is full");
    cr_assert_leq(n_bytes, sizeof(sink->room));
    *ret_dst = sink->room;
    return 0;
}

static int failing_commit(void *user, uint64_t data_offset, const uint8_t *dst, uint32_t n_bytes,
                          struct lp_error *err)
{
    struct failing_sink *const sink = user;

    (void)data_offset;
    (void)dst;
    (void)n_bytes;
    return sink->commits-- == 0 ? lp_error_set(err, LP_EIO, "the test's sink broke") : 0;
}

/* The sink's errors come out of append as they are; fini cleans up at any point. */
Test(codec_packer, errors_of_the_sink_are_handed_on)
{
    static const uint32_t codecs[] = {LP_CODEC_RAW, LP_CODEC_LANE};
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_F32, 100, 40);
    struct failing_sink *const sink = malloc(sizeof(*sink));
    const struct lp_packer_sink table_of = {sink, failing_reserve, failing_commit};
    static float data[100 * 40];

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, LP_ARRAY_LEN(data), 1, data);
    for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++) {
        const struct lp_plan_params params = {.codec = codecs[c]};
        uint64_t index[64], checks[8];
        struct lp_packer packer;
        struct lp_table table;

        cr_assert_eq(lp_codec_plan(&table, &geometry, &params, data, 4000, NULL, NULL), 0);
        cr_assert_leq(table.index_bytes, sizeof(index));
        for (int commit = 0; commit < 2; commit++) {
            sink->reserves = commit ? 100 : 0;
            sink->commits = 0;
            cr_assert_eq(lp_codec_packer_init(&packer, &table, (uint8_t *)index, (uint8_t *)checks,
                                              &table_of, NULL),
                         0);
            cr_assert_eq(lp_codec_packer_append(&packer, data, 4000, NULL),
                         commit ? LP_EIO : LP_ENOSPC);
            lp_codec_packer_fini(&packer);
        }
        lp_codec_table_fini(&table);
    }
    lp_codec_packer_fini(NULL);
    free(sink);
    ASSERT_NO_LEAK();
}

/* Too many elements, and too few. */
Test(codec_packer, the_number_of_elements_must_be_right)
{
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_F32, 100, 40);
    const struct lp_plan_params params = {.codec = LP_CODEC_LANE};
    struct failing_sink *const sink = malloc(sizeof(*sink));
    const struct lp_packer_sink table_of = {sink, failing_reserve, failing_commit};
    static float data[100 * 40 + 1];
    uint64_t index[64], checks[8];
    struct lp_packer packer;
    struct lp_table table;

    sink->reserves = sink->commits = 100;
    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, LP_ARRAY_LEN(data), 1, data);
    cr_assert_eq(lp_codec_plan(&table, &geometry, &params, data, 4000, NULL, NULL), 0);
    cr_assert_eq(
        lp_codec_packer_init(&packer, &table, (uint8_t *)index, (uint8_t *)checks, &table_of, NULL),
        0);
    cr_assert_eq(lp_codec_packer_append(&packer, data, 4001, NULL), LP_ESIZE);
    cr_assert_eq(lp_codec_packer_append(&packer, data, 3990, NULL), 0);
    cr_assert_eq(lp_codec_packer_finish(&packer, NULL), LP_ESIZE);
    cr_assert_eq(lp_codec_packer_append(&packer, data, 11, NULL), LP_ESIZE);
    cr_assert_eq(lp_codec_packer_append(&packer, data + 3990, 10, NULL), 0);
    cr_assert_eq(lp_codec_packer_finish(&packer, NULL), 0);
    lp_codec_packer_fini(&packer);
    lp_codec_table_fini(&table);
    free(sink);
}

/* Any allocation of plan, packer and the test's own memory may fail. */
Test(codec_packer, packing_survives_failing_allocations)
{
    static const uint32_t codecs[] = {LP_CODEC_AUTO, LP_CODEC_IBP, LP_CODEC_RAW};
    const struct lp_geometry geometry = geometry_of(LP_DTYPE_F32, 100, 40);
    static float data[100 * 40];
    struct fault_loop loop;
    struct packed packed;

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, LP_ARRAY_LEN(data), 1, data);
    for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++) {
        const struct lp_plan_params params = {.codec = codecs[c]};

        FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
            struct lp_error err = LP_ERROR_INIT;
            const int rc = packed_make(&packed, &geometry, &params, data, 0, &err);

            if (fault_loop_hit(&loop)) {
                cr_assert_eq(rc, LP_ENOMEM);
                cr_assert_neq(err.text[0], '\0');
                continue;
            }
            cr_assert_eq(rc, 0);
            packed_fini(&packed);
        }
        cr_assert_gt(loop.nth, 4);
    }
    ASSERT_NO_LEAK();
}
