/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/message.h"
#include "proto/method.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static int check(const char *schema, const char *text, struct lp_error *err)
{
    json_t *value = json_loads(text, 0, NULL);

    cr_assert_not_null(value, "%s", text);
    const int rc = lp_proto_schema_check(schema, value, "params", err);
    json_decref(value);
    return rc;
}

static void refuses(const char *schema, const char *text, const char *sentence)
{
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(check(schema, text, &err), LP_RPC_EPARAMS, "%s", text);
    cr_assert_str_eq(err.text, sentence);
}

static void takes(const char *schema, const char *text)
{
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(check(schema, text, &err), 0, "%s: %s", text, err.text);
}

/* Each method is found by its name, and its schemas can be read to their ends. */
Test(proto_method, finds_every_method)
{
    for (int id = 0; id < LP_METHODS; id++) {
        const struct lp_method *method = lp_proto_method((enum lp_method_id)id);
        cr_assert_eq((int)method->id, id);
        cr_assert_eq(lp_proto_method_find(method->name, NULL), method);
        cr_assert_neq(method->help[0], '\0');
        /* A list never fits these, and is refused only after the whole schema was read. */
        json_t *list = json_array();
        cr_assert_eq(lp_proto_schema_check(method->params, list, "params", NULL), LP_RPC_EPARAMS);
        cr_assert_eq(lp_proto_schema_check(method->result, list, "result", NULL), LP_RPC_EPARAMS);
        json_decref(list);
    }
}

/* An unknown method is refused with the nearest name, where one is near. */
Test(proto_method, proposes_the_nearest_method)
{
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_null(lp_proto_method_find("object.lst", &err));
    cr_assert_eq(err.code, LP_RPC_EMETHOD);
    cr_assert_str_eq(err.text, "no method 'object.lst'; nearest is 'object.list'");
    cr_assert_null(lp_proto_method_find("", &err));
    cr_assert_str_eq(err.text, "no method ''");
}

Test(proto_method, checks_types)
{
    takes("{a:uint}", "{\"a\":0}");
    takes("{a:uint}", "{\"a\":9223372036854775807}");
    refuses("{a:uint}", "{\"a\":-1}", "params.a: must be an integer from 0");
    refuses("{a:uint}", "{\"a\":1.0}", "params.a: must be an integer from 0");
    refuses("{a:bool}", "{\"a\":1}", "params.a: must be true or false");
    refuses("{a:text}", "{\"a\":null}", "params.a: must be a string");
    takes("{a:num}", "{\"a\":1.5}");
    refuses("{a:num}", "{\"a\":\"1\"}", "params.a: must be a number");
    takes("{a:hex}", "{\"a\":\"0123456789abcdef\"}");
    refuses("{a:hex}", "{\"a\":\"0123456789ABCDEF\"}",
            "params.a: must be 16 lower-case hex digits");
    takes("{a:error}", "{\"a\":{\"code\":-1,\"message\":\"\"}}");
}

Test(proto_method, checks_keys)
{
    takes("{a?:uint,b:text}", "{\"b\":\"\"}");
    refuses("{a?:uint,b:text}", "{\"a\":1}", "params.b: is missing");
    refuses("{names:[text],run?:bool}", "{\"names\":[],\"runs\":true}",
            "params.runs: unknown key; nearest is 'run'");
    refuses("{}", "{\"a\":1}", "params.a: unknown key");
    refuses("{a:{b:uint}}", "{\"a\":{\"b\":1,\"zzzz\":1}}", "params.a.zzzz: unknown key");
    refuses("{a:uint}", "[]", "params: must be an object");
    takes("{*:uint}", "{\"x\":1,\"y\":2}");
    takes("{*:uint}", "{}");
    refuses("{*:uint}", "{\"x\":true}", "params.x: must be an integer from 0");
}

