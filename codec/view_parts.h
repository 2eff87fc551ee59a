/* SPDX-License-Identifier: Apache-2.0 */
/* What view.c and view_gather.c share. */
#ifndef LP_CODEC_VIEW_PARTS_H
#define LP_CODEC_VIEW_PARTS_H

#include "codec/record.h"
#include "codec/view.h"

/* Part of a record is wanted: it is decoded here, and kept for the next row that needs it. */
struct lp_view_scratch {
    uint64_t record; /* what is in bytes; LP_VIEW_SCRATCH_EMPTY: nothing */
    uint8_t bytes[LP_FORMAT_RECORD_BYTES_MAX] __attribute__((aligned(64)));
};
#define LP_VIEW_SCRATCH_EMPTY UINT64_MAX

/* LP_ECORRUPT, with the record's number. */
int lp_codec_view_corrupt(struct lp_error *err, uint64_t record);

/* LP_ERANGE: rows[i] is row. */
int lp_codec_view_bad_row(struct lp_error *err, const struct lp_table *table, uint64_t i,
                          uint64_t row);

/* Elements [first, first + n) of a coded table, and of a raw one; within the table. */
int lp_codec_view_copy_span(const struct lp_view *view, const struct lp_codec_ops *ops,
                            uint64_t first, uint64_t n, uint8_t *dst,
                            struct lp_view_scratch *scratch, struct lp_error *err);
void lp_codec_view_copy_raw(const struct lp_view *view, uint64_t first, uint64_t n, uint8_t *dst);

/* Where an element of a raw table lies; rows and records go on from there up to their segment's
 * end. */
static inline const uint8_t *lp_codec_view_raw(const struct lp_view *view, uint64_t element)
{
    const struct lp_table *const table = view->table;
    const uint64_t per_segment = table->records_per_segment * table->record_elements;
    const uint64_t segment = table->n_segments == 1 ? 0 : element / per_segment;

    return view->segments[segment] + (element - segment * per_segment) * table->geometry.elem_bytes;
}

/* Row numbers are signed where they come from; a negative one becomes larger than any row. */
static inline uint64_t lp_codec_row_at(const void *rows, uint32_t index_bytes, uint64_t i)
{
    if (index_bytes == 4)
        return (uint64_t)(int64_t)(int32_t)lp_load_u32((const uint8_t *)rows + 4 * i);
    return lp_load_u64((const uint8_t *)rows + 8 * i);
}

/* Decode a record from a place that lp_codec_place() found good. ahead: as for lane_decode. */
static inline int lp_codec_view_decode(const struct lp_view *view, const struct lp_codec_ops *ops,
                                       uint64_t record, const struct lp_place *place, void *dst,
                                       const void *ahead, struct lp_error *err)
{
    const uint8_t *const src = view->segments[place->segment] + place->offset;

    if (lp_codec_record_decode(view->table, ops, record, src, place->stored_bytes, dst, ahead) < 0)
        return lp_codec_view_corrupt(err, record);
    return 0;
}

#endif
