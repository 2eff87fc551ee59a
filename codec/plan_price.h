/* SPDX-License-Identifier: Apache-2.0 */
/* What plan.c, which decides, and plan_price.c, which tries codecs on the sample, share. */
#ifndef LP_CODEC_PLAN_PRICE_H
#define LP_CODEC_PLAN_PRICE_H

#include "codec/plan.h"

/* Everything that the choice works on. */
struct lp_planner {
    struct lp_plan_params params;
    struct lp_table base; /* of codec raw */
    const uint8_t *sample;
    uint64_t sample_records; /* whole ones; a shorter last one is not priced */
    uint64_t sample_bytes;
    struct lp_sample whole; /* the layout of a sample that is the tensor */
    uint8_t *record;        /* room for one coded record; behind it: */
    uint8_t *scratch;       /* room for its elements */
    uint64_t *ibp_counts;   /* owned; NULL: nobody needed them */
    uint64_t ibp_least[2];  /* what ibp can't store the sample in less than, by size of its words:
                               4, 8; 0: not known */
    struct lp_prices prices;
};

/* A table that one codec would make, beside its price. */
struct lp_candidate {
    struct lp_table table;
    struct lp_price *price;
};

/* Whatever codec it is, the table's frame: records, checks, segments. LP_EINVAL, LP_ESIZE. */
int lp_codec_plan_table(struct lp_table *ret_table, const struct lp_planner *planner,
                        uint32_t codec, uint64_t meta_bytes, struct lp_error *err);

/* Cost of the whole table times the sample's bytes: whole numbers, so that ties are seen. */
__uint128_t lp_codec_plan_cost(const struct lp_planner *planner, const struct lp_price *price);

/* Price what the choice needs, or everything when the caller wants to see it. *ret_n candidates,
 * also on failure, have tables to be ended. The first is raw; of the others those of equal cost
 * stand in the order of cheaper decoders. LP_ENOMEM, LP_ESIZE. */
int lp_codec_plan_price(struct lp_planner *planner, struct lp_candidate candidates[LP_PRICES_MAX],
                        uint32_t *ret_n, bool everything, struct lp_error *err);

#endif
