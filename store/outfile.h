/* SPDX-License-Identifier: Apache-2.0 */
/* A file that appears under its name complete, or not at all.
 *
 * open -> write at any offset ... -> commit | close without commit. Bytes go to a nameless file in
 * the target's folder (or, where the file system has none, to a hidden name that close removes);
 * commit flushes them to the disk and puts the name on, replacing what was there. Until then, and
 * after any failure, the target is as it was. */
#ifndef LP_STORE_OUTFILE_H
#define LP_STORE_OUTFILE_H

#include "base/error.h"
#include "store/label.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lp_outfile {
    char label[LP_LABEL_BYTES]; /* the path, for errors */
    char *target;               /* owned; symbolic links followed */
    char *hidden; /* owned; the name of the file before commit, NULL while it has none */
    int fd;       /* -1: closed */
};

/* Begin a file that will be called path. An existing regular file lends it its mode; anything else
 * that has this name (folder, device, pipe) is refused with LP_EINVAL. path borrows.
 * LP_ENOENT, LP_EPERM, LP_ENOSPC, LP_EIO, LP_ENOMEM; *ret_file then needs no close. */
int lp_outfile_open(struct lp_outfile *ret_file, const char *path, struct lp_error *err);

/* data borrows. LP_ENOSPC (disk or quota full), LP_EIO. */
int lp_outfile_write(struct lp_outfile *file, const void *data, size_t bytes, uint64_t offset,
                     struct lp_error *err);

/* Cut or stretch (with zeros) to bytes. */
int lp_outfile_resize(struct lp_outfile *file, uint64_t bytes, struct lp_error *err);

/* Flush, name, flush the folder; closes file on success. LP_ENOSPC, LP_EIO. */
int lp_outfile_commit(struct lp_outfile *file, struct lp_error *err);

/* End; what was not committed is gone. Closed and zeroed-by-failed-open ones are fine. */
void lp_outfile_close(struct lp_outfile *file);

#endif
