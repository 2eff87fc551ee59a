/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear complete or not at all. */
#include "store/outfile.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int files_in(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;

    cr_assert_not_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(folder);
    return n;
}

static void contents_are(const char *path, const char *wanted)
{
    char buffer[256] = {0};
    FILE *file = fopen(path, "rb");

    cr_assert_not_null(file, "%s", path);
    (void)!fread(buffer, 1, sizeof(buffer) - 1, file);
    (void)fclose(file);
    cr_assert_str_eq(buffer, wanted);
}

static int put(const char *path, const char *text, struct lp_error *err)
{
    struct lp_outfile file;
    int rc;

    LP_TRY(rc, lp_outfile_open(&file, path, err));
    rc = lp_outfile_write(&file, text, strlen(text), 0, err);
    if (rc == 0)
        rc = lp_outfile_commit(&file, err);
    lp_outfile_close(&file);
    return rc;
}

/* Nothing is seen before commit, the whole file after it, and nothing else is left. */
Test(store_outfile, appears_at_commit)
{
    struct lp_outfile file;
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct stat st;
    struct tmpdir dir;

    tmpdir_init(&dir);
    tmpdir_join(&dir, "out", path, sizeof(path));
    const mode_t mask = umask(027);
    cr_assert_eq(lp_outfile_open(&file, path, &err), 0, "%s", err.text);
    (void)umask(mask);
    cr_assert_eq(lp_outfile_write(&file, "world", 5, 6, &err), 0);
    cr_assert_eq(lp_outfile_write(&file, "hello ", 6, 0, &err), 0);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(lp_outfile_commit(&file, &err), 0, "%s", err.text);
    contents_are(path, "hello world");
    cr_assert_eq(files_in(dir.path), 1);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0640);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* What was there stays until commit, and after a close without one; it lends its mode. */
Test(store_outfile, replaces_only_at_commit)
{
    struct lp_outfile file;
    char path[PATH_BYTES];
    struct stat st;
    struct tmpdir dir;

    tmpdir_init(&dir);
    tmpdir_write(&dir, "out", "old", 3);
    tmpdir_join(&dir, "out", path, sizeof(path));
    cr_assert_eq(chmod(path, 0600), 0);
    cr_assert_eq(lp_outfile_open(&file, path, NULL), 0);
    cr_assert_eq(lp_outfile_write(&file, "newer", 5, 0, NULL), 0);
    contents_are(path, "old");
    lp_outfile_close(&file);
    contents_are(path, "old");
    cr_assert_eq(put(path, "newer", NULL), 0);
    contents_are(path, "newer");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    cr_assert_eq(files_in(dir.path), 1);
    tmpdir_fini(&dir);
}

/* A link is followed, a device is not replaced, a folder that is not there is said so. */
Test(store_outfile, minds_what_the_target_is)
{
    char path[PATH_BYTES], link[PATH_BYTES];
    struct lp_error err = LP_ERROR_INIT;
    struct stat st;
    struct tmpdir dir;

    tmpdir_init(&dir);
    tmpdir_write(&dir, "real", "old", 3);
    tmpdir_join(&dir, "real", path, sizeof(path));
    tmpdir_join(&dir, "link", link, sizeof(link));
    cr_assert_eq(symlink("real", link), 0);
    cr_assert_eq(put(link, "new", &err), 0, "%s", err.text);
    cr_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    contents_are(path, "new");
    cr_assert_eq(put("/dev/null", "x", &err), LP_EINVAL);
    cr_assert_eq(put("/dev/full", "x", &err), LP_EINVAL);
    cr_assert(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    cr_assert_eq(put(dir.path, "x", &err), LP_EINVAL);
    tmpdir_join(&dir, "no/where", path, sizeof(path));
    cr_assert_eq(put(path, "x", &err), LP_ENOENT);
    cr_assert_not_null(strstr(err.text, "no/where"), "%s", err.text);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* A name without a folder goes to the one we are in. */
Test(store_outfile, takes_a_bare_name)
{
    struct tmpdir dir;

    tmpdir_init(&dir);
    cr_assert_eq(chdir(dir.path), 0);
    cr_assert_eq(put("bare", "x", NULL), 0);
    contents_are("bare", "x");
    cr_assert_eq(chdir("/"), 0);
    tmpdir_fini(&dir);
}

/* Whatever fails: a code, the old file untouched, nothing beside it. The first failing open is
 * that of the nameless file: a hidden name then serves as well. */
Test(store_outfile, leaves_nothing_behind_after_a_fault)
{
    static const struct {
        enum lp_fault_site site;
        int code;
    } rows[] = {{LP_FAULT_ALLOC, LP_ENOMEM}, {LP_FAULT_WRITE, LP_ENOSPC}};
    char path[PATH_BYTES];
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    struct tmpdir dir;

    tmpdir_init(&dir);
    tmpdir_join(&dir, "out", path, sizeof(path));
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        FAULT_LOOP(&loop, rows[i].site) {
            tmpdir_write(&dir, "out", "old", 3);
            const int rc = put(path, "new", &err);

            /* flushing the folder at the end is allowed to fail */
            cr_assert(rc == 0 || (fault_loop_hit(&loop) && (rc == rows[i].code || rc == LP_EIO)),
                      "%d %s", rc, err.text);
            contents_are(path, rc == 0 ? "new" : "old");
            cr_assert_eq(files_in(dir.path), 1);
        }
        cr_assert_gt(loop.nth, 1);
    }
    FAULT_LOOP(&loop, LP_FAULT_OPEN)
        cr_assert_eq(put(path, "by another way", &err), 0, "%s", err.text);
    contents_are(path, "by another way");
    cr_assert_eq(files_in(dir.path), 1);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* 256 KiB at path, for this process alone: gone with it, however it ends. */
static bool small_disk(const char *path)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("lanepack-test", path, "tmpfs", 0, "size=256k") == 0;
}

/* A disk that is really full: LP_ENOSPC, and not a byte left on it. */
Test(store_outfile, reports_a_full_disk)
{
    static char block[1 << 20];
    struct lp_outfile file;
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct tmpdir dir;
    int rc = 0;

    tmpdir_init(&dir);
    if (!small_disk(dir.path)) {
        tmpdir_fini(&dir);
        cr_skip("waived: no right to mount a small tmpfs");
    }
    tmpdir_join(&dir, "out", path, sizeof(path));
    cr_assert_eq(lp_outfile_open(&file, path, &err), 0, "%s", err.text);
    rc = lp_outfile_write(&file, block, sizeof(block), 0, &err);
    cr_assert_eq(rc, LP_ENOSPC, "%s", err.text);
    cr_assert_not_null(strstr(err.text, "No space left"), "%s", err.text);
    lp_outfile_close(&file);
    cr_assert_eq(files_in(dir.path), 0);
    cr_assert_eq(umount(dir.path), 0);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}
