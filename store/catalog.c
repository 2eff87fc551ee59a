/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by name: reserved, found, leased, listed, deleted. Every way in and out of the index, the
 * owners' lists and the sums goes through here. */
#include "base/alloc.h"
#include "store/store_impl.h"

#include <string.h>

/* --- ends ------------------------------------------------------------------------------------ */

/* Nobody leads to the object any more: its bytes come back. */
static void object_end(struct lp_store *store, struct lp_object *object)
{
    for (uint32_t i = 0; i < object->n_extents; i++)
        lp_store_pool_give_back(&store->pool, &object->extents[i]);
    lp_store_object_free(object);
}

/* Leave the owner's list of what it is making. */
static void leave_maker(struct lp_store *store, struct lp_object *object)
{
    (void)lp_store_idmap_take(&store->unsealed, object->oid);
    lp_list_remove(&object->ttl_link);
    lp_list_remove(&object->owner_link);
    object->owner->n_unsealed--;
    object->owner = NULL;
}

void lp_store_object_abort(struct lp_store *store, struct lp_object *object)
{
    const bool ticket_out = lp_store_object_state(object) == LP_OBJECT_SEALING;

    leave_maker(store, object);
    object->entry->pending = NULL;
    lp_store_index_settle(&store->index, object->entry);
    object->entry = NULL;
    lp_store_object_move(object, LP_OBJECT_ABORTED);
    if (!ticket_out)
        object_end(store, object);
}

void lp_store_object_delete(struct lp_store *store, struct lp_object *object)
{
    lp_list_remove(&object->owner_link);
    object->owner = NULL;
    object->entry->sealed = NULL;
    lp_store_index_settle(&store->index, object->entry);
    object->entry = NULL;
    lp_store_object_move(object, LP_OBJECT_DELETED);
    store->n_objects--;
    store->objects_by_codec[object->codec]--;
    store->logical_bytes -= object->geometry.logical_bytes;
    store->stored_bytes -= object->stored_bytes;
    store->wire_bytes -= object->wire_bytes;
    if (object->leases == 0)
        object_end(store, object);
}

void lp_store_lease_end(struct lp_store *store, struct lp_lease *lease)
{
    struct lp_object *object = lease->object;

    (void)lp_store_idmap_take(&store->leases, lease->id);
    lp_list_remove(&lease->owner_link);
    lease->owner->n_leases--;
    lp_mem_free(lease);
    if (--object->leases == 0 && lp_store_object_state(object) == LP_OBJECT_DELETED)
        object_end(store, object);
}

/* --- create, publish, abort ------------------------------------------------------------------ */

/* What stands under the name now, and what that means. 1: if_absent is satisfied. */
static int check_name(const struct lp_store *store, const struct lp_store_create *create,
                      struct lp_error *err)
{
    const struct lp_entry *entry =
        lp_store_index_find(&store->index, create->name_space, create->name);

    if (entry == NULL)
        return 0;
    if (entry->sealed != NULL && create->if_absent)
        return 1;
    if (entry->sealed != NULL && !create->replace)
        return lp_error_set(err, LP_EEXIST, "\"%.160s\" exists", create->name);
    if (entry->pending != NULL)
        return lp_error_set(err, LP_EPENDING, "\"%.160s\" is being made", create->name);
    return 0;
}

/* Enter a new object into index, table and lists; on failure it is in none. */
static int register_object(struct lp_store *store, struct lp_owner *owner,
                           const struct lp_store_create *create, struct lp_object *object,
                           struct lp_error *err)
{
    struct lp_entry *entry;
    int rc;

    LP_TRY(rc, lp_store_index_add(&store->index, create->name_space, create->name, &entry, err));
    rc = lp_store_idmap_put(&store->unsealed, object->oid, object, err);
    if (rc < 0) {
        lp_store_index_settle(&store->index, entry);
        return rc;
    }
    entry->pending = object;
    object->entry = entry;
    object->owner = owner;
    lp_list_append(&owner->unsealed, &object->owner_link);
    owner->n_unsealed++;
    if (store->params.create_ttl_ns != 0) {
        const uint64_t now = store->params.now_ns(store->params.now_user);

        object->deadline_ns = now + LP_MIN(store->params.create_ttl_ns, UINT64_MAX - now);
        lp_list_append(&store->ttl, &object->ttl_link);
    }
    return 0;
}

int lp_store_create(struct lp_store *store, uint64_t owner_id, const struct lp_store_create *create,
                    uint64_t *ret_oid, struct lp_error *err)
{
    struct lp_object *object;
    struct lp_owner *owner;
    int rc;

    LP_TRY(rc, lp_store_owner_get(store, owner_id, &owner, err));
    LP_TRY(rc, lp_store_object_new(store->last_oid + 1, create, &object, err));
    LP_TRY_GOTO(rc, check_name(store, create, err), free_object);
    if (rc == 1) {
        *ret_oid = 0;
        rc = 0;
        goto free_object;
    }
    if (owner->n_unsealed >= LP_STORE_UNSEALED_MAX) {
        rc = lp_error_set(err, LP_ELIMIT, "one connection has at most %u unsealed objects",
                          LP_STORE_UNSEALED_MAX);
        goto free_object;
    }
    LP_TRY_GOTO(rc, register_object(store, owner, create, object, err), free_object);
    store->last_oid = object->oid;
    *ret_oid = object->oid;
    return 0;

free_object:
    lp_store_object_free(object);
    return rc;
}

