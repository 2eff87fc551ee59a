/* SPDX-License-Identifier: Apache-2.0 */
/* Where groups of records begin: the few records to which the others are nearest, in bits that
 * differ. Nothing is random, so that equal tensors get equal groups. */
#ifndef LP_CODEC_IBP_STARTS_H
#define LP_CODEC_IBP_STARTS_H

#include <stdint.h>

#define LP_IBP_STARTS_MAX 8u
#define LP_IBP_STARTS_FROM 32u     /* records that are tried, evenly spread */
#define LP_IBP_STARTS_RECORDS 512u /* records that are looked at */

/* In order of what they bring: the first k are the best choice of k, as one after the other finds
 * it. */
struct lp_ibp_starts {
    uint32_t n;
    uint32_t start[LP_IBP_STARTS_MAX]; /* numbers below LP_IBP_STARTS_FROM */
    uint32_t distance[LP_IBP_STARTS_FROM][LP_IBP_STARTS_RECORDS];
};

/* n <= LP_IBP_STARTS_RECORDS records of record_bytes, at least one. Of long records only every few
 * words are compared. */
void lp_codec_ibp_find_starts(struct lp_ibp_starts *ret_starts, const uint8_t *const *records,
                              uint32_t n, uint32_t record_bytes);

/* Which of the first n_groups starts record i is nearest to, of equals the first. */
uint32_t lp_codec_ibp_nearest_start(const struct lp_ibp_starts *starts, uint32_t i,
                                    uint32_t n_groups);

#endif
