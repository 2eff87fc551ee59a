/* SPDX-License-Identifier: Apache-2.0 */
/* Small files for tests of the loader, in a folder of the test's own. */
#ifndef LP_TESTS_LOAD_TOOLS_H
#define LP_TESTS_LOAD_TOOLS_H

#include "base/bytes.h"
#include "store/load.h"
#include "tests/lib/tmpdir.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 256

/* Write an .npy file of this dict (without padding) and data to dir/name; path gets its path. */
static inline void npy_write(const struct tmpdir *dir, const char *name, const char *dict,
                             const void *data, size_t bytes, char *path)
{
    const size_t n = strlen(dict);
    uint8_t *file = malloc(10 + n + 1 + bytes);

    memcpy(file, "\x93NUMPY\x01\x00", 8);
    lp_store_u16(file + 8, (uint16_t)(n + 1));
    memcpy(file + 10, dict, n);
    file[10 + n] = '\n';
    if (bytes > 0)
        memcpy(file + 11 + n, data, bytes);
    tmpdir_write(dir, name, file, 11 + n + bytes);
    free(file);
    (void)tmpdir_join(dir, name, path, PATH_BYTES);
}

/* Write a .safetensors file of this header text and data to dir/name. */
static inline void safetensors_write(const struct tmpdir *dir, const char *name, const char *text,
                                     const void *data, size_t bytes, char *path)
{
    const size_t n = strlen(text);
    uint8_t *file = malloc(8 + n + bytes);

    lp_store_u64(file, n);
    memcpy(file + 8, text, n);
    if (bytes > 0)
        memcpy(file + 8 + n, data, bytes);
    tmpdir_write(dir, name, file, 8 + n + bytes);
    free(file);
    (void)tmpdir_join(dir, name, path, PATH_BYTES);
}

/* Open what must open. */
static inline struct lp_load_file *must_open(const char *path,
                                             const struct lp_load_options *options)
{
    struct lp_load_file *file = NULL;
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(lp_load_open(&file, path, options, &err), 0, "%s", err.text);
    return file;
}

/* Read what must be readable. */
static inline void must_read(struct lp_load_file *file, uint32_t i, uint64_t first, uint64_t n,
                             void *dst)
{
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(lp_load_read(file, i, first, n, dst, &err), 0, "%s", err.text);
}

/* Numbers that look random and are the same in each run. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
