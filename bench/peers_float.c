/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that predict a float from its neighbours in a matrix: zfp in its reversible mode, and
 * fpzip. Neither has a 16-bit type. */
#include "base/bytes.h"
#include "bench/peers.h"
#include "codec/format.h"

#include <stdio.h>
#include <string.h>

/* As the libraries' manuals declare them; zfp's objects stay opaque. */
static struct {
    void *(*stream_open)(void *buffer, size_t bytes);
    void (*stream_close)(void *stream);
    void *(*zfp_open)(void *stream);
    void (*zfp_close)(void *zfp);
    void (*set_reversible)(void *zfp);
    void (*rewind)(void *zfp);
    void *(*field_1d)(const void *pointer, int type, size_t nx);
    void *(*field_2d)(const void *pointer, int type, size_t nx, size_t ny);
    size_t (*maximum_size)(const void *zfp, const void *field);
    void (*field_free)(void *field);
    size_t (*compress)(void *zfp, const void *field);
    size_t (*decompress)(void *zfp, void *field);
} zfp;
#define ZFP_TYPE_FLOAT 3
#define ZFP_TYPE_DOUBLE 4

struct fpzip_file {
    int type, prec;
    int nx, ny, nz, nf;
};
static struct {
    struct fpzip_file *(*read_from)(const void *buffer);
    int (*read_header)(struct fpzip_file *file);
    size_t (*read)(struct fpzip_file *file, void *data);
    void (*read_close)(struct fpzip_file *file);
    struct fpzip_file *(*write_to)(void *buffer, size_t room);
    int (*write_header)(struct fpzip_file *file);
    size_t (*write)(struct fpzip_file *file, const void *data);
    void (*write_close)(struct fpzip_file *file);
} fpzip;

static bool takes_floats(uint32_t dtype)
{
    return dtype == LP_DTYPE_F32 || dtype == LP_DTYPE_F64;
}

/* Both libraries point to a sentence; the version begins with its first digit. */
static void tell_version(void *library, const char *symbol, char *ret_version)
{
    const char *const *text = NULL;
    const char *version = "?";
    int length = 1;

    if (bench_peer_find(library, symbol, &text) && *text != NULL) {
        version = *text + strcspn(*text, "0123456789");
        length = (int)LP_MIN(strspn(version, "0123456789."), 16u);
    }
    (void)snprintf(ret_version, sizeof(((struct peer_figures *)NULL)->version), "%.*s", length,
                   version);
}

static bool open_zfp(const struct peer_places *places, char *ret_version)
{
    void *const library = bench_peer_open(places, "libzfp.so.1");

    if (library == NULL || !bench_peer_find(library, "stream_open", &zfp.stream_open) ||
        !bench_peer_find(library, "stream_close", &zfp.stream_close) ||
        !bench_peer_find(library, "zfp_stream_open", &zfp.zfp_open) ||
        !bench_peer_find(library, "zfp_stream_close", &zfp.zfp_close) ||
        !bench_peer_find(library, "zfp_stream_set_reversible", &zfp.set_reversible) ||
        !bench_peer_find(library, "zfp_stream_rewind", &zfp.rewind) ||
        !bench_peer_find(library, "zfp_field_1d", &zfp.field_1d) ||
        !bench_peer_find(library, "zfp_field_2d", &zfp.field_2d) ||
        !bench_peer_find(library, "zfp_stream_maximum_size", &zfp.maximum_size) ||
        !bench_peer_find(library, "zfp_field_free", &zfp.field_free) ||
        !bench_peer_find(library, "zfp_compress", &zfp.compress) ||
        !bench_peer_find(library, "zfp_decompress", &zfp.decompress))
        return false;
    tell_version(library, "zfp_version_string", ret_version);
    return true;
}

/* Code or decode data, a matrix or one row, from or into buffer. The library itself never looks
 * where the buffer ends. */
