/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_pack.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "cli/bench_time.h"
#include "codec/packer.h"
#include "codec/sample.h"

#include <string.h>

static int reserve(void *user, uint64_t data_offset, uint32_t n_bytes, uint8_t **ret_dst,
                   struct lp_error *err)
{
    const struct lp_bench_pack *const pack = user;

    if (data_offset + n_bytes > pack->room_bytes)
        return lp_error_set(err, LP_ENOSPC, "the packed table's room of %llu bytes is full",
                            (unsigned long long)pack->room_bytes);
    *ret_dst = pack->data + data_offset;
    return 0;
}

static int commit(void *user, uint64_t data_offset, const uint8_t *dst, uint32_t n_bytes,
                  struct lp_error *err)
{
    (void)user;
    (void)data_offset;
    (void)dst;
    (void)n_bytes;
    (void)err;
    return 0;
}

/* Whatever the codec does, a record takes at most its raw length, and a segment loses at most one
 * group to its end. */
static uint64_t room_for(const struct lp_table *table)
{
    const uint64_t length = lp_round_up_u64(table->record_bytes, 32);
    const uint64_t group = LP_FORMAT_GROUP_RECORDS * length;
    const uint64_t bytes = table->n_records * length;

    return bytes + (bytes / (table->segment_bytes - group) + 1) * group;
}

static int make_room(struct lp_bench_pack *pack, struct lp_error *err)
{
    uint64_t n_segments;

    pack->room_bytes = room_for(&pack->table) + LP_CODEC_SLACK_BYTES;
    n_segments = pack->room_bytes / pack->table.segment_bytes + 1;
    pack->head = lp_mem_alloc_aligned(64, pack->table.head_bytes);
    pack->segments = lp_mem_alloc_array(n_segments, sizeof(*pack->segments));
    pack->data = lp_bench_map(pack->room_bytes);
    if (pack->head == NULL || pack->segments == NULL || pack->data == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a packed table of %llu bytes",
                            (unsigned long long)pack->room_bytes);
    for (uint64_t i = 0; i < n_segments; i++)
        pack->segments[i] = pack->data + i * pack->table.segment_bytes;
    pack->view.table = &pack->table;
    pack->view.index = pack->head + pack->table.index_offset;
    pack->view.checks = pack->head + pack->table.checks_offset;
    pack->view.segments = pack->segments;
    return 0;
}

/* The sample's runs, back to back. */
static uint8_t *gather_sample(const struct lp_geometry *geometry, const struct lp_sample *sample,
                              const void *elements)
{
    const uint64_t run_bytes = lp_codec_sample_run_elements(sample) * geometry->elem_bytes;
    uint8_t *const bytes = lp_mem_alloc(sample->n_runs * run_bytes + 1);

    for (uint64_t k = 0; bytes != NULL && k < sample->n_runs; k++)
        memcpy(bytes + k * run_bytes,
               (const uint8_t *)elements +
                   lp_codec_sample_run_first(sample, k) * geometry->elem_bytes,
               run_bytes);
    return bytes;
}

int lp_bench_plan(struct lp_table *ret_table, const struct lp_geometry *geometry,
                  const struct lp_plan_params *params, const void *elements, struct lp_error *err)
{
    struct lp_plan_params with_layout;
    uint32_t record_elements = 1;
    struct lp_sample sample;
    uint8_t *gathered = NULL;
    int rc;

    LP_TRY(rc, lp_codec_plan_record(geometry, params, &record_elements, err));
    sample = lp_codec_sample(geometry, record_elements, LP_PLAN_SAMPLE_BYTES, LP_SAMPLE_RUN_BYTES);
    if (!sample.whole) {
        gathered = gather_sample(geometry, &sample, elements);
        if (gathered == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory for a sample");
    }
    with_layout = params != NULL ? *params : (struct lp_plan_params){0};
    with_layout.sample_layout = &sample;
    rc = lp_codec_plan(ret_table, geometry, &with_layout, gathered != NULL ? gathered : elements,
                       sample.n_elements, NULL, err);
    lp_mem_free(gathered);
    return rc;
}

int lp_bench_pack_init(struct lp_bench_pack *ret_pack, const struct lp_geometry *geometry,
                       const struct lp_plan_params *params, const void *elements,
                       struct lp_error *err)
{
    struct lp_bench_pack *const pack = ret_pack;
    int rc;

    memset(pack, 0, sizeof(*pack));
    LP_TRY(rc, lp_bench_plan(&pack->table, geometry, params, elements, err));
    rc = make_room(pack, err);
    if (rc < 0)
        lp_bench_pack_fini(pack);
    return rc;
}

void lp_bench_pack_fini(struct lp_bench_pack *pack)
{
    lp_mem_free(pack->head);
    lp_mem_free(pack->segments);
    lp_bench_unmap(pack->data, pack->room_bytes);
    lp_codec_table_fini(&pack->table);
    memset(pack, 0, sizeof(*pack));
}

static int pack_once(struct lp_bench_pack *pack, const void *elements, struct lp_error *err)
{
    const struct lp_packer_sink sink = {pack, reserve, commit};
    struct lp_packer packer;
    int rc;

    LP_TRY(rc, lp_codec_packer_init(&packer, &pack->table, pack->head + pack->table.index_offset,
                                    pack->head + pack->table.checks_offset, &sink, err));
    rc = lp_codec_packer_append(&packer, elements, pack->table.geometry.n_elements, err);
    if (rc == 0)
        rc = lp_codec_packer_finish(&packer, err);
    lp_codec_packer_fini(&packer);
    return rc;
}

/* Start again with codec raw: no record shrank. */
static int become_raw(struct lp_bench_pack *pack, const void *elements, struct lp_error *err)
{
    const struct lp_plan_params raw = {.codec = LP_CODEC_RAW};
    const struct lp_geometry geometry = pack->table.geometry;
    int rc;

    lp_bench_pack_fini(pack);
    LP_TRY(rc, lp_bench_pack_init(pack, &geometry, &raw, elements, err));
    return pack_once(pack, elements, err);
}

int lp_bench_pack_run(struct lp_bench_pack *pack, const void *elements, struct lp_error *err)
{
    const int rc = pack_once(pack, elements, err);

    return rc == LP_PACKER_ALL_RAW ? become_raw(pack, elements, err) : rc;
}
