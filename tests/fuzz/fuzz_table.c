/* SPDX-License-Identifier: Apache-2.0 */
/* A table in memory: head and data, the hashes put right so that mutations get past them, then all
 * that a view can do, on every tier. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/record.h"
#include "codec/view.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

/* A coded record may be a thousand times as long as what is stored: not all are decoded. */
#define RECORDS_MAX 16u
#define ROWS_MAX 16u

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* Recompute the head's hashes, as far as its fields stay inside of the input. */
static void mend(uint8_t *table, size_t size)
{
    const size_t meta = sizeof(struct lp_format_header);
    struct lp_format_header header;

    memcpy(&header, table, sizeof(header));
    if (header.meta_bytes < size && header.index_bytes < size && header.checks_bytes < size) {
        const uint64_t index = meta + lp_round_up_u64(header.meta_bytes, 8);
        const uint64_t checks = index + lp_round_up_u64(header.index_bytes, 8);

        if (checks + header.checks_bytes <= size) {
            header.meta_hash = lp_codec_hash(table + meta, header.meta_bytes);
            header.index_hash = lp_codec_hash(table + index, header.index_bytes);
            header.checks_hash = lp_codec_hash(table + checks, header.checks_bytes);
        }
    }
    header.header_hash = lp_codec_hash(&header, offsetof(struct lp_format_header, header_hash));
    memcpy(table, &header, sizeof(header));
}

/* Every tier must say the same about a record, and give the same elements. */
static void decode_on_tiers(const struct lp_view *view, uint64_t record)
{
    const struct lp_table *const table = view->table;
    const uint32_t n = lp_codec_record_elements(table, record);
    const size_t bytes = (size_t)n * table->geometry.elem_bytes;
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    uint8_t *const first = must(lp_mem_alloc(bytes)), *const dst = must(lp_mem_alloc(bytes));
    struct lp_place place;
    int first_rc = 0;

    if (lp_codec_place(table, view->index, record, &place)) {
        const uint8_t *const src = view->segments[place.segment] + place.offset;

        for (int t = 0; t < n_tiers; t++) {
            const int rc = lp_codec_record_decode(table, tiers[t], record, src, place.stored_bytes,
                                                  t == 0 ? first : dst, NULL);

            if (t == 0)
                first_rc = rc;
            else if (rc != first_rc || (rc == 0 && memcmp(first, dst, bytes) != 0))
                abort();
        }
    }
    lp_mem_free(dst);
    lp_mem_free(first);
}

static void gather_some(const struct lp_view *view)
{
    const struct lp_geometry *const geometry = &view->table->geometry;
    uint64_t rows[ROWS_MAX], n = 0;
    uint8_t *dst;

    if (geometry->n_rows == 0 || geometry->row_bytes > (1u << 20))
        return;
    for (; n < ROWS_MAX; n++)
        rows[n] = n * 7919 % geometry->n_rows;
    dst = must(lp_mem_alloc(n * geometry->row_bytes));
    (void)lp_codec_view_gather(view, rows, 8, n, dst, n * geometry->row_bytes, NULL, NULL);
    rows[n / 2] = geometry->n_rows;
    if (lp_codec_view_gather(view, rows, 8, n, dst, n * geometry->row_bytes, NULL, NULL) !=
        LP_ERANGE)
        abort();
    (void)lp_codec_view_sectors(view, rows, 8, n);
    lp_mem_free(dst);
}

static void read_view(const struct lp_view *view)
{
    const struct lp_table *const table = view->table;
    const uint64_t n = LP_MIN(table->n_records, RECORDS_MAX);
    uint8_t *const scratch = must(lp_mem_alloc(LP_FORMAT_RECORD_BYTES_MAX));

    for (uint64_t r = 0; r < n; r++) {
        decode_on_tiers(view, r);
        decode_on_tiers(view, table->n_records - 1 - r);
    }
    gather_some(view);
    (void)lp_codec_view_verify(view, 0, table->checks_bytes / 8, n == table->n_records, scratch,
                               NULL);
    lp_mem_free(scratch);
}

static void try_table(const uint8_t *bytes, size_t size)
{
    struct lp_error err = LP_ERROR_INIT;
    const uint8_t **segments;
    struct lp_table table;
    struct lp_view view;

    if (lp_codec_table_parse(&table, bytes, size, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
        return;
    }
    if (table.data_bytes <= size - table.head_bytes) {
        segments = must(lp_mem_alloc_array(table.n_segments, sizeof(*segments)));
        for (uint32_t i = 0; i < table.n_segments; i++)
            segments[i] = bytes + table.head_bytes + i * table.segment_bytes;
        view = (struct lp_view){&table, bytes + table.index_offset, bytes + table.checks_offset,
                                segments};
        read_view(&view);
        lp_mem_free(segments);
    }
    lp_codec_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *const copy = must(lp_mem_alloc_aligned(64, size + LP_CODEC_SLACK_BYTES));

    if (size > 0)
        memcpy(copy, data, size);
    memset(copy + size, 0, LP_CODEC_SLACK_BYTES);
    try_table(copy, size);
    if (size >= sizeof(struct lp_format_header)) {
        mend(copy, size);
        try_table(copy, size);
    }
    lp_mem_free(copy);
    return 0;
}
