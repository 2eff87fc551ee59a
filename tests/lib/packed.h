/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor packed into memory, each segment in a block of its own that ends where it must end, so
 * that sanitizers see every byte read too far. */
#ifndef LP_TESTS_PACKED_H
#define LP_TESTS_PACKED_H

#include "base/error.h"
#include "codec/plan.h"
#include "codec/view.h"

struct packed {
    struct lp_table table; /* as planned and filled in by the packer */
    uint8_t *head;         /* table.head_bytes, aligned to 64 */
    uint8_t **segments;
    struct lp_view view; /* of all the above */
    uint32_t pieces;     /* commits of the sink */
};

/* Plan and pack n elements of data; planned again as raw when no record shrinks. step: elements per
 * append, 0 for all at once. 0 or what failed; on failure nothing is owned. */
int packed_make(struct packed *ret_packed, const struct lp_geometry *geometry,
                const struct lp_plan_params *params, const void *data, uint64_t step,
                struct lp_error *err);

/* The same, all at once, with a plan that change() has altered: codec, its parameters and its
 * meta_bytes, layout and align_bytes; the sizes that follow are derived anew. */
typedef int packed_change(struct lp_table *table, void *user, struct lp_error *err);
int packed_make_changed(struct packed *ret_packed, const struct lp_geometry *geometry,
                        const struct lp_plan_params *params, packed_change *change, void *user,
                        const void *data, struct lp_error *err);
void packed_fini(struct packed *packed);

/* The same, for one dtype and shape; the test ends when anything fails. */
void packed_must(struct packed *ret_packed, uint32_t dtype, uint32_t ndim, const uint64_t *dims,
                 const struct lp_plan_params *params, const void *data);

/* The header's hash written anew, after a test has changed a field. */
void packed_seal_header(uint8_t *head);

#endif
