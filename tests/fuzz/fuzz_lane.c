/* SPDX-License-Identifier: Apache-2.0 */
/* Codec lane: metadata from anywhere, records from anywhere, and elements that must come back;
 * every tier must say the same.
 *
 * Input: 1 byte dtype, alignment and window, 2 bytes elements of the record, 1 byte levels, 5 bytes
 * widths, 1 byte the first rank, 1 byte the step from rank to rank, then the record. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/codec_zip7.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 11u
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
    uint16_t ranks[LP_FORMAT_LANE_SYMBOLS_MAX];
    uint8_t widths[LP_FORMAT_LANE_LEVELS_MAX];
    uint32_t dtype, mask;

    if (size < HEAD_BYTES)
        return false;
    dtype = LP_DTYPE_F64 + data[0] % LP_DTYPE_F8_E5M2;
    mask = (1u << lp_codec_dtype_info(dtype)->exponent_bits) - 1;
    for (uint32_t k = 0; k < LP_FORMAT_LANE_LEVELS_MAX; k++)
        widths[k] = (uint8_t)(1 + data[4 + k] % LP_FORMAT_LANE_WIDTH_MAX);
    for (uint32_t i = 0; i < LP_FORMAT_LANE_SYMBOLS_MAX; i++)
        ranks[i] = (uint16_t)((data[9] + i * (data[10] | 1)) & mask);
    if (lp_codec_lane_init(
            &ret_input->lane,
            &(struct lp_lane_params){.dtype = dtype,
                                     .n_levels = 1 + data[3] % LP_FORMAT_LANE_LEVELS_MAX,
                                     .widths = widths,
                                     .window = data[0] >> 7,
                                     .ranks = ranks},
            NULL) < 0)
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

static void round_trip(const struct input *input)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->lane.elem_bytes;
    uint8_t *const elements = copy_of(input->record, input->record_bytes, bytes);
    uint8_t *const coded = copy_of(NULL, 0, bytes + LP_CODEC_SLACK_BYTES);
    uint8_t *const back = copy_of(NULL, 0, bytes);
    uint32_t first_size = 0;

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
    return 0;
}
