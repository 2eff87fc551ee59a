/* SPDX-License-Identifier: Apache-2.0 */
/* A zip archive to read from, through libzip: its list of members, and one of them at a time as a
 * run of bytes. For store/load_npz.c; nobody else knows that there are zip archives.
 *
 * Every byte comes from the descriptor by pread, counted while the archive is opened, so that a
 * directory which asks for much memory is refused before it gets it.
 *
 * Codes of all functions: LP_ECORRUPT (no archive, cut, checksum or sizes that do not agree, a
 * compressed part that is broken), LP_ENOTSUP, LP_ELIMIT (directory), LP_EIO, LP_ENOMEM.
 * Source: libzip's manual; the zip format's APPNOTE, version 6.3. */
#ifndef LP_STORE_LOAD_ZIP_H
#define LP_STORE_LOAD_ZIP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lp_load_zip;

struct lp_load_zip_member {
    const char *name;      /* borrows from the archive; UTF-8 where the archive says so */
    uint64_t bytes;        /* unpacked */
    uint64_t packed_bytes; /* in the archive */
    bool stored;           /* not compressed: may be read from anywhere */
};

/* Read the directory and compare it with the members' own headers; names must differ. fd borrows,
 * bytes is its size; *ret_zip is new, freed by lp_load_zip_close(). */
int lp_load_zip_open(struct lp_load_zip **ret_zip, int fd, uint64_t bytes, struct lp_error *err);

/* NULL is fine. */
void lp_load_zip_close(struct lp_load_zip *zip);

/* Members, in the order of the directory. */
uint64_t lp_load_zip_count(const struct lp_load_zip *zip);

/* What the directory says of member i. LP_ENOTSUP: encrypted, or neither stored nor deflated. */
int lp_load_zip_member(struct lp_load_zip *zip, uint64_t i, struct lp_load_zip_member *ret_member,
                       struct lp_error *err);

/* From here on reads give member i, from its beginning. */
int lp_load_zip_select(struct lp_load_zip *zip, uint64_t i, struct lp_error *err);

/* The next bytes of the selected member: *ret_got of them, fewer than asked for only at its end.
 * Whoever reads from the beginning until *ret_got is 0 knows that size and checksum are right. */
int lp_load_zip_read(struct lp_load_zip *zip, void *dst, size_t bytes, size_t *ret_got,
                     struct lp_error *err);

/* Go on at byte offset of the selected member, which must be stored. */
int lp_load_zip_seek(struct lp_load_zip *zip, uint64_t offset, struct lp_error *err);

#endif
