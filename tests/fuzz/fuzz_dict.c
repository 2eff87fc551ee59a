/* SPDX-License-Identifier: Apache-2.0 */
/* Codec dict: metadata from anywhere, records from anywhere, and elements that must come back;
 * every tier must say the same.
 *
 * Input: 1 byte element size (bits 0 and 1), alignment (bit 6) and how values differ (bit 7), 2
 * bytes elements of the record, 1 byte levels, 5 bytes widths, 1 byte values that the last level
 * lacks, then the record. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/ops.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 10u
#define ELEMENTS_MAX 1200u
#define RECORD_MAX 8192u
#define VALUES_MAX 1275u

struct input {
    struct lp_dict dict;
    uint32_t n, align_bytes;
    const uint8_t *record;
    uint32_t record_bytes;
};

/* Every field is cut down to what the format allows, so that all inputs get past the metadata but
 * those with more values than one byte has. */
static bool read_input(struct input *ret_input, const uint8_t *data, size_t size)
{
    uint8_t widths[LP_FORMAT_DICT_LEVELS_MAX], values[VALUES_MAX * 8];
    uint32_t elem_bytes, n_levels, n_symbols = 0, last = 0, n_values;

    if (size < HEAD_BYTES)
        return false;
    elem_bytes = 1u << (data[0] & 3);
    n_levels = 1 + data[3] % LP_FORMAT_DICT_LEVELS_MAX;
    for (uint32_t k = 0; k < n_levels; k++) {
        widths[k] = (uint8_t)(1 + data[4 + k] % LP_FORMAT_DICT_WIDTH_MAX);
        last = (1u << widths[k]) - 1;
        n_symbols += last;
    }
    n_values = n_symbols - data[9] % last;
    for (uint32_t i = 0; i < n_values; i++)
        lp_store_uint(values + (size_t)i * elem_bytes, elem_bytes,
                      data[0] >> 7 != 0 ? (uint64_t)i << 48 | i : i * 0x101u);
    if (lp_codec_dict_init(&ret_input->dict, elem_bytes, n_levels, widths, n_values, values, NULL) <
        0)
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

/* As a record of a table, and as a part of another record, which ends anywhere. */
static void decode(const struct input *input, uint32_t stored)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->dict.elem_bytes;
    uint8_t *const src = copy_of(input->record, stored, stored + LP_CODEC_SLACK_BYTES);
    uint8_t *const first = copy_of(NULL, 0, bytes), *const dst = copy_of(NULL, 0, bytes);
    int first_rc = 0;

    for (int t = 0; t < n_tiers; t++) {
        const int rc = tiers[t]->dict_decode(&input->dict, src, stored, input->align_bytes,
                                             t == 0 ? first : dst, input->n);

        if (t == 0)
            first_rc = rc;
        else if (rc != first_rc || (rc == 0 && memcmp(first, dst, bytes) != 0))
            abort();
    }
    lp_mem_free(src);
    lp_mem_free(first);
    lp_mem_free(dst);
}

/* The record's bytes as elements: as they are, and as numbers of values. */
static void round_trip(const struct input *input, bool known)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t size = input->dict.elem_bytes, bytes = input->n * size;
    uint8_t *const elements = copy_of(input->record, input->record_bytes, bytes);
    uint8_t *const coded = copy_of(NULL, 0, bytes + LP_CODEC_SLACK_BYTES);
    uint8_t *const back = copy_of(NULL, 0, bytes);
    uint32_t first_size = 0;

    for (uint32_t i = 0; known && i < input->n; i++) {
        const uint32_t symbol = input->record_bytes > 0
                                    ? input->record[i % input->record_bytes] % input->dict.n_values
                                    : 0;

        memcpy(elements + i * size, input->dict.values + symbol * size, size);
    }
    for (int t = 0; t < n_tiers; t++) {
        const uint32_t now = tiers[t]->dict_encode(&input->dict, elements, input->n, coded, bytes);

        if (t == 0)
            first_size = now;
        if (now != first_size || now > bytes)
            abort();
        if (now != 0 && (tiers[t]->dict_decode(&input->dict, coded, now, 1, back, input->n) != 0 ||
                         memcmp(back, elements, bytes) != 0))
            abort();
    }
    lp_mem_free(elements);
    lp_mem_free(coded);
    lp_mem_free(back);
}

/* All of the input as elements of one size; seldom, because it clears a large table. */
static void learn(const uint8_t *data, size_t size)
{
    const uint32_t elem_bytes = size > 0 ? 1u << (data[0] & 3) : 8;
    struct lp_dict dict;
    uint64_t payload;

    if (size >= elem_bytes && size % 16 == 0 &&
        lp_codec_dict_learn(&dict, elem_bytes, data, size / elem_bytes, &payload, NULL) == 0)
        lp_codec_dict_fini(&dict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;

    for (uint32_t elem_bytes = 1; elem_bytes <= 8; elem_bytes *= 2) {
        if (lp_codec_dict_meta_parse(&input.dict, elem_bytes, data, size, NULL) == 0)
            lp_codec_dict_fini(&input.dict);
    }
    learn(data, size);
    if (!read_input(&input, data, size))
        return 0;
    decode(&input, input.record_bytes & ~(input.align_bytes - 1));
    decode(&input, input.record_bytes);
    round_trip(&input, false);
    round_trip(&input, true);
    lp_codec_dict_fini(&input.dict);
    return 0;
}
