/* SPDX-License-Identifier: Apache-2.0 */
/* .npy, versions 1.0, 2.0 and 3.0.
 *
 *   6 bytes magic | 1 byte major | 1 byte minor | header length, 2 bytes (version 1) or 4
 *   header: a Python dict literal {'descr': ..., 'fortran_order': ..., 'shape': ...}
 *   the elements, to the end of the file
 *
 * The literal is read by a parser of just that dict: nothing is evaluated, nothing else accepted.
 * Source: numpy's NEP 1. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "store/load_impl.h"

#include <stdio.h>
#include <string.h>

#define MAGIC_BYTES 8    /* with the two bytes of the version */
#define DIMS_SEEN_MAX 32 /* numpy's own limit for long; more than our 8, to name the number */

/* The header's text; base is where it begins in the file, so that errors name the file's byte. */
struct literal {
    const char *text;
    size_t size, pos;
    uint64_t base;
    struct lp_error *err;
};

struct header {
    uint32_t dtype;
    bool fortran_order;
    uint32_t ndim;
    uint64_t dims[DIMS_SEEN_MAX];
    bool has_descr, has_order, has_shape;
};

static unsigned long long here(const struct literal *literal)
{
    return (unsigned long long)(literal->base + literal->pos);
}

static int broken(const struct literal *literal, const char *expected)
{
    return lp_error_set(literal->err, LP_ECORRUPT, "npy header, byte %llu: expected %s",
                        here(literal), expected);
}

static void skip_space(struct literal *literal)
{
    while (literal->pos < literal->size && strchr(" \t\r\n", literal->text[literal->pos]) != NULL &&
           literal->text[literal->pos] != '\0')
        literal->pos++;
}

/* The next character after white space, or 0 at the end; it stays. */
static char peek(struct literal *literal)
{
    skip_space(literal);
    return literal->pos < literal->size ? literal->text[literal->pos] : '\0';
}

static bool accept(struct literal *literal, char c)
{
    if (peek(literal) != c || c == '\0')
        return false;
    literal->pos++;
    return true;
}

static bool accept_word(struct literal *literal, const char *word)
{
    const size_t n = strlen(word);

    skip_space(literal);
    if (literal->size - literal->pos < n || memcmp(literal->text + literal->pos, word, n) != 0)
        return false;
    literal->pos += n;
    return true;
}

/* A string without escapes, copied to buffer and ended by 0. */
static int read_string(struct literal *literal, char *buffer, size_t room, const char *what)
{
    const char quote = peek(literal);
    size_t n = 0;

    if (quote != '\'' && quote != '"')
        return broken(literal, what);
    literal->pos++;
    while (literal->pos < literal->size && literal->text[literal->pos] != quote) {
        const char c = literal->text[literal->pos];
        if (c == '\\' || (unsigned char)c < 0x20u || (unsigned char)c > 0x7Eu || n + 1 >= room)
            return broken(literal, what);
        buffer[n++] = c;
        literal->pos++;
    }
    if (!accept(literal, quote))
        return broken(literal, "the end of a string");
    buffer[n] = '\0';
    return 0;
}

/* One length of the shape; Python 2 wrote an L behind it. */
static int read_length(struct literal *literal, uint64_t *ret_length)
{
    const char first = peek(literal);
    uint64_t value = 0;

    if (first < '0' || first > '9')
        return broken(literal, "a length of the shape");
    do {
        const uint64_t digit = (uint64_t)(literal->text[literal->pos] - '0');
        if (!lp_mul_u64(value, 10, &value) || !lp_add_u64(value, digit, &value))
            return lp_error_set(literal->err, LP_ECORRUPT,
                                "npy header, byte %llu: a length of the shape is too large",
                                here(literal));
        literal->pos++;
    } while (literal->pos < literal->size && literal->text[literal->pos] >= '0' &&
             literal->text[literal->pos] <= '9');
    if (first == '0' && value != 0)
        return broken(literal, "a length without leading zeros");
    if (literal->pos < literal->size && literal->text[literal->pos] == 'L')
        literal->pos++;
    *ret_length = value;
    return 0;
}

