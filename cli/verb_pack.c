/* SPDX-License-Identifier: Apache-2.0 */
/* pack, unpack, verify: .lpk files, without a daemon. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/report.h"
#include "store/lpk_file.h"
#include "store/save_npy.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_ROOM (LP_FORMAT_NAME_MAX + 5) /* of a tensor's name and ".npy" */

static bool shows_progress(const struct lp_cli_args *args)
{
    return !lp_cli_has(args, LP_CLI_JSON) && !lp_cli_has(args, LP_CLI_QUIET);
}

/* --- pack ------------------------------------------------------------------------------------ */

struct pack {
    const struct lp_cli_args *args;
    struct lp_load_options source;
    struct lp_plan_params plan;
    struct lp_lpk_writer *writer;
    json_t *results; /* NULL: a table */
    uint64_t n;
};

static int pack_tensor(struct pack *pack, struct lp_load_file *file, uint32_t i,
                       struct lp_error *err)
{
    const struct lp_load_tensor *tensor = lp_load_tensor(file, i);
    struct lp_progress progress;
    struct lp_prices prices;
    struct lp_lpk_info info;
    struct lp_cli_report report;
    int rc;

    lp_progress_init(&progress, tensor->name, tensor->geometry.logical_bytes,
                     shows_progress(pack->args));
    rc = lp_lpk_writer_add(pack->writer, file, i, &pack->plan, &progress, &prices, &info, err);
    lp_progress_fini(&progress);
    if (rc < 0)
        return rc;
    report = (struct lp_cli_report){.name = info.name,
                                    .geometry = info.geometry,
                                    .codec = info.codec,
                                    .layout = info.layout,
                                    .stored_bytes = info.stored_bytes,
                                    .wire_bytes = info.wire_bytes,
                                    .record_bytes =
                                        (uint64_t)info.record_elements * info.geometry.elem_bytes,
                                    .n_records = info.n_records,
                                    .raw_records = info.raw_records,
                                    .reason = info.reason,
                                    .how = info.how,
                                    .bound_saving = prices.bound_saving};
    if (pack->results != NULL) {
        (void)json_array_append_new(pack->results, lp_cli_report_json(&report));
    } else {
        if (pack->n == 0)
            lp_cli_report_heading(true);
        lp_cli_report_line(&report);
    }
    pack->n++;
    return 0;
}

static int pack_file(struct pack *pack, const char *path, struct lp_error *err)
{
    const struct lp_cli_args *args = pack->args;
    struct lp_load_file *file;
    int rc;

    LP_TRY(rc, lp_cli_check_target(args->items[args->n_items - 1], path, err));
    LP_TRY(rc, lp_load_open(&file, path, &pack->source, err));
    for (uint32_t i = 0; rc == 0 && i < lp_load_count(file); i++)
        rc = pack_tensor(pack, file, i, err);
    lp_load_close(file);
    return rc;
}

static bool is_lpk_name(const char *path)
{
    const size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".lpk") == 0;
}

int lp_cli_verb_pack(const struct lp_cli_args *args)
{
    const char *target = args->items[args->n_items - 1];
    struct pack pack = {.args = args};
    struct lp_error err = LP_ERROR_INIT;
    int rc = lp_cli_read_source(args, &pack.source);

    if (!is_lpk_name(target)) /* a source whose target was forgotten would be written over */
        return lp_cli_usage(args, "the last argument is the target, FILE.lpk, not %s", target);
    if (rc != LP_CLI_DONE || (rc = lp_cli_read_plan(args, &pack.plan)) != LP_CLI_DONE)
        return rc;
    if (lp_cli_has(args, LP_CLI_JSON))
        pack.results = json_array();
    rc = lp_lpk_writer_open(&pack.writer, target, &err);
    if (rc == 0) {
        for (int i = 0; rc == 0 && i < args->n_items - 1; i++)
            rc = pack_file(&pack, args->items[i], &err);
        if (rc == 0)
            rc = lp_lpk_writer_commit(pack.writer, &err);
        if (rc < 0)
            lp_lpk_writer_close(pack.writer);
    }
    if (rc < 0) {
        (void)fflush(stdout);
        json_decref(pack.results);
        return lp_cli_fail(args, rc, &err);
    }
    if (pack.results != NULL)
        return lp_cli_print_json_take(
            json_pack("{s:o, s:o}", "output", lp_cli_json_text(target), "tensors", pack.results));
    return lp_cli_finish_output();
}

/* --- unpack ---------------------------------------------------------------------------------- */

