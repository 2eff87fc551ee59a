/* SPDX-License-Identifier: Apache-2.0 */
/* Header and directory of .lpk files. Both come from a file that anybody may have made: every
 * number is compared with the file's real size, and nothing is allocated that the directory's bytes
 * do not pay for. */
#include "codec/lpk.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/hash.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_FIXED_BYTES 24u

/* The length of the UTF-8 sequence at p, or 0 when it is none. Overlong forms, surrogates and
 * numbers past the last plane are none; so are control characters, for names. */
static size_t character_bytes(const uint8_t *p, size_t left)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t code;

    if (n == 1)
        return p[0] >= 0x20 && p[0] != 0x7f ? 1 : 0;
    if (n == 0 || n > left || p[0] > 0xf4)
        return 0;
    code = p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code < 0xa0)
        return 0;
    return n;
}

int lp_codec_name_check(const char *name, size_t name_bytes, struct lp_error *err)
{
    const uint8_t *const bytes = (const uint8_t *)name;
    size_t n;

    if (name_bytes == 0 || name_bytes > LP_FORMAT_NAME_MAX)
        return lp_error_set(err, LP_ENAME, "a name has 1 to %u bytes, this one %zu",
                            LP_FORMAT_NAME_MAX, name_bytes);
    for (size_t i = 0; i < name_bytes; i += n) {
        n = character_bytes(bytes + i, name_bytes - i);
        if (n == 0)
            return lp_error_set(err, LP_ENAME,
                                "byte %zu of the name is no UTF-8, or a control character", i);
    }
    return 0;
}

static int check_header(const struct lp_format_file_header *header, uint64_t file_bytes,
                        struct lp_error *err)
{
    const uint64_t hash =
        lp_codec_hash(header, offsetof(struct lp_format_file_header, header_hash));
    uint64_t end;

    if (memcmp(header->magic, LP_FORMAT_FILE_MAGIC, sizeof(header->magic)) != 0)
        return lp_error_set(err, LP_ECORRUPT, "no .lpk file: the magic is missing");
    if (header->version != LP_FORMAT_VERSION)
        return lp_error_set(err, LP_EVERSION, "file version %u, this library reads %u",
                            header->version, LP_FORMAT_VERSION);
    if (header->header_hash != hash)
        return lp_error_set(err, LP_ECORRUPT, "the file header's hash differs");
    if (header->header_bytes != sizeof(*header) || header->zero != 0)
        return lp_error_set(err, LP_ECORRUPT, "the file header's size or zeros are wrong");
    if (header->file_bytes != file_bytes)
        return lp_error_set(err, LP_ECORRUPT, "the file has %llu bytes, its header says %llu",
                            (unsigned long long)file_bytes, (unsigned long long)header->file_bytes);
    if (header->n_tensors > LP_FORMAT_TENSORS_MAX ||
        header->directory_bytes / (ENTRY_FIXED_BYTES + 8) < header->n_tensors)
        return lp_error_set(err, LP_ECORRUPT, "%u tensors in a directory of %llu bytes",
                            header->n_tensors, (unsigned long long)header->directory_bytes);
    if (header->directory_offset < sizeof(*header) || header->directory_offset % 8 != 0 ||
        !lp_add_u64(header->directory_offset, header->directory_bytes, &end) || end != file_bytes)
        return lp_error_set(err, LP_ECORRUPT, "the directory at %llu does not end the file",
                            (unsigned long long)header->directory_offset);
    return 0;
}

int lp_codec_lpk_parse_header(struct lp_lpk_directory *ret_directory, const void *header,
                              uint64_t file_bytes, struct lp_error *err)
{
    struct lp_format_file_header copy;
    int rc;

    if (file_bytes < sizeof(copy))
        return lp_error_set(err, LP_ECORRUPT, "an .lpk file has at least %zu bytes, this one %llu",
                            sizeof(copy), (unsigned long long)file_bytes);
    memcpy(&copy, header, sizeof(copy));
    LP_TRY(rc, check_header(&copy, file_bytes, err));
    *ret_directory = (struct lp_lpk_directory){.directory_offset = copy.directory_offset,
                                               .directory_bytes = copy.directory_bytes,
                                               .file_bytes = copy.file_bytes,
                                               .directory_hash = copy.directory_hash,
                                               .n_entries = copy.n_tensors};
    return 0;
}

