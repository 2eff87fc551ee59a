/* SPDX-License-Identifier: Apache-2.0 */
/* .lpk files in.
 *
 * A tensor has a reservation of address space as large as its data, private and at first empty.
 * Stored records are read (pread) to the place in it that they have in the data, so that the
 * codec's view works unchanged; after use the pages are given back. A mapping of the file itself
 * would be simpler, but one that shrinks kills its reader. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "codec/lpk.h"
#include "store/label.h"
#include "store/lpk_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SHOWN 48 /* bytes of a tensor's name in an error */

struct lp_lpk_file {
    char label[LP_LABEL_BYTES];
    int fd;
    uint64_t bytes;
    struct lp_lpk_directory directory;
};

struct lp_lpk_tensor {
    struct lp_lpk_file *file; /* borrowed */
    const struct lp_lpk_entry *entry;
    uint8_t *head; /* owned */
    struct lp_table table;
    uint8_t *data; /* owned; the reservation, data_bytes + slack; NULL where there is no data */
    const uint8_t **segments; /* owned */
    struct lp_view view;
    bool whole; /* all data is in memory */
};

/* --- the file -------------------------------------------------------------------------------- */

static int fetch(const struct lp_lpk_file *file, uint64_t offset, void *dst, size_t bytes,
                 struct lp_error *err)
{
    const ssize_t got = lp_sys_pread_all(file->fd, dst, bytes, (off_t)offset);

    if (got < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "cannot read at byte %llu",
                                  (unsigned long long)offset);
    if ((size_t)got < bytes)
        return lp_error_set(err, LP_ECORRUPT, "ends at byte %llu, within data",
                            (unsigned long long)(offset + (uint64_t)got));
    return 0;
}

bool lp_lpk_probe(const char *path)
{
    char magic[8];
    int fd = lp_sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    const ssize_t got = fd < 0 ? -1 : lp_sys_pread_all(fd, magic, sizeof(magic), 0);

    lp_sys_close(&fd);
    return got == sizeof(magic) && memcmp(magic, LP_FORMAT_FILE_MAGIC, sizeof(magic)) == 0;
}

static int descriptor_open(struct lp_lpk_file *file, const char *path, struct lp_error *err)
{
    struct stat st;

    file->fd = lp_sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (file->fd < 0) {
        const int errnum = errno;
        const int code = errnum == ENOENT || errnum == ENOTDIR  ? LP_ENOENT
                         : errnum == EACCES || errnum == EPERM  ? LP_EPERM
                         : errnum == EMFILE || errnum == ENFILE ? LP_ELIMIT
                                                                : LP_EIO;
        return lp_error_set_errno(err, code, errnum, "cannot open");
    }
    if (fstat(file->fd, &st) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "cannot stat");
    if (!S_ISREG(st.st_mode))
        return lp_error_set(err, LP_ENOTSUP, "is not a regular file");
    file->bytes = (uint64_t)st.st_size;
    return 0;
}

static int directory_read(struct lp_lpk_file *file, struct lp_error *err)
{
    struct lp_lpk_directory *directory = &file->directory;
    uint64_t header[sizeof(struct lp_format_file_header) / 8];
    int rc;

    if (file->bytes < sizeof(header))
        return lp_error_set(err, LP_ECORRUPT, "ends at byte %llu, within its header",
                            (unsigned long long)file->bytes);
    LP_TRY(rc, fetch(file, 0, header, sizeof(header), err));
    LP_TRY(rc, lp_codec_lpk_parse_header(directory, header, file->bytes, err));
    uint8_t *text = lp_mem_alloc((size_t)directory->directory_bytes);
    if (text == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a directory of %llu bytes",
                            (unsigned long long)directory->directory_bytes);
    LP_TRY_GOTO(
        rc, fetch(file, directory->directory_offset, text, (size_t)directory->directory_bytes, err),
        done);
    rc = lp_codec_lpk_parse_directory(directory, text, err);

done:
    lp_mem_free(text);
    return rc;
}

