/* SPDX-License-Identifier: Apache-2.0 */
/* .npy: what a good header means; bad ones are stored in tests/golden/files. */
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

/* Each dtype in numpy's words becomes ours. */
Test(load_npy, knows_every_dtype)
{
    static const struct {
        const char *descr;
        uint32_t dtype, bytes;
    } rows[] = {
        {"<f8", LP_DTYPE_F64, 8},  {"<f4", LP_DTYPE_F32, 4}, {"<f2", LP_DTYPE_F16, 2},
        {"|i1", LP_DTYPE_I8, 1},   {"|u1", LP_DTYPE_U8, 1},  {"<i1", LP_DTYPE_I8, 1},
        {"<i2", LP_DTYPE_I16, 2},  {"<u2", LP_DTYPE_U16, 2}, {"<i4", LP_DTYPE_I32, 4},
        {"<u4", LP_DTYPE_U32, 4},  {"<i8", LP_DTYPE_I64, 8}, {"<u8", LP_DTYPE_U64, 8},
        {"|b1", LP_DTYPE_BOOL, 1},
    };
    char dict[128], path[PATH_BYTES];
    uint8_t data[24], back[24];
    struct tmpdir dir;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(7 * i + 1);
    tmpdir_init(&dir);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        (void)snprintf(dict, sizeof(dict),
                       "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }", rows[i].descr);
        npy_write(&dir, "numbers.npy", dict, data, 3 * rows[i].bytes, path);
        struct lp_load_file *file = must_open(path, NULL);
        const struct lp_load_tensor *tensor = lp_load_tensor(file, 0);

        cr_assert_eq(lp_load_kind(file), LP_LOAD_NPY);
        cr_assert_eq(lp_load_count(file), 1);
        cr_assert_eq(tensor->geometry.dtype, rows[i].dtype, "%s", rows[i].descr);
        cr_assert_eq(tensor->geometry.n_elements, 3);
        must_read(file, 0, 0, 3, back);
        cr_assert_eq(memcmp(back, data, 3 * rows[i].bytes), 0);
        lp_load_close(file);
    }
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* The tensor is called as the file, without folder and ending; what is no name becomes "tensor". */
Test(load_npy, tensor_has_the_files_name)
{
    static const struct {
        const char *file, *tensor;
    } rows[] = {{"emb.npy", "emb"},
                {"a.b.npy", "a.b"},
                {"plain", "plain"},
                {".npy", ".npy"},
                {"g\xc3\xbc.npy", "g\xc3\xbc"},
                {"\xff.npy", "tensor"},
                {"new\nline.npy", "tensor"}};
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        npy_write(&dir, rows[i].file, "{'descr': '|u1', 'fortran_order': False, 'shape': ()}", "x",
                  1, path);
        struct lp_load_file *file = must_open(path, NULL);
        cr_assert_str_eq(lp_load_tensor(file, 0)->name, rows[i].tensor);
        cr_assert_eq(lp_load_find(file, rows[i].tensor), 0);
        cr_assert_eq(lp_load_find(file, "nobody"), -1);
        lp_load_close(file);
    }
    tmpdir_fini(&dir);
}

/* Any part of the tensor can be read; parts that do not exist cannot. */
Test(load_npy, reads_any_part)
{
    uint16_t data[100], back[100];
    char path[PATH_BYTES];
    struct tmpdir dir;
    struct lp_error err = LP_ERROR_INIT;

    for (uint16_t i = 0; i < 100; i++)
        data[i] = (uint16_t)(i * 641);
    tmpdir_init(&dir);
    npy_write(&dir, "part.npy", "{'descr': '<u2', 'fortran_order': False, 'shape': (10, 10)}", data,
              sizeof(data), path);
    struct lp_load_file *file = must_open(path, NULL);
    for (uint64_t first = 0; first <= 100; first += 9) {
        for (uint64_t n = 0; first + n <= 100; n += 7) {
            must_read(file, 0, first, n, back);
            cr_assert_eq(memcmp(back, data + first, n * 2), 0);
        }
    }
    cr_assert_eq(lp_load_read(file, 0, 101, 0, back, &err), LP_ERANGE);
    cr_assert_eq(lp_load_read(file, 0, 50, 51, back, &err), LP_ERANGE);
    cr_assert_eq(lp_load_read(file, 0, 1, UINT64_MAX, back, &err), LP_ERANGE);
    cr_assert_eq(lp_load_read(file, 1, 0, 1, back, &err), LP_ERANGE);
    cr_assert_null(lp_load_tensor(file, 1));
    lp_load_close(file);
    tmpdir_fini(&dir);
}

/* Whichever allocation, open or read fails: a code, nothing made, nothing leaked; then it works. */
Test(load_npy, survives_every_fault)
{
    static const struct {
        enum lp_fault_site site;
        int code;
    } rows[] = {{LP_FAULT_ALLOC, LP_ENOMEM}, {LP_FAULT_OPEN, LP_ELIMIT}, {LP_FAULT_READ, LP_EIO}};
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    npy_write(&dir, "f.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}", "abcd", 4,
              path);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        FAULT_LOOP(&loop, rows[i].site) {
            struct lp_load_file *file = NULL;
            char back[4];
            int rc = lp_load_open(&file, path, NULL, &err);

            if (rc == 0)
                rc = lp_load_read(file, 0, 0, 1, back, &err);
            else
                cr_assert_null(file);
            cr_assert_eq(rc, fault_loop_hit(&loop) ? rows[i].code : 0, "%s", err.text);
            lp_load_close(file);
        }
        cr_assert_gt(loop.nth, 1);
    }
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}