Test(proto_method, checks_lists)
{
    takes("{a:[uint*2]}", "{\"a\":[]}");
    takes("{a:[uint*2],b:bool}", "{\"a\":[1,2],\"b\":true}");
    refuses("{a:[uint*2]}", "{\"a\":[1,2,3]}", "params.a: has more than 2 entries");
    refuses("{a:[{b:uint}]}", "{\"a\":[{\"b\":1},{\"b\":\"\"}]}",
            "params.a[1].b: must be an integer from 0");
    refuses("{a:[uint]}", "{\"a\":{}}", "params.a: must be a list");
    takes("{a:[[uint*3]]}", "{\"a\":[[1,2,3],[]]}");
}

Test(proto_method, checks_choices)
{
    takes("{a:[{x:uint}|{y:bool}|text]}", "{\"a\":[{\"x\":1},{\"y\":true},\"z\"]}");
    takes("{x:uint}|{y:bool}", "{\"y\":true}");
    refuses("{x:uint}|{y:bool}", "{\"y\":1}", "params.y: must be true or false");
    refuses("{a:uint|text,b:bool}", "{\"a\":true,\"b\":true}", "params.a: must be a string");
}

/* No parameters at all are the same as none inside braces. */
Test(proto_method, takes_absent_params_as_none)
{
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(lp_proto_schema_check("{a?:uint}", NULL, "params", &err), 0);
    cr_assert_eq(lp_proto_schema_check("{a:uint}", NULL, "params", &err), LP_RPC_EPARAMS);
    cr_assert_str_eq(err.text, "params.a: is missing");
    ASSERT_NO_LEAK();
}

/* Long keys and deep paths are cut in the message, never written past it. */
Test(proto_method, cuts_long_paths)
{
    struct lp_error err = LP_ERROR_INIT;
    char key[400];
    char text[500];

    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    (void)snprintf(text, sizeof(text), "{\"a\":{\"a\":{\"%s\":{\"%s\":1}}}}", "x", "y");
    cr_assert_eq(check("{a:{a:{*:{*:text}}}}", text, &err), LP_RPC_EPARAMS);
    (void)snprintf(text, sizeof(text), "{\"%s\":1}", key);
    cr_assert_eq(check("{a:uint}", text, &err), LP_RPC_EPARAMS);
    cr_assert_lt(strlen(err.text), 200);
}

/* The section of docs/PROTOCOL.md whose heading names the method; ends before the next one. */
static void read_section(const char *text, const char *method, char *section, size_t room)
{
    const char *at = text;

    section[0] = '\0';
    while ((at = strstr(at, "\n### ")) != NULL) {
        const char *heading_end = strchr(at + 1, '\n');
        const char *next = strstr(heading_end, "\n### ");
        const char *found = strstr(at, method);
        if (found != NULL && found < heading_end) {
            const size_t bytes = next != NULL ? (size_t)(next - at) : strlen(at);
            cr_assert_lt(bytes, room);
            memcpy(section, at, bytes);
            section[bytes] = '\0';
            return;
        }
        at = heading_end;
    }
}

/* Every key of a schema stands in quotes in the text. */
static void check_keys_documented(const char *schema, const char *section, const char *method)
{
    char key[64];

    while (*schema != '\0') {
        const size_t n = strspn(schema, "abcdefghijklmnopqrstuvwxyz0123456789_");
        const bool is_key = schema[n] == ':' || (schema[n] == '?' && schema[n + 1] == ':');
        if (n > 0 && is_key) {
            (void)snprintf(key, sizeof(key), "\"%.*s\"", (int)n, schema);
            cr_assert_not_null(strstr(section, key), "%s: docs/PROTOCOL.md has no %s", method, key);
        }
        schema += n > 0 ? n : 1;
    }
}

/* The document has a section for each method, with every key of its schemas. */
Test(proto_method, every_method_is_documented)
{
    static char text[1 << 18], section[1 << 16];

    FILE *file = fopen(LP_TEST_PROTOCOL, "rb");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    for (int id = 0; id < LP_METHODS; id++) {
        const struct lp_method *method = lp_proto_method((enum lp_method_id)id);
        read_section(text, method->name, section, sizeof(section));
        cr_assert_neq(section[0], '\0', "%s has no section", method->name);
        check_keys_documented(method->params, section, method->name);
        check_keys_documented(method->result, section, method->name);
    }
}
