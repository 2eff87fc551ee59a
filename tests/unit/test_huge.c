/* SPDX-License-Identifier: Apache-2.0 */
/* More than 2^32 elements, and so more than 2^31 bits many times over: counters, row numbers and
 * offsets that are too narrow show here. Nearly all of it is zeros, which codec sparse packs into a
 * few bytes a record, so memory stays small; codec raw runs into a sink that keeps nothing. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/packer.h"
#include "codec/plan.h"
#include "codec/sample.h"
#include "codec/view.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define ROWS ((UINT64_C(1) << 32) + 70001)
#define PIECE (UINT64_C(16) << 20)
#define RECORD 4096u

/* Rows that are not zero: both ends, both sides of 2^31 and 2^32, and a record's border. */
static const uint64_t marked[] = {0,
                                  (UINT64_C(1) << 31) - 1,
                                  UINT64_C(1) << 31,
                                  (UINT64_C(1) << 32) - 1,
                                  UINT64_C(1) << 32,
                                  (UINT64_C(1) << 32) + RECORD,
                                  ROWS - 1};

static uint8_t mark_of(uint64_t row)
{
    return (uint8_t)(1 + row * 31 % 251);
}

/* Where packed bytes go: one block, or nowhere. */
struct sink {
    uint8_t *bytes; /* NULL: nothing is kept */
    uint64_t room, end;
    uint8_t piece[1u << 20];
};

static int reserve(void *user, uint64_t data_offset, uint32_t bytes, uint8_t **ret_dst,
                   struct lp_error *err)
{
    struct sink *const sink = user;

    (void)err;
    cr_assert_geq(data_offset, sink->end, "offsets rise");
    sink->end = data_offset + bytes;
    if (sink->bytes == NULL) {
        cr_assert_leq(bytes, sizeof(sink->piece));
        *ret_dst = sink->piece;
        return 0;
    }
    cr_assert_leq(sink->end, sink->room);
    *ret_dst = sink->bytes + data_offset;
    return 0;
}

static int commit(void *user, uint64_t data_offset, const uint8_t *dst, uint32_t bytes,
                  struct lp_error *err)
{
    (void)user;
    (void)data_offset;
    (void)dst;
    (void)bytes;
    (void)err;
    return 0;
}

static void plan(struct lp_table *ret_table, uint32_t codec)
{
    const uint64_t dims[LP_FORMAT_DIMS_MAX] = {ROWS, 1};
    struct lp_plan_params params = {
        .codec = codec, .record_elements = RECORD, .segment_bytes = LP_FORMAT_SEGMENT_BYTES_MAX};
    struct lp_geometry geometry;
    struct lp_sample layout;
    uint8_t *sample;

    cr_assert_eq(lp_codec_geometry_init(&geometry, LP_DTYPE_U8, 2, dims, NULL), 0);
    layout = lp_codec_sample(&geometry, RECORD, LP_PLAN_SAMPLE_BYTES, LP_SAMPLE_RUN_BYTES);
    sample = calloc(1, layout.n_elements);
    sample[0] = mark_of(0);
    cr_assert_eq(
        lp_codec_plan(ret_table, &geometry, &params, sample, layout.n_elements, NULL, NULL), 0);
    cr_assert_eq(ret_table->codec, codec);
    free(sample);
}

static void pack(struct lp_table *table, uint8_t *head, struct sink *sink)
{
    const struct lp_packer_sink to = {sink, reserve, commit};
    uint8_t *const piece = calloc(1, PIECE);
    struct lp_packer packer;

    cr_assert_eq(lp_codec_packer_init(&packer, table, head + table->index_offset,
                                      head + table->checks_offset, &to, NULL),
                 0);
    for (uint64_t at = 0; at < ROWS; at += PIECE) {
        const uint64_t n = LP_MIN(PIECE, ROWS - at);

        for (size_t m = 0; m < LP_ARRAY_LEN(marked); m++)
            if (marked[m] >= at && marked[m] < at + n)
                piece[marked[m] - at] = mark_of(marked[m]);
        cr_assert_eq(lp_codec_packer_append(&packer, piece, n, NULL), 0);
        for (size_t m = 0; m < LP_ARRAY_LEN(marked); m++)
            if (marked[m] >= at && marked[m] < at + n)
                piece[marked[m] - at] = 0;
    }
    cr_assert_eq(lp_codec_packer_finish(&packer, NULL), 0);
    lp_codec_packer_fini(&packer);
    free(piece);
}

/* Marked rows and their neighbours, one gather. */
static void check_rows(const struct lp_view *view)
{
    uint64_t rows[3 * LP_ARRAY_LEN(marked)];
    uint8_t expected[LP_ARRAY_LEN(rows)], got[LP_ARRAY_LEN(rows)];
    const uint64_t beyond = ROWS;

    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        rows[i] = LP_MIN(marked[i / 3] + i % 3, ROWS - 1);
        expected[i] = 0;
        for (size_t m = 0; m < LP_ARRAY_LEN(marked); m++)
            if (marked[m] == rows[i])
                expected[i] = mark_of(rows[i]);
    }
    cr_assert_eq(
        lp_codec_view_gather(view, rows, 8, LP_ARRAY_LEN(rows), got, sizeof(got), NULL, NULL), 0);
    cr_assert_eq(memcmp(got, expected, sizeof(got)), 0);
    cr_assert_eq(lp_codec_view_gather(view, &beyond, 8, 1, got, 1, NULL, NULL), LP_ERANGE);
}

Test(huge, rows_beyond_32_bits_come_back, .timeout = 600)
{
    static struct sink sink;
    const uint8_t *segments[1];
    struct lp_table table, parsed;
    uint8_t *head;

    plan(&table, LP_CODEC_SPARSE);
    head = lp_mem_alloc_aligned(64, table.head_bytes);
    sink.room = table.n_records * 16;
    sink.bytes = lp_mem_alloc_aligned(64, sink.room + LP_CODEC_SLACK_BYTES);
    cr_assert(head != NULL && sink.bytes != NULL);
    pack(&table, head, &sink);
    lp_codec_table_emit(&table, head);
    cr_assert_eq(lp_codec_table_parse(&parsed, head, table.head_bytes, NULL), 0);
    cr_assert_gt(parsed.geometry.n_elements, UINT64_C(1) << 32);
    segments[0] = sink.bytes;
    check_rows(&(struct lp_view){.table = &parsed,
                                 .index = head + table.index_offset,
                                 .checks = head + table.checks_offset,
                                 .segments = segments});
    lp_codec_table_fini(&parsed);
    lp_codec_table_fini(&table);
    lp_mem_free(sink.bytes);
    lp_mem_free(head);
}

Test(huge, raw_offsets_pass_32_bits, .timeout = 600)
{
    static struct sink sink;
    struct lp_table table;
    uint8_t *head;

    plan(&table, LP_CODEC_RAW);
    head = lp_mem_alloc_aligned(64, table.head_bytes);
    cr_assert_not_null(head);
    pack(&table, head, &sink);
    cr_assert_eq(sink.end, ROWS);
    cr_assert_eq(table.data_bytes, ROWS);
    cr_assert_eq(table.payload_bytes, ROWS);
    lp_codec_table_fini(&table);
    lp_mem_free(head);
}
