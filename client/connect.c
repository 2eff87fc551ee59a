/* SPDX-License-Identifier: Apache-2.0 */
/* The client handle: connect and close, and what is asked about names. */
#include "base/alloc.h"
#include "base/clock.h"
#include "client/names.h"
#include "client/tensor.h"
#include "client/workers.h"
#include "codec/lpk.h"
#include "proto/message.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_NS (5 * LP_NS_PER_S)
#define WORKERS_MAX 1024u
#define PATH_LOCAL "local:"

static int open_link(const struct lp_connect_options *options, uint64_t timeout_ns,
                     struct lp_session **ret_session, struct lp_error *err)
{
    const bool local = options->path != NULL && strcmp(options->path, PATH_LOCAL) == 0;
    const struct lp_link_ops *ops = local ? &lp_link_local_ops : &lp_link_daemon_ops;
    void *link;
    int rc;

    if (local)
        rc = lp_link_local_open(options, &link, err);
    else
        rc = lp_link_daemon_open(options, lp_clock_deadline_ns(timeout_ns), &link, err);
    if (rc < 0)
        return rc;
    rc = lp_session_new(ops, link, timeout_ns, ret_session, err);
    if (rc < 0)
        ops->close(link, false);
    return rc;
}

static int check_name_space(const char *name, struct lp_error *err)
{
    const size_t bytes = name != NULL ? strlen(name) : 0;
    int rc;

    if (name == NULL)
        return 0;
    if (bytes > LP_PROTO_NAMESPACE_BYTES_MAX)
        return lp_error_set(err, LP_ENAME, "the namespace has %zu bytes, at most %u are allowed",
                            bytes, LP_PROTO_NAMESPACE_BYTES_MAX);
    rc = lp_codec_name_check(name, bytes, err);
    return rc < 0 ? lp_error_wrap(err, rc, "namespace") : 0;
}

int lp_client_connect(const struct lp_connect_options *options, lp_client **ret_client,
                      struct lp_error *err)
{
    struct lp_connect_options here;
    struct lp_client *client;
    int rc;

    lp_options_init(&here, sizeof(here));
    if (options != NULL)
        LP_TRY(rc, lp_names_read_struct(&here, sizeof(here),
                                        LP_NAMES_UP_TO(struct lp_connect_options, flags), options,
                                        "lp_connect_options", err));
    if (here.flags != 0 || here.workers > WORKERS_MAX || ret_client == NULL)
        return lp_error_set(err, LP_EINVAL,
                            "lp_connect_options: flags 0x%x, workers %u (at most %u), or nowhere "
                            "to put the client",
                            here.flags, here.workers, WORKERS_MAX);
    LP_TRY(rc, check_name_space(here.name_space, err));
    client = lp_mem_zalloc(sizeof(*client));
    if (client == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a client");
    rc = open_link(&here, here.timeout_ns != 0 ? here.timeout_ns : TIMEOUT_NS, &client->session,
                   err);
    if (rc == 0 && here.workers != 0) {
        rc = lp_workers_new(here.workers, &client->session->workers, err);
        if (rc < 0)
            lp_session_unref(client->session);
    }
    if (rc < 0) {
        lp_mem_free(client);
        return rc;
    }
    *ret_client = client;
    return 0;
}

void lp_client_close(lp_client *client)
{
    struct lp_session *session;

    if (client == NULL)
        return;
    session = client->session;
    lp_workers_free(session->workers, lp_session_check(session, NULL) < 0);
    session->workers = NULL;
    lp_session_unref(session);
    lp_mem_free(client);
}

/* Check the handle and take its lock. *ret_deadline_ns: of the whole call. */
static int begin(lp_client *client, uint64_t *ret_deadline_ns, struct lp_error *err)
{
    if (client == NULL)
        return lp_error_set(err, LP_EINVAL, "no client");
    *ret_deadline_ns = lp_session_deadline(client->session, 0);
    return lp_session_lock(client->session, *ret_deadline_ns, err);
}

static void end(lp_client *client)
{
    lp_session_unlock(client->session);
}

int lp_client_get_info(lp_client *client, struct lp_client_info *ret_info, struct lp_error *err)
{
    struct lp_client_info info;
    uint64_t deadline_ns;
    int rc;

    if (ret_info == NULL || ret_info->struct_size < sizeof(uint32_t))
        return lp_error_set(err, LP_EINVAL, "lp_client_info.struct_size is not set");
    LP_TRY(rc, begin(client, &deadline_ns, err));
    rc = client->session->ops->get_info(client->session->link, &info, deadline_ns, err);
    if (rc == 0 && client->session->registered)
        (void)snprintf(info.capability, sizeof(info.capability), "pinned");
    end(client);
    if (rc == 0)
        lp_names_copy_struct(ret_info, &info, sizeof(info));
    return rc;
}

int lp_client_call(lp_client *client, const char *method, const char *params_json, char **ret_json,
                   struct lp_error *err)
{
    uint64_t deadline_ns;
    int rc;

    if (method == NULL || ret_json == NULL)
        return lp_error_set(err, LP_EINVAL, "no method, or nowhere to put the answer");
    LP_TRY(rc, begin(client, &deadline_ns, err));
    rc = client->session->ops->call(client->session->link, method, params_json, ret_json,
                                    deadline_ns, err);
    end(client);
    return rc;
}

static int check_names(const char *const *names, size_t n, struct lp_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int rc;

        if (names == NULL || names[i] == NULL)
            return lp_error_set(err, LP_EINVAL, "name %zu is NULL", i);
        rc = lp_codec_name_check(names[i], strlen(names[i]), err);
        if (rc < 0)
            return lp_error_wrap(err, rc, "name %zu", i);
    }
    return 0;
}

