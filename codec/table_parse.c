/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of tables, read with every check that docs/FORMAT.md, section 2 asks for.
 *
 * Nothing is trusted: the header is copied, each field is checked alone, every size is derived from
 * the shape and compared, the sections are compared with their hashes and then read entry by entry.
 */
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/codec_zip7.h"
#include "codec/place.h"
#include "codec/table.h"

#include <string.h>

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
