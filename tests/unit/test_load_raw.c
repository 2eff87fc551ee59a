/* SPDX-License-Identifier: Apache-2.0 */
/* Raw binary, the cast to bf16, samples, and files that change under the reader. */
#include "store/load_impl.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file_of(const struct tmpdir *dir, const char *name, const void *data,
                           size_t bytes, char *path)
{
    tmpdir_write(dir, name, data, bytes);
    return tmpdir_join(dir, name, path, PATH_BYTES);
}

/* dtype, shape and offset say all; bytes before and behind are nobody's business. */
Test(load_raw, reads_at_any_offset)
{
    uint8_t data[64], back[24];
    char path[PATH_BYTES];
    struct tmpdir dir;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)i;
    tmpdir_init(&dir);
    file_of(&dir, "w.bin", data, sizeof(data), path);
    for (uint64_t offset = 0; offset <= 40; offset++) {
        const struct lp_load_options options = {
            .dtype = LP_DTYPE_F32, .ndim = 2, .dims = {2, 3}, .offset = offset};
        struct lp_load_file *file = must_open(path, &options);

        cr_assert_eq(lp_load_kind(file), LP_LOAD_RAW);
        must_read(file, 0, 0, 6, back);
        cr_assert_eq(memcmp(back, data + offset, 24), 0);
        lp_load_close(file);
    }
    tmpdir_fini(&dir);
}

/* Options that make no sense, and files that are too short for them, are told apart. */
Test(load_raw, refuses_what_does_not_fit)
{
    static const struct {
        struct lp_load_options options;
        int code;
    } rows[] = {
        {{.dtype = LP_DTYPE_F32, .ndim = 1, .dims = {17}}, LP_ESIZE},
        {{.dtype = LP_DTYPE_F32, .ndim = 1, .dims = {16}, .offset = 1}, LP_ESIZE},
        {{.dtype = LP_DTYPE_F32, .ndim = 1, .dims = {1}, .offset = UINT64_MAX}, LP_ESIZE},
        {{.dtype = LP_DTYPE_F32, .ndim = 2, .dims = {UINT64_MAX, UINT64_MAX}}, LP_ESIZE},
        {{.dtype = LP_DTYPE_END, .ndim = 1, .dims = {1}}, LP_EINVAL},
        {{.dtype = LP_DTYPE_F32, .ndim = 9}, LP_EINVAL},
        {{.ndim = 1, .dims = {1}}, LP_EINVAL},
        {{.offset = 4}, LP_EINVAL},
        {{.dtype = LP_DTYPE_F32, .ndim = 0, .as_dtype = LP_DTYPE_F16}, LP_EINVAL},
        {{.dtype = LP_DTYPE_F64, .ndim = 0, .as_dtype = LP_DTYPE_BF16}, LP_ENOTSUP},
    };
    const uint8_t data[64] = {0};
    struct lp_load_file *file = NULL;
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    file_of(&dir, "w.bin", data, sizeof(data), path);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        cr_assert_eq(lp_load_open(&file, path, &rows[i].options, &err), rows[i].code, "row %zu: %s",
                     i, err.text);
        cr_assert_null(file);
        cr_assert_not_null(strstr(err.text, "w.bin"), "%s", err.text);
    }
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Folders, pipes and what is not there are refused at once, by name. */
Test(load_raw, refuses_what_is_no_file)
{
    struct lp_load_file *file = NULL;
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    cr_assert_eq(lp_load_open(&file, dir.path, NULL, &err), LP_ENOTSUP, "%s", err.text);
    tmpdir_join(&dir, "pipe.npy", path, sizeof(path));
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(lp_load_open(&file, path, NULL, &err), LP_ENOTSUP, "%s", err.text);
    tmpdir_join(&dir, "nowhere.npy", path, sizeof(path));
    cr_assert_eq(lp_load_open(&file, path, NULL, &err), LP_ENOENT, "%s", err.text);
    tmpdir_fini(&dir);
}

