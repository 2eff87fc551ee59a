/* SPDX-License-Identifier: Apache-2.0 */
/* What store.h marks "any thread", beside the owner's thread: two workers touch pages, replace
 * chunks and run tickets while the owner creates, opens, deletes and ends. Contents are checked. */
#include "base/atomic.h"
#include "tests/lib/small_store.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 40u
#define TICKETS 2u
#define OWNER 1u

static struct small_store small;
static struct small_table table;
static uint32_t stop;

static void must(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "tsan_store: %s\n", what);
    abort();
}

/* --- pages: several threads pre-fault while the owner looks and takes arenas -------------------
 */

static void *prefault(void *user)
{
    int rc;

    (void)user;
    while ((rc = lp_store_prefault_step(small.store, NULL)) > 0)
        ;
    must(rc == 0, "prefault");
    return NULL;
}

static void prefault_in_parallel(void)
{
    pthread_t thread[2];

    small_store_init(&small, 8, false);
    for (int i = 0; i < 2; i++)
        must(pthread_create(&thread[i], NULL, prefault, NULL) == 0, "thread");
    while (small_store_state(&small).ready == 0) {
        uint32_t arena, chunk;
        int fd;

        if (lp_store_arena_open(small.store, OWNER, &arena, &chunk, &fd, NULL) == 0)
            (void)lp_store_arena_close(small.store, OWNER, arena, NULL);
    }
    for (int i = 0; i < 2; i++)
        must(pthread_join(thread[i], NULL) == 0, "join");
    const struct lp_store_state state = small_store_state(&small);
    must(state.resident_bytes == (state.n_chunks - state.missing_chunks) * SMALL_CHUNK_BYTES,
         "every page of what is there");
}

/* --- tickets and replacements beside the owner -------------------------------------------------
 */

struct job {
    struct lp_store_seal *seal;
    int rc;
};

static void *run_ticket(void *user)
{
    struct job *job = user;

    job->rc = lp_store_seal_run(job->seal, NULL);
    return NULL;
}

static void *replenish(void *user)
{
    (void)user;
    while (lp_atomic_load_acquire_u32(&stop) == 0) {
        must(lp_store_replenish(small.store, NULL) >= 0, "replenish");
        (void)sched_yield();
    }
    return NULL;
}

static void begin(uint32_t i, bool adopt, struct job *job)
{
    static const char *const names[TICKETS] = {"a", "b"};
    struct lp_store_create create = small_create(names[i], &table.packed);
    struct lp_store_part parts[4];
    struct small_arena arena;
    uint64_t oid;

    create.replace = true;
    must(lp_store_create(small.store, OWNER, &create, &oid, NULL) == 0, "create");
    small_arena_open(&small, OWNER, &arena);
    const uint32_t n = small_arena_add_packed(&arena, &table.packed, adopt, parts);
    small_arena_unmap(&arena);
    must(lp_store_seal_begin(small.store, OWNER, oid, parts, n, &job->seal, NULL) == 0, "begin");
}

/* What a loop does while workers are busy. */
static void busy_owner(void)
{
    struct lp_store_info info;
    uint64_t lease;

    for (int i = 0; i < 20; i++) {
        (void)small_store_state(&small);
        if (lp_store_open(small.store, 2, SMALL_SPACE, "a", &lease, &info, NULL) == 0)
            must(small_reads_as(&small, &info, table.data), "reads");
        if (i % 5 == 4)
            lp_store_owner_end(small.store, 2);
    }
}

static void seal_in_parallel(uint32_t round)
{
    struct job job[TICKETS];
    pthread_t thread[TICKETS];

    while (small_store_state(&small).missing_chunks > 0)
        (void)sched_yield(); /* the replacing thread is at it */
    for (uint32_t i = 0; i < TICKETS; i++) {
        begin(i, (round + i) % 3 == 0, &job[i]);
        must(pthread_create(&thread[i], NULL, run_ticket, &job[i]) == 0, "thread");
    }
    busy_owner();
    if (round % 7 == 6)
        lp_store_owner_end(small.store, OWNER);
    for (uint32_t i = 0; i < TICKETS; i++) {
        must(pthread_join(thread[i], NULL) == 0, "join");
        const int rc = lp_store_seal_end_take(small.store, job[i].seal, job[i].rc, NULL, NULL);

        must(rc == 0 || (round % 7 == 6 && rc == LP_ECANCELED), "end");
    }
    lp_store_owner_end(small.store, OWNER);
}

int main(void)
{
    pthread_t replacing;

    /* The fast tiers load whole vectors, so they read, and drop, up to 64 bytes behind an extent
     * (docs/SHM.md, section 1), where another ticket may be writing. The scalar one does not. */
    must(setenv("LANEPACK_CPU_MASK", "all", 1) == 0, "setenv");
    small_table_init(&table, 200, 1);
    prefault_in_parallel();
    must(pthread_create(&replacing, NULL, replenish, NULL) == 0, "thread");
    for (uint32_t round = 0; round < ROUNDS; round++)
        seal_in_parallel(round);
    lp_atomic_store_release_u32(&stop, 1);
    must(pthread_join(replacing, NULL) == 0, "join");
    lp_store_owner_end(small.store, OWNER);
    small_store_fini(&small);
    small_table_fini(&table);
    return 0;
}
