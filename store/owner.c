/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds what: made at the first thing that a connection gets, ended with the connection. */
#include "base/alloc.h"
#include "store/store_impl.h"

int lp_store_owner_get(struct lp_store *store, uint64_t id, struct lp_owner **ret_owner,
                       struct lp_error *err)
{
    if (id == 0)
        return lp_error_set(err, LP_EINVAL, "0 is nobody");
    struct lp_owner *owner = lp_store_idmap_find(&store->owners, id);
    if (owner == NULL) {
        owner = lp_mem_zalloc(sizeof(*owner));
        if (owner == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory for an owner");
        owner->id = id;
        lp_list_init(&owner->arenas);
        lp_list_init(&owner->unsealed);
        lp_list_init(&owner->ephemeral);
        lp_list_init(&owner->leases);
        const int rc = lp_store_idmap_put(&store->owners, id, owner, err);
        if (rc < 0) {
            lp_mem_free(owner);
            return rc;
        }
    }
    *ret_owner = owner;
    return 0;
}

void lp_store_owner_end(struct lp_store *store, uint64_t id)
{
    struct lp_owner *owner = lp_store_idmap_find(&store->owners, id);

    if (owner == NULL)
        return;
    while (!lp_list_empty(&owner->leases))
        lp_store_lease_end(store, LP_CONTAINER_OF(owner->leases.next, struct lp_lease, owner_link));
    while (!lp_list_empty(&owner->unsealed))
        lp_store_object_abort(store,
                              LP_CONTAINER_OF(owner->unsealed.next, struct lp_object, owner_link));
    while (!lp_list_empty(&owner->ephemeral))
        lp_store_object_delete(
            store, LP_CONTAINER_OF(owner->ephemeral.next, struct lp_object, owner_link));
    while (!lp_list_empty(&owner->arenas))
        lp_store_arena_end(store, LP_CONTAINER_OF(owner->arenas.next, struct lp_arena, owner_link));
    (void)lp_store_idmap_take(&store->owners, id);
    lp_mem_free(owner);
}
