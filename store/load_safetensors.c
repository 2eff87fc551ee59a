/* SPDX-License-Identifier: Apache-2.0 */
/* .safetensors.
 *
 *   8 bytes header length | header, JSON, maybe spaces behind it | the elements, to the end
 *   header: {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets": [begin, end]}}
 *
 * The tensors' bytes must cover all that follows the header, without holes and overlaps; they may
 * begin at any address. All dtypes of version 0.8 of the reference implementation are known. The
 * text is scanned for depth and number of values before jansson makes a tree of it, so that a small
 * file cannot ask for much memory. Source: the safetensors format description. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "store/load_impl.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8u
#define DEPTH_MAX 3u /* header, tensor, list */

/* A tensor on its way from the JSON to the file's list. */
struct entry {
    const char *name;            /* borrows from the JSON */
    uint32_t dtype, ndim, place; /* place: in the header's order */
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    uint64_t begin, end;
};

static const struct {
    const char *name;
    uint32_t dtype;
} dtype_rows[] = {
    {"F64", LP_DTYPE_F64},
    {"F32", LP_DTYPE_F32},
    {"F16", LP_DTYPE_F16},
    {"BF16", LP_DTYPE_BF16},
    {"F8_E4M3", LP_DTYPE_F8_E4M3},
    {"F8_E5M2", LP_DTYPE_F8_E5M2},
    {"I8", LP_DTYPE_I8},
    {"U8", LP_DTYPE_U8},
    {"I16", LP_DTYPE_I16},
    {"U16", LP_DTYPE_U16},
    {"I32", LP_DTYPE_I32},
    {"U32", LP_DTYPE_U32},
    {"I64", LP_DTYPE_I64},
    {"U64", LP_DTYPE_U64},
    {"BOOL", LP_DTYPE_BOOL},
    {"F4", LP_DTYPE_F4_X2},
    {"F6_E2M3", LP_DTYPE_F6_E2M3_X4},
    {"F6_E3M2", LP_DTYPE_F6_E3M2_X4},
    {"F8_E8M0", LP_DTYPE_F8_E8M0},
    {"F8_E4M3FNUZ", LP_DTYPE_F8_E4M3FNUZ},
    {"F8_E5M2FNUZ", LP_DTYPE_F8_E5M2FNUZ},
    {"C64", LP_DTYPE_C64},
};

/* Walk over a string that begins at text[at]; returns where it ends, or size. */
static size_t scan_string(const char *text, size_t size, size_t at)
{
    for (at++; at < size && text[at] != '"'; at++) {
        if (text[at] == '\\')
            at++;
    }
    return at;
}

/* Depth and number of values, before any tree is made. Not a check of the JSON: jansson does that.
 */
static int header_scan(const char *text, size_t size, struct lp_error *err)
{
    uint32_t depth = 0, values = 0;

    for (size_t i = 0; i < size; i++) {
        const char c = text[i];

        if (c == '"')
            i = scan_string(text, size, i);
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth > 0)
            depth--;
        values += c == ',' || c == '{' || c == '[';
        if (depth > DEPTH_MAX)
            return lp_error_set(err, LP_ECORRUPT,
                                "safetensors header, byte %zu: nested deeper than %u",
                                LENGTH_BYTES + i, DEPTH_MAX);
        if (values > LP_LOAD_SAFETENSORS_VALUES_MAX)
            return lp_error_set(err, LP_ELIMIT, "safetensors header has more than %u values",
                                LP_LOAD_SAFETENSORS_VALUES_MAX);
    }
    return 0;
}

static int header_length(const struct lp_load_file *file, size_t *ret_bytes, struct lp_error *err)
{
    uint8_t head[LENGTH_BYTES];
    int rc;

    if (file->bytes < LENGTH_BYTES)
        return lp_error_set(err, LP_ECORRUPT,
                            "safetensors file ends at byte %llu, within its header length",
                            (unsigned long long)file->bytes);
    LP_TRY(rc, lp_load_fetch(file, 0, head, sizeof(head), err));
    const uint64_t bytes = lp_load_u64(head);
    if (bytes > LP_LOAD_SAFETENSORS_HEADER_MAX)
        return lp_error_set(err, LP_ELIMIT,
                            "safetensors header length, byte 0: %llu bytes; at most %u",
                            (unsigned long long)bytes, LP_LOAD_SAFETENSORS_HEADER_MAX);
    if (bytes < 2 || bytes > file->bytes - LENGTH_BYTES)
        return lp_error_set(
            err, LP_ECORRUPT, "safetensors header length, byte 0: %llu bytes, but %llu follow",
            (unsigned long long)bytes, (unsigned long long)(file->bytes - LENGTH_BYTES));
    *ret_bytes = (size_t)bytes;
    return 0;
}

