/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/packed.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/packer.h"
#include "codec/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While packing: one growing block, addressed by data_offset. */
struct memory_sink {
    uint8_t *bytes;
    uint64_t room;
    uint32_t pieces;
};

static int sink_reserve(void *user, uint64_t data_offset, uint32_t n_bytes, uint8_t **ret_dst,
                        struct lp_error *err)
{
    struct memory_sink *const sink = user;
    const uint64_t end = data_offset + n_bytes;

    if (end > sink->room) {
        uint8_t *const grown = lp_mem_realloc_array(sink->bytes, 2 * end, 1);

        if (grown == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory in the test's sink");
        memset(grown + sink->room, 0, 2 * end - sink->room);
        sink->bytes = grown;
        sink->room = 2 * end;
    }
    *ret_dst = sink->bytes + data_offset;
    return 0;
}

static int sink_commit(void *user, uint64_t data_offset, const uint8_t *dst, uint32_t n_bytes,
                       struct lp_error *err)
{
    (void)data_offset;
    (void)dst;
    (void)n_bytes;
    (void)err;
    ((struct memory_sink *)user)->pieces++;
    return 0;
}

static int append_all(struct lp_packer *packer, const struct lp_geometry *geometry,
                      const uint8_t *data, uint64_t step, struct lp_error *err)
{
    const uint64_t n = geometry->n_elements;
    int rc;

    if (step == 0)
        step = n > 0 ? n : 1;
    for (uint64_t i = 0; i < n; i += step)
        LP_TRY(rc, lp_codec_packer_append(packer, data + i * geometry->elem_bytes,
                                          LP_MIN(step, n - i), err));
    return lp_codec_packer_finish(packer, err);
}

/* Cut the sink's bytes into segments. */
static int take_segments(struct packed *packed, const struct memory_sink *sink,
                         struct lp_error *err)
{
    const struct lp_table *const table = &packed->table;