void lp_store_object_publish(struct lp_store *store, struct lp_object *object)
{
    struct lp_entry *entry = object->entry;
    struct lp_owner *owner = object->owner;

    if (entry->sealed != NULL)
        lp_store_object_delete(store, entry->sealed); /* pending still holds the entry */
    entry->pending = NULL;
    entry->sealed = object;
    leave_maker(store, object);
    if (object->ephemeral) {
        object->owner = owner;
        lp_list_append(&owner->ephemeral, &object->owner_link);
    }
    object->version = ++store->last_version;
    lp_store_object_move(object, LP_OBJECT_SEALED);
    store->n_objects++;
    store->objects_by_codec[object->codec]++;
    store->logical_bytes += object->geometry.logical_bytes;
    store->stored_bytes += object->stored_bytes;
    store->wire_bytes += object->wire_bytes;
}

int lp_store_abort(struct lp_store *store, uint64_t owner, uint64_t oid, struct lp_error *err)
{
    struct lp_object *object = lp_store_idmap_find(&store->unsealed, oid);

    if (object == NULL || object->owner->id != owner)
        return lp_error_set(err, LP_ENOENT, "no unsealed object %llu", (unsigned long long)oid);
    lp_store_object_abort(store, object);
    return 0;
}

uint32_t lp_store_expire(struct lp_store *store)
{
    const uint64_t now = store->params.now_ns(store->params.now_user);
    uint32_t n = 0;

    while (!lp_list_empty(&store->ttl)) {
        struct lp_object *object = LP_CONTAINER_OF(store->ttl.next, struct lp_object, ttl_link);

        if (object->deadline_ns > now)
            break;
        lp_store_object_abort(store, object);
        n++;
    }
    return n;
}

/* --- readers --------------------------------------------------------------------------------- */

static int find_sealed(const struct lp_store *store, const char *name_space, const char *name,
                       struct lp_object **ret_object, struct lp_error *err)
{
    const struct lp_entry *entry = lp_store_index_find(&store->index, name_space, name);

    if (entry == NULL)
        return lp_error_set(err, LP_ENOENT, "no object \"%.160s\"", name);
    if (entry->sealed == NULL)
        return lp_error_set(err, LP_EPENDING, "\"%.160s\" is being made", name);
    *ret_object = entry->sealed;
    return 0;
}

static int lease_new(struct lp_store *store, struct lp_owner *owner, struct lp_object *object,
                     uint64_t *ret_lease, struct lp_error *err)
{
    if (owner->n_leases >= LP_STORE_LEASES_MAX)
        return lp_error_set(err, LP_ELIMIT, "one connection has at most %u leases",
                            LP_STORE_LEASES_MAX);
    struct lp_lease *lease = lp_mem_zalloc(sizeof(*lease));
    if (lease == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a lease");
    lease->id = store->last_lease + 1;
    const int rc = lp_store_idmap_put(&store->leases, lease->id, lease, err);
    if (rc < 0) {
        lp_mem_free(lease);
        return rc;
    }
    store->last_lease = lease->id;
    lease->owner = owner;
    lease->object = object;
    lp_list_append(&owner->leases, &lease->owner_link);
    owner->n_leases++;
    object->leases++;
    *ret_lease = lease->id;
    return 0;
}

int lp_store_open(struct lp_store *store, uint64_t owner_id, const char *name_space,
                  const char *name, uint64_t *ret_lease, struct lp_store_info *ret_info,
                  struct lp_error *err)
{
    struct lp_object *object;
    struct lp_owner *owner;
    int rc;

    LP_TRY(rc, find_sealed(store, name_space, name, &object, err));
    LP_TRY(rc, lp_store_owner_get(store, owner_id, &owner, err));
    LP_TRY(rc, lease_new(store, owner, object, ret_lease, err));
    lp_store_object_info(object, ret_info);
    return 0;
}

int lp_store_release(struct lp_store *store, uint64_t owner, uint64_t id, struct lp_error *err)
{
    struct lp_lease *lease = lp_store_idmap_find(&store->leases, id);

    if (lease == NULL || lease->owner->id != owner)
        return lp_error_set(err, LP_ENOENT, "no lease %llu", (unsigned long long)id);
    lp_store_lease_end(store, lease);
    return 0;
}

int lp_store_info(struct lp_store *store, const char *name_space, const char *name,
                  struct lp_store_info *ret_info, struct lp_error *err)
{
    struct lp_object *object;
    int rc;

    LP_TRY(rc, find_sealed(store, name_space, name, &object, err));
    lp_store_object_info(object, ret_info);
    return 0;
}

int lp_store_next(struct lp_store *store, const char *name_space, const char *prefix,
                  const char *after, struct lp_store_info *ret_info, struct lp_error *err)
{
    const char *want = prefix != NULL ? prefix : "";
    const bool from_prefix = after == NULL || strcmp(after, want) < 0;
    struct lp_entry *entry =
        lp_store_index_from(&store->index, name_space, from_prefix ? want : after, from_prefix);

    while (entry != NULL && entry->sealed == NULL)
        entry = lp_store_index_from(&store->index, name_space, entry->name, false);
    if (entry == NULL || strncmp(entry->name, want, strlen(want)) != 0)
        return lp_error_set(err, LP_ENOENT, "no further object");
    lp_store_object_info(entry->sealed, ret_info);
    return 0;
}

int lp_store_delete(struct lp_store *store, const char *name_space, const char *name,
                    struct lp_error *err)
{
    const struct lp_entry *entry = lp_store_index_find(&store->index, name_space, name);

    if (entry == NULL || entry->sealed == NULL)
        return lp_error_set(err, LP_ENOENT, "no object \"%.160s\"", name);
    lp_store_object_delete(store, entry->sealed);
    return 0;
}
