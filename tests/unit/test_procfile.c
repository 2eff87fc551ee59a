/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "store/procfile.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/tmpdir.h"

#include <criterion/criterion.h>

#include <string.h>

Test(store_procfile, reads_files_without_a_size)
{
    struct lp_error err = LP_ERROR_INIT;
    char *text = NULL;

    cr_assert_eq(lp_store_procfile_read("", "/proc/self/mountinfo", &text, &err), 0, "%s",
                 err.text);
    cr_assert_gt(strlen(text), 0);
    lp_mem_free(text);
    ASSERT_NO_LEAK();
}

/* Longer than the first guess, so that the buffer grows; every byte arrives. */
Test(store_procfile, reads_long_files_whole)
{
    static char long_text[100000];
    struct tmpdir dir;
    char *text = NULL;

    memset(long_text, 'y', sizeof(long_text));
    tmpdir_init(&dir);
    tmpdir_write(&dir, "long", long_text, sizeof(long_text));
    cr_assert_eq(lp_store_procfile_read(dir.path, "/long", &text, NULL), 0);
    cr_assert_eq(strlen(text), sizeof(long_text));
    cr_assert_eq(memcmp(text, long_text, sizeof(long_text)), 0);
    lp_mem_free(text);
    tmpdir_fini(&dir);
}

Test(store_procfile, tells_a_missing_file_from_an_unreadable_one)
{
    struct lp_error err = LP_ERROR_INIT;
    char *text = NULL;

    cr_assert_eq(lp_store_procfile_read("", "/proc/no_such_file", &text, &err), LP_ENOENT);
    cr_assert_not_null(strstr(err.text, "/proc/no_such_file"));
    cr_assert_eq(lp_store_procfile_read("", "/proc", &text, &err), LP_EIO);
    cr_assert_null(text);
}

/* Each failure has its code, leaves nothing, and the next call works. */
Test(store_procfile, survives_failures)
{
    static const struct {
        enum lp_fault_site site;
        int rc;
    } cases[] = {{LP_FAULT_ALLOC, LP_ENOMEM}, {LP_FAULT_OPEN, LP_EIO}, {LP_FAULT_READ, LP_EIO}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fault_loop loop;

        FAULT_LOOP(&loop, cases[i].site) {
            char *text = NULL;
            const int rc = lp_store_procfile_read("", "/proc/self/status", &text, NULL);

            cr_assert_eq(rc, fault_loop_hit(&loop) ? cases[i].rc : 0);
            lp_mem_free(text);
        }
        cr_assert_gt(loop.nth, 1);
    }
    ASSERT_NO_LEAK();
}

Test(store_procfile, finds_numbers_at_the_start_of_lines)
{
    static const char text[] = "MemTotal:  100 kB\nMemAvailable:    42 kB\nxMemFree: 7\nMemFree:";
    uint64_t value = 9;

    cr_assert(lp_store_procfile_find(text, "MemAvailable:", &value));
    cr_assert_eq(value, 42);
    cr_assert(lp_store_procfile_find(text, "MemTotal:", &value));
    cr_assert_eq(value, 100);
    cr_assert_not(lp_store_procfile_find(text, "Mem", &value));
    cr_assert_not(lp_store_procfile_find(text, "MemFree:", &value));
    cr_assert_not(lp_store_procfile_find("", "MemFree:", &value));
    cr_assert_eq(value, 100, "untouched on failure");
}

Test(store_procfile, reads_numbers)
{
    uint64_t value = 9;

    cr_assert(lp_store_procfile_number("18446744073709551615\n", &value));
    cr_assert_eq(value, UINT64_MAX);
    cr_assert(lp_store_procfile_number("99999999999999999999999\n", &value));
    cr_assert_eq(value, UINT64_MAX, "saturates");
    cr_assert(lp_store_procfile_number("max\n", &value));
    cr_assert_eq(value, UINT64_MAX);
    cr_assert(lp_store_procfile_number(" \t0 kB", &value));
    cr_assert_eq(value, 0);
    cr_assert_not(lp_store_procfile_number("", &value));
    cr_assert_not(lp_store_procfile_number("-1", &value));
    cr_assert_not(lp_store_procfile_number("\n5", &value));
}
