/* SPDX-License-Identifier: Apache-2.0 */
/* .npy out, and in again through the loader. numpy's own reading is in compare_numpy.py. */
#include "store/save_npy.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

#include <unistd.h>

/* Every dtype, from scalars to eight dimensions of the largest length: what is written is read
 * back, bf16 and fp8 as the integers of their bits, which the note says. */
Test(store_save_npy, writes_what_the_loader_reads)
{
    static const uint64_t dims[LP_FORMAT_DIMS_MAX] = {2, 1, 3, 1, 1, 2, 1, 2};
    struct lp_error err = LP_ERROR_INIT;
    uint8_t data[24 * 8], back[24 * 8];
    char path[PATH_BYTES];
    struct tmpdir dir;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 11);
    tmpdir_init(&dir);
    tmpdir_join(&dir, "out.npy", path, sizeof(path));
    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++) {
        if (lp_save_npy_descr(dtype) == NULL)
            continue;
        for (uint32_t ndim = 0; ndim <= LP_FORMAT_DIMS_MAX; ndim++) {
            struct lp_geometry geometry;
            struct lp_save_npy save;

            cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, ndim, dims, &err), 0);
            cr_assert_eq(lp_save_npy_open(&save, path, &geometry, &err), 0, "%s", err.text);
            cr_assert_eq(save.offset % 64, 0);
            const size_t bytes = (size_t)geometry.logical_bytes;
            cr_assert_eq(lp_save_npy_append(&save, data, bytes - 1, &err), 0);
            cr_assert_eq(lp_save_npy_append(&save, data + bytes - 1, 1, &err), 0);
            cr_assert_eq(lp_save_npy_commit(&save, &err), 0, "%s", err.text);

            struct lp_load_file *file = must_open(path, NULL);
            const struct lp_geometry *got = &lp_load_tensor(file, 0)->geometry;
            const bool viewed = lp_save_npy_note(dtype) != NULL;
            cr_assert_eq(got->dtype == dtype, !viewed);
            cr_assert_eq(got->elem_bytes, geometry.elem_bytes);
            cr_assert_eq(got->ndim, ndim);
            cr_assert_eq(memcmp(got->dims, geometry.dims, sizeof(got->dims)), 0);
            must_read(file, 0, 0, geometry.n_elements, back);
            cr_assert_eq(memcmp(back, data, bytes), 0);
            lp_load_close(file);
        }
    }
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Elements of 3 bytes have no word in numpy: refused by name, and what to do instead is said. */
Test(store_save_npy, refuses_what_npy_cannot_hold)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_save_npy save;
    char path[PATH_BYTES];
    struct tmpdir dir;
    uint32_t refused = 0;

    tmpdir_init(&dir);
    tmpdir_join(&dir, "out.npy", path, sizeof(path));
    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++) {
        struct lp_geometry geometry;

        if (lp_save_npy_descr(dtype) != NULL)
            continue;
        cr_assert_eq(lp_codec_geometry_init(&geometry, dtype, 1, (uint64_t[]){5}, &err), 0);
        cr_assert_eq(lp_save_npy_open(&save, path, &geometry, &err), LP_ENOTSUP);
        cr_assert_not_null(strstr(err.text, lp_codec_dtype_info(dtype)->name), "%s", err.text);
        cr_assert_not_null(strstr(err.text, ".lpk"), "%s", err.text);
        cr_assert_null(lp_save_npy_note(dtype));
        cr_assert_neq(access(path, F_OK), 0);
        refused++;
    }
    cr_assert_eq(refused, 2);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* The longest header that there is: eight lengths of 19 digits. */
Test(store_save_npy, longest_shape_has_room)
{
    const uint64_t long_dim = UINT64_C(4611686018427387903);
    const uint64_t dims[LP_FORMAT_DIMS_MAX] = {0, long_dim, 1, 1, 1, 1, 1, 1};
    struct lp_geometry geometry;
    struct lp_save_npy save;
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    tmpdir_join(&dir, "out.npy", path, sizeof(path));
    cr_assert_eq(lp_codec_geometry_init(&geometry, LP_DTYPE_U8, 8, dims, &err), 0, "%s", err.text);
    for (uint32_t d = 1; d < 8; d++)
        geometry.dims[d] = UINT64_MAX; /* the writer's room must not depend on the product */
    cr_assert_eq(lp_save_npy_open(&save, path, &geometry, &err), 0, "%s", err.text);
    cr_assert_eq(save.offset % 64, 0);
    lp_save_npy_close(&save);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Too many bytes, or too few, are refused, and no file appears. */
Test(store_save_npy, counts_the_bytes)
{
    const uint64_t dims[1] = {4};
    struct lp_geometry geometry;
    struct lp_save_npy save;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    tmpdir_join(&dir, "out.npy", path, sizeof(path));
    cr_assert_eq(lp_codec_geometry_init(&geometry, LP_DTYPE_U8, 1, dims, NULL), 0);
    cr_assert_eq(lp_save_npy_open(&save, path, &geometry, NULL), 0);
    cr_assert_eq(lp_save_npy_append(&save, "abcde", 5, NULL), LP_ESIZE);
    cr_assert_eq(lp_save_npy_append(&save, "abc", 3, NULL), 0);
    cr_assert_eq(lp_save_npy_commit(&save, NULL), LP_ESIZE);
    lp_save_npy_close(&save);
    cr_assert_neq(access(path, F_OK), 0);
    geometry.dtype = LP_DTYPE_END;
    cr_assert_eq(lp_save_npy_open(&save, path, &geometry, NULL), LP_EINVAL);
    tmpdir_fini(&dir);
}
