/* SPDX-License-Identifier: Apache-2.0 */
/* The stored tensor files, tests/golden/files: good ones open and read, bad ones get the code and
 * the words that stand beside them. */
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

#include <dirent.h>

#define FILES LP_SOURCE_DIR "/tests/golden/files"

/* One line of a file, without its end. */
static void line_read(FILE *file, char *line, int room)
{
    cr_assert_not_null(fgets(line, room, file));
    line[strcspn(line, "\n")] = '\0';
}

/* The input of a case, whatever its ending. */
static void input_find(const char *folder, char *path, size_t room)
{
    static const char *const endings[] = {"npy", "npz", "safetensors", "bin"};

    for (size_t i = 0; i < LP_ARRAY_LEN(endings); i++) {
        (void)snprintf(path, room, "%s/input.%s", folder, endings[i]);
        FILE *file = fopen(path, "rb");
        if (file != NULL) {
            (void)fclose(file);
            return;
        }
    }
    cr_assert_fail("%s has no input", folder);
}

/* What stands beside an input: the code that it must get, and a part of the sentence. */
struct expected {
    char path[600], code[32], part[128];
};

static void expected_read(const char *kind, const char *name, struct expected *expected)
{
    char folder[512];

    (void)snprintf(folder, sizeof(folder), FILES "/%s/%s", kind, name);
    (void)snprintf(expected->path, sizeof(expected->path), "%s/error", folder);
    FILE *file = fopen(expected->path, "r");
    cr_assert_not_null(file, "%s", expected->path);
    line_read(file, expected->code, sizeof(expected->code));
    line_read(file, expected->part, sizeof(expected->part));
    (void)fclose(file);
    input_find(folder, expected->path, sizeof(expected->path));
}

static void expected_check(const struct expected *expected, const char *name, int rc,
                           const struct lp_error *err)
{
    cr_assert_eq(rc, err->code);
    cr_expect_str_eq(lp_error_name(rc), expected->code, "%s: %s (%s), not %s", name,
                     lp_error_name(rc), err->text, expected->code);
    cr_expect_not_null(strstr(err->text, expected->part), "%s: '%s' lacks '%s'", name, err->text,
                       expected->part);
    cr_expect_not_null(strstr(err->text, "input."), "%s: '%s' does not name the file", name,
                       err->text);
}

static void invalid_check(const char *name)
{
    struct lp_load_file *file = NULL;
    struct lp_error err = LP_ERROR_INIT;
    struct expected expected;

    expected_read("invalid", name, &expected);
    const int rc = lp_load_open(&file, expected.path, NULL, &err);
    cr_assert_null(file, "%s opened", name);
    expected_check(&expected, name, rc, &err);
}

/* The first tensor cannot be read, the second time neither. */
static void unreadable_check(const char *name)
{
    struct lp_error err = LP_ERROR_INIT;
    struct expected expected;
    uint8_t buffer[64];

    expected_read("unreadable", name, &expected);
    struct lp_load_file *file = must_open(expected.path, NULL);
    for (int time = 0; time < 2; time++) {
        const int rc = lp_load_read(file, 0, 0, 1, buffer, &err);
        expected_check(&expected, name, rc, &err);
    }
    lp_load_close(file);
}

/* Every case of a folder; returns how many. */
static int cases_check(const char *kind, void (*check)(const char *name))
{
    char path[512];
    int n = 0;

    (void)snprintf(path, sizeof(path), FILES "/%s", kind);
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        check(entry->d_name);
        n++;
    }
    (void)closedir(folder);
    return n;
}

/* Every bad file is refused with its code, a sentence that names file and place, and no leak. */
Test(load_files, invalid_files_get_their_error)
{
    cr_assert_gt(cases_check("invalid", invalid_check), 140);
    ASSERT_NO_LEAK();
}

/* What only shows when a member of an archive is unpacked is found before any element is given. */
Test(load_files, unreadable_files_get_their_error)
{
    cr_assert_geq(cases_check("unreadable", unreadable_check), 6);
    ASSERT_NO_LEAK();
}

/* Every good file opens, and all of its elements can be read. */
Test(load_files, valid_files_read)
{
    DIR *folder = opendir(FILES "/valid");
    char path[512];
    uint8_t buffer[64];
    int n = 0;

    cr_assert_not_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), FILES "/valid/%s", entry->d_name);
        struct lp_load_file *file = must_open(path, NULL);
        for (uint32_t i = 0; i < lp_load_count(file); i++)
            must_read(file, i, 0, lp_load_tensor(file, i)->geometry.n_elements, buffer);
        lp_load_close(file);
        n++;
    }
    (void)closedir(folder);
    cr_assert_gt(n, 15);
    ASSERT_NO_LEAK();
}

/* A file cut anywhere is refused, whatever the place. */
Test(load_files, every_cut_is_refused)
{
    static const char *const names[] = {"f32_2x3.npy",
                                        "f32_v3.npy",
                                        "two_out_of_order.safetensors",
                                        "metadata_and_padding.safetensors",
                                        "stored.npz",
                                        "deflated.npz",
                                        "zip64.npz"};
    uint8_t bytes[2048];
    char path[512], cut[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    for (size_t i = 0; i < LP_ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), FILES "/valid/%s", names[i]);
        FILE *whole = fopen(path, "rb");
        cr_assert_not_null(whole);
        const size_t n = fread(bytes, 1, sizeof(bytes), whole);
        (void)fclose(whole);
        for (size_t kept = 0; kept < n; kept++) {
            struct lp_load_file *file = NULL;
            struct lp_error err = LP_ERROR_INIT;

            tmpdir_write(&dir, names[i], bytes, kept);
            (void)tmpdir_join(&dir, names[i], cut, sizeof(cut));
            const int rc = lp_load_open(&file, cut, NULL, &err);
            cr_assert_eq(rc, LP_ECORRUPT, "%s cut to %zu: %s %s", names[i], kept, lp_error_name(rc),
                         err.text);
        }
    }
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}
