/* SPDX-License-Identifier: Apache-2.0 */
/* Compressors of others, where this machine has their libraries: opened at run time, never linked.
 */
#ifndef LP_BENCH_PEERS_H
#define LP_BENCH_PEERS_H

#include "base/error.h"

#include <stdbool.h>

/* The input is cut into pieces, as a store with random access would have to: whole tensors in one
 * frame would be an easier task than ours, records of a few hundred bytes a hopeless one. */
#define PEER_PIECE_BYTES (UINT64_C(1) << 20)

struct peer_figures {
    const char *name; /* static */
    bool present;     /* false: the library is not here */
    uint64_t raw_bytes, stored_bytes;
    double encode_seconds, decode_seconds; /* medians, one thread */
};

#define PEERS_MAX 4u

/* Every peer on these bytes of elements of elem_bytes; repeat_bytes: after which the data begins
 * again, no piece is longer. Results are checked. Returns how many figures, or a code. */
int bench_peers(const void *bytes, uint64_t n_bytes, uint64_t repeat_bytes, uint32_t elem_bytes,
                uint32_t runs, struct peer_figures ret_figures[PEERS_MAX], struct lp_error *err);

#endif
