/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/wire_put.h"

#include "base/alloc.h"
#include "codec/shape.h"
#include "proto/shm_layout.h"
#include "tests/lib/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void wire_table_init(struct wire_table *table, uint64_t rows, uint64_t seed)
{
    const uint64_t dims[] = {rows, 128};

    table->rows = rows;
    table->data = malloc(rows * 128 * sizeof(float));
    CHECK(table->data != NULL, "no memory");
    samples_fill(SAMPLES_NORMAL, LP_DTYPE_F32, rows * 128, seed, table->data);
    packed_must(&table->packed, LP_DTYPE_F32, 2, dims, NULL, table->data);
}

void wire_table_fini(struct wire_table *table)
{
    packed_fini(&table->packed);
    free(table->data);
}

void wire_arena_open(struct wire *wire, struct wire_arena *ret_arena)
{
    json_t *result = wire_call(wire, "arena.open", json_pack("{s:i}", "deadline_ms", 10000));

    ret_arena->id = (uint64_t)wire_number(result, "arena");
    ret_arena->chunk = (uint32_t)wire_number(result, "chunk");
    ret_arena->bytes = (uint64_t)wire_number(result, "bytes");
    ret_arena->used = LP_SHM_CHUNK_HEADER_BYTES;
    json_decref(result);
    ret_arena->fd = wire->fds.fd[0];
    wire->fds.count = 0;
    ret_arena->map =
        mmap(NULL, ret_arena->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ret_arena->fd, 0);
    CHECK(ret_arena->map != MAP_FAILED, "map an arena: %s", strerror(errno));
    CHECK(memcmp(ret_arena->map, LP_SHM_CHUNK_MAGIC, 8) == 0, "no chunk header");
}

void wire_arena_unmap(struct wire_arena *arena)
{
    (void)munmap(arena->map, arena->bytes);
    (void)close(arena->fd);
}

static json_t *lay(struct wire_arena *arena, const void *data, uint64_t bytes, bool adopt)
{
    const uint64_t at = arena->used;

    CHECK(at + bytes + LP_SHM_CHUNK_TAIL_BYTES <= arena->bytes, "the arena is too small");
    memcpy(arena->map + at, data, bytes);
    arena->used = lp_round_up_u64(at + bytes, LP_SHM_EXTENT_ALIGN);
    return json_pack("{s:I, s:I, s:I, s:b}", "arena", (json_int_t)arena->id, "offset",
                     (json_int_t)at, "bytes", (json_int_t)bytes, "adopt", adopt);
}

json_t *wire_lay(struct wire_arena *arena, const struct packed *packed, bool adopt)
{
    json_t *parts = json_array();

    (void)json_array_append_new(parts, lay(arena, packed->head, packed->table.head_bytes, adopt));
    for (uint32_t i = 0; i < packed->table.n_segments; i++)
        (void)json_array_append_new(parts,
                                    lay(arena, packed->segments[i],
                                        lp_codec_table_segment_bytes(&packed->table, i), adopt));
    return parts;
}

json_t *wire_create_item(const char *name, const struct packed *packed, const char *flag)
{
    const struct lp_geometry *geometry = &packed->table.geometry;
    json_t *shape = json_array();

    for (uint32_t i = 0; i < geometry->ndim; i++)
        (void)json_array_append_new(shape, json_integer((json_int_t)geometry->dims[i]));
    json_t *item = json_pack("{s:s, s:{s:s, s:o}, s:s, s:s}", "name", name, "tensor", "dtype",
                             lp_codec_dtype_info(geometry->dtype)->name, "shape", shape, "codec",
                             lp_codec_id_name(packed->table.codec), "layout",
                             lp_codec_layout_name(packed->table.layout));
    if (flag != NULL)
        (void)json_object_set_new(item, "flags", json_pack("[s]", flag));
    return item;
}

