/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for one test, gone afterwards with all that is in it. */
#ifndef LP_TESTS_TMPDIR_H
#define LP_TESTS_TMPDIR_H

#include <stddef.h>

/* Short, so that a socket in it fits into the 108 bytes of a UNIX address. */
#define TMPDIR_BYTES 64

struct tmpdir {
    char path[TMPDIR_BYTES];
};

/* Make a folder under /tmp (under $TMPDIR when that is short enough). Aborts when it cannot. */
void tmpdir_init(struct tmpdir *dir);

/* Remove the folder and everything in it; links are removed, not followed. */
void tmpdir_fini(struct tmpdir *dir);

/* Write "path/name" into buffer, which has room for it, and return buffer. */
char *tmpdir_join(const struct tmpdir *dir, const char *name, char *buffer, size_t room);

/* Make (or replace) a file of these bytes in the folder. Aborts when it cannot. */
void tmpdir_write(const struct tmpdir *dir, const char *name, const void *data, size_t bytes);

#endif
