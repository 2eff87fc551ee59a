/* SPDX-License-Identifier: Apache-2.0 */
/* .lpk files out: tensors packed one after another behind the file's header, the directory last.
 *
 * A table's head stands before its data but is known only after it, so its place is left open: the
 * size of a head follows from the plan alone. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/hash.h"
#include "codec/lpk.h"
#include "codec/packer.h"
#include "store/lpk_file.h"
#include "store/outfile.h"

#include <string.h>

#define SLOTS_MIN 64u /* of the table of names; always a power of two */

struct lp_lpk_writer {
    struct lp_outfile file;
    struct lp_lpk_directory directory; /* n_entries used of entries_room */
    uint32_t entries_room;
    uint32_t *slots; /* owned; names by hash: number of an entry + 1, or 0 */
    uint32_t n_slots;
    uint64_t end; /* where the next table may begin */
};

/* Records on their way to the file: one write for many. */
struct sink {
    struct lp_outfile *file;
    uint64_t data_offset; /* in the file, where the table's data begins */
    uint64_t begin;       /* in the data, where the buffer's bytes go */
    uint32_t used, room;
    uint8_t *buffer; /* owned; room + LP_CODEC_SLACK_BYTES */
};

/* One attempt at one tensor. */
struct packing {
    struct lp_lpk_writer *writer;
    struct lp_load_file *source;
    uint32_t i;
    struct lp_table table;
    uint8_t *head;     /* owned */
    uint8_t *elements; /* owned; LP_LPK_BUFFER_BYTES */
    struct sink sink;
};

/* --- names ----------------------------------------------------------------------------------- */

/* The slot that holds name, or the empty one where it belongs. */
static uint32_t slot_find(const struct lp_lpk_writer *writer, const char *name)
{
    uint32_t slot = (uint32_t)lp_codec_hash(name, strlen(name)) & (writer->n_slots - 1);

    while (writer->slots[slot] != 0 &&
           strcmp(writer->directory.entries[writer->slots[slot] - 1].name, name) != 0)
        slot = (slot + 1) & (writer->n_slots - 1);
    return slot;
}