static int header_load(const char *text, size_t bytes, json_t **ret_root, struct lp_error *err)
{
    json_error_t why;
    int rc;

    if (text[0] != '{')
        return lp_error_set(err, LP_ECORRUPT, "safetensors header, byte %u: expected '{'",
                            LENGTH_BYTES);
    LP_TRY(rc, header_scan(text, bytes, err));
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
    if (root != NULL) {
        *ret_root = root;
        return 0;
    }
    if (json_error_code(&why) == json_error_out_of_memory)
        return lp_error_set(err, LP_ENOMEM, "no memory for a safetensors header");
    return lp_error_set(err, LP_ECORRUPT, "safetensors header, byte %d: %.120s",
                        (int)LENGTH_BYTES + why.position, why.text);
}

/* Text and JSON of the header; *ret_base is the byte where the elements begin. */
static int header_read(const struct lp_load_file *file, json_t **ret_root, uint64_t *ret_base,
                       struct lp_error *err)
{
    size_t bytes = 0;
    int rc;

    LP_TRY(rc, header_length(file, &bytes, err));
    char *text = lp_mem_alloc(bytes);
    if (text == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a safetensors header of %zu bytes",
                            bytes);
    LP_TRY_GOTO(rc, lp_load_fetch(file, LENGTH_BYTES, text, bytes, err), done);
    LP_TRY_GOTO(rc, header_load(text, bytes, ret_root, err), done);
    *ret_base = LENGTH_BYTES + bytes;

done:
    lp_mem_free(text);
    return rc;
}

static int metadata_check(const json_t *metadata, struct lp_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(metadata))
        return lp_error_set(err, LP_ECORRUPT, "key '__metadata__': not an object");
    /* jansson walks objects through a pointer that is not const; nothing is changed. */
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value)
    {
        if (!json_is_string(value))
            return lp_error_set(err, LP_ECORRUPT, "key '__metadata__': '%.64s' is no string", key);
    }
    return 0;
}

static int read_dtype(const json_t *value, struct entry *entry, struct lp_error *err)
{
    const char *name = json_string_value(value);

    if (name == NULL)
        return lp_error_set(err, LP_ECORRUPT, "key 'dtype': not a string");
    for (size_t i = 0; i < LP_ARRAY_LEN(dtype_rows); i++) {
        if (strcmp(dtype_rows[i].name, name) != 0)
            continue;
        entry->dtype = dtype_rows[i].dtype;
        return 0;
    }
    return lp_error_set(err, LP_ENOTSUP, "key 'dtype': '%.32s' is unknown", name);
}

/* A list of count numbers that are not negative. */
static int read_numbers(const json_t *list, size_t count, const char *key, uint64_t *dst,
                        struct lp_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);

        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return lp_error_set(err, LP_ECORRUPT, "key '%s': entry %zu is no count", key, i);
        dst[i] = (uint64_t)json_integer_value(item);
    }
    return 0;
}

static int read_shape(const json_t *value, struct entry *entry, struct lp_error *err)
{
    if (!json_is_array(value))
        return lp_error_set(err, LP_ECORRUPT, "key 'shape': not a list");
    if (json_array_size(value) > LP_FORMAT_DIMS_MAX)
        return lp_error_set(err, LP_ENOTSUP, "key 'shape': %zu dimensions; at most %u",
                            json_array_size(value), LP_FORMAT_DIMS_MAX);
    entry->ndim = (uint32_t)json_array_size(value);
    return read_numbers(value, entry->ndim, "shape", entry->dims, err);
}

static int read_offsets(const json_t *value, struct entry *entry, struct lp_error *err)
{
    uint64_t pair[2];
    int rc;

    if (!json_is_array(value) || json_array_size(value) != 2)
        return lp_error_set(err, LP_ECORRUPT, "key 'data_offsets': not a list of two");
    LP_TRY(rc, read_numbers(value, 2, "data_offsets", pair, err));
    if (pair[1] < pair[0])
        return lp_error_set(err, LP_ECORRUPT, "key 'data_offsets': ends before it begins");
    entry->begin = pair[0];
    entry->end = pair[1];
    return 0;
}

/* One tensor's object: exactly the three keys. */
static int read_entry(const json_t *value, struct entry *entry, struct lp_error *err)
{
    static const struct {
        const char *key;
        int (*read)(const json_t *value, struct entry *entry, struct lp_error *err);
    } rows[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};
    int rc;

    if (!json_is_object(value))
        return lp_error_set(err, LP_ECORRUPT, "not an object");
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        const json_t *field = json_object_get(value, rows[i].key);

        if (field == NULL)
            return lp_error_set(err, LP_ECORRUPT, "key '%s' is missing", rows[i].key);
        LP_TRY(rc, rows[i].read(field, entry, err));
    }
    if (json_object_size(value) != LP_ARRAY_LEN(rows))
        return lp_error_set(err, LP_ECORRUPT, "has keys beside dtype, shape and data_offsets");
    return 0;
}

