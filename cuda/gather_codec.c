/* SPDX-License-Identifier: Apache-2.0 */
/* From a codec's parameters to what its kernel wants to know, and which kernel that is. */
#include "cuda/gather_codec.h"

#include "base/bytes.h"

#include <string.h>

/* --- lane ------------------------------------------------------------------------------------- */

/* Exponents by code. Code 0 goes to the next level: what stands for it is never used. */
static int plan_levels(struct lp_gather_table *t, const struct lp_gpu_table_params *p,
                       struct lp_error *err)
{
    uint32_t symbol = 0;

    if (p->lane_levels < 1 || p->lane_levels > LP_FORMAT_LANE_LEVELS_MAX)
        return lp_error_set(err, LP_EINVAL, "%u lane levels", (unsigned)p->lane_levels);
    t->n_levels = p->lane_levels;
    t->base_bytes = p->lane_base_bytes;
    t->exponent_mask = (1u << p->lane_exponent_bits) - 1;
    for (uint32_t k = 0; k < p->lane_levels; k++) {
        struct lp_gather_level *const level = &t->level[k];

        if (p->lane_widths[k] < 1 || p->lane_widths[k] > LP_FORMAT_LANE_WIDTH_MAX)
            return lp_error_set(err, LP_EINVAL, "lane level of %u bits",
                                (unsigned)p->lane_widths[k]);
        level->width = p->lane_widths[k];
        for (uint32_t code = 1; code < 1u << level->width; code++, symbol++) {
            const uint32_t rank = p->lane_ranks[symbol], shift = 8 * (code % 4);

            level->low[code / 4] |= (rank & 0xff) << shift;
            level->high[code / 4] |= (rank >> 8) << shift;
        }
    }
    return 0;
}

/* An element's bits in each element of eight bytes. */
static uint64_t repeat(uint64_t bits, uint32_t elem_bytes)
{
    for (uint32_t have = elem_bytes; have < 8; have *= 2)
        bits |= bits << (8 * have);
    return bits;
}

static int plan_split(struct lp_gather_table *t, const struct lp_gpu_table_params *p,
                      struct lp_error *err)
{
    const uint32_t bits = 8 * t->elem_bytes, kept = p->lane_mantissa_bits - p->lane_trailing_bits;
    const uint32_t other = kept + p->lane_sign_bits;
    struct lp_gather_split *const s = &t->split;

    /* The kernels have room for so many planes of one-byte elements, and for so wide exponents. */
    if (t->elem_bytes == 3 || p->lane_exponent_bits < 1 ||
        p->lane_exponent_bits > (t->elem_bytes == 8 ? 11 : 8) || p->lane_sign_bits > 1 ||
        p->lane_trailing_bits > p->lane_mantissa_bits ||
        p->lane_exponent_bits + p->lane_mantissa_bits + p->lane_sign_bits > bits ||
        (t->elem_bytes == 1 && other > 5))
        return lp_error_set(err, LP_EINVAL, "lane on %u bytes: %u bits of exponent, %u of mantissa",
                            (unsigned)t->elem_bytes, (unsigned)p->lane_exponent_bits,
                            (unsigned)p->lane_mantissa_bits);
    s->bytes = other / 8;
    s->planes = other % 8;
    s->trailing_bits = p->lane_trailing_bits;
    s->mantissa_bits = p->lane_mantissa_bits;
    s->sign_shift = p->lane_sign_bits != 0 ? bits - 1 - kept : 0;
    s->mantissa_mask = repeat((1ull << kept) - 1, t->elem_bytes);
    s->sign_mask = repeat((uint64_t)p->lane_sign_bits << kept, t->elem_bytes);
    s->fixed = repeat(p->lane_fixed, t->elem_bytes);
    return 0;
}

/* Eight neighbours never wrap around where a group's columns are repeated often enough: a period
 * below eight becomes a multiple of it. */
static int plan_columns(struct lp_gather_table *t, const struct lp_gpu_table_params *p,
                        struct lp_error *err)
{
    struct lp_gather_columns *const c = &t->columns;
    uint32_t period = p->lane_column_period, log2 = 3;

