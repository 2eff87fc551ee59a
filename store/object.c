/* SPDX-License-Identifier: Apache-2.0 */
#include "store/object.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "codec/lpk.h"

#include <assert.h>
#include <string.h>

/* Which states may follow each. */
static const uint32_t moves[] = {
    [LP_OBJECT_CREATED] = 1u << LP_OBJECT_SEALING | 1u << LP_OBJECT_ABORTED,
    [LP_OBJECT_SEALING] = 1u << LP_OBJECT_SEALED | 1u << LP_OBJECT_ABORTED,
    [LP_OBJECT_SEALED] = 1u << LP_OBJECT_DELETED,
    [LP_OBJECT_DELETED] = 0,
    [LP_OBJECT_ABORTED] = 0,
};

enum lp_object_state lp_store_object_state(const struct lp_object *object)
{
    return (enum lp_object_state)lp_atomic_load_acquire_u32(&object->state);
}

void lp_store_object_move(struct lp_object *object, enum lp_object_state state)
{
    const bool allowed = (moves[lp_store_object_state(object)] >> state & 1) != 0;

    assert(allowed);
    (void)allowed;
    lp_atomic_store_release_u32(&object->state, state);
}

/* --- making ---------------------------------------------------------------------------------- */

static int check_create(const struct lp_store_create *create, struct lp_error *err)
{
    int rc;

    rc = lp_codec_name_check(create->name_space, strlen(create->name_space), err);
    if (rc < 0)
        return lp_error_wrap(err, LP_ENAME, "namespace");
    LP_TRY(rc, lp_codec_name_check(create->name, strlen(create->name), err));
    if (create->tag != NULL && create->tag[0] != 0 &&
        lp_codec_name_check(create->tag, strlen(create->tag), err) < 0)
        return lp_error_wrap(err, LP_ENAME, "tag");
    if (create->codec >= LP_CODEC_END)
        return lp_error_set(err, LP_EINVAL, "no codec has the number %u", create->codec);
    if (create->layout >= LP_LAYOUT_END)
        return lp_error_set(err, LP_EINVAL, "no layout has the number %u", create->layout);
    if (create->replace && create->if_absent)
        return lp_error_set(err, LP_EINVAL, "replace and if_absent exclude each other");
    return 0;
}

int lp_store_object_new(uint64_t oid, const struct lp_store_create *create,
                        struct lp_object **ret_object, struct lp_error *err)
{
    struct lp_geometry geometry;
    int rc;

    LP_TRY(rc, check_create(create, err));
    LP_TRY(rc, lp_codec_geometry_init(&geometry, create->dtype, create->ndim, create->dims, err));
    struct lp_object *object = lp_mem_zalloc(sizeof(*object));
    char *tag = lp_mem_strdup(create->tag != NULL ? create->tag : "");
    if (object == NULL || tag == NULL) {
        lp_mem_free(object);
        lp_mem_free(tag);
        return lp_error_set(err, LP_ENOMEM, "no memory to describe an object");
    }
    object->oid = oid;
    object->state = LP_OBJECT_CREATED;
    object->geometry = geometry;
    object->codec = create->codec;
    object->layout = create->layout;
    object->replace = create->replace;
    object->ephemeral = create->ephemeral;
    object->tag = tag;
    lp_list_init(&object->owner_link);
    lp_list_init(&object->ttl_link);
    *ret_object = object;
    return 0;
}

void lp_store_object_free(struct lp_object *object)
{
    if (object == NULL)
        return;
    lp_mem_free(object->tag);
    lp_mem_free(object->extents);
    lp_mem_free(object);
}

/* --- sealing --------------------------------------------------------------------------------- */

int lp_store_object_match(const struct lp_object *object, const struct lp_table *table,
                          struct lp_error *err)
{
    const struct lp_geometry *want = &object->geometry, *have = &table->geometry;

    if (have->dtype != want->dtype)
        return lp_error_set(err, LP_EINVAL, "head has dtype %u, create said %u", have->dtype,
                            want->dtype);
    if (have->ndim != want->ndim)
        return lp_error_set(err, LP_EINVAL, "head has %u dimensions, create said %u", have->ndim,
                            want->ndim);
    for (uint32_t i = 0; i < have->ndim; i++)
        if (have->dims[i] != want->dims[i])
            return lp_error_set(err, LP_EINVAL, "head has %llu in dimension %u, create said %llu",
                                (unsigned long long)have->dims[i], i,
                                (unsigned long long)want->dims[i]);
    if (object->codec != LP_CODEC_AUTO && table->codec != object->codec)
        return lp_error_set(err, LP_EINVAL, "head has codec %u, create said %u", table->codec,
                            object->codec);
    if (object->layout != 0 && table->layout != object->layout)
        return lp_error_set(err, LP_EINVAL, "head has layout %u, create said %u", table->layout,
                            object->layout);
    return 0;
}

/* What a reader relies on beside the bytes: format version, dtype, shape, codec, layout, record
 * size and tag, as little-endian numbers of 8 bytes and then the tag. */
static uint64_t fingerprint_of(const struct lp_object *object, const struct lp_table *table)
{
    uint64_t word[7 + LP_FORMAT_DIMS_MAX] = {0};

    lp_store_u64(&word[0], LP_FORMAT_VERSION);
    lp_store_u64(&word[1], table->geometry.dtype);
    lp_store_u64(&word[2], table->geometry.ndim);
    for (uint32_t i = 0; i < table->geometry.ndim; i++)
        lp_store_u64(&word[3 + i], table->geometry.dims[i]);
    lp_store_u64(&word[3 + LP_FORMAT_DIMS_MAX], table->codec);
    lp_store_u64(&word[4 + LP_FORMAT_DIMS_MAX], table->layout);
    lp_store_u64(&word[5 + LP_FORMAT_DIMS_MAX], table->record_bytes);
    lp_store_u64(&word[6 + LP_FORMAT_DIMS_MAX], lp_codec_hash(object->tag, strlen(object->tag)));
    return lp_codec_hash(word, sizeof(word));
}

void lp_store_object_describe(struct lp_object *object, const struct lp_table *table)
{
    object->codec = table->codec;
    object->layout = table->layout;
    object->stored_bytes = lp_codec_table_stored_bytes(table);
    object->wire_bytes = table->wire_bytes;
    object->record_bytes = table->record_bytes;
    object->n_records = table->n_records;
    object->raw_records = table->raw_records;
    object->fingerprint = fingerprint_of(object, table);
}

void lp_store_object_info(const struct lp_object *object, struct lp_store_info *ret_info)
{
    memset(ret_info, 0, sizeof(*ret_info));
    ret_info->name = object->entry != NULL ? object->entry->name : "";
    ret_info->tag = object->tag;
    ret_info->oid = object->oid;
    ret_info->dtype = object->geometry.dtype;
    ret_info->ndim = object->geometry.ndim;
    memcpy(ret_info->dims, object->geometry.dims, sizeof(ret_info->dims));
    ret_info->codec = object->codec;
    ret_info->layout = object->layout;
    ret_info->version = object->version;
    ret_info->logical_bytes = object->geometry.logical_bytes;
    ret_info->stored_bytes = object->stored_bytes;
    ret_info->wire_bytes = object->wire_bytes;
    ret_info->record_bytes = object->record_bytes;
    ret_info->n_records = object->n_records;
    ret_info->raw_records = object->raw_records;
    ret_info->fingerprint = object->fingerprint;
    ret_info->leases = object->leases;
    ret_info->ephemeral = object->ephemeral;
    ret_info->n_extents = object->n_extents;
    ret_info->extents = object->extents;
}
