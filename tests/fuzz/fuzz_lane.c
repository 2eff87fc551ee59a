/* SPDX-License-Identifier: Apache-2.0 */
/* Codec lane: metadata from anywhere, records from anywhere, and elements that must come back;
 * every tier must say the same.
 *
 * Input: 1 byte dtype and alignment, 2 bytes elements of the record, 1 byte levels, 5 bytes widths,
 * 1 byte the first rank, 1 byte the step from rank to rank, 1 byte window, sign and field, 1 byte
 * trailing bits and period of columns, then the record. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/codec_zip7.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 13u
#define PERIOD_MAX 200u
#define ELEMENTS_MAX 1200u
#define RECORD_MAX 8192u

struct input {
    struct lp_lane lane;
    uint32_t n, align_bytes;
    const uint8_t *record;
    uint32_t record_bytes;
};

/* Every field is cut down to what the format allows, so that all inputs get past the metadata but
 * those with more symbols than exponents. */
static bool read_input(struct input *ret_input, const uint8_t *data, size_t size)
{
    uint16_t ranks[LP_FORMAT_LANE_SYMBOLS_MAX], columns[PERIOD_MAX];
    uint8_t widths[LP_FORMAT_LANE_LEVELS_MAX];
    struct lp_lane_params params = {.widths = widths, .ranks = ranks, .columns = columns};
    uint32_t mask;

    if (size < HEAD_BYTES)
        return false;
    params.dtype = LP_DTYPE_F64 + data[0] % LP_DTYPE_U8;
    params.exponent_bits = lp_codec_dtype_info(params.dtype)->exponent_bits;
    params.sign = data[11] / 3 % 3;
    if (params.exponent_bits == 0) {
        params.exponent_bits = LP_FORMAT_LANE_BYTE_FIELD_MIN + data[11] / 9 % 4;
        params.sign = LP_LANE_SIGN_STORED;
    }
    mask = (1u << params.exponent_bits) - 1;
    for (uint32_t k = 0; k < LP_FORMAT_LANE_LEVELS_MAX; k++)
        widths[k] = (uint8_t)(1 + data[4 + k] % LP_FORMAT_LANE_WIDTH_MAX);
    for (uint32_t i = 0; i < LP_FORMAT_LANE_SYMBOLS_MAX; i++)
        ranks[i] = (uint16_t)((data[9] + i * (data[10] | 1)) & mask);
    for (uint32_t i = 0; i < PERIOD_MAX; i++)
        columns[i] = (uint16_t)((data[10] + i * (data[9] | 1)) & mask);
    params.n_levels = 1 + data[3] % LP_FORMAT_LANE_LEVELS_MAX;
    params.window = data[11] % 3;
    params.trailing_bits =
        data[12] % (8 * lp_codec_dtype_info(params.dtype)->bytes - 1 - params.exponent_bits + 1);
    if (params.window == LP_LANE_WINDOW_COLUMNS)
        params.column_period = params.n_columns = 1 + data[12] % PERIOD_MAX;
    if (lp_codec_lane_init(&ret_input->lane, &params, NULL) < 0)
        return false;
    ret_input->n = 1 + lp_load_u16(data + 1) % ELEMENTS_MAX;
    ret_input->align_bytes = data[0] & 0x40 ? 32 : 4;
    ret_input->record = data + HEAD_BYTES;
    ret_input->record_bytes = (uint32_t)LP_MIN(size - HEAD_BYTES, RECORD_MAX);
    return true;
}

/* Memory of exactly these bytes, so that a sanitizer sees every one beyond. */
static uint8_t *copy_of(const uint8_t *bytes, uint32_t n, uint32_t room)
{
    uint8_t *const copy = lp_mem_zalloc(room);

    if (copy == NULL)
        abort();
    if (n > 0)
        memcpy(copy, bytes, LP_MIN(n, room));
    return copy;
}

