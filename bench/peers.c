/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers.h"

#include "base/bytes.h"
#include "bench/bench.h"

#include <dlfcn.h>
#include <string.h>

/* As the libraries' manuals declare them. */
struct zstd_api {
    size_t (*compress)(void *dst, size_t room, const void *src, size_t n, int level);
    size_t (*decompress)(void *dst, size_t room, const void *src, size_t n);
    unsigned (*is_error)(size_t code);
};

struct lz4_api {
    int (*compress)(const char *src, char *dst, int n, int room);
    int (*decompress)(const char *src, char *dst, int n, int room);
};

struct blosc_api {
    void (*init)(void);
    int (*set_compressor)(const char *name);
    int (*set_threads)(int n);
    int (*compress)(int level, int shuffle, size_t elem_bytes, size_t n, const void *src, void *dst,
                    size_t room);
    int (*decompress)(const void *src, void *dst, size_t room);
};

#define BLOSC_BITSHUFFLE 2
#define BLOSC_LEVEL 5

static struct zstd_api zstd;
static struct lz4_api lz4;
static struct blosc_api blosc;

/* Function pointers come out of dlsym as data pointers; POSIX promises that the bytes agree. */
static bool find(void *library, const char *name, void *ret_function)
{
    void *const symbol = dlsym(library, name);

    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool open_zstd(void)
{
    void *const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

    return library != NULL && find(library, "ZSTD_compress", &zstd.compress) &&
           find(library, "ZSTD_decompress", &zstd.decompress) &&
           find(library, "ZSTD_isError", &zstd.is_error);
}

static bool open_lz4(void)
{
    void *const library = dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);

    return library != NULL && find(library, "LZ4_compress_default", &lz4.compress) &&
           find(library, "LZ4_decompress_safe", &lz4.decompress);
}

static bool open_blosc(void)
{
    void *const library = dlopen("libblosc.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL || !find(library, "blosc_init", &blosc.init) ||
        !find(library, "blosc_set_compressor", &blosc.set_compressor) ||
        !find(library, "blosc_set_nthreads", &blosc.set_threads) ||
        !find(library, "blosc_compress", &blosc.compress) ||
        !find(library, "blosc_decompress", &blosc.decompress))
        return false;
    blosc.init();
    (void)blosc.set_threads(1);
    return blosc.set_compressor("zstd") >= 0;
}

/* Each gives the bytes written, 0 on failure. */
static size_t encode_zstd(int level, const void *src, size_t n, uint8_t *dst, size_t room)
{
    const size_t written = zstd.compress(dst, room, src, n, level);

    return zstd.is_error(written) ? 0 : written;
}

static size_t encode_zstd_1(const void *src, size_t n, uint32_t elem_bytes, uint8_t *dst,
                            size_t room)
{
    (void)elem_bytes;
    return encode_zstd(1, src, n, dst, room);
}

static size_t encode_zstd_3(const void *src, size_t n, uint32_t elem_bytes, uint8_t *dst,
                            size_t room)
{
    (void)elem_bytes;
    return encode_zstd(3, src, n, dst, room);
}

static size_t decode_zstd(const void *src, size_t n, uint8_t *dst, size_t room)
{
    const size_t written = zstd.decompress(dst, room, src, n);

    return zstd.is_error(written) ? 0 : written;
}

static size_t encode_lz4(const void *src, size_t n, uint32_t elem_bytes, uint8_t *dst, size_t room)
{
    const int written = lz4.compress(src, (char *)dst, (int)n, (int)room);

    (void)elem_bytes;
    return written > 0 ? (size_t)written : 0;
}

static size_t decode_lz4(const void *src, size_t n, uint8_t *dst, size_t room)
{
    const int written = lz4.decompress(src, (char *)dst, (int)n, (int)room);

    return written > 0 ? (size_t)written : 0;
}

static size_t encode_blosc(const void *src, size_t n, uint32_t elem_bytes, uint8_t *dst,
                           size_t room)
{
    const int written =
        blosc.compress(BLOSC_LEVEL, BLOSC_BITSHUFFLE, elem_bytes, n, src, dst, room);

    return written > 0 ? (size_t)written : 0;
}

static size_t decode_blosc(const void *src, size_t n, uint8_t *dst, size_t room)
{
    const int written = blosc.decompress(src, dst, room);

    (void)n;
    return written > 0 ? (size_t)written : 0;
}

