/* SPDX-License-Identifier: Apache-2.0 */
/* lanepack-bench codec: what tensors cost in each codec, and how fast, beside memcpy and beside
 * other people's compressors. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "bench/bars.h"
#include "bench/bench.h"
#include "bench/measure.h"
#include "codec/ops.h"
#include "store/load.h"

#include <jansson.h>

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_DEFAULT 5u
#define CACHES 4u /* times the last-level cache that timed data has at least */
#define GENERATED_ELEMENTS (UINT64_C(64) << 20)
#define GENERATED_OCTAVES 8.0

static const char usage[] =
    "usage: lanepack-bench codec FILE... | --data DIR | --generated  [options]\n"
    "  FILE             .npy or .safetensors\n"
    "  --data DIR       every such file in DIR\n"
    "  --generated      bell curves in bf16 and f32, made here\n"
    "  --as bf16        round f32 tensors to bf16 first\n"
    "  --no-speed       sizes only\n"
    "  --no-peers       do not time other compressors\n"
    "  --runs N         medians of N runs (5)\n"
    "  --bars           print bars and verdicts; ends with 1 when one is missed\n"
    "  --json           figures as JSON on standard output\n"
    "Of a file with several tensors the largest is timed.\n";

struct options {
    bool generated, json, bars, speed, peers;
    uint32_t as_dtype, runs;
    const char *data;
    char **files;
    int n_files;
};

/* The whole run. */
struct state {
    const struct options *options;
    struct tensor_figures *tensor, *all; /* owned: the one at work, and its file's sum */
    struct bars bars;
    json_t *files; /* owned, with --json */
};

static json_t *figures_json(const struct lp_bench_figures *figures, double bound)
{
    json_t *const object = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "how", figures->how, "payload_bytes",
        (json_int_t)figures->payload_bytes, "meta_bytes", (json_int_t)figures->meta_bytes,
        "stored_bytes", (json_int_t)figures->stored_bytes, "wire_bytes",
        (json_int_t)figures->wire_bytes, "records", (json_int_t)figures->records, "payload_saving",
        lp_bench_saving(figures), "index_align_bytes_per_record", measure_extra_bytes(figures));

    if (bound > 0)
        (void)json_object_set_new(object, "share_of_bound",
                                  json_real(lp_bench_saving(figures) / bound));
    if (figures->memcpy_gbps > 0) {
        (void)json_object_set_new(object, "encode_gbps", json_real(figures->encode_gbps));
        (void)json_object_set_new(object, "decode_gbps", json_real(figures->decode_gbps));
        (void)json_object_set_new(object, "memcpy_gbps", json_real(figures->memcpy_gbps));
    }
    return object;
}

static json_t *peer_json(const struct peer_figures *peer)
{
    if (!peer->present)
        return json_pack("{s:s, s:b}", "name", peer->name, "present", 0);
    return json_pack("{s:s, s:b, s:f, s:f, s:f}", "name", peer->name, "present", 1, "saving",
                     1 - (double)peer->stored_bytes / (double)peer->raw_bytes, "encode_gbps",
                     lp_bench_gbps(peer->raw_bytes, peer->encode_seconds), "decode_gbps",
                     lp_bench_gbps(peer->raw_bytes, peer->decode_seconds));
}

static json_t *tensor_json(const struct tensor_figures *tensor)
{
    json_t *const object =
        json_pack("{s:s, s:s, s:I, s:f, s:f}", "name", tensor->name, "dtype",
                  lp_codec_dtype_info(tensor->geometry.dtype)->name, "logical_bytes",
                  (json_int_t)tensor->row[ROW_RAW].logical_bytes, "exponent_entropy_bits",
                  tensor->entropy_bits, "bound_saving", tensor->bound_saving);
    json_t *const peers = json_array();

    for (uint32_t i = 0; i < ROWS; i++)
        (void)json_object_set_new(object, measure_row_name((enum measure_row)i),
                                  figures_json(&tensor->row[i], tensor->bound_saving));
    for (uint32_t i = 0; i < tensor->n_peers; i++)
        (void)json_array_append_new(peers, peer_json(&tensor->peer[i]));
    (void)json_object_set_new(object, "peers", peers);
    if (tensor->timed)
        (void)json_object_set_new(object, "analysis_gbps", json_real(tensor->analysis_gbps));
    return object;
}