/* A tuple: "()", "(3,)", "(3, 4)"; "(3)" is no tuple in Python. */
static int read_shape(struct literal *literal, struct header *header)
{
    bool comma = true;
    int rc;

    if (!accept(literal, '('))
        return broken(literal, "a tuple for 'shape'");
    while (!accept(literal, ')')) {
        if (!comma)
            return broken(literal, "',' or ')'");
        if (header->ndim == DIMS_SEEN_MAX)
            return lp_error_set(literal->err, LP_ENOTSUP,
                                "npy header, byte %llu: more than %u dimensions; at most %u",
                                here(literal), DIMS_SEEN_MAX, LP_FORMAT_DIMS_MAX);
        LP_TRY(rc, read_length(literal, &header->dims[header->ndim]));
        header->ndim++;
        comma = accept(literal, ',');
    }
    if (header->ndim == 1 && !comma)
        return broken(literal, "',' after the only length of a shape");
    if (header->ndim > LP_FORMAT_DIMS_MAX)
        return lp_error_set(literal->err, LP_ENOTSUP, "npy key 'shape': %u dimensions; at most %u",
                            header->ndim, LP_FORMAT_DIMS_MAX);
    return 0;
}

/* What numpy calls the kinds that we do not take. */
static const char *kind_refused(char kind)
{
    switch (kind) {
    case 'O':
        return "object";
    case 'S':
    case 'a':
        return "byte string";
    case 'U':
        return "string";
    case 'c':
        return "complex";
    case 'M':
        return "datetime";
    case 'm':
        return "timedelta";
    case 'f':
    case 'i':
    case 'u':
    case 'b':
        return "number of this size";
    default:
        return NULL;
    }
}

static uint32_t dtype_find(char kind, const char *size)
{
    static const struct {
        char kind;
        const char *size;
        uint32_t dtype;
    } rows[] = {
        {'f', "8", LP_DTYPE_F64}, {'f', "4", LP_DTYPE_F32}, {'f', "2", LP_DTYPE_F16},
        {'i', "1", LP_DTYPE_I8},  {'u', "1", LP_DTYPE_U8},  {'i', "2", LP_DTYPE_I16},
        {'u', "2", LP_DTYPE_U16}, {'i', "4", LP_DTYPE_I32}, {'u', "4", LP_DTYPE_U32},
        {'i', "8", LP_DTYPE_I64}, {'u', "8", LP_DTYPE_U64}, {'b', "1", LP_DTYPE_BOOL},
        {'c', "8", LP_DTYPE_C64},
    };

    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        if (rows[i].kind == kind && strcmp(rows[i].size, size) == 0)
            return rows[i].dtype;
    }
    return 0;
}

/* at: the file's byte where the descr's string begins. */
static int descr_refuse(const char *descr, unsigned long long at, struct lp_error *err)
{
    const char *refused = kind_refused(descr[1]);

    if (descr[1] == 'V')
        return lp_error_set(err, LP_ENOTSUP,
                            "npy key 'descr', byte %llu: '%s' is void (bfloat16 and float8 are "
                            "saved so): give dtype, shape and offset to read it as raw binary",
                            at, descr);
    if (refused == NULL)
        return lp_error_set(err, LP_ECORRUPT, "npy key 'descr', byte %llu: '%s' is no dtype", at,
                            descr);
    return lp_error_set(err, LP_ENOTSUP, "npy key 'descr', byte %llu: '%s' (%s) is not supported",
                        at, descr, refused);
}

