/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/codec_bench.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "cli/bench_time.h"
#include "codec/packer.h"
#include "codec/view.h"

#include <string.h>
#include <unistd.h>

#define BYTES_MIN (64ull << 20)
#define BYTES_MAX (1ull << 30)
#define REPEATS_MAX 101u

uint64_t lp_codec_bench_bytes(void)
{
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const uint64_t wanted = cache > 0 ? 4 * (uint64_t)cache : 0;

    return LP_MIN(LP_MAX(wanted, BYTES_MIN), BYTES_MAX);
}

int lp_codec_bench_data_init(struct lp_codec_bench_data *ret_data,
                             const struct lp_geometry *geometry, const void *elements,
                             struct lp_error *err)
{
    const uint64_t once = geometry->logical_bytes;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    struct lp_codec_bench_data data = {.once_elements = geometry->n_elements};
    uint64_t times;
    int rc;

    if (once == 0)
        return lp_error_set(err, LP_EINVAL, "a tensor without elements can't be measured");
    times = (lp_codec_bench_bytes() + once - 1) / once;
    memcpy(dims, geometry->dims, sizeof(dims));
    if (geometry->ndim == 0)
        dims[0] = times;
    else
        dims[0] *= times;
    LP_TRY(rc, lp_codec_geometry_init(&data.geometry, geometry->dtype, LP_MAX(geometry->ndim, 1u),
                                      dims, err));
    data.packed_room = data.geometry.logical_bytes + data.geometry.logical_bytes / 8 + BYTES_MIN;
    data.elements = lp_mem_alloc(data.geometry.logical_bytes + LP_CODEC_SLACK_BYTES);
    data.decoded = lp_mem_alloc(data.geometry.logical_bytes + LP_CODEC_SLACK_BYTES);
    data.packed = lp_mem_alloc(data.packed_room);
    if (data.elements == NULL || data.decoded == NULL || data.packed == NULL) {
        lp_codec_bench_data_fini(&data);
        return lp_error_set(err, LP_ENOMEM, "no memory for buffers of %llu bytes",
                            (unsigned long long)data.geometry.logical_bytes);
    }
    for (uint64_t i = 0; i < times; i++)
        memcpy(data.elements + i * once, elements, once);
    memset(data.decoded, 0, data.geometry.logical_bytes);
    memset(data.packed, 0, data.packed_room); /* pages are there before anything is timed */
    *ret_data = data;
    return 0;
}

void lp_codec_bench_data_fini(struct lp_codec_bench_data *data)
{
    lp_mem_free(data->elements);
    lp_mem_free(data->decoded);
    lp_mem_free(data->packed);
}

/* --- one codec ------------------------------------------------------------------------------- */

/* Data goes to data->packed behind the head, segments one after another. */
struct target {
    const struct lp_codec_bench_data *data;
    uint64_t head_bytes;
};

static int target_reserve(void *user, uint64_t data_offset, uint32_t bytes, uint8_t **ret_dst,
                          struct lp_error *err)
{
    const struct target *target = user;
    const uint64_t at = target->head_bytes + data_offset;

    if (at + bytes + LP_CODEC_SLACK_BYTES > target->data->packed_room)
        return lp_error_set(err, LP_ESIZE, "more packed bytes than there is room for");
    *ret_dst = target->data->packed + at;
    return 0;
}

static int target_commit(void *user, uint64_t data_offset, const uint8_t *dst, uint32_t bytes,
                         struct lp_error *err)
{
    (void)user;
    (void)data_offset;
    (void)dst;
    (void)bytes;
    (void)err;
    return 0;
}

static int encode(const struct lp_codec_bench_data *data, struct lp_table *table,
                  struct lp_error *err)
{
    struct target target = {data, table->head_bytes};
    const struct lp_packer_sink sink = {&target, target_reserve, target_commit};
    struct lp_packer packer;
    int rc;

