/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "codec/hash.h"
#include "codec/lpk.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX 4096

/* A file of two tables, 192 and 320 bytes, that are not there: only header and directory count
 * here. */
static uint64_t make_file(uint8_t *file)
{
    char first[] = "embedding", second[] = "layer/\xc3\xa4 weight";
    struct lp_lpk_entry entries[2] = {{64, 192, first}, {256, 320, second}};
    struct lp_lpk_directory directory = {
        .directory_offset = 576, .n_entries = 2, .entries = entries};
    const uint64_t bytes = lp_codec_lpk_directory_bytes(&directory);

    memset(file, 0, FILE_MAX);
    directory.file_bytes = 576 + bytes;
    lp_codec_lpk_emit(&directory, file, file + 576);
    return directory.file_bytes;
}

static int parse(const uint8_t *file, uint64_t file_bytes, struct lp_lpk_directory *directory)
{
    const int rc = lp_codec_lpk_parse_header(directory, file, file_bytes, NULL);

    if (rc < 0)
        return rc;
    return lp_codec_lpk_parse_directory(directory, file + directory->directory_offset, NULL);
}

/* Hashes as a forger would write them. */
static void seal(uint8_t *file)
{
    const size_t at = offsetof(struct lp_format_file_header, header_hash);
    const uint64_t bytes = lp_load_u64(file + 24);

    if (bytes <= FILE_MAX - 576)
        lp_store_u64(file + 40, lp_codec_hash(file + 576, bytes));
    lp_store_u64(file + at, lp_codec_hash(file, at));
}

/* What was written is read. */
Test(codec_lpk, directory_comes_back)
{
    struct lp_lpk_directory directory;
    uint8_t file[FILE_MAX];
    const uint64_t bytes = make_file(file);

    cr_assert_eq(parse(file, bytes, &directory), 0);
    cr_assert_eq(directory.n_entries, 2);
    cr_assert_str_eq(directory.entries[0].name, "embedding");
    cr_assert_str_eq(directory.entries[1].name, "layer/\xc3\xa4 weight");
    cr_assert_eq(directory.entries[1].offset, 256);
    cr_assert_eq(directory.entries[1].bytes, 320);
    lp_codec_lpk_fini(&directory);
    lp_codec_lpk_fini(&directory);
    lp_codec_lpk_fini(NULL);
    ASSERT_NO_LEAK();
}

/* A file without tensors is a file. */
Test(codec_lpk, empty_directory_is_fine)
{
    struct lp_lpk_directory directory = {.directory_offset = 64, .file_bytes = 64};
    uint8_t file[64];

    lp_codec_lpk_emit(&directory, file, file + 64);
    cr_assert_eq(parse(file, 64, &directory), 0);
    cr_assert_eq(directory.n_entries, 0);
    lp_codec_lpk_fini(&directory);
    ASSERT_NO_LEAK();
}

/* Every bit of header and directory is covered by a hash; a wrong version has its own code. */
Test(codec_lpk, every_flipped_bit_is_noticed)
{
    struct lp_lpk_directory directory;
    uint8_t file[FILE_MAX];
    const uint64_t bytes = make_file(file);

    for (uint64_t bit = 0; bit < 8 * bytes; bit++) {
        const uint64_t at = bit / 8;
        int rc;

        if (at >= 64 && at < 576)
            continue;
        file[at] ^= (uint8_t)(1u << (bit % 8));
        rc = parse(file, bytes, &directory);
        cr_assert(rc == LP_ECORRUPT || (rc == LP_EVERSION && at >= 8 && at < 10), "byte %llu",
                  (unsigned long long)at);
        file[at] ^= (uint8_t)(1u << (bit % 8));
    }
    ASSERT_NO_LEAK();
}

/* With forged hashes each field is still checked by itself; only a table's size, a name and a
 * table's place in the gap may differ. */
Test(codec_lpk, forged_fields_are_refused)
{
    struct lp_lpk_directory directory;
    uint8_t file[FILE_MAX];
    const uint64_t bytes = make_file(file);

    for (uint64_t bit = 0; bit < 8 * bytes; bit++) {
        uint8_t copy[FILE_MAX];
        int rc;

        if (bit / 8 >= 40 && bit / 8 < 576)
            continue;
        memcpy(copy, file, sizeof(copy));
        copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        seal(copy);
        rc = parse(copy, bytes, &directory);
        if (rc == 0)
            lp_codec_lpk_fini(&directory);
        cr_assert(rc == LP_ECORRUPT || (rc == LP_EVERSION && bit / 8 >= 8 && bit / 8 < 10) ||
                      (rc == 0 && bit / 8 >= 576),
                  "bit %llu: %d", (unsigned long long)bit, rc);
    }
    ASSERT_NO_LEAK();
}

