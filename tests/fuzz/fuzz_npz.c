/* SPDX-License-Identifier: Apache-2.0 */
/* .npz files: the input as an archive, and as the only member of archives that are made around it,
 * with right sizes and checksums, so that mutations reach names, headers and elements. */
#include "base/bytes.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/load_input.h"

#include <string.h>

#define NAME_MAX_BYTES 16u
#define DATA_MAX 4096u
#define LOCAL_BYTES 30u
#define ENTRY_BYTES 46u
#define END_BYTES 22u
#define BLOCK_BYTES 5u /* a deflate block that stores: 1 byte kind, 2 length, 2 its complement */

static uint32_t checksum(const uint8_t *data, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

/* Opening may succeed where reading cannot: the checksum comes to light there. Either is right or
 * has a code and a sentence. */
static void try_archive(const uint8_t *data, size_t size)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_load_file *file = NULL;
    char path[LOAD_INPUT_PATH_BYTES];
    const int fd = load_input_file(data, size, path);
    int rc = lp_load_open(&file, path, NULL, &err);
    uint8_t buffer[4096];

    for (uint32_t i = 0; rc == 0 && i < lp_load_count(file); i++) {
        const struct lp_geometry *g = &lp_load_tensor(file, i)->geometry;
        const uint64_t n = LP_MIN(g->n_elements, sizeof(buffer) / g->elem_bytes);

        rc = lp_load_read(file, i, 0, n, buffer, &err);
        if (rc == 0)
            rc = lp_load_read(file, i, g->n_elements - n, n, buffer, &err);
    }
    if (rc != 0 && (rc != err.code || err.text[0] == '\0'))
        abort();
    lp_load_close(file);
    (void)close(fd);
}

struct maker {
    uint8_t file[LOCAL_BYTES + ENTRY_BYTES + END_BYTES + 2 * (NAME_MAX_BYTES + 4) + BLOCK_BYTES +
                 DATA_MAX];
    size_t n;
};

static void put(struct maker *maker, const void *bytes, size_t n)
{
    memcpy(maker->file + maker->n, bytes, n);
    maker->n += n;
}

static void put_u16(struct maker *maker, uint32_t value)
{
    lp_store_u16(maker->file + maker->n, (uint16_t)value);
    maker->n += 2;
}

static void put_u32(struct maker *maker, uint32_t value)
{
    lp_store_u32(maker->file + maker->n, value);
    maker->n += 4;
}

struct member {
    const uint8_t *name, *data;
    size_t name_bytes, bytes;
    bool deflated;
};

/* What local header and directory have in common, from the version on. */
static void put_head(struct maker *maker, const struct member *member)
{
    put_u32(maker, 20);                       /* version, flags */
    put_u16(maker, member->deflated ? 8 : 0); /* method */
    put_u32(maker, 33u << 16);                /* time, date */
    put_u32(maker, checksum(member->data, member->bytes));
    put_u32(maker, (uint32_t)(member->bytes + (member->deflated ? BLOCK_BYTES : 0)));
    put_u32(maker, (uint32_t)member->bytes);
    put_u16(maker, (uint32_t)member->name_bytes + 4);
    put_u16(maker, 0); /* extra */
}

static void put_name(struct maker *maker, const struct member *member)
{
    put(maker, member->name, member->name_bytes);
    put(maker, ".npy", 4);
}

static void put_data(struct maker *maker, const struct member *member)
{
    if (member->deflated) {
        maker->file[maker->n++] = 1; /* the last block, and it stores */
        put_u16(maker, (uint32_t)member->bytes);
        put_u16(maker, ~(uint32_t)member->bytes);
    }
    put(maker, member->data, member->bytes);
}

static void try_as_member(const struct member *member)
{
    static struct maker maker;

    maker.n = 0;
    put_u32(&maker, 0x04034B50);
    put_head(&maker, member);
    put_name(&maker, member);
    put_data(&maker, member);
    const size_t directory = maker.n;
    put_u32(&maker, 0x02014B50);
    put_u16(&maker, 20);
    put_head(&maker, member);
    for (int i = 0; i < 14; i += 2)
        put_u16(&maker, 0); /* comment, disk, attributes, offset */
    put_name(&maker, member);
    const size_t end = maker.n;
    put_u32(&maker, 0x06054B50);
    put_u32(&maker, 0);
    put_u32(&maker, 1u << 16 | 1u);
    put_u32(&maker, (uint32_t)(end - directory));
    put_u32(&maker, (uint32_t)directory);
    put_u16(&maker, 0);
    try_archive(maker.file, maker.n);
}

/* One byte of kind and length of the name, the name, then the .npy, its magic put right. */
static void try_as_npy(const uint8_t *data, size_t size)
{
    static uint8_t npy[DATA_MAX];
    struct member member = {.deflated = (data[0] & 1u) != 0, .data = npy};

    member.name = data + 1;
    member.name_bytes = LP_MIN((size_t)(data[0] >> 4), size - 1);
    member.bytes = LP_MIN(size - 1 - member.name_bytes, sizeof(npy));
    memcpy(npy, data + 1 + member.name_bytes, member.bytes);
    if (member.bytes >= 8)
        memcpy(npy, "\x93NUMPY\x01\x00", 8);
    try_as_member(&member);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_archive(data, size);
    if (size > 0)
        try_as_npy(data, size);
    return 0;
}
