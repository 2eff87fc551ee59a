/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of the lanepack command share: parsed options, exit codes, output in two forms. */
#ifndef LP_CLI_CLI_H
#define LP_CLI_CLI_H

#include <jansson.h>
#include <lanepack/lanepack.h>

#include <stdbool.h>

/* Exit codes, pinned: scripts read them. */
enum lp_cli_exit {
    LP_CLI_DONE = 0,
    LP_CLI_FAILED = 1,
    LP_CLI_USAGE = 2,
    LP_CLI_UNREACHABLE = 3, /* no daemon, or the connection was lost */
    LP_CLI_MISMATCH = 4,    /* version or epoch */
    LP_CLI_PROBLEMS = 5     /* a check found something */
};

enum lp_cli_option {
#define X(id, name, letter, value, help) LP_CLI_##id,
#include "cli/flags.def"
#undef X
    LP_CLI_OPTIONS
};

#define LP_CLI_TIMEOUT_MAX 86400u /* seconds */

/* A command line taken apart. All text borrows from argv. */
struct lp_cli_args {
    const char *verb;
    const char *value[LP_CLI_OPTIONS]; /* NULL: not given; "" for options without a value */
    const char *const *items;          /* the arguments that are no options */
    int n_items;
};

static inline bool lp_cli_has(const struct lp_cli_args *args, enum lp_cli_option option)
{
    return args->value[option] != NULL;
}

/* A verb: returns an exit code, having printed its result on standard output or, through
 * lp_cli_fail(), its error on standard error. */
typedef int (*lp_cli_verb)(const struct lp_cli_args *args);

#define X(id, name, arguments, least, most, options, help)                                         \
    int lp_cli_verb_##id(const struct lp_cli_args *args);
#include "cli/verbs.def"
#undef X

/* Report an error once, as a sentence or, with --json, as {"error": {...}}. Returns the exit code
 * that belongs to it. */
int lp_cli_fail(const struct lp_cli_args *args, int code, const struct lp_error *err);

/* A mistake in the command line: says it and where help is. Returns LP_CLI_USAGE. */
int lp_cli_usage(const struct lp_cli_args *args, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Print a value as one document, with a newline. takes value. Returns LP_CLI_DONE, or LP_CLI_FAILED
 * when standard output can't be written. */
int lp_cli_print_json_take(json_t *value);

/* Flush standard output: LP_CLI_DONE, or LP_CLI_FAILED with a message (disk full, closed pipe). */
int lp_cli_finish_output(void);

/* Text as a JSON string; what is no UTF-8, as file names may be, as "(not UTF-8)". Returns new. */
json_t *lp_cli_json_text(const char *text);

/* 0, or LP_EINVAL when target leads to the same file as source: a result would be put in the place
 * of what it was made from. One that does not exist is no file. */
int lp_cli_check_target(const char *target, const char *source, struct lp_error *err);

/* "1.5 MiB", in units of 1024. text has LP_CLI_BYTES_TEXT bytes; returned. */
#define LP_CLI_BYTES_TEXT 24
const char *lp_cli_bytes(uint64_t bytes, char *text);

/* Share of raw that was saved, in percent; 0 for nothing. */
double lp_cli_saving(uint64_t logical_bytes, uint64_t stored_bytes);

/* A whole number, decimal, at most max. false: the option's value is none (an error was printed).
 * Untouched when the option was not given. */
bool lp_cli_number(const struct lp_cli_args *args, enum lp_cli_option option, uint64_t max,
                   uint64_t *number);

/* Connect as --socket, --namespace and --timeout say; the last was checked with the command line.
 */
int lp_cli_connect(const struct lp_cli_args *args, lp_client **ret_client, struct lp_error *err);

#endif