static int unpack_tensor(const struct lp_cli_args *args, struct lp_lpk_file *file, uint32_t i,
                         const char *path, json_t *results, struct lp_error *err)
{
    struct lp_lpk_tensor *tensor;
    struct lp_progress progress;
    struct lp_lpk_info info;
    const char *note;
    int rc;

    LP_TRY(rc, lp_cli_check_target(path, args->items[0], err));
    LP_TRY(rc, lp_lpk_tensor_open(&tensor, file, i, err));
    lp_lpk_tensor_info(tensor, &info);
    lp_progress_init(&progress, info.name, info.geometry.logical_bytes, shows_progress(args));
    rc = lp_lpk_tensor_unpack(tensor, path, &progress, err);
    lp_progress_fini(&progress);
    note = lp_save_npy_note(info.geometry.dtype);
    if (rc == 0 && results != NULL)
        (void)json_array_append_new(
            results, json_pack("{s:s, s:o, s:s, s:o, s:s?}", "name", info.name, "output",
                               lp_cli_json_text(path), "dtype", lp_dtype_name(info.geometry.dtype),
                               "shape", lp_cli_shape_json(&info.geometry), "note", note));
    else if (rc == 0)
        (void)printf("%s: %s%s%s\n", path, info.name, note != NULL ? "; note: " : "",
                     note != NULL ? note : "");
    lp_lpk_tensor_close(tensor);
    return rc;
}

/* A name as a file's: a '/' would leave the folder. */
static void file_name(const char *tensor, char *name, size_t room)
{
    (void)snprintf(name, room, "%s.npy", tensor);
    for (char *at = strchr(name, '/'); at != NULL; at = strchr(at, '/'))
        *at = '_';
}

/* Order of names as files: '/' and '_' are one. */
static int compare_file_names(const void *a, const void *b)
{
    const char *one = *(const char *const *)a, *other = *(const char *const *)b;

    while (*one != '\0' && (*one == '/' ? '_' : *one) == (*other == '/' ? '_' : *other)) {
        one++;
        other++;
    }
    return (*one == '/' ? '_' : *one) - (*other == '/' ? '_' : *other);
}

/* Tensors whose names are told apart by '/' and '_' alone would write over each other. */
static int check_file_names(const struct lp_lpk_file *file, struct lp_error *err)
{
    const uint32_t n = lp_lpk_count(file);
    const char **names = lp_mem_alloc_array((size_t)n + 1, sizeof(const char *));
    int rc = 0;

    if (names == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u names", n);
    for (uint32_t i = 0; i < n; i++)
        names[i] = lp_lpk_name(file, i);
    qsort(names, n, sizeof(const char *), compare_file_names);
    for (uint32_t i = 1; rc == 0 && i < n; i++)
        if (compare_file_names(&names[i - 1], &names[i]) == 0)
            rc = lp_error_set(err, LP_EEXIST,
                              "%.80s and %.80s would be one file: take them apart (--name)",
                              names[i - 1], names[i]);
    lp_mem_free((void *)(uintptr_t)names);
    return rc;
}

/* Several tensors go to a folder, each under its name. */
static int unpack_all(const struct lp_cli_args *args, struct lp_lpk_file *file, const char *folder,
                      json_t *results, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, check_file_names(file, err));
    if (mkdir(folder, 0777) != 0) {
        struct stat status;

        if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
            return lp_error_set(err, LP_EINVAL,
                                "%s: the file has %u tensors: name one (--name) or a folder",
                                folder, lp_lpk_count(file));
    }
    for (uint32_t i = 0; rc == 0 && i < lp_lpk_count(file); i++) {
        char name[NAME_ROOM], path[PATH_MAX];

        file_name(lp_lpk_name(file, i), name, sizeof(name));
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
            return lp_error_set(err, LP_EINVAL, "the path of %.100s is too long", name);
        rc = unpack_tensor(args, file, i, path, results, err);
    }
    return rc;
}

static int unpack(const struct lp_cli_args *args, json_t *results, struct lp_error *err)
{
    const char *name = args->value[LP_CLI_NAME];
    struct lp_lpk_file *file;
    int64_t i = 0;
    int rc;

    LP_TRY(rc, lp_lpk_open(&file, args->items[0], err));
    if (name != NULL) {
        i = lp_lpk_find(file, name);
        rc = i >= 0 ? 0 : lp_error_set(err, LP_ENOENT, "%s: no tensor %s", args->items[0], name);
    }
    if (rc == 0 && name == NULL && lp_lpk_count(file) != 1)
        rc = unpack_all(args, file, args->items[1], results, err);
    else if (rc == 0)
        rc = unpack_tensor(args, file, (uint32_t)i, args->items[1], results, err);
    lp_lpk_close(file);
    return rc;
}

