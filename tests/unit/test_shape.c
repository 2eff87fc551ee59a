/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/shape.h"

#include <criterion/criterion.h>

static struct lp_geometry geometry_of(uint32_t dtype, uint32_t ndim, const uint64_t *dims)
{
    struct lp_geometry geometry;

    cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, ndim, dims, NULL), 0);
    return geometry;
}

static uint32_t record_of(uint32_t dtype, uint32_t ndim, const uint64_t *dims)
{
    const struct lp_geometry geometry = geometry_of(dtype, ndim, dims);

    return lp_codec_geometry_default_record(&geometry);
}

/* Every dtype is found by its name, and its bits add up. */
Test(codec_shape, dtypes_are_named_and_sized)
{
    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++) {
        const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);

        cr_assert_not_null(info);
        cr_assert_eq(lp_codec_dtype_by_name(info->name), dtype);
        if (info->exponent_bits > 0)
            cr_assert_eq(1 + info->exponent_bits + info->mantissa_bits, 8 * info->bytes);
        cr_assert_eq(8 * info->bytes % info->values, 0);
    }
    cr_assert_null(lp_codec_dtype_info(0));
    cr_assert_null(lp_codec_dtype_info(LP_DTYPE_END));
    cr_assert_eq(lp_codec_dtype_by_name("complex64"), 0);
}

/* Rows, elements and bytes follow from the dimensions; a scalar is one row of one element. */
Test(codec_shape, geometry_follows_from_dims)
{
    const struct lp_geometry g = geometry_of(LP_DTYPE_F32, 3, (uint64_t[]){5, 3, 2});
    const struct lp_geometry scalar = geometry_of(LP_DTYPE_F64, 0, NULL);

    cr_assert_eq(g.n_rows, 5);
    cr_assert_eq(g.row_elements, 6);
    cr_assert_eq(g.row_bytes, 24);
    cr_assert_eq(g.n_elements, 30);
    cr_assert_eq(g.logical_bytes, 120);
    cr_assert_eq(g.dims[3], 0);
    cr_assert_eq(scalar.n_rows, 1);
    cr_assert_eq(scalar.n_elements, 1);
    cr_assert_eq(scalar.row_bytes, 8);
}

/* Values of less than a byte are counted in the whole bytes that hold them. */
Test(codec_shape, small_values_come_in_whole_elements)
{
    const struct lp_geometry four = geometry_of(LP_DTYPE_F4_X2, 2, (uint64_t[]){5, 64});
    const struct lp_geometry six = geometry_of(LP_DTYPE_F6_E3M2_X4, 2, (uint64_t[]){5, 32});

    cr_assert_eq(four.row_bytes, 64);
    cr_assert_eq(four.n_elements * lp_codec_dtype_info(four.dtype)->values, 5 * 128);
    cr_assert_eq(six.row_bytes, 96);
    cr_assert_eq(six.n_elements * lp_codec_dtype_info(six.dtype)->values, 5 * 128);
    cr_assert_eq(record_of(LP_DTYPE_F6_E3M2_X4, 2, (uint64_t[]){1000, 7}), 16 * 7);
    cr_assert_eq(record_of(LP_DTYPE_F6_E3M2_X4, 1, (uint64_t[]){100000}), 4096);
}

/* A zero dimension makes an empty tensor, however large the others are. */
Test(codec_shape, zero_dimension_is_empty)
{
    const struct lp_geometry g =
        geometry_of(LP_DTYPE_U8, 3, (uint64_t[]){UINT64_MAX, UINT64_MAX, 0});
    const struct lp_geometry rows = geometry_of(LP_DTYPE_U8, 2, (uint64_t[]){0, 7});

    cr_assert_eq(g.n_elements, 0);
    cr_assert_eq(g.row_bytes, 0);
    cr_assert_eq(rows.n_rows, 0);
    cr_assert_eq(rows.row_bytes, 7);
}

