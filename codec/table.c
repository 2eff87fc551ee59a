/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of tables: sizes derived, and written. They are read in table_parse.c. Source:
 * docs/FORMAT.md, section 2. */
#include "codec/table.h"

#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/codec_zip7.h"
#include "codec/place.h"

#include <string.h>

LP_STATIC_ASSERT(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                 "headers are copied as they are: the host is little-endian");

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Fields that say how a table is laid out, each alone. */
static int check_layout(const struct lp_table *table, struct lp_error *err)
{
    const uint32_t align = table->align_bytes;
    const uint64_t record_bytes = (uint64_t)table->record_elements * table->geometry.elem_bytes;

    if (table->codec == LP_CODEC_AUTO || table->codec >= LP_CODEC_END)
        return lp_error_set(err, LP_EINVAL, "codec %u is not known", table->codec);
    if (table->layout == 0 || table->layout >= LP_LAYOUT_END)
        return lp_error_set(err, LP_EINVAL, "layout %u is not known", table->layout);
    if (table->codec == LP_CODEC_RAW
            ? align != 1 || table->layout != LP_LAYOUT_PACKED
            : align != 32 && (align != 4 || table->layout != LP_LAYOUT_PACKED))
        return lp_error_set(err, LP_EINVAL, "align_bytes %u with codec %u and layout %u", align,
                            table->codec, table->layout);
    if (record_bytes == 0 || record_bytes > LP_FORMAT_RECORD_BYTES_MAX)
        return lp_error_set(err, LP_EINVAL, "record_elements %u: a record of %llu bytes",
                            table->record_elements, (unsigned long long)record_bytes);
    if (table->record_elements > LP_MAX(table->geometry.n_elements, 1))
        return lp_error_set(err, LP_EINVAL, "record_elements %u is more than the tensor has",
                            table->record_elements);
    if (table->check_records == 0 || table->check_records % 32 != 0)
        return lp_error_set(err, LP_EINVAL, "check_records %u is no multiple of 32",
                            table->check_records);
    if (table->segment_bytes < LP_FORMAT_SEGMENT_BYTES_MIN ||
        table->segment_bytes > LP_FORMAT_SEGMENT_BYTES_MAX || table->segment_bytes % 64 != 0)
        return lp_error_set(err, LP_EINVAL, "segment_bytes %llu",
                            (unsigned long long)table->segment_bytes);
    return 0;
}

/* Records, and what one takes in index and segments. */
static void derive_records(struct lp_table *table)
{
    const uint64_t n_elements = table->geometry.n_elements;

    table->record_bytes = table->record_elements * table->geometry.elem_bytes;
    table->n_records = ceil_div(n_elements, table->record_elements);
    table->last_elements = 0;
    if (table->n_records > 0)
        table->last_elements =
            (uint32_t)(n_elements - (table->n_records - 1) * table->record_elements);
    table->stride = 0;
    table->records_per_segment = 0;
    table->index_entry_bytes = 0;
    table->group_bytes = 0;
    if (table->codec == LP_CODEC_RAW) {
        table->stride = table->record_bytes;
    } else if (table->layout == LP_LAYOUT_SLOTTED) {
        table->stride = (uint32_t)lp_round_up_u64(table->record_bytes, LP_FORMAT_SECTOR_BYTES);
        table->index_entry_bytes = table->stride <= LP_FORMAT_STRIDE_NARROW ? 1 : 2;
    } else {
        const bool narrow = table->record_bytes <= LP_FORMAT_RECORD_BYTES_NARROW;

        table->index_entry_bytes = narrow ? 2 : 4;
        table->group_bytes = narrow ? LP_FORMAT_GROUP_BYTES_NARROW : LP_FORMAT_GROUP_BYTES_WIDE;
    }
    if (table->stride > 0)
        table->records_per_segment = table->segment_bytes / table->stride;
}

static bool derive_sizes(struct lp_table *table)
{
    const uint64_t groups = ceil_div(table->n_records, LP_FORMAT_GROUP_RECORDS);

    if (table->group_bytes > 0
            ? !lp_mul_u64(groups, table->group_bytes, &table->index_bytes)
            : !lp_mul_u64(table->n_records, table->index_entry_bytes, &table->index_bytes))
        return false;
    table->checks_bytes = ceil_div(table->n_records, table->check_records) * 8;
    /* Far from 2^64, so that rounding up cannot wrap. */
    if (table->meta_bytes >= LP_FORMAT_LOGICAL_LIMIT ||
        table->index_bytes >= LP_FORMAT_LOGICAL_LIMIT)
        return false;
    table->meta_offset = sizeof(struct lp_format_header);
    table->index_offset =
        table->meta_offset + lp_round_up_u64(table->meta_bytes, LP_FORMAT_SECTION_ALIGN);
    table->checks_offset =
        table->index_offset + lp_round_up_u64(table->index_bytes, LP_FORMAT_SECTION_ALIGN);
    table->head_bytes =
        lp_round_up_u64(table->checks_offset + table->checks_bytes, LP_FORMAT_DATA_ALIGN);
    return true;
}