uint64_t wire_create(struct wire *wire, const char *name, const struct packed *packed,
                     const char *flag)
{
    json_t *result = wire_call(wire, "object.create",
                               json_pack("{s:[o]}", "items", wire_create_item(name, packed, flag)));
    const json_t *item = json_array_get(json_object_get(result, "items"), 0);
    const json_t *oid = json_object_get(item, "oid");
    char *text = json_dumps(item, 0);

    CHECK(oid != NULL, "create %s: %s", name, text);
    free(text);
    const uint64_t number = (uint64_t)json_integer_value(oid);
    json_decref(result);
    return number;
}

json_t *wire_seal_params(uint64_t oid, json_t *parts)
{
    return json_pack("{s:[{s:I, s:o}]}", "items", "oid", (json_int_t)oid, "parts", parts);
}

void wire_put(struct wire *wire, const char *name, const struct packed *packed, const char *flag)
{
    struct wire_arena arena;

    wire_arena_open(wire, &arena);
    const uint64_t oid = wire_create(wire, name, packed, flag);
    json_t *result =
        wire_call(wire, "object.seal", wire_seal_params(oid, wire_lay(&arena, packed, false)));
    const json_t *item = json_array_get(json_object_get(result, "items"), 0);
    char *text = json_dumps(item, 0);
    CHECK(json_object_get(item, "error") == NULL, "seal %s: %s", name, text);
    free(text);
    json_decref(result);
    wire_arena_unmap(&arena);
    json_decref(wire_call(wire, "arena.close", json_pack("{s:I}", "arena", (json_int_t)arena.id)));
}

json_t *wire_names(const char *name)
{
    return json_pack("{s:[s]}", "names", name);
}

/* Attach the chunk of one extent, and compare the bytes there. */
static void check_extent(struct wire *wire, const json_t *extent, const uint8_t *wanted,
                         uint64_t wanted_bytes)
{
    const json_int_t chunk = json_integer_value(json_array_get(extent, 0));
    const uint64_t offset = (uint64_t)json_integer_value(json_array_get(extent, 1));
    const uint64_t bytes = (uint64_t)json_integer_value(json_array_get(extent, 2));
    struct stat info;

    CHECK(bytes == wanted_bytes, "an extent of %llu bytes", (unsigned long long)bytes);
    json_t *result =
        wire_call(wire, "pool.attach", json_pack("{s:i, s:[I]}", "pool", 0, "chunks", chunk));
    json_decref(result);
    const int fd = wire->fds.fd[0];
    const int seals = fcntl(fd, F_GET_SEALS);
    CHECK((seals & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW), "seals %x",
          seals);
    CHECK(fstat(fd, &info) == 0, "fstat");
    const size_t size = (size_t)info.st_size;
    CHECK(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED,
          "a client could map a pool chunk writable");
    uint8_t *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED, "map a chunk: %s", strerror(errno));
    CHECK(offset + bytes <= size && memcmp(map + offset, wanted, bytes) == 0, "other bytes");
    (void)munmap(map, size);
}

void wire_check(struct wire *wire, const char *name, const struct packed *packed)
{
    json_t *result = wire_call(wire, "object.open", wire_names(name));
    const json_t *item = json_array_get(json_object_get(result, "items"), 0);
    const json_t *extents = json_object_get(item, "extents");

    CHECK(json_array_size(extents) == packed->table.n_segments + 1, "%s: %zu extents", name,
          json_array_size(extents));
    check_extent(wire, json_array_get(extents, 0), packed->head, packed->table.head_bytes);
    for (uint32_t i = 0; i < packed->table.n_segments; i++)
        check_extent(wire, json_array_get(extents, i + 1), packed->segments[i],
                     lp_codec_table_segment_bytes(&packed->table, i));
    json_t *released = wire_call(wire, "object.release",
                                 json_pack("{s:[O]}", "leases", json_object_get(item, "lease")));
    CHECK(wire_number(released, "released") == 1, "the lease was not there");
    json_decref(released);
    json_decref(result);
}
