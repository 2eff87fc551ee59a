/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/codec_report.h"

#include "base/alloc.h"
#include "base/bytes.h"

#include <jansson.h>

#include <string.h>

/* What the files of the data pack are called where they come from. */
static const struct {
    const char *part; /* of the file's name */
    const char *title;
} titles[] = {{"emb_glove100", "GloVe vectors, 100-d"},
              {"gnn_debpkg_use512", "USE-lite text features, 512-d"},
              {"llm_uselite", "USE-lite transformer weights"},
              {"w_mp_pose", "MediaPipe pose weights"},
              {"gnn_pygod_reddit", "PyGOD Reddit features, 64-d"},
              {"gnn_pubmed", "Planetoid PubMed tf-idf"},
              {"gnn_cora", "Planetoid Cora"},
              {"gnn_coauthor", "Coauthor CS"},
              {"graph_cora", "Planetoid Cora, edges"},
              {"kv_stories260K", "stories260K KV cache"},
              {"kv_smollm2", "SmolLM2 KV cache"},
              {"lora_analog", "LoRA adapters"}};

static void set_title(struct codec_result *result)
{
    (void)snprintf(result->title, sizeof(result->title), "%.63s", result->file);
    for (size_t i = 0; i < LP_ARRAY_LEN(titles); i++) {
        if (strncmp(result->file, titles[i].part, strlen(titles[i].part)) == 0)
            (void)snprintf(result->title, sizeof(result->title), "%s", titles[i].title);
    }
}

