/* SPDX-License-Identifier: Apache-2.0 */
/* Bars: a figure, what it must reach, and the verdict. */
#ifndef LP_BENCH_BARS_H
#define LP_BENCH_BARS_H

#include "bench/measure.h"

enum bar_verdict { BAR_PASSED, BAR_MISSED, BAR_WAIVED };

struct bar {
    char what[112];
    double figure, bound;
    bool at_most; /* figure <= bound, else >= */
    enum bar_verdict verdict;
    const char *why_waived; /* static */
};

struct bars {
    uint32_t n;
    struct bar bar[256];
};

/* Too many bars are an error of the bench itself: the last ones replace each other. */
void bars_add(struct bars *bars, const char *what, double figure, bool at_most, double bound);
void bars_waive(struct bars *bars, const char *what, double figure, double bound,
                const char *why_waived);

/* Those of one file: savings against the bound and against ibp. */
void bars_add_file(struct bars *bars, const char *file, const struct tensor_figures *all);

/* Those of one timed tensor. window: name of the bar's own share of memcpy for encode. */
void bars_add_speeds(struct bars *bars, const struct tensor_figures *tensor);

/* The bell curve at 16 scales, bf16: bits per value. Measures. */
int bars_add_normal(struct bars *bars, struct lp_error *err);

const char *bars_verdict_name(enum bar_verdict verdict);

/* Prints each; returns how many were missed. */
uint32_t bars_print(const struct bars *bars);

#endif
