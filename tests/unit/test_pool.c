/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "store/pool.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <string.h>

#define CHUNK_BYTES LP_SHM_CHUNK_BYTES_MIN
#define ROOM lp_shm_chunk_room(CHUNK_BYTES)

static uint64_t now_ns(void *user)
{
    (void)user;
    return lp_clock_now_ns();
}

static struct lp_pool_params params(uint32_t n_chunks)
{
    return (struct lp_pool_params){.n_chunks = n_chunks,
                                   .chunk_bytes = CHUNK_BYTES,
                                   .epoch = 77,
                                   .lock = LP_STORE_LOCK_OFF,
                                   .memlock_bytes = UINT64_MAX,
                                   .now_ns = now_ns};
}

static struct lp_pool pool;

static void open_pool(uint32_t n_chunks, bool resident)
{
    const struct lp_pool_params p = params(n_chunks);

    cr_assert_eq(lp_store_pool_init(&pool, &p, NULL), 0);
    while (resident && lp_store_pool_prefault_step(&pool, NULL) > 0)
        ;
}

static struct lp_store_state state(void)
{
    struct lp_store_state state;

    memset(&state, 0, sizeof(state));
    lp_store_pool_get_state(&pool, &state);
    return state;
}

static void fini(void)
{
    lp_store_pool_fini(&pool);
}

TestSuite(store_pool, .fini = fini);

/* A slice is 32 MiB, and the last one of a chunk what is left. */
Test(store_pool, prefaults_slice_by_slice)
{
    struct lp_pool_params p = params(2);
    int steps = 0;

    p.chunk_bytes = 40ull << 20;
    cr_assert_eq(lp_store_pool_init(&pool, &p, NULL), 0);
    cr_assert_eq(state().ready, 0);
    while (lp_store_pool_prefault_step(&pool, NULL) > 0)
        steps++;
    cr_assert_eq(steps, 4);
    cr_assert_eq(state().ready, 1);
    cr_assert_eq(state().resident_bytes, 80ull << 20);
    cr_assert_gt(state().prefault_ns, 0);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, NULL), 0);
}

/* A slice that could not be made is left for later, and is then made. */
Test(store_pool, retries_a_slice_that_failed)
{
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop fault;

    open_pool(2, false);
    fault_arm(&fault, LP_FAULT_MMAP, 1);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, &err), LP_ENOMEM);
    fault_disarm();
    cr_assert_eq(state().resident_bytes, 0);
    cr_assert_not_null(strstr(err.text, "pre-fault: touch"), "%s", err.text);
    while (lp_store_pool_prefault_step(&pool, NULL) > 0)
        ;
    cr_assert_eq(state().ready, 1);
}

/* auto: a refusal is noted and the pool goes on without; on: it is an error that can be retried. */
Test(store_pool, locks_as_told)
{
    struct lp_pool_params p = params(2);
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop fault;

    p.lock = LP_STORE_LOCK_AUTO;
    p.memlock_bytes = 2 * CHUNK_BYTES - 1;
    cr_assert_eq(lp_store_pool_init(&pool, &p, NULL), 0);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, NULL), 1);
    cr_assert_eq(state().locked_bytes, 0, "all or nothing");
    cr_assert_str_eq(state().lock_note, "RLIMIT_MEMLOCK is 16777215 bytes, the pool has 16777216");
    fini();
    p.memlock_bytes = UINT64_MAX;
    cr_assert_eq(lp_store_pool_init(&pool, &p, NULL), 0);
    fault_arm(&fault, LP_FAULT_MLOCK, 1);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, NULL), 1);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, NULL), 1);
    fault_disarm();
    cr_assert_eq(state().locked_bytes, 0);
    cr_assert_eq(state().ready, 1);
    cr_assert_eq(strncmp(state().lock_note, "mlock of 8388608 bytes; raise RLIMIT_MEMLOCK", 40), 0,
                 "%s", state().lock_note);
    fini();
    p.lock = LP_STORE_LOCK_ON;
    cr_assert_eq(lp_store_pool_init(&pool, &p, NULL), 0);
    fault_arm(&fault, LP_FAULT_MLOCK, 1);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, &err), LP_ELIMIT);
    fault_disarm();
    cr_assert_not_null(strstr(err.text, "LimitMEMLOCK=infinity"), "%s", err.text);
    cr_assert_eq(state().resident_bytes, 0);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, NULL), 1);
    cr_assert_eq(state().locked_bytes, CHUNK_BYTES);
}

