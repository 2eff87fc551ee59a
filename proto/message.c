/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing with jansson inside limits that jansson does not have; error lines without allocation. */
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

/* --- Making lines --- */

/* Fractions in results are measurements, for people: not 17 digits. */
#define RESULT_PRECISION JSON_REAL_PRECISION(9)

struct line {
    char *bytes;
    size_t length, room;
    bool failed; /* jansson does not pass on every failure of its callback, so it is kept here */
};

static int line_append(const char *bytes, size_t length, void *user)
{
    struct line *line = user;

    if (length > line->room - line->length) {
        const size_t room = LP_MAX(line->room * 2, line->length + length + 256);
        char *grown = lp_mem_realloc_array(line->bytes, room, 1);
        line->failed = line->failed || grown == NULL;
        if (grown == NULL)
            return -1;
        line->bytes = grown;
        line->room = room;
    }
    memcpy(line->bytes + line->length, bytes, length);
    line->length += length;
    return 0;
}

static int line_text(struct line *line, const char *text)
{
    return line_append(text, strlen(text), line);
}

static int line_json(struct line *line, const json_t *value, size_t flags)
{
    return json_dump_callback(value, line_append, line, JSON_COMPACT | JSON_ENCODE_ANY | flags);
}

static int line_end(struct line *line, int failed, char **ret_line, size_t *ret_bytes,
                    struct lp_error *err)
{
    if (failed != 0 || line->failed) {
        lp_mem_free(line->bytes);
        return lp_error_set(err, LP_ENOMEM, "no memory for a message");
    }
    *ret_line = line->bytes;
    *ret_bytes = line->length;
    return 0;
}

int lp_proto_request_emit(uint64_t id, const char *method, const json_t *params, char **ret_line,
                          size_t *ret_bytes, struct lp_error *err)
{
    struct line line = {0};
    char head[64];

    (void)snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"",
                   (unsigned long long)id);
    const int failed =
        line_text(&line, head) || line_text(&line, method) || line_text(&line, "\"") ||
        (params != NULL && (line_text(&line, ",\"params\":") || line_json(&line, params, 0))) ||
        line_text(&line, "}\n");
    return line_end(&line, failed, ret_line, ret_bytes, err);
}

int lp_proto_result_emit(const json_t *id, const json_t *result, char **ret_line, size_t *ret_bytes,
                         struct lp_error *err)
{
    struct line line = {0};
    const int failed = line_text(&line, "{\"jsonrpc\":\"2.0\",\"id\":") ||
                       (id != NULL ? line_json(&line, id, 0) : line_text(&line, "null")) ||
                       line_text(&line, ",\"result\":") ||
                       line_json(&line, result, RESULT_PRECISION) || line_text(&line, "}\n");

    return line_end(&line, failed, ret_line, ret_bytes, err);
}

/* --- Errors --- */

/* Bytes of the UTF-8 character at text, or 0 when there is none: error texts are cut at a byte and
 * quote what peers sent. Overlong forms and surrogates count as none. Source: RFC 3629. */
static size_t utf8_bytes(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xC2 && p[0] <= 0xDF)
        return (p[1] & 0xC0) == 0x80 ? 2 : 0;
    if ((p[0] & 0xF0) == 0xE0) {
        const unsigned char low = p[0] == 0xE0 ? 0xA0 : 0x80;
        const unsigned char high = p[0] == 0xED ? 0x9F : 0xBF;
        return p[1] >= low && p[1] <= high && (p[2] & 0xC0) == 0x80 ? 3 : 0;
    }
    if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        const unsigned char low = p[0] == 0xF0 ? 0x90 : 0x80;
        const unsigned char high = p[0] == 0xF4 ? 0x8F : 0xBF;
        return p[1] >= low && p[1] <= high && (p[2] & 0xC0) == 0x80 && (p[3] & 0xC0) == 0x80 ? 4
                                                                                             : 0;
    }
    return 0;
}

/* Copy text with every broken byte as '?'; dst has room for it all. */
static void clean_utf8(const char *text, char *dst)
{
    while (*text != '\0') {
        const size_t n = utf8_bytes(text);
        if (n == 0) {
            *dst++ = '?';
            text++;
            continue;
        }
        memcpy(dst, text, n);
        dst += n;
        text += n;
    }
    *dst = '\0';
}

static char *write_quoted(char *at, const char *text)
{
    *at++ = '"';
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20)
            at += sprintf(at, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            at += sprintf(at, "\\%c", c);
        else
            *at++ = (char)c;
    }
    *at++ = '"';
    return at;
}

static char *write_id(char *at, const json_t *id)
{
    if (json_is_integer(id))
        return at + sprintf(at, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    if (json_is_string(id))
        return write_quoted(at, json_string_value(id));
    return at + sprintf(at, "null");
}

static const char *sentence_of(const struct lp_error *error)
{
    return error->text[0] != '\0' ? error->text : lp_error_text(error->code);
}

static bool is_rpc_code(int code)
{
    return code <= LP_RPC_EREQUEST;
}

/* The longest line has 64 bytes of id and 247 of text, each up to six bytes long, and 160 more. */
LP_STATIC_ASSERT(LP_PROTO_ERROR_LINE_BYTES >=
                     6 * (LP_PROTO_ID_BYTES_MAX + sizeof(((struct lp_error *)0)->text)) + 160,
                 "an error line fits its buffer");

size_t lp_proto_error_emit(const json_t *id, const struct lp_error *error, char *line)
{
    char text[sizeof(error->text)];
    char *at = line;

    clean_utf8(sentence_of(error), text);
    at += sprintf(at, "{\"jsonrpc\":\"2.0\",\"id\":");
    at = write_id(at, id);
    at += sprintf(at, ",\"error\":{\"code\":%d,\"message\":", error->code);
    at = write_quoted(at, text);
    if (!is_rpc_code(error->code))
        at += sprintf(at, ",\"data\":{\"name\":\"%s\"}", lp_error_name(error->code));
    at += sprintf(at, "}}\n");
    return (size_t)(at - line);
}

json_t *lp_proto_error_json(const struct lp_error *error)
{
    char text[sizeof(error->text)];

    clean_utf8(sentence_of(error), text);
    if (is_rpc_code(error->code))
        return json_pack("{s:i, s:s}", "code", error->code, "message", text);
    return json_pack("{s:i, s:s, s:{s:s}}", "code", error->code, "message", text, "data", "name",
                     lp_error_name(error->code));
}

/* --- Patterns --- */

char *lp_proto_hex_write(uint64_t pattern, char *hex)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < 16; i++)
        hex[i] = digits[(pattern >> (60 - 4 * i)) & 15];
    hex[16] = '\0';
    return hex;
}

bool lp_proto_hex_read(const char *hex, uint64_t *ret_pattern)
{
    uint64_t pattern = 0;

    for (size_t i = 0; i < 16; i++) {
        const char c = hex[i];
        if (c >= '0' && c <= '9')
            pattern = pattern << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            pattern = pattern << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    if (hex[16] != '\0')
        return false;
    *ret_pattern = pattern;
    return true;
}
