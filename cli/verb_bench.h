/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the verb bench share. */
#ifndef LP_CLI_VERB_BENCH_H
#define LP_CLI_VERB_BENCH_H

#include "cli/source.h"

struct lp_cli_bench {
    const struct lp_cli_args *args;
    struct lp_load_options source;
    uint32_t repeats;
    json_t *results; /* NULL: a table */
};

/* Return exit codes; results are put behind those that are there. */
int lp_cli_bench_codec(struct lp_cli_bench *bench);
int lp_cli_bench_gather(struct lp_cli_bench *bench);

#endif