static void decode(const struct input *input)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->lane.elem_bytes;
    const uint32_t stored = input->record_bytes & ~(input->align_bytes - 1);
    uint8_t *const src = copy_of(input->record, stored, stored + LP_CODEC_SLACK_BYTES);
    uint8_t *const first = copy_of(NULL, 0, bytes), *const dst = copy_of(NULL, 0, bytes);
    int first_rc = 0;

    for (int t = 0; t < n_tiers; t++) {
        const int rc = tiers[t]->lane_decode(&input->lane, src, stored, input->align_bytes,
                                             t == 0 ? first : dst, input->n, src + stored);

        if (t == 0)
            first_rc = rc;
        else if (rc != first_rc || (rc == 0 && memcmp(first, dst, bytes) != 0))
            abort();
    }
    lp_mem_free(src);
    lp_mem_free(first);
    lp_mem_free(dst);
}

/* As the metadata says they are, or no record would be coded. */
static void fix_bits(const struct lp_lane *lane, uint8_t *elements, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, elements += lane->elem_bytes) {
        uint64_t word = 0;

        memcpy(&word, elements, lane->elem_bytes);
        word = (word & ~lane->fixed_mask) | lane->fixed_value;
        memcpy(elements, &word, lane->elem_bytes);
    }
}

/* Columns come off and on again; every tier takes the same ones. */
static void shift(const struct input *input)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->lane.elem_bytes;
    const uint32_t phase = input->record_bytes % LP_MAX(input->lane.column_period, 1);
    uint8_t *const elements = copy_of(input->record, input->record_bytes, bytes);
    uint8_t *const first = copy_of(elements, bytes, bytes);
    uint8_t *const other = copy_of(NULL, 0, bytes);

    if (input->lane.window == LP_LANE_WINDOW_COLUMNS)
        tiers[0]->exponent_shift(&input->lane, first, input->n, input->lane.columns, phase, true);
    for (int t = 0; t < n_tiers && input->lane.window == LP_LANE_WINDOW_COLUMNS; t++) {
        memcpy(other, elements, bytes);
        tiers[t]->exponent_shift(&input->lane, other, input->n, input->lane.columns, phase, true);
        if (memcmp(other, first, bytes) != 0)
            abort();
        tiers[t]->exponent_shift(&input->lane, other, input->n, input->lane.columns, phase, false);
        if (memcmp(other, elements, bytes) != 0)
            abort();
    }
    lp_mem_free(elements);
    lp_mem_free(first);
    lp_mem_free(other);
}

static void round_trip(const struct input *input)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->lane.elem_bytes;
    uint8_t *const elements = copy_of(input->record, input->record_bytes, bytes);
    uint8_t *const coded = copy_of(NULL, 0, bytes + LP_CODEC_SLACK_BYTES);
    uint8_t *const back = copy_of(NULL, 0, bytes);
    uint32_t first_size = 0;

    if (input->record_bytes % 2 == 0)
        fix_bits(&input->lane, elements, input->n);
    for (int t = 0; t < n_tiers; t++) {
        const uint32_t size = tiers[t]->lane_encode(&input->lane, elements, input->n, coded, bytes);

        if (t == 0)
            first_size = size;
        if (size != first_size || size > bytes)
            abort();
        if (size == 0)
            continue;
        if (tiers[t]->lane_decode(&input->lane, coded, size, 1, back, input->n, NULL) != 0 ||
            memcmp(back, elements, bytes) != 0)
            abort();
    }
    lp_mem_free(elements);
    lp_mem_free(coded);
    lp_mem_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    struct lp_lane lane;

    for (uint32_t dtype = LP_DTYPE_F64; dtype <= LP_DTYPE_U8; dtype++) {
        if (lp_codec_lane_meta_parse(&lane, dtype, 16, 4096, data, size, NULL) == 0)
            lp_codec_lane_fini(&lane);
    }
    (void)lp_codec_zip7_meta_parse(&lane, LP_DTYPE_BF16, data, size, NULL);
    if (!read_input(&input, data, size))
        return 0;
    decode(&input);
    round_trip(&input);
    shift(&input);
    lp_codec_lane_fini(&input.lane);
    return 0;
}
