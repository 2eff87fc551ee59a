/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of docs/BENCHMARKS.md. */
#include "base/bytes.h"
#include "bench/codec_report.h"

#include <string.h>

static const char *dtype_name(const struct tensor_figures *tensor)
{
    return lp_codec_dtype_info(tensor->geometry.dtype)->name;
}

static void print_saving(const struct tensor_figures *tensor, uint32_t codec, FILE *file)
{
    if (codec_row_counts(tensor, codec))
        (void)fprintf(file, " %.2f |", 100 * lp_bench_saving(&tensor->row[codec]));
    else
        (void)fprintf(file, " - |");
}

static void print_sizes_row(const struct codec_result *result, FILE *file)
{
    const struct tensor_figures *const tensor = &result->figures;
    const struct lp_bench_figures *const chosen = &tensor->row[LP_CODEC_AUTO];
    const double logical = (double)chosen->logical_bytes;

    (void)fprintf(file, "| %s | %s |", result->title, dtype_name(tensor));
    if (tensor->bound_saving > 0)
        (void)fprintf(file, " %.2f |", 100 * tensor->bound_saving);
    else
        (void)fprintf(file, " - |");
    for (uint32_t codec = LP_CODEC_RAW + 1; codec < MEASURE_ROWS; codec++)
        print_saving(tensor, codec, file);
    (void)fprintf(file, " %.2f | %s | %.2f | %.3f | %.3f |\n", 100 * lp_bench_saving(chosen),
                  chosen->how, measure_extra_bytes(chosen),
                  logical / (double)LP_MAX(chosen->stored_bytes, 1),
                  logical / (double)LP_MAX(chosen->wire_bytes, 1));
}

static void print_sizes(const struct codec_results *results, FILE *file)
{
    (void)fprintf(file, "| set | dtype | bound |");
    for (uint32_t codec = LP_CODEC_RAW + 1; codec < MEASURE_ROWS; codec++)
        (void)fprintf(file, " %s |", lp_codec_id_name(codec));
    (void)fprintf(file, " auto | which is | index, alignment B/record | stored ratio | "
                        "transfer ratio |\n|---|---|---:|");
    for (uint32_t codec = LP_CODEC_RAW + 1; codec < MEASURE_ROWS; codec++)
        (void)fprintf(file, "---:|");
    (void)fprintf(file, "---:|---|---:|---:|---:|\n");
    for (uint32_t i = 0; i < results->n; i++) {
        if (results->result[i].whole)
            print_sizes_row(&results->result[i], file);
    }
}

static void print_speed_row(const struct codec_result *result, const char *name,
                            const char *version, double saving, double encode, double decode,
                            FILE *file)
{
    (void)fprintf(file, "| %s, %s | %s | %s | %.2f | %.2f | %.2f |\n", result->title,
                  dtype_name(&result->figures), name, version, 100 * saving, encode, decode);
}

static void print_speeds_of(const struct codec_result *result, FILE *file)
{
    const struct tensor_figures *const tensor = &result->figures;

    print_speed_row(result, "memcpy", "", 0, tensor->row[LP_CODEC_AUTO].memcpy_gbps,
                    tensor->row[LP_CODEC_AUTO].memcpy_gbps, file);
    for (uint32_t codec = LP_CODEC_RAW + 1; codec < MEASURE_ROWS; codec++) {
        const struct lp_bench_figures *const row = &tensor->row[codec];

        if (strcmp(row->timed_how, "raw") != 0)
            print_speed_row(result, row->timed_how, "", lp_bench_saving(row), row->encode_gbps,
                            row->decode_gbps, file);
    }
    for (uint32_t i = 0; i < tensor->n_peers; i++) {
        const struct peer_figures *const peer = &tensor->peer[i];

        if (peer->state == PEER_MEASURED)
            print_speed_row(result, peer->name, peer->version, bench_peer_saving(peer),
                            lp_bench_gbps(peer->raw_bytes, peer->encode_seconds),
                            lp_bench_gbps(peer->raw_bytes, peer->decode_seconds), file);
    }
}

static void print_speeds(const struct codec_results *results, FILE *file)
{
    (void)fprintf(file, "| set | with | version | saving %% | encode GB/s | decode GB/s |\n"
                        "|---|---|---|---:|---:|---:|\n");
    for (uint32_t i = 0; i < results->n; i++) {
        if (results->result[i].figures.timed)
            print_speeds_of(&results->result[i], file);
    }
}

void codec_print_markdown(const struct codec_results *results, const struct bench_machine *machine,
                          const struct bars *bars, FILE *file)
{
    (void)fprintf(file, "Machine: ");
    codec_print_machine(machine, file);
    (void)fprintf(file, "\n### Savings\n\n"
                        "In %% of the raw bytes, payload and metadata counted; stored and transfer "
                        "ratios have index,\nchecks and alignment in them. A dash: the codec does "
                        "not help.\n\n");
    print_sizes(results, file);
    (void)fprintf(file, "\n### Speeds\n\n");
    print_speeds(results, file);
    if (bars != NULL) {
        (void)fprintf(file, "\n### Bars\n\n");
        bars_print_markdown(bars, file);
    }
}