static void print_row(const char *name, const struct lp_bench_figures *figures, double bound,
                      uint32_t elem_bytes)
{
    const double logical = (double)figures->logical_bytes;
    const double saving = lp_bench_saving(figures);

    (void)printf("  %-5s %-24s %7.3f %7.2f%%", name, figures->how, 8.0 * elem_bytes * (1 - saving),
                 100 * saving);
    (void)printf(bound > 0 ? " %8.3f" : "        -", saving / bound);
    (void)printf(" %8.2f %7.3f %7.3f", measure_extra_bytes(figures),
                 logical / (double)LP_MAX(figures->stored_bytes, 1),
                 logical / (double)LP_MAX(figures->wire_bytes, 1));
    if (figures->memcpy_gbps > 0)
        (void)printf(" %7.2f %7.2f   %.2f x %.2f x of memcpy %.2f", figures->encode_gbps,
                     figures->decode_gbps, figures->encode_gbps / figures->memcpy_gbps,
                     figures->decode_gbps / figures->memcpy_gbps, figures->memcpy_gbps);
    (void)printf("\n");
}

static void print_tensor(const struct tensor_figures *tensor)
{
    (void)printf("%s  %s  %llu bytes", tensor->name,
                 lp_codec_dtype_info(tensor->geometry.dtype)->name,
                 (unsigned long long)tensor->row[ROW_RAW].logical_bytes);
    if (tensor->is_float)
        (void)printf("  exponent %.3f bits, bound %.2f%%", tensor->entropy_bits,
                     100 * tensor->bound_saving);
    (void)printf("\n  codec how                       bits/el  saving    /bound  idx B/r  stored"
                 "    wire  encode  decode GB/s\n");
    for (uint32_t i = 0; i < ROWS; i++)
        print_row(measure_row_name((enum measure_row)i), &tensor->row[i], tensor->bound_saving,
                  tensor->geometry.elem_bytes);
    for (uint32_t i = 0; i < tensor->n_peers; i++) {
        const struct peer_figures *const peer = &tensor->peer[i];

        if (peer->present)
            (void)printf("  peer  %-24s %7s %7.2f%% %34s %7.2f %7.2f\n", peer->name, "",
                         100 * (1 - (double)peer->stored_bytes / (double)peer->raw_bytes), "",
                         lp_bench_gbps(peer->raw_bytes, peer->encode_seconds),
                         lp_bench_gbps(peer->raw_bytes, peer->decode_seconds));
        else
            (void)printf("  peer  %-24s waived: its library is not here\n", peer->name);
    }
    if (tensor->timed)
        (void)printf("  analysis %.2f GB/s; timed on %llu MiB\n", tensor->analysis_gbps,
                     (unsigned long long)(tensor->timed_bytes >> 20));
}

/* A tensor's figures into those of its file. */
static void add_tensor(struct tensor_figures *all, const struct tensor_figures *tensor)
{
    for (uint32_t e = 0; e < LP_LANE_EXPONENTS_MAX; e++)
        all->hist[e] += tensor->hist[e];
    for (uint32_t i = 0; i < ROWS; i++) {
        struct lp_bench_figures *const sum = &all->row[i];
        const struct lp_bench_figures *const one = &tensor->row[i];

        sum->logical_bytes += one->logical_bytes;
        sum->payload_bytes += one->payload_bytes;
        sum->meta_bytes += one->meta_bytes;
        sum->stored_bytes += one->stored_bytes;
        sum->wire_bytes += one->wire_bytes;
        sum->records += one->records;
        (void)snprintf(sum->how, sizeof(sum->how), "all tensors");
    }
}

/* Bars, text and JSON of one measured tensor. */
static void report_tensor(struct state *state, const struct tensor_figures *tensor, json_t *tensors)
{
    if (tensor->timed)
        bars_add_speeds(&state->bars, tensor);
    if (!state->options->json)
        print_tensor(tensor);
    else
        (void)json_array_append_new(tensors, tensor_json(tensor));
}

static int measure_tensor(struct state *state, const char *name, const struct lp_geometry *geometry,
                          const void *elements, bool timed, struct lp_error *err)
{
    const struct options *const options = state->options;
    int rc;

    LP_TRY(rc, measure_sizes(state->tensor, name, geometry, elements, err));
    if (!timed || !options->speed)
        return 0;
    return measure_speeds(state->tensor, elements, CACHES * lp_bench_llc_bytes(), options->runs,
                          options->peers, err);
}

static int run_loaded(struct state *state, struct lp_load_file *file, uint32_t i, bool timed,
                      struct lp_error *err)
{
    const struct lp_load_tensor *const tensor = lp_load_tensor(file, i);
    const struct lp_geometry *const geometry = &tensor->geometry;
    uint8_t *const elements = lp_bench_map(geometry->logical_bytes);
    int rc;

