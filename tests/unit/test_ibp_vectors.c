/* SPDX-License-Identifier: Apache-2.0 */
/* The codec against the published kernels' own output: masks, sizes and rows of every case of
 * ibp_vectors (its README says what each number is). Skipped, with exit 77, where the folder is
 * not. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ops.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned failures, cases, learned, packed_rows, raw_rows;

static void check(bool good, const char *name, const char *what)
{
    if (good)
        return;
    failures++;
    (void)fprintf(stderr, "%s: %s differs\n", name, what);
}

static const char *folder(void)
{
    static char path[4096];
    const char *const data = getenv("LANEPACK_DATA");

    (void)snprintf(path, sizeof(path), "%s/ibp_vectors", data != NULL ? data : "");
    return path;
}

/* The file's bytes, with slack behind them; the program ends when it cannot be read. */
static uint8_t *read_file(const char *name)
{
    char path[4200];
    uint8_t *bytes;
    FILE *file;
    long size;

    (void)snprintf(path, sizeof(path), "%s/%s", folder(), name);
    file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
        perror(path);
        exit(1);
    }
    rewind(file);
    bytes = lp_mem_zalloc((size_t)size + LP_CODEC_SLACK_BYTES);
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        exit(1);
    (void)fclose(file);
    return bytes;
}

struct vector {
    const char *name;
    json_t *json; /* borrowed */
    uint8_t *file;
    uint32_t s, n, rows;
    const uint8_t *input, *mask, *bitval, *bitmask, *size, *packed;
};

static const uint8_t *section(const struct vector *vector, const char *name)
{
    const json_t *const at = json_object_get(json_object_get(vector->json, "sections"), name);

    return vector->file + json_integer_value(json_array_get(at, 0));
}

static void vector_open(struct vector *vector, json_t *json)
{
    vector->json = json;
    vector->name = json_string_value(json_object_get(json, "name"));
    vector->s = (uint32_t)json_integer_value(json_object_get(json, "s"));
    vector->n = (uint32_t)json_integer_value(json_object_get(json, "n"));
    vector->rows = (uint32_t)json_integer_value(json_object_get(json, "rows"));
    vector->file = read_file(json_string_value(json_object_get(json, "file")));
    vector->input = section(vector, "input");
    vector->mask = section(vector, "mask");
    vector->bitval = section(vector, "bitval");
    vector->bitmask = section(vector, "bitmask");
    vector->size = section(vector, "size");
    vector->packed = section(vector, "rows");
}

static uint64_t load_word(const uint8_t *words, uint32_t s, uint32_t j)
{
    return s == 4 ? lp_load_u32(words + 4 * j) : lp_load_u64(words + 8 * j);
}

static uint32_t hex_float(const json_t *json)
{
    return json_is_string(json) ? (uint32_t)strtoul(json_string_value(json), NULL, 16) : 0;
}

/* Masks as the file has them. */
static void masks_given(const struct vector *vector, struct lp_ibp *ibp)
{
    uint64_t *const words = lp_mem_alloc_array(2 * (size_t)vector->n, sizeof(*words));

    if (words == NULL || lp_codec_ibp_init(ibp, vector->s, vector->n, 0, NULL) < 0)
        exit(1);
    for (uint32_t j = 0; j < vector->n; j++) {
        words[j] = load_word(vector->mask, vector->s, j);
        words[vector->n + j] = load_word(vector->bitval, vector->s, j);
    }
    check(lp_codec_ibp_set_masks(ibp, words, words + vector->n, NULL) == 0, vector->name, "masks");
    lp_mem_free(words);
}

static void check_scores(const struct vector *vector, const struct lp_ibp_report *report)
{
    const json_t *const scores = json_object_get(vector->json, "scores");

    check(json_array_size(scores) == report->n_trials, vector->name, "number of thresholds");
    for (uint32_t i = 0; i < report->n_trials && i < json_array_size(scores); i++) {
        const json_t *const score = json_array_get(scores, i);
        const struct lp_ibp_trial *const trial = &report->trial[i];

        check(hex_float(json_object_get(score, "float32")) == trial->threshold_bits, vector->name,
              "threshold tried");
        check((uint64_t)json_integer_value(json_object_get(score, "mask_bits")) == trial->mask_bits,
              vector->name, "mask bits");
        check((uint64_t)json_integer_value(json_object_get(score, "saved_bits")) ==
                  trial->saved_bits,
              vector->name, "score");
    }
}

