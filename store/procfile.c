/* SPDX-License-Identifier: Apache-2.0 */
#include "store/procfile.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PROCFILE_BYTES_MAX (4u << 20) /* mountinfo of a busy host has some hundred KiB */

/* Files of /proc have no size; they are read until they end. */
static int read_all(int fd, char **ret_text, struct lp_error *err)
{
    size_t room = 4096, used = 0;
    char *text = NULL;

    for (;;) {
        char *grown = lp_mem_realloc_array(text, room, 1);
        if (grown == NULL) {
            lp_mem_free(text);
            return lp_error_set(err, LP_ENOMEM, "no memory for %zu bytes of it", room);
        }
        text = grown;
        const ssize_t n = lp_sys_pread(fd, text + used, room - 1 - used, (off_t)used);
        if (n < 0 || used + (size_t)n >= PROCFILE_BYTES_MAX) {
            lp_mem_free(text);
            return n < 0 ? lp_error_set_errno(err, LP_EIO, errno, "read")
                         : lp_error_set(err, LP_EIO, "more than %u bytes", PROCFILE_BYTES_MAX);
        }
        used += (size_t)n;
        if (n == 0)
            break;
        if (used == room - 1)
            room *= 2;
    }
    text[used] = 0;
    *ret_text = text;
    return 0;
}

int lp_store_procfile_read(const char *root, const char *path, char **ret_text,
                           struct lp_error *err)
{
    char full[4096];

    if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
        return lp_error_set(err, LP_EIO, "path too long: %s", path);
    int fd = lp_sys_open(full, O_RDONLY, 0);
    if (fd < 0)
        return lp_error_set_errno(err, errno == ENOENT ? LP_ENOENT : LP_EIO, errno, "open %s",
                                  full);
    const int rc = read_all(fd, ret_text, err);
    lp_sys_close(&fd);
    return rc < 0 ? lp_error_wrap(err, rc, "%s", full) : 0;
}

bool lp_store_procfile_number(const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;

    while (*text == ' ' || *text == '\t')
        text++;
    if (strncmp(text, "max", 3) == 0) {
        *ret_value = UINT64_MAX;
        return true;
    }
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (!lp_mul_u64(value, 10, &value) || !lp_add_u64(value, (uint64_t)(*text - '0'), &value))
            value = UINT64_MAX;
    *ret_value = value;
    return true;
}

bool lp_store_procfile_find(const char *text, const char *key, uint64_t *ret_value)
{
    const size_t key_bytes = strlen(key);

    for (const char *line = text; line != NULL && *line != 0; line = strchr(line, '\n')) {
        if (*line == '\n')
            line++;
        if (strncmp(line, key, key_bytes) == 0 &&
            (line[key_bytes] == ' ' || line[key_bytes] == '\t'))
            return lp_store_procfile_number(line + key_bytes, ret_value);
    }
    return false;
}
