/* SPDX-License-Identifier: Apache-2.0 */
/* .npy out. The header is padded with spaces so that the elements begin at a multiple of 64, as
 * numpy does it. Source: numpy's NEP 1. */
#include "store/save_npy.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

#define PREAMBLE_BYTES 10 /* magic, version 1.0, 2 bytes of length */
#define HEADER_BYTES 320  /* 8 lengths of 20 digits, and the words around them */

static const char *const descrs[LP_DTYPE_END] = {
    [LP_DTYPE_F64] = "<f8",         [LP_DTYPE_F32] = "<f4",         [LP_DTYPE_F16] = "<f2",
    [LP_DTYPE_BF16] = "<u2",        [LP_DTYPE_F8_E4M3] = "|u1",     [LP_DTYPE_F8_E5M2] = "|u1",
    [LP_DTYPE_I8] = "|i1",          [LP_DTYPE_U8] = "|u1",          [LP_DTYPE_I16] = "<i2",
    [LP_DTYPE_U16] = "<u2",         [LP_DTYPE_I32] = "<i4",         [LP_DTYPE_U32] = "<u4",
    [LP_DTYPE_I64] = "<i8",         [LP_DTYPE_U64] = "<u8",         [LP_DTYPE_BOOL] = "|b1",
    [LP_DTYPE_C64] = "<c8",         [LP_DTYPE_F4_X2] = "|u1",       [LP_DTYPE_F8_E8M0] = "|u1",
    [LP_DTYPE_F8_E4M3FNUZ] = "|u1", [LP_DTYPE_F8_E5M2FNUZ] = "|u1",
};

const char *lp_save_npy_descr(uint32_t dtype)
{
    return dtype < LP_DTYPE_END ? descrs[dtype] : NULL;
}

const char *lp_save_npy_note(uint32_t dtype)
{
    switch (dtype) {
    case LP_DTYPE_BF16:
        return "bf16 is written as the uint16 of its bits; with ml_dtypes: a.view('bfloat16')";
    case LP_DTYPE_F8_E4M3:
        return "f8_e4m3 is written as the uint8 of its bits; with ml_dtypes: "
               "a.view('float8_e4m3fn')";
    case LP_DTYPE_F8_E5M2:
        return "f8_e5m2 is written as the uint8 of its bits; with ml_dtypes: "
               "a.view('float8_e5m2')";
    case LP_DTYPE_F8_E8M0:
        return "f8_e8m0 is written as the uint8 of its bits; with ml_dtypes: "
               "a.view('float8_e8m0fnu')";
    case LP_DTYPE_F8_E4M3FNUZ:
        return "f8_e4m3fnuz is written as the uint8 of its bits; with ml_dtypes: "
               "a.view('float8_e4m3fnuz')";
    case LP_DTYPE_F8_E5M2FNUZ:
        return "f8_e5m2fnuz is written as the uint8 of its bits; with ml_dtypes: "
               "a.view('float8_e5m2fnuz')";
    case LP_DTYPE_F4_X2:
        return "f4_x2 is written as uint8, two values of 4 bits in each";
    default:
        return NULL;
    }
}

/* "(3, 4)", "(3,)", "()": behind what text holds already. Returns the new length. */
static size_t shape_format(char *text, size_t n, size_t room, const struct lp_geometry *geometry)
{
    text[n++] = '(';
    for (uint32_t d = 0; d < geometry->ndim; d++)
        n += (size_t)snprintf(text + n, room - n, "%s%llu%s", d > 0 ? " " : "",
                              (unsigned long long)geometry->dims[d],
                              geometry->ndim == 1 || d + 1 < geometry->ndim ? "," : "");
    text[n++] = ')';
    return n;
}

/* The whole header to text, HEADER_BYTES of room. Returns its length, a multiple of 64. */
static size_t header_format(uint8_t *text, const struct lp_geometry *geometry)
{
    char *dict = (char *)text + PREAMBLE_BYTES;
    const size_t room = HEADER_BYTES - PREAMBLE_BYTES;
    size_t n;

    n = (size_t)snprintf(dict, room, "{'descr': '%s', 'fortran_order': False, 'shape': ",
                         lp_save_npy_descr(geometry->dtype));
    n = shape_format(dict, n, room, geometry);
    n += (size_t)snprintf(dict + n, room - n, ", }");
    const size_t all = (size_t)lp_round_up_u64(PREAMBLE_BYTES + n + 1, 64);
    memset(dict + n, ' ', all - PREAMBLE_BYTES - n - 1);
    text[all - 1] = '\n';
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    lp_store_u16(text + 8, (uint16_t)(all - PREAMBLE_BYTES));
    return all;
}

int lp_save_npy_open(struct lp_save_npy *ret_save, const char *path,
                     const struct lp_geometry *geometry, struct lp_error *err)
{
    struct lp_save_npy save = {.left_bytes = geometry->logical_bytes};
    uint8_t header[HEADER_BYTES];
    int rc;

    if (lp_codec_dtype_info(geometry->dtype) == NULL)
        return lp_error_set(err, LP_EINVAL, "no dtype has number %u", geometry->dtype);
    if (lp_save_npy_descr(geometry->dtype) == NULL)
        return lp_error_set(err, LP_ENOTSUP,
                            "%s: .npy has no dtype of %u bytes for %s: keep it packed (.lpk), or "
                            "read its rows with lp_tensor_read()",
                            path, lp_codec_dtype_info(geometry->dtype)->bytes,
                            lp_codec_dtype_info(geometry->dtype)->name);
    const size_t n = header_format(header, geometry);
    LP_TRY(rc, lp_outfile_open(&save.file, path, err));
    LP_TRY_GOTO(rc, lp_outfile_write(&save.file, header, n, 0, err), fail);
    save.offset = n;
    *ret_save = save;
    return 0;

fail:
    lp_outfile_close(&save.file);
    return rc;
}

int lp_save_npy_append(struct lp_save_npy *save, const void *data, size_t bytes,
                       struct lp_error *err)
{
    int rc;

    if (bytes > save->left_bytes)
        return lp_error_set(err, LP_ESIZE, "%s: %zu bytes, but the tensor has only %llu left",
                            save->file.label, bytes, (unsigned long long)save->left_bytes);
    LP_TRY(rc, lp_outfile_write(&save->file, data, bytes, save->offset, err));
    save->offset += bytes;
    save->left_bytes -= bytes;
    return 0;
}

int lp_save_npy_commit(struct lp_save_npy *save, struct lp_error *err)
{
    if (save->left_bytes != 0)
        return lp_error_set(err, LP_ESIZE, "%s: %llu bytes of the tensor are missing",
                            save->file.label, (unsigned long long)save->left_bytes);
    return lp_outfile_commit(&save->file, err);
}

void lp_save_npy_close(struct lp_save_npy *save)
{
    lp_outfile_close(&save->file);
}
