/* SPDX-License-Identifier: Apache-2.0 */
/* Rows out of a packed table. The loops here are the row path: no system call, no allocation, no
 * lock.
 *
 * Sources are cold and random, so the time of a row is the time of its cache misses: its index
 * entry, then its record. Both are asked for several rows ahead, the record's lines as soon as the
 * index entry is there. */
#include "codec/view.h"

#include "base/bytes.h"
#include "codec/record.h"

#include <string.h>

/* Bytes of records that may be on their way at once, and how many rows that may be; index entries
 * run INDEX_LEAD rows before the records. Tuned with bench/bench_gather. */
#define AHEAD_BYTES 8192u
#define AHEAD_ROWS_MAX 16u
#define INDEX_LEAD 16u
/* Of one record; behind these the hardware's own prefetcher has caught on. */
#define PREFETCH_BYTES_MAX 4096u

#define LINE_BYTES 64u

static int corrupt_record(struct lp_error *err, uint64_t record)
{
    return lp_error_set(err, LP_ECORRUPT, "record %llu breaks the format",
                        (unsigned long long)record);
}

/* Row numbers are signed where they come from; a negative one becomes larger than any row. */
static inline uint64_t row_at(const void *rows, uint32_t index_bytes, uint64_t i)
{
    if (index_bytes == 4)
        return (uint64_t)(int64_t)(int32_t)lp_load_u32((const uint8_t *)rows + 4 * i);
    return lp_load_u64((const uint8_t *)rows + 8 * i);
}

static inline void prefetch_bytes(const uint8_t *p, uint32_t n_bytes)
{
    const uint8_t *const end = p + LP_MIN(n_bytes, PREFETCH_BYTES_MAX);

    for (p -= (uintptr_t)p % LINE_BYTES; p < end; p += LINE_BYTES)
        __builtin_prefetch(p);
}

/* more: the record behind this one comes next. */
static int decode_record(const struct lp_view *view, const struct lp_codec_ops *ops,
                         uint64_t record, void *dst, bool more, struct lp_error *err)
{
    const struct lp_table *const table = view->table;
    const uint32_t n = lp_codec_record_elements(table, record);
    struct lp_place place;

    if (!lp_codec_place(table, view->index, record, &place) ||
        lp_codec_record_decode(table, ops, view->segments[place.segment] + place.offset,
                               place.stored_bytes, dst, n, more) < 0)
        return corrupt_record(err, record);
    return 0;
}

int lp_codec_view_record(const struct lp_view *view, uint64_t record, void *dst,
                         struct lp_error *err)
{
    if (record >= view->table->n_records)
        return lp_error_set(err, LP_ERANGE, "record %llu of %llu", (unsigned long long)record,
                            (unsigned long long)view->table->n_records);
    return decode_record(view, lp_codec_ops(), record, dst, false, err);
}

/* Where the source of gathered rows is, and how far ahead of the row at work things are asked for.
 */
struct gather {
    const struct lp_view *view;
    const struct lp_codec_ops *ops;
    const void *rows;
    uint32_t index_bytes;
    uint32_t record_lead; /* rows */
    uint64_t n_rows;
    const void *default_row;
};

static uint64_t first_record(const struct lp_table *table, uint64_t row)
{
    if (table->record_elements == table->geometry.row_elements)
        return row;
    return row * table->geometry.row_elements / table->record_elements;
}

static inline void prefetch_index(const struct gather *gather, uint64_t i)
{
    const struct lp_table *const table = gather->view->table;
    const uint64_t row = row_at(gather->rows, gather->index_bytes, i);

    if (row < table->geometry.n_rows)
        lp_codec_index_prefetch(table, gather->view->index, first_record(table, row));
}

static inline void prefetch_record(const struct gather *gather, uint64_t i)
{
    const struct lp_table *const table = gather->view->table;
    const uint64_t row = row_at(gather->rows, gather->index_bytes, i);
    struct lp_place place;

    if (row < table->geometry.n_rows &&
        lp_codec_place(table, gather->view->index, first_record(table, row), &place))
        prefetch_bytes(gather->view->segments[place.segment] + place.offset, place.stored_bytes);
}

/* What lies ahead of row i. */
static inline void prefetch_ahead(const struct gather *gather, uint64_t i)
{
    const uint64_t record_at = i + gather->record_lead;

    if (record_at + INDEX_LEAD < gather->n_rows)
        prefetch_index(gather, record_at + INDEX_LEAD);
    if (record_at < gather->n_rows)
        prefetch_record(gather, record_at);
}

