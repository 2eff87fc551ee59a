/* SPDX-License-Identifier: Apache-2.0 */
/* .lpk files: header, directory, heads, records, and the hashes put right so that mutations get
 * past them. */
#include "base/bytes.h"
#include "codec/format.h"
#include "codec/hash.h"
#include "store/lpk_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/load_input.h"

#include <string.h>

static void read_tensor(struct lp_lpk_file *file, uint32_t i)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_tensor *tensor = NULL;
    struct lp_lpk_info info;
    uint8_t buffer[4096];

    if (lp_lpk_tensor_open(&tensor, file, i, &err) != 0) {
        if (err.code >= 0 || tensor != NULL)
            abort();
        return;
    }
    lp_lpk_tensor_info(tensor, &info);
    const uint64_t most = sizeof(buffer) / info.geometry.elem_bytes;
    const uint64_t all = info.geometry.n_elements, n = all < most ? all : most;
    (void)lp_lpk_tensor_read(tensor, 0, n, buffer, &err);
    (void)lp_lpk_tensor_read(tensor, all - n, n, buffer, &err);
    (void)lp_lpk_tensor_verify(tensor, NULL, &err);
    lp_lpk_tensor_close(tensor);
}

static void try_file(const uint8_t *data, size_t size)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_file *file = NULL;
    char path[LOAD_INPUT_PATH_BYTES];
    const int fd = load_input_file(data, size, path);

    if (lp_lpk_open(&file, path, &err) == 0) {
        for (uint32_t i = 0; i < lp_lpk_count(file); i++)
            read_tensor(file, i);
    }
    lp_lpk_close(file);
    (void)close(fd);
}

/* Recompute the hash of a table's head at p, as far as its fields point into the file. */
static void mend_table(uint8_t *p, size_t room)
{
    struct lp_format_header header;

    if (room < sizeof(header))
        return;
    memcpy(&header, p, sizeof(header));
    const uint64_t index = sizeof(header) + lp_round_up_u64(header.meta_bytes, 8);
    const uint64_t checks = index + lp_round_up_u64(header.index_bytes, 8);
    if (header.meta_bytes < room && header.index_bytes < room && header.checks_bytes < room &&
        checks + header.checks_bytes <= room) {
        header.meta_hash = lp_codec_hash(p + sizeof(header), (size_t)header.meta_bytes);
        header.index_hash = lp_codec_hash(p + index, (size_t)header.index_bytes);
        header.checks_hash = lp_codec_hash(p + checks, (size_t)header.checks_bytes);
    }
    header.header_hash = lp_codec_hash(&header, offsetof(struct lp_format_header, header_hash));
    memcpy(p, &header, sizeof(header));
}

/* Directory and file header likewise; every table that begins where tables may begin. */
static void mend_file(uint8_t *data, size_t size)
{
    struct lp_format_file_header header;

    if (size < sizeof(header))
        return;
    for (size_t at = sizeof(header); at + 8 <= size; at += LP_FORMAT_DATA_ALIGN) {
        if (memcmp(data + at, LP_FORMAT_TABLE_MAGIC, 8) == 0)
            mend_table(data + at, size - at);
    }
    memcpy(&header, data, sizeof(header));
    header.file_bytes = size;
    if (header.directory_offset < size) {
        header.directory_bytes = size - header.directory_offset;
        header.directory_hash =
            lp_codec_hash(data + header.directory_offset, (size_t)header.directory_bytes);
    }
    header.header_hash =
        lp_codec_hash(&header, offsetof(struct lp_format_file_header, header_hash));
    memcpy(data, &header, sizeof(header));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *mended = malloc(size > 0 ? size : 1);

    if (mended == NULL)
        abort();
    memcpy(mended, data, size);
    mend_file(mended, size);
    try_file(data, size);
    try_file(mended, size);
    free(mended);
    return 0;
}
