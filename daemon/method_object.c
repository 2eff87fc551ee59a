/* SPDX-License-Identifier: Apache-2.0 */
/* docs/PROTOCOL.md, "object.*", but for object.seal, which has a file of its own. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "codec/shape.h"
#include "daemon/daemon.h"
#include "daemon/handlers.h"
#include "daemon/objects.h"

#include <string.h>

#define LIST_LIMIT 100u

static size_t line_bytes(const struct lp_request *request)
{
    return (size_t)lp_conf_number(request->conn->daemon->config, LP_CONF_CONTROL_MAX_MESSAGE);
}

static struct lp_store *store_of(const struct lp_request *request)
{
    return request->conn->daemon->store;
}

/* --- object.create --- */

static int read_tensor(const json_t *tensor, struct lp_store_create *create, struct lp_error *err)
{
    const char *dtype = lp_daemon_param_text(tensor, "dtype", "");
    const json_t *shape = json_object_get(tensor, "shape");

    create->dtype = lp_codec_dtype_by_name(dtype);
    if (create->dtype == 0)
        return lp_error_set(err, LP_EINVAL, "no dtype '%.32s'", dtype);
    create->ndim = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < create->ndim; i++)
        create->dims[i] = (uint64_t)json_integer_value(json_array_get(shape, i));
    return 0;
}

static int read_coding(const json_t *item, struct lp_store_create *create, struct lp_error *err)
{
    const char *codec_name = lp_daemon_param_text(item, "codec", "");
    const char *layout_name = lp_daemon_param_text(item, "layout", "packed");
    const int codec = lp_codec_id_by_name(codec_name);
    const int layout = lp_codec_layout_by_name(layout_name);

    if (codec <= LP_CODEC_AUTO)
        return lp_error_set(err, LP_EINVAL, "no codec '%.32s' to store with", codec_name);
    if (layout <= 0)
        return lp_error_set(err, LP_EINVAL, "no layout '%.32s'", layout_name);
    create->codec = (uint32_t)codec;
    create->layout = (uint32_t)layout;
    return 0;
}

static int read_flags(const json_t *flags, struct lp_store_create *create, struct lp_error *err)
{
    for (size_t i = 0; i < json_array_size(flags); i++) {
        const char *flag = json_string_value(json_array_get(flags, i));
        if (strcmp(flag, "replace") == 0)
            create->replace = true;
        else if (strcmp(flag, "if_absent") == 0)
            create->if_absent = true;
        else if (strcmp(flag, "ephemeral") == 0)
            create->ephemeral = true;
        else
            return lp_error_set(err, LP_EINVAL,
                                "no flag '%.32s'; replace, if_absent and ephemeral are known",
                                flag);
    }
    return 0;
}

static int create_one(struct lp_request *request, const json_t *item, uint64_t *ret_oid,
                      struct lp_error *err)
{
    struct lp_store_create create = {
        .name_space = request->conn->name_space,
        .name = lp_daemon_param_text(item, "name", ""),
        .tag = lp_daemon_param_text(item, "tag", NULL),
    };
    int rc;

    LP_TRY(rc, read_tensor(json_object_get(item, "tensor"), &create, err));
    LP_TRY(rc, read_coding(item, &create, err));
    LP_TRY(rc, read_flags(json_object_get(item, "flags"), &create, err));
    return lp_store_create(store_of(request), request->conn->owner, &create, ret_oid, err);
}

int lp_daemon_method_object_create(struct lp_request *request, json_t **ret_result,
                                   struct lp_error *err)
{
    struct lp_daemon *daemon = request->conn->daemon;
    const json_t *list = json_object_get(request->params, "items");
    const json_int_t ttl_ms =
        (json_int_t)lp_conf_number(daemon->config, LP_CONF_STORE_CREATE_TTL_MS);
    struct lp_items items;

