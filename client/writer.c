/* SPDX-License-Identifier: Apache-2.0 */
#include "client/writer.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/lpk.h"

#include <string.h>

#define VERIFY_RUN_BYTES (4u << 20) /* of rows that are hashed as one */
/* A seal copies and checks: allow it 100 MB/s on top of the timeout. */
#define SEAL_NS_PER_BYTE 10u

/* --- LP_PUT_VERIFY --------------------------------------------------------------------------- */

static int note_runs(struct lp_writer *writer, const uint8_t *src, uint64_t n_elements,
                     struct lp_error *err)
{
    const uint32_t elem_bytes = writer->geometry.elem_bytes;
    const uint64_t run_elements = VERIFY_RUN_BYTES / elem_bytes;

    while (n_elements != 0) {
        const uint64_t n = n_elements < run_elements ? n_elements : run_elements;

        if (writer->n_runs == writer->runs_capacity) {
            const uint64_t capacity = writer->runs_capacity == 0 ? 64 : writer->runs_capacity * 2;
            struct lp_writer_run *runs =
                lp_mem_realloc_array(writer->runs, capacity, sizeof(*runs));

            if (runs == NULL)
                return lp_error_set(err, LP_ENOMEM, "no memory to verify this put");
            writer->runs = runs;
            writer->runs_capacity = capacity;
        }
        writer->runs[writer->n_runs++] =
            (struct lp_writer_run){n, lp_codec_hash(src, n * elem_bytes)};
        src += n * elem_bytes;
        n_elements -= n;
    }
    return 0;
}