/* Whatever does not fit is refused by its own code, and the result stays untouched. */
Test(codec_shape, geometry_refuses)
{
    const uint64_t big[9] = {1ull << 31, 1ull << 31, 1, 1, 1, 1, 1, 1, 1};
    struct lp_geometry g = {.dtype = 77};

    cr_assert_eq(lp_codec_geometry_init(&g, 0, 0, NULL, NULL), LP_EINVAL);
    cr_assert_eq(lp_codec_geometry_init(&g, LP_DTYPE_END, 0, NULL, NULL), LP_EINVAL);
    cr_assert_eq(lp_codec_geometry_init(&g, LP_DTYPE_U8, 9, big, NULL), LP_EINVAL);
    cr_assert_eq(lp_codec_geometry_init(&g, LP_DTYPE_U8, 2, big, NULL), LP_ESIZE);
    cr_assert_eq(lp_codec_geometry_init(&g, LP_DTYPE_F64, 1, (uint64_t[]){UINT64_MAX}, NULL),
                 LP_ESIZE);
    cr_assert_eq(lp_codec_geometry_init(&g, LP_DTYPE_U8, 2, (uint64_t[]){0, 1ull << 62}, NULL),
                 LP_ESIZE);
    cr_assert_eq(g.dtype, 77);
    cr_assert_eq(lp_codec_geometry_init(&g, LP_DTYPE_U8, 1, (uint64_t[]){(1ull << 62) - 1}, NULL),
                 0);
}

/* docs/FORMAT.md, section 1: row, group of rows, tile, and the tensor itself when it is smaller. */
Test(codec_shape, default_record_is_row_group_or_tile)
{
    cr_assert_eq(record_of(LP_DTYPE_F32, 2, (uint64_t[]){1000, 128}), 128);
    cr_assert_eq(record_of(LP_DTYPE_F32, 2, (uint64_t[]){1000, 16}), 16);
    cr_assert_eq(record_of(LP_DTYPE_F32, 2, (uint64_t[]){1000, 4096}), 4096);
    cr_assert_eq(record_of(LP_DTYPE_F32, 2, (uint64_t[]){1000, 4097}), 4096);
    cr_assert_eq(record_of(LP_DTYPE_F32, 2, (uint64_t[]){1000, 15}), 8 * 15);
    cr_assert_eq(record_of(LP_DTYPE_BOOL, 2, (uint64_t[]){1000, 1}), 256);
    cr_assert_eq(record_of(LP_DTYPE_BF16, 2, (uint64_t[]){3, 5}), 15);
    cr_assert_eq(record_of(LP_DTYPE_F64, 1, (uint64_t[]){100000}), 4096);
    cr_assert_eq(record_of(LP_DTYPE_F64, 1, (uint64_t[]){100}), 100);
    cr_assert_eq(record_of(LP_DTYPE_F64, 0, NULL), 1);
    cr_assert_eq(record_of(LP_DTYPE_F64, 2, (uint64_t[]){5, 0}), 1);
    cr_assert_eq(record_of(LP_DTYPE_F64, 2, (uint64_t[]){0, 5}), 1);
}

/* Every codec and layout has a name that leads back to it; nothing else has one. */
Test(codec_shape, codecs_and_layouts_are_named)
{
    for (uint32_t codec = LP_CODEC_AUTO; codec < LP_CODEC_END; codec++) {
        cr_assert_not_null(lp_codec_id_name(codec));
        cr_assert_eq(lp_codec_id_by_name(lp_codec_id_name(codec)), (int)codec);
    }
    for (uint32_t layout = LP_LAYOUT_PACKED; layout < LP_LAYOUT_END; layout++) {
        cr_assert_not_null(lp_codec_layout_name(layout));
        cr_assert_eq(lp_codec_layout_by_name(lp_codec_layout_name(layout)), (int)layout);
    }
    cr_assert_null(lp_codec_id_name(LP_CODEC_END));
    cr_assert_null(lp_codec_layout_name(LP_LAYOUT_END));
    cr_assert_lt(lp_codec_id_by_name("zip"), 0);
    cr_assert_lt(lp_codec_layout_by_name("heap"), 0);
}