static void prefetch_first(struct gather *gather)
{
    const uint32_t record_bytes = LP_MAX(gather->view->table->record_bytes, 1);
    const uint64_t lead = AHEAD_BYTES / record_bytes;

    gather->record_lead = (uint32_t)LP_MAX(LP_MIN(lead, AHEAD_ROWS_MAX), 1);
    for (uint64_t i = 0; i < gather->record_lead + INDEX_LEAD && i < gather->n_rows; i++)
        prefetch_index(gather, i);
    for (uint64_t i = 0; i < gather->record_lead && i < gather->n_rows; i++)
        prefetch_record(gather, i);
}

static int bad_row(struct lp_error *err, const struct lp_table *table, uint64_t i, uint64_t row)
{
    return lp_error_set(err, LP_ERANGE, "rows[%llu] is %lld, the table has %llu rows",
                        (unsigned long long)i, (long long)row,
                        (unsigned long long)table->geometry.n_rows);
}

/* The stand-in for a row number that is out of range. */
static int put_default(const struct gather *gather, uint64_t i, uint64_t row, uint8_t *dst,
                       struct lp_error *err)
{
    if (gather->default_row == NULL)
        return bad_row(err, gather->view->table, i, row);
    memcpy(dst, gather->default_row, gather->view->table->geometry.row_bytes);
    return 0;
}

/* A record is a row: each is decoded to where it belongs. */
static int gather_records(struct gather *gather, uint8_t *dst, struct lp_error *err)
{
    const struct lp_geometry *const geometry = &gather->view->table->geometry;
    int rc;

    prefetch_first(gather);
    for (uint64_t i = 0; i < gather->n_rows; i++, dst += geometry->row_bytes) {
        const uint64_t row = row_at(gather->rows, gather->index_bytes, i);

        prefetch_ahead(gather, i);
        if (row < geometry->n_rows)
            LP_TRY(rc, decode_record(gather->view, gather->ops, row, dst, false, err));
        else
            LP_TRY(rc, put_default(gather, i, row, dst, err));
    }
    return 0;
}

/* Part of a record is wanted: decoded here, and kept for the next row that needs it. */
struct scratch {
    uint64_t record; /* what is in bytes; UINT64_MAX: nothing */
    uint8_t bytes[LP_FORMAT_RECORD_BYTES_MAX] __attribute__((aligned(64)));
};

/* Elements [first, first + n) of a coded table. */
static int copy_span(const struct lp_view *view, const struct lp_codec_ops *ops, uint64_t first,
                     uint64_t n, uint8_t *dst, struct scratch *scratch, struct lp_error *err)
{
    const struct lp_table *const table = view->table;
    const uint32_t elem_bytes = table->geometry.elem_bytes;
    int rc;

    while (n > 0) {
        const uint64_t record = first / table->record_elements;
        const uint32_t skip = (uint32_t)(first % table->record_elements);
        const uint32_t whole = lp_codec_record_elements(table, record);
        const uint32_t take = (uint32_t)LP_MIN(n, (uint64_t)whole - skip);

        if (take == whole) {
            LP_TRY(rc, decode_record(view, ops, record, dst, n > take, err));
        } else {
            if (scratch->record != record) {
                scratch->record = UINT64_MAX;
                LP_TRY(rc, decode_record(view, ops, record, scratch->bytes, n > take, err));
                scratch->record = record;
            }
            memcpy(dst, scratch->bytes + (size_t)skip * elem_bytes, (size_t)take * elem_bytes);
        }
        dst += (size_t)take * elem_bytes;
        first += take;
        n -= take;
    }
    return 0;
}

/* Rows lie across records or share them. */
static __attribute__((noinline)) int gather_spans(struct gather *gather, uint8_t *dst,
                                                  struct lp_error *err)
{
    const struct lp_geometry *const geometry = &gather->view->table->geometry;
    struct scratch scratch;
    int rc;

    scratch.record = UINT64_MAX;
    prefetch_first(gather);
    for (uint64_t i = 0; i < gather->n_rows; i++, dst += geometry->row_bytes) {
        const uint64_t row = row_at(gather->rows, gather->index_bytes, i);

        prefetch_ahead(gather, i);
        if (row < geometry->n_rows)
            LP_TRY(rc, copy_span(gather->view, gather->ops, row * geometry->row_elements,
                                 geometry->row_elements, dst, &scratch, err));
        else
            LP_TRY(rc, put_default(gather, i, row, dst, err));
    }
    return 0;
}

/* Elements [first, first + n) of a raw table: contiguous within each segment. */
static void copy_raw(const struct lp_view *view, uint64_t first, uint64_t n, uint8_t *dst)
{
    const struct lp_table *const table = view->table;
    const uint32_t elem_bytes = table->geometry.elem_bytes;
    const uint64_t per_segment = table->records_per_segment * table->record_elements;

    while (n > 0) {
        const uint64_t segment = table->n_segments == 1 ? 0 : first / per_segment;
        const uint64_t in_segment = first - segment * per_segment;
        const uint64_t take = LP_MIN(n, per_segment - in_segment);

        memcpy(dst, view->segments[segment] + in_segment * elem_bytes, take * elem_bytes);
        dst += take * elem_bytes;
        first += take;
        n -= take;
    }
}

