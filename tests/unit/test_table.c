/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/table.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The tables that every test here goes through: each codec in each layout, narrow and wide. */
struct shape {
    uint32_t dtype, codec, layout, align_bytes, record_elements;
    uint64_t dims[2];
};

static const struct shape shapes[] = {
    {LP_DTYPE_F32, LP_CODEC_RAW, LP_LAYOUT_PACKED, 0, 0, {70, 33}},
    {LP_DTYPE_F32, LP_CODEC_IBP, LP_LAYOUT_PACKED, 4, 0, {70, 33}},
    {LP_DTYPE_F32, LP_CODEC_IBP, LP_LAYOUT_PACKED, 32, 0, {70, 256}},
    {LP_DTYPE_F32, LP_CODEC_IBP, LP_LAYOUT_SLOTTED, 0, 0, {70, 256}},
    {LP_DTYPE_BF16, LP_CODEC_LANE, LP_LAYOUT_PACKED, 4, 0, {70, 64}},
    {LP_DTYPE_F16, LP_CODEC_LANE, LP_LAYOUT_PACKED, 4, 0, {70, 7}},
    {LP_DTYPE_F32, LP_CODEC_LANE, LP_LAYOUT_SLOTTED, 0, 0, {70, 100}},
    {LP_DTYPE_F32, LP_CODEC_LANE, LP_LAYOUT_SLOTTED, 0, 3000, {3, 3000}},
    {LP_DTYPE_BF16, LP_CODEC_LANE, LP_LAYOUT_PACKED, 4, 5000, {7, 2000}},
    {LP_DTYPE_BF16, LP_CODEC_ZIP7, LP_LAYOUT_PACKED, 4, 0, {70, 64}},
    {LP_DTYPE_BF16, LP_CODEC_ZIP7, LP_LAYOUT_SLOTTED, 0, 0, {70, 300}},
    {LP_DTYPE_I32, LP_CODEC_DICT, LP_LAYOUT_PACKED, 4, 0, {70, 64}},
    {LP_DTYPE_I64, LP_CODEC_DICT, LP_LAYOUT_SLOTTED, 0, 0, {70, 33}},
};

static void make(struct packed *packed, const struct shape *shape)
{
    const struct lp_plan_params params = {.codec = shape->codec,
                                          .layout = shape->layout,
                                          .align_bytes = shape->align_bytes,
                                          .record_elements = shape->record_elements};
    const uint64_t n = shape->dims[0] * shape->dims[1];
    void *const data = malloc(n * 8);

    samples_fill(SAMPLES_NORMAL, shape->dtype, n, 5, data);
    packed_must(packed, shape->dtype, 2, shape->dims, &params, data);
    cr_assert_eq(packed->table.codec, shape->codec);
    free(data);
}

static int parse(struct lp_table *ret_table, const struct packed *packed)
{
    return lp_codec_table_parse(ret_table, packed->head, packed->table.head_bytes, NULL);
}

/* Parses, and when the head is accepted after all, reads everything and tells how that went:
 * sanitizers watch. */
static int parse_and_read(const struct packed *packed)
{
    struct lp_view view = packed->view;
    struct lp_table table;
    int rc = parse(&table, packed);
    uint8_t *scratch, *dst;

    if (rc < 0)
        return rc;
    if (table.n_segments > packed->table.n_segments ||
        table.data_bytes > packed->table.data_bytes) {
        lp_codec_table_fini(&table);
        return 0;
    }
    view.table = &table;
    view.index = packed->head + table.index_offset;
    view.checks = packed->head + table.checks_offset;
    scratch = malloc(LP_FORMAT_RECORD_BYTES_MAX);
    dst = malloc(table.geometry.logical_bytes);
    rc = lp_codec_view_verify(&view, 0, table.checks_bytes / 8, true, scratch, NULL);
    (void)lp_codec_view_elements(&view, 0, table.geometry.n_elements, dst, NULL);
    free(dst);
    free(scratch);
    lp_codec_table_fini(&table);
    return rc;
}

