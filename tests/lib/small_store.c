/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/small_store.h"

#include "base/alloc.h"
#include "tests/lib/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROW_ELEMENTS 128u

static void must(bool good, const char *what, const struct lp_error *err)
{
    if (good)
        return;
    (void)fprintf(stderr, "small_store: %s: %s\n", what, err != NULL ? err->text : "");
    abort();
}

/* Read by workers too, which run while no test moves the clock. */
static uint64_t small_now(void *user)
{
    return ((struct small_store *)user)->now_ns;
}

struct lp_store_params small_store_params(struct small_store *small, uint32_t n_chunks)
{
    return (struct lp_store_params){
        .pool_bytes = n_chunks * SMALL_CHUNK_BYTES,
        .chunk_bytes = SMALL_CHUNK_BYTES,
        .lock = LP_STORE_LOCK_OFF,
        .create_ttl_ns = SMALL_TTL_NS,
        .now_ns = small_now,
        .now_user = small,
        .epoch = 77,
    };
}

void small_store_init(struct small_store *small, uint32_t n_chunks, bool ready)
{
    const struct lp_store_params params = small_store_params(small, n_chunks);
    struct lp_error err = LP_ERROR_INIT;

    small->now_ns = 1;
    must(lp_store_new(&params, &small->store, &err) == 0, "new", &err);
    if (ready)
        small_store_prefault(small);
}

void small_store_fini(struct small_store *small)
{
    lp_store_free(small->store);
    small->store = NULL;
}

void small_store_prefault(struct small_store *small)
{
    struct lp_error err = LP_ERROR_INIT;
    int rc;

    while ((rc = lp_store_prefault_step(small->store, &err)) > 0)
        ;
    must(rc == 0, "prefault", &err);
}

void small_store_replenish(struct small_store *small)
{
    struct lp_error err = LP_ERROR_INIT;
    int rc;

    while ((rc = lp_store_replenish(small->store, &err)) > 0)
        ;
    must(rc == 0, "replenish", &err);
}

struct lp_store_state small_store_state(struct small_store *small)
{
    struct lp_store_state state;

    lp_store_get_state(small->store, &state);
    return state;
}

int small_arena_try_open(struct small_store *small, uint64_t owner, struct small_arena *ret_arena,
                         struct lp_error *err)
{
    int fd, rc;

    LP_TRY(rc, lp_store_arena_open(small->store, owner, &ret_arena->arena, &ret_arena->chunk, &fd,
                                   err));
    ret_arena->map = mmap(NULL, SMALL_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(ret_arena->map != MAP_FAILED, "mmap", NULL);
    ret_arena->used = LP_SHM_CHUNK_HEADER_BYTES;
    return 0;
}

void small_arena_open(struct small_store *small, uint64_t owner, struct small_arena *ret_arena)
{
    struct lp_error err = LP_ERROR_INIT;

    must(small_arena_try_open(small, owner, ret_arena, &err) == 0, "arena", &err);
}

void small_arena_unmap(struct small_arena *arena)
{
    if (arena->map != NULL)
        (void)munmap(arena->map, SMALL_CHUNK_BYTES);
    arena->map = NULL;
}

struct lp_store_part small_arena_add(struct small_arena *arena, const void *data, uint64_t bytes,
                                     bool adopt)
{
    const struct lp_store_part part = {arena->arena, arena->used, bytes, adopt};

    must(bytes <= SMALL_CHUNK_BYTES - LP_SHM_CHUNK_TAIL_BYTES - arena->used, "arena is full", NULL);
    memcpy(arena->map + arena->used, data, bytes);
    arena->used += lp_round_up_u64(bytes, LP_SHM_EXTENT_ALIGN);
    return part;
}

uint32_t small_arena_add_packed(struct small_arena *arena, const struct packed *packed, bool adopt,
                                struct lp_store_part *parts)
{
    const struct lp_table *table = &packed->table;

