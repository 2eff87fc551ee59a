/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/view.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

/* Gathers some rows twice, forwards and as 32-bit numbers, into a destination at an odd place. */
static void check_gather(const struct packed *packed, const uint8_t *data, uint64_t seed)
{
    const struct lp_geometry *const geometry = &packed->table.geometry;
    const uint64_t bytes = geometry->row_bytes, n = LP_MIN(3 * geometry->n_rows, 200);
    uint8_t *const dst = malloc(n * bytes + 17);
    uint64_t *const rows = malloc(n * 8);
    uint32_t *const narrow = malloc(n * 4);
    const uint64_t offset = seed % 16;

    for (uint64_t i = 0; i < n; i++)
        narrow[i] = (uint32_t)(rows[i] = samples_next(&seed) % geometry->n_rows);
    for (int pass = 0; pass < 2; pass++) {
        struct lp_error err = LP_ERROR_INIT;

        memset(dst, 0xee, n * bytes + 17);
        cr_assert_eq(pass == 0 ? lp_codec_view_gather(&packed->view, rows, 8, n, dst + offset,
                                                      n * bytes, NULL, &err)
                               : lp_codec_view_gather(&packed->view, narrow, 4, n, dst + offset,
                                                      n * bytes, NULL, &err),
                     0, "%s", err.text);
        for (uint64_t i = 0; i < n; i++)
            cr_assert_eq(memcmp(dst + offset + i * bytes, data + rows[i] * bytes, bytes), 0,
                         "row %llu", (unsigned long long)rows[i]);
        cr_assert_eq(dst[offset + n * bytes], 0xee);
    }
    free(narrow);
    free(rows);
    free(dst);
}

/* Everything that a view can do gives the elements back. */
static void check_all(const struct packed *packed, const uint8_t *data, uint64_t seed)
{
    const struct lp_geometry *const geometry = &packed->table.geometry;
    const uint64_t all = geometry->logical_bytes;
    const uint64_t some = geometry->n_elements / 3;
    uint8_t *const back = malloc(all + 16);
    const uint64_t offset = seed % 16;

    cr_assert_eq(lp_codec_view_gather(&packed->view, NULL, 0, geometry->n_rows, back + offset, all,
                                      NULL, NULL),
                 0);
    cr_assert_eq(memcmp(back + offset, data, all), 0);
    memset(back, 0, all);
    cr_assert_eq(
        lp_codec_view_elements(&packed->view, some, geometry->n_elements - some, back, NULL), 0);
    cr_assert_eq(
        memcmp(back, data + some * geometry->elem_bytes, all - some * geometry->elem_bytes), 0);
    if (geometry->n_elements > 0)
        check_gather(packed, data, seed);
    free(back);
}

static void round_trip(uint32_t dtype, uint32_t ndim, const uint64_t *dims, enum samples_kind kind,
                       const struct lp_plan_params *params, uint64_t seed)
{
    struct lp_geometry geometry;
    struct packed packed;
    struct lp_table table;
    uint8_t *data;

    cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, ndim, dims, NULL), 0);
    data = malloc(geometry.logical_bytes + 16);
    samples_fill(kind, dtype, geometry.n_elements, seed, data);
    packed_must(&packed, dtype, ndim, dims, params, data);
    cr_assert_eq(lp_codec_table_parse(&table, packed.head, packed.table.head_bytes, NULL), 0);
    packed.view.table = &table;
    check_all(&packed, data, seed);
    lp_codec_table_fini(&table);
    packed_fini(&packed);
    free(data);
}

static const uint32_t codecs[] = {LP_CODEC_RAW, LP_CODEC_IBP, LP_CODEC_LANE, LP_CODEC_ZIP7,
                                  LP_CODEC_DICT, LP_CODEC_SPARSE, LP_CODEC_AUTO};

/* Every dtype, codec, length and offset, rows as records. */
Test(codec_view, rows_of_every_length_come_back, .timeout = 120)
{
    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++)
        for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++)
            for (uint64_t n = 0; n <= 130; n++) {
                const struct lp_plan_params params = {.codec = codecs[c],
                                                      .record_rows = n % 3 == 0 ? 1 : 0};

                round_trip(dtype, 2, (uint64_t[]){40, n}, SAMPLES_NORMAL, &params, n);
            }
    ASSERT_NO_LEAK();
}

/* Powers of two and their neighbours, as one dimension. */
Test(codec_view, powers_of_two_come_back, .timeout = 120)
{
    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++)
        for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++)
            for (uint64_t power = 128; power <= 4096; power *= 2)
                for (uint64_t n = power - 1; n <= power + 1; n++) {
                    const struct lp_plan_params params = {.codec = codecs[c],
                                                          .layout = n % 2 ? LP_LAYOUT_SLOTTED : 0};

                    round_trip(dtype, 1, &n, SAMPLES_NORMAL, &params, n);
                }
    ASSERT_NO_LEAK();
}