/* What was emitted is parsed into the same table. */
Test(codec_table, parse_gives_back_what_emit_wrote)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(shapes); i++) {
        uint64_t head_bytes, data_bytes;
        struct packed packed;
        struct lp_table table;

        make(&packed, &shapes[i]);
        cr_assert_eq(parse(&table, &packed), 0, "shape %zu", i);
        cr_assert_eq(table.n_records, packed.table.n_records);
        cr_assert_eq(table.last_elements, packed.table.last_elements);
        cr_assert_eq(table.record_bytes, packed.table.record_bytes);
        cr_assert_eq(table.n_segments, packed.table.n_segments);
        cr_assert_eq(table.data_bytes, packed.table.data_bytes);
        cr_assert_eq(table.payload_bytes, packed.table.payload_bytes);
        cr_assert_eq(table.wire_bytes, packed.table.wire_bytes);
        cr_assert_eq(table.raw_records, packed.table.raw_records);
        cr_assert_arr_eq(&table.geometry, &packed.table.geometry, sizeof(table.geometry));
        cr_assert_arr_eq(&table.lane, &packed.table.lane, sizeof(table.lane));
        cr_assert_eq(lp_codec_table_peek(packed.head, &head_bytes, &data_bytes, NULL), 0);
        cr_assert_eq(head_bytes, packed.table.head_bytes);
        cr_assert_eq(data_bytes, packed.table.data_bytes);
        cr_assert_eq(lp_codec_table_stored_bytes(&table), head_bytes - 192 + data_bytes);
        lp_codec_table_fini(&table);
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}

/* Every byte of the head is under some hash or rule: any change is noticed. */
Test(codec_table, every_flipped_bit_is_noticed)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(shapes); i++) {
        struct packed packed;
        struct lp_table table;

        make(&packed, &shapes[i]);
        for (uint64_t at = 0; at < packed.table.head_bytes; at++) {
            const int bit = (int)(at % 8);
            int rc;

            packed.head[at] ^= (uint8_t)(1 << bit);
            rc = parse(&table, &packed);
            cr_assert(rc == LP_ECORRUPT || (rc == LP_EVERSION && at >= 8 && at < 10),
                      "shape %zu, byte %llu: %d", i, (unsigned long long)at, rc);
            packed.head[at] ^= (uint8_t)(1 << bit);
        }
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}

/* Header fields that no field besides them tells: a forged hash hides a change of these. */
static bool may_be_accepted(size_t at)
{
    return (at >= offsetof(struct lp_format_header, payload_bytes) &&
            at < offsetof(struct lp_format_header, wire_bytes)) ||
           at == offsetof(struct lp_format_header, dtype) ||
           (at >= offsetof(struct lp_format_header, dims) &&
            at < offsetof(struct lp_format_header, align_bytes)) ||
           (at >= offsetof(struct lp_format_header, record_elements) &&
            at < offsetof(struct lp_format_header, dims)) ||
           (at >= offsetof(struct lp_format_header, check_records) &&
            at < offsetof(struct lp_format_header, meta_bytes));
}

/* With a forged hash each field still has its own check; what is accepted all the same is read
 * without harm. */
