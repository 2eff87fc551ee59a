/* SPDX-License-Identifier: Apache-2.0 */
/* Opening tensor files: which kind it is, what it holds, and the end of a handle. */
#include "store/load.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "codec/lpk.h"
#include "store/label.h"
#include "store/load_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* First bytes of files that people hand in by mistake, and what to tell them. */
struct stranger {
    const char *magic;
    size_t bytes;
    const char *advice;
};

static const struct stranger strangers[] = {
    {LP_FORMAT_FILE_MAGIC, 8, "packed already (.lpk)"},
    {"GGUF", 4, "a GGUF file, which is not supported"},
    {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file, which is not supported"},
};

static const char npy_magic[] = "\x93NUMPY";
static const char zip_magic[] = "PK\x03\x04", zip_magic_empty[] = "PK\x05\x06";

int lp_load_errno_code(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        return LP_ENOENT;
    case EACCES:
    case EPERM:
        return LP_EPERM;
    case EMFILE:
    case ENFILE:
        return LP_ELIMIT;
    case ENOMEM:
        return LP_ENOMEM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return LP_ENOSPC;
    default:
        return LP_EIO;
    }
}

static bool has_ending(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);

    return n > m && strcmp(path + n - m, ending) == 0;
}

/* The file's name without folder and ending, where that can be the name of a tensor. */
static void stem_set(struct lp_load_file *file, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(base, '.');
    const size_t n = dot == NULL || dot == base ? strlen(base) : (size_t)(dot - base);

    if (n <= LP_FORMAT_NAME_MAX && lp_codec_name_check(base, n, NULL) == 0) {
        memcpy(file->stem, base, n);
        file->stem[n] = '\0';
    } else {
        memcpy(file->stem, "tensor", sizeof("tensor"));
    }
}

static int file_open(struct lp_load_file *file, const char *path, struct lp_error *err)
{
    struct stat st;

    /* Without O_NONBLOCK, a pipe of this name would hold us until somebody writes. */
    file->fd = lp_sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (file->fd < 0) {
        const int errnum = errno;
        return lp_error_set_errno(err, lp_load_errno_code(errnum), errnum, "cannot open");
    }
    if (fstat(file->fd, &st) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "cannot stat");
    if (!S_ISREG(st.st_mode))
        return lp_error_set(err, LP_ENOTSUP, "is not a regular file");
    file->bytes = (uint64_t)st.st_size;
    file->changed = st.st_mtim;
    return 0;
}

/* Starts like .safetensors: a length that the file has room for, then a JSON object. */
static bool looks_like_safetensors(const uint8_t *head, size_t n, uint64_t file_bytes)
{
    return n > 8 && lp_load_u64(head) <= file_bytes - 8 && head[8] == '{';
}

static int kind_unknown(const uint8_t *head, size_t n, struct lp_error *err)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(strangers); i++) {
        if (n >= strangers[i].bytes && memcmp(head, strangers[i].magic, strangers[i].bytes) == 0)
            return lp_error_set(err, LP_ENOTSUP, "is %s", strangers[i].advice);
    }
    return lp_error_set(err, LP_ENOTSUP,
                        "is no .npy, .npz or .safetensors; raw binary needs dtype and shape");
}

/* The kind by the first bytes, else by the ending: a broken file then gets its kind's own error. */
static int kind_find(struct lp_load_file *file, const char *path, struct lp_error *err)
{
    uint8_t head[16];
    const size_t n = (size_t)LP_MIN(file->bytes, sizeof(head));
    int rc;

    LP_TRY(rc, lp_load_fetch(file, 0, head, n, err));
    if (n >= 6 && memcmp(head, npy_magic, 6) == 0)
        file->kind = LP_LOAD_NPY;
    else if (n >= 4 && (memcmp(head, zip_magic, 4) == 0 || memcmp(head, zip_magic_empty, 4) == 0))
        file->kind = LP_LOAD_NPZ;
    else if (looks_like_safetensors(head, n, file->bytes))
        file->kind = LP_LOAD_SAFETENSORS;
    else if (has_ending(path, ".npy"))
        file->kind = LP_LOAD_NPY;
    else if (has_ending(path, ".npz"))
        file->kind = LP_LOAD_NPZ;
    else if (has_ending(path, ".safetensors"))
        file->kind = LP_LOAD_SAFETENSORS;
    else
        return kind_unknown(head, n, err);
    return 0;
}

static int options_check(const struct lp_load_options *options, struct lp_error *err)
{
    if (options->as_dtype != 0 && options->as_dtype != LP_DTYPE_BF16)
        return lp_error_set(err, LP_EINVAL, "can only cast to bf16");
    if (options->dtype == 0 && (options->ndim != 0 || options->offset != 0))
        return lp_error_set(err, LP_EINVAL, "shape and offset need a dtype");
    if (options->dtype != 0 && lp_codec_dtype_info(options->dtype) == NULL)
        return lp_error_set(err, LP_EINVAL, "no dtype has number %u", options->dtype);
    if (options->ndim > LP_FORMAT_DIMS_MAX)
        return lp_error_set(err, LP_EINVAL, "%u dimensions; at most %u", options->ndim,
                            LP_FORMAT_DIMS_MAX);
    return 0;
}

static int parse(struct lp_load_file *file, const char *path, const struct lp_load_options *options,
                 struct lp_error *err)
{
    int rc;

