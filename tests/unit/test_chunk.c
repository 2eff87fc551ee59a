/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/table.h"
#include "proto/shm_layout.h"
#include "store/chunk.h"
#include "tests/lib/fault_loop.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES LP_SHM_CHUNK_BYTES_MIN
#define EPOCH 77u
#define POOL 3u

static struct lp_chunk chunk;

static void init(void)
{
    cr_assert_eq(lp_store_chunk_init(&chunk, 5, BYTES, NULL), 0);
}

static void fini(void)
{
    lp_store_chunk_fini(&chunk);
}

TestSuite(store_chunk, .init = init, .fini = fini);

/* Every page, as an arena needs. */
static void touch_all(void)
{
    cr_assert_eq(lp_store_chunk_touch(&chunk, 0, BYTES, NULL), 0);
    chunk.slices_left = 0;
}

static void to_arena(void)
{
    touch_all();
    cr_assert_eq(lp_store_chunk_to_arena(&chunk, POOL, EPOCH, NULL), 0);
}

static uint64_t resident_bytes(void)
{
    static unsigned char pages[BYTES / 4096];
    uint64_t n = 0;

    cr_assert_eq(mincore(chunk.map, BYTES, pages), 0);
    for (size_t i = 0; i < sizeof(pages); i++)
        n += pages[i] & 1;
    return n * 4096;
}

/* --- what another process can do with the descriptor ------------------------------------------ */

enum peer_act {
    PEER_MAP_WRITABLE,
    PEER_MPROTECT,
    PEER_PWRITE,
    PEER_PUNCH,
    PEER_SHRINK,
    PEER_GROW,
    PEER_REOPEN_MAP,
    PEER_MAP_READABLE
};

/* 0: it worked; else errno. */
static int act(enum peer_act what, int fd)
{
    char path[64];
    void *map;

    switch (what) {
    case PEER_MAP_WRITABLE:
        map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return map == MAP_FAILED ? errno : 0;
    case PEER_MPROTECT:
        map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            return 0;
        return mprotect(map, BYTES, PROT_READ | PROT_WRITE) < 0 ? errno : 0;
    case PEER_PWRITE:
        return pwrite(fd, "x", 1, 0) < 0 ? errno : 0;
    case PEER_PUNCH:
        return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0 ? errno : 0;
    case PEER_SHRINK:
        return ftruncate(fd, 4096) < 0 ? errno : 0;
    case PEER_GROW:
        return ftruncate(fd, BYTES * 2) < 0 ? errno : 0;
    case PEER_REOPEN_MAP:
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return errno;
        map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return map == MAP_FAILED ? errno : 0;
    case PEER_MAP_READABLE:
        map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
        return map == MAP_FAILED ? errno : 0;
    }
    return 0;
}

/* The same in a process of its own, which has nothing to go by but the descriptor. */
static int peer(enum peer_act what)
{
    int status;
    const pid_t pid = fork();

    if (pid == 0)
        _exit(act(what, chunk.fd));
    cr_assert_gt(pid, 0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Nobody but this process can change a pool chunk or its size; everybody can read it. */
Test(store_chunk, keeps_writers_out_of_pool_chunks)
{
    cr_assert_eq(lp_store_chunk_to_pool(&chunk, POOL, EPOCH, NULL), 0);
    cr_assert_eq(peer(PEER_MAP_WRITABLE), EPERM);
    cr_assert_eq(peer(PEER_MPROTECT), EACCES);
    cr_assert_eq(peer(PEER_PWRITE), EPERM);
    cr_assert_eq(peer(PEER_PUNCH), EPERM);
    cr_assert_eq(peer(PEER_SHRINK), EPERM);
    cr_assert_eq(peer(PEER_GROW), EPERM);
    cr_assert_eq(peer(PEER_REOPEN_MAP), EPERM);
    cr_assert_eq(peer(PEER_MAP_READABLE), 0);
    chunk.map[LP_SHM_CHUNK_HEADER_BYTES] = 7; /* and we can still write */
}

/* The client of an arena can write it, and cannot resize it under us. */
Test(store_chunk, lets_an_arena_be_written_not_resized)
{
    to_arena();
    cr_assert_eq(peer(PEER_SHRINK), EPERM);
    cr_assert_eq(peer(PEER_GROW), EPERM);
    cr_assert_eq(peer(PEER_MAP_WRITABLE), 0);
    cr_assert_eq(peer(PEER_PWRITE), 0);
    cr_assert_eq(chunk.map[0], 'x', "seen through our map");
}

/* After adoption nobody at all can write. */
Test(store_chunk, keeps_everybody_out_of_adopted_chunks)
{
    to_arena();
    cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), 0);
    cr_assert_eq(act(PEER_MAP_WRITABLE, chunk.fd), EPERM);
    cr_assert_eq(act(PEER_PWRITE, chunk.fd), EPERM);
    cr_assert_eq(act(PEER_PUNCH, chunk.fd), EPERM);
    cr_assert_eq(mprotect(chunk.map, BYTES, PROT_READ | PROT_WRITE), -1);
    cr_assert_eq(errno, EACCES);
    cr_assert_eq(peer(PEER_MAP_READABLE), 0);
}

