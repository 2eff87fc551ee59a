/* SPDX-License-Identifier: Apache-2.0 */
/* .lpk files: packed tensors on disk (docs/FORMAT.md, section 10), written and read as streams.
 *
 * Writing: open -> add one tensor after another -> commit | close. The file appears at commit, or
 * not at all. Beside the plan's sample, a tensor costs its index and checks and LP_LPK_BUFFER_BYTES
 * of memory while it is packed.
 *
 * Reading: open checks header and directory; a tensor opens by itself, its head checked whole.
 * Records are then read with pread into a private reservation of address space and given back
 * window by window: a file that shrinks under us is LP_ECORRUPT, never a signal. One thread at a
 * time per file and its tensors. */
#ifndef LP_STORE_LPK_FILE_H
#define LP_STORE_LPK_FILE_H

#include "base/error.h"
#include "base/progress.h"
#include "codec/plan.h"
#include "codec/view.h"
#include "store/load.h"

#include <stdbool.h>
#include <stdint.h>

#define LP_LPK_BUFFER_BYTES (UINT32_C(4) << 20) /* of elements, and of records, under way */
#define LP_LPK_WINDOW_BYTES (UINT32_C(8) << 20) /* of stored records in memory when streaming */

/* --- writing --------------------------------------------------------------------------------- */

/* What was packed and how; for reading, what lies there. name borrows from file or source. */
struct lp_lpk_info {
    const char *name;
    struct lp_geometry geometry;
    uint32_t codec, layout; /* enum lp_codec_id, enum lp_layout */
    uint32_t record_elements;
    uint64_t n_records, raw_records;
    uint64_t payload_bytes, stored_bytes, wire_bytes; /* docs/FORMAT.md, section 9 */
    uint64_t file_offset, file_bytes;                 /* the table in the file, header included */
    char reason[96];              /* why this codec; empty when read from a file */
    char how[LP_TABLE_HOW_BYTES]; /* what it learned, in words: lp_codec_table_describe() */
};

struct lp_lpk_writer;

/* path borrows. *ret_writer is new, ended by commit's success or by close. Errors as
 * lp_outfile_open(). */
int lp_lpk_writer_open(struct lp_lpk_writer **ret_writer, const char *path, struct lp_error *err);

/* Plan and pack tensor i of source under its own name. params may be NULL (everything chosen);
 * progress (may be NULL) gets its logical bytes. ret_prices and ret_info may be NULL.
 * A failed add leaves the writer good for another try or for close.
 * LP_EEXIST: the name is in the file already; LP_EINVAL: params make no sense; LP_ENOSPC, LP_EIO,
 * LP_ENOMEM; and what lp_load_read() and lp_load_check_unchanged() give. */
int lp_lpk_writer_add(struct lp_lpk_writer *writer, struct lp_load_file *source, uint32_t i,
                      const struct lp_plan_params *params, struct lp_progress *progress,
                      struct lp_prices *ret_prices, struct lp_lpk_info *ret_info,
                      struct lp_error *err);

/* Write the directory, flush, and put the name on. Ends the writer on success. */
int lp_lpk_writer_commit(struct lp_lpk_writer *writer, struct lp_error *err);

/* End without a file. NULL is fine. */
void lp_lpk_writer_close(struct lp_lpk_writer *writer);

/* --- reading --------------------------------------------------------------------------------- */

struct lp_lpk_file;
struct lp_lpk_tensor;

/* True when the file's first bytes are those of an .lpk file; false also when it cannot be read. */
bool lp_lpk_probe(const char *path);

/* LP_ECORRUPT, LP_EVERSION, LP_ENOENT, LP_EPERM, LP_EIO, LP_ENOTSUP (no regular file), LP_ENOMEM.
 * *ret_file is new, freed by lp_lpk_close() after its tensors. */
int lp_lpk_open(struct lp_lpk_file **ret_file, const char *path, struct lp_error *err);
void lp_lpk_close(struct lp_lpk_file *file);

uint32_t lp_lpk_count(const struct lp_lpk_file *file);

/* Name of tensor i < count; borrowed from the file. */
const char *lp_lpk_name(const struct lp_lpk_file *file, uint32_t i);

/* The number of the tensor called name, or -1. */
int64_t lp_lpk_find(const struct lp_lpk_file *file, const char *name);

/* Read and check the head of tensor i. *ret_tensor is new, freed by lp_lpk_tensor_close().
 * LP_ECORRUPT, LP_EVERSION, LP_EIO, LP_ENOMEM, LP_EMAP (no address space). */
int lp_lpk_tensor_open(struct lp_lpk_tensor **ret_tensor, struct lp_lpk_file *file, uint32_t i,
                       struct lp_error *err);
void lp_lpk_tensor_close(struct lp_lpk_tensor *tensor);

void lp_lpk_tensor_info(const struct lp_lpk_tensor *tensor, struct lp_lpk_info *ret_info);

/* Elements [first, first + n) in row-major order to dst, decoded window by window, the checks of
 * their records compared before. LP_ERANGE; LP_ECORRUPT, LP_EIO (dst then unspecified). */
int lp_lpk_tensor_read(struct lp_lpk_tensor *tensor, uint64_t first_element, uint64_t n_elements,
                       void *dst, struct lp_error *err);

/* Bring all records into private memory (stored bytes of it), compare every check, and give out a
 * view for gathers, borrowed until the tensor closes. Later reads take from there too. */
int lp_lpk_tensor_view(struct lp_lpk_tensor *tensor, const struct lp_view **ret_view,
                       struct lp_error *err);

/* Every checksum, and every record decoded. LP_ECORRUPT names tensor, check and records. */
int lp_lpk_tensor_verify(struct lp_lpk_tensor *tensor, struct lp_progress *progress,
                         struct lp_error *err);

/* Compare bit for bit with tensor i of source. LP_EFINGERPRINT: other dtype or shape;
 * LP_ECORRUPT: an element differs, the first is named. */
int lp_lpk_tensor_compare(struct lp_lpk_tensor *tensor, struct lp_load_file *source, uint32_t i,
                          struct lp_progress *progress, struct lp_error *err);

/* Decode to a .npy file (store/save_npy.h, whose note the caller passes on). */
int lp_lpk_tensor_unpack(struct lp_lpk_tensor *tensor, const char *path,
                         struct lp_progress *progress, struct lp_error *err);

#endif
