/* SPDX-License-Identifier: Apache-2.0 */
/* A table packed into one stretch of memory, without file or daemon, to be measured. */
#ifndef LP_CLI_BENCH_PACK_H
#define LP_CLI_BENCH_PACK_H

#include "codec/plan.h"
#include "codec/view.h"

struct lp_bench_pack {
    struct lp_table table;
    struct lp_view view;
    uint8_t *head;
    uint8_t *data; /* room_bytes, segments at their pitch */
    uint64_t room_bytes;
    const uint8_t **segments;
};

/* A plan for all elements, which borrows them: from the sample that any plan takes
 * (codec/sample.h). Errors of lp_codec_plan(). */
int lp_bench_plan(struct lp_table *ret_table, const struct lp_geometry *geometry,
                  const struct lp_plan_params *params, const void *elements, struct lp_error *err);

/* Plan, and make room. elements borrows: all of them. lp_bench_pack_fini() ends it, also after a
 * failure, and a zeroed one. */
int lp_bench_pack_init(struct lp_bench_pack *ret_pack, const struct lp_geometry *geometry,
                       const struct lp_plan_params *params, const void *elements,
                       struct lp_error *err);
void lp_bench_pack_fini(struct lp_bench_pack *pack);

/* Pack all elements; may be called again and again. Becomes codec raw when no record shrinks. */
int lp_bench_pack_run(struct lp_bench_pack *pack, const void *elements, struct lp_error *err);

#endif
