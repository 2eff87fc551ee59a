/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/sys.h"
#include "codec/table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define POOL 0u /* the only one of this version: docs/SHM.md, section 1 */

/* Bumped in the child by the fork handler, so that asking costs a load instead of getpid(). */
static uint32_t fork_generation;

static void count_fork(void)
{
    fork_generation++;
}

static void watch_forks(void)
{
    /* Fails only without memory; then handles of a parent are not noticed, which the child is told
     * not to use anyway. */
    (void)pthread_atfork(NULL, NULL, count_fork);
}

uint32_t lp_session_fork_generation(void)
{
    return lp_atomic_load_relaxed_u32(&fork_generation);
}

int lp_session_check(const struct lp_session *session, struct lp_error *err)
{
    if (session->fork_generation != lp_session_fork_generation())
        return lp_error_set(err, LP_EFORK,
                            "this handle was made before fork(): connect anew in this process");
    return 0;
}

int lp_session_new(const struct lp_link_ops *ops, void *link, uint64_t timeout_ns,
                   struct lp_session **ret_session, struct lp_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct lp_session *session;

    (void)pthread_once(&once, watch_forks);
    session = lp_mem_zalloc(sizeof(*session));
    if (session == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a client");
    if (pthread_mutex_init(&session->lock, NULL) != 0) {
        lp_mem_free(session);
        return lp_error_set(err, LP_ENOMEM, "no memory for a client's lock");
    }
    session->ops = ops;
    session->link = link;
    session->refs = 1;
    session->fork_generation = lp_session_fork_generation();
    session->timeout_ns = timeout_ns;
    *ret_session = session;
    return 0;
}

void lp_session_ref(struct lp_session *session)
{
    (void)lp_atomic_fetch_add_u32(&session->refs, 1);
}

void lp_session_unref(struct lp_session *session)
{
    bool inherited;

    if (session == NULL || lp_atomic_fetch_sub_u32(&session->refs, 1) != 1)
        return;
    inherited = session->fork_generation != lp_session_fork_generation();
    if (session->close_gpus != NULL)
        session->close_gpus(session, inherited);
    session->ops->close(session->link, inherited);
    lp_session_drop_arena_take(session->spare);
    while (session->chunks != NULL) {
        struct lp_chunk_map *map = session->chunks;

        session->chunks = map->next;
        /* Maps that a device knows were left out by fork(); a child may have other things there. */
        if (!inherited || !session->registered)
            (void)munmap((void *)(uintptr_t)map->bytes, map->n_bytes);
        lp_mem_free(map);
    }
    if (!inherited) /* another thread of the parent may have held it */
        (void)pthread_mutex_destroy(&session->lock);
    lp_mem_free(session);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / LP_NS_PER_S), (long)(ns % LP_NS_PER_S)};
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
/* ThreadSanitizer of gcc 12 does not know pthread_mutex_clocklock(): by the wall clock then. */
static int lock_until(pthread_mutex_t *lock, uint64_t deadline_ns)
{
    const uint64_t now_ns = lp_clock_now_ns();
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until = timespec_of((uint64_t)until.tv_sec * LP_NS_PER_S + (uint64_t)until.tv_nsec +
                        (deadline_ns > now_ns ? deadline_ns - now_ns : 0));
    return pthread_mutex_timedlock(lock, &until);
}
#else
static int lock_until(pthread_mutex_t *lock, uint64_t deadline_ns)
{
    const struct timespec until = timespec_of(deadline_ns);

    return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until);
}
#endif

int lp_session_lock(struct lp_session *session, uint64_t deadline_ns, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, lp_session_check(session, err));
    rc = deadline_ns == UINT64_MAX ? pthread_mutex_lock(&session->lock)
                                   : lock_until(&session->lock, deadline_ns);
    if (rc != 0)
        return lp_error_set(err, LP_ETIMEDOUT,
                            "another thread's call on this client took until the deadline");
    return 0;
}

void lp_session_unlock(struct lp_session *session)
{
    (void)pthread_mutex_unlock(&session->lock);
}

uint64_t lp_session_deadline(const struct lp_session *session, uint64_t asked_ns)
{
    return lp_clock_deadline_ns(asked_ns != 0 ? asked_ns : session->timeout_ns);
}

/* --- chunks ---------------------------------------------------------------------------------- */

static struct lp_chunk_map *find_chunk(const struct lp_session *session, uint32_t chunk,
                                       uint64_t epoch)
{
    for (struct lp_chunk_map *map = session->chunks; map != NULL; map = map->next)
        if (map->chunk == chunk && map->epoch == epoch)
            return map;
    return NULL;
}

