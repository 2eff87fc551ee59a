/* SPDX-License-Identifier: Apache-2.0 */
/* One record, coded and decoded by whatever codec its table has. Inline: this is the row path.
 * Switches over codecs, here and elsewhere, have no default: the compiler names those that a new
 * codec is missing from. */
#ifndef LP_CODEC_RECORD_H
#define LP_CODEC_RECORD_H

#include "codec/lane_shift.h"
#include "codec/ops.h"
#include "codec/place.h"

#include <string.h>

/* What lane_encode gets: the elements of src, or in scratch the same minus their columns. */
static inline const void *lp_codec_record_centred(const struct lp_table *table,
                                                  const struct lp_codec_ops *ops, uint64_t record,
                                                  const void *src, uint32_t n, void *scratch)
{
    if (table->lane.window != LP_LANE_WINDOW_COLUMNS)
        return src;
    memcpy(scratch, src, (size_t)n * table->geometry.elem_bytes);
    lp_lane_shift(&table->lane, ops, record * table->record_elements, scratch, n, true);
    return scratch;
}

/* Code a record when the result, rounded up to the table's alignment, is shorter than the raw one.
 * Returns the codec's size, or 0: store it raw. src is all its elements, dst as for the encoders of
 * codec/ops.h; scratch has room for a record where the table has columns, else it is not used. */
static inline uint32_t lp_codec_record_encode(const struct lp_table *table,
                                              const struct lp_codec_ops *ops, uint64_t record,
                                              const void *src, void *dst, void *scratch)
{
    const uint32_t n = lp_codec_record_elements(table, record);
    const uint32_t raw_length = lp_codec_raw_length(table, n);
    const uint32_t limit = raw_length - table->align_bytes + 1;
    const uint32_t bytes = n * table->geometry.elem_bytes;

    switch ((enum lp_codec_id)table->codec) {
    case LP_CODEC_LANE:
    case LP_CODEC_ZIP7:
        return ops->lane_encode(&table->lane,
                                lp_codec_record_centred(table, ops, record, src, n, scratch), n,
                                dst, limit);
    case LP_CODEC_DICT:
        return ops->dict_encode(&table->dict, src, n, dst, limit);
    case LP_CODEC_SPARSE:
        return lp_codec_sparse_encode(&table->sparse, ops, src, n, dst, limit);
    case LP_CODEC_IBP:
        if (bytes % table->ibp.word_bytes == 0)
            return ops->ibp_encode(&table->ibp, src, bytes / table->ibp.word_bytes, dst, limit);
        break;
    case LP_CODEC_RAW:
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
    return 0;
}

/* A raw record: its elements, then zeros up to the alignment. */
static inline int lp_codec_record_copy(const uint8_t *src, uint32_t raw_length, void *dst,
                                       uint32_t bytes)
{
    uint8_t any = 0;

    memcpy(dst, src, bytes);
    for (uint32_t i = bytes; i < raw_length; i++)
        any |= src[i];
    return any == 0 ? 0 : LP_ECORRUPT;
}

/* Decode a record from its checked place. ahead: what comes next, or NULL. 0, or LP_ECORRUPT. */
static inline int lp_codec_record_decode(const struct lp_table *table,
                                         const struct lp_codec_ops *ops, uint64_t record,
                                         const uint8_t *src, uint32_t stored_bytes, void *dst,
                                         const void *ahead)
{
    const uint32_t n = lp_codec_record_elements(table, record);
    const uint32_t raw_length = lp_codec_raw_length(table, n);
    const uint32_t bytes = n * table->geometry.elem_bytes;
    int rc;

    if (stored_bytes == raw_length)
        return lp_codec_record_copy(src, raw_length, dst, bytes);
    switch ((enum lp_codec_id)table->codec) {
    case LP_CODEC_LANE:
    case LP_CODEC_ZIP7:
        rc = ops->lane_decode(&table->lane, src, stored_bytes, table->align_bytes, dst, n, ahead);
        if (rc == 0 && table->lane.window == LP_LANE_WINDOW_COLUMNS)
            lp_lane_shift(&table->lane, ops, record * table->record_elements, dst, n, false);
        return rc;
    case LP_CODEC_DICT:
        return ops->dict_decode(&table->dict, src, stored_bytes, table->align_bytes, dst, n);
    case LP_CODEC_SPARSE:
        return lp_codec_sparse_decode(&table->sparse, ops, src, stored_bytes, table->align_bytes,
                                      dst, n, ahead);
    case LP_CODEC_IBP:
        if (bytes % table->ibp.word_bytes == 0)
            return ops->ibp_decode(&table->ibp, src, stored_bytes, table->align_bytes, dst,
                                   bytes / table->ibp.word_bytes);
        break;
    case LP_CODEC_RAW:
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
    return LP_ECORRUPT;
}

#endif