static const struct peer {
    const char *name;
    bool (*open)(void);
    size_t (*encode)(const void *src, size_t n, uint32_t elem_bytes, uint8_t *dst, size_t room);
    size_t (*decode)(const void *src, size_t n, uint8_t *dst, size_t room);
} peers[PEERS_MAX] = {
    {"zstd-1", open_zstd, encode_zstd_1, decode_zstd},
    {"zstd-3", open_zstd, encode_zstd_3, decode_zstd},
    {"lz4", open_lz4, encode_lz4, decode_lz4},
    {"bitshuffle+zstd", open_blosc, encode_blosc, decode_blosc},
};

/* One peer on all pieces. */
struct job {
    const struct peer *peer;
    const uint8_t *src;
    uint64_t n_bytes, piece_bytes;
    uint32_t elem_bytes;
    uint8_t *coded, *decoded;
    uint64_t slot_bytes; /* of one coded piece */
    uint64_t stored_bytes;
    size_t *sizes;
};

static int encode_all(void *user)
{
    struct job *const job = user;

    job->stored_bytes = 0;
    for (uint64_t i = 0; i * job->piece_bytes < job->n_bytes; i++) {
        const uint64_t at = i * job->piece_bytes;
        const size_t n = (size_t)LP_MIN(job->piece_bytes, job->n_bytes - at);
        uint8_t *const slot = job->coded + i * job->slot_bytes;

        job->sizes[i] = job->peer->encode(job->src + at, n, job->elem_bytes, slot, job->slot_bytes);
        if (job->sizes[i] == 0)
            return LP_EINTERNAL;
        job->stored_bytes += job->sizes[i];
    }
    return 0;
}

static int decode_all(void *user)
{
    struct job *const job = user;

    for (uint64_t i = 0; i * job->piece_bytes < job->n_bytes; i++) {
        const uint64_t at = i * job->piece_bytes;
        const size_t n = (size_t)LP_MIN(job->piece_bytes, job->n_bytes - at);

        if (job->peer->decode(job->coded + i * job->slot_bytes, job->sizes[i], job->decoded + at,
                              n) != n)
            return LP_EINTERNAL;
    }
    return 0;
}

static int run_peer(struct job *job, uint32_t runs, struct peer_figures *figures,
                    struct lp_error *err)
{
    int rc = lp_bench_median(encode_all, job, runs, &figures->encode_seconds);

    if (rc == 0)
        rc = lp_bench_median(decode_all, job, runs, &figures->decode_seconds);
    if (rc < 0 || memcmp(job->decoded, job->src, job->n_bytes) != 0)
        return lp_error_set(err, LP_EINTERNAL, "peer %s does not give back what it got",
                            job->peer->name);
    figures->raw_bytes = job->n_bytes;
    figures->stored_bytes = job->stored_bytes;
    return 0;
}

int bench_peers(const void *bytes, uint64_t n_bytes, uint64_t repeat_bytes, uint32_t elem_bytes,
                uint32_t runs, struct peer_figures ret_figures[PEERS_MAX], struct lp_error *err)
{
    struct job job = {.src = bytes, .n_bytes = n_bytes, .elem_bytes = elem_bytes};
    uint64_t n_pieces, coded_bytes;
    int rc = 0;

    job.piece_bytes = LP_MAX(LP_MIN(PEER_PIECE_BYTES, repeat_bytes), 1);
    n_pieces = (n_bytes + job.piece_bytes - 1) / job.piece_bytes;
    job.slot_bytes = job.piece_bytes + job.piece_bytes / 64 + 4096;
    coded_bytes = n_pieces * (job.slot_bytes + sizeof(*job.sizes)) + 8;
    job.coded = lp_bench_map(coded_bytes);
    job.decoded = lp_bench_map(n_bytes);
    if (job.coded == NULL || job.decoded == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory for the peers");
    else
        job.sizes = (size_t *)(void *)(job.coded + lp_round_up_u64(n_pieces * job.slot_bytes, 8));
    for (uint32_t i = 0; rc == 0 && i < PEERS_MAX; i++) {
        job.peer = &peers[i];
        ret_figures[i] = (struct peer_figures){.name = peers[i].name, .present = peers[i].open()};
        if (ret_figures[i].present)
            rc = run_peer(&job, runs, &ret_figures[i], err);
    }
    lp_bench_unmap(job.coded, coded_bytes);
    lp_bench_unmap(job.decoded, n_bytes);
    return rc < 0 ? rc : (int)PEERS_MAX;
}
