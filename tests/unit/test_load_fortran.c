/* SPDX-License-Identifier: Apache-2.0 */
/* Fortran order against a naive re-ordering, for shapes that exercise each way of reading. */
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

#define DIMS_MAX 5

struct shape {
    uint32_t ndim;
    uint64_t dims[DIMS_MAX];
};

static uint64_t elements_of(const struct shape *shape)
{
    uint64_t n = 1;

    for (uint32_t d = 0; d < shape->ndim; d++)
        n *= shape->dims[d];
    return n;
}

/* The Fortran place of row-major element e. */
static uint64_t fortran_place(const struct shape *shape, uint64_t e)
{
    uint64_t index[DIMS_MAX] = {0}, place = 0, stride = 1;

    for (uint32_t d = shape->ndim; d-- > 0;) {
        index[d] = e % shape->dims[d];
        e /= shape->dims[d];
    }
    for (uint32_t d = 0; d < shape->ndim; d++) {
        place += index[d] * stride;
        stride *= shape->dims[d];
    }
    return place;
}

/* Random bytes as an .npy of this shape in Fortran order at path; returns the file's elements. */
static uint8_t *fortran_write(const struct tmpdir *dir, const struct shape *shape,
                              const char *descr, uint32_t each, char *path)
{
    const uint64_t n = elements_of(shape);
    uint8_t *data = malloc(n * each + 8);
    uint64_t seed = 1234567 + n;
    char dict[256];
    int at;

    for (uint64_t i = 0; i < n * each; i += 8) {
        const uint64_t bits = next_random(&seed);
        memcpy(data + i, &bits, LP_MIN(8, n * each - i));
    }
    at = sprintf(dict, "{'descr': '%s', 'fortran_order': True, 'shape': (", descr);
    for (uint32_t d = 0; d < shape->ndim; d++)
        at += sprintf(dict + at, "%llu,", (unsigned long long)shape->dims[d]);
    (void)sprintf(dict + at, ")}");
    npy_write(dir, "f.npy", dict, data, n * each, path);
    return data;
}

static void compare(const struct shape *shape, const uint8_t *stored, uint32_t each, uint64_t first,
                    uint64_t n, const uint8_t *got)
{
    for (uint64_t e = 0; e < n; e++)
        cr_assert_eq(memcmp(got + e * each, stored + fortran_place(shape, first + e) * each, each),
                     0, "element %llu of %u dims", (unsigned long long)(first + e), shape->ndim);
}

/* From front to back in steps, then a few places at random. */
static void read_and_compare(const struct shape *shape, const char *descr, uint32_t each,
                             uint64_t step)
{
    const uint64_t n = elements_of(shape);
    uint64_t seed = n + step;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    uint8_t *stored = fortran_write(&dir, shape, descr, each, path);
    uint8_t *got = malloc(step * each);
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert(lp_load_tensor(file, 0)->fortran_order);
    for (uint64_t first = 0; first < n; first += step) {
        must_read(file, 0, first, LP_MIN(step, n - first), got);
        compare(shape, stored, each, first, LP_MIN(step, n - first), got);
    }
    for (int i = 0; i < 5; i++) {
        const uint64_t first = next_random(&seed) % n;
        must_read(file, 0, first, LP_MIN(step, n - first), got);
        compare(shape, stored, each, first, LP_MIN(step, n - first), got);
    }
    lp_load_close(file);
    free(stored);
    free(got);
    tmpdir_fini(&dir);
}

/* Small shapes of every kind, each dtype size, odd steps. */
Test(load_fortran, small_shapes_are_reordered)
{
    static const struct shape shapes[] = {
        {2, {1, 1}},     {2, {1, 7}},      {2, {7, 1}},       {2, {5, 7}},
        {3, {2, 3, 4}},  {3, {3, 224, 5}}, {4, {2, 3, 5, 7}}, {5, {2, 1, 3, 2, 4}},
        {2, {1000, 33}}, {2, {33, 1000}},  {3, {16, 16, 16}},
    };
    static const struct {
        const char *descr;
        uint32_t each;
    } types[] = {{"|u1", 1}, {"<u2", 2}, {"<f4", 4}, {"<i8", 8}};

    for (size_t s = 0; s < LP_ARRAY_LEN(shapes); s++) {
        for (size_t t = 0; t < LP_ARRAY_LEN(types); t++) {
            read_and_compare(&shapes[s], types[t].descr, types[t].each, 1 + 997 * (t + 1));
            read_and_compare(&shapes[s], types[t].descr, types[t].each, 100000);
        }
    }
}

