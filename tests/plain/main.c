/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what plain_add() got, one after the other; with arguments only the suites named there. */
#include "tests/plain/criterion/criterion.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct plain_test *tests;
static const struct plain_test *running;

void plain_add(struct plain_test *test)
{
    test->next = tests;
    tests = test;
}

void plain_fail(const char *file, int line, const char *what, const char *format, ...)
{
    va_list args;

    (void)fprintf(stderr, "%s:%d: %s::%s: %s:", file, line, running->suite_name, running->name,
                  what);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

static bool wanted(const struct plain_test *test, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(test->suite_name, argv[i]) == 0)
            return true;
    }
    return argc == 1;
}

int main(int argc, char **argv)
{
    unsigned passed = 0;

    for (running = tests; running != NULL; running = running->next) {
        if (!wanted(running, argc, argv))
            continue;
        running->suite->init();
        running->run();
        running->suite->fini();
        passed++;
        (void)printf("%s::%s passed\n", running->suite_name, running->name);
        (void)fflush(stdout);
    }
    (void)printf("%u passed, 0 failed\n", passed);
    return passed > 0 ? 0 : 1;
}