/* Twice the slots, entered anew. */
static int slots_grow(struct lp_lpk_writer *writer, struct lp_error *err)
{
    const uint32_t n = writer->n_slots == 0 ? SLOTS_MIN : 2 * writer->n_slots;
    uint32_t *slots = lp_mem_alloc_array(n, sizeof(*slots));

    if (slots == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u names", n);
    memset(slots, 0, (size_t)n * sizeof(*slots));
    lp_mem_free(writer->slots);
    writer->slots = slots;
    writer->n_slots = n;
    for (uint32_t e = 0; e < writer->directory.n_entries; e++)
        slots[slot_find(writer, writer->directory.entries[e].name)] = e + 1;
    return 0;
}

static int entries_grow(struct lp_lpk_writer *writer, struct lp_error *err)
{
    const uint32_t room = writer->entries_room == 0 ? SLOTS_MIN : 2 * writer->entries_room;
    struct lp_lpk_entry *entries =
        lp_mem_realloc_array(writer->directory.entries, room, sizeof(*entries));

    if (entries == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u tensors", room);
    writer->directory.entries = entries;
    writer->entries_room = room;
    return 0;
}

/* Room for one more tensor, and nobody else of its name. */
static int name_reserve(struct lp_lpk_writer *writer, const char *name, struct lp_error *err)
{
    const uint32_t n = writer->directory.n_entries;
    int rc;

    if (n == LP_FORMAT_TENSORS_MAX)
        return lp_error_set(err, LP_ELIMIT, "a file has at most %u tensors", LP_FORMAT_TENSORS_MAX);
    if (n == writer->entries_room)
        LP_TRY(rc, entries_grow(writer, err));
    if (2 * (n + 1) > writer->n_slots)
        LP_TRY(rc, slots_grow(writer, err));
    if (writer->slots[slot_find(writer, name)] != 0)
        return lp_error_set(err, LP_EEXIST, "a tensor of this name is in the file already");
    return 0;
}

static int entry_append(struct lp_lpk_writer *writer, const char *name, uint64_t offset,
                        uint64_t bytes, struct lp_error *err)
{
    const uint32_t slot = slot_find(writer, name);
    const uint32_t n = writer->directory.n_entries;
    char *copy = lp_mem_strdup(name);

    if (copy == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a tensor's name");
    writer->directory.entries[n] = (struct lp_lpk_entry){offset, bytes, copy};
    writer->directory.n_entries = n + 1;
    writer->slots[slot] = n + 1;
    return 0;
}

/* --- the packer's sink ----------------------------------------------------------------------- */

static int sink_flush(struct sink *sink, struct lp_error *err)
{
    int rc;

    if (sink->used > 0)
        LP_TRY(rc, lp_outfile_write(sink->file, sink->buffer, sink->used,
                                    sink->data_offset + sink->begin, err));
    sink->begin += sink->used;
    sink->used = 0;
    return 0;
}

static int sink_reserve(void *user, uint64_t data_offset, uint32_t bytes, uint8_t **ret_dst,
                        struct lp_error *err)
{
    struct sink *sink = user;
    int rc;

    if (bytes > sink->room)
        return lp_error_set(err, LP_EINTERNAL, "%u bytes of records at once", bytes);
    if (data_offset != sink->begin + sink->used || bytes > sink->room - sink->used) {
        LP_TRY(rc, sink_flush(sink, err));
        sink->begin = data_offset;
    }
    *ret_dst = sink->buffer + sink->used;
    return 0;
}

static int sink_commit(void *user, uint64_t data_offset, const uint8_t *dst, uint32_t bytes,
                       struct lp_error *err)
{
    struct sink *sink = user;

    (void)data_offset;
    (void)dst;
    (void)err;
    sink->used += bytes;
    return 0;
}

/* --- one tensor ------------------------------------------------------------------------------ */

/* For errors of the codec and of ours: those of the loader and of the file name their place. */
static int in_tensor(const struct packing *packing, int rc, struct lp_error *err)
{
    if (rc >= 0)
        return rc;
    return lp_error_wrap(err, rc, "packing '%.48s'",
                         lp_load_tensor(packing->source, packing->i)->name);
}

/* Look at a sample and decide. The sample is gone again before anything is packed. */
static int plan(struct packing *packing, const struct lp_plan_params *params,
                struct lp_prices *ret_prices, struct lp_error *err)
{
    const struct lp_geometry *geometry = &lp_load_tensor(packing->source, packing->i)->geometry;
    struct lp_plan_params with_layout = {0};
    uint32_t record;
    int rc;

    LP_TRY(rc, in_tensor(packing, lp_codec_plan_record(geometry, params, &record, err), err));
    const struct lp_sample layout =
        lp_load_sample_layout(packing->source, packing->i, record, LP_PLAN_SAMPLE_BYTES);
    const uint64_t n = layout.n_elements;
    uint8_t *sample = lp_mem_alloc((size_t)(n * geometry->elem_bytes) + LP_CODEC_SLACK_BYTES);
    if (sample == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a sample of %llu elements",
                            (unsigned long long)n);
    LP_TRY_GOTO(
        rc, lp_load_sample(packing->source, packing->i, record, LP_PLAN_SAMPLE_BYTES, sample, err),
        done);
    if (params != NULL)
        with_layout = *params;
    with_layout.sample_layout = &layout;
    rc = lp_codec_plan(&packing->table, geometry, &with_layout, sample, n, ret_prices, err);
    rc = in_tensor(packing, rc, err);

done:
    lp_mem_free(sample);
    return rc;
}

static int buffers_make(struct packing *packing, struct lp_error *err)
{
    packing->head = lp_mem_zalloc((size_t)packing->table.head_bytes);
    packing->elements = lp_mem_alloc(LP_LPK_BUFFER_BYTES + LP_CODEC_SLACK_BYTES);
    packing->sink.buffer = lp_mem_alloc(LP_LPK_BUFFER_BYTES + LP_CODEC_SLACK_BYTES);
    packing->sink.room = LP_LPK_BUFFER_BYTES;
    if (packing->head == NULL || packing->elements == NULL || packing->sink.buffer == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for an index of %llu bytes and buffers",
                            (unsigned long long)packing->table.head_bytes);
    return 0;
}

static int elements_append(struct packing *packing, struct lp_packer *packer,
                           struct lp_progress *progress, struct lp_error *err)
{
    const struct lp_geometry *geometry = &packing->table.geometry;
    const uint64_t most = LP_LPK_BUFFER_BYTES / geometry->elem_bytes;
    int rc;

    for (uint64_t first = 0; first < geometry->n_elements;) {
        const uint64_t n = LP_MIN(most, geometry->n_elements - first);

        LP_TRY(rc, lp_load_read(packing->source, packing->i, first, n, packing->elements, err));
        rc = lp_codec_packer_append(packer, packing->elements, n, err);
        if (rc < 0)
            return in_tensor(packing, rc, err);
        lp_progress_add(progress, n * geometry->elem_bytes);
        first += n;
    }
    return 0;
}

/* Data to the file behind the place of the head. Returns what lp_codec_packer_finish() does. */
static int data_write(struct packing *packing, struct lp_progress *progress, struct lp_error *err)
{
    const struct lp_packer_sink callbacks = {&packing->sink, sink_reserve, sink_commit};
    struct lp_packer packer;
    int rc, finished;

    LP_TRY(rc, lp_codec_packer_init(&packer, &packing->table,
                                    packing->head + packing->table.index_offset,
                                    packing->head + packing->table.checks_offset, &callbacks, err));
    LP_TRY_GOTO(rc, elements_append(packing, &packer, progress, err), done);
    LP_TRY_GOTO(rc, in_tensor(packing, lp_codec_packer_finish(&packer, err), err), done);
    finished = rc;
    LP_TRY_GOTO(rc, sink_flush(&packing->sink, err), done);
    rc = finished;

done:
    lp_codec_packer_fini(&packer);
    return rc;
}

static void packing_fini(struct packing *packing)
{
    lp_codec_table_fini(&packing->table);
    lp_mem_free(packing->head);
    lp_mem_free(packing->elements);
    lp_mem_free(packing->sink.buffer);
    packing->head = packing->elements = packing->sink.buffer = NULL;
    packing->sink.used = 0;
    packing->sink.begin = 0;
}

/* Plan, pack and write one table at the writer's end. 0 or LP_PACKER_ALL_RAW. */
static int table_write(struct packing *packing, const struct lp_plan_params *params,
                       struct lp_progress *progress, struct lp_prices *ret_prices,
                       struct lp_error *err)
{
    const uint64_t begin = packing->writer->end;
    int rc;

    LP_TRY(rc, plan(packing, params, ret_prices, err));
    LP_TRY(rc, buffers_make(packing, err));
    packing->sink.file = &packing->writer->file;
    packing->sink.data_offset = begin + packing->table.head_bytes;
    rc = data_write(packing, progress, err);
    if (rc != 0)
        return rc;
    lp_codec_table_emit(&packing->table, packing->head);
    return lp_outfile_write(&packing->writer->file, packing->head,
                            (size_t)packing->table.head_bytes, begin, err);
}

static void info_fill(const struct packing *packing, struct lp_lpk_info *ret_info)
{
    const struct lp_table *table = &packing->table;

    *ret_info = (struct lp_lpk_info){
        .name = lp_load_tensor(packing->source, packing->i)->name,
        .geometry = table->geometry,
        .codec = table->codec,
        .layout = table->layout,
        .record_elements = table->record_elements,
        .n_records = table->n_records,
        .raw_records = table->raw_records,
        .payload_bytes = table->payload_bytes,
        .stored_bytes = lp_codec_table_stored_bytes(table),
        .wire_bytes = table->wire_bytes,
        .file_offset = packing->writer->end,
        .file_bytes = table->head_bytes + table->data_bytes,
    };
    lp_codec_table_describe(table, ret_info->how, sizeof(ret_info->how));
    memcpy(ret_info->reason, table->reason, sizeof(ret_info->reason));
}

/* As chosen; and where then no record shrank, once more as raw (docs/FORMAT.md, section 2.1). */
static int tensor_write(struct packing *packing, const struct lp_plan_params *params,
                        struct lp_progress *progress, struct lp_prices *ret_prices,
                        struct lp_error *err)
{
    struct lp_plan_params raw = {0};
    int rc;

    LP_TRY(rc, table_write(packing, params, progress, ret_prices, err));
    if (rc == 0)
        return 0;
    if (params != NULL)
        raw = *params;
    raw.codec = LP_CODEC_RAW;
    packing_fini(packing);
    LP_TRY(rc, lp_outfile_resize(&packing->writer->file, packing->writer->end, err));
    return table_write(packing, &raw, NULL, NULL, err);
}

int lp_lpk_writer_add(struct lp_lpk_writer *writer, struct lp_load_file *source, uint32_t i,
                      const struct lp_plan_params *params, struct lp_progress *progress,
                      struct lp_prices *ret_prices, struct lp_lpk_info *ret_info,
                      struct lp_error *err)
{
    struct packing packing = {.writer = writer, .source = source, .i = i};
    const struct lp_load_tensor *tensor = lp_load_tensor(source, i);
    struct lp_lpk_info info;
    int rc;

    if (tensor == NULL)
        return lp_error_set(err, LP_ERANGE, "tensor %u of %u", i, lp_load_count(source));
    LP_TRY_GOTO(rc, in_tensor(&packing, name_reserve(writer, tensor->name, err), err), fail);
    LP_TRY_GOTO(rc, tensor_write(&packing, params, progress, ret_prices, err), fail);
    LP_TRY_GOTO(rc, lp_load_check_unchanged(source, err), fail);
    info_fill(&packing, &info);
    LP_TRY_GOTO(rc, entry_append(writer, tensor->name, info.file_offset, info.file_bytes, err),
                fail);
    writer->end = lp_round_up_u64(info.file_offset + info.file_bytes, LP_FORMAT_DATA_ALIGN);
    if (ret_info != NULL)
        *ret_info = info;
    packing_fini(&packing);
    return 0;

fail:
    packing_fini(&packing);
    /* Gaps must be zeros, so nothing of this attempt may stay; commit tries again if this fails. */
    (void)lp_outfile_resize(&writer->file, writer->end, NULL);
    return rc;
}

/* --- the file -------------------------------------------------------------------------------- */

int lp_lpk_writer_open(struct lp_lpk_writer **ret_writer, const char *path, struct lp_error *err)
{
    struct lp_lpk_writer *writer = lp_mem_zalloc(sizeof(*writer));
    int rc;

    if (writer == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to write an .lpk file");
    rc = lp_outfile_open(&writer->file, path, err);
    if (rc < 0) {
        lp_mem_free(writer);
        return rc;
    }
    writer->end = sizeof(struct lp_format_file_header);
    *ret_writer = writer;
    return 0;
}

/* Directory and header of what was added. */
static int directory_write(struct lp_lpk_writer *writer, struct lp_error *err)
{
    struct lp_lpk_directory *directory = &writer->directory;
    const uint64_t bytes = lp_codec_lpk_directory_bytes(directory);
    uint8_t header[sizeof(struct lp_format_file_header)];
    uint8_t *text = lp_mem_alloc((size_t)bytes);
    int rc;

    if (text == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a directory of %llu bytes",
                            (unsigned long long)bytes);
    directory->directory_offset = writer->end;
    directory->directory_bytes = bytes;
    directory->file_bytes = writer->end + bytes;
    lp_codec_lpk_emit(directory, header, text);
    LP_TRY_GOTO(rc, lp_outfile_resize(&writer->file, writer->end, err), done);
    LP_TRY_GOTO(rc, lp_outfile_write(&writer->file, text, (size_t)bytes, writer->end, err), done);
    rc = lp_outfile_write(&writer->file, header, sizeof(header), 0, err);

done:
    lp_mem_free(text);
    return rc;
}

int lp_lpk_writer_commit(struct lp_lpk_writer *writer, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, directory_write(writer, err));
    LP_TRY(rc, lp_outfile_commit(&writer->file, err));
    lp_lpk_writer_close(writer);
    return 0;
}

void lp_lpk_writer_close(struct lp_lpk_writer *writer)
{
    if (writer == NULL)
        return;
    lp_outfile_close(&writer->file);
    lp_codec_lpk_fini(&writer->directory);
    lp_mem_free(writer->slots);
    lp_mem_free(writer);
}
