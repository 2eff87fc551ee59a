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

/* --- speeds: a table for each class of sets, a column for each set -------------------------- */

enum set_class { SETS_NARROW, SETS_WIDE, SETS_OTHER, SET_CLASSES };

static enum set_class class_of(const struct tensor_figures *tensor)
{
    if (!tensor->is_float || tensor->sparse)
        return SETS_OTHER;
    return tensor->geometry.elem_bytes == 2 ? SETS_NARROW : SETS_WIDE;
}

static bool in_class(const struct codec_result *result, enum set_class class)
{
    return result->figures.timed && class_of(&result->figures) == class;
}

static void print_cell(double saving, double encode, double decode, FILE *file)
{
    (void)fprintf(file, " %.1f, %.2f, %.2f |", 100 * saving, encode, decode);
}

static void print_codec_cell(const struct tensor_figures *tensor, uint32_t codec, FILE *file)
{
    const struct lp_bench_figures *const row = &tensor->row[codec];

    if (codec == LP_CODEC_RAW)
        (void)fprintf(file, " %.2f |", row->memcpy_gbps);
    else if (codec_row_counts(tensor, codec))
        print_cell(lp_bench_saving(row), row->encode_gbps, row->decode_gbps, file);
    else
        (void)fprintf(file, " - |");
}

static const struct peer_figures *find_peer(const struct tensor_figures *tensor, const char *name)
{
    for (uint32_t i = 0; i < tensor->n_peers; i++) {
        if (strcmp(tensor->peer[i].name, name) == 0 && tensor->peer[i].state == PEER_MEASURED)
            return &tensor->peer[i];
    }
    return NULL;
}

static void print_peer_cell(const struct tensor_figures *tensor, const char *name, FILE *file)
{
    const struct peer_figures *const peer = find_peer(tensor, name);

    if (peer != NULL)
        print_cell(bench_peer_saving(peer), lp_bench_gbps(peer->raw_bytes, peer->encode_seconds),
                   lp_bench_gbps(peer->raw_bytes, peer->decode_seconds), file);
    else
        (void)fprintf(file, " - |");
}

/* The row of a codec, or where peer is not NULL of that peer. */
static void print_class_row(const struct codec_results *results, enum set_class class,
                            uint32_t codec, const struct peer_figures *peer, FILE *file)
{
    if (peer != NULL)
        (void)fprintf(file, "| %s %s |", peer->name, peer->version);
    else
        (void)fprintf(file, "| %s |", codec == LP_CODEC_RAW ? "memcpy" : lp_codec_id_name(codec));
    for (uint32_t i = 0; i < results->n; i++) {
        if (!in_class(&results->result[i], class))
            continue;
        if (peer != NULL)
            print_peer_cell(&results->result[i].figures, peer->name, file);
        else
            print_codec_cell(&results->result[i].figures, codec, file);
    }
    (void)fprintf(file, "\n");
}

/* Does a codec help on any set of the class? memcpy always has figures. */
static bool is_used(const struct codec_results *results, enum set_class class, uint32_t codec)
{
    bool used = codec == LP_CODEC_RAW;

    for (uint32_t i = 0; i < results->n; i++)
        used = used || (in_class(&results->result[i], class) &&
                        codec_row_counts(&results->result[i].figures, codec));
    return used;
}

static const struct codec_result *first_of(const struct codec_results *results,
                                           enum set_class class)
{
    for (uint32_t i = 0; i < results->n; i++) {
        if (in_class(&results->result[i], class))
            return &results->result[i];
    }
    return NULL;
}

/* Each peer once, as the first set that it was measured on names it. */
static void print_peer_rows(const struct codec_results *results, enum set_class class, FILE *file)
{
    const struct tensor_figures *const first = &first_of(results, class)->figures;

    for (uint32_t i = 0; i < first->n_peers; i++) {
        const struct peer_figures *peer = NULL;

        for (uint32_t k = 0; peer == NULL && k < results->n; k++) {
            if (in_class(&results->result[k], class))
                peer = find_peer(&results->result[k].figures, first->peer[i].name);
        }
        if (peer != NULL)
            print_class_row(results, class, 0, peer, file);
    }
}

static void print_class(const struct codec_results *results, enum set_class class, FILE *file)
{
    if (first_of(results, class) == NULL)
        return;
    (void)fprintf(file, "| |");
    for (uint32_t i = 0; i < results->n; i++) {
        if (in_class(&results->result[i], class))
            (void)fprintf(file, " %s, %s |", results->result[i].title,
                          dtype_name(&results->result[i].figures));
    }
    (void)fprintf(file, "\n|---|");
    for (uint32_t i = 0; i < results->n; i++) {
        if (in_class(&results->result[i], class))
            (void)fprintf(file, "---:|");
    }
    (void)fprintf(file, "\n");
    for (uint32_t codec = LP_CODEC_RAW; codec < MEASURE_ROWS; codec++) {
        if (is_used(results, class, codec))
            print_class_row(results, class, codec, NULL, file);
    }
    print_peer_rows(results, class, file);
    (void)fprintf(file, "\n");
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
    (void)fprintf(file, "\n### Speeds\n\nEach cell: saved %%, encode GB/s, decode GB/s.\n\n");
    for (int class = 0; class < SET_CLASSES; class ++)
        print_class(results, (enum set_class) class, file);
    if (bars != NULL) {
        (void)fprintf(file, "### Bars\n\n");
        bars_print_markdown(bars, file);
    }
}
