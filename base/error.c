/* SPDX-License-Identifier: Apache-2.0 */
/* Setting, wrapping and naming errors. */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct error_row {
    int code;
    const char *name;
    const char *text;
};

static const struct error_row error_rows[] = {
#define X(name, number, broke, text) {number, #name, text},
#include "base/errors.def"
#undef X
};

static const struct error_row *error_find(int code)
{
    for (size_t i = 0; i < sizeof(error_rows) / sizeof(error_rows[0]); i++) {
        if (error_rows[i].code == code)
            return &error_rows[i];
    }
    return NULL;
}

/* A caller that was built against a shorter struct gets as much of the sentence as it has. */
static size_t text_room(const struct lp_error *err)
{
    const size_t head = offsetof(struct lp_error, text);

    if (err->struct_size == 0 || err->struct_size >= sizeof(*err))
        return sizeof(err->text);
    return err->struct_size > head ? err->struct_size - head : 0;
}

/* Copy text into room bytes, cut where it does not fit, always ended by 0. */
static void copy_cut(char *to, size_t room, const char *text)
{
    const size_t length = strlen(text);
    const size_t kept = length < room ? length : room - 1;

    memcpy(to, text, kept);
    to[kept] = '\0';
}

static void text_store(struct lp_error *err, const char *text)
{
    const size_t room = text_room(err);

    if (room > 0)
        copy_cut(err->text, room, text);
}

/* Sentences are made in a local buffer first: their arguments may point into err->text. */
static void text_format(char *buffer, size_t room, const char *fmt, va_list args)
{
    if (vsnprintf(buffer, room, fmt, args) < 0)
        buffer[0] = '\0';
}

/* Append ": tail"; what does not fit is cut. */
static void text_append(char *buffer, size_t room, const char *tail)
{
    const size_t used = strlen(buffer);

    if (used > 0)
        copy_cut(buffer + used, room - used, ": ");
    const size_t now = strlen(buffer);
    copy_cut(buffer + now, room - now, tail);
}

int lp_error_set(struct lp_error *err, int code, const char *fmt, ...)
{
    char text[sizeof(err->text)];
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, fmt);
    text_format(text, sizeof(text), fmt, args);
    va_end(args);
    err->code = code;
    text_store(err, text);
    return code;
}

int lp_error_set_errno(struct lp_error *err, int code, int errnum, const char *fmt, ...)
{
    char text[sizeof(err->text)];
    char reason[64];
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, fmt);
    text_format(text, sizeof(text), fmt, args);
    va_end(args);
    text_append(text, sizeof(text), strerror_r(errnum, reason, sizeof(reason)));
    err->code = code;
    text_store(err, text);
    return code;
}

int lp_error_wrap(struct lp_error *err, int rc, const char *fmt, ...)
{
    char text[sizeof(err->text)];
    va_list args;

    if (err == NULL)
        return rc;
    va_start(args, fmt);
    text_format(text, sizeof(text), fmt, args);
    va_end(args);
    const bool has_text = text_room(err) > 0 && err->text[0] != '\0';
    text_append(text, sizeof(text), has_text ? err->text : lp_error_text(rc));
    err->code = rc;
    text_store(err, text);
    return rc;
}

void lp_error_clear(struct lp_error *err)
{
    if (err == NULL)
        return;
    err->code = 0;
    text_store(err, "");
}

const char *lp_error_name(int code)
{
    const struct error_row *row = error_find(code);

    if (code >= 0)
        return "LP_OK";
    return row != NULL ? row->name : "LP_E?";
}

const char *lp_error_text(int code)
{
    const struct error_row *row = error_find(code);

    if (code >= 0)
        return "success";
    return row != NULL ? row->text : "unknown error";
}