/* Without the shrink seal a peer could take pages away under a reader: SIGBUS. */
static int check_seals(int fd, uint32_t chunk, struct lp_error *err)
{
    const int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0)
        return lp_error_set_errno(err, LP_EMAP, errno, "chunk %u: not a sealable memory file",
                                  chunk);
    if ((seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
        return lp_error_set(err, LP_EMAP, "chunk %u: not sealed against resizing", chunk);
    return 0;
}

static int check_header(const struct lp_chunk_map *map, struct lp_error *err)
{
    struct lp_shm_chunk_header header;

    memcpy(&header, map->bytes, sizeof(header));
    if (memcmp(header.magic, LP_SHM_CHUNK_MAGIC, sizeof(header.magic)) != 0)
        return lp_error_set(err, LP_EMAP, "chunk %u: its header has no magic", map->chunk);
    if (header.version != LP_SHM_VERSION)
        return lp_error_set(err, LP_EVERSION, "chunk %u: layout version %u, this library reads %u",
                            map->chunk, header.version, LP_SHM_VERSION);
    if (header.hash != lp_codec_hash(&header, offsetof(struct lp_shm_chunk_header, hash)))
        return lp_error_set(err, LP_EMAP, "chunk %u: its header fails its hash", map->chunk);
    if (header.header_bytes != LP_SHM_CHUNK_HEADER_BYTES || header.pool != POOL ||
        header.chunk != map->chunk || header.chunk_bytes != map->n_bytes)
        return lp_error_set(err, LP_EMAP,
                            "chunk %u: its header says chunk %u of pool %u, %llu bytes", map->chunk,
                            header.chunk, header.pool, (unsigned long long)header.chunk_bytes);
    if (header.epoch != map->epoch)
        return lp_error_set(err, LP_ESTALE, "chunk %u: made by an earlier daemon", map->chunk);
    return 0;
}

/* fd borrows: a mapping needs its descriptor no longer. */
static int map_chunk(int fd, uint32_t chunk, uint64_t bytes, uint64_t epoch,
                     struct lp_chunk_map **ret_map, struct lp_error *err)
{
    struct lp_chunk_map *map;
    struct stat status;
    void *memory;
    int rc;

    LP_TRY(rc, check_seals(fd, chunk, err));
    if (fstat(fd, &status) != 0 || status.st_size < 0)
        return lp_error_set_errno(err, LP_EMAP, errno, "chunk %u", chunk);
    if ((uint64_t)status.st_size != bytes || bytes < LP_SHM_CHUNK_BYTES_MIN ||
        bytes > LP_SHM_CHUNK_BYTES_MAX)
        return lp_error_set(err, LP_EMAP, "chunk %u: has %llu bytes, %llu were announced", chunk,
                            (unsigned long long)status.st_size, (unsigned long long)bytes);
    map = lp_mem_zalloc(sizeof(*map));
    if (map == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for the map of chunk %u", chunk);
    memory = lp_sys_mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        rc = lp_error_set_errno(err, LP_EMAP, errno, "chunk %u of %llu bytes can't be mapped",
                                chunk, (unsigned long long)bytes);
        goto free_map;
    }
    *map = (struct lp_chunk_map){.chunk = chunk,
                                 .bytes = memory,
                                 .n_bytes = bytes,
                                 .epoch = epoch,
                                 .device = (uint64_t)status.st_dev,
                                 .inode = (uint64_t)status.st_ino};
    LP_TRY_GOTO(rc, check_header(map, err), unmap);
    *ret_map = map;
    return 0;

unmap:
    (void)munmap(memory, bytes);
free_map:
    lp_mem_free(map);
    return rc;
}

/* Up to LP_FETCH_MAX chunks that are not mapped yet: one request, then map and list each. */
#define LP_FETCH_MAX 32u
static int fetch_chunks(struct lp_session *session, const uint32_t *chunks, size_t n,
                        uint64_t epoch, uint64_t deadline_ns, struct lp_error *err)
{
    int fds[LP_FETCH_MAX];
    uint64_t bytes[LP_FETCH_MAX];
    int rc;

    if (n == 0)
        return 0;
    LP_TRY(rc, session->ops->chunks(session->link, chunks, n, fds, bytes, deadline_ns, err));
    for (size_t i = 0; i < n; i++) {
        struct lp_chunk_map *map = NULL;

        if (rc == 0)
            rc = map_chunk(fds[i], chunks[i], bytes[i], epoch, &map, err);
        if (map != NULL) {
            map->next = session->chunks;
            session->chunks = map;
        }
        lp_sys_close(&fds[i]);
    }
    return rc;
}

/* All that are not mapped yet. */
static int fetch_missing(struct lp_session *session, const uint32_t *chunks, size_t n,
                         uint64_t epoch, uint64_t deadline_ns, struct lp_error *err)
{
    uint32_t missing[LP_FETCH_MAX];
    size_t n_missing = 0;
    int rc;

    for (size_t i = 0; i < n; i++) {
        bool known = find_chunk(session, chunks[i], epoch) != NULL;

        for (size_t k = 0; k < n_missing && !known; k++)
            known = missing[k] == chunks[i];
        if (known)
            continue;
        missing[n_missing++] = chunks[i];
        if (n_missing == LP_FETCH_MAX) {
            LP_TRY(rc, fetch_chunks(session, missing, n_missing, epoch, deadline_ns, err));
            n_missing = 0;
        }
    }
    return fetch_chunks(session, missing, n_missing, epoch, deadline_ns, err);
}

/* After a failure: what was mapped and is counted by no tensor. */
static void unmap_uncounted(struct lp_session *session)
{
    struct lp_chunk_map **at = &session->chunks;

    while (*at != NULL) {
        struct lp_chunk_map *map = *at;

        if (map->refs != 0) {
            at = &map->next;
            continue;
        }
        *at = map->next;
        (void)munmap((void *)(uintptr_t)map->bytes, map->n_bytes);
        lp_mem_free(map);
    }
}

int lp_session_map_chunks(struct lp_session *session, const uint32_t *chunks, size_t n,
                          uint64_t epoch, struct lp_chunk_map **ret_maps, uint64_t deadline_ns,
                          struct lp_error *err)
{
    const int rc = fetch_missing(session, chunks, n, epoch, deadline_ns, err);

    if (rc < 0) {
        unmap_uncounted(session);
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        ret_maps[i] = find_chunk(session, chunks[i], epoch);
        ret_maps[i]->refs++;
    }
    return 0;
}

void lp_session_unmap_chunk(struct lp_session *session, struct lp_chunk_map *map)
{
    struct lp_chunk_map **at = &session->chunks;

    if (--map->refs != 0)
        return;
    while (*at != map)
        at = &(*at)->next;
    *at = map->next;
    (void)munmap((void *)(uintptr_t)map->bytes, map->n_bytes);
    lp_mem_free(map);
}

/* --- arenas ---------------------------------------------------------------------------------- */

void lp_session_unmap_arena(struct lp_arena_map *arena)
{
    if (arena->bytes != NULL)
        (void)munmap(arena->bytes, arena->arena.bytes);
    arena->bytes = NULL;
}

void lp_session_drop_arena_take(struct lp_arena_map *arena)
{
    if (arena == NULL)
        return;
    lp_session_unmap_arena(arena);
    lp_sys_close(&arena->arena.fd);
    lp_mem_free(arena);
}

static int map_arena(struct lp_arena_map *arena, struct lp_error *err)
{
    struct stat status;
    void *memory;

    if (fstat(arena->arena.fd, &status) != 0 || status.st_size < 0 ||
        (uint64_t)status.st_size != arena->arena.bytes ||
        arena->arena.bytes < LP_SHM_CHUNK_BYTES_MIN || arena->arena.bytes > LP_SHM_CHUNK_BYTES_MAX)
        return lp_error_set(err, LP_EMAP,
                            "arena %u does not have the %llu bytes that were announced",
                            arena->arena.arena, (unsigned long long)arena->arena.bytes);
    memory = lp_sys_mmap(NULL, arena->arena.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                         arena->arena.fd, 0);
    if (memory == MAP_FAILED)
        return lp_error_set_errno(err, LP_EMAP, errno, "arena of %llu bytes can't be mapped",
                                  (unsigned long long)arena->arena.bytes);
    arena->bytes = memory;
    return 0;
}

int lp_session_take_arena(struct lp_session *session, struct lp_arena_map **ret_arena,
                          uint64_t deadline_ns, struct lp_error *err)
{
    struct lp_arena_map *arena = session->spare;
    int rc;

    session->spare = NULL;
    if (arena != NULL && arena->arena.connection == session->ops->connection(session->link)) {
        *ret_arena = arena;
        return 0;
    }
    lp_session_drop_arena_take(arena); /* from a connection that was lost */
    arena = lp_mem_zalloc(sizeof(*arena));
    if (arena == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for an arena's map");
    arena->arena.fd = -1;
    LP_TRY_GOTO(rc, session->ops->arena_open(session->link, &arena->arena, deadline_ns, err), drop);
    LP_TRY_GOTO(rc, map_arena(arena, err), give_back);
    *ret_arena = arena;
    return 0;

give_back:
    (void)session->ops->arena_close(session->link, arena->arena.connection, arena->arena.arena,
                                    deadline_ns, NULL);
drop:
    lp_session_drop_arena_take(arena);
    return rc;
}

void lp_session_put_arena_take(struct lp_session *session, struct lp_arena_map *arena,
                               uint64_t deadline_ns)
{
    if (session->spare == NULL && arena->bytes != NULL) {
        session->spare = arena;
        return;
    }
    /* One that can't be given back ends with its connection. */
    (void)session->ops->arena_close(session->link, arena->arena.connection, arena->arena.arena,
                                    deadline_ns, NULL);
    lp_session_drop_arena_take(arena);
}
