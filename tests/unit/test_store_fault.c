/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that can fail fails once at each of its places: a code and a sentence come back,
 * nothing stays behind, and the same again works. */
#include "store/store.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/small_store.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define ALICE 1u
#define BOB 2u

static const enum lp_fault_site sites[] = {LP_FAULT_ALLOC, LP_FAULT_MEMFD, LP_FAULT_FTRUNCATE,
                                           LP_FAULT_MMAP,  LP_FAULT_MLOCK, LP_FAULT_SEAL,
                                           LP_FAULT_OPEN,  LP_FAULT_READ};
#define SITES (sizeof(sites) / sizeof(sites[0]))

static struct small_table table;

static void init(void)
{
    small_table_init(&table, 500, 1);
}

static void fini(void)
{
    small_table_fini(&table);
}

TestSuite(store_fault, .init = init, .fini = fini);

static uint32_t open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t n = 0;

    cr_assert_not_null(folder);
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

/* Maps of chunks that this process has. */
static uint32_t chunk_maps(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    uint32_t n = 0;

    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        n += strstr(line, "lanepack-chunk") != NULL;
    (void)fclose(file);
    return n;
}

static void assert_failure(int rc, const struct lp_error *err)
{
    cr_assert_lt(rc, 0);
    cr_assert_eq(err->code, rc);
    cr_assert_gt(strlen(err->text), 5);
}

/* --- new and pre-fault ----------------------------------------------------------------------- */

static int new_and_touch(struct small_store *small, enum lp_store_lock lock, struct lp_error *err)
{
    struct lp_store_params params = small_store_params(small, 3);
    int rc;

    params.lock = lock;
    small->store = NULL;
    small->now_ns = 1;
    LP_TRY(rc, lp_store_new(&params, &small->store, err));
    do
        rc = lp_store_prefault_step(small->store, err);
    while (rc > 0);
    return rc;
}

Test(store_fault, new_gives_everything_back)
{
    const uint32_t descriptors = open_descriptors();

    for (size_t i = 0; i < SITES; i++) {
        struct fault_loop loop;

        FAULT_LOOP(&loop, sites[i]) {
            struct lp_error err = LP_ERROR_INIT;
            struct small_store small;
            int rc = new_and_touch(&small, LP_STORE_LOCK_OFF, &err);

            if (fault_loop_hit(&loop)) {
                assert_failure(rc, &err);
                fault_disarm();
                /* What new made and pre-fault could not finish is finished by more of it. */
                if (small.store != NULL)
                    small_store_prefault(&small);
            } else {
                cr_assert_eq(rc, 0, "%s", err.text);
            }
            small_store_fini(&small);
            cr_assert_eq(open_descriptors(), descriptors);
            cr_assert_eq(chunk_maps(), 0);
        }
    }
    ASSERT_NO_LEAK();
}

/* With lock = auto no refusal of mlock is an error; with on each of them is. */
Test(store_fault, locking_is_refused_aloud)
{
    for (int on = 0; on < 2; on++) {
        struct fault_loop loop;

        FAULT_LOOP(&loop, LP_FAULT_MLOCK) {
            struct lp_error err = LP_ERROR_INIT;
            struct small_store small;
            const int rc = new_and_touch(&small, on ? LP_STORE_LOCK_ON : LP_STORE_LOCK_AUTO, &err);

            if (small.store == NULL) {
                /* Not root, and the limit is too small: refused before the first mlock. */
                cr_assert_eq(rc, LP_ELIMIT);
                fault_disarm();
                cr_skip_test("waived: RLIMIT_MEMLOCK is too small to lock 24 MiB");
            }
            const struct lp_store_state state = small_store_state(&small);
            if (fault_loop_hit(&loop) && on) {
                cr_assert_eq(rc, LP_ELIMIT);
            } else {
                cr_assert_eq(rc, 0);
                cr_assert_eq(state.resident_bytes, state.pool_bytes);
                cr_assert_eq(fault_loop_hit(&loop), state.lock_note[0] != 0);
            }
            small_store_fini(&small);
        }
    }
}

/* --- a put, each step of it ------------------------------------------------------------------ */

struct put {
    struct small_store small;
    bool adopt;
};

/* As a client would: arena, name, bytes, seal. */
static int try_put(struct put *put, struct lp_error *err)
{
    const struct lp_store_create create = small_create("n", &table.packed);
    struct lp_store_part parts[4];
    struct small_arena arena;
    uint64_t oid;
    int rc;

    LP_TRY(rc, small_arena_try_open(&put->small, ALICE, &arena, err));
    const uint32_t n = small_arena_add_packed(&arena, &table.packed, put->adopt, parts);
    small_arena_unmap(&arena);
    LP_TRY(rc, lp_store_create(put->small.store, ALICE, &create, &oid, err));
    return small_seal(&put->small, ALICE, oid, parts, n, NULL, err);
}

static void assert_reads(struct put *put)
{
    struct lp_store_info info;
    uint64_t lease;

    cr_assert_eq(lp_store_open(put->small.store, BOB, SMALL_SPACE, "n", &lease, &info, NULL), 0);
    cr_assert(small_reads_as(&put->small, &info, table.data));
    lp_store_owner_end(put->small.store, BOB);
}

