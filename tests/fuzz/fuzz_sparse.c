/* SPDX-License-Identifier: Apache-2.0 */
/* Codec sparse: metadata from anywhere; records whose fields come from the input, so that it gets
 * to the places and to the codec inside; records that were coded and then changed; elements that
 * must come back. Every tier must say the same.
 *
 * Input: the fields of struct head, then bytes for places and values. Metadata alone is also read
 * from the input as it is. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "codec/sparse.h"
#include "codec/sparse_places.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MAX 1500u
#define BYTES_MAX (8u * ELEMENTS_MAX)
#define RECORD_MAX 16384u
#define META_MAX 16384u

/* The input begins with this. */
struct head {
    uint8_t dtype;     /* place in dtypes[], modulo */
    uint8_t align;     /* bit 0: 32, else 4 */
    uint8_t places;    /* bit 0: as they come, else true ones */
    uint8_t values;    /* bits 0 and 1: kind; bit 2: a record that says plain; bit 3: counts, where
                          elements are f32; bit 4: their scales and elements come as they are */
    uint8_t levels[6]; /* how many, then widths */
    uint8_t first;     /* rank or value ... */
    uint8_t step;      /* ... and the next */
    uint8_t fixed;     /* of lanes: sign, trailing bits */
    uint8_t cut;       /* bytes that the record has more than it needs, or less */
    uint8_t n[2], m[2];
    uint8_t edit[3][3]; /* where, and what is changed there */
};
LP_STATIC_ASSERT(sizeof(struct head) == 27, "the corpus has it so");

static const uint32_t dtypes[8] = {LP_DTYPE_F64,     LP_DTYPE_F32, LP_DTYPE_BF16, LP_DTYPE_F16,
                                   LP_DTYPE_F8_E5M2, LP_DTYPE_U8,  LP_DTYPE_U32,  LP_DTYPE_I16};

struct input {
    const struct head *head;
    uint32_t dtype, elem_bytes, n, m, align_bytes;
    const uint8_t *bytes; /* behind the head */
    uint32_t n_bytes, next;
    struct lp_sparse sparse;
    uint64_t map[LP_SPARSE_MAP_WORDS]; /* m places */
    struct lp_sparse_places places;
};

static uint8_t next_byte(struct input *input)
{
    return input->next < input->n_bytes ? input->bytes[input->next++] : 0;
}

/* Metadata of codec lane or codec dict, as docs/FORMAT.md has it, from fields that are cut down to
 * what is allowed; returns its size. */
static uint32_t make_levels(const struct head *head, uint32_t most, uint8_t *meta)
{
    uint32_t n_symbols = 0;

    meta[0] = (uint8_t)(1 + head->levels[0] % 5);
    for (uint32_t k = 0; k < meta[0]; k++) {
        meta[1 + k] = (uint8_t)(1 + head->levels[1 + k] % most);
        n_symbols += (1u << meta[1 + k]) - 1;
    }
    return n_symbols;
}

static uint32_t make_lane(const struct input *input, uint8_t *meta)
{
    const struct lp_dtype_info *const info = lp_codec_dtype_info(input->dtype);
    const uint32_t n_symbols = make_levels(input->head, LP_FORMAT_LANE_WIDTH_MAX, meta);
    const uint32_t bits = info->exponent_bits != 0 ? info->exponent_bits : 5;
    const uint32_t size = bits > 8 ? 2 : 1;

    meta[7] = info->exponent_bits != 0 ? input->head->fixed & 3 : 0;
    meta[8] = (uint8_t)bits;
    meta[9] = (uint8_t)(input->head->fixed >> 2);
    for (uint32_t i = 0; i < n_symbols; i++) {
        const uint32_t rank =
            (input->head->first + i * (input->head->step | 1)) & ((1u << bits) - 1);

        memcpy(meta + LP_FORMAT_LANE_META_FIXED + i * size, &rank, size);
    }
    return LP_FORMAT_LANE_META_FIXED + n_symbols * size;
}

static uint32_t make_dict(const struct input *input, uint8_t *meta)
{
    const uint32_t n_symbols = make_levels(input->head, 6, meta);
    const uint32_t n_values = n_symbols - LP_MIN(input->head->fixed % 8u, n_symbols - 1);

    lp_store_u32(meta + 8, n_values);
    for (uint32_t i = 0; i < n_values; i++) {
        const uint64_t value = input->head->first + (uint64_t)i * (input->head->step | 1);

        memcpy(meta + LP_FORMAT_DICT_META_FIXED + i * input->elem_bytes, &value, input->elem_bytes);
    }
    return LP_FORMAT_DICT_META_FIXED + n_values * input->elem_bytes;
}