    if (elements == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for tensor %s", tensor->name);
    rc = lp_load_read(file, i, 0, geometry->n_elements, elements, err);
    if (rc == 0)
        rc = measure_tensor(state, tensor->name, geometry, elements, timed, err);
    lp_bench_unmap(elements, geometry->logical_bytes);
    return rc;
}

static uint32_t largest_tensor(const struct lp_load_file *file)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < lp_load_count(file); i++) {
        if (lp_load_tensor(file, i)->geometry.logical_bytes >
            lp_load_tensor(file, best)->geometry.logical_bytes)
            best = i;
    }
    return best;
}

static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* What holds for the file as a whole: its bound, where its tensors have one dtype. */
static void report_file(struct state *state, const char *path, bool one_dtype, uint32_t n_tensors,
                        json_t *tensors)
{
    struct tensor_figures *const all = state->all;

    (void)snprintf(all->name, sizeof(all->name), "%s", base_name(path));
    if (one_dtype && n_tensors > 0) {
        measure_bound(all, all->geometry.dtype);
        bars_add_file(&state->bars, all->name, all);
    }
    if (!state->options->json && n_tensors > 1)
        print_tensor(all);
    if (state->options->json) {
        json_t *const object = tensor_json(all);

        (void)json_object_set_new(object, "tensors", tensors);
        (void)json_array_append_new(state->files, object);
    }
}

static int run_tensors(struct state *state, struct lp_load_file *file, const char *path,
                       struct lp_error *err)
{
    const uint32_t n = lp_load_count(file), largest = n > 0 ? largest_tensor(file) : 0;
    json_t *const tensors = json_array();
    bool one_dtype = true;
    int rc;

    memset(state->all, 0, sizeof(*state->all));
    for (uint32_t i = 0; i < n; i++) {
        rc = run_loaded(state, file, i, i == largest, err);
        if (rc < 0) {
            json_decref(tensors);
            return rc;
        }
        if (i == 0)
            state->all->geometry = state->tensor->geometry;
        one_dtype = one_dtype && state->all->geometry.dtype == state->tensor->geometry.dtype;
        add_tensor(state->all, state->tensor);
        if (n <= 16 || i == largest)
            report_tensor(state, state->tensor, tensors);
    }
    report_file(state, path, one_dtype, n, tensors);
    if (!state->options->json)
        json_decref(tensors);
    return 0;
}

static int run_file(struct state *state, const char *path, struct lp_error *err)
{
    const struct lp_load_options options = {.as_dtype = state->options->as_dtype};
    struct lp_load_file *file;
    int rc;

    LP_TRY(rc, lp_load_open(&file, path, &options, err));
    if (!state->options->json)
        (void)printf("== %s\n", base_name(path));
    rc = run_tensors(state, file, path, err);
    lp_load_close(file);
    return rc;
}

static bool has_ending(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);

    return n > m && strcmp(name + n - m, ending) == 0;
}

static int is_tensor_file(const struct dirent *entry)
{
    return has_ending(entry->d_name, ".npy") || has_ending(entry->d_name, ".safetensors");
}

/* Files that cannot be cast as asked are named and left out. */
static int run_folder(struct state *state, const char *folder, struct lp_error *err)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, is_tensor_file, alphasort);
    int rc = 0;

    if (n < 0)
        return lp_error_set_errno(err, LP_ENOENT, errno, "%s", folder);
    for (int i = 0; i < n; i++) {
        char path[4096];

        (void)snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (rc == 0)
            rc = run_file(state, path, err);
        if (rc == LP_ENOTSUP) {
            (void)fprintf(stderr, "left out: %s\n", err->text);
            rc = 0;
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* A bell curve of one scale, which takes a window per table, and one of many, per record. */
static int run_generated(struct state *state, struct lp_error *err)
{
    static const struct {
        const char *name;
        uint32_t dtype;
        double vary;
    } kinds[] = {{"normal-bf16", LP_DTYPE_BF16, 0},
                 {"normal-bf16-scales", LP_DTYPE_BF16, GENERATED_OCTAVES},
                 {"normal-f32", LP_DTYPE_F32, 0}};
    const uint64_t dims[2] = {GENERATED_ELEMENTS / 4096, 4096};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < LP_ARRAY_LEN(kinds); i++) {
        struct lp_geometry geometry;
        uint8_t *elements;
        json_t *const tensors = json_array();

        rc = lp_codec_geometry_init(&geometry, kinds[i].dtype, 2, dims, err);
        elements = rc == 0 ? lp_bench_map(geometry.logical_bytes) : NULL;
        if (rc == 0 && elements == NULL)
            rc = lp_error_set(err, LP_ENOMEM, "no memory for %s", kinds[i].name);
        if (rc == 0) {
            bench_fill_normal(kinds[i].dtype, geometry.n_elements, 0, kinds[i].vary, elements);
            rc = measure_tensor(state, kinds[i].name, &geometry, elements, true, err);
        }
        if (rc == 0)
            report_tensor(state, state->tensor, tensors);
        if (rc == 0 && state->options->json)
            (void)json_array_extend(state->files, tensors);
        lp_bench_unmap(elements, geometry.logical_bytes);
        json_decref(tensors);
    }
    return rc;
}

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"data", required_argument, NULL, 'd'}, {"generated", no_argument, NULL, 'g'},
        {"as", required_argument, NULL, 'a'},   {"no-speed", no_argument, NULL, 's'},
        {"no-peers", no_argument, NULL, 'p'},   {"runs", required_argument, NULL, 'r'},
        {"bars", no_argument, NULL, 'b'},       {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},       {0}};
    int c;

    *options = (struct options){.speed = true, .peers = true, .runs = RUNS_DEFAULT};
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (c == 'a' && strcmp(optarg, "bf16") != 0)
            return BENCH_USAGE;
        if (c == 'h' || c == '?')
            return BENCH_USAGE;
        options->data = c == 'd' ? optarg : options->data;
        options->generated = options->generated || c == 'g';
        options->as_dtype = c == 'a' ? LP_DTYPE_BF16 : options->as_dtype;
        options->speed = options->speed && c != 's';
        options->peers = options->peers && c != 'p';
        options->bars = options->bars || c == 'b';
        options->json = options->json || c == 'j';
        options->runs = c == 'r' ? (uint32_t)strtoul(optarg, NULL, 10) : options->runs;
    }
    options->files = argv + optind;
    options->n_files = argc - optind;
    if (options->runs == 0 || options->runs > 31)
        return BENCH_USAGE;
    return options->generated || options->data != NULL || options->n_files > 0 ? 0 : BENCH_USAGE;
}