/* Blank chunks become pool chunks one by one, the last stays for arenas. */
Test(store_pool, keeps_one_chunk_to_write_in)
{
    struct lp_shm_extent extent[3];
    struct lp_error err = LP_ERROR_INIT;

    open_pool(3, true);
    cr_assert_eq(state().free_bytes, 2 * ROOM);
    cr_assert_eq(lp_store_pool_take(&pool, ROOM + 1, &extent[0], &err), LP_ENOSPC);
    cr_assert_eq(lp_store_pool_take(&pool, ROOM, &extent[0], NULL), 0);
    cr_assert_eq(extent[0].offset, LP_SHM_CHUNK_HEADER_BYTES);
    cr_assert_eq(state().blank_chunks, 2);
    cr_assert_eq(state().free_bytes, ROOM);
    cr_assert_eq(lp_store_pool_take(&pool, ROOM, &extent[1], NULL), 0);
    cr_assert_eq(lp_store_pool_take(&pool, 1, &extent[2], NULL), LP_ENOSPC);
    cr_assert_eq(state().free_bytes, 0);
    cr_assert_eq(state().largest_free_bytes, 0);
    cr_assert_eq(state().blank_chunks, 1);
    lp_store_pool_give_back(&pool, &extent[0]);
    cr_assert_eq(state().free_bytes, ROOM);
    cr_assert_eq(lp_store_pool_take(&pool, 1, &extent[2], NULL), 0);
    cr_assert_eq(extent[2].chunk, extent[0].chunk);
}

Test(store_pool, hands_out_arenas_that_are_resident)
{
    struct lp_chunk *first, *second;
    struct lp_error err = LP_ERROR_INIT;

    open_pool(2, false);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &first, &err), LP_EBUSY);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, NULL), 1);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &first, NULL), 0);
    cr_assert_eq(first->number, 0);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &second, NULL), LP_EBUSY);
    cr_assert_eq(lp_store_pool_prefault_step(&pool, NULL), 1);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &second, NULL), 0);
    cr_assert_eq(state().arena_bytes, 2 * CHUNK_BYTES);
    cr_assert_eq(state().free_bytes, 0);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &first, &err), LP_ENOSPC);
    cr_assert_str_eq(err.text, "an arena needs a blank chunk of 8388608 bytes, have none: of 2 "
                               "chunks 2 are arenas, 0 are being replaced, the others hold "
                               "objects");
}

/* A dropped chunk is replaced by a fresh one with a number that nobody has seen. */
Test(store_pool, replaces_dropped_chunks)
{
    struct fault_loop fault;
    struct lp_chunk *arena;

    open_pool(2, true);
    cr_assert_eq(lp_store_pool_replenish(&pool, NULL), 0);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &arena, NULL), 0);
    lp_store_pool_drop(&pool, arena);
    cr_assert_eq(state().missing_chunks, 1);
    cr_assert_eq(state().resident_bytes, CHUNK_BYTES);
    cr_assert_null(lp_store_pool_find(&pool, 0));
    fault_arm(&fault, LP_FAULT_MMAP, 2); /* the touch */
    cr_assert_eq(lp_store_pool_replenish(&pool, NULL), LP_ENOMEM);
    fault_disarm();
    cr_assert_eq(state().missing_chunks, 1);
    cr_assert_eq(lp_store_pool_replenish(&pool, NULL), 1);
    cr_assert_eq(lp_store_pool_replenish(&pool, NULL), 0);
    cr_assert_eq(state().missing_chunks, 0);
    cr_assert_eq(state().resident_bytes, 2 * CHUNK_BYTES);
    cr_assert_null(lp_store_pool_find(&pool, 0));
    cr_assert_eq(state().ready, 1, "once ready, always ready");
    cr_assert_eq(lp_store_pool_take_arena(&pool, &arena, NULL), 0);
    cr_assert_geq(arena->number, 1);
}

