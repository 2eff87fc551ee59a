/* SPDX-License-Identifier: Apache-2.0 */
/* The schema is read while the value is checked; reading without a value skips. Schemas are ours,
 * so a broken one is a failed assertion, which the unit test of every schema would show. */
#include "proto/method.h"

#include "base/bytes.h"
#include "base/nearest.h"
#include "proto/message.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA_KEY_BYTES 32
#define SCHEMA_PATH_BYTES 128

static const struct lp_method methods[] = {
#define LP_METHOD(id, name, since, flags, params, result, help)                                    \
    {LP_METHOD_##id, name, since, flags, params, result, help},
#include "proto/methods.def"
};

static const struct {
    const char *name, *schema;
} named_schemas[] = {
#define LP_SCHEMA(name, schema) {name, schema},
#include "proto/methods.def"
};

const struct lp_method *lp_proto_method(enum lp_method_id id)
{
    return &methods[id];
}

const struct lp_method *lp_proto_method_find(const char *name, struct lp_error *err)
{
    struct lp_nearest nearest;

    for (size_t i = 0; i < LP_ARRAY_LEN(methods); i++) {
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    }
    lp_nearest_init(&nearest, name);
    for (size_t i = 0; i < LP_ARRAY_LEN(methods); i++)
        lp_nearest_offer(&nearest, methods[i].name);
    if (nearest.best != NULL)
        (void)lp_error_set(err, LP_RPC_EMETHOD, "no method '%.64s'; nearest is '%s'", name,
                           nearest.best);
    else
        (void)lp_error_set(err, LP_RPC_EMETHOD, "no method '%.64s'", name);
    return NULL;
}

/* --- Schemas --- */

struct check {
    const char *at; /* what of the schema comes next */
    char path[SCHEMA_PATH_BYTES];
    size_t path_length; /* < SCHEMA_PATH_BYTES: a longer path is cut */
    struct lp_error *err;
};

static int check_choice(struct check *check, const json_t *value);

static bool take(struct check *check, char c)
{
    if (*check->at != c)
        return false;
    check->at++;
    return true;
}

static size_t take_word(struct check *check, char *word)
{
    const size_t length = strspn(check->at, "abcdefghijklmnopqrstuvwxyz0123456789_");

    assert(length > 0 && length < SCHEMA_KEY_BYTES);
    memcpy(word, check->at, length);
    word[length] = '\0';
    check->at += length;
    return length;
}

/* Put a key or an index behind the path. Returns the length to go back to. */
static size_t path_push_key(struct check *check, const char *key)
{
    const size_t before = check->path_length;
    const size_t room = sizeof(check->path) - before;

    check->path_length += (size_t)snprintf(check->path + before, room, ".%.64s", key);
    check->path_length = LP_MIN(check->path_length, sizeof(check->path) - 1);
    return before;
}

static size_t path_push_index(struct check *check, size_t index)
{
    const size_t before = check->path_length;
    const size_t room = sizeof(check->path) - before;

    check->path_length += (size_t)snprintf(check->path + before, room, "[%zu]", index);
    check->path_length = LP_MIN(check->path_length, sizeof(check->path) - 1);
    return before;
}

static void path_pop(struct check *check, size_t length)
{
    check->path_length = length;
    check->path[length] = '\0';
}

static int refuse(struct check *check, const char *what)
{
    return lp_error_set(check->err, LP_RPC_EPARAMS, "%s: %s", check->path, what);
}

static bool is_uint(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_hex(const json_t *value)
{
    uint64_t pattern;

    return json_is_string(value) && lp_proto_hex_read(json_string_value(value), &pattern);
}

static int check_word(struct check *check, const json_t *value)
{
    char word[SCHEMA_KEY_BYTES];

    (void)take_word(check, word);
    if (value == NULL)
        return 0;
    if (strcmp(word, "uint") == 0)
        return is_uint(value) ? 0 : refuse(check, "must be an integer from 0");
    if (strcmp(word, "int") == 0)
        return json_is_integer(value) ? 0 : refuse(check, "must be an integer");
    if (strcmp(word, "num") == 0)
        return json_is_number(value) ? 0 : refuse(check, "must be a number");
    if (strcmp(word, "bool") == 0)
        return json_is_boolean(value) ? 0 : refuse(check, "must be true or false");
    if (strcmp(word, "text") == 0)
        return json_is_string(value) ? 0 : refuse(check, "must be a string");
    if (strcmp(word, "hex") == 0)
        return is_hex(value) ? 0 : refuse(check, "must be 16 lower-case hex digits");
    for (size_t i = 0; i < LP_ARRAY_LEN(named_schemas); i++) {
        if (strcmp(word, named_schemas[i].name) == 0) {
            const char *after = check->at;
            check->at = named_schemas[i].schema;
            const int rc = check_choice(check, value);
            check->at = after;
            return rc;
        }
    }
    assert(!"a schema uses a word that is none");
    return refuse(check, "has a broken schema");
}

static size_t take_list_end(struct check *check)
{
    size_t most = SIZE_MAX;

    if (take(check, '*')) {
        most = 0;
        while (*check->at >= '0' && *check->at <= '9')
            most = most * 10 + (size_t)(*check->at++ - '0');
    }
    const bool closed = take(check, ']');
    assert(closed);
    (void)closed;
    return most;
}

static int check_list(struct check *check, const json_t *value)
{
    const char *entry = check->at;
    char what[48];
    int rc;

    LP_TRY(rc, check_choice(check, NULL));
    const size_t most = take_list_end(check);
    const char *after = check->at;
    if (value == NULL)
        return 0;
    if (!json_is_array(value))
        return refuse(check, "must be a list");
    if (json_array_size(value) > most) {
        (void)snprintf(what, sizeof(what), "has more than %zu entries", most);
        return refuse(check, what);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const size_t before = path_push_index(check, i);
        check->at = entry;
        LP_TRY(rc, check_choice(check, json_array_get(value, i)));
        path_pop(check, before);
    }
    check->at = after;
    return 0;
}

/* One key of an object. *seen counts the keys of value that the schema has. */
static int check_field(struct check *check, const json_t *value, size_t *seen)
{
    char key[SCHEMA_KEY_BYTES];
    int rc;

    (void)take_word(check, key);
    const bool optional = take(check, '?');
    const bool colon = take(check, ':');
    assert(colon);
    (void)colon;
    const json_t *field = json_object_get(value, key);
    const size_t before = path_push_key(check, key);
    if (value != NULL && field == NULL && !optional)
        return refuse(check, "is missing");
    LP_TRY(rc, check_choice(check, field));
    path_pop(check, before);
    *seen += field != NULL;
    return 0;
}

static int check_any_keys(struct check *check, const json_t *value)
{
    const char *type = check->at;
    const char *key;
    json_t *field;
    int rc;

    LP_TRY(rc, check_choice(check, NULL));
    const char *after = check->at;
    json_object_foreach((json_t *)(uintptr_t)value, key, field)
    {
        const size_t before = path_push_key(check, key);
        check->at = type;
        LP_TRY(rc, check_choice(check, field));
        path_pop(check, before);
    }
    check->at = after;
    return 0;
}

/* Does the object schema at fields have key? The nearest key that it has is offered as well. */
static bool has_field(const char *fields, const char *key, struct lp_nearest *nearest,
                      char (*names)[SCHEMA_KEY_BYTES], size_t room)
{
    struct check skim = {.at = fields};

    for (size_t i = 0; i < room && *skim.at != '}'; i++) {
        (void)take_word(&skim, names[i]);
        if (strcmp(names[i], key) == 0)
            return true;
        lp_nearest_offer(nearest, names[i]);
        (void)take(&skim, '?');
        (void)take(&skim, ':');
        (void)check_choice(&skim, NULL);
        (void)take(&skim, ',');
    }
    return false;
}

static int refuse_unknown(struct check *check, const char *fields, const json_t *value)
{
    char names[32][SCHEMA_KEY_BYTES];
    struct lp_nearest nearest;
    char what[96];
    const char *key;
    json_t *field;

    json_object_foreach((json_t *)(uintptr_t)value, key, field)
    {
        lp_nearest_init(&nearest, key);
        if (has_field(fields, key, &nearest, names, LP_ARRAY_LEN(names)))
            continue;
        (void)path_push_key(check, key);
        if (nearest.best == NULL)
            return refuse(check, "unknown key");
        (void)snprintf(what, sizeof(what), "unknown key; nearest is '%s'", nearest.best);
        return refuse(check, what);
    }
    return refuse(check, "unknown key");
}

static int check_object(struct check *check, const json_t *value)
{
    const char *fields = check->at;
    size_t seen = 0;
    int rc;

    if (value != NULL && !json_is_object(value))
        return refuse(check, "must be an object");
    if (strncmp(fields, "*:", 2) == 0) {
        check->at += 2;
        LP_TRY(rc, check_any_keys(check, value));
        seen = json_object_size(value);
    }
    while (*check->at != '}') {
        LP_TRY(rc, check_field(check, value, &seen));
        (void)take(check, ',');
    }
    if (seen < json_object_size(value))
        return refuse_unknown(check, fields, value);
    check->at++;
    return 0;
}

static int check_type(struct check *check, const json_t *value)
{
    if (take(check, '['))
        return check_list(check, value);
    if (take(check, '{'))
        return check_object(check, value);
    return check_word(check, value);
}

/* Any one of the choices is enough; the message is the last one's. */
static int check_choice(struct check *check, const json_t *value)
{
    int rc;

    for (;;) {
        struct check skim = {.at = check->at};
        const size_t before = check->path_length;
        rc = check_type(check, value);
        if (rc < 0) {
            (void)check_type(&skim, NULL);
            check->at = skim.at;
        }
        if (!take(check, '|'))
            return rc;
        if (rc < 0)
            path_pop(check, before);
        else
            value = NULL;
    }
}

int lp_proto_schema_check(const char *schema, const json_t *value, const char *what,
                          struct lp_error *err)
{
    struct check check = {.at = schema, .err = err};
    json_t *empty = NULL;

    if (value == NULL)
        value = empty = json_object();
    if (value == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to check %s", what);
    check.path_length = (size_t)snprintf(check.path, sizeof(check.path), "%s", what);
    const int rc = check_choice(&check, value);
    json_decref(empty);
    if (rc == 0)
        lp_error_clear(err);
    return rc;
}
