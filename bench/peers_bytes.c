/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that compress bytes: zstd, lz4, and blosc, which shuffles bits before zstd. */
#include "base/bytes.h"
#include "bench/peers.h"

#include <stdio.h>

/* As the libraries' manuals declare them. */
static struct {
    size_t (*compress)(void *dst, size_t room, const void *src, size_t n, int level);
    size_t (*decompress)(void *dst, size_t room, const void *src, size_t n);
    unsigned (*is_error)(size_t code);
    const char *(*version)(void);
} zstd;

static struct {
    int (*compress)(const char *src, char *dst, int n, int room);
    int (*decompress)(const char *src, char *dst, int n, int room);
    const char *(*version)(void);
} lz4;

static struct {
    void (*init)(void);
    int (*set_compressor)(const char *name);
    int (*set_threads)(int n);
    const char *(*version)(void);
    int (*compress)(int level, int shuffle, size_t elem_bytes, size_t n, const void *src, void *dst,
                    size_t room);
    int (*decompress)(const void *src, void *dst, size_t room);
} blosc;

#define BLOSC_BITSHUFFLE 2
#define BLOSC_LEVEL 5

static void tell_version(char *ret_version, const char *version)
{
    (void)snprintf(ret_version, sizeof(((struct peer_figures *)NULL)->version), "%s", version);
}

static bool open_zstd(const struct peer_places *places, char *ret_version)
{
    void *const library = bench_peer_open(places, "libzstd.so.1");

    if (library == NULL || !bench_peer_find(library, "ZSTD_compress", &zstd.compress) ||
        !bench_peer_find(library, "ZSTD_decompress", &zstd.decompress) ||
        !bench_peer_find(library, "ZSTD_isError", &zstd.is_error) ||
        !bench_peer_find(library, "ZSTD_versionString", &zstd.version))
        return false;
    tell_version(ret_version, zstd.version());
    return true;
}

static bool open_lz4(const struct peer_places *places, char *ret_version)
{
    void *const library = bench_peer_open(places, "liblz4.so.1");

    if (library == NULL || !bench_peer_find(library, "LZ4_compress_default", &lz4.compress) ||
        !bench_peer_find(library, "LZ4_decompress_safe", &lz4.decompress) ||
        !bench_peer_find(library, "LZ4_versionString", &lz4.version))
        return false;
    tell_version(ret_version, lz4.version());
    return true;
}

static bool open_blosc(const struct peer_places *places, char *ret_version)
{
    void *const library = bench_peer_open(places, "libblosc.so.1");

    if (library == NULL || !bench_peer_find(library, "blosc_init", &blosc.init) ||
        !bench_peer_find(library, "blosc_set_compressor", &blosc.set_compressor) ||
        !bench_peer_find(library, "blosc_set_nthreads", &blosc.set_threads) ||
        !bench_peer_find(library, "blosc_get_version_string", &blosc.version) ||
        !bench_peer_find(library, "blosc_compress", &blosc.compress) ||
        !bench_peer_find(library, "blosc_decompress", &blosc.decompress))
        return false;
    blosc.init();
    (void)blosc.set_threads(1);
    tell_version(ret_version, blosc.version());
    return blosc.set_compressor("zstd") >= 0;
}

static size_t encode_zstd(int level, const struct peer_piece *piece, uint8_t *dst, size_t room)
{
    const size_t written = zstd.compress(dst, room, piece->src, piece->n_bytes, level);

    return zstd.is_error(written) ? 0 : written;
}

static size_t encode_zstd_1(const struct peer_piece *piece, uint8_t *dst, size_t room)
{
    return encode_zstd(1, piece, dst, room);
}

static size_t encode_zstd_3(const struct peer_piece *piece, uint8_t *dst, size_t room)
{
    return encode_zstd(3, piece, dst, room);
}

static size_t decode_zstd(const struct peer_piece *piece, const uint8_t *coded, size_t coded_bytes,
                          uint8_t *dst)
{
    const size_t written = zstd.decompress(dst, piece->n_bytes, coded, coded_bytes);

    return zstd.is_error(written) ? 0 : written;
}

static size_t encode_lz4(const struct peer_piece *piece, uint8_t *dst, size_t room)
{
    const int written = lz4.compress(piece->src, (char *)dst, (int)piece->n_bytes, (int)room);

    return written > 0 ? (size_t)written : 0;
}

static size_t decode_lz4(const struct peer_piece *piece, const uint8_t *coded, size_t coded_bytes,
                         uint8_t *dst)
{
    const int written =
        lz4.decompress((const char *)coded, (char *)dst, (int)coded_bytes, (int)piece->n_bytes);

    return written > 0 ? (size_t)written : 0;
}

static size_t encode_blosc(const struct peer_piece *piece, uint8_t *dst, size_t room)
{
    const int written = blosc.compress(BLOSC_LEVEL, BLOSC_BITSHUFFLE, piece->elem_bytes,
                                       piece->n_bytes, piece->src, dst, room);

    return written > 0 ? (size_t)written : 0;
}

static size_t decode_blosc(const struct peer_piece *piece, const uint8_t *coded, size_t coded_bytes,
                           uint8_t *dst)
{
    const int written = blosc.decompress(coded, dst, piece->n_bytes);

    (void)coded_bytes;
    return written > 0 ? (size_t)written : 0;
}

const struct peer bench_peers_bytes[PEERS_BYTES] = {
    {"zstd-1", open_zstd, NULL, encode_zstd_1, decode_zstd},
    {"zstd-3", open_zstd, NULL, encode_zstd_3, decode_zstd},
    {"lz4", open_lz4, NULL, encode_lz4, decode_lz4},
    {"bitshuffle+zstd", open_blosc, NULL, encode_blosc, decode_blosc},
};
