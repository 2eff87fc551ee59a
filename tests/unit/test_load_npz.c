/* SPDX-License-Identifier: Apache-2.0 */
/* .npz: reading members of both kinds in any order, and what may go wrong on the way. Bad archives
 * are in tests/golden/files; numpy's own are in compare_numpy.py. */
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

#include <zip.h>

#include <unistd.h>

#define ROWS 701u
#define COLUMNS 1013u
#define ELEMENTS ((uint64_t)ROWS * COLUMNS) /* 2.8 MB: more than a window */

/* One member to be. */
struct array {
    const char *name; /* with its ending */
    const char *dict;
    const void *data;
    size_t bytes;
    bool deflated;
};

/* The .npy of an array. Returns new memory. */
static uint8_t *npy_make(const struct array *array, size_t *ret_bytes)
{
    const size_t n = strlen(array->dict);
    uint8_t *file = malloc(11 + n + array->bytes);

    memcpy(file, "\x93NUMPY\x01\x00", 8);
    lp_store_u16(file + 8, (uint16_t)(n + 1));
    memcpy(file + 10, array->dict, n);
    file[10 + n] = '\n';
    if (array->bytes > 0)
        memcpy(file + 11 + n, array->data, array->bytes);
    *ret_bytes = 11 + n + array->bytes;
    return file;
}

static void npz_write(const struct tmpdir *dir, const struct array *arrays, size_t n, char *path)
{
    zip_t *zip;
    int code = 0;

    (void)tmpdir_join(dir, "t.npz", path, PATH_BYTES);
    zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    cr_assert_not_null(zip);
    for (size_t i = 0; i < n; i++) {
        size_t bytes;
        uint8_t *npy = npy_make(&arrays[i], &bytes);
        const zip_int64_t at =
            zip_file_add(zip, arrays[i].name, zip_source_buffer(zip, npy, bytes, 1), 0);

        cr_assert_geq(at, 0);
        cr_assert_eq(zip_set_file_compression(zip, (zip_uint64_t)at,
                                              arrays[i].deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                                              1),
                     0);
    }
    cr_assert_eq(zip_close(zip), 0);
}

/* Four tensors of the same bytes: both kinds of member, both orders. */
static uint32_t *four_write(const struct tmpdir *dir, char *path)
{
    static const char rows[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (701, 1013)}";
    static const char columns[] = "{'descr': '<f4', 'fortran_order': True, 'shape': (1013, 701)}";
    uint32_t *data = malloc(ELEMENTS * 4);
    uint64_t seed = 77;

    for (uint64_t i = 0; i < ELEMENTS; i++)
        data[i] = 0x3F800000u + (uint32_t)(next_random(&seed) % 4096) * 2048;
    const struct array arrays[] = {{"stored.npy", rows, data, ELEMENTS * 4, false},
                                   {"deflated.npy", rows, data, ELEMENTS * 4, true},
                                   {"a/turned.npy", columns, data, ELEMENTS * 4, false},
                                   {"a/both.npy", columns, data, ELEMENTS * 4, true}};
    npz_write(dir, arrays, LP_ARRAY_LEN(arrays), path);
    return data;
}

/* Three small ones, for tests that go round and round. */
static void small_write(const struct tmpdir *dir, uint32_t data[1000], char *path)
{
    static const char dict[] = "{'descr': '<u4', 'fortran_order': False, 'shape': (1000,)}";
    const struct array arrays[] = {{"stored.npy", dict, data, 4000, false},
                                   {"deflated.npy", dict, data, 4000, true},
                                   {"again.npy", dict, data, 4000, true}};

    for (uint32_t i = 0; i < 1000; i++)
        data[i] = i * i;
    npz_write(dir, arrays, LP_ARRAY_LEN(arrays), path);
}

/* Elements [first, first + n) of tensor i of four_write(), as they should be. */
static void expect(const uint32_t *data, uint32_t i, uint64_t first, uint64_t n, uint32_t *dst)
{
    for (uint64_t e = first; e < first + n; e++)
        *dst++ = i < 2 ? data[e] : data[e / ROWS + e % ROWS * COLUMNS];
}

