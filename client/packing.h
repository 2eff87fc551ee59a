/* SPDX-License-Identifier: Apache-2.0 */
/* Packing into arenas, where records are made and stay until the seal.
 *
 * begin -> the packer takes elements -> (repack_raw) -> list_parts; end at any point. Segment i
 * lies at the start of arena i; the head is kept in this process's memory until the end, then
 * follows the last segment where there is room, else has an arena of its own. */
#ifndef LP_CLIENT_PACKING_H
#define LP_CLIENT_PACKING_H

#include "client/session.h"
#include "codec/packer.h"
#include "codec/plan.h"
#include "codec/view.h"

struct lp_writer;

/* What has been packed: by the plan, or, when no record shrank, once more as raw. */
struct lp_packing {
    struct lp_writer *writer; /* whose it is */
    struct lp_table table;
    struct lp_packer packer;
    bool packing;  /* packer and table are in use */
    uint8_t *head; /* owned: table.head_bytes; index and checks are filled as records come */
    struct lp_arena_map **arenas; /* owned: one per segment, in order */
    uint32_t n_arenas;
};

/* Plan from a sample, by the writer's parameters, and be ready for elements. layout borrows, NULL:
 * where the sample's records lie is not known. On failure lp_packing_end() is still due. */
int lp_packing_begin(struct lp_packing *packing, const void *sample, uint64_t sample_elements,
                     const struct lp_sample *layout, struct lp_error *err);

/* Hand back the arenas; a zeroed one with its writer set is fine. */
void lp_packing_end(struct lp_packing *packing);

/* What has been packed, ready to read back. segments: room for table.n_segments. */
struct lp_view lp_packing_view(const struct lp_packing *packing, const uint8_t **segments);

/* No record shrank: pack the same elements once more as raw, reading them back from the first
 * packing. */
int lp_packing_repack_raw(struct lp_writer *writer, struct lp_error *err);

/* Write the head, and list the parts of the object: table.n_segments + 1. With adopt, segments that
 * fill their arenas, all but the last, are offered for adoption. */
int lp_packing_list_parts(struct lp_packing *packing, bool adopt, struct lp_link_part *parts,
                          struct lp_error *err);

/* For what is handed back when a writer ends: after a deadline was missed, nobody waits again. */
uint64_t lp_packing_end_deadline(const struct lp_writer *writer);

#endif
