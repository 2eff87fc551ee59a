/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3 64 in one go and in steps, without an allocation. */
#ifndef LP_CODEC_HASH_H
#define LP_CODEC_HASH_H

#include <stddef.h>
#include <stdint.h>

#define LP_HASHER_BYTES 576u

/* The state of a hash in steps; plain data for the stack or another struct. */
struct lp_hasher {
    uint8_t state[LP_HASHER_BYTES] __attribute__((aligned(64))); /* private */
};

void lp_codec_hasher_init(struct lp_hasher *hasher);
void lp_codec_hasher_update(struct lp_hasher *hasher, const void *bytes, size_t n_bytes);

/* The hash of all bytes so far; the state stays usable. */
uint64_t lp_codec_hasher_digest(const struct lp_hasher *hasher);

/* The hash of these bytes: XXH3 64, seed 0, default secret, which the format uses everywhere. */
uint64_t lp_codec_hash(const void *bytes, size_t n_bytes);

#endif