Test(codec_table, forged_headers_are_refused_or_harmless, .timeout = 60)
{
    const size_t end = offsetof(struct lp_format_header, header_hash);

    for (size_t i = 0; i < LP_ARRAY_LEN(shapes); i++) {
        struct packed packed;

        make(&packed, &shapes[i]);
        for (size_t bit = 0; bit < 8 * end; bit++) {
            int rc;

            packed.head[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            packed_seal_header(packed.head);
            rc = parse_and_read(&packed);
            cr_assert(rc == LP_ECORRUPT || (rc == LP_EVERSION && bit / 8 >= 8 && bit / 8 < 10) ||
                          (rc == 0 && may_be_accepted(bit / 8)),
                      "shape %zu, bit %zu of byte %zu: %d", i, bit % 8, bit / 8, rc);
            packed.head[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}

/* Sections with a forged hash: a wrong index is found at once or by the records, at the latest by
 * the checks; other metadata decodes to other values, but within bounds. */
Test(codec_table, forged_sections_are_refused_or_harmless, .timeout = 60)
{
    for (size_t i = 1; i < LP_ARRAY_LEN(shapes); i++) {
        struct packed packed;
        uint8_t *head;

        make(&packed, &shapes[i]);
        head = packed.head;
        for (uint64_t at = packed.table.meta_offset; at < packed.table.checks_offset; at++) {
            head[at] ^= (uint8_t)(1u << (at % 8));
            lp_store_u64(head + offsetof(struct lp_format_header, meta_hash),
                         lp_codec_hash(head + packed.table.meta_offset, packed.table.meta_bytes));
            lp_store_u64(head + offsetof(struct lp_format_header, index_hash),
                         lp_codec_hash(head + packed.table.index_offset, packed.table.index_bytes));
            packed_seal_header(head);
            if (at >= packed.table.index_offset)
                cr_assert_eq(parse_and_read(&packed), LP_ECORRUPT, "shape %zu, byte %llu", i,
                             (unsigned long long)at);
            else
                (void)parse_and_read(&packed);
            head[at] ^= (uint8_t)(1u << (at % 8));
        }
        packed_fini(&packed);
    }
    ASSERT_NO_LEAK();
}

/* A head that is cut anywhere is refused, without a look behind its end. */
Test(codec_table, truncated_heads_are_refused)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(shapes); i++) {
        struct packed packed;
        struct lp_table table;

        make(&packed, &shapes[i]);
        for (uint64_t n = 0; n < packed.table.head_bytes; n += n < 256 ? 1 : 8) {
            void *const cut = lp_mem_alloc_aligned(64, n);

            memcpy(cut, packed.head, n);
            cr_assert_eq(lp_codec_table_parse(&table, cut, n, NULL), LP_ECORRUPT);
            lp_mem_free(cut);
        }
        packed_fini(&packed);
    }
}

/* Index entries that point elsewhere are found by the place itself, record by record. */
Test(codec_table, place_refuses_what_is_out_of_range)
{
    struct packed packed;
    struct lp_place place;
    uint8_t *index;

    make(&packed, &shapes[1]);
    index = packed.head + packed.table.index_offset;
    cr_assert(lp_codec_table_place(&packed.table, index, 1, &place));

    lp_store_u16(index + 8, 0);
    cr_assert(!lp_codec_table_place(&packed.table, index, 0, &place), "no length");
    lp_store_u16(index + 8, 0xffff);
    cr_assert(!lp_codec_table_place(&packed.table, index, 0, &place), "too long");
    lp_store_u16(index + 8, 20);
    lp_store_u64(index, 1ull << 40);
    cr_assert(!lp_codec_table_place(&packed.table, index, 0, &place), "no such segment");
    lp_store_u64(index, packed.table.data_bytes - 76);
    cr_assert(!lp_codec_table_place(&packed.table, index, 0, &place), "past the end");
    lp_store_u64(index, packed.table.data_bytes - 80);
    cr_assert(lp_codec_table_place(&packed.table, index, 0, &place), "the last place");
    lp_store_u64(index, 2);
    cr_assert(!lp_codec_table_place(&packed.table, index, 0, &place), "not aligned");
    lp_store_u64(index, UINT64_MAX & ~3ull);
    cr_assert(!lp_codec_table_place(&packed.table, index, 0, &place), "far away");
    packed_fini(&packed);
}

/* Sizes from hostile shapes do not wrap. */
Test(codec_table, derive_refuses_what_does_not_fit)
{
    struct lp_table table = {.codec = LP_CODEC_LANE,
                             .layout = LP_LAYOUT_PACKED,
                             .record_elements = 1,
                             .align_bytes = 4,
                             .check_records = 32,
                             .segment_bytes = LP_FORMAT_SEGMENT_BYTES_MIN,
                             .meta_bytes = 8};

    cr_assert_eq(lp_codec_geometry_init(&table.geometry, LP_DTYPE_F8_E4M3, 1,
                                        (uint64_t[]){(1ull << 62) - 1}, NULL),
                 0);
    cr_assert_eq(lp_codec_table_derive(&table, NULL), LP_ESIZE);
    table.codec = LP_CODEC_RAW;
    table.align_bytes = 1;
    cr_assert_eq(lp_codec_table_derive(&table, NULL), LP_ESIZE);
    table.record_elements = 65537;
    cr_assert_eq(lp_codec_table_derive(&table, NULL), LP_EINVAL);
    cr_assert(!lp_codec_table_set_data_bytes(&table, UINT64_MAX));
}

/* Parsing ibp metadata allocates; when it cannot, nothing is left behind. */
Test(codec_table, parse_survives_failing_allocations)
{
    struct fault_loop loop;
    struct packed packed;
    struct lp_table table;

    make(&packed, &shapes[1]);
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = parse(&table, &packed);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            continue;
        }
        cr_assert_eq(rc, 0);
        lp_codec_table_fini(&table);
    }
    cr_assert_gt(loop.nth, 1);
    packed_fini(&packed);
    ASSERT_NO_LEAK();
}
