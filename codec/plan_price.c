/* SPDX-License-Identifier: Apache-2.0 */
/* Prices: each codec learns from the sample and codes it, and what that would store or move counts.
 */
#include "codec/plan_price.h"

#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/codec_zip7.h"
#include "codec/place.h"
#include "codec/record.h"

#include <stdio.h>

int lp_codec_plan_table(struct lp_table *ret_table, const struct lp_planner *planner,
                        uint32_t codec, uint64_t meta_bytes, struct lp_error *err)
{
    struct lp_table table = planner->base;
    const uint32_t align = planner->params.align_bytes;
    int rc;

    table.codec = codec;
    table.meta_bytes = meta_bytes;
    if (codec == LP_CODEC_RAW) {
        table.layout = LP_LAYOUT_PACKED;
        table.align_bytes = 1;
    } else if (planner->params.layout == LP_LAYOUT_SLOTTED) {
        table.layout = LP_LAYOUT_SLOTTED;
        table.align_bytes = LP_FORMAT_SECTOR_BYTES;
    } else {
        table.layout = LP_LAYOUT_PACKED;
        table.align_bytes = align != 0 ? align : LP_FORMAT_INDEX_UNIT_BYTES;
    }
    LP_TRY(rc, lp_codec_table_derive(&table, err));
    *ret_table = table;
    return 0;
}

__uint128_t lp_codec_plan_cost(const struct lp_planner *planner, const struct lp_price *price)
{
    return (__uint128_t)price->cost_bytes * planner->base.geometry.logical_bytes +
           (__uint128_t)price->meta_bytes * planner->sample_bytes;
}

/* Which record of the tensor is record r of the sample. */
static uint64_t sampled_record(const struct lp_planner *planner, uint64_t r)
{
    const struct lp_sample *const layout = planner->params.sample_layout;

    return layout == NULL ? r : lp_codec_sample_record(layout, r);
}

/* What is left to add to a price once its records are in. */
static void finish_price(const struct lp_planner *planner, struct lp_candidate *candidate)
{
    const struct lp_table *const table = &candidate->table;
    const uint64_t groups =
        (planner->sample_records + LP_FORMAT_GROUP_RECORDS - 1) / LP_FORMAT_GROUP_RECORDS;

    if (table->layout == LP_LAYOUT_PACKED) {
        candidate->price->stored_bytes += groups * table->group_bytes;
        candidate->price->cost_bytes += groups * table->group_bytes;
    }
    candidate->price->meta_bytes = table->meta_bytes;
    candidate->price->possible = 1;
}

/* --- access rows: what single rows touch ---------------------------------------------------- */

/* The rows that have an element in record r of the sample. */
struct rows {
    uint64_t first, end;
};

static struct rows rows_of_record(const struct lp_planner *planner, uint64_t r)
{
    const uint64_t row_elements = planner->base.geometry.row_elements;
    const uint64_t record_elements = planner->base.record_elements;
    const uint64_t first = sampled_record(planner, r) * record_elements;

    return (struct rows){first / row_elements, (first + record_elements - 1) / row_elements + 1};
}

/* Of a record that is decoded again for each of its rows. */
static uint64_t touched_by_rows(const struct lp_planner *planner, uint64_t r, uint64_t offset,
                                uint32_t length)
{
    const struct rows rows = rows_of_record(planner, r);

    return (rows.end - rows.first) * lp_codec_sectors(offset, length) * LP_FORMAT_SECTOR_BYTES;
}

/* Of a raw record, of which each row takes its own part. */
static uint64_t touched_raw(const struct lp_planner *planner, uint64_t r)
{
    const uint64_t row_bytes = planner->base.geometry.row_bytes;
    const uint64_t record_bytes = planner->base.record_bytes;
    const uint64_t begin = sampled_record(planner, r) * record_bytes, end = begin + record_bytes;
    const struct rows rows = rows_of_record(planner, r);
    uint64_t sectors = 0;

    for (uint64_t row = rows.first; row < rows.end; row++) {
        const uint64_t first = LP_MAX(row * row_bytes, begin);
        const uint64_t last = LP_MIN(row * row_bytes + row_bytes, end);

        sectors += lp_codec_sectors(first, last - first);
    }
    return sectors * LP_FORMAT_SECTOR_BYTES;
}

/* --- codecs --------------------------------------------------------------------------------- */