/* "<f4": byte order, kind, size. */
static int descr_decode(const char *descr, unsigned long long at, uint32_t *ret_dtype,
                        struct lp_error *err)
{
    if (strlen(descr) < 2 || strchr("<>|=", descr[0]) == NULL)
        return lp_error_set(err, LP_ECORRUPT,
                            "npy key 'descr', byte %llu: '%s' does not begin with a byte order", at,
                            descr);
    const uint32_t dtype = dtype_find(descr[1], descr + 2);
    if (dtype == 0)
        return descr_refuse(descr, at, err);
    if (descr[0] == '>')
        return lp_error_set(err, LP_ENOTSUP,
                            "npy key 'descr', byte %llu: '%s' is big-endian, only little-endian "
                            "is supported; a.astype('<%s') in numpy converts it",
                            at, descr, descr + 1);
    if (descr[0] != '<' && strcmp(descr + 2, "1") != 0)
        return lp_error_set(err, LP_ENOTSUP,
                            "npy key 'descr', byte %llu: '%s' leaves the byte order open", at,
                            descr);
    *ret_dtype = dtype;
    return 0;
}

static int read_descr(struct literal *literal, struct header *header)
{
    char descr[32];
    int rc;

    const char first = peek(literal);
    const unsigned long long at = here(literal);
    if (first == '[' || first == '(' || first == '{')
        return lp_error_set(literal->err, LP_ENOTSUP,
                            "npy key 'descr', byte %llu: structured dtypes are not supported", at);
    LP_TRY(rc, read_string(literal, descr, sizeof(descr), "a string for 'descr'"));
    return descr_decode(descr, at, &header->dtype, literal->err);
}

static int read_order(struct literal *literal, struct header *header)
{
    if (accept_word(literal, "True"))
        header->fortran_order = true;
    else if (!accept_word(literal, "False"))
        return broken(literal, "True or False for 'fortran_order'");
    return 0;
}

static int read_value(struct literal *literal, const char *key, struct header *header)
{
    static const struct {
        const char *key;
        int (*read)(struct literal *literal, struct header *header);
        size_t seen; /* where header notes it */
    } rows[] = {
        {"descr", read_descr, offsetof(struct header, has_descr)},
        {"fortran_order", read_order, offsetof(struct header, has_order)},
        {"shape", read_shape, offsetof(struct header, has_shape)},
    };

    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        bool *seen = (bool *)((char *)header + rows[i].seen);

        if (strcmp(rows[i].key, key) != 0)
            continue;
        if (*seen)
            return lp_error_set(literal->err, LP_ECORRUPT, "npy key '%s' stands twice", key);
        *seen = true;
        return rows[i].read(literal, header);
    }
    return lp_error_set(literal->err, LP_ECORRUPT, "npy header, byte %llu: unknown key '%s'",
                        here(literal), key);
}

static int read_dict(struct literal *literal, struct header *header)
{
    char key[32];
    bool comma = true;
    int rc;

    if (!accept(literal, '{'))
        return broken(literal, "'{'");
    while (!accept(literal, '}')) {
        if (!comma)
            return broken(literal, "',' or '}'");
        LP_TRY(rc, read_string(literal, key, sizeof(key), "a key"));
        if (!accept(literal, ':'))
            return broken(literal, "':'");
        LP_TRY(rc, read_value(literal, key, header));
        comma = accept(literal, ',');
    }
    skip_space(literal);
    if (literal->pos != literal->size)
        return broken(literal, "nothing but white space");
    return 0;
}

static int header_complete(const struct header *header, struct lp_error *err)
{
    const char *missing = NULL;

    if (!header->has_descr)
        missing = "descr";
    else if (!header->has_order)
        missing = "fortran_order";
    else if (!header->has_shape)
        missing = "shape";
    if (missing != NULL)
        return lp_error_set(err, LP_ECORRUPT, "npy header has no key '%s'", missing);
    return 0;
}

