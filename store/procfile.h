/* SPDX-License-Identifier: Apache-2.0 */
/* Small text files of the kernel: read whole, then looked at line by line. */
#ifndef LP_STORE_PROCFILE_H
#define LP_STORE_PROCFILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The text of root/path. Returns new in *ret_text; lp_mem_free() ends it. LP_ENOENT: there is no
 * such file; LP_EIO, LP_ENOMEM. */
int lp_store_procfile_read(const char *root, const char *path, char **ret_text,
                           struct lp_error *err);

/* The number behind key at the start of a line ("MemAvailable:", "inactive_file"), in the units of
 * the file. Returns false when no line begins with key and a number. */
bool lp_store_procfile_find(const char *text, const char *key, uint64_t *ret_value);

/* The decimal number at the start of text, spaces before it skipped; UINT64_MAX for "max" and for
 * anything larger. Returns false when there is none. */
bool lp_store_procfile_number(const char *text, uint64_t *ret_value);

#endif
