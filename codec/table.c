/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of tables: sizes derived, written, and read back with every check that docs/FORMAT.md,
 * section 2 asks for.
 *
 * Reading trusts nothing: the header is copied, each field is checked alone, every size is derived
 * from the shape and compared, the sections are compared with their hashes and then read entry by
 * entry. */
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

static int corrupt(struct lp_error *err, const char *field, uint64_t found, uint64_t expected)
{
    return lp_error_set(err, LP_ECORRUPT, "%s is %llu, expected %llu", field,
                        (unsigned long long)found, (unsigned long long)expected);
}

/* Magic, version and the header's own hash. */
static int check_identity(const struct lp_format_header *header, const void *bytes,
                          struct lp_error *err)
{
    const uint64_t hash = lp_codec_hash(bytes, offsetof(struct lp_format_header, header_hash));

    if (memcmp(header->magic, LP_FORMAT_TABLE_MAGIC, sizeof(header->magic)) != 0)
        return lp_error_set(err, LP_ECORRUPT, "no table: the magic is missing");
    if (header->version != LP_FORMAT_VERSION)
        return lp_error_set(err, LP_EVERSION, "table version %u, this library reads %u",
                            header->version, LP_FORMAT_VERSION);
    if (header->header_hash != hash)
        return lp_error_set(err, LP_ECORRUPT, "the table header's hash differs");
    if (header->header_bytes != sizeof(*header))
        return corrupt(err, "header_bytes", header->header_bytes, sizeof(*header));
    if (header->flags != 0)
        return corrupt(err, "flags", header->flags, 0);
    return 0;
}

static int parse_geometry(struct lp_geometry *ret_geometry, const struct lp_format_header *header,
                          struct lp_error *err)
{
    if (header->ndim > LP_FORMAT_DIMS_MAX)
        return lp_error_set(err, LP_ECORRUPT, "ndim %u", header->ndim);
    for (uint32_t i = header->ndim; i < LP_FORMAT_DIMS_MAX; i++)
        if (header->dims[i] != 0)
            return corrupt(err, "a dimension behind ndim", header->dims[i], 0);
    if (lp_codec_geometry_init(ret_geometry, header->dtype, header->ndim, header->dims, err) < 0)
        return lp_error_wrap(err, LP_ECORRUPT, "table header");
    return 0;
}

/* What the header says against what follows from the rest of it; the data's size only as far as it
 * needs no index. */
static int check_sizes(const struct lp_table *table, const struct lp_format_header *header,
                       struct lp_error *err)
{
    if (header->index_bytes != table->index_bytes)
        return corrupt(err, "index_bytes", header->index_bytes, table->index_bytes);
    if (header->checks_bytes != table->checks_bytes)
        return corrupt(err, "checks_bytes", header->checks_bytes, table->checks_bytes);
    if (table->codec == LP_CODEC_RAW && header->meta_bytes != 0)
        return corrupt(err, "meta_bytes", header->meta_bytes, 0);
    if (table->codec == LP_CODEC_RAW ? header->raw_records != table->n_records
                                     : header->raw_records >= table->n_records)
        return corrupt(err, "raw_records", header->raw_records, table->n_records);
    if (table->records_per_segment > 0 && table->n_records > 0) {
        const uint64_t data_bytes = lp_codec_fixed_data_bytes(table);

        if (header->data_bytes != data_bytes)
            return corrupt(err, "data_bytes", header->data_bytes, data_bytes);
    }
    if (table->n_records == 0 && header->data_bytes != 0)
        return corrupt(err, "data_bytes", header->data_bytes, 0);
    return 0;
}

/* The fixed header alone, into a table that owns nothing yet. */
static int parse_header(struct lp_table *ret_table, struct lp_format_header *ret_header,
                        const void *bytes, struct lp_error *err)
{
    struct lp_format_header header;
    struct lp_table table;
    int rc;

    memcpy(&header, bytes, sizeof(header));
    memset(&table, 0, sizeof(table));
    LP_TRY(rc, check_identity(&header, &header, err));
    LP_TRY(rc, parse_geometry(&table.geometry, &header, err));
    table.codec = header.codec;
    table.layout = header.layout;
    table.record_elements = header.record_elements;
    table.align_bytes = header.align_bytes;
    table.check_records = header.check_records;
    table.segment_bytes = header.segment_bytes;
    table.meta_bytes = header.meta_bytes;
    if (lp_codec_table_derive(&table, err) < 0)
        return lp_error_wrap(err, LP_ECORRUPT, "table header");
    LP_TRY(rc, check_sizes(&table, &header, err));
    if (!lp_codec_table_set_data_bytes(&table, header.data_bytes))
        return lp_error_set(err, LP_ECORRUPT, "data_bytes %llu needs too many segments",
                            (unsigned long long)header.data_bytes);
    table.payload_bytes = header.payload_bytes;
    table.wire_bytes = header.wire_bytes;
    table.raw_records = header.raw_records;
    *ret_table = table;
    *ret_header = header;
    return 0;
}

