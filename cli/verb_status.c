/* SPDX-License-Identifier: Apache-2.0 */
/* status, shutdown, version: the daemon and the programs themselves. */
#include "base/error.h"
#include "cli/cli.h"

#include <stdio.h>

static int ask(const struct lp_cli_args *args, const char *method, json_t **ret_result,
               struct lp_error *err)
{
    lp_client *client;
    char *text = NULL;
    int rc;

    LP_TRY(rc, lp_cli_connect(args, &client, err));
    rc = lp_client_call(client, method, NULL, &text, err);
    lp_client_close(client);
    if (rc < 0)
        return rc;
    *ret_result = json_loads(text, 0, NULL);
    lp_free(text);
    return *ret_result != NULL ? 0 : lp_error_set(err, LP_EPROTO, "%s: no JSON came", method);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "?";
}

static long long number_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static const char *bytes_of(const json_t *object, const char *key, char *text)
{
    return lp_cli_bytes((uint64_t)number_of(object, key), text);
}

static void print_status(const json_t *status)
{
    const json_t *pool = json_object_get(status, "pool");
    char a[LP_CLI_BYTES_TEXT], b[LP_CLI_BYTES_TEXT], c[LP_CLI_BYTES_TEXT];

    (void)printf("%s, pid %lld, up %lld s, epoch %s, codecs on %s\n", text_of(status, "server"),
                 number_of(status, "pid"), number_of(status, "uptime_s"), text_of(status, "epoch"),
                 text_of(status, "cpu_tier"));
    (void)printf("pool     %s in chunks of %s, %s resident, locked: %s%s%s\n",
                 bytes_of(pool, "bytes", a), bytes_of(pool, "chunk", b),
                 bytes_of(status, "resident_bytes", c), text_of(status, "locked"),
                 text_of(status, "lock_note")[0] != '\0' ? ", " : "", text_of(status, "lock_note"));
    (void)printf("used     %s, free %s, in arenas %s\n", bytes_of(pool, "used", a),
                 bytes_of(pool, "free", b), bytes_of(pool, "arena_bytes", c));
    (void)printf("objects  %lld, unsealed %lld, leases %lld, clients %lld\n",
                 number_of(status, "objects"), number_of(status, "unsealed"),
                 number_of(status, "leases"), number_of(status, "clients"));
    (void)printf("ready    %s\n",
                 json_is_true(json_object_get(status, "ready")) ? "yes" : "not yet");
}

int lp_cli_verb_status(const struct lp_cli_args *args)
{
    struct lp_error err = LP_ERROR_INIT;
    json_t *status = NULL;
    const int rc = ask(args, "daemon.status", &status, &err);

    if (rc < 0)
        return lp_cli_fail(args, rc, &err);
    if (lp_cli_has(args, LP_CLI_JSON))
        return lp_cli_print_json_take(status);
    print_status(status);
    json_decref(status);
    return lp_cli_finish_output();
}

int lp_cli_verb_shutdown(const struct lp_cli_args *args)
{
    struct lp_error err = LP_ERROR_INIT;
    json_t *result = NULL;
    const int rc = ask(args, "daemon.shutdown", &result, &err);

    if (rc < 0)
        return lp_cli_fail(args, rc, &err);
    if (lp_cli_has(args, LP_CLI_JSON))
        return lp_cli_print_json_take(result);
    json_decref(result);
    (void)puts("the daemon is ending");
    return lp_cli_finish_output();
}

int lp_cli_verb_version(const struct lp_cli_args *args)
{
    const uint32_t version = lp_version();
    char text[32];

    (void)snprintf(text, sizeof(text), "%u.%u.%u", version >> 16, version >> 8 & 255,
                   version & 255);
    if (lp_cli_has(args, LP_CLI_JSON))
        return lp_cli_print_json_take(json_pack("{s:s}", "version", text));
    (void)printf("lanepack %s\n", text);
    return lp_cli_finish_output();
}
