/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/variants uses of Criterion, for machines that Criterion is not there for: cross builds
 * that run under emulation (tools/test_neon.sh). A failed assertion ends the program. */
#ifndef LP_TESTS_PLAIN_CRITERION_H
#define LP_TESTS_PLAIN_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct plain_suite {
    void (*init)(void), (*fini)(void);
};

struct plain_test {
    const char *suite_name, *name;
    const struct plain_suite *suite;
    void (*run)(void);
    struct plain_test *next;
};

/* test lives as long as the program. */
void plain_add(struct plain_test *test);
void plain_fail(const char *file, int line, const char *what, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

#define TestSuite(suite_, ...) static const struct plain_suite plain_suite_##suite_ = {__VA_ARGS__}

#define Test(suite_, name_)                                                                        \
    static void plain_run_##suite_##_##name_(void);                                                \
    static __attribute__((constructor)) void plain_add_##suite_##_##name_(void)                    \
    {                                                                                              \
        static struct plain_test test = {#suite_, #name_, &plain_suite_##suite_,                   \
                                         plain_run_##suite_##_##name_, NULL};                      \
                                                                                                   \
        plain_add(&test);                                                                          \
    }                                                                                              \
    static void plain_run_##suite_##_##name_(void)

/* The format starts with a blank so that it may be left out. */
#define cr_assert(condition, ...)                                                                  \
    ((condition) ? (void)0 : plain_fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__))
#define cr_assert_fail(...) plain_fail(__FILE__, __LINE__, "failed", " " __VA_ARGS__)
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b), __VA_ARGS__)
#define cr_assert_neq(a, b, ...) cr_assert((a) != (b), __VA_ARGS__)
#define cr_assert_leq(a, b, ...) cr_assert((a) <= (b), __VA_ARGS__)
#define cr_assert_geq(a, b, ...) cr_assert((a) >= (b), __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) cr_assert(memcmp(a, b, bytes) == 0, __VA_ARGS__)

#endif
