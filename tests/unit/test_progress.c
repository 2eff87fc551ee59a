/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/progress.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The line has amount, share, rate and time left. */
Test(base_progress, line_says_rate_and_time_left)
{
    struct lp_progress progress;
    char line[160];

    lp_progress_init(&progress, "packing emb", UINT64_C(4) << 30, true);
    lp_progress_add(&progress, UINT64_C(1) << 30);
    (void)lp_progress_format(&progress, 10 * LP_NS_PER_S, line, sizeof(line));
    cr_assert_str_eq(line, "packing emb: 1.0 of 4.0 GiB, 25 %, 107 MB/s, 0:30 left");
    lp_progress_fini(&progress);
}

/* Nothing, too much, and no size at all give sane lines. */
Test(base_progress, line_survives_edges)
{
    struct lp_progress progress;
    char line[160];

    lp_progress_init(&progress, "x", 100, true);
    (void)lp_progress_format(&progress, LP_NS_PER_S, line, sizeof(line));
    cr_assert_str_eq(line, "x: 0.0 of 100.0 B, 0 %");
    lp_progress_add(&progress, 1000);
    cr_assert_eq(progress.done_bytes, 100);
    (void)lp_progress_format(&progress, 0, line, sizeof(line));
    cr_assert_str_eq(line, "x: 100.0 of 100.0 B, 100 %");
    lp_progress_init(&progress, "x", 0, true);
    (void)lp_progress_format(&progress, 0, line, sizeof(line));
    cr_assert_str_eq(line, "x: 0.0 of 0.0 B, 100 %");
    lp_progress_add(NULL, 5);
    lp_progress_fini(NULL);
}

/* Standard error into fd, until stderr_back. */
static int stderr_to(int fd)
{
    const int saved = dup(STDERR_FILENO);

    cr_assert_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    return saved;
}

static void stderr_back(int saved)
{
    cr_assert_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    (void)close(saved);
}

/* As if the run had begun three seconds ago, so that the next piece is worth a line. */
static void run(const char *label, bool shown)
{
    struct lp_progress progress;

    lp_progress_init(&progress, label, 1000, shown);
    progress.start_ns -= 3 * LP_NS_PER_S;
    lp_progress_add(&progress, 250);
    lp_progress_add(&progress, 250); /* too soon for another line */
    lp_progress_fini(&progress);
}

/* Into a pipe nothing is drawn. */
Test(base_progress, stays_quiet_without_terminal)
{
    char buffer[64];
    int ends[2];

    cr_assert_eq(pipe2(ends, O_NONBLOCK), 0);
    const int saved = stderr_to(ends[1]);
    run("quiet", true);
    stderr_back(saved);
    cr_assert_eq(read(ends[0], buffer, sizeof(buffer)), -1);
}

/* What arrives on fd, until it ends in end: a terminal hands on in its own time. */
static void read_until(int fd, const char *end, char *buffer, size_t room)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    size_t n = 0;

    while (n < strlen(end) || strcmp(buffer + n - strlen(end), end) != 0) {
        cr_assert_eq(poll(&wait, 1, 10000), 1, "only '%s' arrived", buffer);
        const ssize_t got = read(fd, buffer + n, room - 1 - n);
        cr_assert_gt(got, 0);
        n += (size_t)got;
        buffer[n] = '\0';
    }
}

/* On a terminal one line is drawn and wiped; not when told to be quiet. */
Test(base_progress, draws_on_a_terminal)
{
    char buffer[512] = {0};
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);

    cr_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    cr_assert_geq(terminal, 0);
    const int saved = stderr_to(terminal);
    run("hidden", false);
    run("drawn", true);
    stderr_back(saved);
    read_until(master, "\033[K\r\033[K", buffer, sizeof(buffer));
    cr_assert_null(strstr(buffer, "hidden"));
    cr_assert_not_null(strstr(buffer, "\rdrawn: 250.0 of 1000.0 B, 25 %"), "%s", buffer);
    cr_assert_null(strstr(buffer, "50 %"));
}