/* All kinds of bits in all layouts, aligned and not. */
Test(codec_view, every_kind_of_data_in_every_layout, .timeout = 120)
{
    static const uint32_t layouts[][2] = {
        {LP_LAYOUT_PACKED, 4}, {LP_LAYOUT_PACKED, 32}, {LP_LAYOUT_SLOTTED, 32}};

    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++)
        for (int kind = 0; kind < SAMPLES_KINDS; kind++)
            for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++)
                for (size_t l = 0; l < LP_ARRAY_LEN(layouts); l++) {
                    const struct lp_plan_params params = {
                        .codec = codecs[c], .layout = layouts[l][0], .align_bytes = layouts[l][1]};

                    round_trip(dtype, 2, (uint64_t[]){70, 301}, (enum samples_kind)kind, &params,
                               dtype + (uint64_t)kind);
                }
    ASSERT_NO_LEAK();
}

/* Shapes at the edges: scalars, nothing, one row, short rows in groups, long rows in tiles, records
 * that straddle rows, many dimensions, records large enough for wide entries. */
Test(codec_view, shapes_at_the_edges, .timeout = 120)
{
    static const struct {
        uint32_t ndim, record_elements;
        uint64_t dims[8];
    } shapes[] = {
        {0, 0, {0}},           {1, 0, {1}},          {1, 0, {0}},
        {2, 0, {0, 9}},        {2, 0, {9, 0}},       {2, 0, {1, 1}},
        {2, 0, {1, 500}},      {2, 0, {1000, 3}},    {2, 0, {33, 9000}},
        {2, 100, {70, 64}},    {2, 7, {70, 64}},     {2, 1000, {70, 64}},
        {3, 0, {40, 5, 30}},   {4, 0, {8, 7, 6, 5}}, {8, 0, {2, 1, 3, 2, 1, 2, 3, 2}},
        {2, 4097, {20, 4097}}, {1, 8192, {50000}},   {2, 5000, {33, 2500}},
    };

    for (size_t i = 0; i < LP_ARRAY_LEN(shapes); i++)
        for (uint32_t dtype = LP_DTYPE_F64; dtype <= LP_DTYPE_F8_E5M2; dtype++)
            for (size_t c = 0; c < LP_ARRAY_LEN(codecs); c++)
                for (uint32_t layout = LP_LAYOUT_PACKED; layout < LP_LAYOUT_END; layout++) {
                    const struct lp_plan_params params = {.codec = codecs[c],
                                                          .layout = layout,
                                                          .record_elements =
                                                              shapes[i].record_elements};

                    round_trip(dtype, shapes[i].ndim, shapes[i].dims, SAMPLES_NORMAL, &params, i);
                }
    ASSERT_NO_LEAK();
}

/* A packed lane table that the tests below share. */
static uint16_t *make_table(struct packed *packed, uint64_t rows, uint64_t columns,
                            const struct lp_plan_params *params)
{
    const uint64_t dims[2] = {rows, columns};
    uint16_t *const data = malloc(2 * rows * columns);

    samples_fill(SAMPLES_NORMAL, LP_DTYPE_BF16, rows * columns, 4, data);
    packed_must(packed, LP_DTYPE_BF16, 2, dims, params, data);
    return data;
}