/* Adoption keeps a chunk to write in, counts what is under way, and goes when it is empty. */
Test(store_pool, adopts_and_lets_go_of_whole_chunks)
{
    struct lp_chunk *one, *two;
    struct lp_error err = LP_ERROR_INIT;

    open_pool(2, true);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &one, NULL), 0);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &two, NULL), 0);
    cr_assert_eq(lp_store_pool_begin_adopt(&pool, NULL), 0);
    cr_assert_eq(lp_store_pool_begin_adopt(&pool, &err), LP_ENOSPC);
    cr_assert_eq(lp_store_pool_adopt(&pool, one, NULL), 0);
    cr_assert_eq(lp_store_pool_begin_adopt(&pool, &err), LP_ENOSPC);
    one->uses++;
    lp_store_pool_end_adopt(&pool);
    cr_assert_eq(lp_store_pool_begin_adopt(&pool, &err), LP_ENOSPC);
    cr_assert_eq(state().used_bytes, ROOM);
    const struct lp_shm_extent extent = {one->number, LP_SHM_CHUNK_HEADER_BYTES, 5};
    lp_store_pool_give_back(&pool, &extent);
    cr_assert_eq(state().missing_chunks, 1);
    cr_assert_eq(lp_store_pool_replenish(&pool, NULL), 1);
    cr_assert_eq(state().blank_chunks, 1);
}

/* Whichever call fails, nothing is left of the pool, and the next try works. */
Test(store_pool, survives_failures_of_init)
{
    static const enum lp_fault_site sites[] = {LP_FAULT_ALLOC, LP_FAULT_MEMFD, LP_FAULT_FTRUNCATE,
                                               LP_FAULT_SEAL, LP_FAULT_MMAP};
    const struct lp_pool_params p = params(3);

    for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
        struct fault_loop loop;

        FAULT_LOOP(&loop, sites[i]) {
            const int rc = lp_store_pool_init(&pool, &p, NULL);

            cr_assert(fault_loop_hit(&loop) ? rc < 0 : rc == 0);
            lp_store_pool_fini(&pool);
        }
        cr_assert_geq(loop.nth, 4);
    }
    ASSERT_NO_LEAK();
}

/* An empty pool chunk makes way for a blank one where an arena is wanted, and for an adoption. */
Test(store_pool, lets_empty_pool_chunks_make_way)
{
    struct lp_shm_extent extent, other;
    struct lp_chunk *arena, *more;

    open_pool(3, true);
    cr_assert_eq(lp_store_pool_take(&pool, ROOM, &extent, NULL), 0);
    cr_assert_eq(lp_store_pool_take(&pool, ROOM, &other, NULL), 0);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &arena, NULL), 0);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &more, NULL), LP_ENOSPC);
    cr_assert_eq(lp_store_pool_begin_adopt(&pool, NULL), LP_ENOSPC);
    lp_store_pool_give_back(&pool, &extent);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &more, NULL), LP_EBUSY);
    cr_assert_eq(state().missing_chunks, 1);
    cr_assert_eq(lp_store_pool_replenish(&pool, NULL), 1);
    cr_assert_eq(lp_store_pool_take_arena(&pool, &more, NULL), 0);
    lp_store_pool_give_back(&pool, &other);
    cr_assert_eq(lp_store_pool_begin_adopt(&pool, NULL), 0);
    lp_store_pool_end_adopt(&pool);
}
