/* SPDX-License-Identifier: Apache-2.0 */
/* The lanepack command: find the verb, take its options apart, run it. */
#include "base/bytes.h"
#include "cli/cli.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define O(id) (1ull << LP_CLI_##id)
#define ALWAYS (O(JSON) | O(HELP))
#define CONNECT (O(SOCKET) | O(NAMESPACE) | O(TIMEOUT))
#define PACK                                                                                       \
    (O(CODEC) | O(LAYOUT) | O(ALIGN) | O(ACCESS) | O(RECORD_ROWS) | O(RECORD_ELEMENTS) |           \
     O(COLUMN_PERIOD) | O(COLUMN_SPAN) | O(IBP_EXACT))
#define SOURCE (O(AS) | O(DTYPE) | O(SHAPE) | O(OFFSET))

struct option_row {
    const char *name;
    char letter;
    const char *value;
    const char *help;
};

static const struct option_row option_rows[LP_CLI_OPTIONS] = {
#define X(id, name, letter, value, help) {name, letter, value, help},
#include "cli/flags.def"
#undef X
};

struct verb_row {
    const char *name, *arguments;
    int least, most;
    uint64_t options;
    const char *help;
    lp_cli_verb run;
};

static const struct verb_row verb_rows[] = {
#define X(id, name, arguments, least, most, options, help)                                         \
    {name, arguments, least, most, ALWAYS | (options), help, lp_cli_verb_##id},
#include "cli/verbs.def"
#undef X
};

static void print_help(void)
{
    (void)puts("usage: lanepack VERB [options] [arguments]\n\nVerbs:");
    for (size_t i = 0; i < LP_ARRAY_LEN(verb_rows); i++)
        (void)printf("  %-9s %-20s %s\n", verb_rows[i].name, verb_rows[i].arguments,
                     verb_rows[i].help);
    (void)puts(
        "\nlanepack VERB --help lists the options of a verb. Exit: 0 done, 1 failed, 2 usage, "
        "3 daemon\nunreachable, 4 version or epoch mismatch, 5 checks found problems.");
}

static void print_verb_help(const struct verb_row *verb)
{
    (void)printf("usage: lanepack %s [options]%s%s\n\n%s\n\nOptions:\n", verb->name,
                 verb->arguments[0] != '\0' ? " " : "", verb->arguments, verb->help);
    for (int i = 0; i < LP_CLI_OPTIONS; i++) {
        const struct option_row *row = &option_rows[i];
        char left[64];

        if ((verb->options & (1ull << i)) == 0)
            continue;
        (void)snprintf(left, sizeof(left), "%s%.1s%s--%s%s%s", row->letter != 0 ? "-" : "",
                       &row->letter, row->letter != 0 ? ", " : "", row->name,
                       row->value != NULL ? " " : "", row->value != NULL ? row->value : "");
        (void)printf("  %-24s %s\n", left, row->help);
    }
}

static const struct verb_row *find_verb(const char *name)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(verb_rows); i++)
        if (strcmp(verb_rows[i].name, name) == 0)
            return &verb_rows[i];
    return NULL;
}

/* getopt's tables of the options that this verb takes. letters has room for three a row. */
static void make_tables(const struct verb_row *verb, struct option *longs, char *letters)
{
    *letters++ = ':';
    for (int i = 0; i < LP_CLI_OPTIONS; i++) {
        const struct option_row *row = &option_rows[i];

        if ((verb->options & (1ull << i)) == 0)
            continue;
        *longs++ = (struct option){row->name, row->value != NULL ? required_argument : no_argument,
                                   NULL, 256 + i};
        if (row->letter == 0)
            continue;
        *letters++ = row->letter;
        if (row->value != NULL)
            *letters++ = ':';
    }
    *longs = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static int option_of(int found)
{
    if (found >= 256)
        return found - 256;
    for (int i = 0; i < LP_CLI_OPTIONS; i++)
        if (option_rows[i].letter == found)
            return i;
    return -1;
}

static int parse(const struct verb_row *verb, int argc, char **argv, struct lp_cli_args *args)
{
    struct option longs[LP_CLI_OPTIONS + 1];
    char letters[2 + 2 * LP_CLI_OPTIONS];
    uint64_t seconds;
    int found;

    make_tables(verb, longs, letters);
    opterr = 0;
    while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const int option = option_of(found);

        if (found == ':')
            return lp_cli_usage(args, "%s needs a value", argv[optind - 1]);
        if (option < 0)
            return lp_cli_usage(args, "%s does not take %s", verb->name, argv[optind - 1]);
        args->value[option] = optarg != NULL ? optarg : "";
    }
    args->items = (const char *const *)argv + optind;
    args->n_items = argc - optind;
    if (lp_cli_has(args, LP_CLI_HELP))
        return LP_CLI_DONE;
    if (args->n_items < verb->least || (verb->most >= 0 && args->n_items > verb->most))
        return lp_cli_usage(args, "%s takes: %s", verb->name,
                            verb->arguments[0] != '\0' ? verb->arguments : "no arguments");
    return lp_cli_number(args, LP_CLI_TIMEOUT, LP_CLI_TIMEOUT_MAX, &seconds) ? LP_CLI_DONE
                                                                             : LP_CLI_USAGE;
}

int main(int argc, char **argv)
{
    struct lp_cli_args args = {0};
    const struct verb_row *verb;
    int rc;

    (void)signal(SIGXFSZ, SIG_IGN); /* a file above RLIMIT_FSIZE is an error, not the end */
    if (argc < 2) {
        print_help();
        return LP_CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return lp_cli_finish_output();
    }
    if (strcmp(argv[1], "--version") == 0)
        argv[1] += 2;
    args.verb = argv[1];
    verb = find_verb(argv[1]);
    if (verb == NULL)
        return lp_cli_usage(&args, "there is no verb %s", argv[1]);
    rc = parse(verb, argc - 1, argv + 1, &args);
    if (rc != LP_CLI_DONE)
        return rc;
    if (lp_cli_has(&args, LP_CLI_HELP)) {
        print_verb_help(verb);
        return lp_cli_finish_output();
    }
    return verb->run(&args);
}
