/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA devices for C callers, without CUDA types: open, register host memory, own device memory.
 *
 * Life: lp_gpu_open() -> register chunks, make tables (gpu_launch.h) -> ... -> lp_gpu_close(), in
 * any order of ends: a device stays until its last mapping and table is gone. Streams are CUstream
 * as void *, device addresses uint64_t. Every call makes the device's primary context current for
 * its own duration and puts the caller's back. All functions may be called from any thread.
 *
 * Where there is no driver, no device or no kernel for it, lp_gpu_open() says so with LP_ENODEV and
 * one sentence; that is the caller's cue to decode on the host. */
#ifndef LP_CUDA_GPU_H
#define LP_CUDA_GPU_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lp_gpu;         /* one device, opened by one owner */
struct lp_gpu_mapping; /* one registered chunk */

struct lp_gpu_info {
    char name[128];
    int32_t ordinal;
    int32_t driver_version; /* 13000: CUDA 13.0 */
    int32_t compute;        /* 90: sm_90 */
    int32_t multiprocessors;
    uint32_t shared_bytes;   /* that a block may ask for */
    bool read_only_register; /* sealed maps can be registered */
    bool host_page_tables;   /* the device walks the host's page tables */
};

/* How many devices a program could open. 0 when there is no driver; *err (may be NULL) says why. */
int lp_gpu_count(struct lp_error *err);

/* Open device number `ordinal` for one owner: retains the primary context and loads the kernels.
 * *ret_gpu is new, lp_gpu_close() ends it. LP_ENODEV: no driver, no such device, or built without
 * kernels or without one for this device; LP_ENOMEM; LP_EDEVICE. */
int lp_gpu_open(int ordinal, struct lp_gpu **ret_gpu, struct lp_error *err);

/* The owner is done; mappings and tables keep what they need. NULL is fine. */
void lp_gpu_close(struct lp_gpu *gpu);

void lp_gpu_get_info(const struct lp_gpu *gpu, struct lp_gpu_info *ret_info);

/* --- host memory ----------------------------------------------------------------------------- */

/* Names a chunk by what it is, never by where it is mapped. */
struct lp_gpu_chunk_key {
    uint64_t dev, ino; /* of the memfd */
    uint64_t epoch;    /* of the daemon, so that a reused inode is not taken for the old one */
    uint64_t chunk;
};

/* Register `bytes` at `memory` (whole pages, present) with the device, portable and device-mapped,
 * read-only on request, and ask for its device address. A chunk that this lp_gpu knows by its key
 * is only counted up, and *ret_mapping is the same.
 *
 * When the driver refuses the whole, it is tried in halves, down to LP_GPU_REGISTER_MIN_BYTES; the
 * pieces must have device addresses without a gap. On failure nothing stays registered.
 *
 * memory  borrows until the last lp_gpu_unregister(); must then still be mapped
 * LP_EREG: the driver refuses, or cannot read-only and that was asked; LP_EREGLIMIT: it refuses for
 * want of memory or a limit, also in pieces; LP_EINVAL: not on page borders; LP_ENOMEM. */
#define LP_GPU_REGISTER_MIN_BYTES (16ull << 20)
int lp_gpu_register(struct lp_gpu *gpu, const struct lp_gpu_chunk_key *key, void *memory,
                    uint64_t bytes, bool read_only, struct lp_gpu_mapping **ret_mapping,
                    struct lp_error *err);

/* One user less; the last one unregisters. Device work on it must be finished. NULL is fine. */
void lp_gpu_unregister(struct lp_gpu_mapping *mapping);

/* Device address of the chunk's first byte: the alias that the driver named, which may differ from
 * the host's address. */
uint64_t lp_gpu_mapping_address(const struct lp_gpu_mapping *mapping);

/* Registrations that the chunk took: 1 unless it had to be cut. */
uint32_t lp_gpu_mapping_pieces(const struct lp_gpu_mapping *mapping);

/* Chunks and bytes that this lp_gpu has registered now. */
void lp_gpu_get_registered(struct lp_gpu *gpu, uint64_t *ret_chunks, uint64_t *ret_bytes);

/* --- device memory and streams, for tests, benches and tables ------------------------------- */

int lp_gpu_alloc(struct lp_gpu *gpu, uint64_t bytes, uint64_t *ret_address, struct lp_error *err);
void lp_gpu_free(struct lp_gpu *gpu, uint64_t address); /* 0 is fine */

/* Done on return. */
int lp_gpu_copy_in(struct lp_gpu *gpu, uint64_t to, const void *from, uint64_t bytes,
                   struct lp_error *err);
int lp_gpu_copy_out(struct lp_gpu *gpu, void *to, uint64_t from, uint64_t bytes,
                    struct lp_error *err);

/* Enqueued; from must be registered to be truly asynchronous, and stays until the stream passed it.
 */
int lp_gpu_copy_in_async(struct lp_gpu *gpu, uint64_t to, const void *from, uint64_t bytes,
                         void *stream, struct lp_error *err);

/* A stream of its own, ended by lp_gpu_stream_close(); and wait for any stream (NULL: the default).
 */
int lp_gpu_stream_open(struct lp_gpu *gpu, void **ret_stream, struct lp_error *err);
void lp_gpu_stream_close(struct lp_gpu *gpu, void *stream);
int lp_gpu_stream_wait(struct lp_gpu *gpu, void *stream, struct lp_error *err);

/* Milliseconds that the device needed for what `work` enqueued on the stream. Waits for it. */
int lp_gpu_time(struct lp_gpu *gpu, void *stream, int (*work)(void *user, struct lp_error *err),
                void *user, float *ret_milliseconds, struct lp_error *err);

#endif
