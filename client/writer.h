/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor in the making: rows in, packed records in arenas, one seal.
 *
 * open -> (rows held back until the codec is chosen) -> packing -> sealed or aborted. Segment i
 * lies at the start of arena i; the head is kept in this process's memory until the end, then
 * follows the last segment where there is room, else has an arena of its own. */
#ifndef LP_CLIENT_WRITER_H
#define LP_CLIENT_WRITER_H

#include "client/names.h"
#include "client/session.h"
#include "codec/packer.h"
#include "codec/plan.h"

/* A run of elements as they came in, to be found again by LP_PUT_VERIFY. */
struct lp_writer_run {
    uint64_t n_elements, hash;
};

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

struct lp_writer {
    struct lp_session *session;       /* a reference */
    char *name, *tag;                 /* owned */
    char label[LP_NAMES_LABEL_BYTES]; /* the name, for errors */
    uint32_t flags;
    uint64_t timeout_ns;
    struct lp_geometry geometry;
    struct lp_plan_params params;
    uint64_t connection, oid; /* oid 0: nothing reserved */
    bool absent_only;         /* IF_ABSENT, and the name exists: rows are counted and dropped */
    int failed;               /* of an append: rows are lost, only giving up is left */
    uint64_t elements_in;
    uint8_t *held; /* owned: rows that wait for the choice of a codec */
    uint64_t held_elements, held_capacity;
    struct lp_packing packing;
    struct lp_writer_run *runs; /* owned, for LP_PUT_VERIFY */
    uint64_t n_runs, runs_capacity;
};

#endif