int codec_results_add(struct codec_results *results, const char *file, bool whole,
                      const struct tensor_figures *figures, struct lp_error *err)
{
    struct codec_result *result;

    if (results->n == results->room) {
        struct codec_result *const grown =
            lp_mem_realloc_array(results->result, results->room + 16, sizeof(*results->result));

        if (grown == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory for results");
        results->result = grown;
        results->room += 16;
    }
    result = &results->result[results->n++];
    memset(result, 0, sizeof(*result));
    (void)snprintf(result->file, sizeof(result->file), "%s", file);
    set_title(result);
    result->whole = whole;
    result->figures = *figures;
    return 0;
}

void codec_results_fini(struct codec_results *results)
{
    lp_mem_free(results->result);
    memset(results, 0, sizeof(*results));
}

bool codec_row_counts(const struct tensor_figures *tensor, uint32_t codec)
{
    return strcmp(tensor->row[codec].how, "raw") != 0;
}

/* --- text ------------------------------------------------------------------------------------ */

void codec_print_machine(const struct bench_machine *machine, FILE *file)
{
    (void)fprintf(file,
                  "%s; %u processors, last-level cache %llu MiB; tiers %s, %s in use; one thread, "
                  "CPU time, medians\n",
                  machine->cpu, (unsigned)machine->n_cpus,
                  (unsigned long long)(machine->llc_bytes >> 20), machine->tiers, machine->tier);
}

static void print_row(uint32_t codec, const struct tensor_figures *tensor, FILE *file)
{
    const struct lp_bench_figures *const figures = &tensor->row[codec];
    const double logical = (double)figures->logical_bytes, saving = lp_bench_saving(figures);

    (void)fprintf(file, "  %-6s %-24s %7.3f %7.2f%%", lp_codec_id_name(codec), figures->how,
                  8.0 * tensor->geometry.elem_bytes * (1 - saving), 100 * saving);
    if (tensor->bound_saving > 0)
        (void)fprintf(file, " %7.3f", saving / tensor->bound_saving);
    else
        (void)fprintf(file, " %7s", "-");
    (void)fprintf(file, " %7.2f %8.3f %8.3f", measure_extra_bytes(figures),
                  logical / (double)LP_MAX(figures->stored_bytes, 1),
                  logical / (double)LP_MAX(figures->wire_bytes, 1));
    if (figures->memcpy_gbps > 0)
        (void)fprintf(file, " %7.2f %7.2f   %.2f x %.2f x of memcpy %.2f", figures->encode_gbps,
                      figures->decode_gbps, figures->encode_gbps / figures->memcpy_gbps,
                      figures->decode_gbps / figures->memcpy_gbps, figures->memcpy_gbps);
    (void)fprintf(file, "\n");
}

static void print_peer(const struct peer_figures *peer, FILE *file)
{
    if (peer->state == PEER_MEASURED)
        (void)fprintf(file, "  peer   %-16s %-15s %7.2f%% %34s %7.2f %7.2f\n", peer->name,
                      peer->version, 100 * bench_peer_saving(peer), "",
                      lp_bench_gbps(peer->raw_bytes, peer->encode_seconds),
                      lp_bench_gbps(peer->raw_bytes, peer->decode_seconds));
    else
        (void)fprintf(file, "  peer   %-16s %s: %s\n", peer->name,
                      peer->state == PEER_WAIVED ? "waived" : "FAILED", peer->why);
}

void codec_print_tensor(const struct tensor_figures *tensor, FILE *file)
{
    (void)fprintf(file, "%s  %s  %llu bytes", tensor->name,
                  lp_codec_dtype_info(tensor->geometry.dtype)->name,
                  (unsigned long long)tensor->row[LP_CODEC_RAW].logical_bytes);
    if (tensor->is_float)
        (void)fprintf(file, "  exponent %.3f bits, bound %.2f%%", tensor->entropy_bits,
                      100 * tensor->bound_saving);
    (void)fprintf(file, "\n  codec  how                      bits/el  saving   /bound index B/r"
                        "  stored     wire  encode  decode GB/s\n");
    for (uint32_t codec = LP_CODEC_RAW; codec < MEASURE_ROWS; codec++)
        print_row(codec, tensor, file);
    print_row(LP_CODEC_AUTO, tensor, file);
    for (uint32_t i = 0; i < tensor->n_peers; i++)
        print_peer(&tensor->peer[i], file);
    if (tensor->timed)
        (void)fprintf(file, "  analysis %.2f GB/s; timed on %llu MiB\n", tensor->analysis_gbps,
                      (unsigned long long)(tensor->timed_bytes >> 20));
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *figures_json(const struct lp_bench_figures *figures, double bound)
{
    json_t *const object = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "how", figures->how, "payload_bytes",
        (json_int_t)figures->payload_bytes, "meta_bytes", (json_int_t)figures->meta_bytes,
        "index_bytes", (json_int_t)figures->index_bytes, "stored_bytes",
        (json_int_t)figures->stored_bytes, "wire_bytes", (json_int_t)figures->wire_bytes, "records",
        (json_int_t)figures->records, "payload_saving", lp_bench_saving(figures),
        "index_align_bytes_per_record", measure_extra_bytes(figures));

    if (bound > 0)
        (void)json_object_set_new(object, "share_of_bound",
                                  json_real(lp_bench_saving(figures) / bound));
    if (figures->memcpy_gbps > 0) {
        (void)json_object_set_new(object, "timed_how", json_string(figures->timed_how));
        (void)json_object_set_new(object, "encode_gbps", json_real(figures->encode_gbps));
        (void)json_object_set_new(object, "decode_gbps", json_real(figures->decode_gbps));
        (void)json_object_set_new(object, "memcpy_gbps", json_real(figures->memcpy_gbps));
    }
    return object;
}

static json_t *peer_json(const struct peer_figures *peer)
{
    static const char *const states[] = {"waived", "failed", "measured"};
    json_t *const object =
        json_pack("{s:s, s:s}", "name", peer->name, "state", states[peer->state]);

    if (peer->state != PEER_MEASURED) {
        (void)json_object_set_new(object, "why", json_string(peer->why));
        return object;
    }
    (void)json_object_set_new(object, "version", json_string(peer->version));
    (void)json_object_set_new(object, "saving", json_real(bench_peer_saving(peer)));
    (void)json_object_set_new(object, "encode_gbps",
                              json_real(lp_bench_gbps(peer->raw_bytes, peer->encode_seconds)));
    (void)json_object_set_new(object, "decode_gbps",
                              json_real(lp_bench_gbps(peer->raw_bytes, peer->decode_seconds)));
    return object;
}

static json_t *result_json(const struct codec_result *result)
{
    const struct tensor_figures *const tensor = &result->figures;
    json_t *const object =
        json_pack("{s:s, s:s, s:b, s:s, s:I, s:f, s:f, s:f}", "file", result->file, "name",
                  tensor->name, "whole_file", result->whole ? 1 : 0, "dtype",
                  lp_codec_dtype_info(tensor->geometry.dtype)->name, "logical_bytes",
                  (json_int_t)tensor->row[LP_CODEC_RAW].logical_bytes, "exponent_entropy_bits",
                  tensor->entropy_bits, "bound_saving", tensor->bound_saving, "own_bound_saving",
                  tensor->own_bound_saving);
    json_t *const codecs = json_object(), *const peers = json_array();

    for (uint32_t codec = 0; codec < MEASURE_ROWS; codec++)
        (void)json_object_set_new(codecs, lp_codec_id_name(codec),
                                  figures_json(&tensor->row[codec], tensor->bound_saving));
    for (uint32_t i = 0; i < tensor->n_peers; i++)
        (void)json_array_append_new(peers, peer_json(&tensor->peer[i]));
    (void)json_object_set_new(object, "codecs", codecs);
    (void)json_object_set_new(object, "peers", peers);
    if (tensor->timed)
        (void)json_object_set_new(object, "analysis_gbps", json_real(tensor->analysis_gbps));
    return object;
}

json_t *codec_json(const struct codec_results *results, const struct bench_machine *machine,
                   const struct bars *bars)
{
    json_t *const array = json_array();
    json_t *const root =
        json_pack("{s:s, s:{s:s, s:i, s:I, s:s, s:s}}", "bench", "codec", "machine", "cpu",
                  machine->cpu, "processors", (int)machine->n_cpus, "llc_bytes",
                  (json_int_t)machine->llc_bytes, "tiers", machine->tiers, "tier", machine->tier);

    for (uint32_t i = 0; i < results->n; i++)
        (void)json_array_append_new(array, result_json(&results->result[i]));
    (void)json_object_set_new(root, "results", array);
    if (bars != NULL)
        (void)json_object_set_new(root, "bars", bars_json(bars));
    return root;
}
