/* SPDX-License-Identifier: Apache-2.0 */
/* lanepackd: arguments, configuration, log, exit code. 0: ended in order; 1: could not start or had
 * to end; 2: wrong usage. */
#include "base/alloc.h"
#include "base/cpu.h"
#include "base/log.h"
#include "config/config.h"
#include "daemon/daemon.h"
#include "proto/message.h"
#include "proto/method.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum action { RUN, CHECK_CONFIG, DUMP_CONFIG, LIST_METHODS, HELP, VERSION };

struct arguments {
    enum action action;
    const char *file; /* borrows from argv; NULL: LP_CONF_FILE if it is there */
};

static void print_help(void)
{
    (void)printf(
        "usage: lanepackd [--config=FILE] [--KEY=VALUE ...]\n"
        "       lanepackd --check-config | --dump-config | --list-methods | --version\n"
        "\n"
        "Keeps losslessly packed tensors in shared memory for the processes of this node.\n"
        "\n"
        "  --config=FILE   strict JSON; without it %s, if that exists\n"
        "  --check-config  say what is wrong with the configuration and end with 0 or 1\n"
        "  --dump-config   print the configuration in force as a file\n"
        "  --list-methods  print the methods of the control socket\n"
        "\n"
        "Options, with their defaults. Each is also a key of the file (pool.size), and a\n"
        "variable (LANEPACK_POOL_SIZE); a flag counts before a variable, a variable\n"
        "before the file.\n",
        LP_CONF_FILE);
    lp_conf_help(stdout);
}

static void list_methods(void)
{
    for (int id = 0; id < LP_METHODS; id++) {
        const struct lp_method *method = lp_proto_method((enum lp_method_id)id);
        (void)printf("%-16s %s%s\n", method->name, method->help,
                     (method->flags & LP_METHOD_ADMIN) != 0 ? " (admin)" : "");
    }
}

static bool is_action(const char *argument, enum action *ret_action)
{
    static const struct {
        const char *flag;
        enum action action;
    } actions[] = {
        {"--check-config", CHECK_CONFIG},
        {"--dump-config", DUMP_CONFIG},
        {"--list-methods", LIST_METHODS},
        {"--help", HELP},
        {"-h", HELP},
        {"--version", VERSION},
    };

    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(argument, actions[i].flag) == 0) {
            *ret_action = actions[i].action;
            return true;
        }
    }
    return false;
}

/* The value of "--name=VALUE" or "--name VALUE"; *i moves on in the second case. */
static const char *value_of(int argc, char **argv, int *i, size_t name_end)
{
    if (argv[*i][name_end] == '=')
        return argv[*i] + name_end + 1;
    return *i + 1 < argc ? argv[++*i] : NULL;
}

/* One argument, and perhaps its value. */
static int read_argument(int argc, char **argv, int *i, struct arguments *arguments,
                         struct lp_config *config, struct lp_error *err)
{
    const char *argument = argv[*i];
    const size_t name_end = strcspn(argument, "=");

    if (is_action(argument, &arguments->action))
        return 0;
    const bool is_file = name_end == 8 && strncmp(argument, "--config", 8) == 0;
    const char *key =
        strncmp(argument, "--", 2) == 0 ? lp_conf_flag_key(argument + 2, name_end - 2) : NULL;
    if (!is_file && key == NULL)
        return lp_error_set(err, LP_ENAME, "unknown argument '%.64s'; see lanepackd --help",
                            argument);
    const char *value = value_of(argc, argv, i, name_end);
    if (value == NULL)
        return lp_error_set(err, LP_EINVAL, "%s needs a value", argument);
    if (is_file) {
        arguments->file = value;
        return 0;
    }
    const int rc = lp_conf_set(config, key, value, LP_CONF_FROM_FLAG, err);
    return rc < 0 ? lp_error_wrap(err, rc, "%.*s", (int)name_end, argument) : 0;
}

static int load_config(const struct arguments *arguments, struct lp_config *config,
                       struct lp_error *err)
{
    uint32_t tiers = lp_cpu_detect();
    int rc;

    if (arguments->file != NULL || access(LP_CONF_FILE, F_OK) == 0)
        LP_TRY(rc, lp_conf_load_file(
                       config, arguments->file != NULL ? arguments->file : LP_CONF_FILE, err));
    LP_TRY(rc, lp_conf_load_environment(config, (const char *const *)environ, err));
    rc = lp_cpu_mask(getenv("LANEPACK_CPU_MASK"), &tiers, err);
    return rc < 0 ? lp_error_wrap(err, rc, "environment: LANEPACK_CPU_MASK") : 0;
}

static int dump_config(const struct lp_config *config, struct lp_error *err)
{
    char *text;
    int rc;

    LP_TRY(rc, lp_conf_dump(config, &text, err));
    const bool written = fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    lp_mem_free(text);
    return written ? 0 : lp_error_set(err, LP_EIO, "write to standard output");
}

static int run(const struct lp_config *config, struct lp_error *err)
{
    enum lp_log_level level = LP_LOG_LEVEL_INFO;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    (void)lp_log_level_parse(lp_conf_text(config, LP_CONF_LOG_LEVEL), &level);
    lp_log_set_level(level);
    if (!lp_log_set_topics(lp_conf_text(config, LP_CONF_LOG_TOPICS)))
        return lp_error_set(err, LP_ERANGE, "log.topics: too long");
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)sigaction(SIGXFSZ, &ignore, NULL); /* a chunk above RLIMIT_FSIZE is then an error */
    return lp_daemon_run(config, err);
}

static int carry_out(enum action action, const struct lp_config *config, struct lp_error *err)
{
    switch (action) {
    case CHECK_CONFIG:
        return 0;
    case DUMP_CONFIG:
        return dump_config(config, err);
    case LIST_METHODS:
        list_methods();
        return 0;
    case HELP:
        print_help();
        return 0;
    case VERSION:
        (void)puts(LP_DAEMON_SERVER);
        return 0;
    case RUN:
        break;
    }
    return run(config, err);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.action = RUN};
    struct lp_error err = LP_ERROR_INIT;
    struct lp_config config;

    lp_proto_use_our_memory();
    lp_conf_init(&config);
    for (int i = 1; i < argc; i++) {
        if (read_argument(argc, argv, &i, &arguments, &config, &err) < 0) {
            (void)fprintf(stderr, "lanepackd: %s\n", err.text);
            return err.code == LP_ENAME || arguments.action != CHECK_CONFIG ? 2 : 1;
        }
    }
    int rc = 0;
    if (arguments.action <= DUMP_CONFIG)
        rc = load_config(&arguments, &config, &err);
    if (rc == 0)
        rc = carry_out(arguments.action, &config, &err);
    if (rc < 0) {
        (void)fprintf(stderr, "lanepackd: %s (%s)\n", err.text, lp_error_name(err.code));
        return 1;
    }
    return 0;
}
