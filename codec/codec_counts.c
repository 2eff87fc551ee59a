/* SPDX-License-Identifier: Apache-2.0 */
/* Counts: parameters and metadata. Records are coded in codec_counts_record.c; between symbols and
 * elements stand the tiers. Source: docs/FORMAT.md, section 8. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/counts.h"

#include <string.h>

static int set_columns(struct lp_counts *counts, const uint8_t *columns, struct lp_error *err)
{
    const size_t bytes = (size_t)counts->n_columns * sizeof(counts->columns[0]);

    for (uint32_t i = 0; i < counts->n_columns; i++) {
        const uint32_t scale = lp_load_u32(columns + (size_t)i * sizeof(scale));

        if (!lp_counts_is_scale(scale))
            return lp_error_set(err, LP_ECORRUPT, "counts metadata: column %u has the scale %#x",
                                (unsigned)i, (unsigned)scale);
    }
    counts->columns =
        lp_mem_alloc_aligned(64, bytes + LP_COUNTS_SLACK_BYTES + sizeof(*counts->costs));
    if (counts->columns == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u scales", (unsigned)counts->n_columns);
    memcpy(counts->columns, columns, bytes);
    memset((uint8_t *)counts->columns + bytes, 0, LP_COUNTS_SLACK_BYTES);
    counts->costs = (void *)((uint8_t *)counts->columns + bytes + LP_COUNTS_SLACK_BYTES);
    return 0;
}

static void set_costs(struct lp_counts *counts)
{
    const struct lp_dict *const symbols = &counts->symbols;
    uint32_t y = 0, bits = 0;

    for (uint32_t k = 0; k < symbols->n_levels; k++)
        bits += symbols->widths[k];
    counts->costs->far = (uint8_t)(bits + 8 * LP_FORMAT_COUNTS_SYMBOL_BYTES);
    memset(counts->costs->near, counts->costs->far, sizeof(counts->costs->near));
    bits = 0;
    for (uint32_t k = 0; k < symbols->n_levels; k++) {
        bits += symbols->widths[k];
        for (; y < LP_MIN(symbols->first[k + 1], symbols->n_values); y++) {
            const uint32_t symbol =
                lp_load_u32(symbols->values + (size_t)y * LP_FORMAT_COUNTS_SYMBOL_BYTES);

            if (symbol < LP_COUNTS_NEAR)
                counts->costs->near[symbol] = (uint8_t)bits;
        }
    }
}

int lp_codec_counts_init_take(struct lp_counts *ret_counts, uint32_t n_columns, const void *columns,
                              struct lp_dict *symbols, struct lp_error *err)
{
    struct lp_counts counts = {.n_columns = n_columns, .symbols = *symbols};
    int rc;

    memset(symbols, 0, sizeof(*symbols));
    memset(ret_counts, 0, sizeof(*ret_counts));
    rc = set_columns(&counts, columns, err);
    if (rc < 0) {
        lp_codec_counts_fini(&counts);
        return rc;
    }
    set_costs(&counts);
    *ret_counts = counts;
    return 0;
}

void lp_codec_counts_fini(struct lp_counts *counts)
{
    if (counts == NULL)
        return;
    lp_codec_dict_fini(&counts->symbols);
    lp_mem_free(counts->columns);
    memset(counts, 0, sizeof(*counts));
}

uint64_t lp_codec_counts_meta_bytes(const struct lp_counts *counts)
{
    return (uint64_t)counts->n_columns * sizeof(counts->columns[0]) +
           lp_codec_dict_meta_bytes(&counts->symbols);
}

void lp_codec_counts_meta_emit(const struct lp_counts *counts, void *dst)
{
    const size_t bytes = (size_t)counts->n_columns * sizeof(counts->columns[0]);

    memcpy(dst, counts->columns, bytes);
    lp_codec_dict_meta_emit(&counts->symbols, (uint8_t *)dst + bytes);
}

int lp_codec_counts_meta_parse(struct lp_counts *ret_counts, uint32_t n_columns, const void *meta,
                               uint64_t meta_bytes, struct lp_error *err)
{
    const uint64_t columns_bytes = (uint64_t)n_columns * sizeof(ret_counts->columns[0]);
    struct lp_dict symbols;
    int rc;

    memset(ret_counts, 0, sizeof(*ret_counts));
    if (meta_bytes < columns_bytes)
        return lp_error_set(err, LP_ECORRUPT, "counts metadata: %u columns in %llu bytes",
                            (unsigned)n_columns, (unsigned long long)meta_bytes);
    LP_TRY(rc, lp_codec_dict_meta_parse(&symbols, LP_FORMAT_COUNTS_SYMBOL_BYTES,
                                        (const uint8_t *)meta + columns_bytes,
                                        meta_bytes - columns_bytes, err));
    return lp_codec_counts_init_take(ret_counts, n_columns, meta, &symbols, err);
}