/* Version and length: where the text begins and how long it is. */
static int preamble_read(const struct lp_load_file *file, uint64_t file_bytes, uint64_t *ret_base,
                         size_t *ret_bytes, struct lp_error *err)
{
    uint8_t head[MAGIC_BYTES + 4];
    int rc;

    if (file_bytes < sizeof(head))
        return lp_error_set(err, LP_ECORRUPT, "npy file ends at byte %llu, within its header",
                            (unsigned long long)file_bytes);
    LP_TRY(rc, lp_load_fetch(file, 0, head, sizeof(head), err));
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return lp_error_set(err, LP_ECORRUPT, "is no npy file: byte 0 does not begin its magic");
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return lp_error_set(err, LP_ENOTSUP, "npy version %u.%u, byte 6: only 1.0, 2.0 and 3.0",
                            head[6], head[7]);
    const bool narrow = head[6] == 1;
    const uint32_t bytes = narrow ? lp_load_u16(head + 8) : lp_load_u32(head + 8);
    const uint64_t base = narrow ? 10 : 12;
    if (bytes > LP_LOAD_NPY_HEADER_MAX)
        return lp_error_set(err, LP_ELIMIT, "npy header of %u bytes, byte 8: at most %u", bytes,
                            LP_LOAD_NPY_HEADER_MAX);
    if (bytes > file_bytes - base)
        return lp_error_set(err, LP_ECORRUPT,
                            "npy header of %u bytes, byte 8: the file has %llu in all", bytes,
                            (unsigned long long)file_bytes);
    *ret_base = base;
    *ret_bytes = bytes;
    return 0;
}

static int header_read(const struct lp_load_file *file, uint64_t base, size_t bytes,
                       struct header *header, struct lp_error *err)
{
    struct literal literal = {.size = bytes, .base = base, .err = err};
    char *text = lp_mem_alloc(bytes);
    int rc;

    if (text == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for an npy header of %zu bytes", bytes);
    literal.text = text;
    LP_TRY_GOTO(rc, lp_load_fetch(file, base, text, bytes, err), done);
    LP_TRY_GOTO(rc, read_dict(&literal, header), done);
    rc = header_complete(header, err);

done:
    lp_mem_free(text);
    return rc;
}

/* The elements reach exactly to the end of the file. */
static int size_check(uint64_t file_bytes, const struct lp_load_tensor *tensor,
                      struct lp_error *err)
{
    const uint64_t there = file_bytes - tensor->file_offset;

    if (there < tensor->file_bytes)
        return lp_error_set(err, LP_ECORRUPT,
                            "npy file is cut: %llu bytes of elements from byte %llu on, of %llu",
                            (unsigned long long)there, (unsigned long long)tensor->file_offset,
                            (unsigned long long)tensor->file_bytes);
    if (there > tensor->file_bytes)
        return lp_error_set(err, LP_ECORRUPT,
                            "npy file has %llu bytes behind its last element, from byte %llu on",
                            (unsigned long long)(there - tensor->file_bytes),
                            (unsigned long long)(tensor->file_offset + tensor->file_bytes));
    return 0;
}

int lp_load_npy_tensor(struct lp_load_file *file, uint64_t file_bytes, const char *name,
                       struct lp_load_tensor *tensor, struct lp_error *err)
{
    struct header header = {0};
    uint64_t base = 0;
    size_t bytes = 0;
    int rc;

    LP_TRY(rc, preamble_read(file, file_bytes, &base, &bytes, err));
    LP_TRY(rc, header_read(file, base, bytes, &header, err));
    rc = lp_load_tensor_init(file, tensor, name, header.dtype, header.ndim, header.dims, err);
    if (rc < 0)
        return lp_error_wrap(err, rc == LP_ESIZE ? LP_ECORRUPT : rc, "npy key 'shape' or 'descr'");
    tensor->file_offset = base + bytes;
    tensor->fortran_order = header.fortran_order && header.ndim > 1;
    return size_check(file_bytes, tensor, err);
}

int lp_load_npy_parse(struct lp_load_file *file, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, lp_load_tensors_reserve(file, 1, err));
    return lp_load_npy_tensor(file, file->bytes, file->stem, &file->tensors[0], err);
}
