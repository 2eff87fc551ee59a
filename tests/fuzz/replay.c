/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds the files named, and those in the folders named, to a fuzz target, without libFuzzer:
 * fuzz_NAME FILE|FOLDER... Ends with 1 when there was nothing to feed. */
#include "tests/fuzz/fuzz_target.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static size_t n_fed;

static void die(const char *path)
{
    perror(path);
    exit(1);
}

/* A block of exactly the file's size, so that a sanitizer sees each byte read past it. */
static void feed_file(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(bytes > 0 ? bytes : 1);

    if (file == NULL || data == NULL || fread(data, 1, bytes, file) != bytes)
        die(path);
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(data, bytes);
    free(data);
    n_fed++;
}

static void feed_folder(const char *path);

static void feed(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        die(path);
    if (S_ISDIR(st.st_mode))
        feed_folder(path);
    else
        feed_file(path, (size_t)st.st_size);
}

static void feed_folder(const char *path)
{
    DIR *folder = opendir(path);
    char below[4096];

    if (folder == NULL)
        die(path);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= sizeof(below))
            die(path);
        feed(below);
    }
    (void)closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        feed(argv[i]);
    printf("%zu inputs\n", n_fed);
    return n_fed > 0 ? 0 : 1;
}
