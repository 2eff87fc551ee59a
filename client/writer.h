/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor in the making: rows in, packed records in arenas, one seal.
 *
 * open -> (rows held back until the codec is chosen) -> packing -> sealed or aborted. */
#ifndef LP_CLIENT_WRITER_H
#define LP_CLIENT_WRITER_H

#include "client/names.h"
#include "client/packing.h"

/* A run of elements as they came in, to be found again by LP_PUT_VERIFY. */
struct lp_writer_run {
    uint64_t n_elements, hash;
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

/* A caller's options, of this or another version of the header; NULL: the defaults. LP_EINVAL,
 * LP_ENOTSUP. */
int lp_writer_read_options(struct lp_put_options *ret_options, const struct lp_put_options *options,
                           struct lp_error *err);

/* A caller's shape, checked. LP_EINVAL, LP_ENOTSUP, LP_ESIZE. */
int lp_writer_read_shape(struct lp_geometry *ret_geometry, const struct lp_shape *shape,
                         struct lp_error *err);

#endif