/* What no tensor was made of: give the lease back. */
static void drop_object(struct lp_session *session, struct lp_link_object *object,
                        uint64_t deadline_ns)
{
    if (object->lease != 0)
        (void)session->ops->release(session->link, object->connection, object->lease, deadline_ns,
                                    NULL);
    lp_mem_free(object->extents);
}

/* Make tensors of the answers. */
static int make_tensors(lp_client *client, const char *const *names, size_t n,
                        struct lp_link_object *objects, lp_tensor **ret_tensors, int *ret_codes,
                        uint64_t deadline_ns, struct lp_error *err)
{
    struct lp_session *session = client->session;
    int first = 0;

    for (size_t i = 0; i < n; i++) {
        struct lp_link_object *object = &objects[i];
        struct lp_error error = object->error;
        char label[LP_NAMES_LABEL_BYTES];
        int code = object->code;

        ret_tensors[i] = NULL;
        if (code == 0)
            code = lp_tensor_make(session, object, deadline_ns, &ret_tensors[i], &error);
        if (code < 0)
            drop_object(session, object, deadline_ns);
        if (ret_codes != NULL)
            ret_codes[i] = code;
        if (code < 0 && first == 0)
            first = lp_error_set(err, code, "%s: %s", lp_names_label(names[i], label), error.text);
    }
    return first;
}

int lp_client_open(lp_client *client, const char *const *names, size_t n, lp_tensor **ret_tensors,
                   int *ret_codes, struct lp_error *err)
{
    struct lp_link_object *objects;
    uint64_t deadline_ns;
    int rc;

    if (n == 0)
        return 0;
    if (ret_tensors == NULL || (ret_codes == NULL && n > 1))
        return lp_error_set(err, LP_EINVAL, "nowhere to put %zu tensors and their codes", n);
    LP_TRY(rc, check_names(names, n, err));
    objects = lp_mem_alloc_array(n, sizeof(*objects));
    if (objects == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to open %zu tensors", n);
    memset(objects, 0, n * sizeof(*objects));
    rc = begin(client, &deadline_ns, err);
    if (rc == 0) {
        rc = client->session->ops->open(client->session->link, names, n, objects, deadline_ns, err);
        if (rc == 0)
            rc = make_tensors(client, names, n, objects, ret_tensors, ret_codes, deadline_ns, err);
        else
            for (size_t i = 0; i < n; i++)
                drop_object(client->session, &objects[i], deadline_ns);
        end(client);
    }
    lp_mem_free(objects);
    return rc;
}

int lp_client_exists(lp_client *client, const char *const *names, size_t n, uint8_t *ret_hits,
                     struct lp_error *err)
{
    uint64_t deadline_ns;
    uint8_t *hits;
    int rc;

    if (n == 0)
        return 0;
    if (ret_hits == NULL)
        return lp_error_set(err, LP_EINVAL, "nowhere to put %zu hits", n);
    LP_TRY(rc, check_names(names, n, err));
    hits = lp_mem_alloc(n);
    if (hits == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to look for %zu names", n);
    rc = begin(client, &deadline_ns, err);
    if (rc == 0) {
        rc = client->session->ops->exists(client->session->link, names, n, hits, deadline_ns, err);
        end(client);
    }
    if (rc == 0)
        memcpy(ret_hits, hits, n);
    lp_mem_free(hits);
    return rc;
}

int lp_client_remove(lp_client *client, const char *const *names, size_t n, uint64_t *ret_removed,
                     struct lp_error *err)
{
    uint64_t deadline_ns, removed = 0;
    int rc;

    LP_TRY(rc, check_names(names, n, err));
    LP_TRY(rc, begin(client, &deadline_ns, err));
    rc = client->session->ops->remove(client->session->link, names, n, &removed, deadline_ns, err);
    end(client);
    if (rc == 0 && ret_removed != NULL)
        *ret_removed = removed;
    return rc;
}

/* No lock is held while the caller is called back. */
int lp_client_list(lp_client *client, const char *prefix, lp_list_cb callback, void *user,
                   struct lp_error *err)
{
    struct lp_link_page *page;
    int rc = 0;

    if (callback == NULL)
        return lp_error_set(err, LP_EINVAL, "nobody to call back");
    if (prefix != NULL && prefix[0] != '\0')
        rc = lp_codec_name_check(prefix, strlen(prefix), err);
    if (rc < 0)
        return lp_error_wrap(err, rc, "prefix");
    page = lp_mem_zalloc(sizeof(*page));
    if (page == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a listing");
    do {
        uint64_t deadline_ns;

        rc = begin(client, &deadline_ns, err);
        if (rc < 0)
            break;
        page->n = 0;
        rc = client->session->ops->list(client->session->link, prefix != NULL ? prefix : "", page,
                                        deadline_ns, err);
        end(client);
        for (uint32_t i = 0; i < page->n; i++) {
            if (rc == 0)
                rc = callback(user, page->names[i], &page->infos[i]);
            lp_mem_free(page->names[i]);
        }
    } while (rc == 0 && page->cursor[0] != '\0');
    lp_mem_free(page);
    return rc;
}
