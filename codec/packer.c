/* SPDX-License-Identifier: Apache-2.0 */
/* The stream from elements to stored records.
 *
 * Coded tables: records are coded into a group of up to 32, because a group must not cross the end
 * of a segment and its size is known only once it is coded; then index entries, data and hash are
 * written at once. Raw tables need no group: elements go straight to the sink. */
#include "codec/packer.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/record.h"

#include <string.h>

/* Raw data is handed on in pieces of at most this. */
#define RAW_PIECE_BYTES (1u << 20)

static uint32_t record_room(const struct lp_table *table)
{
    return (uint32_t)lp_round_up_u64(table->record_bytes, 64);
}

int lp_codec_packer_init(struct lp_packer *ret_packer, struct lp_table *table, uint8_t *index,
                         uint8_t *checks, const struct lp_packer_sink *sink, struct lp_error *err)
{
    const uint32_t room = record_room(table);
    struct lp_packer packer = {.table = table, .sink = *sink, .index = index, .checks = checks};

    packer.hasher = lp_mem_alloc_aligned(_Alignof(struct lp_hasher), sizeof(*packer.hasher));
    if (packer.hasher == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a packer");
    lp_codec_hasher_init(packer.hasher);
    if (table->codec != LP_CODEC_RAW) {
        packer.pending = lp_mem_alloc_aligned(64, (2 + LP_FORMAT_GROUP_RECORDS) * (size_t)room +
                                                      LP_CODEC_SLACK_BYTES);
        if (packer.pending == NULL) {
            lp_mem_free(packer.hasher);
            return lp_error_set(err, LP_ENOMEM, "no memory for a packer's group of records");
        }
        packer.scratch = packer.pending + room;
        packer.group = packer.scratch + room;
    }
    *ret_packer = packer;
    return 0;
}

void lp_codec_packer_fini(struct lp_packer *packer)
{
    if (packer == NULL)
        return;
    lp_mem_free(packer->hasher);
    lp_mem_free(packer->pending);
    memset(packer, 0, sizeof(*packer));
}

/* Records up to done are in: when that ends a block of the checks, write its hash. */
static void end_check_block(struct lp_packer *packer, uint64_t done)
{
    const struct lp_table *const table = packer->table;

    if (done == 0 || (done % table->check_records != 0 && done != table->n_records))
        return;
    lp_store_u64(packer->checks + (done - 1) / table->check_records * 8,
                 lp_codec_hasher_digest(packer->hasher));
    lp_codec_hasher_init(packer->hasher);
}

static int put_data(struct lp_packer *packer, uint64_t data_offset, const uint8_t *bytes,
                    uint32_t n_bytes, struct lp_error *err)
{
    uint8_t *dst;
    int rc;

    LP_TRY(rc, packer->sink.reserve(packer->sink.user, data_offset, n_bytes, &dst, err));
    memcpy(dst, bytes, n_bytes);
    return packer->sink.commit(packer->sink.user, data_offset, dst, n_bytes, err);
}

/* A run of raw elements that crosses neither a segment nor a block of the checks. */
static int put_raw_run(struct lp_packer *packer, const uint8_t *src, uint64_t n_elements,
                       uint64_t *ret_taken, struct lp_error *err)
{
    const struct lp_table *const table = packer->table;
    const uint32_t elem_bytes = table->geometry.elem_bytes;
    const uint64_t record = packer->next_element / table->record_elements;
    const uint64_t segment = record / table->records_per_segment;
    const uint64_t segment_elements = table->records_per_segment * table->record_elements;
    const uint64_t block_elements = (uint64_t)table->check_records * table->record_elements;
    const uint64_t at = packer->next_element;
    uint64_t n = LP_MIN(n_elements, RAW_PIECE_BYTES / elem_bytes);
    int rc;

    n = LP_MIN(n, segment_elements - at % segment_elements);
    n = LP_MIN(n, block_elements - at % block_elements);
    LP_TRY(rc, put_data(packer, segment * table->segment_bytes + at % segment_elements * elem_bytes,
                        src, (uint32_t)n * elem_bytes, err));
    lp_codec_hasher_update(packer->hasher, src, n * elem_bytes);
    packer->next_element += n;
    if (packer->next_element % table->record_elements == 0)
        end_check_block(packer, packer->next_element / table->record_elements);
    else if (packer->next_element == table->geometry.n_elements)
        end_check_block(packer, table->n_records);
    *ret_taken = n;
    return 0;
}

static int append_raw(struct lp_packer *packer, const uint8_t *src, uint64_t n_elements,
                      struct lp_error *err)
{
    uint64_t taken;
    int rc;

    while (n_elements > 0) {
        LP_TRY(rc, put_raw_run(packer, src, n_elements, &taken, err));
        src += taken * packer->table->geometry.elem_bytes;
        n_elements -= taken;
    }
    return 0;
}

/* Where the group's record i stands in the group's buffer. */
static uint8_t *group_record(const struct lp_packer *packer, uint32_t i)
{
    if (packer->table->layout == LP_LAYOUT_SLOTTED)
        return packer->group + (size_t)i * packer->table->stride;
    return packer->group + packer->group_bytes;
}

/* One index group; the entries behind the last record repeat it. */
static void write_group_index(struct lp_packer *packer, uint64_t first, uint32_t n)
{
    const struct lp_table *const table = packer->table;
    uint8_t *const group = packer->index + first / LP_FORMAT_GROUP_RECORDS * table->group_bytes;
    uint32_t end = 0;

    lp_store_u64(group,
                 (uint64_t)packer->segment << LP_FORMAT_BASE_SEGMENT_SHIFT | packer->segment_used);
    for (uint32_t i = 0; i < LP_FORMAT_GROUP_RECORDS; i++) {
        if (i < n)
            end += packer->lengths[i] / LP_FORMAT_INDEX_UNIT_BYTES;
        if (table->index_entry_bytes == 2)
            lp_store_u16(group + 8 + 2 * i, (uint16_t)end);
        else
            lp_store_u32(group + 8 + 4 * i, end);
    }
}

static int flush_packed(struct lp_packer *packer, uint64_t first, uint32_t n, struct lp_error *err)
{
    const struct lp_table *const table = packer->table;
    uint64_t at;

    if (packer->segment_used + packer->group_bytes > table->segment_bytes) {
        if (packer->segment + 1 >= LP_FORMAT_SEGMENTS_MAX)
            return lp_error_set(err, LP_ESIZE, "the table needs more than %u segments",
                                LP_FORMAT_SEGMENTS_MAX);
        packer->segment++;
        packer->segment_used = 0;
    }
    write_group_index(packer, first, n);
    at = packer->segment_used;
    for (uint32_t i = 0; i < n; i++) {
        packer->wire_bytes += lp_codec_sectors(at, packer->lengths[i]) * LP_FORMAT_SECTOR_BYTES;
        at += packer->lengths[i];
    }
    lp_codec_hasher_update(packer->hasher, packer->group, packer->group_bytes);
    at = packer->segment * table->segment_bytes + packer->segment_used;
    packer->segment_used += packer->group_bytes;
    return put_data(packer, at, packer->group, packer->group_bytes, err);
}

static void write_slot_index(const struct lp_packer *packer, uint64_t record, uint32_t length)
{
    const uint32_t sectors = length / LP_FORMAT_SECTOR_BYTES;

    if (packer->table->index_entry_bytes == 1)
        packer->index[record] = (uint8_t)sectors;
    else
        lp_store_u16(packer->index + 2 * record, (uint16_t)sectors);
}

/* Whole slots, in runs that end with their segment. */
static int flush_slotted(struct lp_packer *packer, uint64_t first, uint32_t n, struct lp_error *err)
{
    const struct lp_table *const table = packer->table;
    const uint64_t per_segment = table->records_per_segment;
    uint32_t run;
    int rc;

    for (uint32_t i = 0; i < n; i++) {
        write_slot_index(packer, first + i, packer->lengths[i]);
        packer->wire_bytes += packer->lengths[i];
        lp_codec_hasher_update(packer->hasher, group_record(packer, i), packer->lengths[i]);
    }
    for (uint32_t i = 0; i < n; i += run) {
        const uint64_t in_segment = (first + i) % per_segment;

        run = (uint32_t)LP_MIN(n - i, per_segment - in_segment);
        LP_TRY(rc, put_data(packer,
                            (first + i) / per_segment * table->segment_bytes +
                                in_segment * table->stride,
                            group_record(packer, i), run * table->stride, err));
    }
    return 0;
}

static int flush_group(struct lp_packer *packer, struct lp_error *err)
{
    const uint32_t n = packer->group_records;
    const uint64_t first = packer->next_record - n;
    int rc;

    if (packer->table->layout == LP_LAYOUT_SLOTTED)
        LP_TRY(rc, flush_slotted(packer, first, n, err));
    else
        LP_TRY(rc, flush_packed(packer, first, n, err));
    packer->group_records = 0;
    packer->group_bytes = 0;
    end_check_block(packer, packer->next_record);
    return 0;
}

/* Code one whole record into the group. */
static int put_record(struct lp_packer *packer, const void *src, uint32_t n, struct lp_error *err)
{
    const struct lp_table *const table = packer->table;
    const uint32_t bytes = n * table->geometry.elem_bytes;
    const uint32_t raw_length = lp_codec_raw_length(table, n);
    uint8_t *const dst = group_record(packer, packer->group_records);
    uint32_t size = lp_codec_record_encode(table, lp_codec_ops(), packer->next_record, src, dst,
                                           packer->scratch);
    uint32_t length;

    if (size == 0) {
        memcpy(dst, src, bytes);
        size = bytes;
        packer->raw_records++;
    }
    length = (size + table->align_bytes - 1) & ~(table->align_bytes - 1);
    memset(dst + size, 0, (table->stride > 0 ? table->stride : length) - size);
    packer->payload_bytes += size;
    packer->lengths[packer->group_records++] = LP_MIN(length, raw_length);
    packer->group_bytes += length;
    packer->next_record++;
    packer->next_element += n;
    if (packer->group_records == LP_FORMAT_GROUP_RECORDS || packer->next_record == table->n_records)
        return flush_group(packer, err);
    return 0;
}

/* Whole records straight from src, the pieces around them through pending. */
static int append_coded(struct lp_packer *packer, const uint8_t *src, uint64_t n_elements,
                        struct lp_error *err)
{
    const struct lp_table *const table = packer->table;
    const uint32_t elem_bytes = table->geometry.elem_bytes;
    int rc;

    while (n_elements > 0) {
        const uint32_t whole = lp_codec_record_elements(table, packer->next_record);
        const uint32_t n = (uint32_t)LP_MIN(n_elements, (uint64_t)whole - packer->pending_elements);

        if (n == whole) {
            LP_TRY(rc, put_record(packer, src, whole, err));
        } else {
            memcpy(packer->pending + (size_t)packer->pending_elements * elem_bytes, src,
                   (size_t)n * elem_bytes);
            packer->pending_elements += n;
            if (packer->pending_elements == whole) {
                packer->pending_elements = 0;
                LP_TRY(rc, put_record(packer, packer->pending, whole, err));
            }
        }
        src += (size_t)n * elem_bytes;
        n_elements -= n;
    }
    return 0;
}

int lp_codec_packer_append(struct lp_packer *packer, const void *src, uint64_t n_elements,
                           struct lp_error *err)
{
    const struct lp_table *const table = packer->table;
    const uint64_t in = packer->next_element + packer->pending_elements;

    if (n_elements > table->geometry.n_elements - in)
        return lp_error_set(err, LP_ESIZE, "the tensor has %llu elements, here come more",
                            (unsigned long long)table->geometry.n_elements);
    if (table->codec == LP_CODEC_RAW)
        return append_raw(packer, src, n_elements, err);
    return append_coded(packer, src, n_elements, err);
}

int lp_codec_packer_finish(struct lp_packer *packer, struct lp_error *err)
{
    struct lp_table *const table = packer->table;
    const bool raw = table->codec == LP_CODEC_RAW;
    uint64_t data_bytes = packer->segment * table->segment_bytes + packer->segment_used;

    if (packer->next_element != table->geometry.n_elements)
        return lp_error_set(err, LP_ESIZE, "%llu of the tensor's %llu elements are missing",
                            (unsigned long long)(table->geometry.n_elements - packer->next_element),
                            (unsigned long long)table->geometry.n_elements);
    if (table->stride > 0)
        data_bytes = lp_codec_fixed_data_bytes(table);
    if (!lp_codec_table_set_data_bytes(table, data_bytes))
        return lp_error_set(err, LP_ESIZE, "the table needs more than %u segments",
                            LP_FORMAT_SEGMENTS_MAX);
    table->payload_bytes = raw ? table->geometry.logical_bytes : packer->payload_bytes;
    table->wire_bytes = raw ? table->geometry.logical_bytes : packer->wire_bytes;
    table->raw_records = raw ? table->n_records : packer->raw_records;
    /* The sizes stand either way: what was packed can be read back to be packed again. */
    return !raw && packer->raw_records == table->n_records ? LP_PACKER_ALL_RAW : 0;
}