/* The file's real size is what counts. */
Test(codec_lpk, truncated_files_are_refused)
{
    struct lp_lpk_directory directory;
    uint8_t file[FILE_MAX];
    const uint64_t bytes = make_file(file);

    for (uint64_t n = 0; n < bytes; n++)
        cr_assert_eq(lp_codec_lpk_parse_header(&directory, file, n, NULL), LP_ECORRUPT);
    cr_assert_eq(lp_codec_lpk_parse_header(&directory, file, bytes + 1, NULL), LP_ECORRUPT);
}

static int parse_entries(struct lp_lpk_entry *entries, uint32_t n)
{
    struct lp_lpk_directory directory = {
        .directory_offset = 576, .n_entries = n, .entries = entries};
    static uint8_t file[FILE_MAX];
    int rc;

    directory.file_bytes = 576 + lp_codec_lpk_directory_bytes(&directory);
    lp_codec_lpk_emit(&directory, file, file + 576);
    rc = parse(file, directory.file_bytes, &directory);
    if (rc == 0)
        lp_codec_lpk_fini(&directory);
    return rc;
}

/* Tables lie in order, aligned, apart, before the directory; names differ. */
Test(codec_lpk, tables_must_lie_apart)
{
    char a[] = "a", b[] = "b", control[] = "a\nb", empty[] = "";

    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{64, 192, a}, {256, 192, b}}, 2), 0);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{64, 192, a}, {256, 192, a}}, 2),
                 LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{64, 193, a}, {256, 192, b}}, 2),
                 LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{256, 192, a}, {64, 192, b}}, 2),
                 LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{0, 192, a}}, 1), LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{72, 192, a}}, 1), LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{64, 191, a}}, 1), LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{64, 513, a}}, 1), LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{64, UINT64_MAX - 63, a}}, 1), LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{64, 192, control}}, 1), LP_ECORRUPT);
    cr_assert_eq(parse_entries((struct lp_lpk_entry[]){{64, 192, empty}}, 1), LP_ECORRUPT);
    ASSERT_NO_LEAK();
}

/* A count that the directory's bytes cannot hold allocates nothing. */
Test(codec_lpk, tensor_count_is_bounded_by_the_directory)
{
    struct lp_lpk_directory directory;
    uint8_t file[FILE_MAX];
    const uint64_t bytes = make_file(file);

    lp_store_u32(file + 12, 1u << 20);
    seal(file);
    cr_assert_eq(lp_codec_lpk_parse_header(&directory, file, bytes, NULL), LP_ECORRUPT);
    lp_store_u32(file + 12, 1);
    seal(file);
    cr_assert_eq(parse(file, bytes, &directory), LP_ECORRUPT, "bytes left behind");
}

static int check_name(const char *name)
{
    return lp_codec_name_check(name, strlen(name), NULL);
}

/* UTF-8 without control characters, 1 to 512 bytes. */
Test(codec_lpk, names_are_strict_utf8)
{
    char longest[514];

    memset(longest, 'n', sizeof(longest));
    cr_assert_eq(lp_codec_name_check(longest, 512, NULL), 0);
    cr_assert_eq(lp_codec_name_check(longest, 513, NULL), LP_ENAME);
    cr_assert_eq(lp_codec_name_check("", 0, NULL), LP_ENAME);
    cr_assert_eq(lp_codec_name_check("a\0b", 3, NULL), LP_ENAME);
    cr_assert_eq(check_name("model.layers.0/q_proj weight"), 0);
    cr_assert_eq(check_name("\xc2\xa0\xe2\x82\xac\xf0\x9f\x90\xa7\xf4\x8f\xbf\xbf"), 0);
    cr_assert_eq(check_name("tab\t"), LP_ENAME);
    cr_assert_eq(check_name("\x7f"), LP_ENAME);
    cr_assert_eq(check_name("\xc2\x85"), LP_ENAME, "C1 control");
    cr_assert_eq(check_name("\xc0\xaf"), LP_ENAME, "overlong");
    cr_assert_eq(check_name("\xe0\x80\xaf"), LP_ENAME, "overlong");
    cr_assert_eq(check_name("\xed\xa0\x80"), LP_ENAME, "surrogate");
    cr_assert_eq(check_name("\xf4\x90\x80\x80"), LP_ENAME, "past the last plane");
    cr_assert_eq(check_name("\xf8\x88\x80\x80\x80"), LP_ENAME);
    cr_assert_eq(check_name("\x80"), LP_ENAME, "stray continuation");
    cr_assert_eq(check_name("a\xe2\x82"), LP_ENAME, "cut off");
}

/* Any allocation may fail. */
Test(codec_lpk, parse_survives_failing_allocations)
{
    struct lp_lpk_directory directory;
    struct fault_loop loop;
    uint8_t file[FILE_MAX];
    const uint64_t bytes = make_file(file);

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        const int rc = parse(file, bytes, &directory);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            continue;
        }
        cr_assert_eq(rc, 0);
        lp_codec_lpk_fini(&directory);
    }
    cr_assert_gt(loop.nth, 3);
    ASSERT_NO_LEAK();
}
