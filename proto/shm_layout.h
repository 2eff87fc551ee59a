/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the memory that daemon and clients share: docs/SHM.md, section 1. */
#ifndef LP_PROTO_SHM_LAYOUT_H
#define LP_PROTO_SHM_LAYOUT_H

#include <stdint.h>

#include "base/bytes.h"

#define LP_SHM_VERSION 0u
#define LP_SHM_CHUNK_MAGIC "LPCHUNK"              /* with its final zero: 8 bytes */
#define LP_SHM_CHUNK_HEADER_BYTES 4096u
#define LP_SHM_EXTENT_ALIGN 64u
#define LP_SHM_CHUNK_TAIL_BYTES 64u               /* in no extent: slack of the decoders */
#define LP_SHM_CHUNK_BYTES_MIN (8ull << 20)
#define LP_SHM_CHUNK_BYTES_MAX (64ull << 30)
#define LP_SHM_EXTENTS_MAX 4096u                  /* of one object: head and segments */

/* First bytes of each chunk. Written once by the daemon. */
struct lp_shm_chunk_header {
    uint8_t magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint64_t epoch;
    uint32_t pool;
    uint32_t chunk;
    uint64_t chunk_bytes;
    uint64_t hash; /* XXH3 of the bytes before it */
};

LP_STATIC_ASSERT(sizeof(struct lp_shm_chunk_header) == 48, "docs/SHM.md");

/* A range of one chunk. */
struct lp_shm_extent {
    uint32_t chunk;
    uint64_t offset; /* from the start of the chunk, >= LP_SHM_CHUNK_HEADER_BYTES */
    uint64_t bytes;
};

/* Bytes of a chunk that extents can use. */
static inline uint64_t lp_shm_chunk_room(uint64_t chunk_bytes)
{
    return chunk_bytes - LP_SHM_CHUNK_HEADER_BYTES - LP_SHM_CHUNK_TAIL_BYTES;
}

#endif
