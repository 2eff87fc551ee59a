/* SPDX-License-Identifier: Apache-2.0 */
/* get: rows of a tensor, read through the client library, into a .npy file. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "cli/report.h"
#include "store/save_npy.h"

#include <stdio.h>
#include <string.h>

#define PIECE_BYTES (16u << 20) /* of rows decoded at once */

struct get {
    const struct lp_cli_args *args;
    lp_tensor *tensor;
    struct lp_tensor_info info;
    uint64_t *rows; /* owned; NULL: all */
    uint64_t n_rows;
};

/* A .npy file of integers, one dimension, as 64-bit row numbers. */
static int widen_rows(const void *src, uint32_t dtype, uint64_t n, uint64_t *rows,
                      struct lp_error *err)
{
    for (uint64_t i = 0; i < n; i++) {
        switch (dtype) {
        case LP_DTYPE_I64:
        case LP_DTYPE_U64:
            rows[i] = ((const uint64_t *)src)[i];
            break;
        case LP_DTYPE_I32:
            rows[i] = (uint64_t)(int64_t)((const int32_t *)src)[i];
            break;
        case LP_DTYPE_U32:
            rows[i] = ((const uint32_t *)src)[i];
            break;
        default:
            return lp_error_set(err, LP_ENOTSUP, "row numbers are i64, u64, i32 or u32, not %s",
                                lp_dtype_name(dtype));
        }
    }
    return 0;
}

/* Before anything is written; and the library would count from the start of a piece. */
static int check_rows(const struct get *get, struct lp_error *err)
{
    for (uint64_t i = 0; i < get->n_rows; i++)
        if (get->rows[i] >= get->info.n_rows)
            return lp_error_set(err, LP_ERANGE,
                                "row number %lld at position %llu, the tensor has %llu rows",
                                (long long)get->rows[i], (unsigned long long)i,
                                (unsigned long long)get->info.n_rows);
    return 0;
}

static int read_rows(struct get *get, const char *path, struct lp_error *err)
{
    const struct lp_geometry *geometry;
    struct lp_load_file *file;
    void *raw = NULL;
    int rc;

    LP_TRY(rc, lp_load_open(&file, path, NULL, err));
    if (lp_load_count(file) != 1 || lp_load_tensor(file, 0)->geometry.ndim != 1) {
        rc = lp_error_set(err, LP_EINVAL, "%s: row numbers are one tensor of one dimension", path);
        goto done;
    }
    geometry = &lp_load_tensor(file, 0)->geometry;
    get->n_rows = geometry->n_elements;
    raw = lp_mem_alloc_array(geometry->n_elements + 1, geometry->elem_bytes);
    get->rows = lp_mem_alloc_array(geometry->n_elements + 1, sizeof(*get->rows));
    if (raw == NULL || get->rows == NULL) {
        rc = lp_error_set(err, LP_ENOMEM, "no memory for %llu row numbers",
                          (unsigned long long)geometry->n_elements);
        goto done;
    }
    rc = lp_load_read(file, 0, 0, geometry->n_elements, raw, err);
    if (rc == 0)
        rc = widen_rows(raw, geometry->dtype, geometry->n_elements, get->rows, err);
    if (rc == 0)
        rc = check_rows(get, err);
    if (rc < 0)
        rc = lp_error_wrap(err, rc, "%s", path);
done:
    lp_mem_free(raw);
    lp_load_close(file);
    return rc;
}

/* The shape of what is read: the tensor's, its first dimension the number of rows. */
static int result_geometry(const struct get *get, struct lp_geometry *ret_geometry,
                           struct lp_error *err)
{
    uint64_t dims[LP_FORMAT_DIMS_MAX];

    for (uint32_t i = 0; i < LP_FORMAT_DIMS_MAX; i++)
        dims[i] = (uint64_t)get->info.dims[i];
    if (get->rows != NULL && get->info.ndim == 0)
        return lp_error_set(err, LP_EINVAL, "a scalar has no rows to choose from");
    if (get->rows != NULL)
        dims[0] = get->n_rows;
    return lp_codec_geometry_init(ret_geometry, get->info.dtype, get->info.ndim, dims, err);
}

/* Row numbers of one piece; without --rows they are made here. */
static int read_piece(const struct get *get, uint64_t first, uint64_t n, uint64_t *numbers,
                      void *dst, size_t dst_bytes, struct lp_error *err)
{
    if (get->rows != NULL)
        return lp_tensor_read(get->tensor, get->rows + first, n, dst, dst_bytes, err);
    for (uint64_t i = 0; i < n; i++)
        numbers[i] = first + i;
    return lp_tensor_read(get->tensor, numbers, n, dst, dst_bytes, err);
}

