/* SPDX-License-Identifier: Apache-2.0 */
/* Seals and maps. Each step undoes what it did when it fails. */
#include "store/chunk.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/sys.h"
#include "codec/table.h"
#include "proto/shm_layout.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Older C libraries do not name what newer kernels have. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* --- making one ------------------------------------------------------------------------------ */

/* A memfd that can be sealed and that nobody can run as a program, where the kernel knows the
 * flag (6.3); some hosts refuse memfds without it. */
static int create_fd(struct lp_error *err)
{
    int fd = lp_sys_memfd_create("lanepack-chunk", MFD_NOEXEC_SEAL | MFD_ALLOW_SEALING);

    if (fd < 0 && errno == EINVAL)
        fd = lp_sys_memfd_create("lanepack-chunk", MFD_ALLOW_SEALING);
    if (fd < 0)
        return lp_error_set_errno(
            err, errno == EMFILE || errno == ENFILE ? LP_ELIMIT : LP_ENOMEM, errno,
            "memfd_create; a pool needs a descriptor per chunk: raise RLIMIT_NOFILE or pool.chunk");
    return fd;
}

/* Map the whole of fd; NULL and errno on failure. */
static uint8_t *map_fd(int fd, uint64_t bytes, int prot)
{
    void *map = lp_sys_mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        return NULL;
    /* A core dump of the pool would be as large as the pool; refusal of the advice does no harm. */
    (void)madvise(map, bytes, MADV_DONTDUMP);
    return map;
}

static void unmap(struct lp_chunk *chunk)
{
    if (chunk->map != NULL)
        (void)munmap(chunk->map, chunk->bytes);
    chunk->map = NULL;
}