    if (p->lane_columns == NULL)
        return 0;
    if (period != 0 && period < 8)
        period *= (7 + period) / period;
    if (period == 0 || period > 65536 || p->lane_column_groups > 65536 ||
        p->lane_column_pitch < period + 7)
        return lp_error_set(err, LP_EINVAL, "%u groups of %u columns, each in %u numbers",
                            (unsigned)p->lane_column_groups, (unsigned)p->lane_column_period,
                            (unsigned)p->lane_column_pitch);
    while (period >> (log2 + 1) != 0)
        log2++;
    /* Rounded up, by less than 1 of more than 2^31: numerators below 2^18 are divided exactly all
     * the same (Granlund and Montgomery, theorem 4.2). Half as much for powers of two, which would
     * need a bit more. */
    c->period_shift = (period & (period - 1)) == 0 ? log2 - 1 : log2;
    c->period_magic = (uint32_t)(((1ull << (32 + c->period_shift)) + period - 1) / period);
    c->period = lp_gpu_plan_divisor(period);
    c->span = lp_gpu_plan_divisor(p->lane_column_span);
    c->step = 256 % period;
    c->pitch = p->lane_column_pitch;
    return 0;
}

static int plan_lane(struct lp_gather_table *t, const struct lp_gpu_table_params *p,
                     struct lp_error *err)
{
    int rc;

    LP_TRY(rc, plan_split(t, p, err));
    LP_TRY(rc, plan_levels(t, p, err));
    return plan_columns(t, p, err);
}

static uint64_t columns_bytes(const struct lp_gather_table *t, const struct lp_gpu_table_params *p)
{
    const uint32_t number_bytes = t->exponent_mask > 0xff ? 2 : 1;

    return t->columns.pitch == 0
               ? 0
               : (uint64_t)p->lane_column_groups * p->lane_column_pitch * number_bytes;
}

/* --- ibp -------------------------------------------------------------------------------------- */

/* The moves that open the gaps of a word, by 1, 2, 4, 8 and 16. Hacker's Delight, section 7-5. */
static void plan_moves(uint32_t move[5], uint32_t keep)
{
    uint32_t m = keep, absent = ~keep << 1;

    for (uint32_t i = 0; i < 5; i++) {
        uint32_t parity = absent;

        for (uint32_t shift = 1; shift < 32; shift *= 2)
            parity ^= parity << shift;
        move[i] = parity & m;
        m = (m ^ move[i]) | move[i] >> (1u << i);
        absent &= ~parity;
    }
}

static uint32_t ibp_sets(const struct lp_gather_table *table)
{
    return table->ibp_groups > 0 ? table->ibp_groups : 1;
}

static void plan_masks(struct lp_gather_ibp_part *ret_parts, const struct lp_gather_table *table,
                       const struct lp_gpu_table_params *params)
{
    const uint32_t halves = table->ibp_word_bytes / 4;

    for (uint32_t i = 0; i < table->ibp_parts * ibp_sets(table); i++) {
        struct lp_gather_ibp_part *const part = &ret_parts[i];
        const uint32_t word = i / halves, shift = halves == 2 && i % 2 == 0 ? 32 : 0;

        part->value = (uint32_t)(params->ibp_value[word] >> shift);
        part->keep = ~(uint32_t)(params->ibp_mask[word] >> shift);
        part->packed_bits = (uint32_t)__builtin_popcount(part->keep);
        plan_moves(part->move, part->keep);
    }
}

static int plan_ibp(struct lp_gather_table *t, const struct lp_gpu_table_params *p,
                    struct lp_error *err)
{
    if (p->ibp_word_bytes != 4 && p->ibp_word_bytes != 8)
        return lp_error_set(err, LP_EINVAL, "ibp words of %u bytes", (unsigned)p->ibp_word_bytes);
    if (p->ibp_groups == 1 || p->ibp_groups > LP_FORMAT_IBP_GROUPS_MAX)
        return lp_error_set(err, LP_EINVAL, "%u groups of ibp masks", (unsigned)p->ibp_groups);
    t->ibp_groups = p->ibp_groups;
    t->ibp_word_bytes = p->ibp_word_bytes;
    t->ibp_parts = p->ibp_words * (p->ibp_word_bytes / 4);
    return 0;
}

/* --- dict ------------------------------------------------------------------------------------- */

static int plan_dict(struct lp_gather_table *t, const struct lp_gpu_table_params *p,
                     struct lp_error *err)
{
    uint32_t before = 0, codes = 0;

    if (p->dict_levels < 1 || p->dict_levels > LP_FORMAT_DICT_LEVELS_MAX)
        return lp_error_set(err, LP_EINVAL, "%u dict levels", (unsigned)p->dict_levels);
    t->dict.n_levels = p->dict_levels;
    for (uint32_t k = 0; k < p->dict_levels; k++) {
        const uint32_t width = p->dict_widths[k];

        if (width < 1 || width > LP_FORMAT_DICT_WIDTH_MAX)
            return lp_error_set(err, LP_EINVAL, "dict level of %u bits", (unsigned)width);
        t->dict.widths |= width << (4 * k);
        before += codes;
        codes = (1u << width) - 1;
    }
    if (p->dict_n_values <= before || p->dict_n_values > before + codes)
        return lp_error_set(err, LP_EINVAL, "%u dict values for %u symbols",
                            (unsigned)p->dict_n_values, (unsigned)(before + codes));
    t->dict.index_max = (p->dict_levels - 1) << 8 | (p->dict_n_values - before);
    return 0;
}