static int entry_wrap(struct lp_error *err, int rc, const char *name)
{
    return lp_error_wrap(err, rc, "tensor '%.*s'%s", LP_LOAD_NAME_SHOWN, name,
                         strlen(name) > LP_LOAD_NAME_SHOWN ? "..." : "");
}

/* All entries of the header, in its order. *ret_n of them; entries has room for one per key. */
static int entries_read(json_t *root, struct entry *entries, uint32_t *ret_n, struct lp_error *err)
{
    const char *name;
    json_t *value;
    uint32_t n = 0;
    int rc;

    json_object_foreach(root, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            LP_TRY(rc, metadata_check(value, err));
            continue;
        }
        entries[n] = (struct entry){.name = name, .place = n};
        rc = read_entry(value, &entries[n], err);
        if (rc < 0)
            return entry_wrap(err, rc, name);
        n++;
    }
    *ret_n = n;
    return 0;
}

static int entry_order(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Each begins where the one before ended. */
static int entry_follows(const struct entry *entry, uint64_t at, uint64_t data_bytes,
                         struct lp_error *err)
{
    if (entry->begin != at)
        return lp_error_set(err, LP_ECORRUPT, "key 'data_offsets': begins at %llu, %s",
                            (unsigned long long)entry->begin,
                            entry->begin < at ? "within another tensor" : "behind a hole");
    if (entry->end > data_bytes)
        return lp_error_set(err, LP_ECORRUPT,
                            "key 'data_offsets': ends at %llu, but the file has %llu bytes of data",
                            (unsigned long long)entry->end, (unsigned long long)data_bytes);
    return 0;
}

/* The file's shape counts values, ours counts elements: values of 4 or 6 bits must fill whole
 * elements along the last dimension, or rows would begin within a byte. */
static int entry_count_elements(struct entry *entry, struct lp_error *err)
{
    const uint32_t values = lp_codec_dtype_info(entry->dtype)->values;
    uint64_t *last = &entry->dims[LP_MAX(entry->ndim, 1u) - 1];

    if (values == 1)
        return 0;
    if (entry->ndim == 0 || *last % values != 0)
        return lp_error_set(err, LP_ENOTSUP,
                            "key 'shape': values of %u bits travel %u at a time, and the last "
                            "dimension is no multiple of %u",
                            8 * lp_codec_dtype_info(entry->dtype)->bytes / values, values, values);
    *last /= values;
    return 0;
}

static int entry_place(struct lp_load_file *file, struct entry *entry, uint64_t base,
                       struct lp_load_tensor *tensor, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, entry_count_elements(entry, err));
    rc =
        lp_load_tensor_init(file, tensor, entry->name, entry->dtype, entry->ndim, entry->dims, err);
    if (rc < 0)
        return rc == LP_ESIZE ? lp_error_wrap(err, LP_ECORRUPT, "key 'shape'") : rc;
    if (entry->end - entry->begin != tensor->file_bytes)
        return lp_error_set(err, LP_ECORRUPT,
                            "key 'data_offsets': %llu bytes, but dtype and shape make %llu",
                            (unsigned long long)(entry->end - entry->begin),
                            (unsigned long long)tensor->file_bytes);
    tensor->file_offset = base + entry->begin;
    return 0;
}

/* Sort by place in the file, check that all bytes are spoken for, and fill the file's list. */
static int entries_place(struct lp_load_file *file, struct entry *entries, uint32_t n,
                         uint64_t base, struct lp_error *err)
{
    const uint64_t data_bytes = file->bytes - base;
    uint64_t at = 0;
    int rc;

    if (n > 0)
        qsort(entries, n, sizeof(*entries), entry_order);
    LP_TRY(rc, lp_load_tensors_reserve(file, n, err));
    for (uint32_t i = 0; i < n; i++) {
        rc = entry_follows(&entries[i], at, data_bytes, err);
        if (rc == 0)
            rc = entry_place(file, &entries[i], base, &file->tensors[i], err);
        if (rc < 0)
            return entry_wrap(err, rc, entries[i].name);
        at = entries[i].end;
    }
    if (at != data_bytes)
        return lp_error_set(err, LP_ECORRUPT, "%llu bytes from byte %llu on belong to no tensor",
                            (unsigned long long)(data_bytes - at), (unsigned long long)(base + at));
    return 0;
}

int lp_load_safetensors_parse(struct lp_load_file *file, struct lp_error *err)
{
    json_t *root = NULL;
    struct entry *entries;
    uint64_t base = 0;
    uint32_t n = 0;
    int rc;

    LP_TRY(rc, header_read(file, &root, &base, err));
    entries = lp_mem_alloc_array(json_object_size(root), sizeof(*entries));
    if (entries == NULL) {
        rc = lp_error_set(err, LP_ENOMEM, "no memory for %zu tensors", json_object_size(root));
        goto done;
    }
    LP_TRY_GOTO(rc, entries_read(root, entries, &n, err), done);
    rc = entries_place(file, entries, n, base, err);

done:
    lp_mem_free(entries);
    json_decref(root);
    return rc;
}