/* --- header ---------------------------------------------------------------------------------- */

Test(store_chunk, begins_with_its_header)
{
    struct lp_shm_chunk_header header;

    cr_assert_eq(lp_store_chunk_to_pool(&chunk, POOL, EPOCH, NULL), 0);
    memcpy(&header, chunk.map, sizeof(header));
    cr_assert_eq(memcmp(header.magic, LP_SHM_CHUNK_MAGIC, 8), 0);
    cr_assert_eq(header.version, LP_SHM_VERSION);
    cr_assert_eq(header.header_bytes, LP_SHM_CHUNK_HEADER_BYTES);
    cr_assert_eq(header.epoch, EPOCH);
    cr_assert_eq(header.pool, POOL);
    cr_assert_eq(header.chunk, 5);
    cr_assert_eq(header.chunk_bytes, BYTES);
    cr_assert_eq(header.hash, lp_codec_hash(&header, 40));
}

/* A client that changed the header page, anywhere in it, is told so; its bytes can still be read.
 */
Test(store_chunk, refuses_to_adopt_a_changed_header)
{
    static const off_t places[] = {0, 28, 40, 48, LP_SHM_CHUNK_HEADER_BYTES - 1};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct lp_error err = LP_ERROR_INIT;

        to_arena();
        cr_assert_eq(pwrite(chunk.fd, "\x5a", 1, places[i]), 1);
        cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, &err), LP_ECORRUPT);
        cr_assert_not_null(strstr(err.text, "header page of arena chunk 5"), "%s", err.text);
        cr_assert_eq(chunk.map[places[i]], 0x5a);
        lp_store_chunk_fini(&chunk);
        init();
    }
}

/* --- adoption -------------------------------------------------------------------------------- */

/* A map through a writable descriptor, be it read-only, keeps the arena an arena, readable and
 * writable as before; without it the same call works. */
Test(store_chunk, refuses_to_adopt_while_mapped)
{
    static const int prots[] = {PROT_READ | PROT_WRITE, PROT_READ};
    struct lp_error err = LP_ERROR_INIT;

    to_arena();
    for (size_t i = 0; i < 2; i++) {
        void *map = mmap(NULL, BYTES, prots[i], MAP_SHARED, chunk.fd, 0);

        cr_assert_neq(map, MAP_FAILED);
        cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, &err), LP_EBUSY);
        cr_assert_not_null(strstr(err.text, "unmap"), "%s", err.text);
        cr_assert_eq(pwrite(chunk.fd, "w", 1, 5000), 1);
        cr_assert_eq(chunk.map[5000], 'w');
        cr_assert_eq(munmap(map, BYTES), 0);
    }
    cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), 0);
    cr_assert_eq(chunk.map[5000], 'w');
}

/* A page that is pinned elsewhere (here by a pipe) counts like a map. */
Test(store_chunk, refuses_to_adopt_while_a_page_is_pinned)
{
    int ends[2];

    to_arena();
    cr_assert_eq(pipe(ends), 0);
    const struct iovec piece = {chunk.map + 8192, 4096};
    if (vmsplice(ends[1], &piece, 1, 0) != 4096)
        cr_skip_test("waived: vmsplice is not allowed here");
    cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), LP_EBUSY);
    (void)close(ends[0]);
    (void)close(ends[1]);
    cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), 0);
}

/* A client that sealed the seals has an arena that can only be copied. */
Test(store_chunk, refuses_to_adopt_when_seals_are_sealed)
{
    to_arena();
    cr_assert_eq(fcntl(chunk.fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
    cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), LP_EPERM);
    cr_assert_not_null(chunk.map);
}

