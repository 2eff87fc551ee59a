/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line of long runs. */
#include "base/progress.h"

#include "base/clock.h"

#include <stdio.h>
#include <unistd.h>

#define DRAW_EVERY_NS (LP_NS_PER_S / 5)
#define LINE_BYTES 160

/* A size in the unit that leaves one to four digits before the point. */
static const char *unit_of(uint64_t bytes, double *ret_divisor)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double divisor = 1;
    size_t u = 0;

    while (u + 1 < sizeof(units) / sizeof(units[0]) && (double)bytes / divisor >= 1024) {
        divisor *= 1024;
        u++;
    }
    *ret_divisor = divisor;
    return units[u];
}

/* ": 3:07 left", as far as a rate is known. */
static void left_format(const struct lp_progress *progress, double bytes_per_s, char *buffer,
                        size_t room)
{
    const uint64_t left_bytes = progress->total_bytes - progress->done_bytes;

    buffer[0] = '\0';
    if (bytes_per_s <= 0)
        return;
    const double seconds = (double)left_bytes / bytes_per_s;
    if (seconds < 360000)
        (void)snprintf(buffer, room, ", %.0f MB/s, %u:%02u left", bytes_per_s / 1e6,
                       (unsigned)seconds / 60, (unsigned)seconds % 60);
}

int lp_progress_format(const struct lp_progress *progress, uint64_t elapsed_ns, char *buffer,
                       size_t room)
{
    const double elapsed_s = (double)elapsed_ns / (double)LP_NS_PER_S;
    const double share = progress->total_bytes == 0
                             ? 1
                             : (double)progress->done_bytes / (double)progress->total_bytes;
    double divisor;
    char left[64];

    const char *unit = unit_of(progress->total_bytes, &divisor);
    left_format(progress, elapsed_s > 0 ? (double)progress->done_bytes / elapsed_s : 0, left,
                sizeof(left));
    return snprintf(buffer, room, "%s: %.1f of %.1f %s, %.0f %%%s", progress->label,
                    (double)progress->done_bytes / divisor, (double)progress->total_bytes / divisor,
                    unit, share * 100, left);
}

void lp_progress_init(struct lp_progress *progress, const char *label, uint64_t total_bytes,
                      bool shown)
{
    *progress = (struct lp_progress){.label = label,
                                     .total_bytes = total_bytes,
                                     .start_ns = lp_clock_now_ns(),
                                     .visible = shown && isatty(STDERR_FILENO) == 1};
}

void lp_progress_add(struct lp_progress *progress, uint64_t bytes)
{
    char line[LINE_BYTES];

    if (progress == NULL)
        return;
    const uint64_t room = progress->total_bytes - progress->done_bytes;
    progress->done_bytes += bytes < room ? bytes : room;
    if (!progress->visible)
        return;
    const uint64_t now = lp_clock_now_ns();
    if (now - (progress->drawn_ns != 0 ? progress->drawn_ns : progress->start_ns) < DRAW_EVERY_NS)
        return;
    progress->drawn_ns = now;
    (void)lp_progress_format(progress, now - progress->start_ns, line, sizeof(line));
    /* Back to the first column, and clear what a longer line left behind. */
    (void)fprintf(stderr, "\r%s\033[K", line);
    (void)fflush(stderr);
}

void lp_progress_fini(struct lp_progress *progress)
{
    if (progress == NULL || progress->drawn_ns == 0)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    progress->drawn_ns = 0;
}
