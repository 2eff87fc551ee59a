/* SPDX-License-Identifier: Apache-2.0 */
/* Objects from a store in this process, path "local:": the daemon's store without a daemon.
 *
 * Chunks go through the same descriptors, seals and checks as those of a daemon, so a tensor does
 * not know where it came from. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/sys.h"
#include "client/link.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CHUNK_BYTES (32ull << 20)
#define POOL_BYTES (256ull << 20)
#define OWNER 1u /* one connection, made once */
#define CONNECTION 1u
#define EPOCH 1u /* inside of the process; 0 is told to callers */

struct link_local {
    struct lp_store *store;
    uint64_t pool_bytes;
    char *name_space; /* owned */
};

static uint64_t now_ns(void *user)
{
    (void)user;
    return lp_clock_now_ns();
}

static void free_link(struct link_local *link)
{
    lp_store_free(link->store);
    lp_mem_free(link->name_space);
    lp_mem_free(link);
}

int lp_link_local_open(const struct lp_connect_options *options, void **ret_link,
                       struct lp_error *err)
{
    struct link_local *link = lp_mem_zalloc(sizeof(*link));
    const struct lp_store_params params = {
        .pool_bytes = options->local_bytes != 0 ? options->local_bytes : POOL_BYTES,
        .chunk_bytes = CHUNK_BYTES,
        .lock = LP_STORE_LOCK_OFF,
        .create_ttl_ns = 0,
        .now_ns = now_ns,
        .epoch = EPOCH,
    };
    int rc;

    if (link == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a store");
    link->pool_bytes = params.pool_bytes;
    link->name_space = lp_mem_strdup(options->name_space != NULL ? options->name_space : "default");
    if (link->name_space == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory for a store");
    else
        rc = lp_store_new(&params, &link->store, err);
    while (rc == 0 && (rc = lp_store_prefault_step(link->store, err)) > 0)
        rc = 0;
    if (rc < 0) {
        free_link(link);
        return rc;
    }
    *ret_link = link;
    return 0;
}

static bool local_is_cut(void *user, uint64_t connection)
{
    (void)user;
    (void)connection;
    return false;
}

static uint64_t local_connection(void *user)
{
    (void)user;
    return CONNECTION;
}

static void local_close(void *user, bool inherited)
{
    (void)inherited;
    free_link(user);
}

static void read_info(const struct lp_store_info *info, struct lp_tensor_info *ret_info)
{
    struct lp_geometry geometry;

    memset(ret_info, 0, sizeof(*ret_info));
    /* The store has checked this shape; the call only derives from it. */
    (void)lp_codec_geometry_init(&geometry, info->dtype, info->ndim, info->dims, NULL);
    *ret_info = (struct lp_tensor_info){
        .struct_size = sizeof(*ret_info),
        .dtype = info->dtype,
        .ndim = info->ndim,
        .codec = info->codec,
        .layout = info->layout,
        .n_rows = geometry.n_rows,
        .row_bytes = geometry.row_bytes,
        .logical_bytes = info->logical_bytes,
        .stored_bytes = info->stored_bytes,
        .wire_bytes = info->wire_bytes,
        .record_bytes = info->record_bytes,
        .n_records = info->n_records,
        .raw_records = info->raw_records,
        .version = info->version,
        .fingerprint = info->fingerprint,
    };
    for (uint32_t i = 0; i < info->ndim; i++)
        ret_info->dims[i] = (int64_t)info->dims[i];
}

static int local_get_info(void *user, struct lp_client_info *ret_info, uint64_t deadline_ns,
                          struct lp_error *err)
{
    const struct link_local *link = user;

    (void)deadline_ns;
    (void)err;
    *ret_info = (struct lp_client_info){.struct_size = sizeof(*ret_info),
                                        .pool_bytes = link->pool_bytes,
                                        .chunk_bytes = CHUNK_BYTES,
                                        .n_pools = 1,
                                        .ready = 1,
                                        .capability = "none",
                                        .server = "local"};
    return 0;
}

static int local_call(void *user, const char *method, const char *params_json, char **ret_json,
                      uint64_t deadline_ns, struct lp_error *err)
{
    (void)user;
    (void)params_json;
    (void)ret_json;
    (void)deadline_ns;
    return lp_error_set(err, LP_ENOTSUP, "%s: there is no daemon behind \"local:\"", method);
}

static int duplicate_fd(int fd, int *ret_fd, struct lp_error *err)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (copy < 0)
        return lp_error_set_errno(err, LP_ELIMIT, errno, "a descriptor of a chunk");
    *ret_fd = copy;
    return 0;
}

static int local_arena_open(void *user, struct lp_link_arena *ret_arena, uint64_t deadline_ns,
                            struct lp_error *err)
{
    struct link_local *link = user;
    struct lp_link_arena arena = {.connection = CONNECTION, .bytes = CHUNK_BYTES};
    int tries = 0;
    int fd;
    int rc;

