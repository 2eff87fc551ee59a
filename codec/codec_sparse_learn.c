/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing how codec sparse keeps its values: each way learns from all values of the sample as if
 * they were one record (counts know of records), then codes the sample's records, and the sizes
 * decide. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "codec/sparse.h"
#include "codec/sparse_places.h"

#include <string.h>

struct study {
    const struct lp_sparse_sample *sample;
    const struct lp_codec_ops *ops;
    uint32_t elem_bytes, record_bytes;
    uint8_t *values; /* owned: the values of all records */
    uint64_t n_values;
    uint8_t *record;        /* owned: room for one coded record */
    uint64_t counts_bytes;  /* of all records, at least, were values counts */
    __uint128_t best_price; /* so far, while ways are tried */
};

/* What a record with m values is stored in, at least, when they are counts: each has one bit. */
static uint64_t least_with_counts(const struct study *study, uint32_t m)
{
    const uint32_t n = study->sample->record_elements, align = study->sample->align_bytes;
    uint64_t bytes = sizeof(uint16_t);

    if (m > 0)
        bytes += lp_sparse_places(n, m).bytes + LP_FORMAT_COUNTS_ROW_BYTES + (m + 7) / 8;
    return LP_MIN(lp_round_up_u64(bytes, align), lp_round_up_u64(study->record_bytes, align));
}

/* Whether one record at least has so many zeros that leaving them out saves more than places cost,
 * whatever becomes of the values. Collects them. */
static bool find_values(struct study *study)
{
    const struct lp_sparse_sample *const sample = study->sample;
    const uint32_t n = sample->record_elements;
    uint64_t map[LP_SPARSE_MAP_WORDS];
    bool saves = false;

    for (uint64_t r = 0; r < sample->n_records; r++) {
        const uint32_t m = study->ops->sparse_find(
            study->elem_bytes, (const uint8_t *)sample->elements + r * study->record_bytes, n, map,
            study->values + study->n_values * study->elem_bytes);

        saves |= m == 0 || lp_sparse_places(n, m).bytes < (n - m) * study->elem_bytes;
        study->n_values += m;
        study->counts_bytes += least_with_counts(study, m);
    }
    return saves;
}

static bool all_equal(const struct study *study)
{
    const uint32_t size = study->elem_bytes;

    return study->n_values > 0 &&
           memcmp(study->values, study->values + size, (study->n_values - 1) * size) == 0;
}

/* What the table would store, if all of it were like the sample, times the sample's records. */
static __uint128_t price_of(const struct study *study, uint64_t bytes, uint64_t meta_bytes)
{
    return (__uint128_t)bytes * study->sample->table_records +
           (__uint128_t)meta_bytes * study->sample->n_records;
}

static __uint128_t price(const struct study *study, const struct lp_sparse *sparse)
{
    const struct lp_sparse_sample *const sample = study->sample;
    const uint32_t align = sample->align_bytes;
    const uint32_t raw_length = (uint32_t)lp_round_up_u64(study->record_bytes, align);
    uint64_t bytes = 0;

    for (uint64_t r = 0; r < sample->n_records; r++) {
        const uint32_t size = lp_codec_sparse_encode(
            sparse, study->ops, (const uint8_t *)sample->elements + r * study->record_bytes,
            sample->record_elements, study->record, raw_length - align + 1);

        bytes += size == 0 ? raw_length : lp_round_up_u64(size, align);
    }
    return price_of(study, bytes, lp_codec_sparse_meta_bytes(sparse));
}

/* A way to keep values; LP_ENOTSUP where there is none, or none below the best price. */
typedef int learn_way(const struct study *study, struct lp_sparse *ret_sparse,
                      struct lp_error *err);

static int learn_lane(const struct study *study, struct lp_sparse *ret_sparse, struct lp_error *err)
{
    const struct lp_lane_sample values = {.dtype = study->sample->dtype,
                                          .elements = study->values,
                                          .n_records = 1,
                                          .record_elements = (uint32_t)study->n_values,
                                          .table_window_only = true};
    struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_LANE, .elem_bytes = study->elem_bytes};
    int rc;

    LP_TRY(rc, lp_codec_lane_learn(&sparse.lane, &values, NULL, err));
    *ret_sparse = sparse;
    return 0;
}

