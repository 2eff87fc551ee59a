/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp: invariant bit packing (docs/FORMAT.md, section 4). Masks are learned once per table;
 * records are then packed against them.
 *
 * The mask rule and the record format are those of the published implementation, bit for bit: its
 * vectors are a test. */
#ifndef LP_CODEC_CODEC_IBP_H
#define LP_CODEC_CODEC_IBP_H

#include "base/error.h"
#include "codec/table.h"

/* One threshold tried by lp_codec_ibp_learn(). */
struct lp_ibp_trial {
    uint32_t threshold_bits; /* float32 */
    uint64_t mask_bits;      /* bits set in the mask */
    uint64_t saved_bits;     /* the score: bits saved over all records, participation bits paid */
};

#define LP_IBP_TRIALS_MAX 7
struct lp_ibp_report {
    uint32_t n_trials;
    struct lp_ibp_trial trial[LP_IBP_TRIALS_MAX];
    uint64_t
        average_words; /* words of a packed record on average, rounded up; 0 when nothing saves */
};

/* Masks of zeros (nothing is left out) for n_words words of word_bytes (4 or 8). LP_ENOMEM; on
 * success lp_codec_ibp_fini() frees. */
int lp_codec_ibp_init(struct lp_ibp *ret_ibp, uint32_t word_bytes, uint32_t n_words,
                      struct lp_error *err);
void lp_codec_ibp_fini(struct lp_ibp *ibp);

/* Take the masks that somebody else chose: n_words each, copied. LP_EINVAL when value has a bit
 * outside of mask. */
int lp_codec_ibp_set_masks(struct lp_ibp *ibp, const uint64_t *mask, const uint64_t *value,
                           struct lp_error *err);

/* Choose masks for data like these n_records records of record_bytes each, back to back, borrowed;
 * record_bytes is a multiple of word_bytes. threshold 0 sweeps 0.70 .. 1.00 and keeps the mask that
 * saves most, else it is the only one tried. When nothing saves, all masks are zero and the
 * threshold's bits are 0. ret_report may be NULL. LP_EINVAL, LP_ENOMEM. Source: the paper's
 * preprocessing, in the arithmetic of the published implementation. */
int lp_codec_ibp_learn(struct lp_ibp *ret_ibp, uint32_t word_bytes, const void *sample,
                       uint64_t n_records, uint32_t record_bytes, float threshold,
                       struct lp_ibp_report *ret_report, struct lp_error *err);

/* The metadata section: its bytes, written, read. parse checks every field; LP_ECORRUPT, LP_ENOMEM.
 */
uint64_t lp_codec_ibp_meta_bytes(const struct lp_ibp *ibp);
void lp_codec_ibp_meta_emit(const struct lp_ibp *ibp, void *dst);
int lp_codec_ibp_meta_parse(struct lp_ibp *ret_ibp, uint32_t record_bytes, const void *meta,
                            uint64_t meta_bytes, struct lp_error *err);

/* The codec's size of a record of n_words, whether it shrinks or not. */
uint32_t lp_codec_ibp_size(const struct lp_ibp *ibp, const void *src, uint32_t n_words);

/* One record, as codec/ops.h describes ibp_decode and ibp_encode. */
int lp_codec_ibp_decode_scalar(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                               uint32_t align_bytes, void *dst, uint32_t n_words);
uint32_t lp_codec_ibp_encode_scalar(const struct lp_ibp *ibp, const void *src, uint32_t n_words,
                                    void *dst, uint32_t limit_bytes);

#endif