int lp_codec_table_peek(const void *header, uint64_t *ret_head_bytes, uint64_t *ret_data_bytes,
                        struct lp_error *err)
{
    struct lp_format_header copy;
    struct lp_table table;
    int rc;

    LP_TRY(rc, parse_header(&table, &copy, header, err));
    *ret_head_bytes = table.head_bytes;
    *ret_data_bytes = table.data_bytes;
    return 0;
}

static int check_section(const uint8_t *head, uint64_t offset, uint64_t n_bytes, uint64_t end,
                         uint64_t hash, const char *name, struct lp_error *err)
{
    if (lp_codec_hash(head + offset, n_bytes) != hash)
        return lp_error_set(err, LP_ECORRUPT, "the hash of the %s differs", name);
    for (uint64_t i = offset + n_bytes; i < end; i++)
        if (head[i] != 0)
            return lp_error_set(err, LP_ECORRUPT, "byte %llu behind the %s is not zero",
                                (unsigned long long)i, name);
    return 0;
}

static int check_sections(const struct lp_table *table, const struct lp_format_header *header,
                          const uint8_t *head, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, check_section(head, table->meta_offset, table->meta_bytes, table->index_offset,
                             header->meta_hash, "metadata", err));
    LP_TRY(rc, check_section(head, table->index_offset, table->index_bytes, table->checks_offset,
                             header->index_hash, "index", err));
    return check_section(head, table->checks_offset, table->checks_bytes, table->head_bytes,
                         header->checks_hash, "checks", err);
}

/* Sums over the index, as the header states them. */
struct index_sums {
    uint64_t raw_records, wire_bytes;
    uint64_t payload_min, payload_max;
    uint64_t next_offset;  /* packed: where the next record must begin ... */
    uint32_t next_segment; /* ... and in which segment */
};

static int sum_record(const struct lp_table *table, const uint8_t *index, uint64_t record,
                      struct lp_place *ret_place, struct index_sums *sums, struct lp_error *err)
{
    const uint32_t n = lp_codec_record_elements(table, record);

    if (!lp_codec_place(table, index, record, ret_place))
        return lp_error_set(err, LP_ECORRUPT,
                            "the index entry of record %llu is outside of its segment or length",
                            (unsigned long long)record);
    sums->wire_bytes +=
        lp_codec_sectors(ret_place->offset, ret_place->stored_bytes) * LP_FORMAT_SECTOR_BYTES;
    if (ret_place->stored_bytes == lp_codec_raw_length(table, n)) {
        sums->raw_records++;
        sums->payload_min += n * table->geometry.elem_bytes;
        sums->payload_max += n * table->geometry.elem_bytes;
    } else {
        sums->payload_min += ret_place->stored_bytes - table->align_bytes + 1;
        sums->payload_max += ret_place->stored_bytes;
    }
    return 0;
}

/* Packed: entries behind the last record of the last group repeat it. */
static bool group_tail_ok(const struct lp_table *table, const uint8_t *index, uint64_t first,
                          uint32_t n)
{
    const uint32_t size = table->index_entry_bytes;
    const uint8_t *const ends = index + first / LP_FORMAT_GROUP_RECORDS * table->group_bytes + 8;

    for (uint32_t i = n; i < LP_FORMAT_GROUP_RECORDS; i++)
        if (memcmp(ends + (size_t)i * size, ends + (size_t)(n - 1) * size, size) != 0)
            return false;
    return true;
}

/* Packed: a group follows the one before, or begins the next segment because it did not fit. */
static int sum_group(const struct lp_table *table, const uint8_t *index, uint64_t first,
                     struct index_sums *sums, struct lp_error *err)
{
    const uint32_t n = (uint32_t)LP_MIN(table->n_records - first, LP_FORMAT_GROUP_RECORDS);
    struct lp_place place = {0};
    uint64_t begin = 0, length = 0;
    uint32_t segment = 0;
    int rc;

    for (uint32_t i = 0; i < n; i++) {
        LP_TRY(rc, sum_record(table, index, first + i, &place, sums, err));
        if (i == 0) {
            begin = place.offset;
            segment = place.segment;
        }
        if (place.offset != begin + length || place.segment != segment)
            return lp_error_set(err, LP_ECORRUPT, "record %llu does not follow the one before",
                                (unsigned long long)(first + i));
        length += place.stored_bytes;
    }
    if (!group_tail_ok(table, index, first, n))
        return lp_error_set(err, LP_ECORRUPT,
                            "the last index group does not repeat its last entry");
    if (segment == sums->next_segment + 1 && begin == 0 &&
        sums->next_offset + length > table->segment_bytes)
        sums->next_offset = 0;
    else if (segment != sums->next_segment || begin != sums->next_offset)
        return lp_error_set(err, LP_ECORRUPT, "record %llu does not follow the one before",
                            (unsigned long long)first);
    sums->next_segment = segment;
    sums->next_offset += length;
    return 0;
}

