/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/analysis.h"

#include "base/alloc.h"
#include "base/bytes.h"

#include <math.h>
#include <string.h>

#define WORDS_16 65536u

/* What one pass over the sample fills. */
struct counting {
    struct lp_analysis *analysis;
    const uint8_t *sample;
    uint32_t elem_bytes;
    uint32_t field_shift, field_mask;
    uint64_t period;        /* elements of the last dimension; 1 for one dimension */
    uint32_t *column_count; /* period times 2^field_bits; NULL: columns are not told apart */
    uint32_t *word_count;   /* 2^16; NULL: elements have more bits */
    uint32_t *block_count;  /* 2^field_bits, of the block that is open */
    uint32_t block_elements;
    double block_bits; /* of the blocks so far, in all */
    uint64_t blocked;  /* elements of whole blocks */
};

/* Bits that an ideal code of these counts takes in all. */
static double ideal_bits(const uint32_t *count, uint64_t n_values, uint64_t n)
{
    double bits = 0;

    for (uint64_t v = 0; v < n_values; v++)
        if (count[v] > 0)
            bits += count[v] * log2((double)n / count[v]);
    return bits;
}

static void end_block(struct counting *c)
{
    const uint64_t n_values = UINT64_C(1) << c->analysis->field_bits;

    if (c->block_elements == LP_ANALYSIS_BLOCK_ELEMENTS) {
        c->block_bits += ideal_bits(c->block_count, n_values, c->block_elements);
        c->blocked += c->block_elements;
    }
    memset(c->block_count, 0, n_values * sizeof(*c->block_count));
    c->block_elements = 0;
}

static void count_field(struct counting *c, uint64_t element, uint64_t column)
{
    const uint32_t value = (uint32_t)(element >> c->field_shift) & c->field_mask;

    c->analysis->field_count[value]++;
    if (c->column_count != NULL)
        c->column_count[(column << c->analysis->field_bits) + value]++;
    c->block_count[value]++;
    if (++c->block_elements == LP_ANALYSIS_BLOCK_ELEMENTS)
        end_block(c);
}

static void count_bits(struct lp_analysis *a, uint64_t element, uint64_t column)
{
    const uint64_t bin = column / a->bin_columns;

    a->bin_elements[bin]++;
    for (uint32_t b = 0; b < a->element_bits; b++)
        a->ones[bin][b] += element >> b & 1;
}

/* Elements that follow each other, the first one with the index first in the tensor. A block does
 * not reach over the end of a run. */
static void count_run(struct counting *c, const uint8_t *elements, uint64_t first, uint64_t n)
{
    struct lp_analysis *const a = c->analysis;
    uint64_t column = first % c->period;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t element = lp_load_uint(elements + i * c->elem_bytes, c->elem_bytes);

        a->zeros += element == 0;
        if (c->word_count != NULL)
            c->word_count[element]++;
        if (a->field_bits > 0)
            count_field(c, element, column);
        count_bits(a, element, column);
        column = column + 1 < c->period ? column + 1 : 0;
    }
    a->n_elements += n;
    if (a->field_bits > 0)
        end_block(c);
}

static struct lp_analysis_entropy entropy_of(const struct lp_analysis *a, double bits, uint64_t n)
{
    struct lp_analysis_entropy entropy = {-1, 0};

    if (n > 0) {
        entropy.bits = bits / (double)n;
        entropy.saving = (a->field_bits - entropy.bits) / a->element_bits;
    }
    return entropy;
}

static void finish_field(struct counting *c)
{
    struct lp_analysis *const a = c->analysis;
    const uint64_t n_values = UINT64_C(1) << a->field_bits;
    double bits = 0;

    for (uint64_t v = 0; v < n_values; v++)
        if (a->field_count[v] > 0)
            bits +=
                (double)a->field_count[v] * log2((double)a->n_elements / (double)a->field_count[v]);
    a->whole = entropy_of(a, bits, a->n_elements);
    a->by_block = entropy_of(a, c->block_bits, c->blocked);
    a->by_column = entropy_of(a, 0, 0);
    if (c->column_count == NULL)
        return;
    bits = 0;
    for (uint64_t column = 0; column < c->period; column++) {
        const uint32_t *const count = c->column_count + (column << a->field_bits);
        uint64_t n = 0;

        for (uint64_t v = 0; v < n_values; v++)
            n += count[v];
        bits += ideal_bits(count, n_values, n);
    }
    a->by_column = entropy_of(a, bits, a->n_elements);
    a->columns = c->period;
}

