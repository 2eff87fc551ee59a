/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/tmpdir.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *path)
{
    (void)fprintf(stderr, "tmpdir: %s %s: ", what, path);
    perror(NULL);
    abort();
}

void tmpdir_init(struct tmpdir *dir)
{
    static const char leaf[] = "/lanepack-XXXXXX";
    const char *root = getenv("TMPDIR");

    if (root == NULL || root[0] != '/' || strlen(root) + sizeof(leaf) > sizeof(dir->path))
        root = "/tmp";
    (void)snprintf(dir->path, sizeof(dir->path), "%s%s", root, leaf);
    if (mkdtemp(dir->path) == NULL)
        die("make", dir->path);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void tmpdir_fini(struct tmpdir *dir)
{
    if (nftw(dir->path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        die("remove", dir->path);
}

char *tmpdir_join(const struct tmpdir *dir, const char *name, char *buffer, size_t room)
{
    const int length = snprintf(buffer, room, "%s/%s", dir->path, name);

    if (length < 0 || (size_t)length >= room)
        die("no room for", name);
    return buffer;
}

void tmpdir_write(const struct tmpdir *dir, const char *name, const void *data, size_t bytes)
{
    char path[PATH_MAX];

    FILE *file = fopen(tmpdir_join(dir, name, path, sizeof(path)), "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0)
        die("write", path);
}