    (void)err;
    lp_daemon_items_init(&items, json_array_size(list), line_bytes(request));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct lp_error why = LP_ERROR_INIT;
        uint64_t oid = 0;
        if (create_one(request, json_array_get(list, i), &oid, &why) < 0)
            lp_daemon_items_put_error(&items, &why);
        else if (oid == 0)
            (void)lp_daemon_items_put_take(&items, json_pack("{s:b}", "exists", 1));
        else if (!lp_daemon_items_put_take(&items, json_pack("{s:I, s:I}", "oid", (json_int_t)oid,
                                                             "deadline_ms", ttl_ms)))
            (void)lp_store_abort(daemon->store, request->conn->owner, oid, NULL);
    }
    lp_daemon_upkeep_watch_unsealed(&daemon->upkeep);
    *ret_result = lp_daemon_items_result_take(&items);
    return 0;
}

int lp_daemon_method_object_abort(struct lp_request *request, json_t **ret_result,
                                  struct lp_error *err)
{
    const json_t *oids = json_object_get(request->params, "oids");
    int aborted = 0;

    (void)err;
    for (size_t i = 0; i < json_array_size(oids); i++) {
        const uint64_t oid = (uint64_t)json_integer_value(json_array_get(oids, i));
        aborted += lp_store_abort(store_of(request), request->conn->owner, oid, NULL) == 0;
    }
    *ret_result = json_pack("{s:i}", "aborted", aborted);
    return 0;
}

/* --- Readers --- */

static json_t *opened_json(const struct lp_store_info *info, uint64_t lease)
{
    return json_pack("{s:I, s:I, s:o, s:o}", "oid", (json_int_t)info->oid, "lease",
                     (json_int_t)lease, "info", lp_daemon_objects_info_json(info), "extents",
                     lp_daemon_objects_extents_json(info));
}

int lp_daemon_method_object_open(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err)
{
    struct lp_conn *conn = request->conn;
    const json_t *names = json_object_get(request->params, "names");
    struct lp_items items;

    (void)err;
    lp_daemon_items_init(&items, json_array_size(names), line_bytes(request));
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        struct lp_error why = LP_ERROR_INIT;
        struct lp_store_info info;
        uint64_t lease;
        if (lp_store_open(store_of(request), conn->owner, conn->name_space, name, &lease, &info,
                          &why) < 0)
            lp_daemon_items_put_error(&items, &why);
        else if (lp_daemon_items_put_take(&items, opened_json(&info, lease)))
            conn->daemon->stats.opens++;
        else
            (void)lp_store_release(store_of(request), conn->owner, lease, NULL);
    }
    *ret_result = lp_daemon_items_result_take(&items);
    return 0;
}

int lp_daemon_method_object_release(struct lp_request *request, json_t **ret_result,
                                    struct lp_error *err)
{
    const json_t *leases = json_object_get(request->params, "leases");
    int released = 0;

    (void)err;
    for (size_t i = 0; i < json_array_size(leases); i++) {
        const uint64_t lease = (uint64_t)json_integer_value(json_array_get(leases, i));
        released += lp_store_release(store_of(request), request->conn->owner, lease, NULL) == 0;
    }
    if (released > 0)
        lp_daemon_pool_changed(request->conn->daemon);
    *ret_result = json_pack("{s:i}", "released", released);
    return 0;
}

static bool exists(const struct lp_request *request, const json_t *name)
{
    struct lp_store_info info;

    return lp_store_info(store_of(request), request->conn->name_space, json_string_value(name),
                         &info, NULL) == 0;
}

int lp_daemon_method_object_exists(struct lp_request *request, json_t **ret_result,
                                   struct lp_error *err)
{
    const json_t *names = json_object_get(request->params, "names");
    size_t run = 0;

    (void)err;
    if (lp_daemon_param_bool(request->params, "run")) {
        while (run < json_array_size(names) && exists(request, json_array_get(names, run)))
            run++;
        *ret_result = json_pack("{s:I}", "run", (json_int_t)run);
        return 0;
    }
    json_t *hits = json_array();
    for (size_t i = 0; i < json_array_size(names); i++) {
        /* Fails only without a list; json_pack then fails, too. */
        if (json_array_append_new(hits, json_boolean(exists(request, json_array_get(names, i)))) !=
            0)
            break;
    }
    if (json_array_size(hits) < json_array_size(names)) {
        json_decref(hits);
        hits = NULL;
    }
    *ret_result = json_pack("{s:o}", "hits", hits);
    return 0;
}