/* The mask rule: from input and threshold to mask, value, threshold, scores and average. */
static void check_rule(const struct vector *vector, const struct lp_ibp *given)
{
    const json_t *const threshold = json_object_get(vector->json, "threshold");
    const uint32_t bits = hex_float(json_object_get(threshold, "float32"));
    struct lp_ibp_params params = {
        .word_bytes = vector->s, .record_bytes = vector->n * vector->s, .exact = true};
    struct lp_ibp_report report;
    struct lp_ibp ibp;

    if (strcmp(json_string_value(json_object_get(threshold, "mode")), "mask") == 0)
        return;
    memcpy(&params.threshold, &bits, sizeof(params.threshold));
    if (lp_codec_ibp_learn(&ibp, &params, vector->input, vector->rows, &report, NULL) < 0) {
        check(false, vector->name, "learning");
        return;
    }
    learned++;
    check(memcmp(ibp.set->mask, given->set->mask, vector->n * sizeof(*ibp.set->mask)) == 0,
          vector->name, "mask");
    check(memcmp(ibp.set->value, given->set->value, vector->n * sizeof(*ibp.set->value)) == 0,
          vector->name, "value");
    check(ibp.threshold_bits == hex_float(json_object_get(vector->json, "chosen")), vector->name,
          "chosen threshold");
    check((uint64_t)json_integer_value(json_object_get(vector->json, "avg_words")) ==
              report.average_words,
          vector->name, "average words");
    check_scores(vector, &report);
    lp_codec_ibp_fini(&ibp);
}

/* One row on one tier, both ways. The published rule stores a row packed when that is shorter. */
static void check_row(const struct vector *vector, const struct lp_codec_ops *ops,
                      const struct lp_ibp *ibp, uint32_t r, const uint8_t *row, uint32_t size)
{
    const uint32_t row_bytes = vector->n * vector->s;
    const bool packed = (lp_load_u32(vector->bitmask + 4 * (r / 32)) >> (r % 32) & 1) != 0;
    const uint8_t *const input = vector->input + (size_t)r * row_bytes;
    uint8_t *const dst = lp_mem_alloc(row_bytes + LP_CODEC_SLACK_BYTES);
    uint8_t *const back = lp_mem_alloc(row_bytes);
    uint32_t coded;

    if (dst == NULL || back == NULL)
        exit(1);
    coded = ops->ibp_encode(ibp, input, vector->n, dst, row_bytes);
    check((coded != 0) == packed, vector->name, "participation of a row");
    if (packed) {
        check(coded == size && memcmp(dst, row, size) == 0, vector->name, "bytes of a row");
        check(lp_codec_ibp_size(ibp, input, vector->n) == size, vector->name, "size of a row");
        check(ops->ibp_decode(ibp, row, size, 4, back, vector->n) == 0 &&
                  memcmp(back, input, row_bytes) == 0,
              vector->name, "decoded row");
    } else {
        check(size == row_bytes && memcmp(row, input, row_bytes) == 0, vector->name, "raw row");
    }
    lp_mem_free(back);
    lp_mem_free(dst);
}

static void check_rows(const struct vector *vector, const struct lp_ibp *ibp)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint8_t *row = vector->packed;

    for (uint32_t r = 0; r < vector->rows; r++) {
        const uint32_t size = lp_load_u32(vector->size + 4 * r);

        for (int t = 0; t < n_tiers; t++)
            check_row(vector, tiers[t], ibp, r, row, size);
        packed_rows += size < vector->n * vector->s;
        raw_rows += size == vector->n * vector->s;
        row += size;
    }
}

static void check_vector(json_t *json)
{
    struct vector vector;
    struct lp_ibp ibp;

    vector_open(&vector, json);
    masks_given(&vector, &ibp);
    check_rule(&vector, &ibp);
    check_rows(&vector, &ibp);
    lp_codec_ibp_fini(&ibp);
    lp_mem_free(vector.file);
    cases++;
}

int main(void)
{
    char path[4200];
    json_error_t error;
    json_t *root, *list, *item;
    size_t i;

    (void)snprintf(path, sizeof(path), "%s/cases.json", folder());
    root = json_load_file(path, 0, &error);
    if (root == NULL) {
        (void)printf("waived: 1 (no ibp_vectors: %s)\n", error.text);
        return 77;
    }
    list = json_object_get(root, "cases");
    json_array_foreach(list, i, item) check_vector(item);
    json_decref(root);
    (void)printf("%u cases, %u masks learned, %u packed and %u raw rows, %u differences\n", cases,
                 learned, packed_rows, raw_rows, failures);
    return failures == 0 && cases > 0 ? 0 : 1;
}
