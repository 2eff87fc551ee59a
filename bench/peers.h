/* SPDX-License-Identifier: Apache-2.0 */
/* Compressors of others, where this machine has them: libraries opened at run time, never linked,
 * and Python modules in a process of their own. A peer that is not here is waived, one that does
 * not give back what it got has failed; neither is an error. */
#ifndef LP_BENCH_PEERS_H
#define LP_BENCH_PEERS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The input is cut into pieces, as a store with random access would have to: whole tensors in one
 * frame would be an easier task than ours, records of a few hundred bytes a hopeless one. */
#define PEER_PIECE_BYTES (UINT64_C(1) << 20)

enum peer_state { PEER_WAIVED, PEER_FAILED, PEER_MEASURED };

struct peer_figures {
    char name[24];
    enum peer_state state;
    char why[112];    /* waived or failed: the reason */
    char version[24]; /* measured, as all below */
    uint64_t raw_bytes, stored_bytes;
    double encode_seconds, decode_seconds; /* CPU time, medians, one thread */
};

#define PEERS_MAX 16u

/* Where peers may be, beside where the system looks. */
struct peer_places {
    const char *folder; /* libraries in it or its lib, bin/python3; NULL: none */
    const char *python; /* interpreter; NULL: the folder's, else python3 */
};

/* What they shall compress. */
struct peer_input {
    const void *bytes;
    uint64_t n_bytes;
    uint64_t repeat_bytes; /* after which the data begins again: no piece is longer */
    uint64_t row_elements; /* of a matrix; 0 or 1: no rows */
    uint32_t dtype, elem_bytes;
    uint32_t runs;
};

/* Every peer on this input. Returns how many figures, or LP_ENOMEM, LP_EIO. */
int bench_peers(const struct peer_input *input, const struct peer_places *places,
                struct peer_figures ret_figures[PEERS_MAX], struct lp_error *err);

/* Share of the raw bytes that a measured peer does not need. */
double bench_peer_saving(const struct peer_figures *peer);

/* --- between the files of peers ------------------------------------------------------------- */

/* One piece: whole rows where there are any. */
struct peer_piece {
    const void *src;
    size_t n_bytes;
    size_t row_elements; /* at least 1 */
    uint32_t dtype, elem_bytes;
};

struct peer {
    const char *name;
    /* False: the library is not here. version has room for that of struct peer_figures. */
    bool (*open)(const struct peer_places *places, char *ret_version);
    bool (*takes)(uint32_t dtype); /* NULL: any */
    /* Bytes written, 0 on failure. */
    size_t (*encode)(const struct peer_piece *piece, uint8_t *dst, size_t room);
    size_t (*decode)(const struct peer_piece *piece, const uint8_t *coded, size_t coded_bytes,
                     uint8_t *dst);
};

/* Byte compressors and those for floats in C. */
#define PEERS_BYTES 4u
#define PEERS_FLOAT 2u
extern const struct peer bench_peers_bytes[PEERS_BYTES];
extern const struct peer bench_peers_float[PEERS_FLOAT];

/* Open a library by its name, in the folder of places first; NULL when it is nowhere. */
void *bench_peer_open(const struct peer_places *places, const char *name);

/* A function or a datum of it into *ret_symbol, a pointer of the right type. */
bool bench_peer_find(void *library, const char *name, void *ret_symbol);

/* Those in Python, appended to figures from n on. Returns the new n, or LP_ENOMEM, LP_EIO. Where no
 * Python runs, one figure says so. */
int bench_peers_python(const struct peer_input *input, const struct peer_places *places,
                       struct peer_figures ret_figures[PEERS_MAX], uint32_t n,
                       struct lp_error *err);

#endif
