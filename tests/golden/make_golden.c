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
#include "tests/lib/counts_data.h"
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
    TWIST_ROWS,       /* scale differs by row: a window per record pays */
    TWIST_COLUMNS,    /* scale differs by column and by first index: a base per column pays */
    TWIST_POSITIVE,   /* no sign is set */
    TWIST_NEGATIVE,   /* each sign is set */
    TWIST_UPCAST,     /* the lower half of each element is zero */
    TWIST_FEW,        /* thirty distinct values, some much more frequent */
    TWIST_RARE,       /* one element in twenty is not zero */
    TWIST_RARE_FEW,   /* and these have few values */
    TWIST_RARE_ONE,   /* and these are all the same */
    TWIST_HALF,       /* every other element is zero, more or less */
    TWIST_COUNTS,     /* counts scaled by row and by column */
    TWIST_COUNTS_ROW, /* counts scaled by row alone */
    TWIST_COUNTS_ODD, /* the first between other values, zeros and rows without counts; stored with
                         the scales that they were made with, whatever learning would choose */
    TWIST_KINDS       /* rows of four kinds: of each column the first quarter of the bits is one for
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
#include "tests/golden/golden_valid.def"
};

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "make_golden: %s: %s\n", what, why);
    exit(1);
}

static void write_file(const char *folder, const char *name, const void *bytes, uint64_t n)
{
    char path[8192];
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
    case TWIST_COUNTS:
    case TWIST_COUNTS_ROW:
    case TWIST_COUNTS_ODD:
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

static bool has_counts(const struct tensor *tensor)
{
    return tensor->twist == TWIST_COUNTS || tensor->twist == TWIST_COUNTS_ROW ||
           tensor->twist == TWIST_COUNTS_ODD;
}

/* Rows of counts are records. */
static struct counts_data counts_of(const struct tensor *tensor, const struct lp_geometry *geometry)
{
    uint32_t record_elements;

    if (lp_codec_plan_record(geometry, &tensor->params, &record_elements, NULL) < 0)
        die("a record", "is refused");
    return (struct counts_data){
        .n_rows = (uint32_t)((geometry->n_elements + record_elements - 1) / record_elements),
        .n_columns = record_elements,
        .of = tensor->dims[0] == 1 ? 3 : 8,
        .seed = 2026,
        .equal_columns = tensor->twist == TWIST_COUNTS_ROW,
        .odd = tensor->twist == TWIST_COUNTS_ODD};
}

/* The last record may be shorter. */
static void fill_counts(const struct tensor *tensor, const struct lp_geometry *geometry,
                        uint8_t *data)
{
    const struct counts_data counts = counts_of(tensor, geometry);
    const size_t bytes = (size_t)counts.n_rows * counts.n_columns * sizeof(float);
    uint8_t *const all = lp_mem_alloc(bytes);

    if (all == NULL)
        die("a tensor", "no memory");
    counts_data_fill(&counts, all);
    memcpy(data, all, geometry->logical_bytes);
    lp_mem_free(all);
}

static int take_counts(struct lp_table *table, void *user, struct lp_error *err)
{
    const struct counts_data counts = counts_of(user, &table->geometry);

    (void)err;
    lp_codec_sparse_fini(&table->sparse);
    table->sparse.values = LP_SPARSE_VALUES_COUNTS;
    table->sparse.elem_bytes = table->geometry.elem_bytes;
    counts_data_params(&counts, &table->sparse.counts);
    table->codec = LP_CODEC_SPARSE;
    table->meta_bytes = lp_codec_sparse_meta_bytes(&table->sparse);
    return 0;
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
    if (has_counts(tensor))
        fill_counts(tensor, ret_geometry, data);
    else if (tensor->twist != TWIST_NONE)
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
    struct tensor as_it_is = *tensor;

    if (tensor->twist == TWIST_COUNTS_ODD) {
        if (packed_make_changed(ret_packed, &geometry, &tensor->params, take_counts, &as_it_is,
                                data, NULL) != 0)
            die("a tensor of counts", "is not packed");
        return data;
    }
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
#include "tests/golden/golden_invalid.def"
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
