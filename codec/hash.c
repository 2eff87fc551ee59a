/* SPDX-License-Identifier: Apache-2.0 */
/* The only user of xxhash. Its code is compiled in here: the state's layout belongs to the
 * library's version, so a state on our stack must not meet another version's code. */
#include "codec/hash.h"

#include "base/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

LP_STATIC_ASSERT(sizeof(XXH3_state_t) <= LP_HASHER_BYTES, "the hash state fits");
LP_STATIC_ASSERT(_Alignof(XXH3_state_t) <= _Alignof(struct lp_hasher), "the hash state is aligned");

static XXH3_state_t *state_of(struct lp_hasher *hasher)
{
    return (XXH3_state_t *)(void *)hasher->state;
}

void lp_codec_hasher_init(struct lp_hasher *hasher)
{
    XXH3_INITSTATE(state_of(hasher));
    (void)XXH3_64bits_reset(state_of(hasher));
}

void lp_codec_hasher_update(struct lp_hasher *hasher, const void *bytes, size_t n_bytes)
{
    (void)XXH3_64bits_update(state_of(hasher), bytes, n_bytes);
}

uint64_t lp_codec_hasher_digest(const struct lp_hasher *hasher)
{
    return XXH3_64bits_digest((const XXH3_state_t *)(const void *)hasher->state);
}

uint64_t lp_codec_hash(const void *bytes, size_t n_bytes)
{
    return XXH3_64bits(bytes, n_bytes);
}
