/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader's own files share: the handle, exact reads, and one parser per kind. */
#ifndef LP_STORE_LOAD_IMPL_H
#define LP_STORE_LOAD_IMPL_H

#include "store/label.h"
#include "store/load.h"

#include <stddef.h>
#include <time.h>

#define LP_LOAD_NAME_SHOWN 48 /* bytes of a tensor's name in an error */

/* Elements of one Fortran tensor, re-ordered: a run of row-major order. */
struct lp_load_tile {
    uint8_t *data; /* owned; NULL until the first Fortran read */
    uint32_t tensor;
    uint64_t first_element, n_elements; /* n 0: holds nothing */
};

/* File bytes on their way to a tile, or through the cast. */
struct lp_load_window {
    uint8_t *data; /* owned; NULL until needed */
    uint64_t offset;
    size_t bytes; /* 0: holds nothing */
};

struct lp_load_npz; /* store/load_npz.c: the archive, and which member is read */

struct lp_load_file {
    char label[LP_LABEL_BYTES];        /* the path, its beginning left out where it is long */
    char stem[LP_FORMAT_NAME_MAX + 1]; /* the tensor's name where the file has none */
    int fd;
    uint64_t bytes;
    struct timespec changed; /* at open */
    enum lp_load_kind kind;
    uint32_t as_dtype;
    uint32_t n_tensors;
    struct lp_load_tensor *tensors; /* owned, names too */
    struct lp_load_tile tile;
    struct lp_load_window window;
    struct lp_load_npz *npz; /* owned; NULL unless the kind is .npz */
};

/* The code for what the system says of a file: LP_ENOENT, LP_EPERM, LP_ELIMIT, LP_ENOSPC, ... */
int lp_load_errno_code(int errnum);

/* All of bytes, from offset, to dst. LP_ECORRUPT: the file ends before; LP_EIO. In an .npz file
 * they are bytes of a member: of the one that is being opened, then of the one that is selected. */
int lp_load_fetch(const struct lp_load_file *file, uint64_t offset, void *dst, size_t bytes,
                  struct lp_error *err);

/* Make room for n tensors, all empty; the file then has n of them. LP_ENOMEM. */
int lp_load_tensors_reserve(struct lp_load_file *file, uint32_t n, struct lp_error *err);

/* Fill in one: name copies; dtype is the one stored, the cast is applied here. The tensor is
 * untouched on failure. LP_ENOTSUP (cast, dims), LP_ECORRUPT (size, name), LP_ENOMEM. */
int lp_load_tensor_init(const struct lp_load_file *file, struct lp_load_tensor *tensor,
                        const char *name, uint32_t dtype, uint32_t ndim, const uint64_t *dims,
                        struct lp_error *err);

/* One per kind: fills file's tensors. */
int lp_load_npy_parse(struct lp_load_file *file, struct lp_error *err);
int lp_load_npz_parse(struct lp_load_file *file, struct lp_error *err);
int lp_load_safetensors_parse(struct lp_load_file *file, struct lp_error *err);
int lp_load_raw_parse(struct lp_load_file *file, const struct lp_load_options *options,
                      struct lp_error *err);

/* One .npy of bytes in all, which lp_load_fetch() gives from 0 on, becomes tensor, called name. */
int lp_load_npy_tensor(struct lp_load_file *file, uint64_t bytes, const char *name,
                       struct lp_load_tensor *tensor, struct lp_error *err);

/* Fetches are from tensor i of an .npz file from here on. The first time the member is read whole:
 * LP_ECORRUPT where checksum or size are wrong, LP_ENOSPC where there is no room to unpack it. What
 * the window held is forgotten then. */
int lp_load_npz_select(struct lp_load_file *file, uint32_t i, struct lp_error *err);
int lp_load_npz_fetch(struct lp_load_npz *npz, uint64_t offset, void *dst, size_t bytes,
                      struct lp_error *err);

/* NULL is fine. */
void lp_load_npz_close(struct lp_load_npz *npz);

/* The window's memory, made at the first call; what it held is forgotten. NULL: no memory. */
uint8_t *lp_load_window_scratch(struct lp_load_file *file);

/* Bring elements from first on into the tile: all n where they fit, at least one. */
int lp_load_tile_fill(struct lp_load_file *file, uint32_t i, uint64_t first, uint64_t n,
                      struct lp_error *err);

/* n float32 of any address, little-endian, to bf16: round to nearest even; a NaN keeps its sign and
 * upper payload and becomes quiet, so it never turns into an infinity. */
void lp_load_cast_bf16(uint8_t *dst, const uint8_t *src, size_t n);

#endif
