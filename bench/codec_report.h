/* SPDX-License-Identifier: Apache-2.0 */
/* What a codec bench found, kept until it ends, and told as text, JSON and Markdown. */
#ifndef LP_BENCH_CODEC_REPORT_H
#define LP_BENCH_CODEC_REPORT_H

#include "bench/bars.h"
#include "bench/machine.h"
#include "bench/measure.h"

#include <stdio.h>

struct codec_result {
    char file[96];
    char title[64]; /* the set by the name of its project, where it is a known one */
    bool whole;     /* of a file: the sum of its tensors, or its only one */
    struct tensor_figures figures;
};

struct codec_results {
    struct codec_result *result; /* owned */
    uint32_t n, room;
};

/* figures copies. LP_ENOMEM. */
int codec_results_add(struct codec_results *results, const char *file, bool whole,
                      const struct tensor_figures *figures, struct lp_error *err);
void codec_results_fini(struct codec_results *results);

void codec_print_machine(const struct bench_machine *machine, FILE *file);
void codec_print_tensor(const struct tensor_figures *tensor, FILE *file);

/* Object with "bench", "machine", "results" and, unless NULL, "bars". New. */
struct json_t *codec_json(const struct codec_results *results, const struct bench_machine *machine,
                          const struct bars *bars);

/* Tables for docs/BENCHMARKS.md. bars may be NULL. */
void codec_print_markdown(const struct codec_results *results, const struct bench_machine *machine,
                          const struct bars *bars, FILE *file);

/* Whether a codec's row says more than "raw". */
bool codec_row_counts(const struct tensor_figures *tensor, uint32_t codec);

/* Savings against decode speed: a panel for each timed dense tensor of 16-bit elements. Returns how
 * many panels. */
uint32_t codec_plot(const struct codec_results *results, FILE *file);

#endif
