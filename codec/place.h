/* SPDX-License-Identifier: Apache-2.0 */
/* Where a record lies, inline for the loops that ask it per row. Source: docs/FORMAT.md,
 * section 2.1. */
#ifndef LP_CODEC_PLACE_H
#define LP_CODEC_PLACE_H

#include "base/bytes.h"
#include "codec/table.h"

/* The index may lie in shared memory: each entry is loaded exactly once, so that what was checked
 * is what is used. The index section is 8-byte aligned, and its entries follow their own size. */
static inline uint16_t lp_codec_index_u16(const uint8_t *p)
{
    return LP_LE16(*(const volatile uint16_t *)(const void *)p);
}

static inline uint32_t lp_codec_index_u32(const uint8_t *p)
{
    return LP_LE32(*(const volatile uint32_t *)(const void *)p);
}

static inline uint64_t lp_codec_index_u64(const uint8_t *p)
{
    return LP_LE64(*(const volatile uint64_t *)(const void *)p);
}

/* Elements of record r; r < n_records. */
static inline uint32_t lp_codec_record_elements(const struct lp_table *table, uint64_t record)
{
    return record + 1 < table->n_records ? table->record_elements : table->last_elements;
}

/* Stored length of a record of n elements that did not shrink. */
static inline uint32_t lp_codec_raw_length(const struct lp_table *table, uint32_t n_elements)
{
    const uint32_t bytes = n_elements * table->geometry.elem_bytes;

    return (bytes + table->align_bytes - 1) & ~(table->align_bytes - 1);
}

/* Ask for a line. gcc takes a function that does nothing else for one without effect and drops the
 * call; the empty statement keeps it. */
static inline void lp_codec_prefetch(const void *p)
{
    __builtin_prefetch(p);
    __asm__ volatile("" : : "r"(p));
}

/* The bytes that hold the index entry of a record, for prefetching: its group's base, and itself.
 */
static inline void lp_codec_index_prefetch(const struct lp_table *table, const uint8_t *index,
                                           uint64_t record)
{
    if (table->layout == LP_LAYOUT_SLOTTED) {
        lp_codec_prefetch(index + record * table->index_entry_bytes);
    } else {
        const uint8_t *const group = index + record / LP_FORMAT_GROUP_RECORDS * table->group_bytes;

        lp_codec_prefetch(group);
        lp_codec_prefetch(group + 8 + record % LP_FORMAT_GROUP_RECORDS * table->index_entry_bytes);
    }
}

static inline void lp_codec_place_packed(const struct lp_table *table, const uint8_t *index,
                                         uint64_t record, struct lp_place *ret_place)
{
    const uint8_t *const group = index + record / LP_FORMAT_GROUP_RECORDS * table->group_bytes;
    const uint8_t *const ends = group + 8;
    const uint32_t i = (uint32_t)(record % LP_FORMAT_GROUP_RECORDS);
    const uint64_t base = lp_codec_index_u64(group);
    uint32_t begin = 0, units;

    if (table->index_entry_bytes == 2) {
        begin = i > 0 ? lp_codec_index_u16(ends + 2 * (i - 1)) : 0;
        units = (uint16_t)(lp_codec_index_u16(ends + 2 * i) - begin);
    } else {
        begin = i > 0 ? lp_codec_index_u32(ends + 4 * (i - 1)) : 0;
        units = lp_codec_index_u32(ends + 4 * i) - begin;
    }
    ret_place->segment = (uint32_t)(base >> LP_FORMAT_BASE_SEGMENT_SHIFT);
    ret_place->offset = (base & ((1ull << LP_FORMAT_BASE_SEGMENT_SHIFT) - 1)) +
                        (uint64_t)begin * LP_FORMAT_INDEX_UNIT_BYTES;
    /* A length that does not fit 32 bits is corrupt; keep it larger than any record. */
    ret_place->stored_bytes = units < UINT32_MAX / LP_FORMAT_INDEX_UNIT_BYTES
                                  ? units * LP_FORMAT_INDEX_UNIT_BYTES
                                  : UINT32_MAX;
}

/* As lp_codec_table_place(); record < n_records. */
static inline bool lp_codec_place(const struct lp_table *table, const uint8_t *index,
                                  uint64_t record, struct lp_place *ret_place)
{
    const uint32_t raw_length = lp_codec_raw_length(table, lp_codec_record_elements(table, record));
    struct lp_place place;

    if (table->codec != LP_CODEC_RAW && table->layout == LP_LAYOUT_PACKED) {
        lp_codec_place_packed(table, index, record, &place);
    } else {
        place.segment = (uint32_t)(record / table->records_per_segment);
        place.offset = record % table->records_per_segment * table->stride;
        if (table->codec == LP_CODEC_RAW)
            place.stored_bytes = raw_length;
        else if (table->index_entry_bytes == 1)
            place.stored_bytes =
                *(const volatile uint8_t *)(index + record) * LP_FORMAT_SECTOR_BYTES;
        else
            place.stored_bytes = lp_codec_index_u16(index + 2 * record) * LP_FORMAT_SECTOR_BYTES;
    }
    *ret_place = place;
    if (place.stored_bytes == 0 || place.stored_bytes > raw_length ||
        place.segment >= table->n_segments)
        return false;
    if (((place.offset | place.stored_bytes) & (table->align_bytes - 1)) != 0)
        return false;
    /* offset < 2^40 + 2^34, so the sum is far from an overflow. */
    return place.offset + place.stored_bytes <= (place.segment + 1 < table->n_segments
                                                     ? table->segment_bytes
                                                     : table->last_segment_bytes);
}

/* Bytes of the segments of a raw or slotted table. */
static inline uint64_t lp_codec_fixed_data_bytes(const struct lp_table *table)
{
    const uint64_t last = table->n_records - 1;
    const uint32_t last_bytes = table->codec == LP_CODEC_RAW
                                    ? table->last_elements * table->geometry.elem_bytes
                                    : table->stride;

    if (table->n_records == 0)
        return 0;
    return last / table->records_per_segment * table->segment_bytes +
           last % table->records_per_segment * table->stride + last_bytes;
}

/* Sectors that these bytes of a segment touch. */
static inline uint64_t lp_codec_sectors(uint64_t offset, uint64_t n_bytes)
{
    const uint64_t sector = LP_FORMAT_SECTOR_BYTES;

    return n_bytes == 0 ? 0 : (offset + n_bytes - 1) / sector - offset / sector + 1;
}

#endif
