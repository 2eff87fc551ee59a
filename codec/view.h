/* SPDX-License-Identifier: Apache-2.0 */
/* A packed table in memory, ready to read: rows out, bit for bit, on the calling thread, without a
 * system call or an allocation. */
#ifndef LP_CODEC_VIEW_H
#define LP_CODEC_VIEW_H

#include "codec/table.h"

struct lp_view {
    const struct lp_table *table; /* borrowed */
    const uint8_t
        *index; /* borrowed: the index section, 8-byte aligned, may lie in shared memory */
    const uint8_t *checks; /* borrowed; NULL: lp_codec_view_verify is not to be used */
    const uint8_t *const
        *segments; /* borrowed: n_segments starts, LP_CODEC_SLACK_BYTES readable behind each */
};

/* Decode record r whole: dst gets its elements. LP_ERANGE, or LP_ECORRUPT, which names the record.
 */
int lp_codec_view_record(const struct lp_view *view, uint64_t record, void *dst,
                         struct lp_error *err);

/* Rows by number into dst, row-major, no gaps. rows: n_rows signed numbers of index_bytes (4 or 8)
 * each, at any address, repeats allowed; NULL: all rows in order (n_rows is then the table's).
 * dst_bytes >= n_rows * row_bytes. default_row (row_bytes, or NULL) stands in for numbers out of
 * range. Prefetches ahead: sources are expected to be cold. 0; LP_ERANGE (names the position and
 * number; dst untouched), LP_ESIZE (dst untouched), LP_EINVAL, LP_ECORRUPT (names the record; dst
 * unspecified). */
int lp_codec_view_gather(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                         uint64_t n_rows, void *dst, uint64_t dst_bytes, const void *default_row,
                         struct lp_error *err);

/* The check of LP_ERANGE and LP_ESIZE alone, for callers that split the work over threads, and the
 * part without it. */
int lp_codec_view_check_rows(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                             uint64_t n_rows, uint64_t dst_bytes, const void *default_row,
                             struct lp_error *err);
int lp_codec_view_gather_checked(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                                 uint64_t n_rows, void *dst, const void *default_row,
                                 struct lp_error *err);

/* A run of elements [first, first + n): what a loader or a verifier wants. LP_ERANGE; LP_ECORRUPT
 * names the record. */
int lp_codec_view_elements(const struct lp_view *view, uint64_t first, uint64_t n, void *dst,
                           struct lp_error *err);

/* Recompute checks [first_check, first_check + n) and, where decode is set, decode each record into
 * scratch (LP_FORMAT_RECORD_BYTES_MAX bytes). LP_ECORRUPT names check and records. */
int lp_codec_view_verify(const struct lp_view *view, uint64_t first_check, uint64_t n_checks,
                         bool decode, void *scratch, struct lp_error *err);

/* Sectors that a gather of these rows touches, each record counted as often as a row needs it
 * (codec raw: only the row's own bytes); rows as above, those out of range count nothing: the
 * host's count for bench/device.sh. */
uint64_t lp_codec_view_sectors(const struct lp_view *view, const void *rows, uint32_t index_bytes,
                               uint64_t n_rows);

#endif
