/* SPDX-License-Identifier: Apache-2.0 */
#include "client/packing.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "client/writer.h"

#include <string.h>

#define EXTENT_START LP_SHM_CHUNK_HEADER_BYTES

/* Bytes of extents that fit an arena. */
static uint64_t arena_room(const struct lp_arena_map *arena)
{
    return lp_shm_chunk_room(arena->arena.bytes) / LP_SHM_EXTENT_ALIGN * LP_SHM_EXTENT_ALIGN;
}

static int add_arena(struct lp_packing *packing, struct lp_error *err)
{
    struct lp_writer *writer = packing->writer;
    struct lp_session *session = writer->session;
    const uint64_t deadline_ns = lp_session_deadline(session, writer->timeout_ns);
    struct lp_arena_map **arenas;
    struct lp_arena_map *arena = NULL;
    int rc;

    arenas =
        lp_mem_realloc_array(packing->arenas, packing->n_arenas + 1, sizeof(struct lp_arena_map *));
    if (arenas == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for arena %u", packing->n_arenas + 1);
    packing->arenas = arenas;
    LP_TRY(rc, lp_session_lock(session, deadline_ns, err));
    rc = lp_session_take_arena(session, &arena, deadline_ns, err);
    lp_session_unlock(session);
    if (rc < 0)
        return rc;
    arenas[packing->n_arenas++] = arena;
    if (writer->connection != 0 && writer->connection != arena->arena.connection)
        return lp_error_set(err, LP_ESTALE,
                            "the daemon was restarted while this tensor was written: begin again");
    writer->connection = arena->arena.connection;
    return 0;
}

/* The packer's sink: records are made where they stay until the seal. */
static int sink_reserve(void *user, uint64_t data_offset, uint32_t bytes, uint8_t **ret_dst,
                        struct lp_error *err)
{
    struct lp_packing *packing = user;
    const uint64_t segment = data_offset / packing->table.segment_bytes;
    const uint64_t offset = data_offset % packing->table.segment_bytes;
    int rc;

    while (packing->n_arenas <= segment)
        LP_TRY(rc, add_arena(packing, err));
    if (offset + bytes > arena_room(packing->arenas[segment]))
        return lp_error_set(err, LP_EINTERNAL, "segment %llu is longer than its arena",
                            (unsigned long long)segment);
    *ret_dst = packing->arenas[segment]->bytes + EXTENT_START + offset;
    return 0;
}

static int sink_commit(void *user, uint64_t data_offset, const uint8_t *dst, uint32_t bytes,
                       struct lp_error *err)
{
    (void)user;
    (void)data_offset;
    (void)dst;
    (void)bytes;
    (void)err;
    return 0;
}

uint64_t lp_packing_end_deadline(const struct lp_writer *writer)
{
    return writer->failed == LP_ETIMEDOUT ? 0 : lp_session_deadline(writer->session, 0);
}

static void put_back(struct lp_packing *packing)
{
    struct lp_session *session = packing->writer->session;
    const uint64_t deadline_ns = lp_packing_end_deadline(packing->writer);

    (void)pthread_mutex_lock(&session->lock);
    for (uint32_t i = 0; i < packing->n_arenas; i++)
        if (packing->arenas[i] != NULL)
            lp_session_put_arena_take(session, packing->arenas[i], deadline_ns);
    (void)pthread_mutex_unlock(&session->lock);
}

void lp_packing_end(struct lp_packing *packing)
{
    if (packing->packing) {
        lp_codec_packer_fini(&packing->packer);
        lp_codec_table_fini(&packing->table);
        packing->packing = false;
    }
    if (lp_session_check(packing->writer->session, NULL) == 0)
        put_back(packing);
    else
        for (uint32_t i = 0; i < packing->n_arenas; i++)
            lp_session_drop_arena_take(packing->arenas[i]);
    lp_mem_free(packing->arenas);
    lp_mem_free(packing->head);
    packing->arenas = NULL;
    packing->head = NULL;
    packing->n_arenas = 0;
}

int lp_packing_begin(struct lp_packing *packing, const void *sample, uint64_t sample_elements,
                     const struct lp_sample *layout, struct lp_error *err)
{
    const struct lp_packer_sink sink = {packing, sink_reserve, sink_commit};
    struct lp_writer *writer = packing->writer;
    struct lp_table *table = &packing->table;
    struct lp_plan_params params;
    int rc;

    /* The first arena tells how long a segment may be. */
    LP_TRY(rc, add_arena(packing, err));
    writer->params.segment_bytes = arena_room(packing->arenas[0]);
    params = writer->params;
    params.sample_layout = layout;
    LP_TRY(rc,
           lp_codec_plan(table, &writer->geometry, &params, sample, sample_elements, NULL, err));
    packing->head = lp_mem_zalloc(table->head_bytes);
    rc = packing->head == NULL
             ? lp_error_set(err, LP_ENOMEM, "no memory for a head of %llu bytes",
                            (unsigned long long)table->head_bytes)
             : lp_codec_packer_init(&packing->packer, table, packing->head + table->index_offset,
                                    packing->head + table->checks_offset, &sink, err);
    if (rc < 0)
        lp_codec_table_fini(table);
    else
        packing->packing = true;
    return rc;
}

struct lp_view lp_packing_view(const struct lp_packing *packing, const uint8_t **segments)
{
    const struct lp_table *table = &packing->table;

    for (uint32_t i = 0; i < table->n_segments; i++)
        segments[i] = packing->arenas[i]->bytes + EXTENT_START;
    return (struct lp_view){table, packing->head + table->index_offset,
                            packing->head + table->checks_offset, segments};
}

int lp_packing_repack_raw(struct lp_writer *writer, struct lp_error *err)
{
    struct lp_packing packed = writer->packing;
    const struct lp_table *table = &packed.table;
    const uint8_t **segments = lp_mem_alloc_array(table->n_segments, sizeof(const uint8_t *));
    uint8_t *record = lp_mem_alloc(table->record_bytes);
    struct lp_view view;
    int rc = 0;

    writer->packing = (struct lp_packing){.writer = writer};
    writer->params.codec = LP_CODEC_RAW;
    if (segments == NULL || record == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory to pack again as raw");
    if (rc == 0) {
        view = lp_packing_view(&packed, segments);
        rc = lp_codec_view_record(&view, 0, record, err);
    }
    if (rc == 0)
        rc = lp_packing_begin(&writer->packing, record, table->record_elements, NULL, err);
    for (uint64_t r = 0; rc == 0 && r < table->n_records; r++) {
        rc = lp_codec_view_record(&view, r, record, err);
        if (rc == 0)
            rc = lp_codec_packer_append(&writer->packing.packer, record,
                                        lp_codec_table_record_elements(table, r), err);
    }
    if (rc == 0)
        rc = lp_codec_packer_finish(&writer->packing.packer, err);
    lp_packing_end(&packed);
    lp_mem_free(record);
    lp_mem_free((void *)(uintptr_t)segments);
    return rc < 0 ? rc : 0;
}

/* Head behind the last segment, or in an arena of its own. */
static int place_head(struct lp_packing *packing, struct lp_link_part *ret_part,
                      struct lp_error *err)
{
    const struct lp_table *table = &packing->table;
    const uint32_t last_segment = table->n_segments == 0 ? 0 : table->n_segments - 1;
    uint64_t offset =
        table->n_segments == 0 ? 0 : lp_codec_table_segment_bytes(table, last_segment);
    struct lp_arena_map *arena = packing->arenas[last_segment];
    int rc;

    offset = lp_round_up_u64(offset + LP_CODEC_SLACK_BYTES, LP_SHM_EXTENT_ALIGN);
    if (offset > arena_room(arena) || table->head_bytes > arena_room(arena) - offset) {
        if (packing->n_arenas == table->n_segments)
            LP_TRY(rc, add_arena(packing, err));
        arena = packing->arenas[packing->n_arenas - 1];
        offset = 0;
        if (table->head_bytes > arena_room(arena))
            return lp_error_set(
                err, LP_ENOSPC,
                "the head needs %llu bytes, a chunk has room for %llu: use larger records "
                "or chunks",
                (unsigned long long)table->head_bytes, (unsigned long long)arena_room(arena));
    }
    lp_codec_table_emit(table, packing->head);
    memcpy(arena->bytes + EXTENT_START + offset, packing->head, table->head_bytes);
    *ret_part =
        (struct lp_link_part){arena->arena.arena, EXTENT_START + offset, table->head_bytes, false};
    return 0;
}

int lp_packing_list_parts(struct lp_packing *packing, bool adopt, struct lp_link_part *parts,
                          struct lp_error *err)
{
    const struct lp_table *table = &packing->table;
    int rc;

    LP_TRY(rc, place_head(packing, &parts[0], err));
    for (uint32_t i = 0; i < table->n_segments; i++)
        parts[i + 1] = (struct lp_link_part){packing->arenas[i]->arena.arena, EXTENT_START,
                                             lp_codec_table_segment_bytes(table, i),
                                             adopt && i + 1 < table->n_segments};
    return 0;
}
