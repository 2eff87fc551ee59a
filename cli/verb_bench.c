/* SPDX-License-Identifier: Apache-2.0 */
/* bench: what the codecs save on tensor files, and a random gather through the daemon, each beside
 * memcpy in the same run. Peers stand in lanepack-bench. */
#include "cli/verb_bench.h"

#include "base/bytes.h"
#include "cli/bench_time.h"

#include <string.h>

#define REPEATS 5u

int lp_cli_verb_bench(const struct lp_cli_args *args)
{
    struct lp_cli_bench bench = {.args = args, .repeats = REPEATS};
    uint64_t repeats = REPEATS;
    int rc = lp_cli_read_source(args, &bench.source);

    if (rc != LP_CLI_DONE)
        return rc;
    if (!lp_cli_number(args, LP_CLI_REPEAT, LP_BENCH_RUNS_MAX, &repeats))
        return LP_CLI_USAGE;
    bench.repeats = (uint32_t)LP_MAX(repeats, UINT64_C(1));
    if (lp_cli_has(args, LP_CLI_JSON))
        bench.results = json_array();
    if (strcmp(args->items[0], "codec") == 0)
        rc = lp_cli_bench_codec(&bench);
    else if (strcmp(args->items[0], "gather") == 0)
        rc = lp_cli_bench_gather(&bench);
    else
        rc = lp_cli_usage(args, "bench measures codec or gather, not %s", args->items[0]);
    if (rc != LP_CLI_DONE || bench.results == NULL) {
        json_decref(bench.results);
        return rc != LP_CLI_DONE ? rc : lp_cli_finish_output();
    }
    return lp_cli_print_json_take(json_pack("{s:o}", "results", bench.results));
}
