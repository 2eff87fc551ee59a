/* SPDX-License-Identifier: Apache-2.0 */
#include "store/load_zip.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "store/load.h"

#include <zip.h>

#include <errno.h>

struct lp_load_zip {
    zip_t *archive;      /* owned */
    zip_file_t *member;  /* owned; the selected one, or NULL */
    int fd;              /* borrows */
    uint64_t bytes;      /* of the file */
    uint64_t at;         /* where libzip reads next */
    uint64_t open_left;  /* bytes that opening may still read */
    bool too_much;       /* it wanted more */
    int read_errno;      /* of a read that failed, or 0 */
    zip_error_t failure; /* of the source, for libzip */
};

/* libzip's word for what happened, and ours. */
static int fail(const struct lp_load_zip *zip, zip_error_t *failure, const char *what,
                struct lp_error *err)
{
    int code = LP_ECORRUPT;

    if (zip->too_much)
        return lp_error_set(err, LP_ELIMIT, "%s: its directory has more than %u bytes", what,
                            LP_LOAD_NPZ_DIRECTORY_MAX);
    if (zip->read_errno != 0)
        return lp_error_set_errno(err, LP_EIO, zip->read_errno, "%s", what);
    if (zip_error_code_zip(failure) == ZIP_ER_NOENT) /* its own words would be "No such file" */
        return lp_error_set(err, LP_ECORRUPT,
                            "%s: a size or place of 2^32 - 1 without a zip64 field", what);
    if (zip_error_code_zip(failure) == ZIP_ER_EXISTS)
        return lp_error_set(err, LP_ECORRUPT, "%s: two members have the same name", what);
    switch (zip_error_code_zip(failure)) {
    case ZIP_ER_MEMORY:
        code = LP_ENOMEM;
        break;
    case ZIP_ER_MULTIDISK:
    case ZIP_ER_COMPNOTSUPP:
    case ZIP_ER_ENCRNOTSUPP:
    case ZIP_ER_NOPASSWD:
    case ZIP_ER_OPNOTSUPP:
        code = LP_ENOTSUP;
        break;
    default: /* the bytes of the file are all that is left to blame */
        break;
    }
    return lp_error_set(err, code, "%s: %s", what, zip_error_strerror(failure));
}

static zip_int64_t serve_read(struct lp_load_zip *zip, void *data, uint64_t len)
{
    const uint64_t n = zip->at < zip->bytes ? LP_MIN(len, zip->bytes - zip->at) : 0;
    ssize_t got;

    if (n > zip->open_left) {
        zip->too_much = true;
        zip_error_set(&zip->failure, ZIP_ER_READ, EFBIG);
        return -1;
    }
    got = lp_sys_pread_all(zip->fd, data, (size_t)n, (off_t)zip->at);
    if (got < 0) {
        zip->read_errno = errno;
        zip_error_set(&zip->failure, ZIP_ER_READ, errno);
        return -1;
    }
    zip->at += (uint64_t)got;
    if (zip->archive == NULL)
        zip->open_left -= (uint64_t)got;
    return got;
}

static zip_int64_t serve_seek(struct lp_load_zip *zip, void *data, uint64_t len)
{
    const zip_int64_t to =
        zip_source_seek_compute_offset(zip->at, zip->bytes, data, len, &zip->failure);

    if (to < 0)
        return -1;
    zip->at = (uint64_t)to;
    return 0;
}

static zip_int64_t serve_stat(const struct lp_load_zip *zip, void *data, uint64_t len)
{
    zip_stat_t *const st = data;

    if (len < sizeof(*st))
        return -1;
    zip_stat_init(st);
    st->valid = ZIP_STAT_SIZE;
    st->size = zip->bytes;
    return sizeof(*st);
}

