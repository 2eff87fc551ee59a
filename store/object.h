/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor: what it is, where it lies, and how far it has come.
 *
 *     created --> sealing --> sealed --> deleted
 *        |           |
 *        +-----------+--> aborted
 *
 * sealing: a ticket is out. deleted: no name leads to it any more, leases may. aborted: given up
 * while its ticket was out; the ticket ends it. What is neither created nor sealing never goes
 * back.
 *
 * Book-keeping of one object only; the tables it stands in are the store's. */
#ifndef LP_STORE_OBJECT_H
#define LP_STORE_OBJECT_H

#include "base/list.h"
#include "store/index.h"
#include "store/store.h"

enum lp_object_state {
    LP_OBJECT_CREATED,
    LP_OBJECT_SEALING,
    LP_OBJECT_SEALED,
    LP_OBJECT_DELETED,
    LP_OBJECT_ABORTED
};

struct lp_owner;

struct lp_object {
    uint64_t oid;
    uint32_t state; /* enum lp_object_state; written by the owner's thread, read by run: atomic */
    struct lp_entry *entry; /* borrowed; NULL once deleted or aborted */
    struct lp_owner *owner; /* borrowed; whose end ends it; NULL: nobody's */
    struct lp_list owner_link;
    struct lp_list ttl_link; /* in the order of deadlines, while created */
    uint64_t deadline_ns;
    struct lp_geometry geometry;
    uint32_t codec, layout; /* while unsealed as create said, so perhaps 0 */
    bool replace, ephemeral;
    char *tag;        /* owned; "" when there is none */
    uint64_t version; /* from here on known when sealed */
    uint64_t stored_bytes, wire_bytes, record_bytes, n_records, raw_records, fingerprint;
    uint32_t leases;
    uint32_t n_extents;
    struct lp_shm_extent *extents; /* owned */
};

/* Check what create asks for and make the object, created. Returns new; lp_store_object_free() ends
 * it. LP_EINVAL, LP_ESIZE, LP_ENAME, LP_ENOMEM. */
int lp_store_object_new(uint64_t oid, const struct lp_store_create *create,
                        struct lp_object **ret_object, struct lp_error *err);

/* Frees the description; extents have been given back, lists left. NULL is fine. */
void lp_store_object_free(struct lp_object *object);

enum lp_object_state lp_store_object_state(const struct lp_object *object);

/* Change the state; asserts that the move is one of those drawn above. */
void lp_store_object_move(struct lp_object *object, enum lp_object_state state);

/* Compare a parsed head with what was created. LP_EINVAL names the first difference. */
int lp_store_object_match(const struct lp_object *object, const struct lp_table *table,
                          struct lp_error *err);

/* Take over what the checked head says. */
void lp_store_object_describe(struct lp_object *object, const struct lp_table *table);

/* name and extents of the info are borrowed from the object and its entry. */
void lp_store_object_info(const struct lp_object *object, struct lp_store_info *ret_info);

#endif