static int write_rows(const struct get *get, struct lp_save_npy *save, struct lp_error *err)
{
    const uint64_t row_bytes = get->info.row_bytes;
    uint64_t piece, *numbers;
    uint8_t *buffer;
    int rc = 0;

    if (get->n_rows == 0 || row_bytes == 0) /* however large the other of the two is */
        return 0;
    piece = LP_MIN(get->n_rows, LP_MAX(PIECE_BYTES / row_bytes, UINT64_C(1)));
    numbers = lp_mem_alloc_array(piece, sizeof(*numbers));
    buffer = lp_mem_alloc_array(piece, row_bytes);
    if (numbers == NULL || buffer == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory for rows of %llu bytes",
                          (unsigned long long)row_bytes);
    for (uint64_t first = 0; rc == 0 && first < get->n_rows; first += piece) {
        const uint64_t n = LP_MIN(piece, get->n_rows - first);

        rc = read_piece(get, first, n, numbers, buffer, n * row_bytes, err);
        if (rc == 0)
            rc = lp_save_npy_append(save, buffer, n * row_bytes, err);
    }
    lp_mem_free(buffer);
    lp_mem_free(numbers);
    return rc;
}

static int save(struct get *get, const char *path, struct lp_geometry *ret_geometry,
                struct lp_error *err)
{
    struct lp_save_npy file;
    int rc;

    LP_TRY(rc, result_geometry(get, ret_geometry, err));
    LP_TRY(rc, lp_save_npy_open(&file, path, ret_geometry, err));
    rc = write_rows(get, &file, err);
    if (rc == 0)
        rc = lp_save_npy_commit(&file, err);
    if (rc < 0)
        lp_save_npy_close(&file);
    return rc;
}

static int get_rows(struct get *get, lp_client *client, struct lp_geometry *ret_geometry,
                    struct lp_error *err)
{
    const char *rows = get->args->value[LP_CLI_ROWS];
    int rc;

    LP_TRY(rc, lp_client_open(client, get->args->items, 1, &get->tensor, NULL, err));
    LP_TRY(rc, lp_tensor_get_info(get->tensor, &get->info));
    get->n_rows = get->info.n_rows;
    if (rows != NULL) {
        LP_TRY(rc, lp_cli_check_target(get->args->value[LP_CLI_OUTPUT], rows, err));
        LP_TRY(rc, read_rows(get, rows, err));
    }
    return save(get, get->args->value[LP_CLI_OUTPUT], ret_geometry, err);
}

static int tell(const struct get *get, const struct lp_geometry *geometry)
{
    const char *path = get->args->value[LP_CLI_OUTPUT];
    const char *note = lp_save_npy_note(geometry->dtype);
    char bytes[LP_CLI_BYTES_TEXT], shape[LP_CLI_SHAPE_TEXT];

    if (lp_cli_has(get->args, LP_CLI_JSON))
        return lp_cli_print_json_take(
            json_pack("{s:s, s:o, s:s, s:o, s:s?}", "name", get->args->items[0], "output",
                      lp_cli_json_text(path), "dtype", lp_dtype_name(geometry->dtype), "shape",
                      lp_cli_shape_json(geometry), "note", note));
    (void)printf("%s: %s %s, %s\n", path, lp_dtype_name(geometry->dtype),
                 lp_cli_shape(geometry, shape), lp_cli_bytes(geometry->logical_bytes, bytes));
    if (note != NULL)
        (void)printf("note: %s\n", note);
    return lp_cli_finish_output();
}

int lp_cli_verb_get(const struct lp_cli_args *args)
{
    struct get get = {.args = args, .info = {.struct_size = sizeof(get.info)}};
    struct lp_error err = LP_ERROR_INIT;
    struct lp_geometry geometry;
    lp_client *client;
    int rc;

    if (!lp_cli_has(args, LP_CLI_OUTPUT))
        return lp_cli_usage(args, "-o OUT.npy says where the rows go");
    rc = lp_cli_connect(args, &client, &err);
    if (rc < 0)
        return lp_cli_fail(args, rc, &err);
    rc = get_rows(&get, client, &geometry, &err);
    lp_tensor_close(get.tensor);
    lp_client_close(client);
    lp_mem_free(get.rows);
    return rc < 0 ? lp_cli_fail(args, rc, &err) : tell(&get, &geometry);
}