static int verify_runs(struct lp_writer *writer, struct lp_error *err)
{
    const uint32_t elem_bytes = writer->geometry.elem_bytes;
    const uint8_t **segments =
        lp_mem_alloc_array(writer->packing.table.n_segments, sizeof(const uint8_t *));
    uint8_t *back = lp_mem_alloc(VERIFY_RUN_BYTES);
    uint64_t first = 0;
    struct lp_view view;
    int rc = 0;

    if (segments == NULL || back == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory to verify this put");
    else
        view = lp_packing_view(&writer->packing, segments);
    for (uint64_t i = 0; rc == 0 && i < writer->n_runs; i++) {
        const struct lp_writer_run *run = &writer->runs[i];

        rc = lp_codec_view_elements(&view, first, run->n_elements, back, err);
        if (rc == 0 && lp_codec_hash(back, run->n_elements * elem_bytes) != run->hash)
            rc = lp_error_set(
                err, LP_ECORRUPT, "elements %llu to %llu do not decode to what was put",
                (unsigned long long)first, (unsigned long long)(first + run->n_elements));
        first += run->n_elements;
    }
    lp_mem_free(back);
    lp_mem_free((void *)(uintptr_t)segments);
    return rc;
}

/* --- the writer ------------------------------------------------------------------------------ */

static void free_writer(struct lp_writer *writer)
{
    if (writer == NULL)
        return;
    lp_packing_end(&writer->packing);
    lp_mem_free(writer->runs);
    lp_mem_free(writer->held);
    lp_mem_free(writer->name);
    lp_mem_free(writer->tag);
    lp_session_unref(writer->session);
    lp_mem_free(writer);
}

int lp_writer_read_shape(struct lp_geometry *ret_geometry, const struct lp_shape *shape,
                         struct lp_error *err)
{
    uint64_t dims[LP_FORMAT_DIMS_MAX] = {0};
    struct lp_shape here;
    int rc;

    if (shape == NULL)
        return lp_error_set(err, LP_EINVAL, "no shape");
    LP_TRY(rc, lp_names_read_struct(&here, sizeof(here), LP_NAMES_UP_TO(struct lp_shape, dims),
                                    shape, "lp_shape", err));
    if (here.flags != 0 || here.ndim > LP_FORMAT_DIMS_MAX)
        return lp_error_set(err, LP_EINVAL, "shape with flags 0x%x and %u dimensions", here.flags,
                            here.ndim);
    for (uint32_t i = 0; i < here.ndim; i++) {
        if (here.dims[i] < 0)
            return lp_error_set(err, LP_EINVAL, "dimension %u is %lld", i, (long long)here.dims[i]);
        dims[i] = (uint64_t)here.dims[i];
    }
    return lp_codec_geometry_init(ret_geometry, here.dtype, here.ndim, dims, err);
}

int lp_writer_read_options(struct lp_put_options *ret_options, const struct lp_put_options *options,
                           struct lp_error *err)
{
    if (options != NULL)
        return lp_names_read_struct(ret_options, sizeof(*ret_options),
                                    LP_NAMES_UP_TO(struct lp_put_options, flags), options,
                                    "lp_put_options", err);
    lp_options_init(ret_options, sizeof(*ret_options));
    return 0;
}

static int take_options(struct lp_writer *writer, const struct lp_put_options *options,
                        struct lp_error *err)
{
    const uint32_t known =
        LP_PUT_IF_ABSENT | LP_PUT_REPLACE | LP_PUT_EPHEMERAL | LP_PUT_VERIFY | LP_PUT_IBP_EXACT;
    int rc;

    if ((options->flags & ~known) != 0)
        return lp_error_set(err, LP_EINVAL, "unknown flags 0x%x in lp_put_options", options->flags);
    if ((options->flags & LP_PUT_IF_ABSENT) != 0 && (options->flags & LP_PUT_REPLACE) != 0)
        return lp_error_set(err, LP_EINVAL,
                            "LP_PUT_IF_ABSENT and LP_PUT_REPLACE exclude each other");
    writer->flags = options->flags;
    writer->timeout_ns = options->deadline_ns;
    writer->params = (struct lp_plan_params){.codec = options->codec,
                                             .layout = options->layout,
                                             .align_bytes = options->align_bytes,
                                             .access = options->access,
                                             .record_rows = options->record_rows,
                                             .record_elements = options->record_elements,
                                             .column_period = options->column_period,
                                             .column_span = options->column_span,
                                             .ibp_exact = (options->flags & LP_PUT_IBP_EXACT) != 0};
    if (options->tag == NULL || options->tag[0] == '\0')
        return 0;
    rc = lp_codec_name_check(options->tag, strlen(options->tag), err);
    if (rc < 0)
        return lp_error_wrap(err, rc, "tag");
    writer->tag = lp_mem_strdup(options->tag);
    return writer->tag != NULL ? 0 : lp_error_set(err, LP_ENOMEM, "no memory for a tag");
}

/* The codec is not known yet, so the daemon is told the one that was asked for. */
static int reserve_name(struct lp_writer *writer, struct lp_error *err)
{
    struct lp_session *session = writer->session;
    const uint64_t deadline_ns = lp_session_deadline(session, writer->timeout_ns);
    const struct lp_link_create create = {
        .name = writer->name,
        .tag = writer->tag,
        .geometry = &writer->geometry,
        .codec = writer->packing.table.codec,
        .layout = writer->packing.table.layout,
        .flags = writer->flags,
    };
    int rc;

    LP_TRY(rc, lp_session_lock(session, deadline_ns, err));
    rc = session->ops->create(session->link, writer->connection, &create, &writer->oid, deadline_ns,
                              err);
    lp_session_unlock(session);
    return rc;
}

/* Ask early whether the name is free, before anything is packed. */
static int check_name(struct lp_writer *writer, struct lp_error *err)
{
    struct lp_session *session = writer->session;
    const uint64_t deadline_ns = lp_session_deadline(session, writer->timeout_ns);
    const char *name = writer->name;
    uint8_t exists = 0;
    int rc;

    LP_TRY(rc, lp_codec_name_check(name, strlen(name), err));
    LP_TRY(rc, lp_session_lock(session, deadline_ns, err));
    rc = session->ops->exists(session->link, &name, 1, &exists, deadline_ns, err);
    lp_session_unlock(session);
    if (rc < 0 || exists == 0 || (writer->flags & LP_PUT_REPLACE) != 0)
        return rc;
    if ((writer->flags & LP_PUT_IF_ABSENT) == 0)
        return lp_error_set(
            err, LP_EEXIST,
            "there is a tensor of this name already: LP_PUT_REPLACE makes a new version");
    writer->absent_only = true;
    return 0;
}

/* Plan from the caller's sample, which may say where its records lie. */
static int begin_from_sample(struct lp_writer *writer, const struct lp_put_options *options,
                             uint32_t record_elements, struct lp_error *err)
{
    const uint64_t run = options->sample_run_elements;
    struct lp_sample layout;

    if (run == 0)
        return lp_packing_begin(&writer->packing, options->sample, options->sample_elements, NULL,
                                err);
    if (!lp_codec_sample_of_runs(&layout, &writer->geometry, record_elements,
                                 options->sample_elements, run))
        return lp_error_set(
            err, LP_EINVAL, "a sample of %llu elements in runs of %llu, for records of %u",
            (unsigned long long)options->sample_elements, (unsigned long long)run, record_elements);
    return lp_packing_begin(&writer->packing, options->sample, options->sample_elements, &layout,
                            err);
}

int lp_writer_open(lp_client *client, const char *name, const struct lp_shape *shape,
                   const struct lp_put_options *options, lp_writer **ret_writer,
                   struct lp_error *err)
{
    struct lp_put_options here;
    struct lp_writer *writer;
    uint32_t record_elements;
    uint64_t capacity;
    int rc;

    if (client == NULL || name == NULL || ret_writer == NULL)
        return lp_error_set(err, LP_EINVAL, "no client, no name or nowhere to put the writer");
    LP_TRY(rc, lp_session_check(client->session, err));
    writer = lp_mem_zalloc(sizeof(*writer));
    if (writer == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a writer");
    writer->session = client->session;
    writer->packing.writer = writer;
    lp_session_ref(writer->session);
    (void)lp_names_label(name, writer->label);
    writer->name = lp_mem_strdup(name);
    rc = writer->name != NULL ? 0 : lp_error_set(err, LP_ENOMEM, "no memory for a name");
    LP_TRY_GOTO(rc, rc, fail);
    LP_TRY_GOTO(rc, lp_writer_read_options(&here, options, err), fail);
    LP_TRY_GOTO(rc, take_options(writer, &here, err), fail);
    LP_TRY_GOTO(rc, lp_writer_read_shape(&writer->geometry, shape, err), fail);
    LP_TRY_GOTO(rc, lp_codec_plan_record(&writer->geometry, &writer->params, &record_elements, err),
                fail);
    LP_TRY_GOTO(rc, check_name(writer, err), fail);
    if (writer->absent_only)
        goto done;
    if (here.sample != NULL) {
        LP_TRY_GOTO(rc, begin_from_sample(writer, &here, record_elements, err), fail);
        goto done;
    }
    /* Whole records are held back, as many as a plan looks at. */
    capacity =
        LP_PLAN_SAMPLE_BYTES / writer->geometry.elem_bytes / record_elements * record_elements;
    writer->held_capacity =
        capacity < writer->geometry.n_elements ? capacity : writer->geometry.n_elements;
done:
    *ret_writer = writer;
    return 0;

fail:
    rc = lp_error_wrap(err, rc, "put %s", writer->label);
    free_writer(writer);
    return rc;
}

/* The codec is chosen from what is held, which then is packed. */
static int release_held(struct lp_writer *writer, struct lp_error *err)
{
    uint32_t record_elements;
    struct lp_sample layout;
    int rc;

    LP_TRY(rc, lp_codec_plan_record(&writer->geometry, &writer->params, &record_elements, err));
    layout = lp_codec_sample_first(record_elements, writer->held_elements);
    LP_TRY(rc,
           lp_packing_begin(&writer->packing, writer->held, writer->held_elements, &layout, err));
    LP_TRY(rc, lp_codec_packer_append(&writer->packing.packer, writer->held, writer->held_elements,
                                      err));
    lp_mem_free(writer->held);
    writer->held = NULL;
    return 0;
}

static int hold(struct lp_writer *writer, const uint8_t **src, uint64_t *n_elements,
                struct lp_error *err)
{
    const uint32_t elem_bytes = writer->geometry.elem_bytes;
    const uint64_t room = writer->held_capacity - writer->held_elements;
    const uint64_t n = *n_elements < room ? *n_elements : room;

    if (writer->held == NULL) {
        writer->held = lp_mem_alloc_array(writer->held_capacity, elem_bytes);
        if (writer->held == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory to hold rows back");
    }
    memcpy(writer->held + writer->held_elements * elem_bytes, *src, n * elem_bytes);
    writer->held_elements += n;
    *src += n * elem_bytes;
    *n_elements -= n;
    return writer->held_elements == writer->held_capacity ? release_held(writer, err) : 0;
}

/* n_elements are within the shape. */
static int take_elements(struct lp_writer *writer, const uint8_t *src, uint64_t n_elements,
                         struct lp_error *err)
{
    int rc = 0;

    if ((writer->flags & LP_PUT_VERIFY) != 0)
        LP_TRY(rc, note_runs(writer, src, n_elements, err));
    if (!writer->packing.packing)
        rc = hold(writer, &src, &n_elements, err);
    if (rc == 0 && n_elements != 0)
        rc = lp_codec_packer_append(&writer->packing.packer, src, n_elements, err);
    return rc;
}

static int refuse_failed(const struct lp_writer *writer, struct lp_error *err)
{
    return lp_error_set(err, writer->failed,
                        "put %s: an append failed (%s) and its rows are lost: begin again",
                        writer->label, lp_error_name(writer->failed));
}

int lp_writer_append_elements(lp_writer *writer, const void *elements, uint64_t n_elements,
                              struct lp_error *err)
{
    int rc;

    if (writer == NULL || (elements == NULL && n_elements != 0))
        return lp_error_set(err, LP_EINVAL, "no writer or no elements");
    LP_TRY(rc, lp_session_check(writer->session, err));
    if (writer->failed != 0)
        return refuse_failed(writer, err);
    if (n_elements > writer->geometry.n_elements - writer->elements_in)
        return lp_error_set(err, LP_ESIZE, "put %s: more than the %llu elements of its shape",
                            writer->label, (unsigned long long)writer->geometry.n_elements);
    writer->elements_in += n_elements;
    if (n_elements == 0 || writer->absent_only)
        return 0;
    rc = take_elements(writer, elements, n_elements, err);
    writer->failed = rc < 0 ? rc : 0;
    return rc < 0 ? lp_error_wrap(err, rc, "put %s", writer->label) : 0;
}

int lp_writer_append(lp_writer *writer, const void *rows, uint64_t n_rows, struct lp_error *err)
{
    uint64_t n_elements;

    if (writer == NULL)
        return lp_error_set(err, LP_EINVAL, "no writer");
    if (!lp_mul_u64(n_rows, writer->geometry.row_elements, &n_elements))
        return lp_error_set(err, LP_ESIZE, "put %s: %llu rows", writer->label,
                            (unsigned long long)n_rows);
    return lp_writer_append_elements(writer, rows, n_elements, err);
}

/* --- sealing --------------------------------------------------------------------------------- */

static int request_seal(struct lp_writer *writer, const struct lp_link_part *parts,
                        struct lp_tensor_info *ret_info, struct lp_error *err)
{
    struct lp_session *session = writer->session;
    const uint32_t n_parts = writer->packing.table.n_segments + 1;
    uint64_t timeout_ns = writer->timeout_ns;
    uint64_t deadline_ns;
    int rc;

    LP_TRY(rc, reserve_name(writer, err));
    if (writer->oid == 0)
        return 0; /* IF_ABSENT, and somebody was faster */
    if (timeout_ns == 0)
        timeout_ns = session->timeout_ns +
                     SEAL_NS_PER_BYTE * lp_codec_table_stored_bytes(&writer->packing.table);
    deadline_ns = lp_session_deadline(session, timeout_ns);
    LP_TRY(rc, lp_session_lock(session, deadline_ns, err));
    rc = session->ops->seal(session->link, writer->connection, writer->oid, parts, n_parts,
                            ret_info, deadline_ns, err);
    lp_session_unlock(session);
    return rc;
}

/* An arena can only be adopted while nobody maps it writable. */
static void unmap_adopted(struct lp_packing *packing, const struct lp_link_part *parts)
{
    for (uint32_t i = 0; i < packing->table.n_segments; i++)
        if (parts[i + 1].adopt)
            lp_session_unmap_arena(packing->arenas[i]);
}

static int seal_packed(struct lp_writer *writer, struct lp_tensor_info *ret_info,
                       struct lp_error *err)
{
    struct lp_packing *packing = &writer->packing;
    const uint32_t n_segments = packing->table.n_segments;
    struct lp_link_part *parts = lp_mem_alloc_array((size_t)n_segments + 1, sizeof(*parts));
    int rc;

    if (parts == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u parts", n_segments + 1);
    LP_TRY_GOTO(rc, lp_packing_list_parts(packing, true, parts, err), done);
    unmap_adopted(packing, parts);
    rc = request_seal(writer, parts, ret_info, err);
    if (rc == LP_EBUSY && n_segments > 1) {
        /* Somebody else, a child of fork() for one, still maps an arena: have it copied. */
        for (uint32_t i = 0; i <= n_segments; i++)
            parts[i].adopt = false;
        rc = request_seal(writer, parts, ret_info, err);
    }
    for (uint32_t i = 0; rc == 0 && writer->oid != 0 && i < n_segments; i++) {
        if (parts[i + 1].adopt) {
            lp_session_drop_arena_take(packing->arenas[i]);
            packing->arenas[i] = NULL;
        }
    }
done:
    lp_mem_free(parts);
    return rc;
}

static int seal(struct lp_writer *writer, struct lp_tensor_info *ret_info, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, lp_session_check(writer->session, err));
    if (writer->failed != 0)
        return lp_error_set(err, writer->failed, "an append failed (%s) and its rows are lost",
                            lp_error_name(writer->failed));
    if (writer->elements_in != writer->geometry.n_elements)
        return lp_error_set(err, LP_ESIZE, "%llu of %llu elements are missing",
                            (unsigned long long)(writer->geometry.n_elements - writer->elements_in),
                            (unsigned long long)writer->geometry.n_elements);
    if (writer->absent_only)
        return 0;
    if (!writer->packing.packing)
        LP_TRY(rc, release_held(writer, err)); /* a tensor without elements */
    LP_TRY(rc, lp_codec_packer_finish(&writer->packing.packer, err));
    if (rc == LP_PACKER_ALL_RAW)
        LP_TRY(rc, lp_packing_repack_raw(writer, err));
    if ((writer->flags & LP_PUT_VERIFY) != 0)
        LP_TRY(rc, verify_runs(writer, err));
    return seal_packed(writer, ret_info, err);
}

int lp_writer_seal_take(lp_writer *writer, struct lp_tensor_info *ret_info, struct lp_error *err)
{
    struct lp_tensor_info info = {.struct_size = sizeof(info)};
    int rc;

    if (writer == NULL)
        return lp_error_set(err, LP_EINVAL, "no writer");
    if (ret_info != NULL && ret_info->struct_size < sizeof(uint32_t)) {
        rc = lp_error_set(err, LP_EINVAL, "lp_tensor_info.struct_size is not set");
    } else {
        rc = seal(writer, &info, err);
        if (rc < 0)
            rc = lp_error_wrap(err, rc, "put %s", writer->label);
    }
    if (rc == 0 && ret_info != NULL)
        lp_names_copy_struct(ret_info, &info, sizeof(info));
    writer->failed = rc;
    if (rc < 0)
        lp_writer_abort_take(writer);
    else
        free_writer(writer);
    return rc;
}

void lp_writer_abort_take(lp_writer *writer)
{
    struct lp_session *session;

    if (writer == NULL)
        return;
    session = writer->session;
    if (writer->oid != 0 && lp_session_check(session, NULL) == 0) {
        (void)pthread_mutex_lock(&session->lock);
        (void)session->ops->abort(session->link, writer->connection, writer->oid,
                                  lp_packing_end_deadline(writer), NULL);
        (void)pthread_mutex_unlock(&session->lock);
    }
    free_writer(writer);
}