    (void)deadline_ns;
    /* Chunks that arenas used up are made anew when one is wanted; LP_EBUSY: the store has just
     * found one more that can be, an empty one of the pool. */
    do {
        while ((rc = lp_store_replenish(link->store, err)) > 0)
            ;
        LP_TRY(rc, rc);
        rc = lp_store_arena_open(link->store, OWNER, &arena.arena, &arena.chunk, &fd, err);
    } while (rc == LP_EBUSY && tries++ == 0);
    LP_TRY(rc, rc);
    rc = duplicate_fd(fd, &arena.fd, err);
    if (rc < 0) {
        (void)lp_store_arena_close(link->store, OWNER, arena.arena, NULL);
        return rc;
    }
    *ret_arena = arena;
    return 0;
}

static int local_arena_close(void *user, uint64_t connection, uint32_t arena, uint64_t deadline_ns,
                             struct lp_error *err)
{
    (void)connection;
    (void)deadline_ns;
    return lp_store_arena_close(((struct link_local *)user)->store, OWNER, arena, err);
}

static int local_create(void *user, uint64_t connection, const struct lp_link_create *create,
                        uint64_t *ret_oid, uint64_t deadline_ns, struct lp_error *err)
{
    struct link_local *link = user;
    struct lp_store_create ask = {
        .name_space = link->name_space,
        .name = create->name,
        .tag = create->tag,
        .dtype = create->geometry->dtype,
        .ndim = create->geometry->ndim,
        .codec = create->codec,
        .layout = create->layout,
        .replace = (create->flags & LP_PUT_REPLACE) != 0,
        .if_absent = (create->flags & LP_PUT_IF_ABSENT) != 0,
        .ephemeral = (create->flags & LP_PUT_EPHEMERAL) != 0,
    };

    (void)connection;
    (void)deadline_ns;
    memcpy(ask.dims, create->geometry->dims, sizeof(ask.dims));
    return lp_store_create(link->store, OWNER, &ask, ret_oid, err);
}

static int local_seal(void *user, uint64_t connection, uint64_t oid,
                      const struct lp_link_part *parts, uint32_t n_parts,
                      struct lp_tensor_info *ret_info, uint64_t deadline_ns, struct lp_error *err)
{
    struct link_local *link = user;
    struct lp_store_part *store_parts = lp_mem_alloc_array(n_parts, sizeof(*store_parts));
    struct lp_store_seal *seal = NULL;
    struct lp_store_info info;
    int rc;

