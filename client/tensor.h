/* SPDX-License-Identifier: Apache-2.0 */
/* An opened tensor: its head, checked and copied; its extents, mapped; a lease that keeps them. */
#ifndef LP_CLIENT_TENSOR_H
#define LP_CLIENT_TENSOR_H

#include "client/session.h"
#include "codec/view.h"

struct lp_device_table; /* what a device knows of the tensor: client/backend_cuda.c */

struct lp_tensor {
    struct lp_session *session; /* a reference */
    uint64_t connection, lease;
    struct lp_tensor_info info;
    struct lp_table table;         /* our own, checked copy of the head */
    struct lp_view view;           /* index and segments in shared memory, table above */
    const uint8_t **segments;      /* owned; view.segments */
    struct lp_shm_extent *extents; /* owned; 0 is the head */
    struct lp_chunk_map **maps;    /* owned array, counted maps; one per extent */
    uint32_t n_extents;
    struct lp_device_table *device; /* owned by the backend; NULL until a device reads */
};

/* Turn an answer to open into a tensor: under the session's lock. takes object->extents and
 * object->lease on success. */
int lp_tensor_make(struct lp_session *session, struct lp_link_object *object, uint64_t deadline_ns,
                   struct lp_tensor **ret_tensor, struct lp_error *err);

/* No system call: LP_EFORK, or LP_ESTALE when the connection that holds the lease was cut while the
 * daemon lives on. */
int lp_tensor_check(const struct lp_tensor *tensor, struct lp_error *err);

#endif
