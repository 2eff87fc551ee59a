/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tensor.h"

#include "base/alloc.h"
#include "client/backend.h"
#include "client/names.h"

#include <string.h>

static void free_parts(struct lp_tensor *tensor)
{
    lp_codec_table_fini(&tensor->table);
    lp_mem_free((void *)(uintptr_t)tensor->segments);
    lp_mem_free(tensor->extents);
    lp_mem_free(tensor->maps);
    lp_mem_free(tensor);
}

/* Each extent must lie in the room of the chunk that was mapped for it. */
static int check_extents(const struct lp_tensor *tensor, struct lp_error *err)
{
    for (uint32_t i = 0; i < tensor->n_extents; i++) {
        const struct lp_shm_extent *extent = &tensor->extents[i];
        const uint64_t end = tensor->maps[i]->n_bytes - LP_SHM_CHUNK_TAIL_BYTES;

        if (extent->offset < LP_SHM_CHUNK_HEADER_BYTES ||
            extent->offset % LP_SHM_EXTENT_ALIGN != 0 || extent->offset > end ||
            extent->bytes > end - extent->offset)
            return lp_error_set(err, LP_EPROTO,
                                "extent %u of %llu bytes at %llu does not fit chunk %u", i,
                                (unsigned long long)extent->bytes,
                                (unsigned long long)extent->offset, extent->chunk);
    }
    return 0;
}

/* The head's own word on how many segments there are, and how long, must be the daemon's. */
static int check_segments(const struct lp_tensor *tensor, struct lp_error *err)
{
    if (tensor->table.n_segments + 1 != tensor->n_extents)
        return lp_error_set(err, LP_ECORRUPT, "the head has %u segments, %u extents came",
                            tensor->table.n_segments, tensor->n_extents);
    if (tensor->extents[0].bytes < tensor->table.head_bytes)
        return lp_error_set(err, LP_ECORRUPT, "the head needs %llu bytes, its extent has %llu",
                            (unsigned long long)tensor->table.head_bytes,
                            (unsigned long long)tensor->extents[0].bytes);
    for (uint32_t i = 0; i < tensor->table.n_segments; i++)
        if (tensor->extents[i + 1].bytes < lp_codec_table_segment_bytes(&tensor->table, i))
            return lp_error_set(err, LP_ECORRUPT, "segment %u is longer than its extent", i);
    return 0;
}

/* What is told about a tensor comes from the bytes it will be read by, not from the answer. */
static void fill_info(struct lp_tensor *tensor)
{
    const struct lp_table *table = &tensor->table;
    struct lp_tensor_info *info = &tensor->info;

    info->struct_size = sizeof(*info);
    info->dtype = table->geometry.dtype;
    info->ndim = table->geometry.ndim;
    info->codec = table->codec;
    info->layout = table->layout;
    for (uint32_t i = 0; i < LP_FORMAT_DIMS_MAX; i++)
        info->dims[i] = (int64_t)table->geometry.dims[i];
    info->n_rows = table->geometry.n_rows;
    info->row_bytes = table->geometry.row_bytes;
    info->logical_bytes = table->geometry.logical_bytes;
    info->stored_bytes = lp_codec_table_stored_bytes(table);
    info->wire_bytes = table->wire_bytes;
    info->record_bytes = table->record_bytes;
    info->n_records = table->n_records;
    info->raw_records = table->raw_records;
}

static int map_and_check(struct lp_tensor *tensor, uint64_t epoch, uint64_t deadline_ns,
                         struct lp_error *err)
{
    struct lp_session *session = tensor->session;
    uint32_t *chunks = lp_mem_alloc_array(tensor->n_extents, sizeof(*chunks));
    uint32_t mapped = 0;
    const uint8_t *head;
    int rc;

