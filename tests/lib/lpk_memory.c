/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/lpk_memory.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/lpk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (memory == NULL) {
        (void)fprintf(stderr, "no memory for a test's file\n");
        abort();
    }
    return memory;
}

static void copy_table(uint8_t *dst, const struct packed *packed)
{
    const struct lp_table *const table = &packed->table;

    memcpy(dst, packed->head, table->head_bytes);
    for (uint32_t i = 0; i < table->n_segments; i++)
        memcpy(dst + table->head_bytes + i * table->segment_bytes, packed->segments[i],
               lp_codec_table_segment_bytes(table, i));
}

uint8_t *lpk_memory_write(const struct packed *tables, char *const *names, uint32_t n,
                          uint64_t *ret_bytes)
{
    struct lp_lpk_entry *const entries = must(lp_mem_alloc_array(n, sizeof(*entries)));
    struct lp_lpk_directory directory = {.n_entries = n, .entries = entries};
    uint64_t end = sizeof(struct lp_format_file_header);
    uint8_t *file;

    for (uint32_t i = 0; i < n; i++) {
        const struct lp_table *const table = &tables[i].table;

        end = lp_round_up_u64(end, LP_FORMAT_DATA_ALIGN);
        entries[i] = (struct lp_lpk_entry){end, table->head_bytes + table->data_bytes, names[i]};
        end += entries[i].bytes;
    }
    directory.directory_offset = lp_round_up_u64(end, LP_FORMAT_SECTION_ALIGN);
    directory.file_bytes = directory.directory_offset + lp_codec_lpk_directory_bytes(&directory);
    file = must(lp_mem_zalloc(directory.file_bytes));
    for (uint32_t i = 0; i < n; i++)
        copy_table(file + entries[i].offset, &tables[i]);
    lp_codec_lpk_emit(&directory, file, file + directory.directory_offset);
    *ret_bytes = directory.file_bytes;
    lp_mem_free(entries);
    return file;
}

/* The table's bytes are where the format wants them aligned; segments follow at their pitch. */
static int read_data(const struct lp_table *table, const uint8_t *head, uint8_t *data,
                     const char *name, lpk_memory_cb each, void *user, struct lp_error *err)
{
    const uint8_t **const segments = must(lp_mem_alloc_array(table->n_segments, sizeof(*segments)));
    const struct lp_view view = {table, head + table->index_offset, head + table->checks_offset,
                                 segments};
    int rc;

    for (uint32_t i = 0; i < table->n_segments; i++)
        segments[i] = data + i * table->segment_bytes;
    rc = each(user, name, &view, err);
    lp_mem_free(segments);
    return rc;
}

static int read_table(const uint8_t *file, const struct lp_lpk_entry *entry, lpk_memory_cb each,
                      void *user, struct lp_error *err)
{
    uint8_t *const copy = must(lp_mem_alloc_aligned(64, entry->bytes + LP_CODEC_SLACK_BYTES));
    struct lp_table table;
    int rc;

    memcpy(copy, file + entry->offset, entry->bytes);
    memset(copy + entry->bytes, 0, LP_CODEC_SLACK_BYTES);
    rc = lp_codec_table_parse(&table, copy, entry->bytes, err);
    if (rc == 0) {
        if (table.head_bytes + table.data_bytes != entry->bytes)
            rc = lp_error_set(err, LP_ECORRUPT, "the directory has another size for the table");
        else
            rc = read_data(&table, copy, copy + table.head_bytes, entry->name, each, user, err);
        lp_codec_table_fini(&table);
    }
    lp_mem_free(copy);
    return rc;
}

int lpk_memory_read(const uint8_t *file, uint64_t file_bytes, lpk_memory_cb each, void *user,
                    struct lp_error *err)
{
    struct lp_lpk_directory directory;
    int rc;

    LP_TRY(rc, lp_codec_lpk_parse_header(&directory, file, file_bytes, err));
    LP_TRY(rc, lp_codec_lpk_parse_directory(&directory, file + directory.directory_offset, err));
    for (uint32_t i = 0; i < directory.n_entries && rc == 0; i++)
        rc = read_table(file, &directory.entries[i], each, user, err);
    lp_codec_lpk_fini(&directory);
    return rc;
}
