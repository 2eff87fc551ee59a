/* SPDX-License-Identifier: Apache-2.0 */
/* dtypes and shapes: what a tensor is before anybody thinks of packing it. */
#ifndef LP_CODEC_SHAPE_H
#define LP_CODEC_SHAPE_H

#include "base/error.h"
#include "codec/format.h"

#include <stdbool.h>

/* One row of the dtype table (docs/FORMAT.md, section 3). An element is what shapes, rows, records
 * and offsets count. Most have one value; those of values of 4 and 6 bits have the fewest values
 * that fill whole bytes, so that nothing of ours has to know of half a byte. */
struct lp_dtype_info {
    const char *name;       /* "bf16" */
    uint32_t bytes;         /* of one element; not always a power of two */
    uint32_t exponent_bits; /* 0: no codec takes it for a float */
    uint32_t mantissa_bits;
    uint32_t values; /* in one element: 1, 2 or 4 */
};

/* Static; NULL for a number that is no dtype. */
const struct lp_dtype_info *lp_codec_dtype_info(uint32_t dtype);

/* An integer of 8 bits, which codec lane takes although it has no exponent: its top bits are as
 * good where values are small. */
static inline bool lp_codec_dtype_is_int8(uint32_t dtype)
{
    return dtype == LP_DTYPE_I8 || dtype == LP_DTYPE_U8;
}

/* The dtype called name ("bf16"), or 0. */
uint32_t lp_codec_dtype_by_name(const char *name);

/* "lane", "packed": names of enum lp_codec_id and enum lp_layout, "auto" among the codecs. Static;
 * NULL for a number without one. By name: the number, or -1. */
const char *lp_codec_id_name(uint32_t codec);
int lp_codec_id_by_name(const char *name);
const char *lp_codec_layout_name(uint32_t layout);
int lp_codec_layout_by_name(const char *name);

/* Shape of a dense row-major tensor, and what follows from it. */
struct lp_geometry {
    uint32_t dtype, ndim;
    uint64_t dims[LP_FORMAT_DIMS_MAX]; /* from ndim on 0 */
    uint32_t elem_bytes;               /* derived, as all below */
    uint64_t n_elements;
    uint64_t n_rows;       /* dims[0]; 1 for a scalar */
    uint64_t row_elements; /* product of the other dims */
    uint64_t row_bytes;
    uint64_t logical_bytes; /* < LP_FORMAT_LOGICAL_LIMIT */
};

/* Fill in a geometry. dims copies. LP_EINVAL: unknown dtype or more than 8 dims; LP_ESIZE: the
 * product is too large. */
int lp_codec_geometry_init(struct lp_geometry *ret_geometry, uint32_t dtype, uint32_t ndim,
                           const uint64_t *dims, struct lp_error *err);

/* Elements of a record when nobody chose (docs/FORMAT.md, section 1). */
uint32_t lp_codec_geometry_default_record(const struct lp_geometry *geometry);

#endif