static const uint8_t *raw_row(const struct lp_view *view, uint64_t row)
{
    const struct lp_table *const table = view->table;
    const uint64_t first = row * table->geometry.row_elements;
    const uint64_t per_segment = table->records_per_segment * table->record_elements;
    const uint64_t segment = table->n_segments == 1 ? 0 : first / per_segment;

    return view->segments[segment] + (first - segment * per_segment) * table->geometry.elem_bytes;
}

static int gather_raw(const struct gather *gather, uint8_t *dst, struct lp_error *err)
{
    const struct lp_geometry *const geometry = &gather->view->table->geometry;
    const uint64_t lead = LP_MAX(LP_MIN(AHEAD_BYTES / geometry->row_bytes, AHEAD_ROWS_MAX), 1);
    int rc;

    for (uint64_t i = 0; i < gather->n_rows; i++, dst += geometry->row_bytes) {
        const uint64_t row = row_at(gather->rows, gather->index_bytes, i);

        if (i + lead < gather->n_rows) {
            const uint64_t next = row_at(gather->rows, gather->index_bytes, i + lead);

            if (next < geometry->n_rows)
                prefetch_bytes(raw_row(gather->view, next),
                               (uint32_t)LP_MIN(geometry->row_bytes, PREFETCH_BYTES_MAX));
        }
        if (row < geometry->n_rows)
            copy_raw(gather->view, row * geometry->row_elements, geometry->row_elements, dst);
        else
            LP_TRY(rc, put_default(gather, i, row, dst, err));
    }
    return 0;
}

static __attribute__((noinline)) int all_elements(const struct lp_view *view, uint64_t first,
                                                  uint64_t n, uint8_t *dst, struct lp_error *err)
{
    struct scratch scratch;

    scratch.record = UINT64_MAX;
    return copy_span(view, lp_codec_ops(), first, n, dst, &scratch, err);
}

int lp_codec_view_elements(const struct lp_view *view, uint64_t first, uint64_t n, void *dst,
                           struct lp_error *err)
{
    const uint64_t n_elements = view->table->geometry.n_elements;

    if (first > n_elements || n > n_elements - first)
        return lp_error_set(err, LP_ERANGE, "elements %llu and %llu more, the table has %llu",
                            (unsigned long long)first, (unsigned long long)n,
                            (unsigned long long)n_elements);
    if (view->table->codec != LP_CODEC_RAW)
        return all_elements(view, first, n, dst, err);
    copy_raw(view, first, n, dst);
    return 0;
}

int lp_codec_view_check_rows(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                             uint64_t n_rows, uint64_t dst_bytes, const void *default_row,
                             struct lp_error *err)
{
    const struct lp_geometry *const geometry = &view->table->geometry;
    uint64_t bytes;

    if (rows == NULL && n_rows != geometry->n_rows)
        return lp_error_set(err, LP_EINVAL, "all %llu rows are asked for as %llu",
                            (unsigned long long)geometry->n_rows, (unsigned long long)n_rows);
    if (rows != NULL && index_bytes != 4 && index_bytes != 8)
        return lp_error_set(err, LP_EINVAL, "row numbers of %u bytes, 4 or 8 are known",
                            index_bytes);
    if (!lp_mul_u64(n_rows, geometry->row_bytes, &bytes) || bytes > dst_bytes)
        return lp_error_set(err, LP_ESIZE, "%llu rows of %llu bytes do not fit into %llu",
                            (unsigned long long)n_rows, (unsigned long long)geometry->row_bytes,
                            (unsigned long long)dst_bytes);
    if (rows == NULL || default_row != NULL)
        return 0;
    for (uint64_t i = 0; i < n_rows; i++) {
        const uint64_t row = row_at(rows, index_bytes, i);

        if (row >= geometry->n_rows)
            return bad_row(err, view->table, i, row);
    }
    return 0;
}

int lp_codec_view_gather_checked(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                                 uint64_t n_rows, void *dst, const void *default_row,
                                 struct lp_error *err)
{
    const struct lp_table *const table = view->table;
    struct gather gather = {.view = view,
                            .ops = lp_codec_ops(),
                            .rows = rows,
                            .index_bytes = index_bytes,
                            .n_rows = n_rows,
                            .default_row = default_row};

