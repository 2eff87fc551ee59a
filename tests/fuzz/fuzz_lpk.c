/* SPDX-License-Identifier: Apache-2.0 */
/* Header and directory of an .lpk file, as they are and with their hashes put right. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/hash.h"
#include "codec/lpk.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

/* What was read must be written the same: the format leaves no choice. */
static void write_again(struct lp_lpk_directory *directory, const uint8_t *file)
{
    const uint64_t bytes = lp_codec_lpk_directory_bytes(directory);
    uint8_t header[sizeof(struct lp_format_file_header)];
    uint8_t *const again = lp_mem_alloc(bytes);

    if (again == NULL || bytes != directory->directory_bytes)
        abort();
    lp_codec_lpk_emit(directory, header, again);
    if (memcmp(header, file, sizeof(header)) != 0 ||
        memcmp(again, file + directory->directory_offset, bytes) != 0)
        abort();
    lp_mem_free(again);
}

static void try_file(const uint8_t *file, size_t size)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_directory directory;

    if (lp_codec_lpk_parse_header(&directory, file, size, &err) < 0)
        return;
    if (lp_codec_lpk_parse_directory(&directory, file + directory.directory_offset, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
        return;
    }
    write_again(&directory, file);
    lp_codec_lpk_fini(&directory);
}

static void mend(uint8_t *file, size_t size)
{
    struct lp_format_file_header header;

    memcpy(&header, file, sizeof(header));
    header.file_bytes = size;
    if (header.directory_offset <= size) {
        header.directory_bytes = size - header.directory_offset;
        header.directory_hash =
            lp_codec_hash(file + header.directory_offset, header.directory_bytes);
    }
    header.header_hash =
        lp_codec_hash(&header, offsetof(struct lp_format_file_header, header_hash));
    memcpy(file, &header, sizeof(header));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (size < sizeof(struct lp_format_file_header)) {
        try_file(data, size);
        return 0;
    }
    copy = lp_mem_alloc(size);
    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    try_file(copy, size);
    mend(copy, size);
    try_file(copy, size);
    lp_mem_free(copy);
    return 0;
}