int lp_codec_table_derive(struct lp_table *table, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, check_layout(table, err));
    derive_records(table);
    if (!derive_sizes(table) ||
        (table->records_per_segment > 0 &&
         ceil_div(table->n_records, table->records_per_segment) > LP_FORMAT_SEGMENTS_MAX))
        return lp_error_set(err, LP_ESIZE, "%llu records do not fit the format",
                            (unsigned long long)table->n_records);
    return 0;
}

bool lp_codec_table_set_data_bytes(struct lp_table *table, uint64_t data_bytes)
{
    const uint64_t n_segments = ceil_div(data_bytes, table->segment_bytes);

    if (n_segments > LP_FORMAT_SEGMENTS_MAX)
        return false;
    table->data_bytes = data_bytes;
    table->n_segments = (uint32_t)n_segments;
    table->last_segment_bytes =
        n_segments == 0 ? 0 : data_bytes - (n_segments - 1) * table->segment_bytes;
    return true;
}

void lp_codec_table_fini(struct lp_table *table)
{
    if (table == NULL)
        return;
    lp_codec_ibp_fini(&table->ibp);
    lp_codec_lane_fini(&table->lane);
    lp_codec_dict_fini(&table->dict);
    lp_codec_sparse_fini(&table->sparse);
    memset(table, 0, sizeof(*table));
}

static void emit_header(const struct lp_table *table, uint8_t *head)
{
    struct lp_format_header header = {
        .magic = LP_FORMAT_TABLE_MAGIC,
        .version = LP_FORMAT_VERSION,
        .header_bytes = sizeof(header),
        .dtype = (uint8_t)table->geometry.dtype,
        .codec = (uint8_t)table->codec,
        .layout = (uint8_t)table->layout,
        .ndim = (uint8_t)table->geometry.ndim,
        .record_elements = table->record_elements,
        .align_bytes = table->align_bytes,
        .check_records = table->check_records,
        .segment_bytes = table->segment_bytes,
        .meta_bytes = table->meta_bytes,
        .index_bytes = table->index_bytes,
        .checks_bytes = table->checks_bytes,
        .data_bytes = table->data_bytes,
        .payload_bytes = table->payload_bytes,
        .wire_bytes = table->wire_bytes,
        .raw_records = table->raw_records,
        .meta_hash = lp_codec_hash(head + table->meta_offset, table->meta_bytes),
        .index_hash = lp_codec_hash(head + table->index_offset, table->index_bytes),
        .checks_hash = lp_codec_hash(head + table->checks_offset, table->checks_bytes),
    };

    memcpy(header.dims, table->geometry.dims, sizeof(header.dims));
    header.header_hash = lp_codec_hash(&header, offsetof(struct lp_format_header, header_hash));
    memcpy(head, &header, sizeof(header));
}

static void emit_meta(const struct lp_table *table, uint8_t *meta)
{
    switch ((enum lp_codec_id)table->codec) {
    case LP_CODEC_IBP:
        lp_codec_ibp_meta_emit(&table->ibp, meta);
        break;
    case LP_CODEC_LANE:
        lp_codec_lane_meta_emit(&table->lane, meta);
        break;
    case LP_CODEC_DICT:
        lp_codec_dict_meta_emit(&table->dict, meta);
        break;
    case LP_CODEC_SPARSE:
        lp_codec_sparse_meta_emit(&table->sparse, meta);
        break;
    case LP_CODEC_ZIP7:
        lp_codec_zip7_meta_emit(&table->lane, meta);
        break;
    case LP_CODEC_RAW:
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
}

void lp_codec_table_emit(const struct lp_table *table, void *head)
{
    uint8_t *const bytes = head;
    const uint64_t meta_end = table->meta_offset + table->meta_bytes;
    const uint64_t index_end = table->index_offset + table->index_bytes;
    const uint64_t checks_end = table->checks_offset + table->checks_bytes;

    emit_meta(table, bytes + table->meta_offset);
    memset(bytes + meta_end, 0, table->index_offset - meta_end);
    memset(bytes + index_end, 0, table->checks_offset - index_end);
    memset(bytes + checks_end, 0, table->head_bytes - checks_end);
    emit_header(table, bytes);
}

uint32_t lp_codec_table_record_elements(const struct lp_table *table, uint64_t record)
{
    return lp_codec_record_elements(table, record);
}

uint64_t lp_codec_table_segment_bytes(const struct lp_table *table, uint32_t segment)
{
    return segment + 1 < table->n_segments ? table->segment_bytes : table->last_segment_bytes;
}

uint64_t lp_codec_table_stored_bytes(const struct lp_table *table)
{
    return table->head_bytes - sizeof(struct lp_format_header) + table->data_bytes;
}

bool lp_codec_table_place(const struct lp_table *table, const uint8_t *index, uint64_t record,
                          struct lp_place *ret_place)
{
    return lp_codec_place(table, index, record, ret_place);
}
