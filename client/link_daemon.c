/* SPDX-License-Identifier: Apache-2.0 */
/* Objects from the daemon: each function is one request of docs/PROTOCOL.md.
 *
 * A connection that is found lost is made anew once, and the request asked again where asking twice
 * does no harm. What belonged to the lost connection (arenas, objects in the making, leases) is
 * LP_ESTALE from then on. */
#include "client/link_daemon.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "proto/method.h"

#include <string.h>

#define LINE_BYTES_AROUND 4096u /* of a request, besides its list */

static json_t *name_list(const char *const *names, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(list, json_string(names[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* How many of n names go into one request: a name may need two bytes for one. */
static size_t names_a_request(const struct lp_link_daemon *link, const char *const *names, size_t n)
{
    size_t room = link->call.line_max - LINE_BYTES_AROUND;
    size_t i = 0;

    while (i < n && i < LP_LINK_ITEMS_A_REQUEST && 2 * strlen(names[i]) + 3 <= room) {
        room -= 2 * strlen(names[i]) + 3;
        i++;
    }
    return LP_MAX(i, (size_t)1);
}

static json_int_t left_ms(uint64_t deadline_ns, uint64_t most_ms)
{
    const uint64_t now_ns = lp_clock_now_ns();

    return deadline_ns > now_ns ? (json_int_t)LP_MIN((deadline_ns - now_ns) / LP_NS_PER_MS, most_ms)
                                : 0;
}

/* --- the table's functions ------------------------------------------------------------------- */

static bool link_is_cut(void *user, uint64_t connection)
{
    return connection <= lp_atomic_load_acquire_u64(&((struct lp_link_daemon *)user)->cut_up_to);
}

static uint64_t link_connection(void *user)
{
    const struct lp_link_daemon *link = user;

    return link->call.sock >= 0 ? link->connection : 0;
}

static int link_get_info(void *user, struct lp_client_info *ret_info, uint64_t deadline_ns,
                         struct lp_error *err)
{
    struct lp_link_daemon *link = user;
    struct lp_client_info info = {.struct_size = sizeof(info), .n_pools = 1, .capability = "none"};
    const json_t *pool;
    json_t *result = NULL;
    int rc;

    LP_TRY(rc, lp_link_ask(link, LP_LINK_ASK_AGAIN, 0, "daemon.status", json_object(), &result,
                           NULL, 0, deadline_ns, err));
    pool = json_object_get(result, "pool");
    if (!lp_link_read_u64(pool, "bytes", &info.pool_bytes) ||
        !lp_link_read_u64(pool, "chunk", &info.chunk_bytes))
        rc = lp_link_protocol_error("daemon.status", err);
    info.ready = json_is_true(json_object_get(result, "ready"));
    json_decref(result);
    if (rc < 0)
        return rc;
    info.epoch = link->epoch;
    info.protocol = link->protocol;
    memcpy(info.server, link->server, sizeof(info.server));
    *ret_info = info;
    return 0;
}

static int link_call(void *user, const char *method, const char *params_json, char **ret_json,
                     uint64_t deadline_ns, struct lp_error *err)
{
    json_t *params =
        json_loads(params_json != NULL ? params_json : "{}", JSON_REJECT_DUPLICATES, NULL);
    const struct lp_method *known;
    json_t *result = NULL;
    size_t bytes;
    char *text;
    int rc;

    if (!json_is_object(params)) {
        json_decref(params);
        return lp_error_set(err, LP_EINVAL, "%s: the parameters are no JSON object", method);
    }
    known = lp_proto_method_find(method, NULL); /* a newer daemon may know more */
    if (known != NULL && (known->flags & (LP_METHOD_FIRST | LP_METHOD_FDS)) != 0) {
        json_decref(params);
        return lp_error_set(err, LP_ENOTSUP, "%s belongs to the library's own connection", method);
    }
    LP_TRY(rc, lp_link_ask(user, LP_LINK_ASK_AGAIN, 0, method, params, &result, NULL, 0,
                           deadline_ns, err));
    bytes = json_dumpb(result, NULL, 0, JSON_COMPACT);
    text = lp_mem_alloc(bytes + 1);
    if (text != NULL) {
        (void)json_dumpb(result, text, bytes, JSON_COMPACT);
        text[bytes] = '\0';
        *ret_json = text;
    }
    json_decref(result);
    return text != NULL ? 0 : lp_error_set(err, LP_ENOMEM, "no memory for %s's answer", method);
}

static int link_arena_open(void *user, struct lp_link_arena *ret_arena, uint64_t deadline_ns,
                           struct lp_error *err)
{
    struct lp_link_daemon *link = user;
    json_t *params = json_pack("{s:I}", "deadline_ms",
                               left_ms(deadline_ns, LP_PROTO_ARENA_WAIT_MS_MAX) * 9 / 10);
    uint64_t arena = 0, chunk = 0, bytes = 0;
    struct lp_fdset fds = {.count = 0};
    json_t *result = NULL;
    bool good;
    int rc;

    LP_TRY(rc, lp_link_ask(link, LP_LINK_ASK_AGAIN, 0, "arena.open", params, &result, &fds, 1,
                           deadline_ns, err));
    good = lp_link_read_u64(result, "arena", &arena) && lp_link_read_u64(result, "chunk", &chunk) &&
           lp_link_read_u64(result, "bytes", &bytes) && arena <= UINT32_MAX && chunk <= UINT32_MAX;
    json_decref(result);
    if (!good) {
        lp_fdset_close(&fds);
        return lp_link_protocol_error("arena.open", err);
    }
    *ret_arena = (struct lp_link_arena){(uint32_t)arena, (uint32_t)chunk, bytes, link->connection,
                                        fds.fd[0]};
    return 0;
}

/* A request whose answer holds nothing of use; on another connection there is nothing left to hand
 * back. */
static int hand_back(struct lp_link_daemon *link, uint64_t connection, const char *method,
                     json_t *params, uint64_t deadline_ns, struct lp_error *err)
{
    json_t *result = NULL;
    int rc;

    if (link->call.sock < 0 || connection != link->connection) {
        json_decref(params);
        return 0;
    }
    rc = lp_link_ask(link, LP_LINK_ASK_ONCE, connection, method, params, &result, NULL, 0,
                     deadline_ns, err);
    json_decref(result);
    return rc;
}

static int link_arena_close(void *user, uint64_t connection, uint32_t arena, uint64_t deadline_ns,
                            struct lp_error *err)
{
    return hand_back(user, connection, "arena.close",
                     json_pack("{s:I}", "arena", (json_int_t)arena), deadline_ns, err);
}

static int link_release(void *user, uint64_t connection, uint64_t lease, uint64_t deadline_ns,
                        struct lp_error *err)
{
    return hand_back(user, connection, "object.release",
                     json_pack("{s:[I]}", "leases", (json_int_t)lease), deadline_ns, err);
}

static int link_abort(void *user, uint64_t connection, uint64_t oid, uint64_t deadline_ns,
                      struct lp_error *err)
{
    return hand_back(user, connection, "object.abort",
                     json_pack("{s:[I]}", "oids", (json_int_t)oid), deadline_ns, err);
}

static json_t *create_item(const struct lp_link_create *create)
{
    const struct lp_geometry *geometry = create->geometry;
    json_t *shape = json_array();
    json_t *flags = json_array();

    for (uint32_t i = 0; i < geometry->ndim; i++)
        (void)json_array_append_new(shape, json_integer((json_int_t)geometry->dims[i]));
    if ((create->flags & LP_PUT_REPLACE) != 0)
        (void)json_array_append_new(flags, json_string("replace"));
    if ((create->flags & LP_PUT_IF_ABSENT) != 0)
        (void)json_array_append_new(flags, json_string("if_absent"));
    if ((create->flags & LP_PUT_EPHEMERAL) != 0)
        (void)json_array_append_new(flags, json_string("ephemeral"));
    return json_pack("{s:s, s:{s:s, s:o}, s:s, s:s, s:o, s:s}", "name", create->name, "tensor",
                     "dtype", lp_codec_dtype_info(geometry->dtype)->name, "shape", shape, "codec",
                     lp_codec_id_name(create->codec), "layout",
                     lp_codec_layout_name(create->layout), "flags", flags, "tag",
                     create->tag != NULL ? create->tag : "");
}

static int link_create(void *user, uint64_t connection, const struct lp_link_create *create,
                       uint64_t *ret_oid, uint64_t deadline_ns, struct lp_error *err)
{
    const json_t *item = NULL;
    json_t *result = NULL;
    uint64_t oid = 0;
    int rc;

    LP_TRY(rc, lp_link_ask(user, LP_LINK_ASK_ONCE, connection, "object.create",
                           json_pack("{s:[o]}", "items", create_item(create)), &result, NULL, 0,
                           deadline_ns, err));
    rc = lp_link_only_item("object.create", result, &item, err);
    if (rc == 0 && !json_is_true(json_object_get(item, "exists")) &&
        (!lp_link_read_u64(item, "oid", &oid) || oid == 0))
        rc = lp_link_protocol_error("object.create", err);
    json_decref(result);
    if (rc == 0)
        *ret_oid = oid;
    return rc;
}

static json_t *part_list(const struct lp_link_part *parts, uint32_t n_parts)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < n_parts; i++)
        (void)json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:b}", "arena", (json_int_t)parts[i].arena, "offset",
                            (json_int_t)parts[i].offset, "bytes", (json_int_t)parts[i].bytes,
                            "adopt", (int)parts[i].adopt));
    return list;
}

