/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp's search for masks as functions of codec/ops.h, the same in every tier. Included once
 * by a file of a tier, which has defined before
 *
 *   common(a, b)          as lp_ibp_common_fn of codec/ibp_pick_body.h; inline */
#ifndef LP_CODEC_IBP_SEARCH_OPS_H
#define LP_CODEC_IBP_SEARCH_OPS_H

#include "codec/ibp_measure_body.h"
#include "codec/ibp_pick_body.h"
#include "codec/ops.h"

static void count(const uint8_t *records, uint64_t n_records, uint32_t record_bytes, void *scratch,
                  uint64_t *counts)
{
    lp_ibp_count(records, n_records, record_bytes, scratch, counts);
}

static void score(const struct lp_ibp_score *job, const uint8_t *records, uint64_t n_records,
                  struct lp_ibp_totals *ret_totals)
{
    lp_ibp_score(job, records, n_records, ret_totals);
}

static void pick(const struct lp_ibp_column *column, struct lp_ibp_pick *ret_pick)
{
    lp_ibp_pick(column, ret_pick, common);
}

static void fill_search(struct lp_codec_ops *ops)
{
    ops->ibp_count = count;
    ops->ibp_score = score;
    ops->ibp_pick = pick;
}

#endif
