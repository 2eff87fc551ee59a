/* SPDX-License-Identifier: Apache-2.0 */
/* How far a long run over known bytes has come: one line on a terminal, with rate and time left.
 *
 * Draws on standard error, and only where that is a terminal: in a pipe or a log nothing appears.
 * At most five lines a second, each over the one before; the end wipes it. For programs: the
 * client library shows nothing. One thread at a time. */
#ifndef LP_BASE_PROGRESS_H
#define LP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lp_progress {
    const char *label; /* borrowed until fini; what is being done, a few words */
    uint64_t total_bytes;
    uint64_t done_bytes;
    uint64_t start_ns, drawn_ns; /* monotonic; drawn_ns 0: nothing on the screen */
    bool visible;
};

/* label borrows until fini. shown false keeps it quiet (--quiet, --json). */
void lp_progress_init(struct lp_progress *progress, const char *label, uint64_t total_bytes,
                      bool shown);

/* Another piece is done. progress may be NULL: whoever does the work need not know. */
void lp_progress_add(struct lp_progress *progress, uint64_t bytes);

/* Wipe the line. NULL is fine, and so is a second call. */
void lp_progress_fini(struct lp_progress *progress);

/* The line for a moment elapsed_ns after the start, as it is drawn: "packing emb: 1.2 of 4.0 GiB,
 * 30 %, 850 MB/s, 0:03 left". Returns what snprintf does. */
int lp_progress_format(const struct lp_progress *progress, uint64_t elapsed_ns, char *buffer,
                       size_t room);

#endif