    if (table->geometry.row_bytes == 0)
        return 0;
    if (rows == NULL)
        return lp_codec_view_elements(view, 0, table->geometry.n_elements, dst, err);
    if (table->codec == LP_CODEC_RAW)
        return gather_raw(&gather, dst, err);
    if (table->record_elements == table->geometry.row_elements)
        return gather_records(&gather, dst, err);
    return gather_spans(&gather, dst, err);
}

int lp_codec_view_gather(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                         uint64_t n_rows, void *dst, uint64_t dst_bytes, const void *default_row,
                         struct lp_error *err)
{
    int rc;

    LP_TRY(rc,
           lp_codec_view_check_rows(view, rows, index_bytes, n_rows, dst_bytes, default_row, err));
    return lp_codec_view_gather_checked(view, rows, index_bytes, n_rows, dst, default_row, err);
}

/* Hash the stored bytes of one block of records; decode them too where scratch is given. */
static int verify_block(const struct lp_view *view, uint64_t first, uint64_t end, void *scratch,
                        uint64_t *ret_hash, struct lp_error *err)
{
    const struct lp_table *const table = view->table;
    const struct lp_codec_ops *const ops = lp_codec_ops();
    struct lp_hasher hasher;

    lp_codec_hasher_init(&hasher);
    for (uint64_t record = first; record < end; record++) {
        const uint8_t *src;
        struct lp_place place;

        if (!lp_codec_place(table, view->index, record, &place))
            return corrupt_record(err, record);
        src = view->segments[place.segment] + place.offset;
        lp_codec_hasher_update(&hasher, src, place.stored_bytes);
        if (scratch != NULL &&
            lp_codec_record_decode(table, ops, src, place.stored_bytes, scratch,
                                   lp_codec_record_elements(table, record), false) < 0)
            return corrupt_record(err, record);
    }
    *ret_hash = lp_codec_hasher_digest(&hasher);
    return 0;
}

int lp_codec_view_verify(const struct lp_view *view, uint64_t first_check, uint64_t n_checks,
                         bool decode, void *scratch, struct lp_error *err)
{
    const struct lp_table *const table = view->table;
    const uint64_t all = table->checks_bytes / 8;
    uint64_t hash;
    int rc;

    if (view->checks == NULL || (decode && scratch == NULL))
        return lp_error_set(err, LP_EINVAL, "verifying needs the checks, and scratch to decode");
    if (first_check > all || n_checks > all - first_check)
        return lp_error_set(err, LP_ERANGE, "checks %llu and %llu more, the table has %llu",
                            (unsigned long long)first_check, (unsigned long long)n_checks,
                            (unsigned long long)all);
    for (uint64_t k = first_check; k < first_check + n_checks; k++) {
        const uint64_t first = k * table->check_records;
        const uint64_t end = LP_MIN(first + table->check_records, table->n_records);

        LP_TRY(rc, verify_block(view, first, end, decode ? scratch : NULL, &hash, err));
        if (hash != lp_load_u64(view->checks + 8 * k))
            return lp_error_set(err, LP_ECORRUPT, "check %llu (records %llu to %llu) differs",
                                (unsigned long long)k, (unsigned long long)first,
                                (unsigned long long)end - 1);
    }
    return 0;
}

/* Sectors of the records that hold a row; for codec raw of the row alone. */
static uint64_t row_sectors(const struct lp_view *view, uint64_t row)
{
    const struct lp_table *const table = view->table;
    const uint64_t first = row * table->geometry.row_elements;
    const uint64_t end = first + table->geometry.row_elements;
    const uint32_t elem_bytes = table->geometry.elem_bytes;
    uint64_t sectors = 0;

    for (uint64_t r = first / table->record_elements; r * table->record_elements < end; r++) {
        struct lp_place place;

        if (!lp_codec_place(table, view->index, r, &place))
            continue;
        if (table->codec == LP_CODEC_RAW) {
            const uint64_t record = r * table->record_elements;
            const uint64_t from = LP_MAX(first, record);
            const uint64_t to = LP_MIN(end, record + table->record_elements);

            place.offset += (from - record) * elem_bytes;
            sectors += lp_codec_sectors(place.offset, (to - from) * elem_bytes);
        } else {
            sectors += lp_codec_sectors(place.offset, place.stored_bytes);
        }
    }
    return sectors;
}

uint64_t lp_codec_view_sectors(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                               uint64_t n_rows)
{
    const struct lp_geometry *const geometry = &view->table->geometry;
    uint64_t sectors = 0;

    if (geometry->row_bytes == 0)
        return 0;
    for (uint64_t i = 0; i < n_rows; i++) {
        const uint64_t row = rows == NULL ? i : row_at(rows, index_bytes, i);

        if (row < geometry->n_rows)
            sectors += row_sectors(view, row);
    }
    return sectors;
}
