/* SPDX-License-Identifier: Apache-2.0 */
/* Making lines, and errors as lines without allocation. Taking them apart is in message.c. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "proto/message.h"

#include <stdio.h>
#include <string.h>

/* --- Lines --- */

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