static uint64_t values_bytes(const struct lp_gather_table *t)
{
    return (uint64_t)t->dict.n_levels * LP_GATHER_DICT_CODES * t->elem_bytes;
}

/* Values by level << 8 | code, zeros between the levels. */
static void plan_values(uint8_t *ret_values, const struct lp_gather_table *t,
                        const struct lp_gpu_table_params *p)
{
    const uint8_t *from = p->dict_values;
    uint32_t left = p->dict_n_values;

    memset(ret_values, 0, values_bytes(t));
    for (uint32_t k = 0; k < t->dict.n_levels; k++) {
        const uint32_t codes = (1u << p->dict_widths[k]) - 1, n = LP_MIN(codes, left);

        memcpy(ret_values + ((size_t)k * LP_GATHER_DICT_CODES + 1) * t->elem_bytes, from,
               (size_t)n * t->elem_bytes);
        from += (size_t)n * t->elem_bytes;
        left -= n;
    }
}

/* --- sparse ----------------------------------------------------------------------------------- */

static int plan_sparse(struct lp_gather_table *t, const struct lp_gpu_table_params *p,
                       struct lp_error *err)
{
    t->sparse.values = p->sparse_values;
    t->sparse.one = p->sparse_one;
    switch (p->sparse_values) {
    case 0:
    case LP_CODEC_RAW:
        return 0;
    case LP_CODEC_LANE:
        return plan_lane(t, p, err);
    case LP_CODEC_DICT:
        return plan_dict(t, p, err);
    case LP_FORMAT_SPARSE_COUNTS:
        if (t->elem_bytes != 4 || p->counts_columns == NULL)
            return lp_error_set(err, LP_EINVAL, "counts of %u bytes, with%s scales",
                                (unsigned)t->elem_bytes, p->counts_columns == NULL ? "out" : "");
        return plan_dict(t, p, err);
    default:
        return lp_error_set(err, LP_EINVAL, "sparse values of kind %u", (unsigned)p->sparse_values);
    }
}

/* Scales of columns, behind the symbols. */
static uint64_t scales_bytes(const struct lp_gather_table *t)
{
    return t->sparse.values == LP_FORMAT_SPARSE_COUNTS ? (uint64_t)t->record_elements * 4 : 0;
}

/* --- any -------------------------------------------------------------------------------------- */

