/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor put whole: a writer that has seen a sample of all of it. */
#include "base/alloc.h"
#include "client/writer.h"
#include "codec/sample.h"

#include <string.h>

/* The part of a tensor that a plan looks at, where that is not all of it, into the options; the
 * caller frees *ret_sample. */
static int copy_sample(const struct lp_geometry *geometry, struct lp_put_options *options,
                       const uint8_t *data, void **ret_sample, struct lp_error *err)
{
    const struct lp_plan_params params = {.access = options->access,
                                          .record_rows = options->record_rows,
                                          .record_elements = options->record_elements};
    const uint32_t elem_bytes = geometry->elem_bytes;
    struct lp_sample sample;
    uint32_t record_elements;
    uint64_t run_bytes;
    uint8_t *copy;
    int rc;

    LP_TRY(rc, lp_codec_plan_record(geometry, &params, &record_elements, err));
    sample = lp_codec_sample(geometry, record_elements, LP_PLAN_SAMPLE_BYTES, LP_SAMPLE_RUN_BYTES);
    run_bytes = lp_codec_sample_run_elements(&sample) * elem_bytes;
    copy = lp_mem_alloc_array(sample.n_elements, elem_bytes);
    if (copy == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a sample");
    for (uint64_t k = 0; k < sample.n_runs; k++)
        memcpy(copy + k * run_bytes, data + lp_codec_sample_run_first(&sample, k) * elem_bytes,
               run_bytes);
    *ret_sample = copy;
    options->sample = copy;
    options->sample_elements = sample.n_elements;
    options->sample_run_elements = lp_codec_sample_run_elements(&sample);
    return 0;
}

int lp_client_put(lp_client *client, const char *name, const struct lp_shape *shape,
                  const void *data, const struct lp_put_options *options, struct lp_error *err)
{
    struct lp_put_options here;
    char label[LP_NAMES_LABEL_BYTES];
    struct lp_geometry geometry;
    lp_writer *writer;
    void *sample = NULL;
    int rc;

    rc = lp_writer_read_options(&here, options, err);
    if (rc == 0)
        rc = lp_writer_read_shape(&geometry, shape, err);
    if (rc == 0 && data == NULL && geometry.n_elements != 0)
        rc = lp_error_set(err, LP_EINVAL, "no data");
    if (rc < 0)
        return lp_error_wrap(err, rc, "put %s", lp_names_label(name, label));
    if (geometry.logical_bytes > LP_PLAN_SAMPLE_BYTES && here.sample == NULL)
        LP_TRY(rc, copy_sample(&geometry, &here, data, &sample, err));
    rc = lp_writer_open(client, name, shape, &here, &writer, err);
    lp_mem_free(sample);
    if (rc < 0)
        return rc;
    rc = lp_writer_append(writer, data, geometry.n_rows, err);
    if (rc < 0) {
        lp_writer_abort_take(writer);
        return rc;
    }
    return lp_writer_seal_take(writer, NULL, err);
}
