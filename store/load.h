/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor files, streamed in: .npy, .npz, .safetensors, and raw binary of a told dtype and shape.
 *
 * Open checks the whole header and hands out a list of tensors, or fails and leaves nothing. Read
 * then fetches elements in row-major order from anywhere in a tensor, with pread: the file is never
 * mapped, so that one that shrinks or changes under us is an error and no signal. Extra memory is
 * bounded by LP_LOAD_TILE_BYTES + LP_LOAD_WINDOW_BYTES plus the header, whatever a tensor's size;
 * of a zip directory libzip holds some ten times its bytes.
 *
 * .npz, as numpy.savez() and numpy.savez_compressed() write it: member "x.npy" is tensor x, in the
 * order of the archive's directory. A member that is no .npy refuses the file by name, and so do
 * one that is encrypted, packed by another method than deflate, there twice, or a path that leads
 * out of its folder. The first read of a tensor reads its whole member, to know that the checksum
 * is right; a compressed one is unpacked into a file without a name in TMPDIR (else /tmp), which
 * the next tensor uses anew. So read a tensor to its end before the next one.
 *
 * A file handle serves one thread at a time. The daemon never links this code: tensor files are
 * parsed in the process of whoever brings them.
 *
 * Errors name file, tensor and byte or key. Codes that every function here may give:
 *   LP_ECORRUPT  the file breaks its format, or ends before its header says
 *   LP_ENOTSUP   well formed, but a kind, dtype, byte order or number of dimensions we do not take
 *   LP_ELIMIT    a header or member larger than the limits below, or too many open files
 *   LP_ENAME     a tensor's name is not one of ours (codec/lpk.h, lp_codec_name_check)
 *   LP_ENOENT, LP_EPERM, LP_EIO  as the system says; LP_ENOMEM
 * Source: numpy's NEP 1 (format of .npy); the safetensors format description; the zip format's
 * APPNOTE. */
#ifndef LP_STORE_LOAD_H
#define LP_STORE_LOAD_H

#include "base/error.h"
#include "codec/sample.h"

#include <stdbool.h>
#include <stdint.h>

#define LP_LOAD_NPY_HEADER_MAX 65535u             /* bytes; what format version 1 can say */
#define LP_LOAD_SAFETENSORS_HEADER_MAX 100000000u /* bytes; the limit of the format itself */
#define LP_LOAD_SAFETENSORS_VALUES_MAX (UINT32_C(1) << 20) /* JSON values in a header */
#define LP_LOAD_NPZ_DIRECTORY_MAX (UINT32_C(16) << 20)     /* bytes of a zip directory */
#define LP_LOAD_NPZ_UNPACKED_MAX (UINT64_C(16) << 30) /* bytes of a compressed member, unpacked */
#define LP_LOAD_TILE_BYTES (UINT32_C(16) << 20)       /* re-ordered part of a Fortran tensor */
#define LP_LOAD_WINDOW_BYTES (UINT32_C(2) << 20)      /* file bytes on their way to tile or cast */

enum lp_load_kind { LP_LOAD_NPY = 1, LP_LOAD_SAFETENSORS = 2, LP_LOAD_RAW = 3, LP_LOAD_NPZ = 4 };

/* What the caller adds to what the file says; zeros everywhere: nothing. */
struct lp_load_options {
    uint32_t dtype;                    /* not 0: the file is raw binary of this enum lp_dtype */
    uint32_t ndim;                     /* raw only; 0 is a scalar */
    uint64_t dims[LP_FORMAT_DIMS_MAX]; /* raw only */
    uint64_t offset;                   /* raw only: byte where the elements begin, any address */
    uint32_t as_dtype; /* 0: as stored; LP_DTYPE_BF16: f32 is rounded to bf16 (to nearest even, NaN
                          stays NaN), bf16 passes, any other dtype is refused */
};

struct lp_load_tensor {
    char *name; /* owned by the file; UTF-8, 1 to 512 bytes, no control characters. For .npy and
                   raw the file's name without folder and ending ("tensor" where that is no name) */
    struct lp_geometry geometry; /* of what lp_load_read() gives: dtype after the cast */
    uint32_t file_dtype;         /* enum lp_dtype as stored */
    bool fortran_order;          /* stored with the first index running fastest; read re-orders */
    uint64_t file_offset;        /* first byte in the file, in .npz in the unpacked member; any
                                    alignment */
    uint64_t file_bytes;
};

struct lp_load_file;

/* Open path and read its header. Kind: raw when options->dtype is set, else by the first bytes,
 * else by the name's ending. A raw file may have bytes before offset and behind the last element;
 * the other kinds may not.
 *
 * path borrows; options copies, may be NULL; *ret_file is new, freed by lp_load_close(), untouched
 * on failure. Also LP_EINVAL for options that make no sense, LP_ESIZE for a raw file that is
 * shorter than they say. */
int lp_load_open(struct lp_load_file **ret_file, const char *path,
                 const struct lp_load_options *options, struct lp_error *err);

/* NULL is fine. */
void lp_load_close(struct lp_load_file *file);

enum lp_load_kind lp_load_kind(const struct lp_load_file *file);

/* "npy", "npz", "safetensors", "raw". */
const char *lp_load_kind_name(enum lp_load_kind kind);

/* Number of tensors; a .safetensors file may have none. They come in the order of their bytes in
 * the file. */
uint32_t lp_load_count(const struct lp_load_file *file);

/* Tensor i < count; borrowed from the file until it closes. */
const struct lp_load_tensor *lp_load_tensor(const struct lp_load_file *file, uint32_t i);

/* The number of the tensor called name, or -1. */
int64_t lp_load_find(const struct lp_load_file *file, const char *name);

/* Elements [first, first + n) of tensor i, counted in row-major order, cast where asked,
 * little-endian, to dst (n * geometry.elem_bytes, any address). Reads that follow each other are
 * the fast way through a Fortran tensor: each tile is then fetched once. Where a row of such a
 * tensor is larger than a tile, each row is a pass over the file, so slow but still exact and
 * bounded. LP_ERANGE: not all of them exist; LP_ENOSPC: no room to unpack a member of an .npz. On
 * failure dst is unspecified. */
int lp_load_read(struct lp_load_file *file, uint32_t i, uint64_t first_element, uint64_t n_elements,
                 void *dst, struct lp_error *err);

/* How many elements lp_load_sample() gives for tensor i: the whole tensor where it has at most
 * limit_bytes, else whole records of record_elements, about limit_bytes in all and never more (but
 * at least one record). */
uint64_t lp_load_sample_elements(const struct lp_load_file *file, uint32_t i,
                                 uint32_t record_elements, uint64_t limit_bytes);

/* Where the runs of that sample lie. */
struct lp_sample lp_load_sample_layout(const struct lp_load_file *file, uint32_t i,
                                       uint32_t record_elements, uint64_t limit_bytes);

/* A sample for lp_codec_plan(): that many elements, in runs of records spread evenly over the
 * tensor, to dst. Deterministic: same file, same sample. Errors as lp_load_read(). */
int lp_load_sample(struct lp_load_file *file, uint32_t i, uint32_t record_elements,
                   uint64_t limit_bytes, void *dst, struct lp_error *err);

/* 0, or LP_EBUSY when size or time of change of the file are no longer those seen at open: what was
 * read may be of two minds. For whoever has streamed a tensor and is about to publish it. */
int lp_load_check_unchanged(const struct lp_load_file *file, struct lp_error *err);

#endif
