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

/* How masks are chosen. */
struct lp_ibp_params {
    uint32_t word_bytes;    /* 4 or 8 */
    uint32_t record_bytes;  /* a multiple of word_bytes */
    uint32_t align_bytes;   /* of stored records: a power of two; 0: 4 */
    float threshold;        /* above 0: no other is tried, and no other choice */
    bool exact;             /* the published choice: one threshold for all, by the bits it saves */
    const uint64_t *counts; /* borrowed, of lp_codec_ibp_count() on these records; NULL: not made */
    uint64_t rival_bytes;   /* what the sample takes in another way, 0: not known. Groups are not
                               looked for where one set of masks takes much more */
};

/* A set of masks that was tried: those of a threshold, or those chosen position by position. */
struct lp_ibp_trial {
    uint32_t threshold_bits; /* float32; 0: position by position */
    uint64_t mask_bits;      /* bits set in the masks */
    uint64_t saved_bits;     /* over all records, participation bits paid, no record below zero: the
                                published score */
    uint64_t payload_bytes, stored_bytes; /* of all records, raw ones included; stored: aligned */
};

#define LP_IBP_TRIALS_MAX 8
struct lp_ibp_report {
    uint32_t n_trials;
    struct lp_ibp_trial trial[LP_IBP_TRIALS_MAX];
    bool saves;    /* false: no set of masks saves anything, all masks are zero */
    uint32_t kept; /* number of the trial whose masks these are; where they save */
    uint64_t
        average_words; /* words of a packed record on average, rounded up; 0 when nothing saves */
};

/* Masks of zeros (nothing is left out) for n_words words of word_bytes (4 or 8), a set for each of
 * n_groups, or one where n_groups is 0. LP_ENOMEM; on success lp_codec_ibp_fini() frees. */
int lp_codec_ibp_init(struct lp_ibp *ret_ibp, uint32_t word_bytes, uint32_t n_words,
                      uint32_t n_groups, struct lp_error *err);
void lp_codec_ibp_fini(struct lp_ibp *ibp);

/* What follows from masks and values, once these are written. */
void lp_codec_ibp_derive(struct lp_ibp *ibp);

/* Take the masks that somebody else chose: n_words each for one set after the other, copied.
 * LP_EINVAL when value has a bit outside of mask. */
int lp_codec_ibp_set_masks(struct lp_ibp *ibp, const uint64_t *mask, const uint64_t *value,
                           struct lp_error *err);

/* Choose masks for data like these n_records records, back to back, borrowed. All thresholds are
 * tried, 0.70 to 1.00, and unless exact is asked for also masks chosen position by position: on up
 * to LP_IBP_PICK_RECORDS of the records, evenly spread, those bits of each position whose masking
 * saves most, as a search bit by bit finds them. exact keeps the first threshold that saves most
 * bits, else those masks win that store the fewest bytes, the earlier trial of equal ones: never
 * more, on these records, than the published choice. Two passes over the records, one to count bits
 * and one to measure all masks. When nothing saves, or nothing but masks position by position and
 * these less than they take themselves, all masks are zero and the threshold's bits are
 * 0. ret_report may be NULL. LP_EINVAL, LP_ENOMEM. Source of the thresholds: the paper's
 * preprocessing, in the arithmetic of the published implementation. */
int lp_codec_ibp_learn(struct lp_ibp *ret_ibp, const struct lp_ibp_params *params,
                       const void *sample, uint64_t n_records, struct lp_ibp_report *ret_report,
                       struct lp_error *err);

/* As lp_codec_ibp_learn(), for a table of table_records like these; then, unless a threshold or
 * exact is asked for, of 1,024 records or more: groups of records with a set of masks each, 2, 4 or
 * 8, when they save another 0.3 % of the table's raw bytes, metadata paid. They are found on 512 to
 * 2,048 of the records, evenly spread, and measured on all. *ret_taken: what these
 * records take with the masks that are returned, of all groups; saved_bits 0 when nothing saves.
 * LP_EINVAL, LP_ENOMEM. */
int lp_codec_ibp_learn_groups(struct lp_ibp *ret_ibp, const struct lp_ibp_params *params,
                              uint64_t table_records, const void *sample, uint64_t n_records,
                              struct lp_ibp_trial *ret_taken, struct lp_error *err);

/* In how many of n_records records, back to back, each bit is set: [8 * p + b] is bit b of byte p.
 * *ret_counts returns new, lp_mem_free() frees it. LP_ENOMEM. */
int lp_codec_ibp_count(uint64_t **ret_counts, uint32_t record_bytes, const void *sample,
                       uint64_t n_records, struct lp_error *err);

/* What lp_codec_ibp_learn() can't get stored_bytes below, from counts of these records: of words of
 * 4 bytes and of 8; 0: not known. */
void lp_codec_ibp_least(const uint64_t *counts, uint32_t record_bytes, uint64_t n_records,
                        uint64_t ret_stored_bytes[2]);

/* Whether lp_codec_ibp_learn_groups() looks for groups, where one set of masks takes so much. */
bool lp_codec_ibp_tries_groups(const struct lp_ibp_params *params, uint64_t n_records,
                               uint64_t stored_bytes);

/* What is invariant in records of n_words words, by the published rule, at the paper's thresholds.
 * Position: the place of a word in its record. */
#define LP_IBP_INVARIANCE_ROWS 6
struct lp_ibp_invariance {
    uint32_t word_bytes, n_words;
    struct {
        float threshold;      /* 0.70, 0.75, ... 0.95 */
        double bit_share[64]; /* of bit b, least significant first: share of the positions where it
                                 is masked, 0 to 1 */
        double masked_share;  /* of all bits of all positions, 0 to 1 */
        double saved_share;   /* of the records' bits that masks save, participation bits paid, no
                                 record below zero; 0 to 1 */
    } row[LP_IBP_INVARIANCE_ROWS];
};

/* Tabulate; sample as for lp_codec_ibp_learn(). ret_masked_bits: NULL, or room for
 * LP_IBP_INVARIANCE_ROWS * n_words bytes: [row * n_words + j] says how many bits of position j are
 * masked. LP_EINVAL (word_bytes not 4 or 8, no words), LP_ENOMEM. */
int lp_codec_ibp_invariance(struct lp_ibp_invariance *ret_table, uint32_t word_bytes,
                            uint32_t n_words, const void *sample, uint64_t n_records,
                            uint8_t *ret_masked_bits, struct lp_error *err);

/* The metadata section: its bytes, written, read. parse checks every field; LP_ECORRUPT, LP_ENOMEM.
 */
uint64_t lp_codec_ibp_meta_bytes(const struct lp_ibp *ibp);
void lp_codec_ibp_meta_emit(const struct lp_ibp *ibp, void *dst);
int lp_codec_ibp_meta_parse(struct lp_ibp *ret_ibp, uint32_t record_bytes, const void *meta,
                            uint64_t meta_bytes, struct lp_error *err);

/* The codec's size of a record of n_words, whether it shrinks or not; where there are groups, with
 * the best. */
uint32_t lp_codec_ibp_size(const struct lp_ibp *ibp, const void *src, uint32_t n_words);

/* One record, as codec/ops.h describes ibp_decode and ibp_encode. */
int lp_codec_ibp_decode_scalar(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                               uint32_t align_bytes, void *dst, uint32_t n_words);
uint32_t lp_codec_ibp_encode_scalar(const struct lp_ibp *ibp, const void *src, uint32_t n_words,
                                    void *dst, uint32_t limit_bytes);

#endif