static int learn_dict(const struct study *study, struct lp_sparse *ret_sparse, struct lp_error *err)
{
    struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_DICT, .elem_bytes = study->elem_bytes};
    uint64_t payload_bytes;
    int rc;

    LP_TRY(rc, lp_codec_dict_learn(&sparse.dict, study->elem_bytes, study->values, study->n_values,
                                   &payload_bytes, err));
    *ret_sparse = sparse;
    return 0;
}

static int learn_counts(const struct study *study, struct lp_sparse *ret_sparse,
                        struct lp_error *err)
{
    const struct lp_counts_sample sample = {.record_elements = study->sample->record_elements,
                                            .elements = study->sample->elements,
                                            .n_records = study->sample->n_records,
                                            .n_values = study->n_values};
    const uint64_t columns_bytes = (uint64_t)sample.record_elements * sizeof(float);
    struct lp_sparse sparse = {.values = LP_SPARSE_VALUES_COUNTS, .elem_bytes = study->elem_bytes};
    int rc;

    if (study->sample->dtype != LP_DTYPE_F32)
        return lp_error_set(err, LP_ENOTSUP, "counts are of f32");
    if (price_of(study, study->counts_bytes, columns_bytes) >= study->best_price)
        return lp_error_set(err, LP_ENOTSUP, "counts would take more");
    LP_TRY(rc, lp_codec_counts_learn(&sparse.counts, &sample, err));
    *ret_sparse = sparse;
    return 0;
}

/* In the order of cheaper decoders; values as they are come before all of them. */
static learn_way *const ways[] = {learn_lane, learn_dict, learn_counts};

/* The cheapest way into *best, which is values as they are. */
static int choose(struct study *study, struct lp_sparse *best, struct lp_error *err)
{
    study->best_price = price(study, best);
    for (uint32_t i = 0; i < LP_ARRAY_LEN(ways); i++) {
        struct lp_sparse sparse;
        const int rc = ways[i](study, &sparse, err);
        __uint128_t way_price;

        if (rc == LP_ENOTSUP)
            continue;
        if (rc < 0)
            return rc;
        way_price = price(study, &sparse);
        if (way_price < study->best_price) {
            lp_codec_sparse_fini(best);
            *best = sparse;
            study->best_price = way_price;
        } else {
            lp_codec_sparse_fini(&sparse);
        }
    }
    return 0;
}

static int learn(struct study *study, struct lp_sparse *ret_sparse, struct lp_error *err)
{
    struct lp_sparse best = {.values = LP_SPARSE_VALUES_RAW, .elem_bytes = study->elem_bytes};
    int rc = 0;

    if (!find_values(study))
        return lp_error_set(err, LP_ENOTSUP, "too few elements are zero");
    if (all_equal(study)) {
        best.values = LP_SPARSE_VALUES_ONE;
        memcpy(best.one, study->values, study->elem_bytes);
    } else if (study->n_values > 0) {
        rc = choose(study, &best, err);
    }
    if (rc < 0)
        lp_codec_sparse_fini(&best);
    else
        *ret_sparse = best;
    return rc;
}

int lp_codec_sparse_learn(struct lp_sparse *ret_sparse, const struct lp_sparse_sample *sample,
                          struct lp_error *err)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(sample->dtype);
    struct study study = {.sample = sample, .ops = lp_codec_ops()};
    int rc;

    if (info == NULL || (info->bytes & (info->bytes - 1)) != 0)
        return lp_error_set(err, LP_ENOTSUP, "elements of %s have no power of two of bytes",
                            info != NULL ? info->name : "an unknown dtype");
    if (sample->record_elements > LP_FORMAT_SPARSE_ELEMENTS_MAX)
        return lp_error_set(err, LP_ENOTSUP, "records have more than %u elements",
                            LP_FORMAT_SPARSE_ELEMENTS_MAX);
    study.elem_bytes = info->bytes;
    study.record_bytes = sample->record_elements * info->bytes;
    study.values = lp_mem_alloc(sample->n_records * study.record_bytes + LP_CODEC_SLACK_BYTES);
    study.record = lp_mem_alloc(study.record_bytes + LP_CODEC_SLACK_BYTES);
    if (study.values == NULL || study.record == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory for the values of codec sparse");
    else
        rc = learn(&study, ret_sparse, err);
    lp_mem_free(study.values);
    lp_mem_free(study.record);
    return rc;
}
