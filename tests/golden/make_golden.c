/* SPDX-License-Identifier: Apache-2.0 */
/* make_golden FOLDER: write the golden files anew, valid/ and invalid/. Only when the format's
 * version is raised: files of released versions stay as they are.
 *
 * valid/<name>.lpk holds one or more tensors, valid/<name>.raw their elements, one after the other.
 * invalid/<case>/input is a file that is broken in one way, invalid/<case>/error the name of the
 * code that every reader must give. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/hash.h"
#include "codec/place.h"
#include "tests/lib/lpk_memory.h"
#include "tests/lib/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TENSORS_MAX 3u
#define NAME(file)                                                                                 \
    (char[])                                                                                       \
    {                                                                                              \
        file                                                                                       \
    }

/* What is done to the samples, so that one way of a codec is the best. */
enum twist {
    TWIST_NONE,
    TWIST_ROWS,     /* scale differs by row: a window per record pays */
    TWIST_COLUMNS,  /* scale differs by column and by first index: a base per column pays */
    TWIST_POSITIVE, /* no sign is set */
    TWIST_NEGATIVE, /* each sign is set */
    TWIST_UPCAST,   /* the lower half of each element is zero */
    TWIST_FEW,      /* thirty distinct values, some much more frequent */
    TWIST_RARE,     /* one element in twenty is not zero */
    TWIST_RARE_FEW, /* and these have few values */
    TWIST_RARE_ONE, /* and these are all the same */
    TWIST_HALF,     /* every other element is zero, more or less */
    TWIST_KINDS     /* rows of four kinds: of each column the first quarter of the bits is one for
                       all, the second one for each kind */
};

struct tensor {
    uint32_t dtype, ndim;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    enum samples_kind kind;
    struct lp_plan_params params;
    uint32_t codec; /* that must come out */
    enum twist twist;
    int random_rows; /* so many rows at the end are random bits */
    /* Where not 0: byte meta_at - 1 of the metadata must be that, or the file would not show
     * what its name says. */
    uint32_t meta_at, meta_value;
};

#define PACKED(c)                                                                                  \
    {                                                                                              \
        .codec = (c)                                                                               \
    }
#define ALIGNED(c)                                                                                 \
    {                                                                                              \
        .codec = (c), .align_bytes = 32                                                            \
    }
#define SLOTTED(c)                                                                                 \
    {                                                                                              \
        .codec = (c), .layout = LP_LAYOUT_SLOTTED                                                  \
    }
#define RECORD(c, n)                                                                               \
    {                                                                                              \
        .codec = (c), .record_elements = (n)                                                       \
    }
#define IBP(s)                                                                                     \
    {                                                                                              \
        .codec = LP_CODEC_IBP, .ibp_word_bytes = (s)                                               \
    }

/* Bytes of lane's metadata, plus one (docs/FORMAT.md, section 5). */
#define WINDOW_AT 7
#define SIGN_AT 8
#define TRAILING_AT 10
#define SPAN_AT 17

