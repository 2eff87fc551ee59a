/* SPDX-License-Identifier: Apache-2.0 */
/* lanepack-bench codec: what tensors cost in each codec, and how fast, beside memcpy and beside
 * other people's compressors; with --bars also whether that is what was promised. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "bench/bars_codec.h"
#include "bench/codec_options.h"
#include "bench/codec_report.h"
#include "store/load.h"

#include <jansson.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Files with more tensors tell only their sum and the one that was timed. */
#define TENSORS_TOLD_MAX 16u
#define SCALING_THREADS 2u

/* The whole run. */
struct state {
    const struct codec_options *options;
    struct measure_speed speed;
    struct bench_machine machine;
    struct codec_results results;
    struct bars bars;
    struct tensor_figures tensor, all; /* at work, and its file's sum */
    struct tensor_figures keys, turned, keys_all, turned_all;
};

static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Sizes, and where wanted speeds, of one tensor, into state->tensor. */
static int measure_tensor(struct state *state, const char *name, const struct lp_geometry *geometry,
                          const void *elements, bool timed, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, measure_sizes(&state->tensor, name, geometry, elements, err));
    if (timed && state->options->speed)
        LP_TRY(rc, measure_speeds(&state->tensor, elements, &state->speed, err));
    return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

/* Keys of a cache: [heads, tokens, head_dim], by the name that the data pack has for them. */
static bool are_keys(const struct lp_load_tensor *tensor)
{
    const char *const dot = strrchr(tensor->name, '.');

    return dot != NULL && strcmp(dot, ".k") == 0 && tensor->geometry.ndim == 3 &&
           tensor->geometry.n_elements > 0;
}

/* [heads, tokens, dim] to [tokens, heads x dim]. */
static void turn(const struct lp_geometry *geometry, const uint8_t *src, uint8_t *dst)
{
    const uint64_t heads = geometry->dims[0], tokens = geometry->dims[1];
    const uint64_t bytes = geometry->dims[2] * geometry->elem_bytes;

    for (uint64_t head = 0; head < heads; head++) {
        for (uint64_t token = 0; token < tokens; token++)
            memcpy(dst + (token * heads + head) * bytes, src + (head * tokens + token) * bytes,
                   bytes);
    }
}

