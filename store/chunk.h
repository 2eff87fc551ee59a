/* SPDX-License-Identifier: Apache-2.0 */
/* One memfd of a pool and what becomes of it: docs/SHM.md, section 1.
 *
 *     blank --> pool chunk                     readers map it, this process alone writes it
 *     blank --> arena --> adopted chunk        one client writes it; then nobody
 *
 * Life: init (made, sized, mapped, sealed against resizing; no page touched), touch and lock by
 * ranges, one of the two ways above, fini. pool.h is the only user: it says which thread may call
 * what, and counts. Source of the seal rules: memfd_create(2), fcntl(2). */
#ifndef LP_STORE_CHUNK_H
#define LP_STORE_CHUNK_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum lp_chunk_use { LP_CHUNK_BLANK, LP_CHUNK_POOL, LP_CHUNK_ARENA, LP_CHUNK_ADOPTED };

struct lp_chunk {
    uint32_t number; /* in the pool; never used twice in an epoch */
    enum lp_chunk_use use;
    int fd;       /* owned; read-only where an adopted chunk had to be opened anew */
    uint8_t *map; /* owned, whole chunk; NULL only after an adoption that failed half-way */
    uint64_t bytes;
    uint64_t locked_bytes; /* counted by pool.c */
    uint32_t uses;         /* extents of objects that lie in it */
    uint32_t slices_left;  /* slices still to be touched; 0: resident */
    uint8_t *slice;        /* owned; states of the slices, for pool.c; NULL once resident */
};

/* True when this kernel makes a memfd whose new maps are read-only while an old one stays writable
 * (F_SEAL_FUTURE_WRITE, Linux 5.1). LP_ENOTSUP, LP_ELIMIT, LP_ENOMEM, LP_EMAP. */
int lp_store_chunk_probe(struct lp_error *err);

/* A blank chunk. On failure it owns nothing. LP_ELIMIT (descriptors), LP_ENOMEM, LP_EMAP. */
int lp_store_chunk_init(struct lp_chunk *chunk, uint32_t number, uint64_t bytes,
                        struct lp_error *err);

/* Unmap, give the pages back where the seals allow it, close. Readers that have it mapped keep
 * reading: an arena's client then sees zeros. NULL and an ended chunk are fine. */
void lp_store_chunk_fini(struct lp_chunk *chunk);

/* Make the pages of [offset, offset + bytes) exist, without changing what they hold. A range must
 * not be touched once its chunk is an arena. LP_ENOMEM. */
int lp_store_chunk_touch(const struct lp_chunk *chunk, uint64_t offset, uint64_t bytes,
                         struct lp_error *err);

/* mlock the range. LP_ELIMIT, with the remedy. */
int lp_store_chunk_lock(const struct lp_chunk *chunk, uint64_t offset, uint64_t bytes,
                        struct lp_error *err);

/* Blank to pool chunk: the header is written, then every later map is read-only. LP_EMAP. */
int lp_store_chunk_to_pool(struct lp_chunk *chunk, uint32_t pool, uint64_t epoch,
                           struct lp_error *err);

/* Blank to arena: the header is written, then the own map is read-only. The chunk is resident.
 * LP_EMAP. */
int lp_store_chunk_to_arena(struct lp_chunk *chunk, uint32_t pool, uint64_t epoch,
                            struct lp_error *err);

/* Arena to adopted chunk: unmap, F_SEAL_WRITE, map again, check the header; use is for the caller
 * to change, under its lock. On failure it is still an arena, for copying from; one whose header
 * its client changed will never be adopted. LP_EBUSY (a shared map through a writable descriptor,
 * or a pinned page, is left), LP_ECORRUPT (header), LP_EPERM (the client sealed the seals),
 * LP_EMAP. */
int lp_store_chunk_adopt(struct lp_chunk *chunk, uint32_t pool, uint64_t epoch,
                         struct lp_error *err);

/* Map an arena again whose map an adoption lost. LP_EMAP. */
int lp_store_chunk_remap(struct lp_chunk *chunk, struct lp_error *err);

/* Put a read-only descriptor in the place of a writable one, as remap does where the kernel wants
 * it. LP_EMAP. */
int lp_store_chunk_reopen(struct lp_chunk *chunk, struct lp_error *err);

#endif
