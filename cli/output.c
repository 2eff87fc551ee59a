/* SPDX-License-Identifier: Apache-2.0 */
/* Results on standard output, errors on standard error, for people or as JSON. */
#include "base/error.h"
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int exit_code(int code)
{
    if (code == LP_ECONN || code == LP_ETIMEDOUT || code == LP_EPROTO)
        return LP_CLI_UNREACHABLE;
    if (code == LP_EVERSION || code == LP_ESTALE)
        return LP_CLI_MISMATCH;
    return LP_CLI_FAILED;
}

/* Sentences can hold names out of broken files; a terminal takes control characters for orders. */
static void mask_controls(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

int lp_cli_fail(const struct lp_cli_args *args, int code, const struct lp_error *err)
{
    const int status = exit_code(code);

    if (!lp_cli_has(args, LP_CLI_JSON)) {
        struct lp_error shown = *err;

        mask_controls(shown.text);
        (void)fprintf(stderr, "lanepack %s: %s (%s)\n", args->verb, shown.text,
                      lp_error_name(code));
        return status;
    }
    json_t *error = json_pack("{s:{s:i, s:s, s:o}}", "error", "code", code, "name",
                              lp_error_name(code), "message", lp_cli_json_text(err->text));

    (void)json_dumpf(error, stderr, JSON_COMPACT);
    (void)fputc('\n', stderr);
    json_decref(error);
    return status;
}

int lp_cli_usage(const struct lp_cli_args *args, const char *fmt, ...)
{
    va_list list;

    (void)fprintf(stderr, "lanepack %s: ", args->verb);
    va_start(list, fmt);
    (void)vfprintf(stderr, fmt, list);
    va_end(list);
    (void)fprintf(stderr, "; see lanepack --help\n");
    return LP_CLI_USAGE;
}

json_t *lp_cli_json_text(const char *text)
{
    json_t *json = json_string(text);

    return json != NULL ? json : json_string("(not UTF-8)");
}

int lp_cli_finish_output(void)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return LP_CLI_DONE;
    (void)fprintf(stderr, "lanepack: standard output: %s\n", strerror(errno));
    return LP_CLI_FAILED;
}

int lp_cli_print_json_take(json_t *value)
{
    const int rc = value != NULL ? json_dumpf(value, stdout, JSON_INDENT(2)) : -1;

    json_decref(value);
    if (rc != 0) {
        (void)fprintf(stderr, "lanepack: the result can't be written as JSON\n");
        return LP_CLI_FAILED;
    }
    (void)fputc('\n', stdout);
    return lp_cli_finish_output();
}

int lp_cli_check_target(const char *target, const char *source, struct lp_error *err)
{
    struct stat one, other;

    if (stat(target, &one) != 0 || stat(source, &other) != 0 || one.st_dev != other.st_dev ||
        one.st_ino != other.st_ino)
        return 0;
    return lp_error_set(err, LP_EINVAL, "%.100s is a source: the result needs another name",
                        target);
}

const char *lp_cli_bytes(uint64_t bytes, char *text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(text, LP_CLI_BYTES_TEXT, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
    return text;
}

double lp_cli_saving(uint64_t logical_bytes, uint64_t stored_bytes)
{
    return logical_bytes != 0 ? 100.0 * (1.0 - (double)stored_bytes / (double)logical_bytes) : 0.0;
}

bool lp_cli_number(const struct lp_cli_args *args, enum lp_cli_option option, uint64_t max,
                   uint64_t *number)
{
    const char *text = args->value[option];
    char *end;
    uintmax_t value;

    if (text == NULL)
        return true;
    errno = 0;
    value = strtoumax(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > max) {
        (void)lp_cli_usage(args, "%s is not a number from 0 to %" PRIu64, text, max);
        return false;
    }
    *number = value;
    return true;
}

int lp_cli_connect(const struct lp_cli_args *args, lp_client **ret_client, struct lp_error *err)
{
    struct lp_connect_options options;
    uint64_t seconds = 0;
    int rc;

    lp_options_init(&options, sizeof(options));
    (void)lp_cli_number(args, LP_CLI_TIMEOUT, LP_CLI_TIMEOUT_MAX, &seconds);
    options.path = args->value[LP_CLI_SOCKET];
    options.name_space = args->value[LP_CLI_NAMESPACE];
    options.app = "lanepack";
    options.timeout_ns = seconds * UINT64_C(1000000000);
    rc = lp_client_connect(&options, ret_client, err);
    /* To a script a daemon that may not be asked is one that can't be reached; a file is not. */
    return rc == LP_EPERM ? lp_error_wrap(err, LP_ECONN, "the daemon") : rc;
}