    (void)connection;
    (void)deadline_ns;
    if (store_parts == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u parts", n_parts);
    for (uint32_t i = 0; i < n_parts; i++)
        store_parts[i] =
            (struct lp_store_part){parts[i].arena, parts[i].offset, parts[i].bytes, parts[i].adopt};
    rc = lp_store_seal_begin(link->store, OWNER, oid, store_parts, n_parts, &seal, err);
    lp_mem_free(store_parts);
    if (rc < 0)
        return rc;
    rc = lp_store_seal_run(seal, err);
    LP_TRY(rc, lp_store_seal_end_take(link->store, seal, rc, &info, rc < 0 ? NULL : err));
    read_info(&info, ret_info);
    return 0;
}

static int local_abort(void *user, uint64_t connection, uint64_t oid, uint64_t deadline_ns,
                       struct lp_error *err)
{
    (void)connection;
    (void)deadline_ns;
    return lp_store_abort(((struct link_local *)user)->store, OWNER, oid, err);
}

static int open_one(struct link_local *link, const char *name, struct lp_link_object *object)
{
    struct lp_store_info info;
    int rc;

    LP_TRY(rc, lp_store_open(link->store, OWNER, link->name_space, name, &object->lease, &info,
                             &object->error));
    object->connection = CONNECTION;
    object->epoch = EPOCH;
    read_info(&info, &object->info);
    object->extents = lp_mem_alloc_array(info.n_extents, sizeof(*object->extents));
    if (object->extents == NULL)
        return lp_error_set(&object->error, LP_ENOMEM, "no memory for %u extents", info.n_extents);
    memcpy(object->extents, info.extents, info.n_extents * sizeof(*object->extents));
    object->n_extents = info.n_extents;
    return 0;
}

static int local_open(void *user, const char *const *names, size_t n,
                      struct lp_link_object *ret_objects, uint64_t deadline_ns,
                      struct lp_error *err)
{
    (void)deadline_ns;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        ret_objects[i] = (struct lp_link_object){.error = LP_ERROR_INIT};
        ret_objects[i].code = open_one(user, names[i], &ret_objects[i]);
    }
    return 0;
}

static int local_release(void *user, uint64_t connection, uint64_t lease, uint64_t deadline_ns,
                         struct lp_error *err)
{
    (void)connection;
    (void)deadline_ns;
    return lp_store_release(((struct link_local *)user)->store, OWNER, lease, err);
}

static int local_exists(void *user, const char *const *names, size_t n, uint8_t *ret_hits,
                        uint64_t deadline_ns, struct lp_error *err)
{
    struct link_local *link = user;

    (void)deadline_ns;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        struct lp_store_info info;

        ret_hits[i] = lp_store_info(link->store, link->name_space, names[i], &info, NULL) == 0;
    }
    return 0;
}

static int local_remove(void *user, const char *const *names, size_t n, uint64_t *ret_removed,
                        uint64_t deadline_ns, struct lp_error *err)
{
    struct link_local *link = user;
    uint64_t removed = 0;

    (void)deadline_ns;
    for (size_t i = 0; i < n; i++) {
        const int rc = lp_store_delete(link->store, link->name_space, names[i], err);

        if (rc == 0)
            removed++;
        else if (rc != LP_ENOENT)
            return rc;
    }
    lp_error_clear(err);
    *ret_removed = removed;
    return 0;
}

/* The cursor is the last name of the page before. */
static int local_list(void *user, const char *prefix, struct lp_link_page *page,
                      uint64_t deadline_ns, struct lp_error *err)
{
    struct link_local *link = user;

    (void)deadline_ns;
    for (page->n = 0; page->n < LP_LINK_PAGE_MAX; page->n++) {
        struct lp_store_info info;

        if (lp_store_next(link->store, link->name_space, prefix,
                          page->cursor[0] != '\0' ? page->cursor : NULL, &info, NULL) < 0) {
            page->cursor[0] = '\0';
            return 0;
        }
        page->names[page->n] = lp_mem_strdup(info.name);
        if (page->names[page->n] == NULL) {
            while (page->n != 0)
                lp_mem_free(page->names[--page->n]);
            return lp_error_set(err, LP_ENOMEM, "no memory for a name");
        }
        read_info(&info, &page->infos[page->n]);
        memcpy(page->cursor, info.name, strlen(info.name) + 1);
    }
    return 0;
}

static int local_chunks(void *user, const uint32_t *chunks, size_t n, int *ret_fds,
                        uint64_t *ret_bytes, uint64_t deadline_ns, struct lp_error *err)
{
    struct link_local *link = user;
    size_t done = 0;
    int rc = 0;

    (void)deadline_ns;
    for (; done < n; done++) {
        const uint8_t *map;
        int fd;

        rc = lp_store_chunk(link->store, chunks[done], &fd, &map, &ret_bytes[done], err);
        if (rc == 0)
            rc = duplicate_fd(fd, &ret_fds[done], err);
        if (rc < 0)
            break;
    }
    while (rc < 0 && done != 0)
        lp_sys_close(&ret_fds[--done]);
    return rc;
}

const struct lp_link_ops lp_link_local_ops = {
    .is_cut = local_is_cut,
    .connection = local_connection,
    .get_info = local_get_info,
    .call = local_call,
    .arena_open = local_arena_open,
    .arena_close = local_arena_close,
    .create = local_create,
    .seal = local_seal,
    .abort = local_abort,
    .open = local_open,
    .release = local_release,
    .exists = local_exists,
    .remove = local_remove,
    .list = local_list,
    .chunks = local_chunks,
    .close = local_close,
};