    if (chunks == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u extents", tensor->n_extents);
    for (uint32_t i = 0; i < tensor->n_extents; i++)
        chunks[i] = tensor->extents[i].chunk;
    LP_TRY_GOTO(rc,
                lp_session_map_chunks(session, chunks, tensor->n_extents, epoch, tensor->maps,
                                      deadline_ns, err),
                done);
    mapped = tensor->n_extents;
    LP_TRY_GOTO(rc, check_extents(tensor, err), done);
    head = tensor->maps[0]->bytes + tensor->extents[0].offset;
    LP_TRY_GOTO(rc, lp_codec_table_parse(&tensor->table, head, tensor->extents[0].bytes, err),
                done);
    LP_TRY_GOTO(rc, check_segments(tensor, err), done);
    for (uint32_t i = 0; i < tensor->table.n_segments; i++)
        tensor->segments[i] = tensor->maps[i + 1]->bytes + tensor->extents[i + 1].offset;
    tensor->view = (struct lp_view){&tensor->table, head + tensor->table.index_offset,
                                    head + tensor->table.checks_offset, tensor->segments};
    mapped = 0;
done:
    for (uint32_t i = 0; i < mapped; i++)
        lp_session_unmap_chunk(session, tensor->maps[i]);
    lp_mem_free(chunks);
    return rc;
}

int lp_tensor_make(struct lp_session *session, struct lp_link_object *object, uint64_t deadline_ns,
                   struct lp_tensor **ret_tensor, struct lp_error *err)
{
    struct lp_tensor *tensor = lp_mem_zalloc(sizeof(*tensor));
    int rc;

    if (tensor == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a tensor");
    tensor->session = session;
    tensor->connection = object->connection;
    tensor->lease = object->lease;
    tensor->info = object->info;
    tensor->n_extents = object->n_extents;
    tensor->segments = lp_mem_alloc_array(object->n_extents, sizeof(*tensor->segments));
    tensor->maps = lp_mem_alloc_array(object->n_extents, sizeof(*tensor->maps));
    tensor->extents = lp_mem_alloc_array(object->n_extents, sizeof(*tensor->extents));
    if (tensor->segments == NULL || tensor->maps == NULL || tensor->extents == NULL) {
        rc = lp_error_set(err, LP_ENOMEM, "no memory for %u extents", object->n_extents);
        goto fail;
    }
    memcpy(tensor->extents, object->extents, object->n_extents * sizeof(*tensor->extents));
    LP_TRY_GOTO(rc, map_and_check(tensor, object->epoch, deadline_ns, err), fail);
    fill_info(tensor);
    lp_session_ref(session);
    lp_mem_free(object->extents);
    object->extents = NULL;
    *ret_tensor = tensor;
    return 0;

fail:
    free_parts(tensor);
    return rc;
}

int lp_tensor_check(const struct lp_tensor *tensor, struct lp_error *err)
{
    const struct lp_session *session = tensor->session;
    int rc;

    LP_TRY(rc, lp_session_check(session, err));
    if (session->ops->is_cut(session->link, tensor->connection))
        return lp_error_set(err, LP_ESTALE,
                            "the connection that held this tensor's lease was cut: open it again");
    return 0;
}

int lp_tensor_get_info(const lp_tensor *tensor, struct lp_tensor_info *ret_info)
{
    if (tensor == NULL || ret_info == NULL || ret_info->struct_size < sizeof(uint32_t))
        return LP_EINVAL;
    lp_names_copy_struct(ret_info, &tensor->info, sizeof(tensor->info));
    return 0;
}

int lp_tensor_describe(const lp_tensor *tensor, char *ret_text, size_t text_bytes)
{
    if (tensor == NULL || ret_text == NULL || text_bytes == 0)
        return LP_EINVAL;
    lp_codec_table_describe(&tensor->table, ret_text, text_bytes);
    return 0;
}

void lp_tensor_close(lp_tensor *tensor)
{
    struct lp_session *session;

    if (tensor == NULL)
        return;
    session = tensor->session;
    if (lp_session_check(session, NULL) == 0) {
        const uint64_t deadline_ns = lp_session_deadline(session, 0);

        (void)lp_backend_cuda.withdraw(tensor, -1);
        (void)pthread_mutex_lock(&session->lock);
        /* A lease that can't be given back ends with its connection. */
        (void)session->ops->release(session->link, tensor->connection, tensor->lease, deadline_ns,
                                    NULL);
        for (uint32_t i = 0; i < tensor->n_extents; i++)
            lp_session_unmap_chunk(session, tensor->maps[i]);
        (void)pthread_mutex_unlock(&session->lock);
    }
    free_parts(tensor);
    lp_session_unref(session);
}