/* Bad arguments leave the destination untouched and say which position is wrong. */
Test(codec_view, bad_rows_are_refused_before_anything_is_written)
{
    static const uint32_t ids[] = {LP_CODEC_RAW, LP_CODEC_LANE};

    for (size_t c = 0; c < LP_ARRAY_LEN(ids); c++) {
        const struct lp_plan_params params = {.codec = ids[c]};
        const int64_t rows[4] = {3, 99, 100, 0}, negative[2] = {0, -1};
        const int32_t narrow[2] = {0, -1};
        uint16_t dst[4 * 64], stand_in[64];
        struct lp_error err = LP_ERROR_INIT;
        struct packed packed;
        uint16_t *const data = make_table(&packed, 100, 64, &params);

        memset(dst, 0xee, sizeof(dst));
        memset(stand_in, 0x11, sizeof(stand_in));
        cr_assert_eq(lp_codec_view_gather(&packed.view, rows, 8, 4, dst, sizeof(dst), NULL, &err),
                     LP_ERANGE);
        cr_assert_str_eq(err.text, "rows[2] is 100, the table has 100 rows");
        cr_assert_eq(
            lp_codec_view_gather(&packed.view, negative, 8, 2, dst, sizeof(dst), NULL, &err),
            LP_ERANGE);
        cr_assert_str_eq(err.text, "rows[1] is -1, the table has 100 rows");
        cr_assert_eq(lp_codec_view_gather(&packed.view, narrow, 4, 2, dst, sizeof(dst), NULL, NULL),
                     LP_ERANGE);
        cr_assert_eq(lp_codec_view_gather(&packed.view, rows, 8, 2, dst, 255, NULL, NULL),
                     LP_ESIZE);
        cr_assert_eq(
            lp_codec_view_gather(&packed.view, rows, 8, UINT64_MAX / 8, dst, 255, NULL, NULL),
            LP_ESIZE);
        cr_assert_eq(lp_codec_view_gather(&packed.view, rows, 2, 2, dst, sizeof(dst), NULL, NULL),
                     LP_EINVAL);
        cr_assert_eq(lp_codec_view_gather(&packed.view, NULL, 8, 99, dst, sizeof(dst), NULL, NULL),
                     LP_EINVAL);
        for (size_t i = 0; i < LP_ARRAY_LEN(dst); i++)
            cr_assert_eq(dst[i], 0xeeee);
        cr_assert_eq(
            lp_codec_view_gather(&packed.view, rows, 8, 4, dst, sizeof(dst), stand_in, NULL), 0);
        cr_assert_eq(memcmp(dst, data + 3 * 64, 128), 0);
        cr_assert_eq(memcmp(dst + 64, data + 99 * 64, 128), 0);
        cr_assert_eq(memcmp(dst + 128, stand_in, 128), 0);
        cr_assert_eq(memcmp(dst + 192, data, 128), 0);
        cr_assert_eq(lp_codec_view_gather(&packed.view, rows, 8, 0, NULL, 0, NULL, NULL), 0);
        cr_assert_eq(lp_codec_view_record(&packed.view, packed.table.n_records, dst, NULL),
                     LP_ERANGE);
        cr_assert_eq(lp_codec_view_elements(&packed.view, 6400, 1, dst, NULL), LP_ERANGE);
        cr_assert_eq(lp_codec_view_elements(&packed.view, 1, 6400, dst, NULL), LP_ERANGE);
        packed_fini(&packed);
        free(data);
    }
}

/* Row numbers may lie at any address. */
Test(codec_view, row_numbers_need_no_alignment)
{
    struct packed packed;
    uint16_t *const data = make_table(&packed, 100, 64, NULL);
    uint8_t rows[1 + 3 * 8];
    uint16_t dst[3 * 64];

    for (uint64_t i = 0; i < 3; i++)
        lp_store_u64(rows + 1 + 8 * i, 7 * i);
    cr_assert_eq(lp_codec_view_gather(&packed.view, rows + 1, 8, 3, dst, sizeof(dst), NULL, NULL),
                 0);
    cr_assert_eq(memcmp(dst + 64, data + 7 * 64, 128), 0);
    packed_fini(&packed);
    free(data);
}

/* A wrong index entry or record names the record; the neighbours can still be read. */
Test(codec_view, corrupt_records_are_named)
{
    struct packed packed;
    uint16_t *const data = make_table(&packed, 100, 64, NULL);
    uint8_t *const index = packed.head + packed.table.index_offset;
    struct lp_error err = LP_ERROR_INIT;
    const uint64_t rows[3] = {4, 37, 5};
    uint16_t dst[3 * 64];
    struct lp_place place;

    cr_assert(lp_codec_table_place(&packed.table, index, 37, &place));
    lp_store_u16(index + 72 + 8 + 2 * 5, 0xffff);
    cr_assert_eq(lp_codec_view_gather(&packed.view, rows, 8, 3, dst, sizeof(dst), NULL, &err),
                 LP_ECORRUPT);
    cr_assert_str_eq(err.text, "record 37 breaks the format");
    cr_assert_eq(lp_codec_view_record(&packed.view, 37, dst, NULL), LP_ECORRUPT);
    cr_assert_eq(lp_codec_view_record(&packed.view, 36, dst, NULL), 0);
    cr_assert_eq(memcmp(dst, data + 36 * 64, 128), 0);
    packed_fini(&packed);
    free(data);
}