/* Scales, and a dictionary of symbols, by some step from one to the next. */
static uint32_t scale_of(const struct input *input, uint32_t i)
{
    const uint32_t span = LP_FORMAT_COUNTS_EXPONENT_MAX - LP_FORMAT_COUNTS_EXPONENT_MIN + 1;

    return (LP_FORMAT_COUNTS_EXPONENT_MIN + (input->head->first + i * input->head->step) % span)
               << 23 |
           (i * 0x9e3779b1u) >> 9;
}

static uint32_t make_counts(const struct input *input, uint8_t *meta)
{
    for (uint32_t i = 0; i < ELEMENTS_MAX; i++)
        lp_store_u32(meta + 4 * i, scale_of(input, i));
    return 4 * ELEMENTS_MAX + make_dict(input, meta + 4 * ELEMENTS_MAX);
}

static bool make_sparse(struct input *input)
{
    static const uint8_t kinds[4] = {LP_SPARSE_VALUES_ONE, LP_SPARSE_VALUES_RAW,
                                     LP_SPARSE_VALUES_LANE, LP_SPARSE_VALUES_DICT};
    const bool counts = (input->head->values & 8) != 0 && input->dtype == LP_DTYPE_F32;
    uint8_t meta[META_MAX] = {counts ? LP_SPARSE_VALUES_COUNTS : kinds[input->head->values % 4]};
    uint8_t *const inner = meta + LP_FORMAT_SPARSE_META_FIXED;
    uint32_t bytes = LP_FORMAT_SPARSE_META_FIXED;

    switch (meta[0]) {
    case LP_SPARSE_VALUES_ONE:
        inner[0] = input->head->first;
        bytes += 8;
        break;
    case LP_SPARSE_VALUES_LANE:
        bytes += make_lane(input, inner);
        break;
    case LP_SPARSE_VALUES_DICT:
        bytes += make_dict(input, inner);
        break;
    case LP_SPARSE_VALUES_COUNTS:
        bytes += make_counts(input, inner);
        break;
    }
    return lp_codec_sparse_meta_parse(&input->sparse, input->dtype, ELEMENTS_MAX, meta, bytes,
                                      NULL) == 0;
}

/* m places, each some bytes of the input behind the one before, round and round. */
static void make_places(struct input *input)
{
    uint32_t place = 0;

    memset(input->map, 0, sizeof(input->map));
    for (uint32_t i = 0; i < LP_MIN(input->m, input->n); i++) {
        place = (place + next_byte(input)) % input->n;
        while (input->map[place / 64] >> place % 64 & 1)
            place = place + 1 < input->n ? place + 1 : 0;
        input->map[place / 64] |= UINT64_C(1) << place % 64;
    }
}

static bool read_input(struct input *input, const uint8_t *data, size_t size)
{
    if (size < sizeof(struct head))
        return false;
    memset(input, 0, sizeof(*input));
    input->head = (const struct head *)data;
    input->dtype = dtypes[input->head->dtype % LP_ARRAY_LEN(dtypes)];
    input->elem_bytes = lp_codec_dtype_info(input->dtype)->bytes;
    input->n = 1 + lp_load_u16(input->head->n) % ELEMENTS_MAX;
    input->m = lp_load_u16(input->head->m) % (input->n + 2);
    input->align_bytes = input->head->align & 1 ? 32 : 4;
    input->bytes = data + sizeof(struct head);
    input->n_bytes = (uint32_t)LP_MIN(size - sizeof(struct head), RECORD_MAX);
    if (!make_sparse(input))
        return false;
    make_places(input);
    if (input->m > 0 && input->m <= input->n)
        input->places = lp_sparse_places(input->n, input->m);
    return true;
}

/* Memory of exactly these bytes, so that a sanitizer sees every one beyond. */
static uint8_t *copy_of(const uint8_t *bytes, uint32_t n, uint32_t room)
{
    uint8_t *const copy = lp_mem_zalloc(room);

    if (copy == NULL)
        abort();
    if (n > 0)
        memcpy(copy, bytes, n);
    return copy;
}