int lp_daemon_method_object_info(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err)
{
    const json_t *names = json_object_get(request->params, "names");
    struct lp_items items;

    (void)err;
    lp_daemon_items_init(&items, json_array_size(names), line_bytes(request));
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        struct lp_error why = LP_ERROR_INIT;
        struct lp_store_info info;
        if (lp_store_info(store_of(request), request->conn->name_space, name, &info, &why) < 0)
            lp_daemon_items_put_error(&items, &why);
        else
            (void)lp_daemon_items_put_take(&items, lp_daemon_objects_info_json(&info));
    }
    *ret_result = lp_daemon_items_result_take(&items);
    return 0;
}

/* --- object.list --- */

/* Objects from behind *after on, at most limit and what an answer holds; *after moves along. false:
 * the list is at its end. */
static bool list_page(struct lp_request *request, const char *prefix, uint64_t limit,
                      struct lp_items *items, char *after)
{
    for (uint64_t n = 0; n < limit && items->list != NULL; n++) {
        struct lp_store_info info;
        if (lp_store_next(store_of(request), request->conn->name_space, prefix,
                          after[0] != '\0' ? after : NULL, &info, NULL) < 0)
            return false;
        json_t *item = lp_daemon_objects_info_json(&info);
        if (item != NULL &&
            json_dumpb(item, NULL, 0, JSON_COMPACT) + 1 > lp_daemon_items_room(items)) {
            json_decref(item);
            return true;
        }
        (void)lp_daemon_items_put_take(items, item);
        memcpy(after, info.name, strlen(info.name) + 1);
    }
    return true;
}

int lp_daemon_method_object_list(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err)
{
    const char *cursor = lp_daemon_param_text(request->params, "cursor", "");
    const uint64_t limit = lp_daemon_param_uint(request->params, "limit", LIST_LIMIT);
    char after[LP_PROTO_NAME_BYTES_MAX + 1];
    struct lp_items items;

    if (limit < 1 || limit > LP_PROTO_LIST_MAX)
        return lp_error_set(err, LP_RPC_EPARAMS, "params.limit: must be 1 to %u",
                            LP_PROTO_LIST_MAX);
    if (strlen(cursor) >= sizeof(after))
        return lp_error_set(err, LP_RPC_EPARAMS, "params.cursor: is none of ours");
    memcpy(after, cursor, strlen(cursor) + 1);
    /* The cursor goes into the answer, too, and may need two bytes for one. */
    lp_daemon_items_init(&items, 0, line_bytes(request) - 2 * sizeof(after));
    const bool more = list_page(request, lp_daemon_param_text(request->params, "prefix", ""), limit,
                                &items, after);
    *ret_result = json_pack("{s:o, s:s}", "items", items.list, "cursor", more ? after : "");
    return 0;
}

/* --- object.delete --- */

int lp_daemon_method_object_delete(struct lp_request *request, json_t **ret_result,
                                   struct lp_error *err)
{
    struct lp_daemon *daemon = request->conn->daemon;
    const json_t *names = json_object_get(request->params, "names");
    int deleted = 0;

    json_t *errors = json_array();
    if (errors == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the answer");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        struct lp_error why = LP_ERROR_INIT;
        const int rc = lp_store_delete(daemon->store, request->conn->name_space, name, &why);
        deleted += rc == 0;
        if (rc < 0 && rc != LP_ENOENT)
            (void)json_array_append_new(
                errors, json_pack("{s:s, s:o}", "name", name, "error", lp_proto_error_json(&why)));
    }
    daemon->stats.deletes += (uint64_t)deleted;
    if (deleted > 0)
        lp_daemon_pool_changed(daemon);
    *ret_result = json_pack("{s:i, s:o}", "deleted", deleted, "errors", errors);
    return 0;
}