int lp_lpk_open(struct lp_lpk_file **ret_file, const char *path, struct lp_error *err)
{
    struct lp_lpk_file *file = lp_mem_zalloc(sizeof(*file));
    int rc;

    if (file == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to open an .lpk file");
    file->fd = -1;
    lp_label_set(file->label, path);
    LP_TRY_GOTO(rc, descriptor_open(file, path, err), fail);
    LP_TRY_GOTO(rc, directory_read(file, err), fail);
    *ret_file = file;
    return 0;

fail:
    rc = lp_error_wrap(err, rc, "%s", file->label);
    lp_lpk_close(file);
    return rc;
}

void lp_lpk_close(struct lp_lpk_file *file)
{
    if (file == NULL)
        return;
    lp_codec_lpk_fini(&file->directory);
    lp_sys_close(&file->fd);
    lp_mem_free(file);
}

uint32_t lp_lpk_count(const struct lp_lpk_file *file)
{
    return file->directory.n_entries;
}

const char *lp_lpk_name(const struct lp_lpk_file *file, uint32_t i)
{
    return i < file->directory.n_entries ? file->directory.entries[i].name : NULL;
}

int64_t lp_lpk_find(const struct lp_lpk_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->directory.n_entries; i++) {
        if (strcmp(file->directory.entries[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* --- a tensor -------------------------------------------------------------------------------- */

/* Puts file and tensor before the sentence. */
static int tensor_wrap(const struct lp_lpk_tensor *tensor, struct lp_error *err, int rc)
{
    return lp_error_wrap(err, rc, "%s: tensor '%.*s'", tensor->file->label, NAME_SHOWN,
                         tensor->entry->name);
}

static int head_read(struct lp_lpk_tensor *tensor, struct lp_error *err)
{
    const struct lp_lpk_entry *entry = tensor->entry;
    uint64_t fixed[sizeof(struct lp_format_header) / 8];
    uint64_t head_bytes = 0, data_bytes = 0, all = 0;
    int rc;

    if (entry->bytes < sizeof(fixed))
        return lp_error_set(err, LP_ECORRUPT, "a table of %llu bytes has no room for its header",
                            (unsigned long long)entry->bytes);
    LP_TRY(rc, fetch(tensor->file, entry->offset, fixed, sizeof(fixed), err));
    LP_TRY(rc, lp_codec_table_peek(fixed, &head_bytes, &data_bytes, err));
    if (!lp_add_u64(head_bytes, data_bytes, &all) || all != entry->bytes)
        return lp_error_set(err, LP_ECORRUPT, "the directory says %llu bytes, the table another",
                            (unsigned long long)entry->bytes);
    tensor->head = lp_mem_alloc((size_t)head_bytes);
    if (tensor->head == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for an index of %llu bytes",
                            (unsigned long long)head_bytes);
    LP_TRY(rc, fetch(tensor->file, entry->offset, tensor->head, (size_t)head_bytes, err));
    return lp_codec_table_parse(&tensor->table, tensor->head, head_bytes, err);
}

static size_t reservation_bytes(const struct lp_lpk_tensor *tensor)
{
    return (size_t)tensor->table.data_bytes + LP_CODEC_SLACK_BYTES;
}

static int data_reserve(struct lp_lpk_tensor *tensor, struct lp_error *err)
{
    void *data;

    if (tensor->table.data_bytes == 0)
        return 0;
    data = lp_sys_mmap(NULL, reservation_bytes(tensor), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return lp_error_set_errno(err, LP_EMAP, errno, "no %zu bytes of address space",
                                  reservation_bytes(tensor));
    tensor->data = data;
    return 0;
}

static int view_make(struct lp_lpk_tensor *tensor, struct lp_error *err)
{
    const struct lp_table *table = &tensor->table;
    const uint8_t **segments = lp_mem_alloc_array(table->n_segments, sizeof(*segments));

    if (segments == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u segments", table->n_segments);
    for (uint32_t s = 0; s < table->n_segments; s++)
        segments[s] = tensor->data + s * table->segment_bytes;
    tensor->segments = segments;
    tensor->view = (struct lp_view){.table = table,
                                    .index = tensor->head + table->index_offset,
                                    .checks = tensor->head + table->checks_offset,
                                    .segments = segments};
    return 0;
}

int lp_lpk_tensor_open(struct lp_lpk_tensor **ret_tensor, struct lp_lpk_file *file, uint32_t i,
                       struct lp_error *err)
{
    struct lp_lpk_tensor *tensor;
    int rc;

    if (i >= file->directory.n_entries)
        return lp_error_set(err, LP_ERANGE, "%s: tensor %u of %u", file->label, i,
                            file->directory.n_entries);
    tensor = lp_mem_zalloc(sizeof(*tensor));
    if (tensor == NULL)
        return lp_error_set(err, LP_ENOMEM, "%s: no memory to open a tensor", file->label);
    tensor->file = file;
    tensor->entry = &file->directory.entries[i];
    LP_TRY_GOTO(rc, head_read(tensor, err), fail);
    LP_TRY_GOTO(rc, data_reserve(tensor, err), fail);
    LP_TRY_GOTO(rc, view_make(tensor, err), fail);
    *ret_tensor = tensor;
    return 0;

fail:
    rc = tensor_wrap(tensor, err, rc);
    lp_lpk_tensor_close(tensor);
    return rc;
}

void lp_lpk_tensor_close(struct lp_lpk_tensor *tensor)
{
    if (tensor == NULL)
        return;
    if (tensor->data != NULL)
        (void)munmap(tensor->data, reservation_bytes(tensor));
    lp_mem_free(tensor->segments);
    lp_codec_table_fini(&tensor->table);
    lp_mem_free(tensor->head);
    lp_mem_free(tensor);
}

void lp_lpk_tensor_info(const struct lp_lpk_tensor *tensor, struct lp_lpk_info *ret_info)
{
    const struct lp_table *table = &tensor->table;

    *ret_info = (struct lp_lpk_info){
        .name = tensor->entry->name,
        .geometry = table->geometry,
        .codec = table->codec,
        .layout = table->layout,
        .record_elements = table->record_elements,
        .n_records = table->n_records,
        .raw_records = table->raw_records,
        .payload_bytes = table->payload_bytes,
        .stored_bytes = lp_codec_table_stored_bytes(table),
        .wire_bytes = table->wire_bytes,
        .file_offset = tensor->entry->offset,
        .file_bytes = tensor->entry->bytes,
    };
    lp_codec_table_describe(table, ret_info->how, sizeof(ret_info->how));
}

/* --- windows --------------------------------------------------------------------------------- */

/* Stored records that are in memory, as a range of the data. */
struct window {
    uint64_t begin, end;
};

/* Where the bytes of records [first, first + n) lie; n > 0. */
static int window_find(const struct lp_lpk_tensor *tensor, uint64_t first, uint64_t n,
                       struct window *ret_window, struct lp_error *err)
{
    const struct lp_table *table = &tensor->table;
    struct lp_place from, to;

    if (!lp_codec_table_place(table, tensor->view.index, first, &from) ||
        !lp_codec_table_place(table, tensor->view.index, first + n - 1, &to))
        return lp_error_set(err, LP_ECORRUPT, "the index has no place for record %llu",
                            (unsigned long long)first);
    ret_window->begin = from.segment * table->segment_bytes + from.offset;
    ret_window->end = to.segment * table->segment_bytes + to.offset + to.stored_bytes;
    if (ret_window->end < ret_window->begin || ret_window->end > table->data_bytes)
        return lp_error_set(err, LP_ECORRUPT, "records from %llu on lie in disorder",
                            (unsigned long long)first);
    return 0;
}

static int window_load(struct lp_lpk_tensor *tensor, uint64_t first, uint64_t n,
                       struct window *ret_window, struct lp_error *err)
{
    const uint64_t data_offset = tensor->entry->offset + tensor->table.head_bytes;
    int rc;

    LP_TRY(rc, window_find(tensor, first, n, ret_window, err));
    if (tensor->whole)
        return 0;
    return fetch(tensor->file, data_offset + ret_window->begin, tensor->data + ret_window->begin,
                 (size_t)(ret_window->end - ret_window->begin), err);
}

/* Give the pages back. Neighbours on the same pages are gone too: whoever reads loads first. */
static void window_drop(struct lp_lpk_tensor *tensor, const struct window *window)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t begin = window->begin & ~(page - 1);
    const uint64_t end = LP_MIN(lp_round_up_u64(window->end, page), reservation_bytes(tensor));

    if (!tensor->whole && end > begin)
        (void)madvise(tensor->data + begin, (size_t)(end - begin), MADV_DONTNEED);
}

/* Records that surely fit a window. */
static uint64_t window_records(const struct lp_table *table)
{
    const uint64_t most = lp_round_up_u64(table->record_bytes, LP_FORMAT_SECTOR_BYTES);

    return LP_MAX(LP_LPK_WINDOW_BYTES / most, 1);
}

/* --- reading --------------------------------------------------------------------------------- */

/* By whole checks, each compared before anything of it is decoded: a flipped bit in what a codec
 * keeps as it is would come out as a good element otherwise. */
static int read_windows(struct lp_lpk_tensor *tensor, uint64_t first, uint64_t n, uint8_t *dst,
                        struct lp_error *err)
{
    const struct lp_table *table = &tensor->table;
    const uint64_t most = LP_MAX(window_records(table) / table->check_records, 1);
    struct window window;
    int rc;

    while (n > 0) {
        const uint64_t check = first / table->record_elements / table->check_records;
        const uint64_t record = check * table->check_records;
        const uint64_t records = LP_MIN(most * table->check_records, table->n_records - record);
        const uint64_t now = LP_MIN(n, (record + records) * table->record_elements - first);
        const uint64_t last = (first + now - 1) / table->record_elements;
        const uint64_t n_checks = last / table->check_records - check + 1;
        const uint64_t wanted = LP_MIN(n_checks * table->check_records, records);

        LP_TRY(rc, window_load(tensor, record, wanted, &window, err));
        rc = lp_codec_view_verify(&tensor->view, check, n_checks, false, NULL, err);
        if (rc == 0)
            rc = lp_codec_view_elements(&tensor->view, first, now, dst, err);
        window_drop(tensor, &window);
        if (rc < 0)
            return rc;
        dst += now * table->geometry.elem_bytes;
        first += now;
        n -= now;
    }
    return 0;
}

int lp_lpk_tensor_read(struct lp_lpk_tensor *tensor, uint64_t first_element, uint64_t n_elements,
                       void *dst, struct lp_error *err)
{
    const uint64_t all = tensor->table.geometry.n_elements;
    int rc;

    if (first_element > all || n_elements > all - first_element) {
        rc = lp_error_set(err, LP_ERANGE, "%llu elements in all", (unsigned long long)all);
        return tensor_wrap(tensor, err, rc);
    }
    rc = read_windows(tensor, first_element, n_elements, dst, err);
    return rc < 0 ? tensor_wrap(tensor, err, rc) : 0;
}

int lp_lpk_tensor_view(struct lp_lpk_tensor *tensor, const struct lp_view **ret_view,
                       struct lp_error *err)
{
    const uint64_t offset = tensor->entry->offset + tensor->table.head_bytes;
    int rc;

    if (!tensor->whole && tensor->data != NULL) {
        rc = fetch(tensor->file, offset, tensor->data, (size_t)tensor->table.data_bytes, err);
        if (rc == 0)
            rc = lp_codec_view_verify(&tensor->view, 0, tensor->table.checks_bytes / 8, false, NULL,
                                      err);
        if (rc < 0)
            return tensor_wrap(tensor, err, rc);
        tensor->whole = true;
    }
    *ret_view = &tensor->view;
    return 0;
}

/* Checks [check, check + n): those whose records fit a window, but at least one. */
static int verify_some(struct lp_lpk_tensor *tensor, uint64_t check, uint64_t *ret_n, void *scratch,
                       struct lp_progress *progress, struct lp_error *err)
{
    const struct lp_table *table = &tensor->table;
    const uint64_t record = check * table->check_records;
    const uint64_t wanted = LP_MAX(window_records(table) / table->check_records, 1);
    const uint64_t n = LP_MIN(wanted, table->checks_bytes / 8 - check);
    const uint64_t records = LP_MIN(n * table->check_records, table->n_records - record);
    struct window window;
    int rc;

    LP_TRY(rc, window_load(tensor, record, records, &window, err));
    rc = lp_codec_view_verify(&tensor->view, check, n, true, scratch, err);
    window_drop(tensor, &window);
    if (rc < 0)
        return rc;
    lp_progress_add(progress, records * table->record_bytes);
    *ret_n = n;
    return 0;
}

int lp_lpk_tensor_verify(struct lp_lpk_tensor *tensor, struct lp_progress *progress,
                         struct lp_error *err)
{
    const uint64_t n_checks = tensor->table.checks_bytes / 8;
    uint64_t n = 0;
    int rc = 0;

    void *scratch = lp_mem_alloc_aligned(64, LP_FORMAT_RECORD_BYTES_MAX + LP_CODEC_SLACK_BYTES);
    if (scratch == NULL) {
        rc = lp_error_set(err, LP_ENOMEM, "no memory for a record");
        return tensor_wrap(tensor, err, rc);
    }
    for (uint64_t check = 0; check < n_checks && rc >= 0; check += n)
        rc = verify_some(tensor, check, &n, scratch, progress, err);
    lp_mem_free(scratch);
    return rc < 0 ? tensor_wrap(tensor, err, rc) : 0;
}