static const struct {
    const char *name;
    struct tensor tensor;
} files[] = {
    {"raw_f32",
     {LP_DTYPE_F32, 2, {5, 33}, SAMPLES_NORMAL, PACKED(LP_CODEC_RAW), .codec = LP_CODEC_RAW}},
    {"raw_i64_scalar", {LP_DTYPE_I64, 0, {0}, SAMPLES_NORMAL, PACKED(0), .codec = LP_CODEC_RAW}},
    {"raw_bool",
     {LP_DTYPE_BOOL, 1, {77}, SAMPLES_NORMAL, PACKED(LP_CODEC_RAW), .codec = LP_CODEC_RAW}},
    {"raw_u16_empty", {LP_DTYPE_U16, 2, {0, 9}, SAMPLES_NORMAL, PACKED(0), .codec = LP_CODEC_RAW}},
    {"raw_i8_no_columns",
     {LP_DTYPE_I8, 2, {4, 0}, SAMPLES_NORMAL, PACKED(0), .codec = LP_CODEC_RAW}},
    {"raw_bf16_one",
     {LP_DTYPE_BF16, 1, {1}, SAMPLES_NORMAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_RAW}},
    {"raw_f32_all_escape",
     {LP_DTYPE_F32, 2, {9, 64}, SAMPLES_RANDOM, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_RAW}},
    {"raw_f4_x2",
     {LP_DTYPE_F4_X2, 2, {7, 36}, SAMPLES_RANDOM, PACKED(LP_CODEC_RAW), .codec = LP_CODEC_RAW}},
    {"raw_f6_e2m3_x4",
     {LP_DTYPE_F6_E2M3_X4,
      2,
      {5, 25},
      SAMPLES_RANDOM,
      PACKED(LP_CODEC_RAW),
      .codec = LP_CODEC_RAW}},
    {"raw_f6_e3m2_x4",
     {LP_DTYPE_F6_E3M2_X4, 1, {31}, SAMPLES_RANDOM, PACKED(LP_CODEC_RAW), .codec = LP_CODEC_RAW}},
    {"raw_f8_e8m0",
     {LP_DTYPE_F8_E8M0, 1, {45}, SAMPLES_RANDOM, PACKED(LP_CODEC_RAW), .codec = LP_CODEC_RAW}},
    {"raw_f8_e4m3fnuz",
     {LP_DTYPE_F8_E4M3FNUZ, 1, {45}, SAMPLES_RANDOM, PACKED(LP_CODEC_RAW), .codec = LP_CODEC_RAW}},
    {"raw_f8_e5m2fnuz",
     {LP_DTYPE_F8_E5M2FNUZ, 1, {45}, SAMPLES_RANDOM, PACKED(LP_CODEC_RAW), .codec = LP_CODEC_RAW}},
    {"raw_c64",
     {LP_DTYPE_C64, 2, {4, 9}, SAMPLES_RANDOM, PACKED(LP_CODEC_RAW), .codec = LP_CODEC_RAW}},
    {"ibp4_f6_e2m3_x4",
     {LP_DTYPE_F6_E2M3_X4, 2, {36, 64}, SAMPLES_SPARSE, IBP(4), .codec = LP_CODEC_IBP}},
    {"ibp4_f32", {LP_DTYPE_F32, 2, {36, 17}, SAMPLES_NORMAL, IBP(4), .codec = LP_CODEC_IBP}},
    {"ibp8_f64", {LP_DTYPE_F64, 2, {33, 9}, SAMPLES_SPARSE, IBP(8), .codec = LP_CODEC_IBP}},
    {"ibp8_i64_grouped",
     {LP_DTYPE_I64, 2, {150, 3}, SAMPLES_SPARSE, IBP(8), .codec = LP_CODEC_IBP}},
    {"ibp4_f32_groups",
     {LP_DTYPE_F32,
      2,
      {1030, 8},
      SAMPLES_NORMAL,
      {.codec = LP_CODEC_IBP, .ibp_word_bytes = 4, .record_rows = 1},
      .codec = LP_CODEC_IBP,
      .twist = TWIST_KINDS,
      .meta_at = 2,
      .meta_value = 4}},
    {"ibp8_f64_groups",
     {LP_DTYPE_F64,
      2,
      {1024, 8},
      SAMPLES_NORMAL,
      {.codec = LP_CODEC_IBP, .ibp_word_bytes = 8, .record_rows = 1},
      .codec = LP_CODEC_IBP,
      .twist = TWIST_KINDS,
      .meta_at = 2,
      .meta_value = 4}},
    {"ibp4_bf16_short_last",
     {LP_DTYPE_BF16,
      1,
      {601},
      SAMPLES_EQUAL,
      {.codec = LP_CODEC_IBP, .ibp_word_bytes = 4, .record_elements = 100},
      .codec = LP_CODEC_IBP}},
    {"ibp_f32_align32",
     {LP_DTYPE_F32, 2, {2, 256}, SAMPLES_NORMAL, ALIGNED(LP_CODEC_IBP), .codec = LP_CODEC_IBP}},
    {"ibp_f32_slotted",
     {LP_DTYPE_F32, 2, {3, 250}, SAMPLES_NORMAL, SLOTTED(LP_CODEC_IBP), .codec = LP_CODEC_IBP}},
    {"ibp_f16_wide",
     {LP_DTYPE_F16,
      2,
      {1, 4300},
      SAMPLES_SPARSE,
      RECORD(LP_CODEC_IBP, 4200),
      .codec = LP_CODEC_IBP}},
    {"lane_bf16",
     {LP_DTYPE_BF16, 2, {35, 32}, SAMPLES_NORMAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_f32",
     {LP_DTYPE_F32, 2, {5, 129}, SAMPLES_NORMAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_f16",
     {LP_DTYPE_F16, 2, {5, 201}, SAMPLES_NORMAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_f64",
     {LP_DTYPE_F64, 2, {4, 71}, SAMPLES_NORMAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_e4m3",
     {LP_DTYPE_F8_E4M3,
      2,
      {5, 301},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE}},
    {"lane_e5m2",
     {LP_DTYPE_F8_E5M2,
      2,
      {5, 301},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE}},
    {"lane_f32_align32",
     {LP_DTYPE_F32, 2, {4, 150}, SAMPLES_NORMAL, ALIGNED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_bf16_slotted",
     {LP_DTYPE_BF16, 2, {5, 200}, SAMPLES_NORMAL, SLOTTED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_bf16_slotted_wide",
     {LP_DTYPE_BF16,
      1,
      {4200},
      SAMPLES_NORMAL,
      {.codec = LP_CODEC_LANE, .layout = LP_LAYOUT_SLOTTED, .record_elements = 4100},
      .codec = LP_CODEC_LANE}},
    {"lane_bf16_wide",
     {LP_DTYPE_BF16,
      1,
      {4200},
      SAMPLES_NORMAL,
      RECORD(LP_CODEC_LANE, 4110),
      .codec = LP_CODEC_LANE}},
    {"lane_bf16_grouped",
     {LP_DTYPE_BF16, 2, {151, 7}, SAMPLES_NORMAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_bf16_straddling",
     {LP_DTYPE_BF16,
      3,
      {10, 5, 20},
      SAMPLES_NORMAL,
      RECORD(LP_CODEC_LANE, 333),
      .codec = LP_CODEC_LANE}},
    {"lane_f32_special",
     {LP_DTYPE_F32, 2, {5, 150}, SAMPLES_SPECIAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_f16_special",
     {LP_DTYPE_F16, 2, {5, 150}, SAMPLES_SPECIAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_f64_special",
     {LP_DTYPE_F64, 2, {5, 70}, SAMPLES_SPECIAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_bf16_equal",
     {LP_DTYPE_BF16, 2, {5, 200}, SAMPLES_EQUAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_bf16_raw_rows",
     {LP_DTYPE_BF16,
      2,
      {12, 100},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .random_rows = 5}},
    {"lane_bf16_varied",
     {LP_DTYPE_BF16,
      2,
      {16, 100},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_ROWS}},
    {"lane_f64_varied",
     {LP_DTYPE_F64,
      2,
      {5, 40},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_ROWS}},
    {"lane_bf16_small",
     {LP_DTYPE_BF16,
      2,
      {35, 16},
      SAMPLES_NORMAL,
      RECORD(LP_CODEC_LANE, 16),
      .codec = LP_CODEC_LANE}},
    {"lane_bf16_slotted_small",
     {LP_DTYPE_BF16, 2, {3, 100}, SAMPLES_NORMAL, SLOTTED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_bf16_columns",
     {LP_DTYPE_BF16,
      2,
      {40, 96},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_COLUMNS,
      .meta_at = WINDOW_AT,
      .meta_value = LP_LANE_WINDOW_COLUMNS}},
    {"lane_bf16_columns_span",
     {LP_DTYPE_BF16,
      3,
      {3, 60, 16},
      SAMPLES_NORMAL,
      RECORD(LP_CODEC_LANE, 500),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_COLUMNS,
      .meta_at = SPAN_AT,
      .meta_value = 960 & 0xff}},
    {"lane_f16_columns_slotted",
     {LP_DTYPE_F16,
      2,
      {90, 70},
      SAMPLES_NORMAL,
      SLOTTED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_COLUMNS,
      .meta_at = WINDOW_AT,
      .meta_value = LP_LANE_WINDOW_COLUMNS}},
    {"lane_f64_columns",
     {LP_DTYPE_F64,
      2,
      {60, 20},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_COLUMNS,
      .meta_at = WINDOW_AT,
      .meta_value = LP_LANE_WINDOW_COLUMNS}},
    {"lane_f32_positive",
     {LP_DTYPE_F32,
      2,
      {6, 131},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_POSITIVE,
      .meta_at = SIGN_AT,
      .meta_value = LP_LANE_SIGN_ZERO}},
    {"lane_bf16_negative",
     {LP_DTYPE_BF16,
      2,
      {6, 131},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_NEGATIVE,
      .meta_at = SIGN_AT,
      .meta_value = LP_LANE_SIGN_ONE}},
    {"lane_f32_upcast",
     {LP_DTYPE_F32,
      2,
      {6, 131},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_UPCAST,
      .meta_at = TRAILING_AT,
      .meta_value = 16}},
    {"lane_f64_upcast",
     {LP_DTYPE_F64,
      2,
      {6, 71},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_LANE),
      .codec = LP_CODEC_LANE,
      .twist = TWIST_UPCAST,
      .meta_at = TRAILING_AT,
      .meta_value = 32}},
    {"lane_i8",
     {LP_DTYPE_I8, 2, {9, 301}, SAMPLES_NORMAL, PACKED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"lane_u8_slotted",
     {LP_DTYPE_U8, 2, {9, 301}, SAMPLES_NORMAL, SLOTTED(LP_CODEC_LANE), .codec = LP_CODEC_LANE}},
    {"zip7_bf16",
     {LP_DTYPE_BF16, 2, {9, 201}, SAMPLES_NORMAL, PACKED(LP_CODEC_ZIP7), .codec = LP_CODEC_ZIP7}},
    {"zip7_bf16_slotted",
     {LP_DTYPE_BF16,
      2,
      {9, 100},
      SAMPLES_NORMAL,
      SLOTTED(LP_CODEC_ZIP7),
      .codec = LP_CODEC_ZIP7,
      .random_rows = 2}},
    {"dict_bf16",
     {LP_DTYPE_BF16,
      2,
      {9, 201},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_DICT),
      .codec = LP_CODEC_DICT,
      .twist = TWIST_FEW,
      .random_rows = 2}},
    {"dict_f32_slotted",
     {LP_DTYPE_F32,
      2,
      {9, 100},
      SAMPLES_NORMAL,
      SLOTTED(LP_CODEC_DICT),
      .codec = LP_CODEC_DICT,
      .twist = TWIST_FEW}},
    {"dict_i64",
     {LP_DTYPE_I64, 2, {9, 77}, SAMPLES_NORMAL, PACKED(LP_CODEC_DICT), .codec = LP_CODEC_DICT}},
    {"dict_u8",
     {LP_DTYPE_U8,
      2,
      {5, 1000},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_DICT),
      .codec = LP_CODEC_DICT,
      .twist = TWIST_FEW}},
    {"sparse_f32_one",
     {LP_DTYPE_F32,
      2,
      {40, 333},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_SPARSE),
      .codec = LP_CODEC_SPARSE,
      .twist = TWIST_RARE_ONE,
      .meta_at = 1,
      .meta_value = 0}},
    {"sparse_i16_raw",
     {LP_DTYPE_I16,
      2,
      {20, 333},
      SAMPLES_RANDOM,
      PACKED(LP_CODEC_SPARSE),
      .codec = LP_CODEC_SPARSE,
      .twist = TWIST_RARE,
      .meta_at = 1,
      .meta_value = LP_CODEC_RAW}},
    {"sparse_f32_lane",
     {LP_DTYPE_F32,
      2,
      {40, 500},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_SPARSE),
      .codec = LP_CODEC_SPARSE,
      .twist = TWIST_RARE,
      .random_rows = 1,
      .meta_at = 1,
      .meta_value = LP_CODEC_LANE}},
    {"sparse_bf16_lane_half",
     {LP_DTYPE_BF16,
      2,
      {20, 500},
      SAMPLES_NORMAL,
      SLOTTED(LP_CODEC_SPARSE),
      .codec = LP_CODEC_SPARSE,
      .twist = TWIST_HALF,
      .meta_at = 1,
      .meta_value = LP_CODEC_LANE}},
    {"sparse_f64_dict",
     {LP_DTYPE_F64,
      2,
      {40, 200},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_SPARSE),
      .codec = LP_CODEC_SPARSE,
      .twist = TWIST_RARE_FEW,
      .meta_at = 1,
      .meta_value = LP_CODEC_DICT}},
    {"sparse_u8_wide",
     {LP_DTYPE_U8,
      2,
      {2, 33000},
      SAMPLES_NORMAL,
      RECORD(LP_CODEC_SPARSE, 32768),
      .codec = LP_CODEC_SPARSE,
      .twist = TWIST_RARE_FEW}},
    {"sparse_f32_grouped",
     {LP_DTYPE_F32,
      2,
      {301, 10},
      SAMPLES_NORMAL,
      PACKED(LP_CODEC_SPARSE),
      .codec = LP_CODEC_SPARSE,
      .twist = TWIST_RARE_FEW}},
};

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "make_golden: %s: %s\n", what, why);
    exit(1);
}

static void write_file(const char *folder, const char *name, const void *bytes, uint64_t n)
{
    char path[4096];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, n, file) != n || fclose(file) != 0)
        die(path, "cannot be written");
}

static uint64_t twist_kind(uint64_t row, uint64_t column, uint32_t bits, uint64_t word)
{
    uint64_t state = row, kind = samples_next(&state) % 4, all, own;

    state = column;
    all = samples_next(&state) >> (64 - bits / 4);
    state = (kind + 1) << 32 | column;
    own = samples_next(&state) >> (64 - bits / 4);
    return (all << (bits / 4) | own) << (bits / 2) | (word & ((UINT64_C(1) << (bits / 2)) - 1));
}

/* Element i, twisted. hash is a number of its own for each i, first the tensor's first elements. */
static uint64_t twist_element(const struct tensor *tensor, const struct lp_geometry *geometry,
                              uint64_t i, uint64_t word, const uint64_t first[30])
{
    const uint32_t bits = 8 * geometry->elem_bytes;
    const uint32_t mantissa = lp_codec_dtype_info(tensor->dtype)->mantissa_bits;
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    const uint64_t columns = tensor->dims[tensor->ndim - 1];
    uint64_t state = i;
    const uint64_t hash = samples_next(&state);
    const uint64_t pick = hash % 4 == 0 ? hash >> 8 & 15 : hash >> 8 & 3;

    switch (tensor->twist) {
    case TWIST_ROWS:
        return word + ((i / geometry->row_elements * 5 % 64) << mantissa);
    case TWIST_COLUMNS:
        return word + ((i % columns * 5 % 16 + i / geometry->row_elements * 3 % 4) << mantissa);
    case TWIST_POSITIVE:
        return word & ~sign;
    case TWIST_NEGATIVE:
        return word | sign;
    case TWIST_UPCAST:
        return word >> (bits / 2) << (bits / 2);
    case TWIST_FEW:
        return first[pick];
    case TWIST_RARE:
        return hash % 20 == 0 ? word | 1 : 0;
    case TWIST_RARE_FEW:
        return hash % 20 == 0 ? first[pick] | 1 : 0;
    case TWIST_RARE_ONE:
        return hash % 20 == 0 ? first[0] | 1 : 0;
    case TWIST_HALF:
        return hash % 2 == 0 ? word : 0;
    case TWIST_KINDS:
        return twist_kind(i / columns, i % columns, bits, word);
    case TWIST_NONE:
        break;
    }
    return word;
}

static void twist(const struct tensor *tensor, const struct lp_geometry *geometry, uint8_t *data)
{
    const uint32_t bytes = geometry->elem_bytes;
    uint64_t first[30] = {0};

    for (uint64_t i = 0; i < LP_MIN(geometry->n_elements, LP_ARRAY_LEN(first)); i++)
        memcpy(&first[i], data + i * bytes, bytes);
    for (uint64_t i = 0; i < geometry->n_elements; i++) {
        uint64_t word = 0;

        memcpy(&word, data + i * bytes, bytes);
        word = twist_element(tensor, geometry, i, word, first);
        memcpy(data + i * bytes, &word, bytes);
    }
}

static uint8_t *make_data(const struct tensor *tensor, struct lp_geometry *ret_geometry)
{
    uint8_t *data;

    if (lp_codec_geometry_init(ret_geometry, tensor->dtype, tensor->ndim, tensor->dims, NULL) < 0)
        die("a shape", "is refused");
    data = lp_mem_zalloc(ret_geometry->logical_bytes + 1);
    if (data == NULL)
        die("a tensor", "no memory");
    samples_fill(tensor->kind, tensor->dtype, ret_geometry->n_elements, 2026, data);
    if (tensor->twist != TWIST_NONE)
        twist(tensor, ret_geometry, data);
    if (tensor->random_rows > 0) {
        const uint64_t n = (uint64_t)tensor->random_rows * ret_geometry->row_elements;

        samples_fill(SAMPLES_RANDOM, tensor->dtype, n, 7,
                     data + ret_geometry->logical_bytes - n * ret_geometry->elem_bytes);
    }
    return data;
}

static uint8_t *make_packed(const struct tensor *tensor, struct packed *ret_packed)
{
    struct lp_geometry geometry;
    uint8_t *const data = make_data(tensor, &geometry);

    packed_must(ret_packed, tensor->dtype, tensor->ndim, tensor->dims, &tensor->params, data);
    return data;
}

static void write_valid(const char *folder)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(files); i++) {
        char *const names[1] = {(char[]){"tensor"}};
        struct packed packed;
        uint8_t *const data = make_packed(&files[i].tensor, &packed);
        char name[256];
        uint64_t bytes;
        uint8_t *file;

        if (packed.table.codec != files[i].tensor.codec)
            die(files[i].name, "has another codec than it should show");
        if (files[i].tensor.meta_at != 0 &&
            packed.head[packed.table.meta_offset + files[i].tensor.meta_at - 1] !=
                files[i].tensor.meta_value)
            die(files[i].name, "has other metadata than it should show");
        file = lpk_memory_write(&packed, names, 1, &bytes);
        (void)snprintf(name, sizeof(name), "%s.lpk", files[i].name);
        write_file(folder, name, file, bytes);
        (void)snprintf(name, sizeof(name), "%s.raw", files[i].name);
        write_file(folder, name, data, packed.table.geometry.logical_bytes);
        lp_mem_free(file);
        lp_mem_free(data);
        packed_fini(&packed);
    }
}

/* Three tensors of three codecs in one file, under names that need some care. */
static void write_three(const char *folder)
{
    static const char *const picked[TENSORS_MAX] = {"ibp4_f32", "raw_i64_scalar", "lane_bf16"};
    char *const names[TENSORS_MAX] = {(char[]){"a/b c"}, (char[]){"\xc3\xa9t\xc3\xa9"},
                                      (char[]){"."}};
    struct packed packed[TENSORS_MAX];
    uint8_t raw[16384];
    uint64_t raw_bytes = 0, bytes;
    uint8_t *file;

    for (uint32_t k = 0; k < TENSORS_MAX; k++) {
        for (size_t i = 0; i < LP_ARRAY_LEN(files); i++) {
            uint8_t *data;

            if (strcmp(files[i].name, picked[k]) != 0)
                continue;
            data = make_packed(&files[i].tensor, &packed[k]);
            memcpy(raw + raw_bytes, data, packed[k].table.geometry.logical_bytes);
            raw_bytes += packed[k].table.geometry.logical_bytes;
            lp_mem_free(data);
        }
        /* Views point into their struct; only tables and segments are used from here on. */
    }
    file = lpk_memory_write(packed, names, TENSORS_MAX, &bytes);
    write_file(folder, "three_tensors.lpk", file, bytes);
    write_file(folder, "three_tensors.raw", raw, raw_bytes);
    lp_mem_free(file);
    file = lpk_memory_write(packed, names, 0, &bytes);
    write_file(folder, "no_tensors.lpk", file, bytes);
    write_file(folder, "no_tensors.raw", raw, 0);
    lp_mem_free(file);
    for (uint32_t k = 0; k < TENSORS_MAX; k++)
        packed_fini(&packed[k]);
}

/* A file that a case may break. Offsets are from the start of the file; the table lies at 64. */
struct victim {
    uint8_t *file;
    uint64_t bytes, room;
    uint64_t meta, index, checks, data, directory;
    struct lp_table table; /* copied for its sizes only */
};

#define TABLE_AT 64u
#define FIELD(name) (TABLE_AT + offsetof(struct lp_format_header, name))
#define FILE_FIELD(name) offsetof(struct lp_format_file_header, name)

/* Hashes as a forger would write them, so that only the check that the case is about can object. */
static void seal(struct victim *victim)
{
    uint8_t *const head = victim->file + TABLE_AT;
    const struct lp_table *const table = &victim->table;

    lp_store_u64(victim->file + FIELD(meta_hash),
                 lp_codec_hash(head + table->meta_offset, table->meta_bytes));
    lp_store_u64(victim->file + FIELD(index_hash),
                 lp_codec_hash(head + table->index_offset, table->index_bytes));
    lp_store_u64(victim->file + FIELD(checks_hash),
                 lp_codec_hash(head + table->checks_offset, table->checks_bytes));
    packed_seal_header(head);
}

static void seal_file(struct victim *victim)
{
    const uint64_t at = lp_load_u64(victim->file + FILE_FIELD(directory_offset));
    const uint64_t n = lp_load_u64(victim->file + FILE_FIELD(directory_bytes));

    lp_store_u64(victim->file + FILE_FIELD(directory_hash), lp_codec_hash(victim->file + at, n));
    lp_store_u64(victim->file + FILE_FIELD(header_hash),
                 lp_codec_hash(victim->file, FILE_FIELD(header_hash)));
}

/* The hash over one block of stored records, after one of them was broken. */
static void seal_first_check(struct victim *victim)
{
    lp_store_u64(victim->file + victim->checks,
                 lp_codec_hash(victim->file + victim->data, victim->table.data_bytes));
    seal(victim);
}

/* What to do to a file. at and value are meant by the kind. */
enum harm {
    HARM_TABLE_U8,
    HARM_TABLE_U16,
    HARM_TABLE_U32,
    HARM_TABLE_U64,  /* field, all hashes renewed */
    HARM_TABLE_BARE, /* a byte of the table flipped, no hash renewed */
    HARM_META_U8,
    HARM_META_COPY, /* the byte at becomes that at value */
    HARM_META_LAST, /* the last byte becomes value */
    HARM_INDEX_U16,
    HARM_INDEX_U64,
    HARM_DATA_FLIP, /* hashes renewed */
    HARM_DATA_BARE, /* a byte of the data flipped */
    HARM_FILE_U16,
    HARM_FILE_U32,
    HARM_FILE_U64,
    HARM_DIRECTORY_U8,
    HARM_DIRECTORY_U64,
    HARM_CUT, /* value bytes off the end */
};

static const struct {
    const char *name, *from, *error;
    enum harm harm;
    uint64_t at, value;
} cases[] = {
    {"file_magic", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U32, 0, 0x4e41},
    {"file_version", "lane_bf16_small", "LP_EVERSION", HARM_FILE_U16, 8, 2},
    {"file_version_zero", "lane_bf16_small", "LP_EVERSION", HARM_FILE_U16, 8, 0},
    {"table_version_zero", "lane_bf16_small", "LP_EVERSION", HARM_TABLE_U16, 8, 0},
    {"file_header_bytes", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U16, 10, 72},
    {"file_too_many_tensors", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U32, 12, 1u << 21},
    {"file_count_past_directory", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U32, 12, 2},
    {"file_count_short_of_directory", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U32, 12, 0},
    {"file_directory_offset", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U64, 16, 8},
    {"file_directory_huge", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U64, 24, UINT64_MAX - 7},
    {"file_longer_than_it_is", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U64, 32, 1u << 30},
    {"file_zero_field", "lane_bf16_small", "LP_ECORRUPT", HARM_FILE_U64, 48, 1},
    {"file_truncated", "lane_bf16_small", "LP_ECORRUPT", HARM_CUT, 0, 1},
    {"file_truncated_header", "lane_bf16_small", "LP_ECORRUPT", HARM_CUT, 1, 63},
    {"file_empty", "lane_bf16_small", "LP_ECORRUPT", HARM_CUT, 1, 0},
    {"directory_table_offset", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U64, 0, 72},
    {"directory_table_in_header", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U64, 0, 0},
    {"directory_table_past_end", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U64, 8, 1u << 20},
    {"directory_table_wraps", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U64, 8,
     UINT64_MAX - 63},
    {"directory_table_too_small", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U64, 8, 100},
    {"directory_table_shorter", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U64, 8, 512},
    {"directory_name_empty", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U8, 16, 0},
    {"directory_name_too_long", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U8, 17, 0xff},
    {"directory_name_control", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U8, 24, '\n'},
    {"directory_name_no_utf8", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U8, 29, 0xc3},
    {"directory_name_padding", "lane_bf16_small", "LP_ECORRUPT", HARM_DIRECTORY_U8, 31, 1},
    {"table_magic", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U8, 0, 'l'},
    {"table_version", "lane_bf16_small", "LP_EVERSION", HARM_TABLE_U16, 8, 9},
    {"table_header_bytes", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U16, 10, 200},
    {"table_header_hash", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_BARE, 190, 0},
    {"table_flags", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U32, 12, 1},
    {"table_dtype_unknown", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U8, 16, 255},
    {"table_dtype_no_float", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U8, 16, 9},
    {"table_codec_unknown", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U8, 17, 99},
    {"table_codec_other", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U8, 17, 2},
    {"table_layout_unknown", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U8, 18, 0},
    {"table_zip7_of_f16", "zip7_bf16", "LP_ECORRUPT", HARM_TABLE_U8, 16, LP_DTYPE_F16},
    {"table_raw_slotted", "raw_f32", "LP_ECORRUPT", HARM_TABLE_U8, 18, 2},
    {"table_too_many_dims", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U8, 19, 9},
    {"table_dim_behind_ndim", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U8, 19, 1},
    {"table_dims_too_large", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 24, 1ull << 60},
    {"table_dims_wrap", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 24, 1ull << 58 | 35},
    {"table_more_rows", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 24, 36},
    {"table_fewer_rows", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 24, 34},
    {"table_record_zero", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U32, 20, 0},
    {"table_record_too_large", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U32, 20, 32769},
    {"table_record_past_tensor", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U32, 20, 561},
    {"table_align", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U32, 88, 8},
    {"table_slotted_align", "lane_bf16_slotted_small", "LP_ECORRUPT", HARM_TABLE_U32, 88, 4},
    {"table_check_records", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U32, 92, 33},
    {"table_check_records_zero", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U32, 92, 0},
    {"table_check_blocks_shifted", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U32, 92, 32},
    {"table_segment_small", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 96, 1u << 20},
    {"table_segment_odd", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 96, (8u << 20) + 4},
    {"table_meta_bytes_huge", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 104,
     UINT64_MAX - 7},
    {"table_meta_bytes_more", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 104, 16384},
    {"table_index_bytes", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 112, 72},
    {"table_checks_bytes", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 120, 16},
    {"table_data_bytes", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 128, 4},
    {"table_raw_data_bytes", "raw_f32", "LP_ECORRUPT", HARM_TABLE_U64, 128, 664},
    {"table_payload_bytes", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 136, 1},
    {"table_wire_bytes", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 144, 32},
    {"table_raw_records", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 152, 1},
    {"table_all_records_raw", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_U64, 152, 35},
    {"meta_hash", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_BARE, 193, 0},
    {"meta_lane_no_levels", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 0, 0},
    {"meta_lane_six_levels", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 0, 6},
    {"meta_lane_width_four", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 1, 4},
    {"meta_lane_width_zero", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 2, 0},
    {"meta_lane_width_behind_last", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 5, 1},
    {"meta_lane_window", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 6, 3},
    {"meta_lane_columns_missing", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 6, 2},
    {"meta_lane_sign", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 7, 3},
    {"meta_lane_sign_of_i8", "lane_i8", "LP_ECORRUPT", HARM_META_U8, 7, 1},
    {"meta_lane_exponent_bits", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 8, 7},
    {"meta_lane_exponent_bits_of_i8", "lane_i8", "LP_ECORRUPT", HARM_META_U8, 8, 7},
    {"meta_lane_trailing", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 9, 8},
    {"meta_lane_zero_byte", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 10, 1},
    {"meta_lane_period_without_window", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 12, 1},
    {"meta_lane_span_without_window", "lane_bf16_small", "LP_ECORRUPT", HARM_META_U8, 17, 1},
    {"meta_lane_no_period", "lane_bf16_columns", "LP_ECORRUPT", HARM_META_U8, 12, 0},
    {"meta_lane_period_huge", "lane_bf16_columns", "LP_ECORRUPT", HARM_META_U8, 15, 0x80},
    {"meta_lane_span_odd", "lane_bf16_columns_span", "LP_ECORRUPT", HARM_META_U8, 16, 0xc1},
    {"meta_lane_span_huge", "lane_bf16_columns_span", "LP_ECORRUPT", HARM_META_U8, 23, 0x80},
    {"meta_lane_column_too_large", "lane_f16_columns_slotted", "LP_ECORRUPT", HARM_META_LAST, 0,
     32},
    {"meta_lane_rank_too_large", "lane_f16", "LP_ECORRUPT", HARM_META_U8, 24, 32},
    {"meta_lane_rank_twice", "lane_bf16_small", "LP_ECORRUPT", HARM_META_COPY, 24, 25},
    {"meta_zip7_window_past_range", "zip7_bf16", "LP_ECORRUPT", HARM_META_U8, 0, 250},
    {"meta_zip7_zero_byte", "zip7_bf16", "LP_ECORRUPT", HARM_META_U8, 7, 1},
    {"meta_dict_no_levels", "dict_bf16", "LP_ECORRUPT", HARM_META_U8, 0, 0},
    {"meta_dict_width_nine", "dict_bf16", "LP_ECORRUPT", HARM_META_U8, 1, 9},
    {"meta_dict_width_behind_last", "dict_bf16", "LP_ECORRUPT", HARM_META_U8, 5, 1},
    {"meta_dict_zero_bytes", "dict_bf16", "LP_ECORRUPT", HARM_META_U8, 6, 1},
    {"meta_dict_no_values", "dict_bf16", "LP_ECORRUPT", HARM_META_U8, 8, 0},
    {"meta_dict_values_wrap", "dict_bf16", "LP_ECORRUPT", HARM_META_U8, 11, 0x80},
    {"meta_dict_value_twice", "dict_u8", "LP_ECORRUPT", HARM_META_COPY, 16, 17},
    {"meta_sparse_values", "sparse_f32_one", "LP_ECORRUPT", HARM_META_U8, 0, 2},
    {"meta_sparse_zero_byte", "sparse_f32_one", "LP_ECORRUPT", HARM_META_U8, 7, 1},
    {"meta_sparse_one_too_long", "sparse_f32_one", "LP_ECORRUPT", HARM_META_U8, 15, 1},
    {"meta_sparse_window", "sparse_f32_lane", "LP_ECORRUPT", HARM_META_U8, 8 + 6, 1},
    {"meta_ibp_word", "ibp4_f32", "LP_ECORRUPT", HARM_META_U8, 0, 5},
    {"meta_ibp_zero_byte", "ibp4_f32", "LP_ECORRUPT", HARM_META_U8, 2, 1},
    {"meta_ibp_one_group", "ibp4_f32", "LP_ECORRUPT", HARM_META_U8, 1, 1},
    {"meta_ibp_groups_missing", "ibp4_f32", "LP_ECORRUPT", HARM_META_U8, 1, 2},
    {"meta_ibp_17_groups", "ibp4_f32_groups", "LP_ECORRUPT", HARM_META_U8, 1, 17},
    {"meta_ibp_words", "ibp4_f32", "LP_ECORRUPT", HARM_META_U8, 4, 16},
    {"meta_ibp_value_outside_mask", "ibp4_f32", "LP_ECORRUPT", HARM_META_U8, 16 + 4 * 17, 0xff},
    {"index_hash", "lane_bf16_small", "LP_ECORRUPT", HARM_TABLE_BARE, 230, 0},
    {"index_no_length", "lane_bf16_small", "LP_ECORRUPT", HARM_INDEX_U16, 8, 0},
    {"index_too_long", "lane_bf16_small", "LP_ECORRUPT", HARM_INDEX_U16, 8, 9},
    {"index_falls", "lane_bf16_small", "LP_ECORRUPT", HARM_INDEX_U16, 10, 1},
    {"index_no_such_segment", "lane_bf16_small", "LP_ECORRUPT", HARM_INDEX_U64, 0, 1ull << 40},
    {"index_past_end", "lane_bf16_small", "LP_ECORRUPT", HARM_INDEX_U64, 0, 1u << 20},
    {"index_gap_between_groups", "lane_bf16_small", "LP_ECORRUPT", HARM_INDEX_U64, 72, 4},
    {"index_tail_not_repeated", "lane_bf16_small", "LP_ECORRUPT", HARM_INDEX_U16, 72 + 8 + 62, 1},
    {"index_slotted_zero", "lane_bf16_slotted_small", "LP_ECORRUPT", HARM_INDEX_U16, 0, 0},
    {"index_slotted_past_stride", "lane_bf16_slotted_small", "LP_ECORRUPT", HARM_INDEX_U16, 0,
     0x0808},
    {"record_check", "lane_bf16_small", "LP_ECORRUPT", HARM_DATA_BARE, 5, 0},
    {"record_raw_check", "raw_f32", "LP_ECORRUPT", HARM_DATA_BARE, 5, 0},
    {"record_ibp_too_long", "ibp4_f32", "LP_ECORRUPT", HARM_DATA_FLIP, 0, 0xff},
    {"record_ibp_group_past_count", "ibp4_f32_groups", "LP_ECORRUPT", HARM_DATA_FLIP, 1, 0xff},
    {"record_ibp_group_padding", "ibp4_f32_groups", "LP_ECORRUPT", HARM_DATA_FLIP, 2, 1},
    {"record_ibp_padding", "ibp4_f32", "LP_ECORRUPT", HARM_DATA_FLIP, 3, 1},
    {"record_lane_code", "lane_bf16_small", "LP_ECORRUPT", HARM_DATA_FLIP, 16, 0xff},
    {"record_lane_too_short", "lane_bf16_small", "LP_ECORRUPT", HARM_DATA_FLIP, 16, 0x80},
    {"record_lane_bit_padding", "lane_bf16_small", "LP_ECORRUPT", HARM_DATA_FLIP, 184, 1},
    {"record_lane_padding", "lane_bf16_small", "LP_ECORRUPT", HARM_DATA_FLIP, 21, 1},
    {"record_lane_base", "lane_f64_varied", "LP_ECORRUPT", HARM_DATA_FLIP, 241, 0x80},
    {"record_lane_raw_exponent", "lane_f16_special", "LP_ECORRUPT", HARM_DATA_FLIP, 219, 0xff},
    {"record_zip7_code", "zip7_bf16", "LP_ECORRUPT", HARM_DATA_FLIP, 219, 0xff},
    {"record_dict_code", "dict_bf16", "LP_ECORRUPT", HARM_DATA_FLIP, 1, 0xff},
    {"record_dict_no_value", "dict_u8", "LP_ECORRUPT", HARM_DATA_FLIP, 3, 1},
    {"record_dict_bit_padding", "dict_bf16", "LP_ECORRUPT", HARM_DATA_FLIP, 1, 1},
    {"record_dict_padding", "dict_bf16", "LP_ECORRUPT", HARM_DATA_FLIP, 79, 1},
    {"record_raw_padding", "dict_bf16", "LP_ECORRUPT", HARM_DATA_FLIP, 958, 1},
    {"record_zip7_padding", "zip7_bf16", "LP_ECORRUPT", HARM_DATA_FLIP, 276, 0xff},
    {"record_sparse_count", "sparse_f32_one", "LP_ECORRUPT", HARM_DATA_FLIP, 0, 0x3f},
    {"record_sparse_count_past_record", "sparse_f32_one", "LP_ECORRUPT", HARM_DATA_FLIP, 1, 0x7f},
    {"record_sparse_plain_of_raw", "sparse_i16_raw", "LP_ECORRUPT", HARM_DATA_FLIP, 1, 0x80},
    {"record_sparse_places", "sparse_f32_one", "LP_ECORRUPT", HARM_DATA_FLIP, 12, 0xff},
    {"record_sparse_places_fall", "sparse_f32_one", "LP_ECORRUPT", HARM_DATA_FLIP, 10, 1},
    {"record_sparse_map", "sparse_f32_lane", "LP_ECORRUPT", HARM_DATA_FLIP, 1, 1},
    {"record_sparse_bit_padding", "sparse_f32_one", "LP_ECORRUPT", HARM_DATA_FLIP, 532, 1},
    {"record_sparse_lane_padding", "sparse_f32_lane", "LP_ECORRUPT", HARM_DATA_FLIP, 146, 1},
    {"record_sparse_lane_too_short", "sparse_f32_lane", "LP_ECORRUPT", HARM_DATA_FLIP, 1760, 1},
    {"record_sparse_dict_too_short", "sparse_f64_dict", "LP_ECORRUPT", HARM_DATA_FLIP, 68, 1},
    {"record_sparse_padding", "sparse_f32_one", "LP_ECORRUPT", HARM_DATA_FLIP, 17, 1},
};

static void open_victim(struct victim *victim, const char *from)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(files); i++) {
        char *const names[1] = {(char[]){"tensor"}};
        struct packed packed;

        if (strcmp(files[i].name, from) != 0)
            continue;
        lp_mem_free(make_packed(&files[i].tensor, &packed));
        victim->file = lpk_memory_write(&packed, names, 1, &victim->bytes);
        victim->table = packed.table;
        packed_fini(&packed);
    }
    victim->meta = TABLE_AT + victim->table.meta_offset;
    victim->index = TABLE_AT + victim->table.index_offset;
    victim->checks = TABLE_AT + victim->table.checks_offset;
    victim->data = TABLE_AT + victim->table.head_bytes;
    victim->directory = lp_load_u64(victim->file + FILE_FIELD(directory_offset));
}