int lp_gpu_plan_codec(struct lp_gather_table *table, const struct lp_gpu_table_params *params,
                      struct lp_error *err)
{
    switch ((enum lp_codec_id)params->codec) {
    case LP_CODEC_LANE:
    case LP_CODEC_ZIP7:
        return plan_lane(table, params, err);
    case LP_CODEC_IBP:
        return plan_ibp(table, params, err);
    case LP_CODEC_DICT:
        return plan_dict(table, params, err);
    case LP_CODEC_SPARSE:
        return plan_sparse(table, params, err);
    case LP_CODEC_RAW:
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
    return 0;
}

uint64_t lp_gpu_plan_meta_bytes(const struct lp_gather_table *table,
                                const struct lp_gpu_table_params *params)
{
    if (table->ibp_parts != 0)
        return (uint64_t)table->ibp_parts * ibp_sets(table) * sizeof(struct lp_gather_ibp_part);
    if (table->dict.n_levels != 0)
        return values_bytes(table) + scales_bytes(table);
    if (table->columns.pitch != 0)
        return columns_bytes(table, params) + LP_GATHER_COLUMNS_SLACK_BYTES;
    return 0;
}

void lp_gpu_plan_meta(void *ret_meta, const struct lp_gather_table *table,
                      const struct lp_gpu_table_params *params)
{
    const uint64_t bytes = columns_bytes(table, params);

    if (table->ibp_parts != 0) {
        plan_masks(ret_meta, table, params);
    } else if (table->dict.n_levels != 0) {
        plan_values(ret_meta, table, params);
        if (scales_bytes(table) != 0)
            memcpy((uint8_t *)ret_meta + values_bytes(table), params->counts_columns,
                   scales_bytes(table));
    } else if (bytes != 0) {
        memcpy(ret_meta, params->lane_columns, bytes);
        memset((uint8_t *)ret_meta + bytes, 0, LP_GATHER_COLUMNS_SLACK_BYTES);
    }
}

uint32_t lp_gpu_plan_scratch(const struct lp_gather_table *table)
{
    switch ((enum lp_codec_id)table->codec) {
    case LP_CODEC_LANE:
    case LP_CODEC_ZIP7:
        return LP_GATHER_SCRATCH_LANE_BYTES;
    case LP_CODEC_SPARSE:
        return LP_GATHER_SCRATCH_SPARSE_BYTES;
    case LP_CODEC_DICT:
        return LP_GATHER_SCRATCH_DICT_BYTES;
    case LP_CODEC_IBP:
    case LP_CODEC_RAW:
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
    return LP_GATHER_SCRATCH_NONE;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* Those for levels that are known to the compiler, of a dtype whose elements split as entry.cu has
 * it: with all other bits kept, or, for f32, all but the sign. Columns are everywhere. */
static const struct {
    uint32_t dtype, levels; /* a hexadecimal digit for each width */
    uint32_t other_bits[2]; /* R: either */
    const char *name;
} lane_kernels[] = {
    {LP_DTYPE_BF16, 0x3, {8, 8}, "lp_gather_lane_bf16_3"},
    {LP_DTYPE_BF16, 0x223, {8, 8}, "lp_gather_lane_bf16_223"},
    {LP_DTYPE_BF16, 0x2223, {8, 8}, "lp_gather_lane_bf16_2223"},
    {LP_DTYPE_BF16, 0x123, {8, 8}, "lp_gather_lane_bf16_123"},
    {LP_DTYPE_BF16, 0x1123, {8, 8}, "lp_gather_lane_bf16_1123"},
    {LP_DTYPE_F32, 0x223, {24, 23}, "lp_gather_lane_f32_223"},
    {LP_DTYPE_F32, 0x2223, {24, 23}, "lp_gather_lane_f32_2223"},
    {LP_DTYPE_F16, 0x33, {11, 11}, "lp_gather_lane_f16_33"},
    {LP_DTYPE_F16, 0x2223, {11, 11}, "lp_gather_lane_f16_2223"},
};

/* The name for elements of 1, 2, 4 or 8 bytes; entry.cu has one of each. */
#define BY_SIZE(name)                                                                              \
    {                                                                                              \
        "lp_gather_" name "_1", "lp_gather_" name "_2", "lp_gather_" name "_4",                    \
            "lp_gather_" name "_8"                                                                 \
    }

static const char *const lane_any[] = BY_SIZE("lane_any"), *const dict_any[] = BY_SIZE("dict"),
                         *const sparse_any[] = BY_SIZE("sparse");

static const char *by_size(const char *const names[4], uint32_t elem_bytes)
{
    switch (elem_bytes) {
    case 1:
        return names[0];
    case 2:
        return names[1];
    case 4:
        return names[2];
    case 8:
        return names[3];
    default:
        return NULL;
    }
}

static const char *lane_kernel(const struct lp_gather_table *table)
{
    const uint32_t other_bits = 8 * table->split.bytes + table->split.planes;
    uint32_t levels = 0;

    for (uint32_t k = 0; k < table->n_levels; k++)
        levels = levels << 4 | table->level[k].width;
    for (size_t i = 0; i < LP_ARRAY_LEN(lane_kernels); i++) {
        if (lane_kernels[i].dtype == table->dtype && lane_kernels[i].levels == levels &&
            table->split.trailing_bits == 0 &&
            (lane_kernels[i].other_bits[0] == other_bits ||
             lane_kernels[i].other_bits[1] == other_bits))
            return lane_kernels[i].name;
    }
    return by_size(lane_any, table->elem_bytes);
}

const char *lp_gpu_plan_kernel(const struct lp_gather_table *table)
{
    switch ((enum lp_codec_id)table->codec) {
    case LP_CODEC_RAW:
        return "lp_gather_raw_any";
    case LP_CODEC_IBP:
        return "lp_gather_ibp_any";
    case LP_CODEC_LANE:
    case LP_CODEC_ZIP7:
        return lane_kernel(table);
    case LP_CODEC_DICT:
        return by_size(dict_any, table->elem_bytes);
    case LP_CODEC_SPARSE:
        return table->sparse.values == LP_FORMAT_SPARSE_COUNTS
                   ? "lp_gather_sparse_counts"
                   : by_size(sparse_any, table->elem_bytes);
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
    return NULL;
}
