/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: strict JSON in, the table's own dump out. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CONF_DEPTH_MAX 4

/* --- Reading --- */

/* Numbers and strings as the text that a flag would have. */
static int leaf_text(const char *key, const json_t *leaf, char *text, struct lp_error *err)
{
    if (json_is_integer(leaf)) {
        (void)snprintf(text, LP_CONF_TEXT_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(leaf));
        return 0;
    }
    if (!json_is_string(leaf))
        return lp_error_set(err, LP_EINVAL, "%s: must be a string or an integer", key);
    if (json_string_length(leaf) >= LP_CONF_TEXT_BYTES)
        return lp_error_set(err, LP_ERANGE, "%s: a value of %zu bytes", key,
                            json_string_length(leaf));
    memcpy(text, json_string_value(leaf), json_string_length(leaf) + 1);
    return 0;
}

/* A count written as a string, or a mode as a number (which JSON reads as decimal), is refused
 * rather than guessed at. */
static int check_kind(const struct lp_config *config, enum lp_conf_id id, const json_t *leaf,
                      struct lp_error *err)
{
    json_t *sample = lp_conf_value_json(config, id);
    if (sample == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the configuration");
    const bool is_count = json_is_integer(sample);
    json_decref(sample);
    if (is_count && !json_is_integer(leaf))
        return lp_error_set(err, LP_EINVAL, "%s: must be an integer", lp_conf_key(id));
    if (!is_count && json_is_integer(leaf) && !lp_conf_is_size(id))
        return lp_error_set(err, LP_EINVAL, "%s: must be a string", lp_conf_key(id));
    return 0;
}

static int load_leaf(struct lp_config *config, const char *key, const json_t *leaf,
                     struct lp_error *err)
{
    char text[LP_CONF_TEXT_BYTES];
    enum lp_conf_id id;
    int rc;

    LP_TRY(rc, lp_conf_find(key, &id, err));
    LP_TRY(rc, check_kind(config, id, leaf, err));
    LP_TRY(rc, leaf_text(key, leaf, text, err));
    return lp_conf_set(config, key, text, LP_CONF_FROM_FILE, err);
}

static bool is_section(const char *path)
{
    const size_t length = strlen(path);

    for (int id = 0; id < LP_CONF_OPTIONS; id++) {
        const char *key = lp_conf_key((enum lp_conf_id)id);
        if (strncmp(key, path, length) == 0 && key[length] == '.')
            return true;
    }
    return false;
}

static int load_object(struct lp_config *config, const char *path, const json_t *object,
                       unsigned int depth, struct lp_error *err)
{
    char below[LP_CONF_TEXT_BYTES];
    const char *key;
    json_t *value;
    int rc;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        (void)snprintf(below, sizeof(below), "%.128s%s%.100s", path, path[0] != '\0' ? "." : "",
                       key);
        if (strchr(key, '.') != NULL)
            return lp_error_set(err, LP_ENAME, "unknown key '%.64s': write {\"a\": {\"b\": ...}}",
                                below);
        if (json_is_object(value) && depth < CONF_DEPTH_MAX && is_section(below))
            rc = load_object(config, below, value, depth + 1, err);
        else
            rc = load_leaf(config, below, value, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int lp_conf_load_text(struct lp_config *config, const char *name, const char *text, size_t bytes,
                      struct lp_error *err)
{
    struct lp_config loaded = *config;
    json_error_t problem;

    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL)
        return lp_error_set(err, LP_EINVAL, "%s: line %d, column %d: %s", name, problem.line,
                            problem.column, problem.text);
    int rc = 0;
    if (json_is_object(root))
        rc = load_object(&loaded, "", root, 0, err);
    else
        rc = lp_error_set(err, LP_EINVAL, "must be one JSON object");
    json_decref(root);
    if (rc < 0)
        return lp_error_wrap(err, rc, "%s", name);
    *config = loaded;
    return 0;
}

int lp_conf_load_file(struct lp_config *config, const char *path, struct lp_error *err)
{
    int fd = lp_sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return lp_error_set_errno(err, errno == ENOENT ? LP_ENOENT : LP_EIO, errno, "%s", path);
    char *text = lp_mem_alloc(LP_CONF_FILE_BYTES_MAX + 1);
    int rc;
    if (text == NULL) {
        rc = lp_error_set(err, LP_ENOMEM, "no memory to read %s", path);
    } else {
        const ssize_t bytes = lp_sys_pread_all(fd, text, LP_CONF_FILE_BYTES_MAX + 1, 0);
        if (bytes < 0)
            rc = lp_error_set_errno(err, LP_EIO, errno, "read %s", path);
        else if (bytes > (ssize_t)LP_CONF_FILE_BYTES_MAX)
            rc =
                lp_error_set(err, LP_ESIZE, "%s: more than %u bytes", path, LP_CONF_FILE_BYTES_MAX);
        else
            rc = lp_conf_load_text(config, path, text, (size_t)bytes, err);
    }
    lp_mem_free(text);
    lp_sys_close(&fd);
    return rc;
}

/* --- Writing --- */

/* Put value at the key's place, making the objects on the way. Takes value, also on failure. */
static int put_at(json_t *root, const char *key, json_t *value)
{
    char part[64];
    json_t *at = root;

    for (const char *dot = strchr(key, '.'); dot != NULL; dot = strchr(key, '.')) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(dot - key), key);
        json_t *next = json_object_get(at, part);
        if (next == NULL) {
            next = json_object();
            if (json_object_set_new(at, part, next) != 0) {
                json_decref(value);
                return -1;
            }
        }
        at = next;
        key = dot + 1;
    }
    return json_object_set_new(at, key, value);
}

struct text {
    char *bytes;
    size_t length, room;
    bool failed; /* jansson does not pass on every failure of its callback, so it is kept here */
};

static int text_append(const char *bytes, size_t length, void *user)
{
    struct text *text = user;

    if (length + 2 > text->room - text->length) {
        const size_t room = text->room * 2 + length + 512;
        char *grown = lp_mem_realloc_array(text->bytes, room, 1);
        text->failed = text->failed || grown == NULL;
        if (grown == NULL)
            return -1;
        text->bytes = grown;
        text->room = room;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

int lp_conf_dump(const struct lp_config *config, char **ret_text, struct lp_error *err)
{
    struct text text = {0};
    json_t *root = json_object();
    int failed = root == NULL;

    for (int id = 0; id < LP_CONF_OPTIONS && !failed; id++)
        failed = put_at(root, lp_conf_key((enum lp_conf_id)id),
                        lp_conf_value_json(config, (enum lp_conf_id)id));
    if (!failed)
        failed = json_dump_callback(root, text_append, &text, JSON_INDENT(4));
    json_decref(root);
    if (failed || text.failed) {
        lp_mem_free(text.bytes);
        return lp_error_set(err, LP_ENOMEM, "no memory to write the configuration");
    }
    memcpy(text.bytes + text.length, "\n", 2);
    *ret_text = text.bytes;
    return 0;
}