/* After the connection's end nothing is left of a put that failed. */
static void assert_empty(struct put *put)
{
    lp_store_owner_end(put->small.store, ALICE);
    small_store_replenish(&put->small);
    const struct lp_store_state state = small_store_state(&put->small);

    cr_assert_eq(state.used_bytes, 0);
    cr_assert_eq(state.arena_bytes, 0);
    cr_assert_eq(state.n_objects + state.n_unsealed, 0);
    cr_assert_eq(state.missing_chunks, 0);
    cr_assert_eq(state.resident_bytes, state.pool_bytes);
}

/* The nth call at site fails, n = 1, 2, ... until there is none. Returns how many did. */
static uint32_t fail_each_place(struct put *put, enum lp_fault_site site)
{
    for (uint32_t nth = 1;; nth++) {
        struct lp_error err = LP_ERROR_INIT;
        struct fault_loop fault;

        fault_arm(&fault, site, nth);
        int rc = try_put(put, &err);
        const bool hit = fault_loop_hit(&fault);
        fault_disarm();
        if (hit && rc < 0) {
            assert_failure(rc, &err);
            assert_empty(put);
            rc = try_put(put, &err);
        }
        cr_assert_eq(rc, 0, "%s", err.text);
        assert_reads(put);
        cr_assert_eq(lp_store_delete(put->small.store, SMALL_SPACE, "n", NULL), 0);
        assert_empty(put);
        if (!hit)
            return nth - 1;
    }
}

Test(store_fault, put_by_copy_gives_everything_back)
{
    struct put put = {.adopt = false};

    small_store_init(&put.small, 4, true);
    for (size_t i = 0; i < SITES; i++)
        (void)fail_each_place(&put, sites[i]);
    cr_assert_geq(fail_each_place(&put, LP_FAULT_ALLOC), 8);
    small_store_fini(&put.small);
    cr_assert_eq(chunk_maps(), 0);
    ASSERT_NO_LEAK();
}

Test(store_fault, put_by_adoption_gives_everything_back)
{
    struct put put = {.adopt = true};

    small_store_init(&put.small, 4, true);
    for (size_t i = 0; i < SITES; i++)
        (void)fail_each_place(&put, sites[i]);
    cr_assert_eq(fail_each_place(&put, LP_FAULT_SEAL), 1);
    cr_assert_eq(fail_each_place(&put, LP_FAULT_MMAP), 1);
    small_store_fini(&put.small);
    cr_assert_eq(chunk_maps(), 0);
    ASSERT_NO_LEAK();
}

/* --- the rest -------------------------------------------------------------------------------- */

Test(store_fault, open_takes_no_half_lease)
{
    struct put put = {.adopt = false};
    struct fault_loop loop;

    small_store_init(&put.small, 4, true);
    cr_assert_eq(small_put(&put.small, ALICE, "n", &table.packed, false, NULL), 0);
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct lp_store_info info = {.oid = 99};
        uint64_t lease = 99;
        const int rc = lp_store_open(put.small.store, BOB, SMALL_SPACE, "n", &lease, &info, NULL);

        if (fault_loop_hit(&loop)) {
            cr_assert_eq(rc, LP_ENOMEM);
            cr_assert(lease == 99 && info.oid == 99, "untouched on failure");
            cr_assert_eq(small_store_state(&put.small).n_leases, 0);
        } else {
            cr_assert_eq(rc, 0);
        }
        lp_store_owner_end(put.small.store, BOB);
    }
    cr_assert_gt(loop.nth, 2);
    small_store_fini(&put.small);
    ASSERT_NO_LEAK();
}

/* One chunk dropped; its replacement fails at the nth call of site, if there is one. */
static bool fail_replenish(enum lp_fault_site site, uint32_t nth)
{
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop fault;
    struct small_store small;
    struct small_arena arena;

    small_store_init(&small, 3, true);
    small_arena_open(&small, ALICE, &arena);
    small_arena_unmap(&arena);
    lp_store_owner_end(small.store, ALICE);
    fault_arm(&fault, site, nth);
    const int rc = lp_store_replenish(small.store, &err);
    const bool hit = fault_loop_hit(&fault);
    fault_disarm();
    if (hit) {
        assert_failure(rc, &err);
        cr_assert_eq(small_store_state(&small).missing_chunks, 1);
        small_store_replenish(&small);
    } else {
        cr_assert_eq(rc, 1);
    }
    const struct lp_store_state state = small_store_state(&small);
    cr_assert_eq(state.missing_chunks, 0);
    cr_assert_eq(state.resident_bytes, state.pool_bytes);
    small_store_fini(&small);
    return hit;
}

Test(store_fault, replenish_tries_again)
{
    for (size_t i = 0; i < SITES; i++)
        for (uint32_t nth = 1; fail_replenish(sites[i], nth); nth++)
            ;
    cr_assert_eq(chunk_maps(), 0);
    ASSERT_NO_LEAK();
}
