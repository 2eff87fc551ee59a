/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing with jansson inside limits that jansson does not have. Making lines is in message_out.c.
 */
#include "proto/message.h"

#include "base/alloc.h"
#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- Memory --- */

/* jansson reports some failed allocations as bad syntax; this remembers that there was one. */
static _Thread_local bool memory_failed;

static void *json_alloc(size_t bytes)
{
    void *memory = lp_mem_alloc(bytes);

    memory_failed = memory_failed || memory == NULL;
    return memory;
}

void lp_proto_use_our_memory(void)
{
    json_set_alloc_funcs(json_alloc, lp_mem_free);
}

/* --- Taking lines apart --- */

/* jansson recurses 2048 deep; this looks at the text first. Quotes and backslashes outside of
 * strings are jansson's to refuse. */
static int check_depth(const char *line, size_t bytes, struct lp_error *err)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < bytes; i++) {
        const char c = line[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '[') && ++depth > LP_PROTO_DEPTH_MAX)
            return lp_error_set(err, LP_RPC_EPARSE, "nested deeper than %u at byte %zu",
                                LP_PROTO_DEPTH_MAX, i);
        else if (!in_string && (c == '}' || c == ']') && depth > 0)
            depth--;
    }
    return 0;
}

static int parse_json(const char *line, size_t bytes, json_t **ret_root, struct lp_error *err)
{
    json_error_t problem;
    int rc;

    LP_TRY(rc, check_depth(line, bytes, err));
    memory_failed = false;
    json_t *root = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL) {
        if (memory_failed || json_error_code(&problem) == json_error_out_of_memory)
            return lp_error_set(err, LP_ENOMEM, "no memory to parse a line of %zu bytes", bytes);
        return lp_error_set(err, LP_RPC_EPARSE, "%s, at byte %d", problem.text, problem.position);
    }
    *ret_root = root;
    return 0;
}

static bool is_id(const json_t *id)
{
    if (json_is_integer(id))
        return true;
    return json_is_string(id) && json_string_length(id) > 0 &&
           json_string_length(id) <= LP_PROTO_ID_BYTES_MAX;
}

static int check_version(const json_t *root, int code, struct lp_error *err)
{
    const char *version = json_string_value(json_object_get(root, "jsonrpc"));

    if (version == NULL || strcmp(version, "2.0") != 0)
        return lp_error_set(err, code, "jsonrpc must be \"2.0\"");
    return 0;
}

static int check_keys(const json_t *root, struct lp_error *err)
{
    static const char *const known[] = {"jsonrpc", "id", "method", "params"};
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        size_t i = 0;
        while (i < LP_ARRAY_LEN(known) && strcmp(key, known[i]) != 0)
            i++;
        if (i == LP_ARRAY_LEN(known))
            return lp_error_set(err, LP_RPC_EREQUEST, "a request has no key '%.64s'", key);
    }
    return 0;
}

static int read_request(struct lp_proto_request *request, struct lp_error *err)
{
    const json_t *root = request->root;
    int rc;

    if (json_is_array(root))
        return lp_error_set(err, LP_RPC_EREQUEST, "no batches here: methods take lists");
    const json_t *id = json_object_get(root, "id");
    if (is_id(id))
        request->id = id;
    LP_TRY(rc, check_version(root, LP_RPC_EREQUEST, err));
    LP_TRY(rc, check_keys(root, err));
    if (request->id == NULL)
        return lp_error_set(err, LP_RPC_EREQUEST,
                            "id must be an integer or a string of 1 to %u bytes",
                            LP_PROTO_ID_BYTES_MAX);
    json_t *params = json_object_get(root, "params");
    if (params != NULL && !json_is_object(params))
        return lp_error_set(err, LP_RPC_EREQUEST, "params must be an object");
    const char *method = json_string_value(json_object_get(root, "method"));
    if (method == NULL)
        return lp_error_set(err, LP_RPC_EREQUEST, "method must be a string");
    request->params = params;
    request->method = method;
    return 0;
}

int lp_proto_request_parse(const char *line, size_t bytes, struct lp_proto_request *ret_request,
                           struct lp_error *err)
{
    int rc;

    memset(ret_request, 0, sizeof(*ret_request));
    LP_TRY(rc, parse_json(line, bytes, &ret_request->root, err));
    return read_request(ret_request, err);
}

void lp_proto_request_fini(struct lp_proto_request *request)
{
    if (request == NULL)
        return;
    json_decref(request->root);
    memset(request, 0, sizeof(*request));
}

bool lp_proto_error_read(const json_t *value, struct lp_error *ret_error)
{
    const json_t *code = json_object_get(value, "code");
    const char *message = json_string_value(json_object_get(value, "message"));

    if (!json_is_integer(code) || message == NULL)
        return false;
    const json_int_t number = json_integer_value(code);
    if (number >= 0 || number < INT32_MIN)
        return false;
    (void)lp_error_set(ret_error, (int)number, "%s", message);
    return true;
}

static int read_answer(struct lp_proto_answer *answer, struct lp_error *err)
{
    const json_t *root = answer->root;
    const json_t *id = json_object_get(root, "id");
    const json_t *error = json_object_get(root, "error");
    json_t *result = json_object_get(root, "result");
    int rc;

    LP_TRY(rc, check_version(root, LP_EPROTO, err));
    answer->has_id = json_is_integer(id) && json_integer_value(id) >= 0;
    if (!answer->has_id && !json_is_null(id))
        return lp_error_set(err, LP_EPROTO, "an answer to nobody's request");
    if (answer->has_id)
        answer->id = (uint64_t)json_integer_value(id);
    if (error != NULL && result == NULL && lp_proto_error_read(error, &answer->error))
        return 0;
    if (error != NULL || !json_is_object(result))
        return lp_error_set(err, LP_EPROTO, "an answer has either an error or a result object");
    const json_t *fds = json_object_get(result, "fds");
    if (fds != NULL && !json_is_integer(fds))
        return lp_error_set(err, LP_EPROTO, "fds must be an integer");
    const json_int_t n_fds = json_integer_value(fds);
    if (n_fds < 0 || n_fds > (json_int_t)LP_PROTO_FDS_MAX)
        return lp_error_set(err, LP_EPROTO, "fds must be 0 to %u", LP_PROTO_FDS_MAX);
    answer->n_fds = (uint32_t)n_fds;
    answer->result = result;
    return 0;
}

int lp_proto_answer_parse(const char *line, size_t bytes, struct lp_proto_answer *ret_answer,
                          struct lp_error *err)
{
    memset(ret_answer, 0, sizeof(*ret_answer));
    const int rc = parse_json(line, bytes, &ret_answer->root, err);
    if (rc == LP_RPC_EPARSE)
        return lp_error_wrap(err, LP_EPROTO, "the answer is no JSON");
    if (rc < 0)
        return rc;
    return read_answer(ret_answer, err);
}

void lp_proto_answer_fini(struct lp_proto_answer *answer)
{
    if (answer == NULL)
        return;
    json_decref(answer->root);
    memset(answer, 0, sizeof(*answer));
}