/* Members come in the order of the archive, under names without ending. */
Test(load_npz, members_are_tensors)
{
    static const char *const names[] = {"stored", "deflated", "a/turned", "a/both"};
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    free(four_write(&dir, path));
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_eq(lp_load_kind(file), LP_LOAD_NPZ);
    cr_assert_str_eq(lp_load_kind_name(LP_LOAD_NPZ), "npz");
    cr_assert_eq(lp_load_count(file), LP_ARRAY_LEN(names));
    for (uint32_t i = 0; i < LP_ARRAY_LEN(names); i++) {
        const struct lp_load_tensor *tensor = lp_load_tensor(file, i);

        cr_assert_str_eq(tensor->name, names[i]);
        cr_assert_eq(tensor->geometry.dims[0], i < 2 ? ROWS : COLUMNS);
        cr_assert_eq(tensor->fortran_order, i >= 2);
        cr_assert_eq(tensor->file_bytes, ELEMENTS * 4);
    }
    lp_load_close(file);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Pieces of any tensor, anywhere, in any order: what was read of one never stands in for another.
 */
Test(load_npz, reads_in_any_order)
{
    enum { PIECE = 4000 };
    static uint32_t got[PIECE], wanted[PIECE];
    char path[PATH_BYTES];
    struct tmpdir dir;
    uint64_t seed = 5;

    tmpdir_init(&dir);
    uint32_t *data = four_write(&dir, path);
    struct lp_load_file *file = must_open(path, NULL);
    for (int time = 0; time < 60; time++) {
        const uint32_t i = (uint32_t)(next_random(&seed) % 4);
        const uint64_t n = 1 + next_random(&seed) % PIECE;
        const uint64_t first = next_random(&seed) % (ELEMENTS - n);

        must_read(file, i, first, n, got);
        expect(data, i, first, n, wanted);
        cr_assert_eq(memcmp(got, wanted, n * 4), 0, "tensor %u, %llu elements from %llu on", i,
                     (unsigned long long)n, (unsigned long long)first);
    }
    lp_load_close(file);
    free(data);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* From front to back, as packing does it, after a sample from all over. */
Test(load_npz, streams_after_a_sample)
{
    uint32_t *got = malloc(ELEMENTS * 4), *wanted = malloc(ELEMENTS * 4);
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    uint32_t *data = four_write(&dir, path);
    struct lp_load_file *file = must_open(path, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_leq(lp_load_sample_elements(file, i, ROWS, 1 << 20), ELEMENTS);
        cr_assert_eq(lp_load_sample(file, i, ROWS, 1 << 20, got, &err), 0, "%s", err.text);
        for (uint64_t first = 0; first < ELEMENTS; first += 100000)
            must_read(file, i, first, LP_MIN(100000, ELEMENTS - first), got + first);
        expect(data, i, 0, ELEMENTS, wanted);
        cr_assert_eq(memcmp(got, wanted, ELEMENTS * 4), 0, "tensor %u", i);
    }
    cr_assert_eq(lp_load_check_unchanged(file, &err), 0);
    lp_load_close(file);
    free(data);
    free(got);
    free(wanted);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* The cast is the same as that of a .npy. */
Test(load_npz, casts)
{
    const struct lp_load_options options = {.as_dtype = LP_DTYPE_BF16};
    uint16_t *got = malloc(ELEMENTS * 2), *wanted = malloc(ELEMENTS * 2);
    uint32_t *turned = malloc(ELEMENTS * 4);
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    uint32_t *data = four_write(&dir, path);
    struct lp_load_file *file = must_open(path, &options);
    for (uint32_t i = 0; i < 4; i++) {
        must_read(file, i, 0, ELEMENTS, got);
        expect(data, i, 0, ELEMENTS, turned);
        for (uint64_t e = 0; e < ELEMENTS; e++)
            wanted[e] = (uint16_t)((turned[e] + 0x7FFFu + ((turned[e] >> 16) & 1u)) >> 16);
        cr_assert_eq(memcmp(got, wanted, ELEMENTS * 2), 0, "tensor %u", i);
    }
    lp_load_close(file);
    free(data);
    free(got);
    free(wanted);
    free(turned);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Thousands of members open, each under its name. */
Test(load_npz, opens_many_members)
{
    enum { N = 3000 };
    static struct array arrays[N];
    static char names[N][24];
    static uint8_t data[N];
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    for (int i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "t%d.npy", i);
        data[i] = (uint8_t)(i * 7);
        arrays[i] =
            (struct array){names[i], "{'descr': '|u1', 'fortran_order': False, 'shape': ()}",
                           &data[i], 1, i % 2 == 0};
    }
    npz_write(&dir, arrays, N, path);
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_eq(lp_load_count(file), N);
    for (uint32_t i = 0; i < N; i += 41) {
        uint8_t back;

        must_read(file, i, 0, 1, &back);
        cr_assert_eq(back, data[i]);
    }
    lp_load_close(file);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Names of 60 KB each: the directory is refused for what it would take, not for what it says. */
Test(load_npz, refuses_a_huge_directory)
{
    enum { N = 300, NAME_BYTES = 60000 };
    struct lp_load_file *file = NULL;
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES], *name = malloc(NAME_BYTES + 8);
    zip_t *zip;
    struct tmpdir dir;

    tmpdir_init(&dir);
    (void)tmpdir_join(&dir, "t.npz", path, PATH_BYTES);
    zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    cr_assert_not_null(zip);
    memset(name, 'a', NAME_BYTES);
    for (int i = 0; i < N; i++) {
        (void)snprintf(name + NAME_BYTES - 8, 16, "%07d.npy", i);
        cr_assert_geq(zip_file_add(zip, name, zip_source_buffer(zip, "x", 1, 0), 0), 0);
    }
    cr_assert_eq(zip_close(zip), 0);
    cr_assert_eq(lp_load_open(&file, path, NULL, &err), LP_ELIMIT, "%s", err.text);
    cr_assert_not_null(strstr(err.text, "directory"), "%s", err.text);
    free(name);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* A folder for the unpacked bytes that is not there is said, and stored members do not need one. */
Test(load_npz, needs_room_to_unpack)
{
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct tmpdir dir;
    uint32_t data[1000], got;

    tmpdir_init(&dir);
    small_write(&dir, data, path);
    struct lp_load_file *file = must_open(path, NULL);
    (void)setenv("TMPDIR", "/nowhere/at/all", 1);
    cr_assert_eq(lp_load_read(file, 1, 0, 1, &got, &err), LP_ENOENT, "%s", err.text);
    cr_assert_not_null(strstr(err.text, "TMPDIR"), "%s", err.text);
    must_read(file, 0, 9, 1, &got);
    cr_assert_eq(got, data[9]);
    (void)setenv("TMPDIR", "", 1);
    must_read(file, 1, 8, 1, &got);
    cr_assert_eq(got, data[8]);
    lp_load_close(file);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* A file that is cut after it was opened is an error at the next read, no signal. */
Test(load_npz, shrinks_while_it_is_open)
{
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct tmpdir dir;
    uint32_t data[1000], got;

    tmpdir_init(&dir);
    small_write(&dir, data, path);
    struct lp_load_file *file = must_open(path, NULL);
    must_read(file, 0, 999, 1, &got);
    cr_assert_eq(truncate(path, 1000), 0);
    cr_assert_eq(lp_load_read(file, 0, 999, 1, &got, &err), LP_ECORRUPT, "%s", err.text);
    cr_assert_eq(lp_load_read(file, 1, 0, 1, &got, &err), LP_ECORRUPT, "%s", err.text);
    cr_assert_eq(lp_load_check_unchanged(file, &err), LP_EBUSY);
    lp_load_close(file);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Whichever of our calls fails at open: a code, nothing made, nothing leaked. */
Test(load_npz, survives_every_fault_at_open)
{
    static const struct {
        enum lp_fault_site site;
        int code;
    } rows[] = {{LP_FAULT_ALLOC, LP_ENOMEM}, {LP_FAULT_OPEN, LP_ELIMIT}, {LP_FAULT_READ, LP_EIO}};
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    char path[PATH_BYTES];
    struct tmpdir dir;
    uint32_t data[1000];

    tmpdir_init(&dir);
    small_write(&dir, data, path);
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

/* ... and while members are read; the next read of the same handle is right again. */
Test(load_npz, survives_every_fault_at_read)
{
    static const struct {
        enum lp_fault_site site;
        int code;
    } rows[] = {{LP_FAULT_ALLOC, LP_ENOMEM},
                {LP_FAULT_OPEN, LP_ELIMIT},
                {LP_FAULT_READ, LP_EIO},
                {LP_FAULT_WRITE, LP_ENOSPC},
                {LP_FAULT_FTRUNCATE, LP_ENOSPC}};
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    char path[PATH_BYTES];
    struct tmpdir dir;
    uint32_t data[1000], got;

    tmpdir_init(&dir);
    small_write(&dir, data, path);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        FAULT_LOOP(&loop, rows[i].site) {
            struct lp_load_file *file = NULL;
            int rc = lp_load_open(&file, path, NULL, &err);

            for (uint32_t k = 0; rc == 0 && k < 3; k++)
                rc = lp_load_read(file, k, 500, 1, &got, &err);
            cr_assert_eq(rc, fault_loop_hit(&loop) ? rows[i].code : 0, "%s", err.text);
            if (file != NULL) {
                fault_disarm();
                must_read(file, 1, 7, 1, &got);
                cr_assert_eq(got, data[7]);
            }
            lp_load_close(file);
        }
        cr_assert_gt(loop.nth, 1);
    }
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}