static int size_and_seal(int fd, uint64_t bytes, struct lp_error *err)
{
    if (lp_sys_ftruncate(fd, (off_t)bytes) < 0)
        return lp_error_set_errno(err, LP_ENOMEM, errno, "ftruncate to %llu bytes",
                                  (unsigned long long)bytes);
    if (lp_sys_add_seals(fd, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return lp_error_set_errno(err, LP_EMAP, errno, "seal against resizing");
    return 0;
}

int lp_store_chunk_init(struct lp_chunk *chunk, uint32_t number, uint64_t bytes,
                        struct lp_error *err)
{
    int rc;

    memset(chunk, 0, sizeof(*chunk));
    chunk->number = number;
    chunk->bytes = bytes;
    LP_TRY_GOTO(rc, chunk->fd = create_fd(err), fail);
    LP_TRY_GOTO(rc, size_and_seal(chunk->fd, bytes, err), close_fd);
    chunk->map = map_fd(chunk->fd, bytes, PROT_READ | PROT_WRITE);
    if (chunk->map == NULL) {
        rc = lp_error_set_errno(err, LP_EMAP, errno, "mmap");
        goto close_fd;
    }
    return 0;

close_fd:
    lp_sys_close(&chunk->fd);
fail:
    chunk->fd = -1;
    return lp_error_wrap(err, rc, "chunk %u of %llu bytes", number, (unsigned long long)bytes);
}

void lp_store_chunk_fini(struct lp_chunk *chunk)
{
    if (chunk == NULL || chunk->fd < 0)
        return;
    unmap(chunk);
    /* Refused by the seals of a pool chunk or an adopted one: those go with their last reader. */
    if (chunk->use == LP_CHUNK_ARENA)
        (void)fallocate(chunk->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                        (off_t)chunk->bytes);
    lp_sys_close(&chunk->fd);
    lp_mem_free(chunk->slice);
    chunk->slice = NULL;
}

/* --- probe ----------------------------------------------------------------------------------- */

static int probe_seals(int fd, uint64_t bytes, struct lp_error *err)
{
    uint8_t *own = map_fd(fd, bytes, PROT_READ | PROT_WRITE);

    if (own == NULL)
        return lp_error_set_errno(err, LP_EMAP, errno, "mmap of a probe");
    const int rc = lp_sys_add_seals(fd, F_SEAL_FUTURE_WRITE);
    const int errnum = errno;
    own[0] = 1; /* the old map must stay writable: a signal here would be the kernel's lie */
    (void)munmap(own, bytes);
    if (rc < 0)
        return lp_error_set_errno(err, LP_ENOTSUP, errnum,
                                  "no F_SEAL_FUTURE_WRITE: a sealed pool needs Linux 5.1 or newer");
    uint8_t *later = map_fd(fd, bytes, PROT_READ | PROT_WRITE);
    if (later == NULL)
        return errno == EPERM ? 0 : lp_error_set_errno(err, LP_EMAP, errno, "mmap of a probe");
    (void)munmap(later, bytes);
    return lp_error_set(err, LP_ENOTSUP, "F_SEAL_FUTURE_WRITE does not keep writers out");
}

int lp_store_chunk_probe(struct lp_error *err)
{
    const uint64_t bytes = LP_SHM_CHUNK_HEADER_BYTES;
    int fd, rc;

    LP_TRY(rc, fd = create_fd(err));
    rc = size_and_seal(fd, bytes, err);
    if (rc == 0)
        rc = probe_seals(fd, bytes, err);
    lp_sys_close(&fd);
    return rc;
}

/* --- pages ----------------------------------------------------------------------------------- */

/* Kernels before 5.14: make the pages, so that a lack of memory is an error and no SIGBUS, then
 * enter each into the page table by a write that changes nothing, whoever else writes there. */
static int touch_by_hand(const struct lp_chunk *chunk, uint64_t offset, uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    if (fallocate(chunk->fd, 0, (off_t)offset, (off_t)bytes) < 0)
        return -1;
    for (uint64_t at = offset; at < offset + bytes; at += page)
        (void)__atomic_fetch_or(&chunk->map[at], 0, __ATOMIC_RELAXED);
    return 0;
}

int lp_store_chunk_touch(const struct lp_chunk *chunk, uint64_t offset, uint64_t bytes,
                         struct lp_error *err)
{
    int rc;

    if (lp_fault(LP_FAULT_MMAP)) {
        errno = ENOMEM;
        rc = -1;
    } else {
        rc = madvise(chunk->map + offset, bytes, MADV_POPULATE_WRITE);
        if (rc < 0 && errno == EINVAL)
            rc = touch_by_hand(chunk, offset, bytes);
    }
    if (rc < 0)
        return lp_error_set_errno(err, LP_ENOMEM, errno, "touch %llu bytes of chunk %u",
                                  (unsigned long long)bytes, chunk->number);
    return 0;
}

int lp_store_chunk_lock(const struct lp_chunk *chunk, uint64_t offset, uint64_t bytes,
                        struct lp_error *err)
{
    if (lp_sys_mlock(chunk->map + offset, bytes) == 0)
        return 0;
    return lp_error_set_errno(err, LP_ELIMIT, errno,
                              "mlock of %llu bytes; raise RLIMIT_MEMLOCK (LimitMEMLOCK=infinity in "
                              "the unit) or set pool.lock=off",
                              (unsigned long long)bytes);
}

/* --- uses ------------------------------------------------------------------------------------ */

static void make_header(const struct lp_chunk *chunk, uint32_t pool, uint64_t epoch,
                        struct lp_shm_chunk_header *ret_header)
{
    memcpy(ret_header->magic, LP_SHM_CHUNK_MAGIC, sizeof(ret_header->magic));
    lp_store_u32(&ret_header->version, LP_SHM_VERSION);
    lp_store_u32(&ret_header->header_bytes, LP_SHM_CHUNK_HEADER_BYTES);
    lp_store_u64(&ret_header->epoch, epoch);
    lp_store_u32(&ret_header->pool, pool);
    lp_store_u32(&ret_header->chunk, chunk->number);
    lp_store_u64(&ret_header->chunk_bytes, chunk->bytes);
    lp_store_u64(&ret_header->hash,
                 lp_codec_hash(ret_header, offsetof(struct lp_shm_chunk_header, hash)));
}

static void write_header(struct lp_chunk *chunk, uint32_t pool, uint64_t epoch)
{
    struct lp_shm_chunk_header header;

    make_header(chunk, pool, epoch, &header);
    memcpy(chunk->map, &header, sizeof(header));
}

/* The page is as write_header left it: the fields, then zeros. */
static bool header_is_ours(const struct lp_chunk *chunk, uint32_t pool, uint64_t epoch)
{
    struct lp_shm_chunk_header header;
    const uint8_t *rest = chunk->map + sizeof(header);

    make_header(chunk, pool, epoch, &header);
    if (memcmp(chunk->map, &header, sizeof(header)) != 0)
        return false;
    for (size_t i = 0; i < LP_SHM_CHUNK_HEADER_BYTES - sizeof(header); i++)
        if (rest[i] != 0)
            return false;
    return true;
}

int lp_store_chunk_to_pool(struct lp_chunk *chunk, uint32_t pool, uint64_t epoch,
                           struct lp_error *err)
{
    assert(chunk->use == LP_CHUNK_BLANK);
    write_header(chunk, pool, epoch);
    if (lp_sys_add_seals(chunk->fd, F_SEAL_FUTURE_WRITE) < 0)
        return lp_error_set_errno(err, LP_EMAP, errno, "seal chunk %u for readers", chunk->number);
    chunk->use = LP_CHUNK_POOL;
    return 0;
}

int lp_store_chunk_to_arena(struct lp_chunk *chunk, uint32_t pool, uint64_t epoch,
                            struct lp_error *err)
{
    assert(chunk->use == LP_CHUNK_BLANK && chunk->slices_left == 0);
    write_header(chunk, pool, epoch);
    /* mprotect, not a new map: pages stay locked and entered. */
    if (mprotect(chunk->map, chunk->bytes, PROT_READ) < 0)
        return lp_error_set_errno(err, LP_EMAP, errno, "protect chunk %u", chunk->number);
    chunk->use = LP_CHUNK_ARENA;
    return 0;
}

/* Kernels before 6.7 refuse a shared map of a write-sealed memfd through a writable descriptor,
 * even a read-only map; one opened read-only is fine, for this process and for clients. */
int lp_store_chunk_reopen(struct lp_chunk *chunk, struct lp_error *err)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", chunk->fd);
    const int fd = lp_sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return lp_error_set_errno(err, LP_EMAP, errno, "open chunk %u read-only", chunk->number);
    lp_sys_close(&chunk->fd);
    chunk->fd = fd;
    return 0;
}

int lp_store_chunk_remap(struct lp_chunk *chunk, struct lp_error *err)
{
    int rc;

    if (chunk->map == NULL)
        chunk->map = map_fd(chunk->fd, chunk->bytes, PROT_READ);
    if (chunk->map == NULL && errno == EPERM) {
        LP_TRY(rc, lp_store_chunk_reopen(chunk, err));
        chunk->map = map_fd(chunk->fd, chunk->bytes, PROT_READ);
    }
    if (chunk->map == NULL)
        return lp_error_set_errno(err, LP_EMAP, errno, "map chunk %u", chunk->number);
    return 0;
}

/* Set once and for all; an adoption that failed later may find it set. */
static bool is_write_sealed(const struct lp_chunk *chunk)
{
    const int seals = fcntl(chunk->fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
}

static int seal_error(const struct lp_chunk *chunk, int errnum, struct lp_error *err)
{
    if (errnum == EBUSY)
        return lp_error_set(err, LP_EBUSY,
                            "arena chunk %u is still mapped writable or has a pinned page: unmap "
                            "and unregister it first, or let it be copied",
                            chunk->number);
    return lp_error_set_errno(err, errnum == EPERM ? LP_EPERM : LP_EMAP, errnum,
                              "seal arena chunk %u against writing", chunk->number);
}

int lp_store_chunk_adopt(struct lp_chunk *chunk, uint32_t pool, uint64_t epoch,
                         struct lp_error *err)
{
    int rc;

    assert(chunk->use == LP_CHUNK_ARENA);
    unmap(chunk);
    if (!is_write_sealed(chunk) && lp_sys_add_seals(chunk->fd, F_SEAL_WRITE) < 0) {
        rc = seal_error(chunk, errno, err);
        /* When this fails too, seal_begin tries it again. */
        (void)lp_store_chunk_remap(chunk, NULL);
        return rc;
    }
    LP_TRY(rc, lp_store_chunk_remap(chunk, err));
    if (!header_is_ours(chunk, pool, epoch))
        return lp_error_set(err, LP_ECORRUPT, "header page of arena chunk %u was changed",
                            chunk->number);
    return 0;
}