/* One entry; a table begins at or behind *table_end, and that becomes the table's end. */
static int parse_entry(struct lp_lpk_entry *ret_entry, struct lp_cursor *cursor,
                       uint64_t directory_offset, uint64_t *table_end, struct lp_error *err)
{
    struct lp_lpk_entry entry = {0};
    uint32_t name_bytes, zero;
    const uint8_t *name, *padding;
    uint64_t end, any = 0;

    if (!lp_cursor_u64(cursor, &entry.offset) || !lp_cursor_u64(cursor, &entry.bytes) ||
        !lp_cursor_u32(cursor, &name_bytes) || !lp_cursor_u32(cursor, &zero) || zero != 0 ||
        name_bytes > LP_FORMAT_NAME_MAX || !lp_cursor_take(cursor, name_bytes, &name) ||
        !lp_cursor_take(cursor, (8 - name_bytes % 8) % 8, &padding))
        return lp_error_set(err, LP_ECORRUPT, "the directory entry is cut off or has a wrong zero");
    for (const uint8_t *p = padding; p < cursor->data + cursor->pos; p++)
        any |= *p;
    if (any != 0)
        return lp_error_set(err, LP_ECORRUPT, "the padding of the name is not zero");
    if (entry.offset % LP_FORMAT_DATA_ALIGN != 0 || entry.offset < *table_end ||
        entry.bytes < sizeof(struct lp_format_header) ||
        !lp_add_u64(entry.offset, entry.bytes, &end) || end > directory_offset)
        return lp_error_set(err, LP_ECORRUPT, "the table of %llu bytes at %llu lies wrongly",
                            (unsigned long long)entry.bytes, (unsigned long long)entry.offset);
    if (lp_codec_name_check((const char *)name, name_bytes, err) < 0)
        return lp_error_wrap(err, LP_ECORRUPT, "the tensor's name");
    entry.name = lp_mem_alloc(name_bytes + 1);
    if (entry.name == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a name");
    memcpy(entry.name, name, name_bytes);
    entry.name[name_bytes] = '\0';
    *ret_entry = entry;
    *table_end = end;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names differ; sorted copies of the pointers tell. */
static int check_names(const struct lp_lpk_directory *directory, struct lp_error *err)
{
    const uint32_t n = directory->n_entries;
    const char **const names = lp_mem_alloc_array(n, sizeof(*names));
    int rc = 0;

    if (names == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the names of %u tensors", n);
    for (uint32_t i = 0; i < n; i++)
        names[i] = directory->entries[i].name;
    qsort(names, n, sizeof(*names), compare_names);
    for (uint32_t i = 1; i < n && rc == 0; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = lp_error_set(err, LP_ECORRUPT, "two tensors are called %s", names[i]);
    lp_mem_free(names);
    return rc;
}

static int parse_entries(struct lp_lpk_directory *directory, const void *bytes,
                         struct lp_error *err)
{
    uint64_t table_end = sizeof(struct lp_format_file_header);
    struct lp_cursor cursor;
    int rc;

    lp_cursor_init(&cursor, bytes, directory->directory_bytes);
    for (uint32_t i = 0; i < directory->n_entries; i++) {
        rc = parse_entry(&directory->entries[i], &cursor, directory->directory_offset, &table_end,
                         err);
        if (rc < 0)
            return lp_error_wrap(err, rc, "tensor %u", i);
    }
    if (lp_cursor_left(&cursor) != 0)
        return lp_error_set(err, LP_ECORRUPT, "%zu bytes are left behind the directory's entries",
                            lp_cursor_left(&cursor));
    return check_names(directory, err);
}

int lp_codec_lpk_parse_directory(struct lp_lpk_directory *directory, const void *bytes,
                                 struct lp_error *err)
{
    int rc;

    if (lp_codec_hash(bytes, directory->directory_bytes) != directory->directory_hash)
        return lp_error_set(err, LP_ECORRUPT, "the directory's hash differs");
    directory->entries = lp_mem_alloc_array(directory->n_entries, sizeof(*directory->entries));
    if (directory->entries == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u directory entries",
                            directory->n_entries);
    memset(directory->entries, 0, directory->n_entries * sizeof(*directory->entries));
    rc = parse_entries(directory, bytes, err);
    if (rc < 0)
        lp_codec_lpk_fini(directory);
    return rc;
}

void lp_codec_lpk_fini(struct lp_lpk_directory *directory)
{
    if (directory == NULL)
        return;
    for (uint32_t i = 0; directory->entries != NULL && i < directory->n_entries; i++)
        lp_mem_free(directory->entries[i].name);
    lp_mem_free(directory->entries);
    memset(directory, 0, sizeof(*directory));
}

uint64_t lp_codec_lpk_directory_bytes(const struct lp_lpk_directory *directory)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < directory->n_entries; i++)
        bytes += ENTRY_FIXED_BYTES + lp_round_up_u64(strlen(directory->entries[i].name), 8);
    return bytes;
}

void lp_codec_lpk_emit(struct lp_lpk_directory *directory, void *header, void *bytes)
{
    struct lp_format_file_header file = {.version = LP_FORMAT_VERSION,
                                         .header_bytes = sizeof(file),
                                         .n_tensors = directory->n_entries,
                                         .directory_offset = directory->directory_offset,
                                         .file_bytes = directory->file_bytes};
    uint8_t *p = bytes;

    for (uint32_t i = 0; i < directory->n_entries; i++) {
        const struct lp_lpk_entry *const entry = &directory->entries[i];
        const size_t name_bytes = strlen(entry->name);

        lp_store_u64(p, entry->offset);
        lp_store_u64(p + 8, entry->bytes);
        lp_store_u32(p + 16, (uint32_t)name_bytes);
        lp_store_u32(p + 20, 0);
        memset(p + ENTRY_FIXED_BYTES, 0, lp_round_up_u64(name_bytes, 8));
        memcpy(p + ENTRY_FIXED_BYTES, entry->name, name_bytes);
        p += ENTRY_FIXED_BYTES + lp_round_up_u64(name_bytes, 8);
    }
    directory->directory_bytes = lp_codec_lpk_directory_bytes(directory);
    directory->directory_hash = lp_codec_hash(bytes, directory->directory_bytes);
    memcpy(file.magic, LP_FORMAT_FILE_MAGIC, sizeof(file.magic));
    file.directory_bytes = directory->directory_bytes;
    file.directory_hash = directory->directory_hash;
    file.header_hash = lp_codec_hash(&file, offsetof(struct lp_format_file_header, header_hash));
    memcpy(header, &file, sizeof(file));
}
