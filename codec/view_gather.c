/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by number out of a packed table. The loops here are the row path: no system call, no
 * allocation, no lock.
 *
 * Sources are cold and random, so the time of a row is that of its misses: in the index, in the
 * translation of its address, in its cache lines. An address translation blocks the instruction
 * that asks for it, and a processor looks ahead over a few hundred instructions only, less than one
 * record's decoding. So rows are taken in batches: a tight loop, in which many translations
 * overlap, touches the records of the next batch; while the present batch is decoded, the other
 * lines are asked for a few rows ahead, no more than the processor can track (what is beyond, some
 * drop). Measured in a virtual machine, 4 KiB pages, 1 GiB, 8 lines and 60 ns of work a row: 150 ns
 * a row, against 330 with everything asked for a fixed number of rows ahead. */
#include "base/bytes.h"
#include "codec/view_parts.h"

#include <string.h>

#define LINE_BYTES 64u

/* Rows of a batch; a power of two. 8 to 32 were tried: more is better. */
#define BATCH_ROWS 32u
/* Bytes of records that may be on their way at once. 512 to 4,096 were tried. */
#define AHEAD_BYTES 2048u
#define AHEAD_ROWS_MAX BATCH_ROWS
/* The same for raw rows, which cost little else. */
#define RAW_AHEAD_ROWS 8u
/* Of one record; behind these the hardware's own prefetcher has caught on. */
#define PREFETCH_BYTES_MAX 2048u

/* A row whose record was found, or not: stored_bytes is then 0. */
struct located {
    uint64_t row;
    struct lp_place place;
};

struct gather {
    const struct lp_view *view;
    const struct lp_codec_ops *ops;
    const void *rows;
    uint32_t index_bytes;
    uint32_t lead; /* rows between the one that is decoded and the one whose lines are asked for */
    uint64_t n_rows;
    const void *default_row;
    struct located ring[2 * BATCH_ROWS]; /* of row i at i modulo its length: two batches */
};

static inline uint64_t first_record(const struct lp_table *table, uint64_t row)
{
    if (table->record_elements == table->geometry.row_elements)
        return row;
    return row * table->geometry.row_elements / table->record_elements;
}

static inline struct located *located_at(struct gather *gather, uint64_t i)
{
    return &gather->ring[i % (2 * BATCH_ROWS)];
}

static inline const uint8_t *source_of(const struct gather *gather, const struct located *located)
{
    return gather->view->segments[located->place.segment] + located->place.offset;
}

static void prefetch_index(const struct gather *gather, uint64_t first)
{
    const struct lp_table *const table = gather->view->table;
    const uint64_t end = LP_MIN(first + BATCH_ROWS, gather->n_rows);

    for (uint64_t i = first; i < end; i++) {
        const uint64_t row = lp_codec_row_at(gather->rows, gather->index_bytes, i);

        if (row < table->geometry.n_rows)
            lp_codec_index_prefetch(table, gather->view->index, first_record(table, row));
    }
}

/* Find the records of a batch, then touch their first and last lines: nothing else stands in that
 * loop, so that as many address translations overlap as the processor can hold. */
