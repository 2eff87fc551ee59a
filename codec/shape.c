/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/shape.h"

#include "base/bytes.h"

#include <string.h>

/* docs/FORMAT.md, section 1: what a row must have to be a record, what a group of rows must reach,
 * and the tile of everything else. */
#define ROW_BYTES_MIN 64u
#define ROW_BYTES_MAX 16384u
#define GROUP_BYTES_MIN 256u
#define TILE_ELEMENTS 4096u

/* docs/FORMAT.md, section 3, by id. */
static const struct lp_dtype_info dtypes[LP_DTYPE_END] = {
    [LP_DTYPE_F64] = {"f64", 8, 11, 52, 1},
    [LP_DTYPE_F32] = {"f32", 4, 8, 23, 1},
    [LP_DTYPE_F16] = {"f16", 2, 5, 10, 1},
    [LP_DTYPE_BF16] = {"bf16", 2, 8, 7, 1},
    [LP_DTYPE_F8_E4M3] = {"f8_e4m3", 1, 4, 3, 1},
    [LP_DTYPE_F8_E5M2] = {"f8_e5m2", 1, 5, 2, 1},
    [LP_DTYPE_I8] = {"i8", 1, 0, 0, 1},
    [LP_DTYPE_U8] = {"u8", 1, 0, 0, 1},
    [LP_DTYPE_I16] = {"i16", 2, 0, 0, 1},
    [LP_DTYPE_U16] = {"u16", 2, 0, 0, 1},
    [LP_DTYPE_I32] = {"i32", 4, 0, 0, 1},
    [LP_DTYPE_U32] = {"u32", 4, 0, 0, 1},
    [LP_DTYPE_I64] = {"i64", 8, 0, 0, 1},
    [LP_DTYPE_U64] = {"u64", 8, 0, 0, 1},
    [LP_DTYPE_BOOL] = {"bool", 1, 0, 0, 1},
    [LP_DTYPE_F4_X2] = {"f4_x2", 1, 0, 0, 2},
    [LP_DTYPE_F6_E2M3_X4] = {"f6_e2m3_x4", 3, 0, 0, 4},
    [LP_DTYPE_F6_E3M2_X4] = {"f6_e3m2_x4", 3, 0, 0, 4},
    [LP_DTYPE_F8_E8M0] = {"f8_e8m0", 1, 0, 0, 1},
    [LP_DTYPE_F8_E4M3FNUZ] = {"f8_e4m3fnuz", 1, 0, 0, 1},
    [LP_DTYPE_F8_E5M2FNUZ] = {"f8_e5m2fnuz", 1, 0, 0, 1},
    [LP_DTYPE_C64] = {"c64", 8, 0, 0, 1},
};

const struct lp_dtype_info *lp_codec_dtype_info(uint32_t dtype)
{
    return dtype > 0 && dtype < LP_DTYPE_END ? &dtypes[dtype] : NULL;
}

uint32_t lp_codec_dtype_by_name(const char *name)
{
    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++)
        if (strcmp(dtypes[dtype].name, name) == 0)
            return dtype;
    return 0;
}

static const char *const codec_names[LP_CODEC_END] = {
    [LP_CODEC_AUTO] = "auto",    [LP_CODEC_RAW] = "raw",   [LP_CODEC_IBP] = "ibp",
    [LP_CODEC_LANE] = "lane",    [LP_CODEC_ZIP7] = "zip7", [LP_CODEC_DICT] = "dict",
    [LP_CODEC_SPARSE] = "sparse"};
static const char *const layout_names[LP_LAYOUT_END] = {
    [LP_LAYOUT_PACKED] = "packed", [LP_LAYOUT_SLOTTED] = "slotted"};

static int find_name(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (names[i] != NULL && strcmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *lp_codec_id_name(uint32_t codec)
{
    return codec < LP_CODEC_END ? codec_names[codec] : NULL;
}

int lp_codec_id_by_name(const char *name)
{
    return find_name(codec_names, LP_CODEC_END, name);
}

const char *lp_codec_layout_name(uint32_t layout)
{
    return layout < LP_LAYOUT_END ? layout_names[layout] : NULL;
}

int lp_codec_layout_by_name(const char *name)
{
    return find_name(layout_names, LP_LAYOUT_END, name);
}

/* The product of n dims, 1 for none. Zero wins over an overflow: such a tensor has no elements. */
static bool product(const uint64_t *dims, uint32_t n, uint64_t *ret)
{
    uint64_t all = 1;

    for (uint32_t i = 0; i < n; i++) {
        if (dims[i] == 0) {
            *ret = 0;
            return true;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (!lp_mul_u64(all, dims[i], &all))
            return false;
    *ret = all;
    return true;
}

int lp_codec_geometry_init(struct lp_geometry *ret_geometry, uint32_t dtype, uint32_t ndim,
                           const uint64_t *dims, struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    struct lp_geometry geometry = {.dtype = dtype, .ndim = ndim, .n_rows = 1};
    bool fits;

    if (info == NULL)
        return lp_error_set(err, LP_EINVAL, "dtype %u is not known", dtype);
    if (ndim > LP_FORMAT_DIMS_MAX)
        return lp_error_set(err, LP_EINVAL, "%u dimensions, at most %u are supported", ndim,
                            LP_FORMAT_DIMS_MAX);
    if (ndim > 0) {
        memcpy(geometry.dims, dims, ndim * sizeof(*dims));
        geometry.n_rows = dims[0];
    }
    geometry.elem_bytes = info->bytes;
    fits = product(geometry.dims, ndim, &geometry.n_elements) &&
           product(geometry.dims + 1, ndim > 0 ? ndim - 1 : 0, &geometry.row_elements) &&
           lp_mul_u64(geometry.n_elements, info->bytes, &geometry.logical_bytes) &&
           lp_mul_u64(geometry.row_elements, info->bytes, &geometry.row_bytes);
    if (!fits || geometry.logical_bytes >= LP_FORMAT_LOGICAL_LIMIT ||
        geometry.row_bytes >= LP_FORMAT_LOGICAL_LIMIT)
        return lp_error_set(err, LP_ESIZE, "the dimensions multiply to 2^62 bytes or more");
    *ret_geometry = geometry;
    return 0;
}

uint32_t lp_codec_geometry_default_record(const struct lp_geometry *geometry)
{
    uint64_t elements = TILE_ELEMENTS;

    if (geometry->n_elements == 0)
        return 1;
    if (geometry->ndim >= 2 && geometry->row_bytes <= ROW_BYTES_MAX) {
        uint64_t rows = 1;

        while (geometry->row_bytes < ROW_BYTES_MIN && rows * geometry->row_bytes < GROUP_BYTES_MIN)
            rows *= 2;
        elements = rows * geometry->row_elements;
    }
    return (uint32_t)LP_MIN(elements, geometry->n_elements);
}