static void finish_words(struct counting *c)
{
    struct lp_analysis *const a = c->analysis;

    a->element_entropy = -1;
    if (c->word_count == NULL || a->n_elements == 0)
        return;
    a->element_entropy = ideal_bits(c->word_count, WORDS_16, a->n_elements) / (double)a->n_elements;
    for (uint32_t w = 0; w < WORDS_16; w++)
        a->distinct += c->word_count[w] > 0;
}

/* Which bits of an element are its field. */
static void find_field(struct counting *c, uint32_t dtype)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(dtype);
    const bool is_byte = lp_codec_dtype_is_int8(dtype);

    c->analysis->field_bits = is_byte ? 8 : info->exponent_bits;
    c->field_shift = is_byte ? 0 : info->mantissa_bits;
    c->field_mask = (1u << c->analysis->field_bits) - 1;
}

static int alloc_counts(struct counting *c, const struct lp_geometry *geometry, uint64_t n_elements,
                        struct lp_error *err)
{
    struct lp_analysis *const a = c->analysis;
    const uint64_t n_values = UINT64_C(1) << a->field_bits;

    if (a->field_bits > 0) {
        a->field_count = lp_mem_zalloc(n_values * sizeof(*a->field_count));
        c->block_count = lp_mem_zalloc(n_values * sizeof(*c->block_count));
        if (a->field_count == NULL || c->block_count == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory to count exponents");
        if (geometry->ndim >= 2 && c->period > 1 &&
            c->period <= LP_ANALYSIS_COLUMN_COUNTS_MAX / n_values &&
            n_elements / c->period >= LP_ANALYSIS_COLUMN_ELEMENTS_MIN) {
            c->column_count = lp_mem_zalloc(c->period * n_values * sizeof(*c->column_count));
            if (c->column_count == NULL)
                return lp_error_set(err, LP_ENOMEM,
                                    "no memory to count the exponents of %llu columns",
                                    (unsigned long long)c->period);
        }
    }
    if (geometry->elem_bytes <= 2) {
        c->word_count = lp_mem_zalloc(WORDS_16 * sizeof(*c->word_count));
        if (c->word_count == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory to count elements");
    }
    return 0;
}

static int count_all(struct counting *c, const struct lp_geometry *geometry,
                     const struct lp_sample *layout, struct lp_error *err)
{
    struct lp_analysis *const a = c->analysis;
    const uint64_t run = lp_codec_sample_run_elements(layout);
    int rc;

    LP_TRY(rc, alloc_counts(c, geometry, layout->n_elements, err));
    a->bin_columns = (c->period + LP_ANALYSIS_BINS_MAX - 1) / LP_ANALYSIS_BINS_MAX;
    a->n_bins = (uint32_t)((c->period + a->bin_columns - 1) / a->bin_columns);
    for (uint64_t k = 0; k < layout->n_runs; k++)
        count_run(c, c->sample + k * run * c->elem_bytes, lp_codec_sample_run_first(layout, k),
                  run);
    if (a->field_bits > 0)
        finish_field(c);
    finish_words(c);
    return 0;
}

int lp_codec_analysis_new(struct lp_analysis **ret_analysis, const struct lp_geometry *geometry,
                          const struct lp_sample *layout, const void *sample, struct lp_error *err)
{
    struct counting c = {.sample = sample, .elem_bytes = geometry->elem_bytes, .period = 1};
    int rc;

    if (geometry->elem_bytes == 3)
        return lp_error_set(err, LP_ENOTSUP, "elements of %s are not looked into",
                            lp_codec_dtype_info(geometry->dtype)->name);
    c.analysis = lp_mem_zalloc(sizeof(*c.analysis));
    if (c.analysis == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for an analysis");
    c.analysis->dtype = geometry->dtype;
    c.analysis->element_bits = 8 * geometry->elem_bytes;
    if (geometry->ndim >= 2)
        c.period = LP_MAX(geometry->dims[geometry->ndim - 1], UINT64_C(1));
    find_field(&c, geometry->dtype);
    rc = count_all(&c, geometry, layout, err);
    lp_mem_free(c.column_count);
    lp_mem_free(c.word_count);
    lp_mem_free(c.block_count);
    if (rc < 0)
        lp_codec_analysis_free(c.analysis);
    else
        *ret_analysis = c.analysis;
    return rc;
}

void lp_codec_analysis_free(struct lp_analysis *analysis)
{
    if (analysis == NULL)
        return;
    lp_mem_free(analysis->field_count);
    lp_mem_free(analysis);
}