static int measure_keys(struct state *state, const char *name, const struct lp_geometry *geometry,
                        const uint8_t *elements, struct lp_error *err)
{
    const uint64_t dims[2] = {geometry->dims[1], geometry->dims[0] * geometry->dims[2]};
    uint8_t *const turned = lp_bench_map(geometry->logical_bytes);
    struct lp_geometry other;
    int rc;

    if (turned == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for turned keys");
    turn(geometry, elements, turned);
    rc = lp_codec_geometry_init(&other, geometry->dtype, 2, dims, err);
    if (rc == 0)
        rc = measure_sizes(&state->turned, name, &other, turned, err);
    lp_bench_unmap(turned, geometry->logical_bytes);
    if (rc < 0)
        return rc;
    measure_add(&state->keys_all, &state->tensor);
    measure_add(&state->turned_all, &state->turned);
    return 0;
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
    if (rc == 0 && state->options->bars && are_keys(tensor))
        rc = measure_keys(state, tensor->name, geometry, elements, err);
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

static int report(struct state *state, const char *file, bool whole,
                  const struct tensor_figures *figures, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, codec_results_add(&state->results, file, whole, figures, err));
    if (!state->options->json)
        codec_print_tensor(figures, stdout);
    return 0;
}

static int run_tensors(struct state *state, struct lp_load_file *file, const char *name,
                       struct lp_error *err)
{
    const uint32_t n = lp_load_count(file), largest = n > 0 ? largest_tensor(file) : 0;
    const bool timed = !state->options->ci;
    bool one_dtype = true;
    int rc;

    memset(&state->all, 0, sizeof(state->all));
    memset(&state->keys_all, 0, sizeof(state->keys_all));
    memset(&state->turned_all, 0, sizeof(state->turned_all));
    for (uint32_t i = 0; i < n; i++) {
        LP_TRY(rc, run_loaded(state, file, i, timed && i == largest, err));
        measure_add(&state->all, &state->tensor);
        one_dtype = one_dtype && state->all.geometry.dtype == state->tensor.geometry.dtype;
        if (state->tensor.timed)
            bars_codec_speed(&state->bars, &state->tensor);
        if (n <= TENSORS_TOLD_MAX || i == largest)
            LP_TRY(rc, report(state, name, n == 1, &state->tensor, err));
    }
    (void)snprintf(state->all.name, sizeof(state->all.name), "%s", name);
    if (n > 1)
        LP_TRY(rc, report(state, name, one_dtype, &state->all, err));
    if (one_dtype && n > 0)
        bars_codec_file(&state->bars, name, &state->all, n);
    if (state->keys_all.is_float)
        bars_codec_keys(&state->bars, name, &state->keys_all, &state->turned_all);
    return 0;
}

static int run_file_as(struct state *state, const char *path, uint32_t as_dtype,
                       struct lp_error *err)
{
    const struct lp_load_options options = {.as_dtype = as_dtype};
    struct lp_load_file *file;
    int rc;

    LP_TRY(rc, lp_load_open(&file, path, &options, err));
    if (!state->options->json)
        (void)printf("== %s\n", base_name(path));
    rc = run_tensors(state, file, base_name(path), err);
    lp_load_close(file);
    return rc;
}

/* Native, or rounded, or both; what is mostly zeros is not rounded beside. */
static int run_file(struct state *state, const char *path, struct lp_error *err)
{
    const enum codec_cast cast = state->options->cast;
    int rc;

    if (cast == CAST_BF16)
        return run_file_as(state, path, LP_DTYPE_BF16, err);
    LP_TRY(rc, run_file_as(state, path, 0, err));
    if (cast == CAST_BOTH && state->all.geometry.dtype == LP_DTYPE_F32 && state->all.is_float &&
        !state->all.sparse)
        return run_file_as(state, path, LP_DTYPE_BF16, err);
    return 0;
}

static int is_tensor_file(const struct dirent *entry)
{
    static const char *const endings[] = {".npy", ".npz", ".safetensors"};
    const size_t n = strlen(entry->d_name);

    for (size_t i = 0; i < LP_ARRAY_LEN(endings); i++) {
        const size_t m = strlen(endings[i]);

        if (n > m && strcmp(entry->d_name + n - m, endings[i]) == 0)
            return 1;
    }
    return 0;
}

/* Files that the loader does not take, or cannot cast as asked, are named and left out. */
static int run_listed(struct state *state, const char *folder, const char *name,
                      struct lp_error *err)
{
    char path[4096];
    int rc;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    rc = run_file(state, path, err);
    if (rc != LP_ENOTSUP)
        return rc;
    (void)fprintf(stderr, "left out: %s\n", err->text);
    bars_waive(&state->bars, err->text, "%s", name);
    return 0;
}

static int run_folder(struct state *state, const char *folder, struct lp_error *err)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, is_tensor_file, alphasort);
    int rc = 0;

    if (n < 0)
        return lp_error_set_errno(err, LP_ENOENT, errno, "%s", folder);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = run_listed(state, folder, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* --- generated data -------------------------------------------------------------------------- */

static int run_scaling(struct state *state, const char *name, const struct lp_geometry *geometry,
                       const void *elements, struct lp_error *err)
{
    struct lp_bench_data data = {0};
    struct bench_scaling scaling;
    int rc;

    if (state->machine.n_cpus < SCALING_THREADS) {
        bars_waive(&state->bars, "one processor", "%s: lane encode and decode in threads", name);
        return 0;
    }
    LP_TRY(rc, lp_bench_data_init(&data, geometry, elements, state->speed.min_bytes, err));
    rc = bench_scaling(&data, LP_CODEC_LANE, SCALING_THREADS, state->speed.runs, &scaling, err);
    lp_bench_data_fini(&data);
    if (rc == 0)
        bars_codec_scaling(&state->bars, name, &scaling);
    return rc;
}

static int run_kind(struct state *state, const struct bench_kind *kind, bool scaling,
                    struct lp_error *err)
{
    struct lp_geometry geometry;
    uint8_t *elements;
    int rc;

    LP_TRY(rc, bench_generate(kind, &geometry, &elements, err));
    rc = measure_tensor(state, kind->name, &geometry, elements, kind->timed, err);
    if (rc == 0 && scaling && state->options->speed && state->options->bars)
        rc = run_scaling(state, kind->name, &geometry, elements, err);
    lp_bench_unmap(elements, geometry.logical_bytes);
    if (rc < 0)
        return rc;
    bars_codec_kind(&state->bars, kind, &state->tensor);
    if (state->tensor.timed)
        bars_codec_speed(&state->bars, &state->tensor);
    return report(state, kind->name, true, &state->tensor, err);
}

static int run_generated(struct state *state, struct lp_error *err)
{
    int rc;

    if (!state->options->json)
        (void)printf("== generated\n");
    for (size_t i = 0; i < BENCH_KINDS; i++)
        LP_TRY(rc, run_kind(state, &bench_kinds[i], i == 0, err));
    return 0;
}

/* --- the run --------------------------------------------------------------------------------- */

static int run_all(struct state *state, struct lp_error *err)
{
    const struct codec_options *const options = state->options;
    int rc = 0;

    if (options->bars)
        rc = bars_codec_normal(&state->bars, err);
    if (rc == 0 && options->data != NULL)
        rc = run_folder(state, options->data, err);
    for (int i = 0; rc == 0 && i < options->n_files; i++)
        rc = run_file(state, options->files[i], err);
    if (rc == 0 && options->generated)
        rc = run_generated(state, err);
    return rc;
}

static int open_output(const char *path, FILE **ret_file, struct lp_error *err)
{
    FILE *const file = fopen(path, "we");

    if (file == NULL)
        return lp_error_set_errno(err, LP_EIO, errno, "%s", path);
    *ret_file = file;
    return 0;
}

static int close_output(const char *path, FILE *file, struct lp_error *err)
{
    const bool bad = ferror(file) != 0;

    if (fclose(file) != 0 || bad)
        return lp_error_set(err, LP_EIO, "%s could not be written", path);
    return 0;
}

static int write_files(const struct state *state, struct lp_error *err)
{
    const struct codec_options *const options = state->options;
    FILE *file;
    int rc;

    if (options->markdown != NULL) {
        LP_TRY(rc, open_output(options->markdown, &file, err));
        codec_print_markdown(&state->results, &state->machine, options->bars ? &state->bars : NULL,
                             file);
        LP_TRY(rc, close_output(options->markdown, file, err));
    }
    if (options->svg != NULL) {
        LP_TRY(rc, open_output(options->svg, &file, err));
        (void)codec_plot(&state->results, file);
        LP_TRY(rc, close_output(options->svg, file, err));
    }
    return 0;
}

static void tell(const struct state *state)
{
    const struct bars *const bars = state->options->bars ? &state->bars : NULL;
    json_t *root;

    if (!state->options->json) {
        if (bars != NULL)
            bars_print(bars, stdout);
        return;
    }
    root = codec_json(&state->results, &state->machine, bars);
    (void)json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    (void)printf("\n");
    json_decref(root);
}

int bench_codec_main(int argc, char **argv)
{
    struct lp_error err = LP_ERROR_INIT;
    struct codec_options options;
    struct state *state;
    int rc, code;

    if (codec_options_parse(argc, argv, &options) != 0)
        return BENCH_USAGE;
    state = lp_mem_zalloc(sizeof(*state));
    if (state == NULL)
        return BENCH_FAILED;
    state->options = &options;
    state->speed = codec_options_speed(&options);
    state->bars.lenient = options.ci;
    bench_machine_look(&state->machine);
    if (!options.json)
        codec_print_machine(&state->machine, stdout);
    rc = run_all(state, &err);
    if (rc == 0)
        rc = write_files(state, &err);
    if (rc < 0)
        (void)fprintf(stderr, "lanepack-bench: %s: %s\n", lp_error_name(rc), err.text);
    else
        tell(state);
    code = rc < 0 || (options.bars && bars_missed(&state->bars)) ? BENCH_FAILED : BENCH_OK;
    codec_results_fini(&state->results);
    bars_fini(&state->bars);
    lp_mem_free(state);
    return code;
}
