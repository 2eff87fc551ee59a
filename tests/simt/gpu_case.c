/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simt/gpu_case.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "client/gpu_table.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

/* A memfd of the segments, one behind the other on borders of 64 bytes. */
static void fill_chunk(struct gpu_case *c, uint64_t chunk_bytes)
{
    const struct lp_table *const t = &c->packed.table;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t at = 0;
    unsigned char *memory;

    c->segment_at = lp_mem_alloc_array((size_t)t->n_segments + 1, sizeof(*c->segment_at));
    must(c->segment_at != NULL, "segments");
    for (uint32_t i = 0; i < t->n_segments; i++) {
        c->segment_at[i] = at;
        at = lp_round_up_u64(at + lp_codec_table_segment_bytes(t, i) + LP_CODEC_SLACK_BYTES, 64);
    }
    c->chunk_bytes = lp_round_up_u64(LP_MAX(LP_MAX(at, 1), chunk_bytes), page);
    c->fd = memfd_create("gpu_case", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    must(c->fd >= 0 && ftruncate(c->fd, (off_t)c->chunk_bytes) == 0, "memfd");
    memory = mmap(NULL, c->chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
    must(memory != MAP_FAILED, "mmap");
    memset(memory, 0, c->chunk_bytes);
    for (uint32_t i = 0; i < t->n_segments; i++)
        memcpy(memory + c->segment_at[i], c->packed.segments[i],
               lp_codec_table_segment_bytes(t, i));
    must(munmap(memory, c->chunk_bytes) == 0, "munmap");
}

/* A bell curve at first, then the same again: what matters is where the bytes lie. */
#define FRESH_ELEMENTS (1u << 20)
#define FEW_ELEMENTS 20u

static void fill_data(unsigned char *data, const struct lp_geometry *g, enum gpu_case_kind kind)
{
    const uint64_t fresh =
        LP_MIN(g->n_elements, kind == GPU_CASE_FEW ? FEW_ELEMENTS : FRESH_ELEMENTS);

    samples_fill(kind == GPU_CASE_SPARSE ? SAMPLES_SPARSE : SAMPLES_NORMAL, g->dtype, fresh, 17,
                 data);
    for (uint64_t at = fresh; at < g->n_elements; at += fresh)
        memcpy(data + at * g->elem_bytes, data, LP_MIN(fresh, g->n_elements - at) * g->elem_bytes);
}

void gpu_case_make(struct gpu_case *ret_case, uint32_t dtype, uint64_t rows, uint64_t row_elements,
                   const struct lp_plan_params *params, enum gpu_case_kind kind,
                   uint64_t chunk_bytes, bool read_only)
{
    const uint64_t dims[2] = {rows, row_elements};
    struct gpu_case *const c = ret_case;
    struct lp_geometry geometry;
    struct lp_error err = LP_ERROR_INIT;
    struct stat status;
    void *data;

    memset(c, 0, sizeof(*c));
    must(lp_codec_geometry_init(&geometry, dtype, 2, dims, &err) == 0, err.text);
    data = lp_mem_alloc(geometry.logical_bytes + LP_CODEC_SLACK_BYTES);
    must(data != NULL, "data");
    fill_data(data, &geometry, kind);
    must(packed_make(&c->packed, &geometry, params, data, 0, &err) == 0, err.text);
    lp_mem_free(data);
    fill_chunk(c, chunk_bytes);
    if (read_only)
        must(fcntl(c->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) == 0,
             "seals");
    c->chunk = mmap(NULL, c->chunk_bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE,
                    MAP_SHARED, c->fd, 0);
    must(c->chunk != MAP_FAILED && fstat(c->fd, &status) == 0, "mapping");
    c->key.dev = status.st_dev;
    c->key.ino = status.st_ino;
    c->key.epoch = 1;
}

void gpu_case_fini(struct gpu_case *c)
{
    munmap(c->chunk, c->chunk_bytes);
    close(c->fd);
    lp_mem_free(c->segment_at);
    packed_fini(&c->packed);
}

struct lp_gpu_table_params gpu_case_params(const struct gpu_case *c, uint64_t chunk_dev,
                                           uint64_t *segments_dev)
{
    struct lp_gpu_table_params params;

    for (uint32_t i = 0; i < c->packed.table.n_segments; i++)
        segments_dev[i] = chunk_dev + c->segment_at[i];
    lp_client_gpu_table_params(&params, &c->packed.view, segments_dev);
    return params;
}