/* A sentence has room for the end of a long path, and keeps its own end. */
Test(load_raw, long_paths_keep_their_end)
{
    struct lp_load_file *file = NULL;
    struct lp_error err = LP_ERROR_INIT;
    char path[600];

    memset(path, 'd', 500);
    strcpy(path + 500, "/nowhere.npy");
    path[0] = '/';
    for (int i = 50; i < 500; i += 50)
        path[i] = '/';
    cr_assert_eq(lp_load_open(&file, path, NULL, &err), LP_ENOENT, "%s", err.text);
    cr_assert_not_null(strstr(err.text, "/nowhere.npy: cannot open: "), "%s", err.text);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The cast by the book: the nearest of the two neighbours, the even one at a tie. */
static uint16_t cast_slowly(uint32_t bits)
{
    const uint32_t low = bits & 0xFFFF0000u;
    const uint32_t rest = bits & 0xFFFFu;
    const bool odd = (bits >> 16) & 1u;

    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(low >> 16) | 0x40u;
    if (rest > 0x8000u || (rest == 0x8000u && odd))
        return (uint16_t)((low >> 16) + 1);
    return (uint16_t)(low >> 16);
}

/* Ties, denormals, the largest numbers, infinities and NaNs of any payload, at any address. */
Test(load_raw, cast_rounds_to_nearest_even)
{
    const uint32_t edges[] = {bits_of(0.0f), bits_of(-0.0f), bits_of(1.0f), 0x3F808000u,
                              0x3F818000u,   0x3F807FFFu,    0x3F808001u,   1u,
                              0x7FFFu,       0x8000u,        0x8001u,       0x7F7FFFFFu,
                              0xFF7FFFFFu,   0x7F800000u,    0xFF800000u,   0x7F800001u,
                              0xFF800001u,   0x7FC00000u,    0x7FFFFFFFu,   0xFFFFFFFFu,
                              0x7FBFFFFFu};
    uint8_t in[5], out[3];
    uint64_t seed = 88172645463325252u;

    for (uint32_t i = 0; i < 100000; i++) {
        const uint32_t bits = i < LP_ARRAY_LEN(edges) ? edges[i] : (uint32_t)next_random(&seed);
        const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;

        memcpy(in + 1, &bits, 4);
        lp_load_cast_bf16(out + 1, in + 1, 1);
        const uint16_t got = lp_load_u16(out + 1);
        cr_assert_eq(got, cast_slowly(bits), "%08x became %04x", bits, got);
        cr_assert_eq((got & 0x7FFFu) > 0x7F80u, nan, "%08x became %04x", bits, got);
        cr_assert_eq(got >> 15, bits >> 31);
    }
}

/* A cast file is bf16 to all who ask, however it is cut into reads. */
Test(load_raw, casts_on_the_way)
{
    enum { N = 1500000 }; /* more than one window */
    float *data = malloc(N * sizeof(*data));
    uint8_t *whole = malloc(2 * N), *back = malloc(2 * N);
    const struct lp_load_options options = {
        .dtype = LP_DTYPE_F32, .ndim = 1, .dims = {N}, .as_dtype = LP_DTYPE_BF16};
    char path[PATH_BYTES];
    struct tmpdir dir;

    for (int i = 0; i < N; i++)
        data[i] = sinf((float)i) * (float)(i % 77);
    lp_load_cast_bf16(whole, (const uint8_t *)data, N);
    tmpdir_init(&dir);
    file_of(&dir, "w.bin", data, N * sizeof(*data), path);
    struct lp_load_file *file = must_open(path, &options);
    const struct lp_load_tensor *tensor = lp_load_tensor(file, 0);
    cr_assert_eq(tensor->geometry.dtype, LP_DTYPE_BF16);
    cr_assert_eq(tensor->geometry.logical_bytes, 2 * N);
    cr_assert_eq(tensor->file_dtype, LP_DTYPE_F32);
    cr_assert_eq(tensor->file_bytes, 4 * N);
    for (uint64_t first = 0, step = 1; first < N; first += step, step = step * 7 + 1) {
        const uint64_t n = LP_MIN(step, N - first);

        must_read(file, 0, first, n, back + 2 * first);
    }
    cr_assert_eq(memcmp(back, whole, 2 * N), 0);
    lp_load_close(file);
    free(data);
    free(whole);
    free(back);
    tmpdir_fini(&dir);
}

/* A file that is cut while it is read is an error with a code; what is longer is noticed too. */
Test(load_raw, notices_a_file_that_changes)
{
    const struct lp_load_options options = {.dtype = LP_DTYPE_U8, .ndim = 1, .dims = {4096}};
    uint8_t data[4096] = {0}, back[4096];
    struct lp_error err = LP_ERROR_INIT;
    char path[PATH_BYTES];
    struct tmpdir dir;

    tmpdir_init(&dir);
    file_of(&dir, "w.bin", data, sizeof(data), path);
    struct lp_load_file *file = must_open(path, &options);
    cr_assert_eq(lp_load_check_unchanged(file, &err), 0);
    cr_assert_eq(truncate(path, 4095), 0);
    cr_assert_eq(lp_load_read(file, 0, 0, 4095, back, &err), 0);
    cr_assert_eq(lp_load_read(file, 0, 0, 4096, back, &err), LP_ECORRUPT);
    cr_assert_not_null(strstr(err.text, "w.bin: tensor 'w': ends at byte 4095"), "%s", err.text);
    cr_assert_eq(lp_load_check_unchanged(file, &err), LP_EBUSY);
    cr_assert_eq(truncate(path, 4097), 0);
    cr_assert_eq(lp_load_check_unchanged(file, &err), LP_EBUSY);
    lp_load_close(file);
    tmpdir_fini(&dir);
}

/* A sample is whole records from all over the tensor, within its limit, and no element twice. */
Test(load_raw, samples_are_spread_and_whole)
{
    enum { N = 3000017 };
    uint32_t *data = malloc(N * 4), *sample = malloc(N * 4);
    const struct lp_load_options options = {.dtype = LP_DTYPE_U32, .ndim = 1, .dims = {N}};
    static const uint32_t records[] = {1, 100, 4096, 16384};
    static const uint64_t limits[] = {100, 65536, 1 << 20, 5000000, 4 * N};
    char path[PATH_BYTES];
    struct tmpdir dir;

    for (uint32_t i = 0; i < N; i++)
        data[i] = i;
    tmpdir_init(&dir);
    file_of(&dir, "w.bin", data, N * 4, path);
    struct lp_load_file *file = must_open(path, &options);
    for (size_t r = 0; r < LP_ARRAY_LEN(records); r++) {
        for (size_t l = 0; l < LP_ARRAY_LEN(limits); l++) {
            const uint64_t n = lp_load_sample_elements(file, 0, records[r], limits[l]);

            cr_assert(n == N || n % records[r] == 0);
            cr_assert(n * 4 <= limits[l] || n == records[r]);
            cr_assert_eq(lp_load_sample(file, 0, records[r], limits[l], sample, NULL), 0);
            for (uint64_t i = 0; i < n; i++) {
                cr_assert(i == 0 || sample[i] > sample[i - 1]);
                cr_assert(i % records[r] != 0 || sample[i] % records[r] == 0);
            }
            if (n < N && n * 4 >= 1 << 20) {
                cr_assert_eq(sample[0], 0);
                cr_assert_gt(sample[n - 1], N - 70000);
                cr_assert_gt(sample[n / 2], N / 3);
                cr_assert_lt(sample[n / 2], 2 * (N / 3));
            }
        }
    }
    lp_load_close(file);
    free(data);
    free(sample);
    tmpdir_fini(&dir);
}