static int check_index(const struct lp_table *table, const uint8_t *index, struct lp_error *err)
{
    struct index_sums sums = {0};
    struct lp_place place;
    int rc;

    if (table->layout == LP_LAYOUT_PACKED) {
        for (uint64_t first = 0; first < table->n_records; first += LP_FORMAT_GROUP_RECORDS)
            LP_TRY(rc, sum_group(table, index, first, &sums, err));
        if (sums.next_segment * table->segment_bytes + sums.next_offset != table->data_bytes)
            return corrupt(err, "data_bytes", table->data_bytes,
                           sums.next_segment * table->segment_bytes + sums.next_offset);
    } else {
        for (uint64_t record = 0; record < table->n_records; record++)
            LP_TRY(rc, sum_record(table, index, record, &place, &sums, err));
    }
    if (sums.raw_records != table->raw_records)
        return corrupt(err, "raw_records", table->raw_records, sums.raw_records);
    if (sums.wire_bytes != table->wire_bytes)
        return corrupt(err, "wire_bytes", table->wire_bytes, sums.wire_bytes);
    if (table->payload_bytes < sums.payload_min || table->payload_bytes > sums.payload_max)
        return corrupt(err, "payload_bytes", table->payload_bytes, sums.payload_max);
    return 0;
}

/* Raw tables have no index, and one sum for everything. */
static int check_raw_sums(const struct lp_table *table, struct lp_error *err)
{
    const uint64_t logical = table->geometry.logical_bytes;

    if (table->payload_bytes != logical)
        return corrupt(err, "payload_bytes", table->payload_bytes, logical);
    if (table->wire_bytes != logical)
        return corrupt(err, "wire_bytes", table->wire_bytes, logical);
    return 0;
}

static int parse_meta(struct lp_table *table, const uint8_t *meta, struct lp_error *err)
{
    int rc = 0;

    switch ((enum lp_codec_id)table->codec) {
    case LP_CODEC_IBP:
        rc =
            lp_codec_ibp_meta_parse(&table->ibp, table->record_bytes, meta, table->meta_bytes, err);
        break;
    case LP_CODEC_LANE:
        rc = lp_codec_lane_meta_parse(&table->lane, table->geometry.dtype, table->record_elements,
                                      table->geometry.n_elements, meta, table->meta_bytes, err);
        break;
    case LP_CODEC_DICT:
        rc = lp_codec_dict_meta_parse(&table->dict, table->geometry.elem_bytes, meta,
                                      table->meta_bytes, err);
        break;
    case LP_CODEC_SPARSE:
        rc = lp_codec_sparse_meta_parse(&table->sparse, table->geometry.dtype,
                                        table->record_elements, meta, table->meta_bytes, err);
        break;
    case LP_CODEC_ZIP7:
        rc = lp_codec_zip7_meta_parse(&table->lane, table->geometry.dtype, meta, table->meta_bytes,
                                      err);
        break;
    case LP_CODEC_RAW:
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
    /* A codec that cannot take the dtype is a broken table here, not a wish that cannot be met. */
    return rc < 0 && rc != LP_ENOMEM ? lp_error_wrap(err, LP_ECORRUPT, "metadata") : rc;
}

int lp_codec_table_parse(struct lp_table *ret_table, const void *head, uint64_t head_bytes,
                         struct lp_error *err)
{
    const uint8_t *const bytes = head;
    struct lp_format_header header;
    struct lp_table table;
    int rc;

    if (head_bytes < sizeof(header))
        return lp_error_set(err, LP_ECORRUPT,
                            "a table's head has at least %zu bytes, here are %llu", sizeof(header),
                            (unsigned long long)head_bytes);
    LP_TRY(rc, parse_header(&table, &header, head, err));
    if (head_bytes < table.head_bytes)
        return lp_error_set(err, LP_ECORRUPT, "the table's head has %llu bytes, here are %llu",
                            (unsigned long long)table.head_bytes, (unsigned long long)head_bytes);
    LP_TRY(rc, check_sections(&table, &header, bytes, err));
    if (table.codec == LP_CODEC_RAW)
        LP_TRY(rc, check_raw_sums(&table, err));
    else
        LP_TRY(rc, check_index(&table, bytes + table.index_offset, err));
    LP_TRY(rc, parse_meta(&table, bytes + table.meta_offset, err));
    *ret_table = table;
    return 0;
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
