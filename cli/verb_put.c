/* SPDX-License-Identifier: Apache-2.0 */
/* put: stream the tensors of files through the client library into the daemon. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/progress.h"
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

#define PIECE_BYTES (4u << 20) /* of elements read at once */

struct put {
    const struct lp_cli_args *args;
    lp_client *client;
    struct lp_load_options source;
    struct lp_put_options options;
    json_t *results; /* with --json */
    uint64_t n_done;
    double bound_saving; /* of the tensor that is being put */
};

static int read_options(struct put *put)
{
    const struct lp_cli_args *args = put->args;
    struct lp_plan_params plan;
    int rc = lp_cli_read_source(args, &put->source);

    if (rc != LP_CLI_DONE || (rc = lp_cli_read_plan(args, &plan)) != LP_CLI_DONE)
        return rc;
    lp_options_init(&put->options, sizeof(put->options));
    put->options.codec = plan.codec;
    put->options.layout = plan.layout;
    put->options.align_bytes = plan.align_bytes;
    put->options.access = plan.access;
    put->options.record_rows = plan.record_rows;
    put->options.record_elements = plan.record_elements;
    put->options.column_period = plan.column_period;
    put->options.column_span = plan.column_span;
    put->options.tag = args->value[LP_CLI_TAG];
    put->options.flags = (lp_cli_has(args, LP_CLI_REPLACE) ? LP_PUT_REPLACE : 0u) |
                         (lp_cli_has(args, LP_CLI_IF_ABSENT) ? LP_PUT_IF_ABSENT : 0u) |
                         (lp_cli_has(args, LP_CLI_VERIFY) ? LP_PUT_VERIFY : 0u) |
                         (plan.ibp_exact ? LP_PUT_IBP_EXACT : 0u);
    if (lp_cli_has(args, LP_CLI_NAME) && args->n_items > 1)
        return lp_cli_usage(args, "--name names one tensor, %d files were given", args->n_items);
    return LP_CLI_DONE;
}

static struct lp_shape shape_of(const struct lp_geometry *geometry)
{
    struct lp_shape shape = {
        .struct_size = sizeof(shape), .dtype = geometry->dtype, .ndim = geometry->ndim};

    for (uint32_t i = 0; i < geometry->ndim; i++)
        shape.dims[i] = (int64_t)geometry->dims[i];
    return shape;
}