/* Larger than a tile: rows in bands; long columns read apart, short ones through a window. */
Test(load_fortran, tall_and_wide_matrices_come_in_tiles)
{
    static const struct shape shapes[] = {
        {2, {50000, 100}}, {2, {100, 50000}}, {2, {5000000, 1}}, {3, {100, 50, 1000}}};

    for (size_t s = 0; s < LP_ARRAY_LEN(shapes); s++)
        read_and_compare(&shapes[s], "<f4", 4, 777777);
}

/* Rows larger than a tile: the axis moves inwards, and elements of a run lie far apart. */
Test(load_fortran, rows_larger_than_a_tile_are_cut)
{
    static const struct shape near = {2, {3, 2500000}};     /* 12 bytes apart */
    static const struct shape inner = {3, {3, 2500000, 2}}; /* axis 1 */
    static const struct shape far = {2, {20000, 17000000}}; /* 20 kB apart: one by one */
    const struct lp_load_options options = {0};
    struct lp_load_file *file;
    char path[PATH_BYTES];
    struct tmpdir dir;
    uint8_t got[64];

    read_and_compare(&near, "<i8", 8, 1000003);
    read_and_compare(&inner, "<i8", 8, 1000003);
    /* 340 GB, all holes but for four elements, and those are where they belong. */
    tmpdir_init(&dir);
    npy_write(&dir, "far.npy",
              "{'descr': '|u1', 'fortran_order': True, 'shape': (20000, 17000000)}", NULL, 0, path);
    FILE *stream = fopen(path, "r+b");
    (void)fseek(stream, 0, SEEK_END);
    const long base = ftell(stream);
    for (uint64_t c = 6; c < 9; c++) {
        (void)fseek(stream, base + (long)(c * far.dims[0] + 4000), SEEK_SET);
        (void)fputc((int)c, stream);
    }
    (void)fseek(stream, base + (long)elements_of(&far) - 1, SEEK_SET);
    (void)fputc(77, stream);
    (void)fclose(stream);
    file = must_open(path, &options);
    must_read(file, 0, 4000 * far.dims[1] + 5, 5, got);
    cr_assert_eq(memcmp(got, "\0\6\7\10\0", 5), 0);
    must_read(file, 0, elements_of(&far) - 2, 2, got);
    cr_assert_eq(memcmp(got, "\0\115", 2), 0);
    lp_load_close(file);
    tmpdir_fini(&dir);
}

/* Cast and re-ordering together. */
Test(load_fortran, casts_too)
{
    const struct lp_load_options options = {.as_dtype = LP_DTYPE_BF16};
    const float stored[6] = {1, 4, 2, 5, 3, 6};
    const uint16_t wanted[6] = {0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0};
    uint16_t got[6];
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    npy_write(&dir, "f.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", stored,
              sizeof(stored), path);
    struct lp_load_file *file = must_open(path, &options);
    must_read(file, 0, 0, 6, got);
    cr_assert_eq(memcmp(got, wanted, sizeof(got)), 0);
    must_read(file, 0, 4, 1, got);
    cr_assert_eq(got[0], wanted[4]);
    lp_load_close(file);
    tmpdir_fini(&dir);
}

/* A sample of a Fortran tensor is that of the same tensor in C order. */
Test(load_fortran, samples_come_in_row_major_order)
{
    static const struct shape shape = {2, {60000, 20}};
    const uint64_t limit = 3 << 20;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    uint8_t *stored = fortran_write(&dir, &shape, "<f4", 4, path);
    struct lp_load_file *file = must_open(path, NULL);
    const uint64_t n = lp_load_sample_elements(file, 0, 20, limit);
    uint8_t *sample = malloc(n * 4);
    cr_assert_eq(lp_load_sample(file, 0, 20, limit, sample, NULL), 0);
    cr_assert_lt(n, elements_of(&shape));
    cr_assert_gt(n, limit / 8);
    compare(&shape, stored, 4, 0, 20, sample);
    compare(&shape, stored, 4, elements_of(&shape) - 20, 20, sample + (n - 20) * 4);
    lp_load_close(file);
    free(sample);
    free(stored);
    tmpdir_fini(&dir);
}

/* A failed read is an error, and the tile it spoilt is not served later. */
Test(load_fortran, survives_failed_reads)
{
    static const struct shape shape = {2, {300, 200}};
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    char path[PATH_BYTES];
    uint8_t got[1000];
    struct tmpdir dir;

    tmpdir_init(&dir);
    uint8_t *stored = fortran_write(&dir, &shape, "|u1", 1, path);
    struct lp_load_file *file = must_open(path, NULL);
    FAULT_LOOP(&loop, LP_FAULT_READ) {
        const int rc = lp_load_read(file, 0, 500, 1000, got, &err);

        cr_assert_eq(rc, fault_loop_hit(&loop) ? LP_EIO : 0);
    }
    compare(&shape, stored, 1, 500, 1000, got);
    lp_load_close(file);
    free(stored);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}