/* Code the sample, keep only the sizes. */
static void price_sample(const struct lp_planner *planner, struct lp_candidate *candidate)
{
    const struct lp_table *const table = &candidate->table;
    const uint32_t raw_length = lp_codec_raw_length(table, table->record_elements);
    struct lp_price *const price = candidate->price;
    const uint64_t records = planner->sample_records;
    const bool by_rows = planner->params.access == LP_ACCESS_ROWS;
    uint64_t offset = 0;

    for (uint64_t r = 0; r < records; r++) {
        const uint8_t *const src = planner->sample + r * table->record_bytes;
        const uint32_t size =
            lp_codec_record_encode(table, lp_codec_ops(), sampled_record(planner, r), src,
                                   planner->record, planner->scratch);
        const uint32_t length =
            size == 0 ? raw_length : (size + table->align_bytes - 1) & ~(table->align_bytes - 1);

        price->payload_bytes += size == 0 ? table->record_bytes : size;
        price->stored_bytes += length;
        price->cost_bytes += by_rows ? touched_by_rows(planner, r, offset, length) : length;
        if (table->layout == LP_LAYOUT_PACKED)
            offset += length;
    }
    finish_price(planner, candidate);
}

static void price_raw(const struct lp_planner *planner, struct lp_candidate *candidate)
{
    candidate->price->payload_bytes = planner->sample_bytes;
    candidate->price->stored_bytes = planner->sample_bytes;
    candidate->price->cost_bytes = planner->sample_bytes;
    if (planner->params.access == LP_ACCESS_ROWS && planner->sample_records > 0) {
        candidate->price->cost_bytes = 0;
        for (uint64_t r = 0; r < planner->sample_records; r++)
            candidate->price->cost_bytes += touched_raw(planner, r);
    }
    candidate->price->possible = 1;
    candidate->table = planner->base;
}

static int price_lane(const struct lp_planner *planner, struct lp_candidate *candidate,
                      struct lp_error *err)
{
    const struct lp_geometry *const geometry = &planner->base.geometry;
    struct lp_table *const table = &candidate->table;
    struct lp_price *const price = candidate->price;
    const struct lp_lane_sample sample = {.dtype = geometry->dtype,
                                          .elements = planner->sample,
                                          .n_records = planner->sample_records,
                                          .record_elements = planner->base.record_elements,
                                          .geometry = geometry,
                                          .layout = planner->params.sample_layout,
                                          .column_period = planner->params.column_period,
                                          .column_span = planner->params.column_span};
    struct lp_lane lane;
    int rc;

    rc = lp_codec_lane_learn(&lane, &sample, NULL, err);
    if (rc == LP_ENOTSUP) {
        (void)snprintf(price->note, sizeof(price->note), "%s has no exponent",
                       lp_codec_dtype_info(geometry->dtype)->name);
        return 0;
    }
    if (rc < 0)
        return rc;
    rc = lp_codec_plan_table(table, planner, LP_CODEC_LANE, lp_codec_lane_meta_bytes(&lane), err);
    if (rc < 0) {
        lp_codec_lane_fini(&lane);
        return rc;
    }
    table->lane = lane;
    lp_codec_lane_describe(&lane, price->note, sizeof(price->note));
    price_sample(planner, candidate);
    return 0;
}

static int price_zip7(const struct lp_planner *planner, struct lp_candidate *candidate,
                      struct lp_error *err)
{
    const struct lp_geometry *const geometry = &planner->base.geometry;
    const float sigma = planner->params.zip7_sigma;
    struct lp_lane lane;
    int rc;

    if (geometry->dtype != LP_DTYPE_BF16) {
        (void)snprintf(candidate->price->note, sizeof(candidate->price->note),
                       "codec zip7 codes bf16, not %s", lp_codec_dtype_info(geometry->dtype)->name);
        return 0;
    }
    if (sigma > 0)
        rc = lp_codec_zip7_init(&lane, geometry->dtype, lp_codec_zip7_first_of_sigma(sigma), err);
    else
        rc = lp_codec_zip7_learn(&lane, geometry->dtype, planner->sample,
                                 planner->sample_bytes / geometry->elem_bytes, err);
    if (rc < 0)
        return rc;
    LP_TRY(rc, lp_codec_plan_table(&candidate->table, planner, LP_CODEC_ZIP7,
                                   LP_FORMAT_ZIP7_META_BYTES, err));
    candidate->table.lane = lane;
    price_sample(planner, candidate);
    return 0;
}

static int price_dict(const struct lp_planner *planner, struct lp_candidate *candidate,
                      struct lp_error *err)
{
    const uint32_t elem_bytes = planner->base.geometry.elem_bytes;
    struct lp_price *const price = candidate->price;
    struct lp_error why = LP_ERROR_INIT;
    struct lp_dict dict;
    uint64_t payload;
    int rc;