static int run_all(struct state *state, struct lp_error *err)
{
    const struct options *const options = state->options;
    int rc = 0;

    if (options->bars)
        rc = bars_add_normal(&state->bars, err);
    if (rc == 0 && options->generated)
        rc = run_generated(state, err);
    if (rc == 0 && options->data != NULL)
        rc = run_folder(state, options->data, err);
    for (int i = 0; rc == 0 && i < options->n_files; i++)
        rc = run_file(state, options->files[i], err);
    return rc;
}

static json_t *bars_json(const struct bars *bars)
{
    json_t *const array = json_array();

    for (uint32_t i = 0; i < bars->n; i++) {
        const struct bar *const bar = &bars->bar[i];

        (void)json_array_append_new(
            array, json_pack("{s:s, s:f, s:s, s:f, s:s}", "what", bar->what, "figure", bar->figure,
                             "must_be", bar->at_most ? "at most" : "at least", "bound", bar->bound,
                             "verdict", bars_verdict_name(bar->verdict)));
    }
    return array;
}

/* Returns how many bars were missed. */
static uint32_t finish(const struct state *state)
{
    uint32_t missed = 0;
    json_t *root;

    for (uint32_t i = 0; i < state->bars.n; i++)
        missed += state->bars.bar[i].verdict == BAR_MISSED;
    if (!state->options->json)
        return state->options->bars ? bars_print(&state->bars) : 0;
    root = json_pack("{s:s, s:s, s:I, s:O}", "bench", "codec", "tier", lp_codec_ops()->tier,
                     "llc_bytes", (json_int_t)lp_bench_llc_bytes(), "files", state->files);
    if (state->options->bars)
        (void)json_object_set_new(root, "bars", bars_json(&state->bars));
    (void)json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    (void)printf("\n");
    json_decref(root);
    return state->options->bars ? missed : 0;
}

int bench_codec_main(int argc, char **argv)
{
    struct lp_error err = LP_ERROR_INIT;
    struct state *state;
    struct options options;
    int rc, code;

    if (parse(argc, argv, &options) != 0) {
        (void)fputs(usage, stderr);
        return BENCH_USAGE;
    }
    state = lp_mem_zalloc(sizeof(*state) + 2 * sizeof(*state->tensor));
    if (state == NULL)
        return BENCH_FAILED;
    state->options = &options;
    state->tensor = (struct tensor_figures *)(void *)(state + 1);
    state->all = state->tensor + 1;
    state->files = json_array();
    if (!options.json)
        (void)printf("tier %s, last-level cache %llu MiB, one thread\n", lp_codec_ops()->tier,
                     (unsigned long long)(lp_bench_llc_bytes() >> 20));
    rc = run_all(state, &err);
    if (rc < 0)
        (void)fprintf(stderr, "lanepack-bench: %s: %s\n", lp_error_name(rc), err.text);
    code = rc < 0 || finish(state) > 0 ? BENCH_FAILED : BENCH_OK;
    json_decref(state->files);
    lp_mem_free(state);
    return code;
}