int lp_cli_verb_unpack(const struct lp_cli_args *args)
{
    json_t *results = lp_cli_has(args, LP_CLI_JSON) ? json_array() : NULL;
    struct lp_error err = LP_ERROR_INIT;
    const int rc = unpack(args, results, &err);

    if (rc < 0) {
        (void)fflush(stdout);
        json_decref(results);
        return lp_cli_fail(args, rc, &err);
    }
    if (results != NULL)
        return lp_cli_print_json_take(json_pack("{s:o}", "tensors", results));
    return lp_cli_finish_output();
}

/* --- verify ---------------------------------------------------------------------------------- */

static int verify_tensor(const struct lp_cli_args *args, struct lp_lpk_file *file, uint32_t i,
                         struct lp_load_file *source, struct lp_error *err)
{
    struct lp_lpk_tensor *tensor;
    struct lp_progress progress;
    struct lp_lpk_info info;
    int64_t at;
    int rc;

    LP_TRY(rc, lp_lpk_tensor_open(&tensor, file, i, err));
    lp_lpk_tensor_info(tensor, &info);
    lp_progress_init(&progress, info.name, info.geometry.logical_bytes, shows_progress(args));
    rc = lp_lpk_tensor_verify(tensor, &progress, err);
    lp_progress_fini(&progress);
    if (rc == 0 && source != NULL) {
        /* A file of one tensor has it under whatever name. */
        at = lp_load_count(source) == 1 && lp_lpk_count(file) == 1
                 ? 0
                 : lp_load_find(source, info.name);
        lp_progress_init(&progress, info.name, info.geometry.logical_bytes, shows_progress(args));
        rc = at >= 0 ? lp_lpk_tensor_compare(tensor, source, (uint32_t)at, &progress, err)
                     : lp_error_set(err, LP_EFINGERPRINT, "%s: not in the source", info.name);
        lp_progress_fini(&progress);
        if (rc < 0)
            rc = lp_error_wrap(err, rc, "%.80s against %.80s", args->items[0],
                               args->value[LP_CLI_AGAINST]);
    }
    lp_lpk_tensor_close(tensor);
    return rc;
}

static int verify(const struct lp_cli_args *args, const struct lp_load_options *options,
                  uint32_t *ret_tensors, struct lp_error *err)
{
    const char *against = args->value[LP_CLI_AGAINST];
    struct lp_load_file *source = NULL;
    struct lp_lpk_file *file;
    int rc;

    LP_TRY(rc, lp_lpk_open(&file, args->items[0], err));
    *ret_tensors = lp_lpk_count(file);
    if (against != NULL)
        rc = lp_load_open(&source, against, options, err);
    if (rc == 0 && source != NULL && lp_load_count(source) != lp_lpk_count(file))
        rc = lp_error_set(err, LP_EFINGERPRINT, "%u tensors are packed, %s has %u",
                          lp_lpk_count(file), against, lp_load_count(source));
    for (uint32_t i = 0; rc == 0 && i < lp_lpk_count(file); i++)
        rc = verify_tensor(args, file, i, source, err);
    lp_load_close(source);
    lp_lpk_close(file);
    return rc;
}

int lp_cli_verb_verify(const struct lp_cli_args *args)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_load_options options;
    uint32_t n = 0;
    int rc = lp_cli_read_source(args, &options);

    if (rc != LP_CLI_DONE)
        return rc;
    rc = verify(args, &options, &n, &err);
    if (rc == LP_ECORRUPT || rc == LP_EFINGERPRINT) {
        (void)lp_cli_fail(args, rc, &err);
        return LP_CLI_PROBLEMS;
    }
    if (rc < 0)
        return lp_cli_fail(args, rc, &err);
    if (lp_cli_has(args, LP_CLI_JSON))
        return lp_cli_print_json_take(json_pack("{s:i, s:b, s:b}", "tensors", (int)n, "good", 1,
                                                "compared", lp_cli_has(args, LP_CLI_AGAINST)));
    (void)printf("%s: %u tensor%s, every checksum and record is good%s\n", args->items[0], n,
                 n == 1 ? "" : "s",
                 lp_cli_has(args, LP_CLI_AGAINST) ? ", every bit equals the source" : "");
    return lp_cli_finish_output();
}