/* Decode by every tier; 0 with the elements in back, or what all say. */
static int decode(const struct input *input, const uint8_t *record, uint32_t stored, uint8_t *back)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->elem_bytes;
    uint8_t *const src = copy_of(record, stored, stored + LP_CODEC_SLACK_BYTES);
    uint8_t *const dst = copy_of(NULL, 0, bytes);
    int first_rc = 0;

    for (int t = 0; t < n_tiers; t++) {
        const int rc = lp_codec_sparse_decode(&input->sparse, tiers[t], src, stored,
                                              input->align_bytes, dst, input->n, src + stored);

        if (t == 0) {
            first_rc = rc;
            memcpy(back, dst, bytes);
        } else if (rc != first_rc || (rc == 0 && memcmp(back, dst, bytes) != 0)) {
            abort();
        }
    }
    lp_mem_free(src);
    lp_mem_free(dst);
    return first_rc;
}

static void edit(const struct input *input, uint8_t *record, uint32_t stored)
{
    for (uint32_t i = 0; i < 3 && stored > 0; i++) {
        const uint8_t *const one = input->head->edit[i];

        record[lp_load_u16(one) % stored] ^= one[2];
    }
}

/* Counts, whose scales and elements are made to suit. */
static bool takes_scales(const struct input *input)
{
    return input->sparse.values == LP_SPARSE_VALUES_COUNTS && (input->head->values & 16) == 0;
}

/* A record put together from its fields. */
static void decode_fields(struct input *input)
{
    static uint8_t record[RECORD_MAX + LP_CODEC_SLACK_BYTES], back[BYTES_MAX];
    uint32_t at = 2, size;

    memset(record, 0, sizeof(record));
    lp_store_u16(record, (uint16_t)(input->m | (input->head->values & 4) << 13));
    if (input->places.m > 0 && (input->head->places & 1) == 0)
        lp_codec_sparse_places_put(&input->places, input->map, record + 2);
    at += input->places.bytes;
    memset(record + at, 0, LP_CODEC_SLACK_BYTES);
    if (input->head->places & 1)
        at = 2;
    size = LP_MIN(at + input->m * input->elem_bytes, RECORD_MAX);
    for (uint32_t i = at; i < size; i++)
        record[i] = next_byte(input);
    if (input->sparse.values != LP_SPARSE_VALUES_RAW && (input->head->values & 4) == 0)
        size = at + input->n_bytes % 256;
    if (takes_scales(input))
        lp_store_u32(record + at, scale_of(input, input->n));
    size = LP_MIN(size + input->head->cut % 64, RECORD_MAX) & ~(input->align_bytes - 1);
    (void)decode(input, record, size, back);
}

/* Elements with the values of the input in its places: coded, decoded, changed and decoded. */
static void round_trip(struct input *input)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->elem_bytes;
    uint8_t *const elements = copy_of(NULL, 0, bytes);
    uint8_t *const coded = copy_of(NULL, 0, bytes + LP_CODEC_SLACK_BYTES);
    static uint8_t record[BYTES_MAX + 32], back[BYTES_MAX];
    uint32_t size = 0, stored;

    input->next = 0;
    for (uint32_t i = 0; i < input->n; i++)
        for (uint32_t b = 0; (input->map[i / 64] >> i % 64 & 1) != 0 && b < input->elem_bytes; b++)
            elements[i * input->elem_bytes + b] = next_byte(input);
    for (uint32_t i = 0; i < input->n && takes_scales(input); i++) {
        const uint32_t symbol = lp_load_u32(elements + 4 * (size_t)i);

        if (symbol != 0)
            lp_store_u32(elements + 4 * (size_t)i,
                         lp_counts_element(symbol, scale_of(input, input->n), scale_of(input, i)));
    }
    for (int t = 0; t < n_tiers; t++) {
        const uint32_t tier_size =
            lp_codec_sparse_encode(&input->sparse, tiers[t], elements, input->n, coded, bytes);

        if (t == 0) {
            size = tier_size;
            memset(record, 0, sizeof(record));
            memcpy(record, coded, size);
        } else if (tier_size != size || memcmp(record, coded, size) != 0) {
            abort();
        }
    }
    stored = (uint32_t)lp_round_up_u64(size, input->align_bytes);
    if (size > 0) {
        if (decode(input, record, stored, back) != 0 || memcmp(back, elements, bytes) != 0)
            abort();
        edit(input, record, stored);
        (void)decode(input, record, stored, back);
    }
    lp_mem_free(elements);
    lp_mem_free(coded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input input;
    struct lp_sparse sparse;

    for (uint32_t i = 0; i < LP_ARRAY_LEN(dtypes); i++)
        if (lp_codec_sparse_meta_parse(&sparse, dtypes[i], ELEMENTS_MAX, data, size, NULL) == 0)
            lp_codec_sparse_fini(&sparse);
    if (!read_input(&input, data, size))
        return 0;
    decode_fields(&input);
    round_trip(&input);
    lp_codec_sparse_fini(&input.sparse);
    return 0;
}
