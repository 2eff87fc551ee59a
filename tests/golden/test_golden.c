/* SPDX-License-Identifier: Apache-2.0 */
/* test_golden FOLDER: every stored .lpk file through every tier. Good ones must give their elements
 * bit for bit, bad ones the code that stands beside them. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/record.h"
#include "tests/lib/lpk_memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static unsigned passed, failed;

static void report(bool good, const char *name, const char *text)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    (void)fprintf(stderr, "%s: %s\n", name, text);
}

/* The bytes of a file, or NULL. Returns new memory. */
static uint8_t *read_file(const char *path, uint64_t *ret_bytes)
{
    FILE *const file = fopen(path, "rb");
    struct stat status;
    uint8_t *bytes;

    if (file == NULL || fstat(fileno(file), &status) != 0)
        return NULL;
    bytes = lp_mem_zalloc((size_t)status.st_size + 1);
    if (bytes != NULL && fread(bytes, 1, (size_t)status.st_size, file) != (size_t)status.st_size)
        abort();
    (void)fclose(file);
    *ret_bytes = (uint64_t)status.st_size;
    return bytes;
}

/* What is left of the expected elements, and the tier to decode with. */
struct expected {
    const struct lp_codec_ops *ops;
    const uint8_t *raw; /* NULL: the file is bad, only the code counts */
    uint64_t left;
};

static int decode_all(const struct lp_view *view, const struct lp_codec_ops *ops, uint8_t *dst,
                      struct lp_error *err)
{
    const struct lp_table *const table = view->table;

    for (uint64_t r = 0; r < table->n_records; r++) {
        const uint32_t n = lp_codec_record_elements(table, r);
        struct lp_place place;

        if (!lp_codec_place(table, view->index, r, &place) ||
            lp_codec_record_decode(table, ops, r, view->segments[place.segment] + place.offset,
                                   place.stored_bytes, dst, NULL) < 0)
            return lp_error_set(err, LP_ECORRUPT, "record %llu, tier %s", (unsigned long long)r,
                                ops->tier);
        dst += (size_t)n * table->geometry.elem_bytes;
    }
    return 0;
}

static int check_table(void *user, const char *name, const struct lp_view *view,
                       struct lp_error *err)
{
    const uint64_t bytes = view->table->geometry.logical_bytes;
    struct expected *const expected = user;
    uint8_t *const dst = lp_mem_alloc(bytes);
    int rc;

    if (dst == NULL)
        abort();
    rc = lp_codec_view_verify(view, 0, view->table->checks_bytes / 8, false, NULL, err);
    if (rc == 0)
        rc = decode_all(view, expected->ops, dst, err);
    if (rc == 0 && expected->raw != NULL) {
        if (bytes > expected->left || memcmp(dst, expected->raw, bytes) != 0)
            rc = lp_error_set(err, LP_EINTERNAL, "the elements of %s differ, tier %s", name,
                              expected->ops->tier);
        else
            expected->raw += bytes;
        expected->left -= LP_MIN(bytes, expected->left);
    }
    lp_mem_free(dst);
    return rc;
}

static void check_valid(const char *folder, const char *name, const struct lp_codec_ops *ops)
{
    struct lp_error err = LP_ERROR_INIT;
    uint64_t file_bytes, raw_bytes = 0;
    struct expected expected;
    char path[4096];
    uint8_t *file, *raw;
    int rc;

    (void)snprintf(path, sizeof(path), "%s/valid/%s", folder, name);
    file = read_file(path, &file_bytes);
    memcpy(path + strlen(path) - 3, "raw", 3);
    raw = read_file(path, &raw_bytes);
    if (file == NULL || raw == NULL) {
        report(false, name, "cannot be read");
    } else {
        expected = (struct expected){ops, raw, raw_bytes};
        rc = lpk_memory_read(file, file_bytes, check_table, &expected, &err);
        report(rc == 0 && expected.left == 0, name, rc == 0 ? "elements are missing" : err.text);
    }
    lp_mem_free(raw);
    lp_mem_free(file);
}

static void check_invalid(const char *folder, const char *name, const struct lp_codec_ops *ops)
{
    struct expected expected = {ops, NULL, 0};
    struct lp_error err = LP_ERROR_INIT;
    uint64_t file_bytes, error_bytes;
    char path[4096], text[512];
    uint8_t *file, *error;

    (void)snprintf(path, sizeof(path), "%s/invalid/%s/input", folder, name);
    file = read_file(path, &file_bytes);
    (void)snprintf(path, sizeof(path), "%s/invalid/%s/error", folder, name);
    error = read_file(path, &error_bytes);
    if (file == NULL || error == NULL) {
        report(false, name, "cannot be read");
    } else {
        const int rc = lpk_memory_read(file, file_bytes, check_table, &expected, &err);

        error[strcspn((char *)error, "\n")] = '\0';
        (void)snprintf(text, sizeof(text), "expected %s, got %s (%s)", (char *)error,
                       lp_error_name(rc), err.text);
        report(strcmp(lp_error_name(rc), (char *)error) == 0 && err.text[0] != '\0', name, text);
    }
    lp_mem_free(error);
    lp_mem_free(file);
}

/* Each entry of a folder that ends with suffix, on each tier. */
static void check_folder(const char *folder, const char *sub, const char *suffix,
                         void (*check)(const char *, const char *, const struct lp_codec_ops *))
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    struct dirent **entries;
    char path[4096];
    int n;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, sub);
    n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *const name = entries[i]->d_name;
        const size_t length = strlen(name), end = strlen(suffix);

        if (name[0] != '.' && length > end && strcmp(name + length - end, suffix) == 0)
            for (int t = 0; t < n_tiers; t++)
                check(folder, name, tiers[t]);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: test_golden FOLDER\n");
        return 2;
    }
    check_folder(argv[1], "valid", ".lpk", check_valid);
    check_folder(argv[1], "invalid", "", check_invalid);
    (void)printf("%u good, %u bad\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
