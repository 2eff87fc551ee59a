/* SPDX-License-Identifier: Apache-2.0 */
/* Codec sparse (docs/FORMAT.md, section 8): of each record where its non-zero elements stand, and
 * what they are. Elements have 1, 2, 4 or 8 bytes, records at most LP_FORMAT_SPARSE_ELEMENTS_MAX
 * elements; a caller of anything here has seen to both, but for learn and parse, which say so. */
#ifndef LP_CODEC_SPARSE_H
#define LP_CODEC_SPARSE_H

#include "base/error.h"
#include "codec/counts.h"
#include "codec/dict.h"
#include "codec/format.h"
#include "codec/lane.h"

struct lp_codec_ops;

/* How the values, the non-zero elements, are kept. The numbers are those of the metadata; where a
 * codec stands inside, they are its own. */
enum lp_sparse_values {
    LP_SPARSE_VALUES_ONE = 0, /* all the same one */
    LP_SPARSE_VALUES_RAW = LP_CODEC_RAW,
    LP_SPARSE_VALUES_LANE = LP_CODEC_LANE,
    LP_SPARSE_VALUES_DICT = LP_CODEC_DICT,
    LP_SPARSE_VALUES_COUNTS = LP_FORMAT_SPARSE_COUNTS
};

/* Parsed metadata. Copies share what is owned; one of them ends with lp_codec_sparse_fini(). */
struct lp_sparse {
    uint32_t values; /* enum lp_sparse_values */
    uint32_t elem_bytes;
    uint8_t one[8];      /* LP_SPARSE_VALUES_ONE: elem_bytes of it, then zeros */
    struct lp_lane lane; /* LP_SPARSE_VALUES_LANE; with LP_LANE_WINDOW_TABLE, so it owns nothing */
    struct lp_dict dict; /* LP_SPARSE_VALUES_DICT */
    struct lp_counts counts; /* LP_SPARSE_VALUES_COUNTS; f32, and columns for a full record */
};

/* NULL and zeroed ones are fine. */
void lp_codec_sparse_fini(struct lp_sparse *sparse);

/* The metadata section's bytes: size, emit, parse. parse checks every field; LP_ECORRUPT, also for
 * a dtype or a length of records that the codec does not take; LP_ENOMEM. */
uint64_t lp_codec_sparse_meta_bytes(const struct lp_sparse *sparse);
void lp_codec_sparse_meta_emit(const struct lp_sparse *sparse, void *dst);
int lp_codec_sparse_meta_parse(struct lp_sparse *ret_sparse, uint32_t dtype,
                               uint32_t record_elements, const void *meta, uint64_t meta_bytes,
                               struct lp_error *err);

/* What there is to learn from: n_records records of record_elements each, back to back, borrowed,
 * of a table of table_records, which is stored on borders of align_bytes. */
struct lp_sparse_sample {
    uint32_t dtype, record_elements, align_bytes;
    const void *elements;
    uint64_t n_records, table_records;
};

/* Choose how the values are kept: whatever stores the least, metadata included; of equals what
 * decodes sooner. LP_ENOTSUP, with a sentence why: elements or records that the codec does not
 * take, or leaving out zeros saves nothing. LP_ENOMEM. */
int lp_codec_sparse_learn(struct lp_sparse *ret_sparse, const struct lp_sparse_sample *sample,
                          struct lp_error *err);

/* One record, as codec/ops.h describes lane_decode and lane_encode; ops codes what is inside. They
 * need up to 204 KiB of stack. */
int lp_codec_sparse_decode(const struct lp_sparse *sparse, const struct lp_codec_ops *ops,
                           const void *src, uint32_t src_bytes, uint32_t align_bytes, void *dst,
                           uint32_t n, const void *ahead);
uint32_t lp_codec_sparse_encode(const struct lp_sparse *sparse, const struct lp_codec_ops *ops,
                                const void *src, uint32_t n, void *dst, uint32_t limit_bytes);

#endif
