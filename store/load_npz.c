/* SPDX-License-Identifier: Apache-2.0 */
/* .npz: a zip archive of .npy members, "x.npy" being the tensor x.
 *
 * At open each member is unpacked as far as its .npy header. Elements are fetched from one member
 * at a time. The first fetch from another one reads it once from end to end, so that its checksum
 * is known to be right before any element is given out; a deflated one is thereby unpacked into a
 * file without a name, from which elements are then read at random. A stored one is read where it
 * lies.
 *
 * A deflated member cannot be larger than its packed bytes allow, nor than
 * LP_LOAD_NPZ_UNPACKED_MAX, and must be exactly as large as its .npy header says: so what a small
 * archive can ask for is bounded, in memory by buffers, on the disk by that limit.
 * Source: numpy's NEP 1 and its manual of savez; RFC 1951 (deflate). */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fault.h"
#include "base/sys.h"
#include "store/load_impl.h"
#include "store/load_zip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_TENSOR UINT32_MAX
#define HEAD_BYTES (LP_LOAD_NPY_HEADER_MAX + 12u) /* of a member: all that its header may take */
#define DEFLATE_RATIO_MAX 1032u /* 258 bytes for a length and a distance of one bit each */

struct lp_load_npz {
    struct lp_load_zip *zip; /* owned */
    uint8_t *head;           /* owned, while the file is opened: the beginning of a member ... */
    size_t head_bytes;       /* ... and how much of it has been read */
    uint32_t current;        /* the tensor whose bytes are fetched, or NO_TENSOR */
    bool spooled;            /* they are in the spool */
    int spool;               /* a file without a name, or -1 */
};

/* --- opening --------------------------------------------------------------------------------- */

/* Names that lead somewhere else when they are used as paths: '/x', '../x', 'a\b'. */
static bool leads_away(const char *name)
{
    if (name[0] == '/' || strchr(name, '\\') != NULL)
        return true;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += part != name;
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return true;
    }
    return false;
}

/* The tensor's name, in memory of name's own. */
static int name_take(const char *member, char name[LP_FORMAT_NAME_MAX + 1], struct lp_error *err)
{
    const size_t n = strlen(member);

    if (n < 4 || strcmp(member + n - 4, ".npy") != 0)
        return lp_error_set(err, LP_ENOTSUP, "is no .npy, and nothing else is taken from a zip");
    if (n - 4 > LP_FORMAT_NAME_MAX)
        return lp_error_set(err, LP_ENAME, "is a name of %zu bytes; at most %u", n - 4,
                            LP_FORMAT_NAME_MAX);
    memcpy(name, member, n - 4);
    name[n - 4] = '\0';
    if (leads_away(name))
        return lp_error_set(err, LP_ENAME, "is a path that leads out of its folder");
    return 0;
}

static int size_check(const struct lp_load_zip_member *member, struct lp_error *err)
{
    if (member->stored && member->bytes != member->packed_bytes)
        return lp_error_set(err, LP_ECORRUPT, "is stored, with two sizes: %llu and %llu bytes",
                            (unsigned long long)member->bytes,
                            (unsigned long long)member->packed_bytes);
    if (member->stored)
        return 0;
    if (member->bytes > LP_LOAD_NPZ_UNPACKED_MAX)
        return lp_error_set(err, LP_ELIMIT,
                            "unpacks to %llu bytes, at most %llu are unpacked; numpy.savez() "
                            "stores without packing",
                            (unsigned long long)member->bytes,
                            (unsigned long long)LP_LOAD_NPZ_UNPACKED_MAX);
    if (member->bytes / DEFLATE_RATIO_MAX > member->packed_bytes)
        return lp_error_set(err, LP_ECORRUPT, "claims %llu bytes, which %llu cannot unpack to",
                            (unsigned long long)member->bytes,
                            (unsigned long long)member->packed_bytes);
    return 0;
}

static int member_parse(struct lp_load_file *file, uint32_t i,
                        const struct lp_load_zip_member *member, struct lp_error *err)
{
    char name[LP_FORMAT_NAME_MAX + 1];
    int rc;

    LP_TRY(rc, name_take(member->name, name, err));
    LP_TRY(rc, size_check(member, err));
    file->npz->head_bytes = 0;
    LP_TRY(rc, lp_load_zip_select(file->npz->zip, i, err));
    return lp_load_npy_tensor(file, member->bytes, name, &file->tensors[i], err);
}

static int members_parse(struct lp_load_file *file, struct lp_error *err)
{
    const uint64_t n = lp_load_zip_count(file->npz->zip);
    int rc;

    if (n > LP_FORMAT_TENSORS_MAX)
        return lp_error_set(err, LP_ELIMIT, "has %llu members; at most %u", (unsigned long long)n,
                            LP_FORMAT_TENSORS_MAX);
    LP_TRY(rc, lp_load_tensors_reserve(file, (uint32_t)n, err));
    for (uint32_t i = 0; i < n; i++) {
        struct lp_load_zip_member member;

        LP_TRY(rc, lp_load_zip_member(file->npz->zip, i, &member, err));
        rc = member_parse(file, i, &member, err);
        if (rc < 0)
            return lp_error_wrap(err, rc, "member '%.*s'", LP_LOAD_NAME_SHOWN, member.name);
    }
    return 0;
}