/* Whatever fails half-way, the arena can be mapped again, and then adopted. */
Test(store_chunk, adopts_after_a_failure)
{
    static const struct {
        enum lp_fault_site site;
        uint32_t nth;
        int rc;
    } cases[] = {{LP_FAULT_SEAL, 1, LP_EBUSY}, {LP_FAULT_MMAP, 1, LP_EMAP}};

    for (size_t i = 0; i < 2; i++) {
        struct fault_loop fault;

        to_arena();
        fault_arm(&fault, cases[i].site, cases[i].nth);
        cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), cases[i].rc);
        fault_disarm();
        cr_assert_eq(lp_store_chunk_remap(&chunk, NULL), 0);
        cr_assert_eq(chunk.map[0], 'L');
        cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), 0);
        lp_store_chunk_fini(&chunk);
        init();
    }
}

/* Kernels before 6.7 refuse shared maps of a write-sealed memfd through a writable descriptor. The
 * chunk is then opened anew: done here by hand, after an adoption that got no map. */
Test(store_chunk, opens_a_sealed_chunk_anew_for_reading)
{
    struct fault_loop fault;

    to_arena();
    fault_arm(&fault, LP_FAULT_MMAP, 1);
    cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), LP_EMAP);
    fault_disarm();
    cr_assert_eq(lp_store_chunk_reopen(&chunk, NULL), 0);
    cr_assert_eq(fcntl(chunk.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    cr_assert_eq(lp_store_chunk_adopt(&chunk, POOL, EPOCH, NULL), 0);
    cr_assert_eq(chunk.map[0], 'L');
    cr_assert_eq(peer(PEER_MAP_READABLE), 0);
}

/* --- pages ----------------------------------------------------------------------------------- */

/* init touches nothing; touch makes exactly the range, and changes nothing that is there. */
Test(store_chunk, touches_what_it_is_told)
{
    cr_assert_eq(resident_bytes(), 0);
    cr_assert_eq(lp_store_chunk_touch(&chunk, 1 << 20, 1 << 20, NULL), 0);
    cr_assert_eq(resident_bytes(), 1 << 20);
    memset(chunk.map, 0x3c, BYTES);
    touch_all();
    for (uint64_t i = 0; i < BYTES; i += 4096)
        cr_assert_eq(chunk.map[i], 0x3c);
}

/* An arena's pages come back at once, even while its client has it mapped. */
Test(store_chunk, gives_an_arenas_pages_back)
{
    struct lp_chunk view;

    to_arena();
    memset(&view, 0, sizeof(view));
    view.map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, chunk.fd, 0);
    cr_assert_neq(view.map, MAP_FAILED);
    memset(view.map, 1, BYTES);
    lp_store_chunk_fini(&chunk);
    chunk.map = view.map;
    cr_assert_eq(resident_bytes(), 0);
    cr_assert_eq(view.map[4096], 0, "the client reads zeros");
    cr_assert_eq(munmap(view.map, BYTES), 0);
    chunk.map = NULL;
    lp_store_chunk_fini(&chunk); /* an ended chunk is fine */
    lp_store_chunk_fini(NULL);
}

Test(store_chunk, says_which_call_failed)
{
    static const struct {
        enum lp_fault_site site;
        int rc;
        const char *text;
    } cases[] = {{LP_FAULT_MEMFD, LP_ELIMIT, "RLIMIT_NOFILE"},
                 {LP_FAULT_FTRUNCATE, LP_ENOMEM, "ftruncate"},
                 {LP_FAULT_SEAL, LP_EMAP, "seal"},
                 {LP_FAULT_MMAP, LP_EMAP, "mmap"}};

    for (size_t i = 0; i < 4; i++) {
        struct lp_error err = LP_ERROR_INIT;
        struct fault_loop fault;
        struct lp_chunk own;

        fault_arm(&fault, cases[i].site, 1);
        cr_assert_eq(lp_store_chunk_init(&own, 9, BYTES, &err), cases[i].rc);
        fault_disarm();
        cr_assert_not_null(strstr(err.text, cases[i].text), "%s", err.text);
        cr_assert_not_null(strstr(err.text, "chunk 9 of 8388608 bytes"), "%s", err.text);
        cr_assert_eq(own.fd, -1);
        fault_arm(&fault, cases[i].site, 1);
        cr_assert_lt(lp_store_chunk_probe(&err), 0);
        fault_disarm();
    }
    cr_assert_eq(lp_store_chunk_probe(NULL), 0);
}
