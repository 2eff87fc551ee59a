/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor out as .npy, version 1.0, C order, as a stream.
 *
 * open -> append ... -> commit | close. The file appears at commit (store/outfile.h). */
#ifndef LP_STORE_SAVE_NPY_H
#define LP_STORE_SAVE_NPY_H

#include "base/error.h"
#include "codec/shape.h"
#include "store/outfile.h"

#include <stddef.h>
#include <stdint.h>

struct lp_save_npy {
    struct lp_outfile file;
    uint64_t offset;     /* where the next bytes go */
    uint64_t left_bytes; /* still to come */
};

/* The dtype in numpy's words ("<f4"). bf16, fp8 and f4_x2 have no such word: they are written as
 * the bits they are, "<u2" and "|u1". NULL for no dtype, and for f6 of both kinds, whose elements
 * have 3 bytes. */
const char *lp_save_npy_descr(uint32_t dtype);

/* What a reader of the file must know: for dtypes that are written as the integers of their bits a
 * sentence how to view it ("bf16 is written as ..."), else NULL. The program tells its user. */
const char *lp_save_npy_note(uint32_t dtype);

/* path and geometry borrow. Errors as lp_outfile_open(), LP_EINVAL for an unknown dtype, and
 * LP_ENOTSUP for one that .npy cannot hold (says what to do instead). */
int lp_save_npy_open(struct lp_save_npy *ret_save, const char *path,
                     const struct lp_geometry *geometry, struct lp_error *err);

/* The next bytes of the tensor, row-major, little-endian. LP_ESIZE: more than it has. */
int lp_save_npy_append(struct lp_save_npy *save, const void *data, size_t bytes,
                       struct lp_error *err);

/* LP_ESIZE: bytes are missing. Closes save on success. */
int lp_save_npy_commit(struct lp_save_npy *save, struct lp_error *err);

/* End; what was not committed is gone. */
void lp_save_npy_close(struct lp_save_npy *save);

#endif