    rc = lp_codec_dict_learn(&dict, elem_bytes, planner->sample, planner->sample_bytes / elem_bytes,
                             &payload, &why);
    if (rc == LP_ENOTSUP) {
        (void)snprintf(price->note, sizeof(price->note), "%.63s", why.text);
        return 0;
    }
    if (rc < 0)
        return lp_error_set(err, rc, "%s", why.text);
    rc = lp_codec_plan_table(&candidate->table, planner, LP_CODEC_DICT,
                             lp_codec_dict_meta_bytes(&dict), err);
    if (rc < 0) {
        lp_codec_dict_fini(&dict);
        return rc;
    }
    candidate->table.dict = dict;
    price_sample(planner, candidate);
    return 0;
}

static int price_sparse(const struct lp_planner *planner, struct lp_candidate *candidate,
                        struct lp_error *err)
{
    struct lp_price *const price = candidate->price;
    struct lp_table *const table = &candidate->table;
    struct lp_sparse_sample sample = {.dtype = planner->base.geometry.dtype,
                                      .record_elements = planner->base.record_elements,
                                      .elements = planner->sample,
                                      .n_records = planner->sample_records,
                                      .table_records = planner->base.n_records};
    struct lp_error why = LP_ERROR_INIT;
    struct lp_sparse sparse;
    int rc;

    LP_TRY(rc, lp_codec_plan_table(table, planner, LP_CODEC_SPARSE, 0, err));
    sample.align_bytes = table->align_bytes;
    rc = lp_codec_sparse_learn(&sparse, &sample, &why);
    if (rc == LP_ENOTSUP) {
        (void)snprintf(price->note, sizeof(price->note), "%.63s", why.text);
        return 0;
    }
    if (rc < 0)
        return lp_error_set(err, rc, "%s", why.text);
    rc = lp_codec_plan_table(table, planner, LP_CODEC_SPARSE, lp_codec_sparse_meta_bytes(&sparse),
                             err);
    if (rc < 0) {
        lp_codec_sparse_fini(&sparse);
        return rc;
    }
    table->sparse = sparse;
    lp_codec_table_describe(table, price->note, sizeof(price->note));
    price_sample(planner, candidate);
    return 0;
}

/* What the sample takes with the best of the codecs before ibp. */
static uint64_t cheapest_so_far(const struct lp_planner *planner)
{
    uint64_t bytes = UINT64_MAX;

    for (uint32_t i = 0; i < planner->prices.n; i++)
        if (planner->prices.price[i].possible && planner->prices.price[i].codec != LP_CODEC_IBP)
            bytes = LP_MIN(bytes, planner->prices.price[i].stored_bytes);
    return bytes;
}

/* What bits could save at the best is too little: then nobody needs to look for masks. */
static bool is_beaten(const struct lp_planner *planner, const struct lp_ibp_params *params)
{
    const uint64_t least = planner->ibp_least[params->word_bytes / 8];
    struct lp_price price = {.cost_bytes = least};

    if (least == 0 || lp_codec_ibp_tries_groups(params, planner->sample_records, least))
        return false;
    price.meta_bytes = LP_FORMAT_IBP_META_FIXED + 2ull * params->record_bytes;
    for (uint32_t i = 0; i < planner->prices.n; i++)
        if (planner->prices.price[i].possible &&
            lp_codec_plan_cost(planner, &planner->prices.price[i]) <=
                lp_codec_plan_cost(planner, &price))
            return true;
    return false;
}

static int price_ibp(const struct lp_planner *planner, struct lp_candidate *candidate,
                     struct lp_error *err)
{
    const uint32_t record_bytes = planner->base.record_bytes;
    const uint32_t word_bytes = candidate->price->ibp_word_bytes;
    struct lp_table *const table = &candidate->table;
    struct lp_price *const price = candidate->price;
    const bool slotted = planner->params.layout == LP_LAYOUT_SLOTTED;
    const struct lp_ibp_params params = {.word_bytes = word_bytes,
                                         .record_bytes = record_bytes,
                                         .align_bytes = slotted ? LP_FORMAT_SECTOR_BYTES
                                                                : planner->params.align_bytes,
                                         .threshold = planner->params.ibp_threshold,
                                         .exact = planner->params.ibp_exact,
                                         .counts = planner->ibp_counts,
                                         .rival_bytes = cheapest_so_far(planner)};
    struct lp_ibp_trial taken;
    struct lp_ibp ibp;
    int rc;