static size_t run_zfp(const struct peer_piece *piece, const void *data, void *buffer, size_t room,
                      bool encode)
{
    const int type = piece->dtype == LP_DTYPE_F32 ? ZFP_TYPE_FLOAT : ZFP_TYPE_DOUBLE;
    const size_t nx = piece->row_elements, ny = piece->n_bytes / piece->elem_bytes / nx;
    void *const stream = zfp.stream_open(buffer, room);
    void *const zip = zfp.zfp_open(stream);
    void *const field = ny > 1 ? zfp.field_2d(data, type, nx, ny) : zfp.field_1d(data, type, nx);
    size_t written = 0;

    zfp.set_reversible(zip);
    zfp.rewind(zip);
    if (!encode)
        written = zfp.decompress(zip, field);
    else if (zfp.maximum_size(zip, field) <= room)
        written = zfp.compress(zip, field);
    zfp.field_free(field);
    zfp.zfp_close(zip);
    zfp.stream_close(stream);
    return written;
}

static size_t encode_zfp(const struct peer_piece *piece, uint8_t *dst, size_t room)
{
    return run_zfp(piece, piece->src, dst, room, true);
}

static size_t decode_zfp(const struct peer_piece *piece, const uint8_t *coded, size_t coded_bytes,
                         uint8_t *dst)
{
    /* It only reads, through a pointer that could write. */
    return run_zfp(piece, dst, (void *)(uintptr_t)coded, coded_bytes, false) > 0 ? piece->n_bytes
                                                                                 : 0;
}

static bool open_fpzip(const struct peer_places *places, char *ret_version)
{
    void *const library = bench_peer_open(places, "libfpzip.so.1");

    if (library == NULL || !bench_peer_find(library, "fpzip_read_from_buffer", &fpzip.read_from) ||
        !bench_peer_find(library, "fpzip_read_header", &fpzip.read_header) ||
        !bench_peer_find(library, "fpzip_read", &fpzip.read) ||
        !bench_peer_find(library, "fpzip_read_close", &fpzip.read_close) ||
        !bench_peer_find(library, "fpzip_write_to_buffer", &fpzip.write_to) ||
        !bench_peer_find(library, "fpzip_write_header", &fpzip.write_header) ||
        !bench_peer_find(library, "fpzip_write", &fpzip.write) ||
        !bench_peer_find(library, "fpzip_write_close", &fpzip.write_close))
        return false;
    tell_version(library, "fpzip_version_string", ret_version);
    return true;
}

static size_t encode_fpzip(const struct peer_piece *piece, uint8_t *dst, size_t room)
{
    struct fpzip_file *const file = fpzip.write_to(dst, room);
    size_t written = 0;

    if (file == NULL)
        return 0;
    file->type = piece->dtype == LP_DTYPE_F64;
    file->prec = 0; /* all bits */
    file->nx = (int)piece->row_elements;
    file->ny = (int)(piece->n_bytes / piece->elem_bytes / piece->row_elements);
    file->nz = file->nf = 1;
    if (fpzip.write_header(file) != 0)
        written = fpzip.write(file, piece->src);
    fpzip.write_close(file);
    return written;
}

static size_t decode_fpzip(const struct peer_piece *piece, const uint8_t *coded, size_t coded_bytes,
                           uint8_t *dst)
{
    struct fpzip_file *const file = fpzip.read_from(coded);
    size_t got = 0;

    (void)coded_bytes;
    if (file == NULL)
        return 0;
    if (fpzip.read_header(file) != 0)
        got = fpzip.read(file, dst);
    fpzip.read_close(file);
    return got > 0 ? piece->n_bytes : 0;
}

const struct peer bench_peers_float[PEERS_FLOAT] = {
    {"zfp reversible", open_zfp, takes_floats, encode_zfp, decode_zfp},
    {"fpzip", open_fpzip, takes_floats, encode_fpzip, decode_fpzip},
};