/* Open a writer that has seen a sample of the whole tensor. */
static int open_writer(struct put *put, struct lp_load_file *file, uint32_t i, const char *name,
                       lp_writer **ret_writer, struct lp_error *err)
{
    const struct lp_geometry *geometry = &lp_load_tensor(file, i)->geometry;
    const struct lp_shape shape = shape_of(geometry);
    struct lp_put_options options = put->options;
    const struct lp_plan_params plan = {.access = options.access,
                                        .record_rows = options.record_rows,
                                        .record_elements = options.record_elements};
    uint32_t record_elements;
    struct lp_sample layout;
    double bits;
    uint64_t n;
    void *sample;
    int rc;

    put->bound_saving = 0;
    if (geometry->row_elements == 0 || geometry->n_elements == 0)
        return lp_writer_open(put->client, name, &shape, &options, ret_writer, err);
    LP_TRY(rc, lp_codec_plan_record(geometry, &plan, &record_elements, err));
    layout = lp_load_sample_layout(file, i, record_elements, LP_PLAN_SAMPLE_BYTES);
    n = layout.n_elements;
    sample = lp_mem_alloc_array(n, geometry->elem_bytes);
    if (sample == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a sample of %s", name);
    rc = lp_load_sample(file, i, record_elements, LP_PLAN_SAMPLE_BYTES, sample, err);
    if (rc == 0)
        rc = lp_codec_entropy(geometry->dtype, sample, n, &bits, &put->bound_saving, err);
    options.sample = sample;
    options.sample_elements = n;
    options.sample_run_elements = lp_codec_sample_run_elements(&layout);
    if (rc == 0)
        rc = lp_writer_open(put->client, name, &shape, &options, ret_writer, err);
    lp_mem_free(sample);
    return rc;
}

static int stream(struct lp_load_file *file, uint32_t i, lp_writer *writer,
                  struct lp_progress *progress, struct lp_error *err)
{
    const struct lp_geometry *geometry = &lp_load_tensor(file, i)->geometry;
    const uint64_t piece = PIECE_BYTES / geometry->elem_bytes;
    uint8_t *buffer = lp_mem_alloc(PIECE_BYTES);
    int rc = buffer != NULL ? 0 : lp_error_set(err, LP_ENOMEM, "no memory to read into");

    for (uint64_t first = 0; rc == 0 && first < geometry->n_elements; first += piece) {
        const uint64_t n = LP_MIN(piece, geometry->n_elements - first);

        rc = lp_load_read(file, i, first, n, buffer, err);
        if (rc == 0)
            rc = lp_writer_append_elements(writer, buffer, n, err);
        lp_progress_add(progress, n * geometry->elem_bytes);
    }
    if (rc == 0)
        rc = lp_load_check_unchanged(file, err);
    lp_mem_free(buffer);
    return rc;
}

static int put_tensor(struct put *put, struct lp_load_file *file, uint32_t i, const char *name,
                      struct lp_error *err)
{
    const struct lp_load_tensor *tensor = lp_load_tensor(file, i);
    struct lp_tensor_info info = {.struct_size = sizeof(info)};
    struct lp_cli_report report;
    struct lp_progress progress;
    lp_writer *writer;
    int rc;

    LP_TRY(rc, open_writer(put, file, i, name, &writer, err));
    lp_progress_init(&progress, name, tensor->geometry.logical_bytes,
                     !lp_cli_has(put->args, LP_CLI_JSON));
    rc = stream(file, i, writer, &progress, err);
    lp_progress_fini(&progress);
    if (rc < 0) {
        lp_writer_abort_take(writer);
        return rc;
    }
    LP_TRY(rc, lp_writer_seal_take(writer, &info, err));
    if (info.dtype == 0) { /* --if-absent, and it exists */
        if (put->results == NULL)
            (void)printf("%s: exists, left as it is\n", name);
        return 0;
    }
    report = lp_cli_report_of_info(name, &info);
    report.bound_saving = put->bound_saving;
    if (put->results != NULL) {
        (void)json_array_append_new(put->results, lp_cli_report_json(&report));
    } else {
        if (put->n_done == 0)
            lp_cli_report_heading(false);
        lp_cli_report_line(&report);
    }
    put->n_done++;
    return 0;
}

/* The name under which a tensor of a file is stored. */
static int name_tensor(const struct put *put, const char *in_file, uint32_t count, char *name,
                       size_t room, struct lp_error *err)
{
    const char *given = put->args->value[LP_CLI_NAME];
    const char *prefix = put->args->value[LP_CLI_PREFIX];

    if (given != NULL && count != 1)
        return lp_error_set(err, LP_EINVAL,
                            "--name names one tensor, the file has %u: use --prefix", count);
    if ((size_t)snprintf(name, room, "%s%s", prefix != NULL ? prefix : "",
                         given != NULL ? given : in_file) >= room)
        return lp_error_set(err, LP_ENAME, "the name %s%s is longer than %u bytes",
                            prefix != NULL ? prefix : "", in_file, LP_FORMAT_NAME_MAX);
    return 0;
}

static int put_file(struct put *put, const char *path, struct lp_error *err)
{
    struct lp_load_file *file;
    int rc;

    LP_TRY(rc, lp_load_open(&file, path, &put->source, err));
    for (uint32_t i = 0; rc == 0 && i < lp_load_count(file); i++) {
        char name[LP_FORMAT_NAME_MAX + 1];

        rc = name_tensor(put, lp_load_tensor(file, i)->name, lp_load_count(file), name,
                         sizeof(name), err);
        if (rc == 0)
            rc = put_tensor(put, file, i, name, err);
    }
    lp_load_close(file);
    return rc < 0 ? lp_error_wrap(err, rc, "%s", path) : 0;
}

int lp_cli_verb_put(const struct lp_cli_args *args)
{
    struct put put = {.args = args};
    struct lp_error err = LP_ERROR_INIT;
    int rc = read_options(&put);

    if (rc != LP_CLI_DONE)
        return rc;
    rc = lp_cli_connect(args, &put.client, &err);
    if (rc < 0)
        return lp_cli_fail(args, rc, &err);
    if (lp_cli_has(args, LP_CLI_JSON))
        put.results = json_array();
    for (int i = 0; rc == 0 && i < args->n_items; i++)
        rc = put_file(&put, args->items[i], &err);
    lp_client_close(put.client);
    if (rc < 0) {
        (void)fflush(stdout);
        json_decref(put.results);
        return lp_cli_fail(args, rc, &err);
    }
    if (put.results != NULL)
        return lp_cli_print_json_take(json_pack("{s:o}", "tensors", put.results));
    return lp_cli_finish_output();
}
