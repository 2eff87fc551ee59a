/* SPDX-License-Identifier: Apache-2.0 */
/* Putting and reading tables by raw requests, step by step, as docs/SHM.md, section 3 says. */
#ifndef LP_TESTS_WIRE_PUT_H
#define LP_TESTS_WIRE_PUT_H

#include "tests/lib/packed.h"
#include "tests/lib/spawn.h"

/* A table of rows x 128 float32 of a bell curve, packed; freed by wire_table_fini(). */
struct wire_table {
    float *data;
    uint64_t rows;
    struct packed packed;
};
void wire_table_init(struct wire_table *table, uint64_t rows, uint64_t seed);
void wire_table_fini(struct wire_table *table);

struct wire_arena {
    uint64_t id;
    uint32_t chunk;
    uint64_t bytes;
    int fd;
    uint8_t *map;
    uint64_t used; /* where the next part goes */
};
void wire_arena_open(struct wire *wire, struct wire_arena *ret_arena);
void wire_arena_unmap(struct wire_arena *arena); /* and the descriptor is closed */

/* Lay head and segments into the arena; returns new: the parts for object.seal. */
json_t *wire_lay(struct wire_arena *arena, const struct packed *packed, bool adopt);

/* An item for object.create; flag may be NULL. Returns new. */
json_t *wire_create_item(const char *name, const struct packed *packed, const char *flag);

/* Create one object and return its oid. */
uint64_t wire_create(struct wire *wire, const char *name, const struct packed *packed,
                     const char *flag);

/* Params that seal one object of these parts (takes). Returns new. */
json_t *wire_seal_params(uint64_t oid, json_t *parts);

/* All of it by copy, through an arena that is closed again. */
void wire_put(struct wire *wire, const char *name, const struct packed *packed, const char *flag);

/* Open, attach, map read-only, check seals and bytes, unmap, release. */
void wire_check(struct wire *wire, const char *name, const struct packed *packed);

/* ["name"] as {"names": [...]}. Returns new. */
json_t *wire_names(const char *name);

#endif
