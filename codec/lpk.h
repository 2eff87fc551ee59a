/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of an .lpk file (docs/FORMAT.md, section 10): bytes only, no file is opened. */
#ifndef LP_CODEC_LPK_H
#define LP_CODEC_LPK_H

#include "base/error.h"
#include "codec/format.h"

struct lp_lpk_entry {
    uint64_t offset, bytes;
    char *name; /* owned, ends with a zero */
};

struct lp_lpk_directory {
    uint64_t directory_offset, directory_bytes, file_bytes;
    uint64_t directory_hash;
    uint32_t n_entries;
    struct lp_lpk_entry *entries; /* owned */
};

/* First the 64 bytes, then the directory that they name. file_bytes is the size that the file
 * really has. */
int lp_codec_lpk_parse_header(struct lp_lpk_directory *ret_directory, const void *header,
                              uint64_t file_bytes, struct lp_error *err);
int lp_codec_lpk_parse_directory(struct lp_lpk_directory *directory, const void *bytes,
                                 struct lp_error *err);
void lp_codec_lpk_fini(struct lp_lpk_directory *directory);

/* Bytes of the directory of these entries, and both parts written out; directory_offset and
 * file_bytes are set by the caller. */
uint64_t lp_codec_lpk_directory_bytes(const struct lp_lpk_directory *directory);
void lp_codec_lpk_emit(struct lp_lpk_directory *directory, void *header, void *bytes);

/* UTF-8, 1 to 512 bytes, no control characters: the rule for names, in files and in the store. */
int lp_codec_name_check(const char *name, size_t name_bytes, struct lp_error *err);

#endif