int lp_load_npz_parse(struct lp_load_file *file, struct lp_error *err)
{
    struct lp_load_npz *npz = lp_mem_zalloc(sizeof(*npz));
    struct lp_load_zip *zip;
    int rc;

    if (npz == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to open an .npz file");
    npz->spool = -1;
    npz->current = NO_TENSOR;
    file->npz = npz;
    LP_TRY(rc, lp_load_zip_open(&zip, file->fd, file->bytes, err));
    npz->zip = zip;
    npz->head = lp_mem_alloc(HEAD_BYTES);
    if (npz->head == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the headers of an .npz file");
    rc = members_parse(file, err);
    lp_mem_free(npz->head);
    npz->head = NULL;
    return rc;
}

void lp_load_npz_close(struct lp_load_npz *npz)
{
    if (npz == NULL)
        return;
    lp_load_zip_close(npz->zip);
    lp_mem_free(npz->head);
    lp_sys_close(&npz->spool);
    lp_mem_free(npz);
}

/* --- going to a member ----------------------------------------------------------------------- */

static int spool_fail(struct lp_error *err, int errnum, const char *what)
{
    return lp_error_set_errno(err, lp_load_errno_code(errnum), errnum,
                              "cannot %s a temporary file in TMPDIR or /tmp", what);
}

/* As mkostemp(), and without a name at once. */
static int nameless_open(char *path)
{
    int fd;

    if (lp_fault(LP_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

/* An empty spool. */
static int spool_open(struct lp_load_npz *npz, struct lp_error *err)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];

    if (npz->spool >= 0) {
        if (lp_sys_ftruncate(npz->spool, 0) != 0)
            return spool_fail(err, errno, "empty");
        return 0;
    }
    if (folder == NULL || folder[0] == '\0')
        folder = "/tmp";
    if ((size_t)snprintf(path, sizeof(path), "%s/lanepack-XXXXXX", folder) >= sizeof(path))
        return spool_fail(err, ENAMETOOLONG, "make");
    npz->spool = nameless_open(path);
    return npz->spool < 0 ? spool_fail(err, errno, "make") : 0;
}

/* The selected member from end to end, into the spool where it is to be spooled. */
static int member_pass(struct lp_load_file *file, uint64_t bytes, struct lp_error *err)
{
    const struct lp_load_npz *npz = file->npz;
    uint8_t *buffer = lp_load_window_scratch(file);
    uint64_t at = 0;
    size_t got = 0;
    int rc;

    if (buffer == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a window of %u bytes",
                            LP_LOAD_WINDOW_BYTES);
    do {
        LP_TRY(rc, lp_load_zip_read(npz->zip, buffer, LP_LOAD_WINDOW_BYTES, &got, err));
        if (got > bytes - at)
            return lp_error_set(err, LP_ECORRUPT, "unpacks to more than its %llu bytes",
                                (unsigned long long)bytes);
        if (npz->spooled && lp_sys_pwrite_all(npz->spool, buffer, got, (off_t)at) < 0)
            return spool_fail(err, errno, "write");
        at += got;
    } while (got > 0);
    if (at != bytes)
        return lp_error_set(err, LP_ECORRUPT, "unpacks to %llu of its %llu bytes",
                            (unsigned long long)at, (unsigned long long)bytes);
    return 0;
}

int lp_load_npz_select(struct lp_load_file *file, uint32_t i, struct lp_error *err)
{
    struct lp_load_npz *npz = file->npz;
    struct lp_load_zip_member member;
    int rc;

    if (npz->current == i)
        return 0;
    npz->current = NO_TENSOR;
    LP_TRY(rc, lp_load_zip_member(npz->zip, i, &member, err));
    npz->spooled = !member.stored;
    if (npz->spooled)
        LP_TRY(rc, spool_open(npz, err));
    LP_TRY(rc, lp_load_zip_select(npz->zip, i, err));
    LP_TRY(rc, member_pass(file, member.bytes, err));
    npz->current = i;
    return 0;
}

/* --- fetching -------------------------------------------------------------------------------- */

static int ends_early(uint64_t at, struct lp_error *err)
{
    return lp_error_set(err, LP_ECORRUPT, "ends at byte %llu, within data", (unsigned long long)at);
}

/* From the beginning of the member that is being opened: unpacked as far as it is asked for. */
static int head_fetch(struct lp_load_npz *npz, uint64_t offset, void *dst, size_t bytes,
                      struct lp_error *err)
{
    int rc;

    if (offset > HEAD_BYTES || bytes > HEAD_BYTES - offset)
        return lp_error_set(err, LP_EINTERNAL, "more of a member than its header is asked for");
    if (offset + bytes > npz->head_bytes) {
        const size_t more = (size_t)(offset + bytes - npz->head_bytes);
        size_t got = 0;

        LP_TRY(rc, lp_load_zip_read(npz->zip, npz->head + npz->head_bytes, more, &got, err));
        npz->head_bytes += got;
        if (got < more)
            return ends_early(npz->head_bytes, err);
    }
    memcpy(dst, npz->head + offset, bytes);
    return 0;
}

int lp_load_npz_fetch(struct lp_load_npz *npz, uint64_t offset, void *dst, size_t bytes,
                      struct lp_error *err)
{
    size_t got = 0;
    int rc;

    if (npz->current == NO_TENSOR)
        return head_fetch(npz, offset, dst, bytes, err);
    if (npz->spooled) {
        const ssize_t n = lp_sys_pread_all(npz->spool, dst, bytes, (off_t)offset);

        if (n < 0)
            return spool_fail(err, errno, "read");
        got = (size_t)n;
    } else {
        LP_TRY(rc, lp_load_zip_seek(npz->zip, offset, err));
        LP_TRY(rc, lp_load_zip_read(npz->zip, dst, bytes, &got, err));
    }
    return got == bytes ? 0 : ends_early(offset + got, err);
}