/* Verify finds a changed byte wherever it is, and names the block of the checks. */
Test(codec_view, verify_finds_changed_bytes)
{
    const struct lp_plan_params params = {.record_rows = 1};
    struct packed packed;
    uint16_t *const data = make_table(&packed, 2000, 64, &params);
    uint8_t *const scratch = malloc(LP_FORMAT_RECORD_BYTES_MAX);
    const uint64_t n = packed.table.checks_bytes / 8;
    struct lp_error err = LP_ERROR_INIT;
    struct lp_place place;

    cr_assert_geq(n, 3);
    cr_assert_eq(lp_codec_view_verify(&packed.view, 0, n, true, scratch, NULL), 0);
    cr_assert(lp_codec_table_place(&packed.table, packed.view.index, packed.table.check_records + 1,
                                   &place));
    packed.segments[0][place.offset] ^= 1;
    cr_assert_eq(lp_codec_view_verify(&packed.view, 0, 1, false, NULL, NULL), 0);
    cr_assert_eq(lp_codec_view_verify(&packed.view, 0, n, false, NULL, &err), LP_ECORRUPT);
    cr_assert_not_null(strstr(err.text, "check 1 "));
    cr_assert_eq(lp_codec_view_verify(&packed.view, 2, n - 2, true, scratch, NULL), 0);
    cr_assert_eq(lp_codec_view_verify(&packed.view, 0, n + 1, false, NULL, NULL), LP_ERANGE);
    cr_assert_eq(lp_codec_view_verify(&packed.view, 0, n, true, NULL, NULL), LP_EINVAL);
    packed.view.checks = NULL;
    cr_assert_eq(lp_codec_view_verify(&packed.view, 0, n, false, NULL, NULL), LP_EINVAL);
    free(scratch);
    packed_fini(&packed);
    free(data);
}

/* Data in which any bit is wrong decodes to something or is refused; sanitizers see to the rest. */
Test(codec_view, hostile_data_is_harmless, .timeout = 120)
{
    static const uint32_t ids[] = {LP_CODEC_IBP, LP_CODEC_LANE, LP_CODEC_ZIP7};

    for (size_t c = 0; c < LP_ARRAY_LEN(ids); c++) {
        for (uint32_t layout = LP_LAYOUT_PACKED; layout < LP_LAYOUT_END; layout++) {
            const struct lp_plan_params params = {.codec = ids[c], .layout = layout};
            struct packed packed;
            uint16_t *const data = make_table(&packed, 12, 128, &params);
            uint16_t *const dst = malloc(12 * 128 * 2);

            for (uint64_t bit = 0; bit < 8 * packed.table.data_bytes; bit++) {
                packed.segments[0][bit / 8] ^= (uint8_t)(1u << (bit % 8));
                (void)lp_codec_view_elements(&packed.view, 0, 12 * 128, dst, NULL);
                packed.segments[0][bit / 8] ^= (uint8_t)(1u << (bit % 8));
            }
            cr_assert_eq(lp_codec_view_elements(&packed.view, 0, 12 * 128, dst, NULL), 0);
            cr_assert_eq(memcmp(dst, data, 12 * 128 * 2), 0);
            free(dst);
            packed_fini(&packed);
            free(data);
        }
    }
}

/* Sectors are counted per record that a row needs. */
Test(codec_view, sectors_of_a_gather)
{
    const struct lp_plan_params raw = {.codec = LP_CODEC_RAW}, tiles = {.record_elements = 4096};
    const uint64_t rows[3] = {1, 1, 98};
    uint64_t expected = 0;
    struct packed packed;
    struct lp_place place;
    uint16_t *data;

    data = make_table(&packed, 100, 64, NULL);
    for (int i = 0; i < 3; i++) {
        cr_assert(lp_codec_table_place(&packed.table, packed.view.index, rows[i], &place));
        expected += (place.offset + place.stored_bytes - 1) / 32 - place.offset / 32 + 1;
    }
    cr_assert_eq(lp_codec_view_sectors(&packed.view, rows, 8, 3), expected);
    cr_assert_eq(32 * lp_codec_view_sectors(&packed.view, NULL, 8, 100), packed.table.wire_bytes);
    packed_fini(&packed);
    free(data);

    data = make_table(&packed, 100, 64, &raw);
    cr_assert_eq(lp_codec_view_sectors(&packed.view, rows, 8, 3), 3 * 4);
    packed_fini(&packed);
    free(data);

    data = make_table(&packed, 100, 64, &tiles);
    cr_assert(lp_codec_table_place(&packed.table, packed.view.index, 0, &place));
    cr_assert_eq(lp_codec_view_sectors(&packed.view, rows, 8, 1), (place.stored_bytes + 31) / 32);
    packed_fini(&packed);
    free(data);
}

/* The row path allocates nothing: with every allocation failing it works all the same. */
Test(codec_view, gathering_allocates_nothing)
{
    const uint64_t rows[3] = {1, 50, 98};
    uint16_t dst[3 * 60];
    struct fault_loop loop;
    struct packed packed;
    uint16_t *data;

    for (uint32_t record = 0; record <= 100; record += 100) {
        const struct lp_plan_params params = {.record_elements = record};

        data = make_table(&packed, 100, 60, &params);
        cr_assert_neq(packed.table.codec, LP_CODEC_RAW);
        fault_arm(&loop, LP_FAULT_ALLOC, 1);
        cr_assert_eq(lp_codec_view_gather(&packed.view, rows, 8, 3, dst, sizeof(dst), NULL, NULL),
                     0);
        cr_assert(!fault_loop_hit(&loop));
        fault_disarm();
        packed_fini(&packed);
        free(data);
    }
}
