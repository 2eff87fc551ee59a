/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers.h"

#include "base/bytes.h"
#include "bench/bench.h"
#include "codec/shape.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* A peer whose first run takes longer is measured once more only. */
#define SLOW_SECONDS 1.0

/* RTLD_LOCAL, so that nobody's symbols stand in for another's. */
void *bench_peer_open(const struct peer_places *places, const char *name)
{
    static const char *const folders[] = {"", "lib/"};
    char path[4096];
    void *library = NULL;

    for (size_t i = 0; places->folder != NULL && library == NULL && i < LP_ARRAY_LEN(folders);
         i++) {
        (void)snprintf(path, sizeof(path), "%s/%s%s", places->folder, folders[i], name);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library != NULL ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* Function pointers come out of dlsym as data pointers; POSIX promises that the bytes agree. */
bool bench_peer_find(void *library, const char *name, void *ret_symbol)
{
    void *const symbol = dlsym(library, name);

    memcpy(ret_symbol, &symbol, sizeof(symbol));
    return symbol != NULL;
}

double bench_peer_saving(const struct peer_figures *peer)
{
    return peer->raw_bytes == 0 ? 0 : 1 - (double)peer->stored_bytes / (double)peer->raw_bytes;
}

/* One peer on all pieces. */
struct job {
    const struct peer *peer;
    const struct peer_input *input;
    uint64_t piece_bytes, n_pieces;
    uint8_t *coded, *decoded;
    uint64_t coded_bytes;
    uint64_t slot_bytes; /* of one coded piece */
    uint64_t stored_bytes;
    size_t *sizes;
};

static struct peer_piece piece_at(const struct job *job, uint64_t i)
{
    const struct peer_input *const input = job->input;
    const uint64_t at = i * job->piece_bytes;
    struct peer_piece piece = {(const uint8_t *)input->bytes + at,
                               (size_t)LP_MIN(job->piece_bytes, input->n_bytes - at), 1,
                               input->dtype, input->elem_bytes};
    const uint64_t n = piece.n_bytes / piece.elem_bytes;

    piece.row_elements = n % LP_MAX(input->row_elements, 1) == 0 && input->row_elements > 1
                             ? (size_t)input->row_elements
                             : (size_t)LP_MAX(n, 1);
    return piece;
}

static int encode_all(void *user)
{
    struct job *const job = user;

    job->stored_bytes = 0;
    for (uint64_t i = 0; i < job->n_pieces; i++) {
        const struct peer_piece piece = piece_at(job, i);

        job->sizes[i] =
            job->peer->encode(&piece, job->coded + i * job->slot_bytes, job->slot_bytes);
        if (job->sizes[i] == 0)
            return LP_EINTERNAL;
        job->stored_bytes += job->sizes[i];
    }
    return 0;
}

static int decode_all(void *user)
{
    struct job *const job = user;

    for (uint64_t i = 0; i < job->n_pieces; i++) {
        const struct peer_piece piece = piece_at(job, i);

        if (job->peer->decode(&piece, job->coded + i * job->slot_bytes, job->sizes[i],
                              job->decoded + i * job->piece_bytes) != piece.n_bytes)
            return LP_EINTERNAL;
    }
    return 0;
}

/* The median of runs, or for a slow peer a single run. */
static int time_peer(int (*step)(void *), struct job *job, double *ret_seconds)
{
    int rc = lp_bench_median(step, job, 1, ret_seconds);

    if (rc == 0 && *ret_seconds < SLOW_SECONDS && job->input->runs > 1)
        rc = lp_bench_median(step, job, job->input->runs, ret_seconds);
    return rc;
}

static void run_peer(struct job *job, struct peer_figures *figures)
{
    figures->state = PEER_FAILED;
    memset(job->decoded, 0, job->input->n_bytes);
    if (time_peer(encode_all, job, &figures->encode_seconds) < 0)
        (void)snprintf(figures->why, sizeof(figures->why), "does not compress");
    else if (time_peer(decode_all, job, &figures->decode_seconds) < 0)
        (void)snprintf(figures->why, sizeof(figures->why), "does not decompress its own output");
    else if (memcmp(job->decoded, job->input->bytes, job->input->n_bytes) != 0)
        (void)snprintf(figures->why, sizeof(figures->why), "does not give back what it got");
    else
        figures->state = PEER_MEASURED;
    figures->raw_bytes = job->input->n_bytes;
    figures->stored_bytes = job->stored_bytes;
}

static void try_peer(struct job *job, const struct peer_places *places,
                     struct peer_figures *ret_figures)
{
    const struct peer *const peer = job->peer;

    memset(ret_figures, 0, sizeof(*ret_figures));
    (void)snprintf(ret_figures->name, sizeof(ret_figures->name), "%s", peer->name);
    if (peer->takes != NULL && !peer->takes(job->input->dtype))
        (void)snprintf(ret_figures->why, sizeof(ret_figures->why), "takes no %s",
                       lp_codec_dtype_info(job->input->dtype)->name);
    else if (!peer->open(places, ret_figures->version))
        (void)snprintf(ret_figures->why, sizeof(ret_figures->why), "its library is not here");
    else
        run_peer(job, ret_figures);
}

/* Whole rows in each piece, where a piece has room for one. */
static void job_init(struct job *job, const struct peer_input *input)
{
    const uint64_t row_bytes = input->row_elements * input->elem_bytes;

    memset(job, 0, sizeof(*job));
    job->input = input;
    job->piece_bytes = LP_MAX(LP_MIN(PEER_PIECE_BYTES, input->repeat_bytes), 1);
    if (row_bytes > 0 && row_bytes <= job->piece_bytes)
        job->piece_bytes -= job->piece_bytes % row_bytes;
    job->n_pieces = (input->n_bytes + job->piece_bytes - 1) / job->piece_bytes;
    /* zfp may need nearly twice the raw bytes. */
    job->slot_bytes = lp_round_up_u64(2 * job->piece_bytes + 4096, 64);
    job->coded_bytes = job->n_pieces * (job->slot_bytes + sizeof(*job->sizes)) + 8;
    job->coded = lp_bench_map(job->coded_bytes);
    job->decoded = lp_bench_map(input->n_bytes);
    if (job->coded != NULL)
        job->sizes = (size_t *)(void *)(job->coded + job->n_pieces * job->slot_bytes);
}

int bench_peers(const struct peer_input *input, const struct peer_places *places,
                struct peer_figures ret_figures[PEERS_MAX], struct lp_error *err)
{
    struct job job;
    uint32_t n = 0;
    int rc = 0;

    job_init(&job, input);
    if (job.coded == NULL || job.decoded == NULL)
        rc = lp_error_set(err, LP_ENOMEM, "no memory for the peers");
    for (uint32_t i = 0; rc == 0 && i < PEERS_BYTES + PEERS_FLOAT; i++) {
        job.peer = i < PEERS_BYTES ? &bench_peers_bytes[i] : &bench_peers_float[i - PEERS_BYTES];
        try_peer(&job, places, &ret_figures[n++]);
    }
    lp_bench_unmap(job.coded, job.coded_bytes);
    lp_bench_unmap(job.decoded, input->n_bytes);
    return rc < 0 ? rc : bench_peers_python(input, places, ret_figures, n, err);
}
