/* SPDX-License-Identifier: Apache-2.0 */
/* .safetensors: what a good header means, and its limits; bad ones are in tests/golden/files. */
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

/* Each dtype in the format's words becomes ours. */
Test(load_safetensors, knows_every_dtype)
{
    static const struct {
        const char *word;
        uint32_t dtype;
    } rows[] = {
        {"F64", LP_DTYPE_F64},
        {"F32", LP_DTYPE_F32},
        {"F16", LP_DTYPE_F16},
        {"BF16", LP_DTYPE_BF16},
        {"F8_E4M3", LP_DTYPE_F8_E4M3},
        {"F8_E5M2", LP_DTYPE_F8_E5M2},
        {"I8", LP_DTYPE_I8},
        {"U8", LP_DTYPE_U8},
        {"I16", LP_DTYPE_I16},
        {"U16", LP_DTYPE_U16},
        {"I32", LP_DTYPE_I32},
        {"U32", LP_DTYPE_U32},
        {"I64", LP_DTYPE_I64},
        {"U64", LP_DTYPE_U64},
        {"BOOL", LP_DTYPE_BOOL},
        {"F8_E8M0", LP_DTYPE_F8_E8M0},
        {"F8_E4M3FNUZ", LP_DTYPE_F8_E4M3FNUZ},
        {"F8_E5M2FNUZ", LP_DTYPE_F8_E5M2FNUZ},
        {"C64", LP_DTYPE_C64},
    };
    char text[128], path[PATH_BYTES];
    const char data[] = "0123456789abcdef0123456789abcdef";
    struct tmpdir dir;

    tmpdir_init(&dir);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        const uint32_t bytes = 4 * lp_codec_dtype_info(rows[i].dtype)->bytes;
        char back[32];

        (void)snprintf(text, sizeof(text),
                       "{\"t\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[0,%u]}}",
                       rows[i].word, bytes);
        safetensors_write(&dir, "t.safetensors", text, data, bytes, path);
        struct lp_load_file *file = must_open(path, NULL);
        cr_assert_eq(lp_load_kind(file), LP_LOAD_SAFETENSORS);
        cr_assert_eq(lp_load_tensor(file, 0)->geometry.dtype, rows[i].dtype);
        must_read(file, 0, 0, 4, back);
        cr_assert_eq(memcmp(back, data, bytes), 0);
        lp_load_close(file);
    }
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Values of 4 and 6 bits: the file counts values, we count the bytes that hold them whole. */
Test(load_safetensors, small_values_are_counted_in_whole_bytes)
{
    const char *text = "{\"a\":{\"dtype\":\"F4\",\"shape\":[3,2,4],\"data_offsets\":[0,12]},"
                       "\"b\":{\"dtype\":\"F6_E2M3\",\"shape\":[2,8],\"data_offsets\":[12,24]},"
                       "\"c\":{\"dtype\":\"F6_E3M2\",\"shape\":[4],\"data_offsets\":[24,27]},"
                       "\"d\":{\"dtype\":\"F4\",\"shape\":[0,6],\"data_offsets\":[27,27]}}";
    static const struct {
        uint32_t dtype, ndim;
        uint64_t dims[3], n_rows, row_bytes;
    } rows[] = {{LP_DTYPE_F4_X2, 3, {3, 2, 2}, 3, 4},
                {LP_DTYPE_F6_E2M3_X4, 2, {2, 2}, 2, 6},
                {LP_DTYPE_F6_E3M2_X4, 1, {1}, 1, 3},
                {LP_DTYPE_F4_X2, 2, {0, 3}, 0, 3}};
    char path[PATH_BYTES], back[12];
    struct tmpdir dir;

    tmpdir_init(&dir);
    safetensors_write(&dir, "s.safetensors", text, "0123456789abcdefghijklmnopq", 27, path);
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_eq(lp_load_count(file), LP_ARRAY_LEN(rows));
    for (uint32_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        const struct lp_geometry *g = &lp_load_tensor(file, i)->geometry;

        cr_assert_eq(g->dtype, rows[i].dtype);
        cr_assert_eq(g->ndim, rows[i].ndim);
        cr_assert_eq(memcmp(g->dims, rows[i].dims, sizeof(rows[i].dims)), 0);
        cr_assert_eq(g->n_rows, rows[i].n_rows);
        cr_assert_eq(g->row_bytes, rows[i].row_bytes);
    }
    must_read(file, 0, 8, 4, back);
    cr_assert_eq(memcmp(back, "89ab", 4), 0);
    must_read(file, 1, 3, 1, back);
    cr_assert_eq(memcmp(back, "lmn", 3), 0);
    must_read(file, 2, 0, 1, back);
    cr_assert_eq(memcmp(back, "opq", 3), 0);
    lp_load_close(file);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Tensors come in the order of their bytes, whatever the order of the header; each may begin at
 * any address; empty ones and scalars are tensors too. */
Test(load_safetensors, tensors_come_in_the_order_of_the_file)
{
    const char *text = "{\"c\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[3,7]},"
                       "\"b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[2,3]},"
                       "\"none\":{\"dtype\":\"F64\",\"shape\":[5,0],\"data_offsets\":[2,2]},"
                       "\"a\":{\"dtype\":\"I16\",\"shape\":[1,1],\"data_offsets\":[0,2]}}";
    static const char *const order[] = {"a", "none", "b", "c"};
    char path[PATH_BYTES], back[4];
    struct tmpdir dir;

    tmpdir_init(&dir);
    safetensors_write(&dir, "four.safetensors", text, "aabcccc", 7, path);
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_eq(lp_load_count(file), 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_str_eq(lp_load_tensor(file, i)->name, order[i]);
        cr_assert_eq(lp_load_find(file, order[i]), i);
    }
    must_read(file, 3, 0, 1, back);
    cr_assert_eq(memcmp(back, "cccc", 4), 0);
    must_read(file, 2, 0, 1, back);
    cr_assert_eq(back[0], 'b');
    must_read(file, 1, 0, 0, back);
    lp_load_close(file);
    tmpdir_fini(&dir);
}

/* The kind is found by the bytes, whatever the file is called. */
Test(load_safetensors, is_known_by_its_bytes)
{
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    safetensors_write(&dir, "weights.bin", "{}", NULL, 0, path);
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_eq(lp_load_kind(file), LP_LOAD_SAFETENSORS);
    cr_assert_eq(lp_load_count(file), 0);
    lp_load_close(file);
    tmpdir_fini(&dir);
}

/* A header of more values than the limit is refused before a tree is made of it. */
Test(load_safetensors, refuses_too_many_values)
{
    const size_t n = 2 * LP_LOAD_SAFETENSORS_VALUES_MAX;
    char *text = malloc(n + 64), path[PATH_BYTES];
    struct lp_load_file *file = NULL;
    struct lp_error err = LP_ERROR_INIT;
    struct tmpdir dir;
    size_t at = 0;

    memcpy(text, "{\"a\":[0", 7);
    for (at = 7; at < n + 32; at += 2)
        memcpy(text + at, ",0", 2);
    memcpy(text + at, "]}", 3);
    tmpdir_init(&dir);
    safetensors_write(&dir, "many.safetensors", text, NULL, 0, path);
    cr_assert_eq(lp_load_open(&file, path, NULL, &err), LP_ELIMIT, "%s", err.text);
    free(text);
    tmpdir_fini(&dir);
}

/* Commas and braces in names and metadata are no structure. */
Test(load_safetensors, strings_may_hold_structure)
{
    const char *text = "{\"__metadata__\":{\"x\":\"[[[[{{{{\\\"]\"},"
                       "\"[{,\\\\\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    safetensors_write(&dir, "s.safetensors", text, "x", 1, path);
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_str_eq(lp_load_tensor(file, 0)->name, "[{,\\");
    lp_load_close(file);
    tmpdir_fini(&dir);
}

/* Ten thousand tensors open, in order, and are found. */
Test(load_safetensors, opens_many_tensors)
{
    enum { N = 10000 };
    char *text = malloc(N * 80), path[PATH_BYTES], *data = malloc(N);
    struct tmpdir dir;
    size_t at = 1;

    text[0] = '{';
    for (int i = N - 1; i >= 0; i--) {
        data[i] = (char)i;
        at += (size_t)sprintf(text + at,
                              "\"t%d\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[%d,%d]}%s",
                              i, i, i + 1, i > 0 ? "," : "}");
    }
    tmpdir_init(&dir);
    safetensors_write(&dir, "many.safetensors", text, data, N, path);
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_eq(lp_load_count(file), N);
    for (uint32_t i = 0; i < N; i += 97) {
        char back;

        must_read(file, i, 0, 1, &back);
        cr_assert_eq(back, data[i]);
    }
    lp_load_close(file);
    free(text);
    free(data);
    tmpdir_fini(&dir);
}

/* Whichever of our allocations or reads fails: a code, nothing made, nothing leaked. */
Test(load_safetensors, survives_every_fault)
{
    static const struct {
        enum lp_fault_site site;
        int code;
    } rows[] = {{LP_FAULT_ALLOC, LP_ENOMEM}, {LP_FAULT_OPEN, LP_ELIMIT}, {LP_FAULT_READ, LP_EIO}};
    const char *text = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                       "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}";
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    safetensors_write(&dir, "f.safetensors", text, "ab", 2, path);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        FAULT_LOOP(&loop, rows[i].site) {
            struct lp_load_file *file = NULL;
            const int rc = lp_load_open(&file, path, NULL, &err);

            cr_assert_eq(rc, fault_loop_hit(&loop) ? rows[i].code : 0, "%s", err.text);
            cr_assert_eq(file == NULL, rc != 0);
            lp_load_close(file);
        }
        cr_assert_gt(loop.nth, 1);
    }
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}