static void locate(struct gather *gather, uint64_t first)
{
    const struct lp_table *const table = gather->view->table;
    const uint64_t end = LP_MIN(first + BATCH_ROWS, gather->n_rows);
    const uint8_t *touch[2 * BATCH_ROWS];
    uint32_t n = 0;

    for (uint64_t i = first; i < end; i++) {
        struct located *const located = located_at(gather, i);

        located->row = lp_codec_row_at(gather->rows, gather->index_bytes, i);
        if (located->row < table->geometry.n_rows &&
            lp_codec_place(table, gather->view->index, first_record(table, located->row),
                           &located->place)) {
            touch[n++] = source_of(gather, located);
            touch[n++] = source_of(gather, located) + located->place.stored_bytes - 1;
        } else {
            located->place.stored_bytes = 0;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        lp_codec_prefetch(touch[i]);
}

/* The lines between the first and the last. */
static inline void prefetch_lines(struct gather *gather, uint64_t i)
{
    const struct located *const located = located_at(gather, i);

    if (located->place.stored_bytes > 0) {
        const uint8_t *const src = source_of(gather, located);
        const uint32_t bytes = LP_MIN(located->place.stored_bytes, PREFETCH_BYTES_MAX);

        for (uint32_t at = LINE_BYTES; at < bytes; at += LINE_BYTES)
            lp_codec_prefetch(src + at);
    }
}

static void start(struct gather *gather)
{
    const uint32_t record_bytes = gather->view->table->record_bytes;

    gather->lead = LP_MAX(LP_MIN(AHEAD_BYTES / record_bytes, AHEAD_ROWS_MAX), 1);
    prefetch_index(gather, 0);
    locate(gather, 0);
    prefetch_index(gather, BATCH_ROWS);
    for (uint64_t i = 0; i < gather->lead && i < gather->n_rows && i < BATCH_ROWS; i++)
        prefetch_lines(gather, i);
}

/* What must be under way when row i is decoded. */
static inline void run_ahead(struct gather *gather, uint64_t i)
{
    if (i % BATCH_ROWS == 0) {
        locate(gather, i + BATCH_ROWS);
        prefetch_index(gather, i + 2 * BATCH_ROWS);
    }
    if (i + gather->lead < gather->n_rows)
        prefetch_lines(gather, i + gather->lead);
}

/* The stand-in for a row number that is out of range. */
static int put_default(const struct gather *gather, uint64_t i, uint64_t row, uint8_t *dst,
                       struct lp_error *err)
{
    if (gather->default_row == NULL)
        return lp_codec_view_bad_row(err, gather->view->table, i, row);
    memcpy(dst, gather->default_row, gather->view->table->geometry.row_bytes);
    return 0;
}

/* Records of other rows tell a decoder what comes next; it is only a hint. */
static inline const void *next_source(struct gather *gather, uint64_t i)
{
    const struct located *const located = located_at(gather, i + 1);

    if (i + 1 >= gather->n_rows || located->place.stored_bytes == 0)
        return NULL;
    return source_of(gather, located);
}

/* A record is a row: each is decoded to where it belongs. */
static int gather_records(struct gather *gather, uint8_t *dst, struct lp_error *err)
{
    const struct lp_geometry *const geometry = &gather->view->table->geometry;
    int rc;

    start(gather);
    for (uint64_t i = 0; i < gather->n_rows; i++, dst += geometry->row_bytes) {
        const struct located *const located = located_at(gather, i);

        run_ahead(gather, i);
        if (located->place.stored_bytes > 0)
            LP_TRY(rc, lp_codec_view_decode(gather->view, gather->ops, located->row,
                                            &located->place, dst, next_source(gather, i), err));
        else if (located->row < geometry->n_rows)
            return lp_codec_view_corrupt(err, located->row);
        else
            LP_TRY(rc, put_default(gather, i, located->row, dst, err));
    }
    return 0;
}

/* Rows lie across records or share them. */
static __attribute__((noinline)) int gather_spans(struct gather *gather, uint8_t *dst,
                                                  struct lp_error *err)
{
    const struct lp_geometry *const geometry = &gather->view->table->geometry;
    struct lp_view_scratch scratch;
    int rc;

    scratch.record = LP_VIEW_SCRATCH_EMPTY;
    start(gather);
    for (uint64_t i = 0; i < gather->n_rows; i++, dst += geometry->row_bytes) {
        const uint64_t row = located_at(gather, i)->row;

        run_ahead(gather, i);
        if (row < geometry->n_rows)
            LP_TRY(rc,
                   lp_codec_view_copy_span(gather->view, gather->ops, row * geometry->row_elements,
                                           geometry->row_elements, dst, &scratch, err));
        else
            LP_TRY(rc, put_default(gather, i, row, dst, err));
    }
    return 0;
}

/* Copying is so few instructions that the processor itself sees the next rows' translations; their
 * lines still come sooner when asked for. */
static inline void prefetch_raw(const struct gather *gather, uint64_t i)
{
    const struct lp_table *const table = gather->view->table;
    const uint64_t row = lp_codec_row_at(gather->rows, gather->index_bytes, i);

    if (row < table->geometry.n_rows) {
        const uint8_t *const src =
            lp_codec_view_raw(gather->view, row * table->geometry.row_elements);
        const uint64_t bytes = LP_MIN(table->geometry.row_bytes, PREFETCH_BYTES_MAX);

        for (uint64_t at = 0; at < bytes; at += LINE_BYTES)
            lp_codec_prefetch(src + at);
    }
}

static int gather_raw(const struct gather *gather, uint8_t *dst, struct lp_error *err)
{
    const struct lp_geometry *const geometry = &gather->view->table->geometry;
    int rc;

    for (uint64_t i = 0; i < gather->n_rows; i++, dst += geometry->row_bytes) {
        const uint64_t row = lp_codec_row_at(gather->rows, gather->index_bytes, i);

        if (i + RAW_AHEAD_ROWS < gather->n_rows)
            prefetch_raw(gather, i + RAW_AHEAD_ROWS);
        if (row < geometry->n_rows)
            lp_codec_view_copy_raw(gather->view, row * geometry->row_elements,
                                   geometry->row_elements, dst);
        else
            LP_TRY(rc, put_default(gather, i, row, dst, err));
    }
    return 0;
}

int lp_codec_view_gather_checked(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                                 uint64_t n_rows, void *dst, const void *default_row,
                                 struct lp_error *err)
{
    const struct lp_table *const table = view->table;
    struct gather gather;

    if (table->geometry.row_bytes == 0)
        return 0;
    if (rows == NULL)
        return lp_codec_view_elements(view, 0, table->geometry.n_elements, dst, err);
    gather.view = view;
    gather.ops = lp_codec_ops();
    gather.rows = rows;
    gather.index_bytes = index_bytes;
    gather.n_rows = n_rows;
    gather.default_row = default_row;
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
