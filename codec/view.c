/* SPDX-License-Identifier: Apache-2.0 */
/* A packed table read record by record and run by run, and its checks; gathers are in
 * view_gather.c. */
#include "codec/view.h"

#include "base/bytes.h"
#include "codec/view_parts.h"

#include <string.h>

int lp_codec_view_corrupt(struct lp_error *err, uint64_t record)
{
    return lp_error_set(err, LP_ECORRUPT, "record %llu breaks the format",
                        (unsigned long long)record);
}

int lp_codec_view_bad_row(struct lp_error *err, const struct lp_table *table, uint64_t i,
                          uint64_t row)
{
    return lp_error_set(err, LP_ERANGE, "rows[%llu] is %lld, the table has %llu rows",
                        (unsigned long long)i, (long long)row,
                        (unsigned long long)table->geometry.n_rows);
}

/* more: the record behind this one comes next. */
static int decode_record(const struct lp_view *view, const struct lp_codec_ops *ops,
                         uint64_t record, void *dst, bool more, struct lp_error *err)
{
    struct lp_place place;
    const uint8_t *ahead = NULL;

    if (!lp_codec_place(view->table, view->index, record, &place))
        return lp_codec_view_corrupt(err, record);
    if (more)
        ahead = view->segments[place.segment] + place.offset + place.stored_bytes;
    return lp_codec_view_decode(view, ops, record, &place, dst, ahead, err);
}

int lp_codec_view_record(const struct lp_view *view, uint64_t record, void *dst,
                         struct lp_error *err)
{
    if (record >= view->table->n_records)
        return lp_error_set(err, LP_ERANGE, "record %llu of %llu", (unsigned long long)record,
                            (unsigned long long)view->table->n_records);
    return decode_record(view, lp_codec_ops(), record, dst, false, err);
}

/* Elements [first, first + n) of a coded table. */
int lp_codec_view_copy_span(const struct lp_view *view, const struct lp_codec_ops *ops,
                            uint64_t first, uint64_t n, uint8_t *dst,
                            struct lp_view_scratch *scratch, struct lp_error *err)
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
                scratch->record = LP_VIEW_SCRATCH_EMPTY;
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

/* Elements [first, first + n) of a raw table: contiguous within each segment. */
void lp_codec_view_copy_raw(const struct lp_view *view, uint64_t first, uint64_t n, uint8_t *dst)
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

static __attribute__((noinline)) int all_elements(const struct lp_view *view, uint64_t first,
                                                  uint64_t n, uint8_t *dst, struct lp_error *err)
{
    struct lp_view_scratch scratch;

    scratch.record = LP_VIEW_SCRATCH_EMPTY;
    return lp_codec_view_copy_span(view, lp_codec_ops(), first, n, dst, &scratch, err);
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
    lp_codec_view_copy_raw(view, first, n, dst);
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
        const uint64_t row = lp_codec_row_at(rows, index_bytes, i);

        if (row >= geometry->n_rows)
            return lp_codec_view_bad_row(err, view->table, i, row);
    }
    return 0;
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
            return lp_codec_view_corrupt(err, record);
        src = view->segments[place.segment] + place.offset;
        lp_codec_hasher_update(&hasher, src, place.stored_bytes);
        if (scratch != NULL &&
            lp_codec_record_decode(table, ops, record, src, place.stored_bytes, scratch, NULL) < 0)
            return lp_codec_view_corrupt(err, record);
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
        const uint64_t row = rows == NULL ? i : lp_codec_row_at(rows, index_bytes, i);

        if (row < geometry->n_rows)
            sectors += row_sectors(view, row);
    }
    return sectors;
}
