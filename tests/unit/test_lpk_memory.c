/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a tensor of 192 MiB costs while it is packed, checked and unpacked: at most
 * 64 MiB. Measured as the peak of what the process has resident, each step from a fresh mark. */
#include "store/lpk_file.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

#include <unistd.h>

#define ROWS 393216u
#define COLS 128u
#define LIMIT_KB (64u << 10)

/* One number of /proc/self/status, in kB. */
static uint64_t status_kb(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    unsigned long long kb = 0;
    char line[128];

    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            (void)sscanf(line + strlen(key), "%llu", &kb);
    }
    (void)fclose(file);
    return kb;
}

/* Forget the peak; returns what is resident now. */
static uint64_t mark(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    if (file == NULL || fputs("5", file) < 0 || fclose(file) != 0)
        cr_skip("waived: this kernel cannot reset the peak of resident memory");
    return status_kb("VmRSS:");
}

static void peak_within_limit(uint64_t before_kb, const char *what)
{
    const uint64_t peak_kb = status_kb("VmHWM:");

    cr_assert_leq(peak_kb - before_kb, LIMIT_KB, "%s took %llu kB", what,
                  (unsigned long long)(peak_kb - before_kb));
    printf("peak extra, %s: %llu kB\n", what, (unsigned long long)(peak_kb - before_kb));
}

/* 192 MiB of float32 that do not repeat, as .npy. */
static void source_write(const struct tmpdir *dir, const char *order, char *path)
{
    static float block[1 << 16];
    char dict[128];
    uint64_t seed = 42;

    (void)snprintf(dict, sizeof(dict), "{'descr': '<f4', 'fortran_order': %s, 'shape': (%u, %u)}",
                   order, ROWS, COLS);
    npy_write(dir, "big.npy", dict, NULL, 0, path);
    FILE *file = fopen(path, "ab");
    cr_assert_not_null(file);
    for (size_t i = 0; i < (size_t)ROWS * COLS / LP_ARRAY_LEN(block); i++) {
        for (size_t k = 0; k < LP_ARRAY_LEN(block); k++)
            block[k] = (float)(int32_t)next_random(&seed) * 0x1p-33f;
        cr_assert_eq(fwrite(block, sizeof(block), 1, file), 1);
    }
    (void)fclose(file);
}

static void pack(struct lp_load_file *source, const char *path)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_writer *writer;

    cr_assert_eq(lp_lpk_writer_open(&writer, path, &err), 0, "%s", err.text);
    cr_assert_eq(lp_lpk_writer_add(writer, source, 0, NULL, NULL, NULL, NULL, &err), 0, "%s",
                 err.text);
    cr_assert_eq(lp_lpk_writer_commit(writer, &err), 0, "%s", err.text);
}

static void check(struct lp_load_file *source, const char *path, const char *back)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_tensor *tensor;
    struct lp_lpk_file *file;

    cr_assert_eq(lp_lpk_open(&file, path, &err), 0, "%s", err.text);
    cr_assert_eq(lp_lpk_tensor_open(&tensor, file, 0, &err), 0, "%s", err.text);
    cr_assert_eq(lp_lpk_tensor_verify(tensor, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(lp_lpk_tensor_compare(tensor, source, 0, NULL, &err), 0, "%s", err.text);
    if (back != NULL)
        cr_assert_eq(lp_lpk_tensor_unpack(tensor, back, NULL, &err), 0, "%s", err.text);
    lp_lpk_tensor_close(tensor);
    lp_lpk_close(file);
}

static void measure(const char *order, const struct lp_load_options *options, const char *what)
{
    char path[PATH_BYTES], packed[PATH_BYTES], back[PATH_BYTES];
    struct lp_load_file *source;
    struct tmpdir dir;

#ifdef LP_TESTS_HAVE_LSAN
    cr_skip("waived: AddressSanitizer keeps what is freed");
#endif
    tmpdir_init(&dir);
    source_write(&dir, order, path);
    tmpdir_join(&dir, "big.lpk", packed, sizeof(packed));
    tmpdir_join(&dir, "back.npy", back, sizeof(back));
    const uint64_t before_kb = mark();
    source = must_open(path, options);
    pack(source, packed);
    peak_within_limit(before_kb, what);
    const uint64_t between_kb = mark();
    check(source, packed, options == NULL ? back : NULL);
    peak_within_limit(between_kb, "verify, compare, unpack");
    lp_load_close(source);
    tmpdir_fini(&dir);
}

/* As it comes. */
Test(store_lpk_memory, packing_is_bounded)
{
    measure("False", NULL, "packing");
}

/* Re-ordered and cast on the way: the most that a source can ask for. */
Test(store_lpk_memory, packing_fortran_order_is_bounded)
{
    const struct lp_load_options options = {.as_dtype = LP_DTYPE_BF16};

    measure("True", &options, "packing Fortran order as bf16");
}
