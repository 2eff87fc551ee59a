/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the targets of the loader: the input as a file, opened, read and checked. */
#ifndef LP_TESTS_LOAD_INPUT_H
#define LP_TESTS_LOAD_INPUT_H

#include "store/load.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOAD_INPUT_PATH_BYTES 64

/* The input as a memfd, and the path that opens it. The caller closes what comes back. */
static inline int load_input_file(const uint8_t *data, size_t size, char *path)
{
    const int fd = memfd_create("input", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, LOAD_INPUT_PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

/* What opens must read: the header promised bytes that the file has. */
static inline void load_input_read(struct lp_load_file *file)
{
    struct lp_error err = LP_ERROR_INIT;
    uint8_t buffer[4096];

    for (uint32_t i = 0; i < lp_load_count(file); i++) {
        const struct lp_load_tensor *tensor = lp_load_tensor(file, i);
        const uint64_t most = sizeof(buffer) / tensor->geometry.elem_bytes;
        const uint64_t all = tensor->geometry.n_elements;
        const uint64_t n = all < most ? all : most;

        if (lp_load_read(file, i, 0, n, buffer, &err) != 0 ||
            lp_load_read(file, i, all - n, n, buffer, &err) != 0)
            abort();
    }
}

/* Open as options say, and read. A refusal must come with a code and a sentence. */
static inline void load_input_try(const uint8_t *data, size_t size,
                                  const struct lp_load_options *options)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_load_file *file = NULL;
    char path[LOAD_INPUT_PATH_BYTES];
    const int fd = load_input_file(data, size, path);
    const int rc = lp_load_open(&file, path, options, &err);

    if (rc == 0)
        load_input_read(file);
    else if (rc != err.code || err.text[0] == '\0' || file != NULL)
        abort();
    lp_load_close(file);
    (void)close(fd);
}

#endif
