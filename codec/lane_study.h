/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that choose the parameters of codec lane share: codec_lane_learn.c leads,
 * codec_lane_fixed.c finds bits that are always the same, codec_lane_columns.c finds columns. */
#ifndef LP_CODEC_LANE_STUDY_H
#define LP_CODEC_LANE_STUDY_H

#include "codec/lane.h"
#include "codec/ops.h"
#include "codec/shape.h"

#define LP_LANE_MENU_LENGTH 6u

/* One entry of the menu with its ranks, and what it would cost. */
struct lp_lane_trial {
    struct lp_lane lane;
    bool possible;          /* the field has values enough for its symbols */
    bool by_column;         /* the columns of the study are taken off first */
    uint64_t payload_bytes; /* of the records studied */
};

/* Columns as they are learned: what lp_lane_params wants of them. */
struct lp_lane_columns {
    uint32_t period, n;
    uint64_t span;
    uint16_t *bases; /* owned by the study; NULL: no columns */
};

struct lp_lane_study {
    const struct lp_codec_ops *ops;
    const struct lp_dtype_info *info;
    const struct lp_lane_sample *sample; /* borrowed */
    uint64_t step;                       /* every step-th record is studied */
    uint64_t studied_elements;
    uint32_t field_bits, exponent_mask;
    uint32_t sign, trailing_bits;
    uint64_t fixed_mask, fixed_value; /* as in struct lp_lane */
    struct lp_lane_columns columns;
    struct lp_lane shifter; /* has those columns; owned */
    uint8_t *record;        /* owned: a record minus its columns */
    struct lp_lane_trial table[LP_LANE_MENU_LENGTH], by_record[LP_LANE_MENU_LENGTH],
        by_column[LP_LANE_MENU_LENGTH];
    uint32_t hist[LP_LANE_EXPONENTS_MAX]; /* of the record at hand */
    uint32_t all[LP_LANE_EXPONENTS_MAX];  /* of all records studied */
    /* The same, minus each one's base, by menu entry; and minus columns. */
    uint32_t shifted[LP_LANE_MENU_LENGTH][LP_LANE_EXPONENTS_MAX];
    uint32_t centred[LP_LANE_EXPONENTS_MAX];
};

/* A record of the sample. */
static inline const uint8_t *lp_lane_study_record(const struct lp_lane_study *study, uint64_t r)
{
    const size_t record_bytes = (size_t)study->sample->record_elements * study->info->bytes;

    return (const uint8_t *)study->sample->elements + r * record_bytes;
}

/* Every other bit of the elements, or-ed and and-ed; of each element's size. */
struct lp_lane_bits_seen {
    uint64_t any, all;
};
struct lp_lane_bits_seen lp_codec_lane_bits_seen(const uint8_t *elements, uint32_t n,
                                                 uint32_t elem_bytes);

/* Sign and trailing bits with which the whole sample is smallest, were each element's exponent to
 * take exponent_bits: a record that differs is then raw. Sets sign, trailing_bits and the masks. */
void lp_codec_lane_study_fixed(struct lp_lane_study *study, double exponent_bits);

/* The masks again, after field_bits has changed. */
void lp_codec_lane_set_fixed(struct lp_lane_study *study);

/* The record has an element that differs from what is fixed. */
bool lp_codec_lane_is_odd(const struct lp_lane_study *study, uint64_t r);

/* Index in the tensor of the first element of a sampled record. */
uint64_t lp_codec_lane_study_first(const struct lp_lane_study *study, uint64_t r);

/* What lp_codec_lane_init() wants of a menu entry; widths and ranks are borrowed. */
struct lp_lane_params lp_codec_lane_trial_params(const struct lp_lane_study *study, uint32_t entry,
                                                 uint32_t window, const uint16_t *ranks);

/* A menu entry with ranks from hist; window is table or record. */
void lp_codec_lane_set_trial(const struct lp_lane_study *study, struct lp_lane_trial *trial,
                             uint32_t entry, uint32_t window, const uint32_t *hist);

/* All entries of the menu, with ranks from the same counts. */
void lp_codec_lane_set_trials(const struct lp_lane_study *study,
                              struct lp_lane_trial trials[LP_LANE_MENU_LENGTH], uint32_t window,
                              const uint32_t *hist);

/* Bytes that the best menu entry needs for n elements with these exponents, taken as one record. */
uint64_t lp_codec_lane_study_pooled(const struct lp_lane_study *study, const uint32_t *hist,
                                    uint64_t n);

/* Compare a against b, both bytes of the records studied with metadata of their own, over the whole
 * tensor. True: a is smaller. */
bool lp_codec_lane_study_is_less(const struct lp_lane_study *study, uint64_t a, uint64_t a_meta,
                                 uint64_t b, uint64_t b_meta);

/* The best columns into study->columns, or none where they don't pay. LP_ENOMEM. */
int lp_codec_lane_study_columns(struct lp_lane_study *study, struct lp_error *err);

#endif