    parts[0] = small_arena_add(arena, packed->head, table->head_bytes, adopt);
    for (uint32_t i = 0; i < table->n_segments; i++)
        parts[1 + i] = small_arena_add(arena, packed->segments[i],
                                       lp_codec_table_segment_bytes(table, i), adopt);
    return 1 + table->n_segments;
}

struct lp_store_create small_create(const char *name, const struct packed *packed)
{
    const struct lp_geometry *geometry = &packed->table.geometry;
    struct lp_store_create create = {
        .name_space = SMALL_SPACE,
        .name = name,
        .dtype = geometry->dtype,
        .ndim = geometry->ndim,
        .codec = packed->table.codec,
        .layout = packed->table.layout,
    };

    memcpy(create.dims, geometry->dims, sizeof(create.dims));
    return create;
}

int small_seal(struct small_store *small, uint64_t owner, uint64_t oid,
               const struct lp_store_part *parts, uint32_t n_parts, struct lp_store_info *ret_info,
               struct lp_error *err)
{
    struct lp_store_seal *seal;
    int rc;

    LP_TRY(rc, lp_store_seal_begin(small->store, owner, oid, parts, n_parts, &seal, err));
    rc = lp_store_seal_run(seal, err);
    return lp_store_seal_end_take(small->store, seal, rc, ret_info, err);
}

int small_put(struct small_store *small, uint64_t owner, const char *name,
              const struct packed *packed, bool replace, struct lp_error *err)
{
    struct lp_store_create create = small_create(name, packed);
    struct lp_store_part parts[8];
    struct small_arena arena;
    uint64_t oid;
    int rc;

    create.replace = replace;
    LP_TRY(rc, lp_store_create(small->store, owner, &create, &oid, err));
    small_store_replenish(small);
    small_arena_open(small, owner, &arena);
    const uint32_t n_parts = small_arena_add_packed(&arena, packed, false, parts);
    small_arena_unmap(&arena);
    rc = small_seal(small, owner, oid, parts, n_parts, NULL, err);
    must(lp_store_arena_close(small->store, owner, arena.arena, NULL) == 0, "close", NULL);
    return rc;
}

bool small_reads_as(struct small_store *small, const struct lp_store_info *info, const void *data)
{
    const uint8_t *start[8];
    struct lp_error err = LP_ERROR_INIT;
    struct lp_table table;

    for (uint32_t i = 0; i < info->n_extents; i++) {
        const uint8_t *map;
        uint64_t bytes;
        int fd;

        if (lp_store_chunk(small->store, info->extents[i].chunk, &fd, &map, &bytes, &err) < 0)
            return false;
        start[i] = map + info->extents[i].offset;
    }
    if (lp_codec_table_parse(&table, start[0], info->extents[0].bytes, &err) < 0)
        return false;
    const struct lp_view view = {&table, start[0] + table.index_offset, NULL, &start[1]};
    void *out = lp_mem_alloc(table.geometry.logical_bytes);
    must(out != NULL, "memory", NULL);
    const bool same = lp_codec_view_gather(&view, NULL, 8, table.geometry.n_rows, out,
                                           table.geometry.logical_bytes, NULL, &err) == 0 &&
                      memcmp(out, data, table.geometry.logical_bytes) == 0;
    lp_mem_free(out);
    lp_codec_table_fini(&table);
    return same;
}

void small_table_init(struct small_table *table, uint64_t rows, uint64_t seed)
{
    const uint64_t dims[2] = {rows, ROW_ELEMENTS};
    const struct lp_plan_params params = {.codec = LP_CODEC_LANE,
                                          .segment_bytes = LP_FORMAT_SEGMENT_BYTES_MIN};

    table->data_bytes = rows * ROW_ELEMENTS * sizeof(float);
    table->data = lp_mem_alloc(table->data_bytes);
    must(table->data != NULL, "memory", NULL);
    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, rows * ROW_ELEMENTS, seed, table->data);
    packed_must(&table->packed, LP_DTYPE_F32, 2, dims, &params, table->data);
}

void small_table_fini(struct small_table *table)
{
    packed_fini(&table->packed);
    lp_mem_free(table->data);
    table->data = NULL;
}