    if (record_bytes % word_bytes != 0) {
        (void)snprintf(price->note, sizeof(price->note), "a record of %u bytes is no words of %u",
                       record_bytes, word_bytes);
        return 0;
    }
    if (is_beaten(planner, &params))
        return 0;
    LP_TRY(rc, lp_codec_ibp_learn_groups(&ibp, &params, planner->base.n_records, planner->sample,
                                         planner->sample_records, &taken, err));
    if (taken.saved_bits == 0) {
        lp_codec_ibp_fini(&ibp);
        (void)snprintf(price->note, sizeof(price->note), "no bit is invariant enough to save");
        return 0;
    }
    rc = lp_codec_plan_table(table, planner, LP_CODEC_IBP, lp_codec_ibp_meta_bytes(&ibp), err);
    if (rc < 0) {
        lp_codec_ibp_fini(&ibp);
        return rc;
    }
    table->ibp = ibp;
    if (ibp.n_groups > 0)
        (void)snprintf(price->note, sizeof(price->note), "%u groups of masks", ibp.n_groups);
    if (planner->params.access == LP_ACCESS_ROWS) {
        price_sample(planner, candidate);
        return 0;
    }
    /* The masks were measured while they were chosen. */
    price->payload_bytes = taken.payload_bytes;
    price->stored_bytes = taken.stored_bytes;
    price->cost_bytes = taken.stored_bytes;
    finish_price(planner, candidate);
    return 0;
}

/* In the order of cheaper decoders: of equal costs the first wins. */
static const struct pricer {
    uint32_t codec, ibp_word_bytes;
    int (*price)(const struct lp_planner *planner, struct lp_candidate *candidate,
                 struct lp_error *err);
} pricers[] = {
    {LP_CODEC_ZIP7, 0, price_zip7}, {LP_CODEC_LANE, 0, price_lane},
    {LP_CODEC_DICT, 0, price_dict}, {LP_CODEC_SPARSE, 0, price_sparse},
    {LP_CODEC_IBP, 4, price_ibp},   {LP_CODEC_IBP, 8, price_ibp},
};

LP_STATIC_ASSERT(LP_CODEC_END == 7, "a new codec wants a price");
LP_STATIC_ASSERT(LP_ARRAY_LEN(pricers) < LP_PRICES_MAX, "and each price has room");

static bool is_asked(const struct lp_plan_params *params, const struct pricer *pricer,
                     bool everything)
{
    const uint32_t word = params->ibp_word_bytes;

    return (everything || params->codec == LP_CODEC_AUTO || params->codec == pricer->codec) &&
           (pricer->ibp_word_bytes == 0 || word == 0 || word == pricer->ibp_word_bytes);
}

static struct lp_candidate *add_candidate(struct lp_planner *planner,
                                          struct lp_candidate *candidates, uint32_t *n,
                                          uint32_t codec, uint32_t ibp_word_bytes)
{
    struct lp_candidate *const candidate = &candidates[(*n)++];

    candidate->price = &planner->prices.price[planner->prices.n++];
    candidate->price->codec = codec;
    candidate->price->ibp_word_bytes = ibp_word_bytes;
    return candidate;
}

/* Counts of bits serve both sizes of words, and say first what is worth a look. */
static int count_for_ibp(struct lp_planner *planner, struct lp_error *err)
{
    const uint32_t record_bytes = planner->base.record_bytes;
    const uint64_t n_records = planner->sample_records;
    int rc;

    if (n_records == 0 || record_bytes % 4 != 0)
        return 0;
    LP_TRY(rc,
           lp_codec_ibp_count(&planner->ibp_counts, record_bytes, planner->sample, n_records, err));
    lp_codec_ibp_least(planner->ibp_counts, record_bytes, n_records, planner->ibp_least);
    return 0;
}

int lp_codec_plan_price(struct lp_planner *planner, struct lp_candidate candidates[LP_PRICES_MAX],
                        uint32_t *ret_n, bool everything, struct lp_error *err)
{
    int rc;

    *ret_n = 0;
    if (planner->params.codec == LP_CODEC_AUTO && !everything)
        LP_TRY(rc, count_for_ibp(planner, err));
    price_raw(planner, add_candidate(planner, candidates, ret_n, LP_CODEC_RAW, 0));
    for (size_t i = 0; planner->sample_records > 0 && i < LP_ARRAY_LEN(pricers); i++) {
        const struct pricer *const pricer = &pricers[i];

        if (is_asked(&planner->params, pricer, everything))
            LP_TRY(rc, pricer->price(planner,
                                     add_candidate(planner, candidates, ret_n, pricer->codec,
                                                   pricer->ibp_word_bytes),
                                     err));
    }
    return 0;
}