    packed->segments = lp_mem_zalloc((table->n_segments + 1) * sizeof(*packed->segments));
    if (packed->segments == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for segments");
    for (uint32_t i = 0; i < table->n_segments; i++) {
        const uint64_t bytes = lp_codec_table_segment_bytes(table, i);
        const uint64_t at = i * table->segment_bytes;

        packed->segments[i] = lp_mem_alloc_aligned(64, bytes + LP_CODEC_SLACK_BYTES);
        if (packed->segments[i] == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory for a segment");
        memset(packed->segments[i], 0, bytes);
        memcpy(packed->segments[i], sink->bytes + at, LP_MIN(bytes, sink->room - at));
        memset(packed->segments[i] + bytes, 0xa5, LP_CODEC_SLACK_BYTES);
    }
    return 0;
}

static int pack(struct packed *packed, struct memory_sink *memory, const void *data, uint64_t step,
                struct lp_error *err)
{
    const struct lp_packer_sink sink = {memory, sink_reserve, sink_commit};
    struct lp_table *const table = &packed->table;
    struct lp_packer packer;
    int rc;

    packed->head = lp_mem_alloc_aligned(64, table->head_bytes);
    if (packed->head == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a head");
    rc = lp_codec_packer_init(&packer, table, packed->head + table->index_offset,
                              packed->head + table->checks_offset, &sink, err);
    if (rc < 0)
        return rc;
    rc = append_all(&packer, &table->geometry, data, step, err);
    lp_codec_packer_fini(&packer);
    return rc;
}

/* Plan by the sample that a program would take. */
static int plan(struct packed *packed, const struct lp_geometry *geometry,
                const struct lp_plan_params *params, const uint8_t *data, struct lp_error *err)
{
    const uint32_t elem_bytes = geometry->elem_bytes;
    struct lp_sample layout;
    uint32_t record_elements;
    uint8_t *sample;
    uint64_t run;
    int rc;

    LP_TRY(rc, lp_codec_plan_record(geometry, params, &record_elements, err));
    layout = lp_codec_sample(geometry, record_elements, LP_PLAN_SAMPLE_BYTES, LP_SAMPLE_RUN_BYTES);
    run = lp_codec_sample_run_elements(&layout);
    sample = lp_mem_alloc(layout.n_elements * elem_bytes + 1);
    if (sample == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a sample");
    for (uint64_t k = 0; k < layout.n_runs; k++)
        memcpy(sample + k * run * elem_bytes,
               data + lp_codec_sample_run_first(&layout, k) * elem_bytes, run * elem_bytes);
    rc = lp_codec_plan(&packed->table, geometry, params, sample, layout.n_elements, NULL, err);
    lp_mem_free(sample);
    return rc;
}

/* The planned table, packed. */
static int pack_planned(struct packed *packed, const void *data, uint64_t step,
                        struct lp_error *err)
{
    struct memory_sink memory = {0};
    int rc;

    rc = pack(packed, &memory, data, step, err);
    if (rc == 0) {
        lp_codec_table_emit(&packed->table, packed->head);
        rc = take_segments(packed, &memory, err);
    }
    packed->pieces = memory.pieces;
    lp_mem_free(memory.bytes);
    if (rc != 0)
        packed_fini(packed);
    return rc;
}

/* One try; LP_PACKER_ALL_RAW asks for another one with codec raw. */
static int make_once(struct packed *packed, const struct lp_geometry *geometry,
                     const struct lp_plan_params *params, const void *data, uint64_t step,
                     struct lp_error *err)
{
    int rc;

    memset(packed, 0, sizeof(*packed));
    LP_TRY(rc, plan(packed, geometry, params, data, err));
    return pack_planned(packed, data, step, err);
}

static void set_view(struct packed *packed)
{
    packed->view = (struct lp_view){
        .table = &packed->table,
        .index = packed->head + packed->table.index_offset,
        .checks = packed->head + packed->table.checks_offset,
        .segments = (const uint8_t *const *)packed->segments,
    };
}

int packed_make(struct packed *ret_packed, const struct lp_geometry *geometry,
                const struct lp_plan_params *params, const void *data, uint64_t step,
                struct lp_error *err)
{
    struct lp_plan_params raw = {0};
    int rc;

    if (params != NULL)
        raw = *params;
    raw.codec = LP_CODEC_RAW;
    rc = make_once(ret_packed, geometry, params, data, step, err);
    if (rc == LP_PACKER_ALL_RAW)
        rc = make_once(ret_packed, geometry, &raw, data, step, err);
    if (rc == 0)
        set_view(ret_packed);
    return rc;
}

int packed_make_changed(struct packed *ret_packed, const struct lp_geometry *geometry,
                        const struct lp_plan_params *params, packed_change *change, void *user,
                        const void *data, struct lp_error *err)
{
    int rc;

    memset(ret_packed, 0, sizeof(*ret_packed));
    LP_TRY(rc, plan(ret_packed, geometry, params, data, err));
    rc = change(&ret_packed->table, user, err);
    if (rc == 0)
        rc = lp_codec_table_derive(&ret_packed->table, err);
    if (rc < 0) {
        packed_fini(ret_packed);
        return rc;
    }
    rc = pack_planned(ret_packed, data, 0, err);
    if (rc == 0)
        set_view(ret_packed);
    return rc;
}

void packed_fini(struct packed *packed)
{
    for (uint32_t i = 0; packed->segments != NULL && i < packed->table.n_segments; i++)
        lp_mem_free(packed->segments[i]);
    lp_mem_free(packed->segments);
    lp_mem_free(packed->head);
    lp_codec_table_fini(&packed->table);
    memset(packed, 0, sizeof(*packed));
}

void packed_must(struct packed *ret_packed, uint32_t dtype, uint32_t ndim, const uint64_t *dims,
                 const struct lp_plan_params *params, const void *data)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_geometry geometry;

    if (lp_codec_geometry_init(&geometry, dtype, ndim, dims, &err) < 0 ||
        packed_make(ret_packed, &geometry, params, data, 0, &err) < 0) {
        (void)fprintf(stderr, "packing the test's tensor: %s\n", err.text);
        abort();
    }
}

void packed_seal_header(uint8_t *head)
{
    const size_t at = offsetof(struct lp_format_header, header_hash);

    lp_store_u64(head + at, lp_codec_hash(head, at));
}