/* What libzip asks of a file: see "zip_source_function" in its manual. */
static zip_int64_t serve(void *user, void *data, zip_uint64_t len, zip_source_cmd_t command)
{
    struct lp_load_zip *const zip = user;

    switch (command) {
    case ZIP_SOURCE_OPEN:
        zip->at = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return serve_read(zip, data, len);
    case ZIP_SOURCE_SEEK:
        return serve_seek(zip, data, len);
    case ZIP_SOURCE_TELL:
        return (zip_int64_t)zip->at;
    case ZIP_SOURCE_STAT:
        return serve_stat(zip, data, len);
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&zip->failure, data, len);
    case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_SEEKABLE |
               ZIP_SOURCE_MAKE_COMMAND_BITMASK(ZIP_SOURCE_ACCEPT_EMPTY);
    case ZIP_SOURCE_ACCEPT_EMPTY: /* no: a file without bytes is no archive */
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
        return 0;
    default:
        zip_error_set(&zip->failure, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

static int archive_open(struct lp_load_zip *zip, struct lp_error *err)
{
    zip_error_t failure;
    zip_source_t *source;
    int rc = 0;

    zip_error_init(&failure);
    source = zip_source_function_create(serve, zip, &failure);
    if (source != NULL) {
        zip_t *const archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &failure);

        if (archive == NULL)
            zip_source_free(source);
        zip->archive = archive;
    }
    if (zip->archive == NULL)
        rc = fail(zip, &failure, "cannot read as a zip archive", err);
    zip_error_fini(&failure);
    zip->open_left = UINT64_MAX;
    return rc;
}

int lp_load_zip_open(struct lp_load_zip **ret_zip, int fd, uint64_t bytes, struct lp_error *err)
{
    struct lp_load_zip *zip = lp_mem_zalloc(sizeof(*zip));
    int rc;

    if (zip == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to open a zip archive");
    zip->fd = fd;
    zip->bytes = bytes;
    /* The directory once, and the same again: the members' own headers that it is compared with. */
    zip->open_left = UINT64_C(2) * LP_LOAD_NPZ_DIRECTORY_MAX;
    zip_error_init(&zip->failure);
    rc = archive_open(zip, err);
    if (rc < 0) {
        lp_load_zip_close(zip);
        return rc;
    }
    *ret_zip = zip;
    return 0;
}

static void member_close(struct lp_load_zip *zip)
{
    if (zip->member != NULL)
        (void)zip_fclose(zip->member);
    zip->member = NULL;
}

void lp_load_zip_close(struct lp_load_zip *zip)
{
    if (zip == NULL)
        return;
    member_close(zip);
    if (zip->archive != NULL)
        zip_discard(zip->archive);
    zip_error_fini(&zip->failure);
    lp_mem_free(zip);
}

uint64_t lp_load_zip_count(const struct lp_load_zip *zip)
{
    const zip_int64_t n = zip_get_num_entries(zip->archive, 0);

    return n < 0 ? 0 : (uint64_t)n;
}

int lp_load_zip_member(struct lp_load_zip *zip, uint64_t i, struct lp_load_zip_member *ret_member,
                       struct lp_error *err)
{
    const zip_uint64_t all = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                             ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    zip_stat_t st;

    zip_stat_init(&st);
    if (zip_stat_index(zip->archive, i, 0, &st) != 0)
        return fail(zip, zip_get_error(zip->archive), "cannot read the directory", err);
    if ((st.valid & all) != all)
        return lp_error_set(err, LP_ECORRUPT, "the directory does not say name, size and method");
    if (st.encryption_method != ZIP_EM_NONE)
        return lp_error_set(err, LP_ENOTSUP, "member '%.48s' is encrypted", st.name);
    if (st.comp_method != ZIP_CM_STORE && st.comp_method != ZIP_CM_DEFLATE)
        return lp_error_set(err, LP_ENOTSUP,
                            "member '%.48s' is packed by method %u: only stored (0) and deflated "
                            "(8) ones are read",
                            st.name, st.comp_method);
    *ret_member = (struct lp_load_zip_member){.name = st.name,
                                              .bytes = st.size,
                                              .packed_bytes = st.comp_size,
                                              .stored = st.comp_method == ZIP_CM_STORE};
    return 0;
}

int lp_load_zip_select(struct lp_load_zip *zip, uint64_t i, struct lp_error *err)
{
    member_close(zip);
    zip->member = zip_fopen_index(zip->archive, i, 0);
    if (zip->member == NULL)
        return fail(zip, zip_get_error(zip->archive), "cannot open the member", err);
    return 0;
}

int lp_load_zip_read(struct lp_load_zip *zip, void *dst, size_t bytes, size_t *ret_got,
                     struct lp_error *err)
{
    size_t got = 0;

    while (got < bytes) {
        const zip_int64_t n = zip_fread(zip->member, (uint8_t *)dst + got, bytes - got);

        if (n < 0)
            return fail(zip, zip_file_get_error(zip->member), "cannot read the member", err);
        if (n == 0)
            break;
        got += (size_t)n;
    }
    *ret_got = got;
    return 0;
}

int lp_load_zip_seek(struct lp_load_zip *zip, uint64_t offset, struct lp_error *err)
{
    if (offset > INT64_MAX || zip_fseek(zip->member, (zip_int64_t)offset, SEEK_SET) != 0)
        return fail(zip, zip_file_get_error(zip->member), "cannot seek in the member", err);
    return 0;
}