    if (options->dtype != 0)
        file->kind = LP_LOAD_RAW;
    else
        LP_TRY(rc, kind_find(file, path, err));
    switch (file->kind) {
    case LP_LOAD_RAW:
        return lp_load_raw_parse(file, options, err);
    case LP_LOAD_NPY:
        return lp_load_npy_parse(file, err);
    case LP_LOAD_NPZ:
        return lp_load_npz_parse(file, err);
    case LP_LOAD_SAFETENSORS:
        return lp_load_safetensors_parse(file, err);
    }
    return lp_error_set(err, LP_EINTERNAL, "a kind of file without a parser");
}

int lp_load_open(struct lp_load_file **ret_file, const char *path,
                 const struct lp_load_options *options, struct lp_error *err)
{
    const struct lp_load_options none = {0};
    struct lp_load_file *file = lp_mem_zalloc(sizeof(*file));
    int rc;

    if (file == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to open a tensor file");
    file->fd = -1;
    if (options == NULL)
        options = &none;
    file->as_dtype = options->as_dtype;
    lp_label_set(file->label, path);
    stem_set(file, path);
    LP_TRY_GOTO(rc, options_check(options, err), fail);
    LP_TRY_GOTO(rc, file_open(file, path, err), fail);
    LP_TRY_GOTO(rc, parse(file, path, options, err), fail);
    *ret_file = file;
    return 0;

fail:
    rc = lp_error_wrap(err, rc, "%s", file->label);
    lp_load_close(file);
    return rc;
}

void lp_load_close(struct lp_load_file *file)
{
    if (file == NULL)
        return;
    for (uint32_t i = 0; i < file->n_tensors; i++)
        lp_mem_free(file->tensors[i].name);
    lp_mem_free(file->tensors);
    lp_mem_free(file->tile.data);
    lp_mem_free(file->window.data);
    lp_load_npz_close(file->npz);
    lp_sys_close(&file->fd);
    lp_mem_free(file);
}

int lp_load_fetch(const struct lp_load_file *file, uint64_t offset, void *dst, size_t bytes,
                  struct lp_error *err)
{
    ssize_t got;

    if (file->npz != NULL)
        return lp_load_npz_fetch(file->npz, offset, dst, bytes, err);
    got = lp_sys_pread_all(file->fd, dst, bytes, (off_t)offset);
    if (got < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "cannot read at byte %llu",
                                  (unsigned long long)offset);
    if ((size_t)got < bytes)
        return lp_error_set(err, LP_ECORRUPT, "ends at byte %llu, within data",
                            (unsigned long long)(offset + (uint64_t)got));
    return 0;
}

int lp_load_tensors_reserve(struct lp_load_file *file, uint32_t n, struct lp_error *err)
{
    struct lp_load_tensor *tensors = lp_mem_alloc_array(n, sizeof(*tensors));

    if (tensors == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a list of %u tensors", n);
    memset(tensors, 0, (size_t)n * sizeof(*tensors));
    file->tensors = tensors;
    file->n_tensors = n;
    return 0;
}

/* The dtype that read gives out. */
static int cast_dtype(uint32_t as_dtype, uint32_t dtype, uint32_t *ret_dtype, struct lp_error *err)
{
    if (as_dtype != 0 && dtype != as_dtype && dtype != LP_DTYPE_F32)
        return lp_error_set(err, LP_ENOTSUP, "cannot cast %s to bf16, only f32",
                            lp_codec_dtype_info(dtype)->name);
    *ret_dtype = as_dtype != 0 ? as_dtype : dtype;
    return 0;
}

int lp_load_tensor_init(const struct lp_load_file *file, struct lp_load_tensor *tensor,
                        const char *name, uint32_t dtype, uint32_t ndim, const uint64_t *dims,
                        struct lp_error *err)
{
    struct lp_load_tensor made = {.file_dtype = dtype};
    uint32_t out_dtype = 0;
    int rc;

    LP_TRY(rc, lp_codec_name_check(name, strlen(name), err));
    LP_TRY(rc, cast_dtype(file->as_dtype, dtype, &out_dtype, err));
    LP_TRY(rc, lp_codec_geometry_init(&made.geometry, dtype, ndim, dims, err));
    made.file_bytes = made.geometry.logical_bytes;
    LP_TRY(rc, lp_codec_geometry_init(&made.geometry, out_dtype, ndim, dims, err));
    made.name = lp_mem_strdup(name);
    if (made.name == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a tensor's name");
    *tensor = made;
    return 0;
}

enum lp_load_kind lp_load_kind(const struct lp_load_file *file)
{
    return file->kind;
}

const char *lp_load_kind_name(enum lp_load_kind kind)
{
    switch (kind) {
    case LP_LOAD_NPY:
        return "npy";
    case LP_LOAD_NPZ:
        return "npz";
    case LP_LOAD_SAFETENSORS:
        return "safetensors";
    case LP_LOAD_RAW:
        return "raw";
    }
    return "unknown";
}

uint32_t lp_load_count(const struct lp_load_file *file)
{
    return file->n_tensors;
}

const struct lp_load_tensor *lp_load_tensor(const struct lp_load_file *file, uint32_t i)
{
    return i < file->n_tensors ? &file->tensors[i] : NULL;
}

int64_t lp_load_find(const struct lp_load_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->n_tensors; i++) {
        if (strcmp(file->tensors[i].name, name) == 0)
            return i;
    }
    return -1;
}

int lp_load_check_unchanged(const struct lp_load_file *file, struct lp_error *err)
{
    struct stat st;

    if (fstat(file->fd, &st) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "%s: cannot stat", file->label);
    if ((uint64_t)st.st_size != file->bytes || st.st_mtim.tv_sec != file->changed.tv_sec ||
        st.st_mtim.tv_nsec != file->changed.tv_nsec)
        return lp_error_set(err, LP_EBUSY, "%s: changed while it was read", file->label);
    return 0;
}