    LP_TRY(rc, lp_codec_packer_init(&packer, table, data->packed + table->index_offset,
                                    data->packed + table->checks_offset, &sink, err));
    rc = lp_codec_packer_append(&packer, data->elements, data->geometry.n_elements, err);
    if (rc == 0)
        rc = lp_codec_packer_finish(&packer, err);
    lp_codec_packer_fini(&packer);
    return rc;
}

static int decode(const struct lp_codec_bench_data *data, const struct lp_table *table,
                  struct lp_error *err)
{
    const uint8_t *segments[2];
    const struct lp_view view = {table, data->packed + table->index_offset, NULL, segments};

    if (table->n_segments > LP_ARRAY_LEN(segments))
        return lp_error_set(err, LP_ESIZE, "more segments than are measured");
    for (uint32_t i = 0; i < table->n_segments; i++)
        segments[i] = data->packed + table->head_bytes + i * table->segment_bytes;
    return lp_codec_view_elements(&view, 0, data->geometry.n_elements, data->decoded, err);
}

/* The three steps in turn, so that a disturbance meets all of them. */
static int measure(const struct lp_codec_bench_data *data, struct lp_table *table, uint32_t repeats,
                   struct lp_codec_bench_result *result, struct lp_error *err)
{
    double encode_s[REPEATS_MAX], decode_s[REPEATS_MAX], memcpy_s[REPEATS_MAX];
    const uint64_t bytes = data->geometry.logical_bytes;
    int rc = 0;

    for (uint32_t i = 0; i < repeats; i++) {
        uint64_t start_ns = lp_clock_now_ns();

        LP_TRY(rc, encode(data, table, err));
        encode_s[i] = lp_bench_seconds_since(start_ns);
        start_ns = lp_clock_now_ns();
        memcpy(data->decoded, data->elements, bytes);
        memcpy_s[i] = lp_bench_seconds_since(start_ns);
        memset(data->decoded, 0xa5, bytes);
        start_ns = lp_clock_now_ns();
        LP_TRY(rc, decode(data, table, err));
        decode_s[i] = lp_bench_seconds_since(start_ns);
    }
    if (memcmp(data->decoded, data->elements, bytes) != 0)
        return lp_error_set(err, LP_ECORRUPT, "what was decoded is not what was encoded");
    result->encode_gbps = lp_bench_median_gbps(encode_s, repeats, bytes);
    result->decode_gbps = lp_bench_median_gbps(decode_s, repeats, bytes);
    result->memcpy_gbps = lp_bench_median_gbps(memcpy_s, repeats, bytes);
    return 0;
}

int lp_codec_bench_run(const struct lp_codec_bench_data *data, const struct lp_plan_params *params,
                       uint32_t repeats, struct lp_codec_bench_result *ret_result,
                       struct lp_error *err)
{
    /* The sample is the tensor once, as a packer of the file would see it. */
    const uint64_t limit = LP_PLAN_SAMPLE_BYTES / data->geometry.elem_bytes;
    struct lp_codec_bench_result result = {0};
    uint32_t record_elements;
    struct lp_table table;
    uint64_t sample;
    int rc;

    LP_TRY(rc, lp_codec_plan_record(&data->geometry, params, &record_elements, err));
    sample =
        LP_MAX(LP_MIN(data->once_elements, limit) / record_elements, UINT64_C(1)) * record_elements;
    LP_TRY(rc, lp_codec_plan(&table, &data->geometry, params, data->elements, sample, NULL, err));
    rc = measure(data, &table, LP_MIN(LP_MAX(repeats, 1u), REPEATS_MAX), &result, err);
    if (rc == 0) {
        result.codec = table.codec;
        result.n_records = table.n_records;
        result.raw_records = table.raw_records;
        result.logical_bytes = data->geometry.logical_bytes;
        result.payload_bytes = table.payload_bytes + table.meta_bytes;
        result.stored_bytes = lp_codec_table_stored_bytes(&table);
        result.wire_bytes = table.wire_bytes;
        result.bits_per_element =
            8.0 * (double)result.payload_bytes / (double)data->geometry.n_elements;
        memcpy(result.reason, table.reason, sizeof(result.reason));
        *ret_result = result;
    }
    lp_codec_table_fini(&table);
    return rc;
}
