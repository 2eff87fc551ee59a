/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear complete: written without a name, named at the end by link and rename. */
#include "store/outfile.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN_FORMAT ".lanepack-%016llx.tmp"
#define HIDDEN_BYTES 40 /* room for it */

static int fail(struct lp_error *err, int errnum, const char *what)
{
    int code = LP_EIO;

    if (errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG)
        code = LP_ENOSPC;
    else if (errnum == ENOENT || errnum == ENOTDIR)
        code = LP_ENOENT;
    else if (errnum == EACCES || errnum == EPERM || errnum == EROFS)
        code = LP_EPERM;
    else if (errnum == ENOMEM)
        code = LP_ENOMEM;
    else if (errnum == EMFILE || errnum == ENFILE)
        code = LP_ELIMIT;
    return lp_error_set_errno(err, code, errnum, "cannot %s", what);
}

/* The path that rename must replace: what a symbolic link points to, not the link. */
static int target_resolve(struct lp_outfile *file, const char *path, struct lp_error *err)
{
    char real[PATH_MAX];
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        if (realpath(path, real) == NULL)
            return fail(err, errno, "follow the link");
        path = real;
    }
    file->target = lp_mem_strdup(path);
    if (file->target == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a path");
    return 0;
}

/* The mode of the file that stands there; false: none does. Devices must not be renamed over. */
static int target_mode(const struct lp_outfile *file, mode_t *ret_mode, struct lp_error *err)
{
    struct stat st;

    if (stat(file->target, &st) != 0) {
        if (errno != ENOENT)
            return fail(err, errno, "look at it");
        return 0;
    }
    if (!S_ISREG(st.st_mode))
        return lp_error_set(err, LP_EINVAL, "is there already and is no regular file");
    *ret_mode = st.st_mode & 07777;
    return 1;
}

static size_t folder_length(const char *target)
{
    const char *slash = strrchr(target, '/');

    return slash == NULL ? 0 : (size_t)(slash - target) + 1;
}

/* The target's folder, new memory. */
static char *folder_new(const char *target)
{
    const size_t n = folder_length(target);
    char *folder = lp_mem_alloc(n + 2);

    if (folder == NULL)
        return NULL;
    memcpy(folder, target, n);
    memcpy(folder + n, n == 0 ? "." : "", n == 0 ? 2 : 1);
    return folder;
}

/* A name beside the target that nobody uses; new memory. */
static char *hidden_new(const char *target)
{
    const size_t n = folder_length(target);
    char *hidden = lp_mem_alloc(n + HIDDEN_BYTES);
    uint64_t random = 0;

    if (hidden == NULL)
        return NULL;
    /* A short answer leaves zeros: O_EXCL then still keeps two writers apart. */
    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
    memcpy(hidden, target, n);
    (void)snprintf(hidden + n, HIDDEN_BYTES, HIDDEN_FORMAT, (unsigned long long)random);
    return hidden;
}

/* A file without a name; -1 where the file system has none, or none could get one later. */
static int nameless_open(const char *folder)
{
    if (access("/proc/self/fd", X_OK) != 0)
        return -1;
    return lp_sys_open(folder, O_TMPFILE | O_RDWR, 0666);
}

static int named_open(struct lp_outfile *file, struct lp_error *err)
{
    file->hidden = hidden_new(file->target);
    if (file->hidden == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a path");
    file->fd = lp_sys_open(file->hidden, O_CREAT | O_EXCL | O_RDWR, 0666);
    if (file->fd >= 0)
        return 0;
    const int errnum = errno;
    lp_mem_free(file->hidden); /* not ours: close must not remove it */
    file->hidden = NULL;
    return fail(err, errnum, "make a file in its folder");
}

static int descriptor_open(struct lp_outfile *file, struct lp_error *err)
{
    char *folder = folder_new(file->target);

    if (folder == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a path");
    file->fd = nameless_open(folder);
    lp_mem_free(folder);
    return file->fd >= 0 ? 0 : named_open(file, err);
}

int lp_outfile_open(struct lp_outfile *ret_file, const char *path, struct lp_error *err)
{
    struct lp_outfile file = {.fd = -1};
    mode_t mode = 0;
    int rc;

    lp_label_set(file.label, path);
    LP_TRY_GOTO(rc, target_resolve(&file, path, err), fail);
    LP_TRY_GOTO(rc, target_mode(&file, &mode, err), fail);
    const bool replaces = rc > 0;
    LP_TRY_GOTO(rc, descriptor_open(&file, err), fail);
    if (replaces && fchmod(file.fd, mode) != 0) {
        rc = fail(err, errno, "give it the mode of the file it replaces");
        goto fail;
    }
    *ret_file = file;
    return 0;

fail:
    lp_outfile_close(&file);
    *ret_file = file;
    return lp_error_wrap(err, rc, "%s", file.label);
}

int lp_outfile_write(struct lp_outfile *file, const void *data, size_t bytes, uint64_t offset,
                     struct lp_error *err)
{
    int rc;

    if (lp_sys_pwrite_all(file->fd, data, bytes, (off_t)offset) >= 0)
        return 0;
    rc = fail(err, errno, "write");
    return lp_error_wrap(err, rc, "%s", file->label);
}

int lp_outfile_resize(struct lp_outfile *file, uint64_t bytes, struct lp_error *err)
{
    int rc;

    if (lp_sys_ftruncate(file->fd, (off_t)bytes) == 0)
        return 0;
    rc = fail(err, errno, "set its size");
    return lp_error_wrap(err, rc, "%s", file->label);
}

static int flush(const struct lp_outfile *file, struct lp_error *err)
{
    if (lp_fault(LP_FAULT_WRITE))
        return fail(err, EIO, "flush");
    return fsync(file->fd) == 0 ? 0 : fail(err, errno, "flush");
}

/* Give a nameless file its hidden name. */
static int link_hidden(struct lp_outfile *file, struct lp_error *err)
{
    char self[40];

    if (file->hidden != NULL)
        return 0;
    char *hidden = hidden_new(file->target);
    if (hidden == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a path");
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, hidden, AT_SYMLINK_FOLLOW) != 0) {
        const int errnum = errno;
        lp_mem_free(hidden);
        return fail(err, errnum, "give it a name");
    }
    file->hidden = hidden;
    return 0;
}

/* So that the name outlives a power cut. The file is complete under either name, hence no error. */
static void flush_folder(const struct lp_outfile *file)
{
    char *folder = folder_new(file->target);

    if (folder == NULL)
        return;
    int fd = lp_sys_open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0)
        (void)fsync(fd);
    lp_sys_close(&fd);
    lp_mem_free(folder);
}

int lp_outfile_commit(struct lp_outfile *file, struct lp_error *err)
{
    int rc;

    LP_TRY_GOTO(rc, flush(file, err), fail);
    LP_TRY_GOTO(rc, link_hidden(file, err), fail);
    if (rename(file->hidden, file->target) != 0) {
        rc = fail(err, errno, "put it in its place");
        goto fail;
    }
    lp_mem_free(file->hidden); /* it has no such name any more */
    file->hidden = NULL;
    flush_folder(file);
    lp_outfile_close(file);
    return 0;

fail:
    return lp_error_wrap(err, rc, "%s", file->label);
}

void lp_outfile_close(struct lp_outfile *file)
{
    if (file->hidden != NULL)
        (void)unlink(file->hidden);
    lp_sys_close(&file->fd);
    lp_mem_free(file->hidden);
    lp_mem_free(file->target);
    file->hidden = NULL;
    file->target = NULL;
}