static void store(uint8_t *at, uint64_t value, uint32_t bytes)
{
    uint8_t word[8];

    lp_store_u64(word, value);
    memcpy(at, word, bytes);
}

static void harm(struct victim *victim, enum harm kind, uint64_t at, uint64_t value)
{
    uint8_t *const file = victim->file;

    if (kind <= HARM_TABLE_U64) {
        store(file + TABLE_AT + at, value, 1u << (kind - HARM_TABLE_U8));
        packed_seal_header(file + TABLE_AT);
    } else if (kind == HARM_TABLE_BARE || kind == HARM_DATA_BARE) {
        file[(kind == HARM_DATA_BARE ? victim->data : TABLE_AT) + at] ^= 1;
    } else if (kind == HARM_META_U8 || kind == HARM_INDEX_U16 || kind == HARM_INDEX_U64) {
        store(file + (kind == HARM_META_U8 ? victim->meta : victim->index) + at, value,
              kind == HARM_META_U8     ? 1
              : kind == HARM_INDEX_U16 ? 2
                                       : 8);
        seal(victim);
    } else if (kind == HARM_META_COPY) {
        file[victim->meta + at] = file[victim->meta + value];
        seal(victim);
    } else if (kind == HARM_META_LAST) {
        file[victim->meta + victim->table.meta_bytes - 1] = (uint8_t)value;
        seal(victim);
    } else if (kind == HARM_DATA_FLIP) {
        file[victim->data + at] ^= (uint8_t)value;
        seal_first_check(victim);
    } else if (kind == HARM_CUT) {
        victim->bytes = at == 0 ? victim->bytes - value : value;
    } else {
        const uint64_t from = kind >= HARM_DIRECTORY_U8 ? victim->directory : 0;

        store(file + from + at, value,
              kind == HARM_FILE_U16       ? 2
              : kind == HARM_FILE_U32     ? 4
              : kind == HARM_DIRECTORY_U8 ? 1
                                          : 8);
        if (kind < HARM_DIRECTORY_U8)
            lp_store_u64(file + FILE_FIELD(header_hash),
                         lp_codec_hash(file, FILE_FIELD(header_hash)));
        else
            seal_file(victim);
    }
}

static void write_invalid(const char *folder)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(cases); i++) {
        struct victim victim = {0};
        char path[4096], error[64];

        open_victim(&victim, cases[i].from);
        harm(&victim, cases[i].harm, cases[i].at, cases[i].value);
        (void)snprintf(path, sizeof(path), "%s/%s", folder, cases[i].name);
        (void)mkdir(path, 0755);
        write_file(path, "input", victim.file, victim.bytes);
        (void)snprintf(error, sizeof(error), "%s\n", cases[i].error);
        write_file(path, "error", error, strlen(error));
        lp_mem_free(victim.file);
    }
}

int main(int argc, char **argv)
{
    char valid[2048], invalid[2048];

    if (argc != 2) {
        (void)fprintf(stderr, "usage: make_golden FOLDER\n");
        return 2;
    }
    (void)snprintf(valid, sizeof(valid), "%s/valid", argv[1]);
    (void)snprintf(invalid, sizeof(invalid), "%s/invalid", argv[1]);
    (void)mkdir(valid, 0755);
    (void)mkdir(invalid, 0755);
    write_valid(valid);
    write_three(valid);
    write_invalid(invalid);
    return 0;
}
