/* SPDX-License-Identifier: Apache-2.0 */
/* Bars: a figure, what it must reach, and the verdict. */
#ifndef LP_BENCH_BARS_H
#define LP_BENCH_BARS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_t; /* of jansson */

/* Ratios come out the same in every run. Timings depend on the machine and on who else is at work
 * there. */
enum bar_kind { BAR_RATIO, BAR_TIMING };
enum bar_sense { BAR_AT_LEAST, BAR_AT_MOST };
enum bar_verdict { BAR_PASSED, BAR_MISSED, BAR_WAIVED };

struct bar {
    char what[128];
    double figure, bound;
    enum bar_sense sense;
    enum bar_kind kind;
    enum bar_verdict verdict;
    char why[96]; /* waived: the reason */
};

/* Zeros, but for lenient, are an empty list; bars_fini() ends it. */
struct bars {
    struct bar *bar; /* owned */
    uint32_t n, room;
    bool lenient; /* timings are missed only below half of the bar, or above twice */
    bool broken;  /* no memory for a bar: bars_missed() is never 0 then */
};

/* The verdict on a figure, and nothing else. A figure that is no number misses. */
enum bar_verdict bars_verdict(double figure, double bound, enum bar_sense sense, enum bar_kind kind,
                              bool lenient);

void bars_add(struct bars *bars, enum bar_kind kind, double figure, enum bar_sense sense,
              double bound, const char *what, ...) __attribute__((format(printf, 6, 7)));

/* One that cannot be asked here, and why. */
void bars_waive(struct bars *bars, const char *why, const char *what, ...)
    __attribute__((format(printf, 3, 4)));

uint32_t bars_count(const struct bars *bars, enum bar_verdict verdict);

/* Whether any was missed: what a run ends with. */
bool bars_missed(const struct bars *bars);

/* "pass", "FAIL", "waived". */
const char *bars_verdict_name(enum bar_verdict verdict);

/* One line each, the verdict first, then one line of counts. */
void bars_print(const struct bars *bars, FILE *file);
void bars_print_markdown(const struct bars *bars, FILE *file);

/* New array of objects. */
struct json_t *bars_json(const struct bars *bars);

void bars_fini(struct bars *bars);

#endif