static int link_seal(void *user, uint64_t connection, uint64_t oid,
                     const struct lp_link_part *parts, uint32_t n_parts,
                     struct lp_tensor_info *ret_info, uint64_t deadline_ns, struct lp_error *err)
{
    json_t *params = json_pack("{s:[{s:I, s:o}], s:I}", "items", "oid", (json_int_t)oid, "parts",
                               part_list(parts, n_parts), "deadline_ms",
                               left_ms(deadline_ns, LP_PROTO_SEAL_WAIT_MS_MAX));
    const json_t *item = NULL;
    json_t *result = NULL;
    const char *name;
    int rc;

    LP_TRY(rc, lp_link_ask(user, LP_LINK_ASK_ONCE, connection, "object.seal", params, &result, NULL,
                           0, deadline_ns, err));
    rc = lp_link_only_item("object.seal", result, &item, err);
    if (rc == 0 && !lp_link_read_info(user, item, ret_info, &name))
        rc = lp_link_protocol_error("object.seal", err);
    json_decref(result);
    return rc;
}

static int read_extents(const json_t *list, struct lp_link_object *object, struct lp_error *err)
{
    const size_t n = json_array_size(list);
    const json_t *triple;
    size_t i;

    if (n == 0 || n > LP_SHM_EXTENTS_MAX)
        return lp_error_set(err, LP_EPROTO, "object.open: %zu extents", n);
    object->extents = lp_mem_alloc_array(n, sizeof(*object->extents));
    if (object->extents == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %zu extents", n);
    json_array_foreach(list, i, triple)
    {
        json_int_t chunk = -1, offset = -1, bytes = -1;

        if (json_unpack((json_t *)(uintptr_t)triple, "[I,I,I]", &chunk, &offset, &bytes) != 0 ||
            chunk < 0 || chunk > UINT32_MAX || offset < 0 || bytes < 0)
            return lp_error_set(err, LP_EPROTO,
                                "object.open: extent %zu is not chunk, offset and bytes", i);
        object->extents[i] =
            (struct lp_shm_extent){(uint32_t)chunk, (uint64_t)offset, (uint64_t)bytes};
    }
    object->n_extents = (uint32_t)n;
    return 0;
}

static void read_object(struct lp_link_daemon *link, const json_t *item,
                        struct lp_link_object *object)
{
    const char *name;

    object->code = lp_link_item_error(item, &object->error);
    if (object->code < 0)
        return;
    object->connection = link->connection;
    object->epoch = link->epoch;
    if (!lp_link_read_u64(item, "lease", &object->lease) ||
        !lp_link_read_info(link, json_object_get(item, "info"), &object->info, &name))
        object->code = lp_link_protocol_error("object.open", &object->error);
    else
        object->code = read_extents(json_object_get(item, "extents"), object, &object->error);
}

/* Items for which an answer had no room (LP_ESIZE) are asked for again, as long as each answer
 * brings some. */
static int link_open(void *user, const char *const *names, size_t n,
                     struct lp_link_object *ret_objects, uint64_t deadline_ns, struct lp_error *err)
{
    struct lp_link_daemon *link = user;
    size_t done = 0;
    int rc;

    while (done < n) {
        const size_t asked = names_a_request(link, names + done, n - done);
        json_t *result = NULL;
        const json_t *items;
        size_t got = 0;

        LP_TRY(rc, lp_link_ask(link, LP_LINK_ASK_AGAIN, 0, "object.open",
                               json_pack("{s:o}", "names", name_list(names + done, asked)), &result,
                               NULL, 0, deadline_ns, err));
        items = json_object_get(result, "items");
        if (json_array_size(items) != asked) {
            json_decref(result);
            return lp_link_protocol_error("object.open", err);
        }
        while (got < asked) {
            struct lp_link_object *object = &ret_objects[done + got];

            *object = (struct lp_link_object){.error = LP_ERROR_INIT};
            read_object(link, json_array_get(items, got), object);
            if (object->code == LP_ESIZE && got != 0)
                break;
            got++;
        }
        /* Behind one that had no room smaller ones may have come: those are asked for again, too.
         */
        for (size_t i = got; i < asked; i++)
            lp_call_note_orphan(&link->call, LP_CALL_LEASES,
                                json_object_get(json_array_get(items, i), "lease"));
        json_decref(result);
        done += got;
    }
    return 0;
}

static int link_exists(void *user, const char *const *names, size_t n, uint8_t *ret_hits,
                       uint64_t deadline_ns, struct lp_error *err)
{
    int rc;

    for (size_t done = 0; done < n;) {
        const size_t asked = names_a_request(user, names + done, n - done);
        json_t *result = NULL;
        const json_t *hits;

        LP_TRY(rc, lp_link_ask(user, LP_LINK_ASK_AGAIN, 0, "object.exists",
                               json_pack("{s:o}", "names", name_list(names + done, asked)), &result,
                               NULL, 0, deadline_ns, err));
        hits = json_object_get(result, "hits");
        if (json_array_size(hits) != asked)
            rc = lp_link_protocol_error("object.exists", err);
        for (size_t i = 0; rc == 0 && i < asked; i++)
            ret_hits[done + i] = json_is_true(json_array_get(hits, i));
        json_decref(result);
        if (rc < 0)
            return rc;
        done += asked;
    }
    return 0;
}

static int link_remove(void *user, const char *const *names, size_t n, uint64_t *ret_removed,
                       uint64_t deadline_ns, struct lp_error *err)
{
    uint64_t removed = 0;
    int rc;

    for (size_t done = 0; done < n;) {
        const size_t asked = names_a_request(user, names + done, n - done);
        json_t *result = NULL;
        uint64_t deleted = 0;

        LP_TRY(rc, lp_link_ask(user, LP_LINK_ASK_AGAIN, 0, "object.delete",
                               json_pack("{s:o}", "names", name_list(names + done, asked)), &result,
                               NULL, 0, deadline_ns, err));
        if (!lp_link_read_u64(result, "deleted", &deleted))
            rc = lp_link_protocol_error("object.delete", err);
        else if (json_array_size(json_object_get(result, "errors")) != 0)
            rc = lp_link_item_error(json_array_get(json_object_get(result, "errors"), 0), err);
        json_decref(result);
        if (rc < 0)
            return rc;
        removed += deleted;
        done += asked;
    }
    *ret_removed = removed;
    return 0;
}

static int link_list(void *user, const char *prefix, struct lp_link_page *page,
                     uint64_t deadline_ns, struct lp_error *err)
{
    json_t *params = json_pack("{s:s, s:s, s:i}", "prefix", prefix, "cursor", page->cursor, "limit",
                               (int)LP_LINK_PAGE_MAX);
    const json_t *items, *item;
    const char *cursor;
    json_t *result = NULL;
    size_t i;
    int rc;

    LP_TRY(rc, lp_link_ask(user, LP_LINK_ASK_AGAIN, 0, "object.list", params, &result, NULL, 0,
                           deadline_ns, err));
    items = json_object_get(result, "items");
    cursor = json_string_value(json_object_get(result, "cursor"));
    page->n = 0;
    if (!json_is_array(items) || json_array_size(items) > LP_LINK_PAGE_MAX || cursor == NULL ||
        strlen(cursor) >= sizeof(page->cursor))
        rc = lp_link_protocol_error("object.list", err);
    if (rc == 0) {
        memcpy(page->cursor, cursor, strlen(cursor) + 1);
        json_array_foreach(items, i, item)
        {
            const char *name;

            if (!lp_link_read_info(user, item, &page->infos[i], &name)) {
                rc = lp_link_protocol_error("object.list", err);
                break;
            }
            page->names[i] = lp_mem_strdup(name);
            if (page->names[i] == NULL) {
                rc = lp_error_set(err, LP_ENOMEM, "no memory for a name");
                break;
            }
            page->n++;
        }
    }
    while (rc < 0 && page->n != 0)
        lp_mem_free(page->names[--page->n]);
    json_decref(result);
    return rc;
}

static int link_chunks(void *user, const uint32_t *chunks, size_t n, int *ret_fds,
                       uint64_t *ret_bytes, uint64_t deadline_ns, struct lp_error *err)
{
    struct lp_link_daemon *link = user;
    json_t *list = json_array();
    struct lp_fdset fds = {.count = 0};
    json_t *result = NULL;
    const json_t *items;
    int rc;

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, json_integer((json_int_t)chunks[i]));
    LP_TRY(rc, lp_link_ask(link, LP_LINK_ASK_ONCE, link->connection, "pool.attach",
                           json_pack("{s:i, s:o}", "pool", 0, "chunks", list), &result, &fds, n,
                           deadline_ns, err));
    items = json_object_get(result, "chunks");
    if (json_array_size(items) != n)
        rc = lp_link_protocol_error("pool.attach", err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        uint64_t chunk = 0;

        if (!lp_link_read_u64(json_array_get(items, i), "chunk", &chunk) ||
            !lp_link_read_u64(json_array_get(items, i), "bytes", &ret_bytes[i]) ||
            chunk != chunks[i])
            rc = lp_link_protocol_error("pool.attach", err);
    }
    json_decref(result);
    if (rc < 0)
        lp_fdset_close(&fds);
    else
        memcpy(ret_fds, fds.fd, n * sizeof(fds.fd[0]));
    return rc;
}

const struct lp_link_ops lp_link_daemon_ops = {
    .is_cut = link_is_cut,
    .connection = link_connection,
    .get_info = link_get_info,
    .call = link_call,
    .arena_open = link_arena_open,
    .arena_close = link_arena_close,
    .create = link_create,
    .seal = link_seal,
    .abort = link_abort,
    .open = link_open,
    .release = link_release,
    .exists = link_exists,
    .remove = link_remove,
    .list = link_list,
    .chunks = link_chunks,
    .close = lp_link_daemon_close,
};
