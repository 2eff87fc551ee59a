/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/clock.h"
#include "store/store.h"
#include "tests/lib/leak.h"
#include "tests/lib/small_store.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define ALICE 1u
#define BOB 2u

static struct small_store small;
static struct small_table table, other;

static void init(void)
{
    small_store_init(&small, 4, true);
    small_table_init(&table, 500, 1);
    small_table_init(&other, 300, 2);
}

static void fini(void)
{
    small_table_fini(&other);
    small_table_fini(&table);
    small_store_fini(&small);
}

TestSuite(store_store, .init = init, .fini = fini);

static int create_named(uint64_t owner, const char *name, uint64_t *ret_oid, struct lp_error *err)
{
    const struct lp_store_create create = small_create(name, &table.packed);

    return lp_store_create(small.store, owner, &create, ret_oid, err);
}

static void put(uint64_t owner, const char *name)
{
    cr_assert_eq(small_put(&small, owner, name, &table.packed, false, NULL), 0);
}

static struct lp_store_info open_named(uint64_t owner, const char *name, uint64_t *ret_lease)
{
    struct lp_store_info info;

    cr_assert_eq(lp_store_open(small.store, owner, SMALL_SPACE, name, ret_lease, &info, NULL), 0);
    return info;
}

/* Nothing but what a store of this shape has when it is new; arenas are replaced first. */
static void assert_pristine(uint32_t pool_chunks)
{
    small_store_replenish(&small);
    const struct lp_store_state state = small_store_state(&small);

    cr_assert_eq(state.n_objects, 0);
    cr_assert_eq(state.n_unsealed, 0);
    cr_assert_eq(state.n_leases, 0);
    cr_assert_eq(state.used_bytes, 0);
    cr_assert_eq(state.arena_bytes, 0);
    cr_assert_eq(state.logical_bytes, 0);
    cr_assert_eq(state.stored_bytes, 0);
    cr_assert_eq(state.wire_bytes, 0);
    cr_assert_eq(state.missing_chunks, 0);
    cr_assert_eq(state.blank_chunks, state.n_chunks - pool_chunks);
    cr_assert_eq(state.free_bytes, (state.n_chunks - 1) * lp_shm_chunk_room(SMALL_CHUNK_BYTES));
    cr_assert_eq(state.resident_bytes, state.pool_bytes);
}

/* --- new ------------------------------------------------------------------------------------- */

Test(store_store, refuses_params_that_make_no_store)
{
    struct small_store none;
    struct lp_store *store = NULL;
    struct lp_store_params params = small_store_params(&none, 1);

    cr_assert_eq(lp_store_new(&params, &store, NULL), LP_EINVAL, "one chunk");
    params = small_store_params(&none, 2);
    params.chunk_bytes = LP_SHM_CHUNK_BYTES_MIN - 1;
    cr_assert_eq(lp_store_new(&params, &store, NULL), LP_EINVAL);
    params.chunk_bytes = LP_SHM_CHUNK_BYTES_MIN + 4096;
    cr_assert_eq(lp_store_new(&params, &store, NULL), LP_EINVAL);
    params.chunk_bytes = LP_SHM_CHUNK_BYTES_MAX * 2;
    cr_assert_eq(lp_store_new(&params, &store, NULL), LP_EINVAL);
    params = small_store_params(&none, 2);
    params.epoch = 0;
    cr_assert_eq(lp_store_new(&params, &store, NULL), LP_EINVAL);
    params = small_store_params(&none, 2);
    params.pool_bytes = UINT64_MAX;
    cr_assert_eq(lp_store_new(&params, &store, NULL), LP_EINVAL);
    cr_assert_null(store);
}

/* A pool larger than the machine is refused by its numbers, not by running out. */
Test(store_store, refuses_a_pool_over_budget)
{
    struct small_store none;
    struct lp_error err = LP_ERROR_INIT;
    struct lp_store *store = NULL;
    struct lp_store_params params = small_store_params(&none, 2);

    params.chunk_bytes = LP_SHM_CHUNK_BYTES_MAX;
    params.pool_bytes = 1024 * LP_SHM_CHUNK_BYTES_MAX;
    cr_assert_eq(lp_store_new(&params, &store, &err), LP_ELIMIT);
    cr_assert_not_null(strstr(err.text, "need 70368744177664 bytes, have "), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "lower pool.size"), "%s", err.text);
    cr_assert_null(store);
}

/* A descriptor per chunk is a limit like memory. */
Test(store_store, refuses_more_chunks_than_descriptors)
{
    struct small_store none;
    struct lp_error err = LP_ERROR_INIT;
    struct lp_store *store = NULL;
    const struct lp_store_params params = small_store_params(&none, 33);
    struct rlimit limit;

    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 64;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(lp_store_new(&params, &store, &err), LP_ELIMIT);
    cr_assert_not_null(strstr(err.text, "RLIMIT_NOFILE"), "%s", err.text);
}

/* Time that this thread has worked: other programs on the machine do not count. */
static uint64_t cpu_ns(void)
{
    struct timespec now;

    cr_assert_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * LP_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* hello is answered in milliseconds, so new must not touch the pool; pre-fault then does. */
Test(store_store, is_new_at_once_and_ready_after_prefault)
{
    struct small_store big = {.now_ns = 5};
    struct lp_store_params params = small_store_params(&big, 96);
    struct lp_store_state state;

    const uint64_t start = cpu_ns();
    cr_assert_eq(lp_store_new(&params, &big.store, NULL), 0);
    cr_assert_lt(cpu_ns() - start, 50 * LP_NS_PER_MS);
    lp_store_get_state(big.store, &state);
    cr_assert_eq(state.resident_bytes, 0);
    cr_assert_eq(state.ready, 0);
    cr_assert_eq(state.pool_bytes, 96 * SMALL_CHUNK_BYTES);
    cr_assert_eq(state.locked_bytes, 0);
    cr_assert_str_eq(state.lock_note, "pool.lock=off");
    cr_assert_eq(lp_store_prefault_step(big.store, NULL), 1);
    big.now_ns = 1005;
    small_store_prefault(&big);
    lp_store_get_state(big.store, &state);
    cr_assert_eq(state.resident_bytes, state.pool_bytes);
    cr_assert_eq(state.ready, 1);
    cr_assert_eq(state.prefault_ns, 1000);
    small_store_fini(&big);
}

/* --- objects --------------------------------------------------------------------------------- */

/* What was put is what is read, with its sizes, and exactly one copy of it. */
Test(store_store, gives_back_what_was_put)
{
    struct lp_store_info info;
    uint64_t lease;

    put(ALICE, "weights");
    info = open_named(BOB, "weights", &lease);
    cr_assert_str_eq(info.name, "weights");
    cr_assert_str_eq(info.tag, "");
    cr_assert_eq(info.dtype, LP_DTYPE_F32);
    cr_assert_eq(info.dims[0], 500);
    cr_assert_eq(info.codec, table.packed.table.codec);
    cr_assert_eq(info.logical_bytes, table.data_bytes);
    cr_assert_eq(info.stored_bytes, lp_codec_table_stored_bytes(&table.packed.table));
    cr_assert_eq(info.wire_bytes, table.packed.table.wire_bytes);
    cr_assert_eq(info.n_records, table.packed.table.n_records);
    cr_assert_eq(info.leases, 1);
    cr_assert_eq(info.n_extents, 2);
    cr_assert(small_reads_as(&small, &info, table.data));
    cr_assert_eq(lp_store_release(small.store, BOB, lease, NULL), 0);
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "weights", NULL), 0);
    assert_pristine(1);
}

Test(store_store, checks_what_create_says)
{
    struct lp_store_create create = small_create("n", &table.packed);
    char long_name[LP_FORMAT_NAME_MAX + 2];
    uint64_t oid = 99;

    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = 0;
    create.name = "";
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_ENAME);
    create.name = long_name;
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_ENAME);
    create.name = "a\nb";
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_ENAME);
    create.name = "\xff";
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_ENAME);
    create.name = "n";
    create.name_space = "";
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_ENAME);
    create.name_space = SMALL_SPACE;
    create.tag = "a\tb";
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_ENAME);
    create.tag = NULL;
    create.dtype = LP_DTYPE_END;
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_EINVAL);
    create.dtype = LP_DTYPE_F32;
    create.codec = LP_CODEC_END;
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_EINVAL);
    create.codec = LP_CODEC_AUTO;
    create.dims[0] = create.dims[1] = UINT64_C(1) << 40;
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_ESIZE);
    create.dims[0] = create.dims[1] = 4;
    create.replace = create.if_absent = true;
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), LP_EINVAL);
    create.replace = create.if_absent = false;
    cr_assert_eq(lp_store_create(small.store, 0, &create, &oid, NULL), LP_EINVAL);
    cr_assert_eq(oid, 99, "untouched on failure");
    assert_pristine(0);
}

/* A name is reserved from create on, and free again after abort. */
Test(store_store, reserves_the_name)
{
    struct lp_store_info info;
    uint64_t oid, again, lease;

    cr_assert_eq(create_named(ALICE, "n", &oid, NULL), 0);
    cr_assert_eq(create_named(BOB, "n", &again, NULL), LP_EPENDING);
    cr_assert_eq(create_named(ALICE, "n", &again, NULL), LP_EPENDING);
    cr_assert_eq(lp_store_open(small.store, BOB, SMALL_SPACE, "n", &lease, &info, NULL),
                 LP_EPENDING);
    cr_assert_eq(lp_store_info(small.store, SMALL_SPACE, "n", &info, NULL), LP_EPENDING);
    cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, "", NULL, &info, NULL), LP_ENOENT);
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), LP_ENOENT);
    cr_assert_eq(lp_store_abort(small.store, BOB, oid, NULL), LP_ENOENT, "not Bob's");
    cr_assert_eq(lp_store_abort(small.store, ALICE, oid, NULL), 0);
    cr_assert_eq(lp_store_abort(small.store, ALICE, oid, NULL), LP_ENOENT);
    cr_assert_eq(create_named(BOB, "n", &again, NULL), 0);
    cr_assert_neq(again, oid);
    lp_store_owner_end(small.store, BOB);
    assert_pristine(0);
}

Test(store_store, knows_if_absent_and_exists)
{
    struct lp_store_create create = small_create("n", &table.packed);
    uint64_t oid = 99;

    put(ALICE, "n");
    cr_assert_eq(create_named(BOB, "n", &oid, NULL), LP_EEXIST);
    create.if_absent = true;
    cr_assert_eq(lp_store_create(small.store, BOB, &create, &oid, NULL), 0);
    cr_assert_eq(oid, 0);
    create.name = "m";
    cr_assert_eq(lp_store_create(small.store, BOB, &create, &oid, NULL), 0);
    cr_assert_neq(oid, 0);
    cr_assert_eq(small_store_state(&small).n_unsealed, 1);
}

/* Readers of the old content keep it; readers of the name get the new one. */
Test(store_store, replaces_while_leased)
{
    uint64_t old_lease, new_lease;

    put(ALICE, "n");
    const struct lp_store_info old = open_named(BOB, "n", &old_lease);
    cr_assert_eq(small_put(&small, ALICE, "n", &other.packed, true, NULL), 0);
    const struct lp_store_info new = open_named(BOB, "n", &new_lease);
    cr_assert_gt(new.version, old.version);
    cr_assert_neq(new.fingerprint, old.fingerprint);
    cr_assert(small_reads_as(&small, &new, other.data));
    cr_assert(small_reads_as(&small, &old, table.data));
    cr_assert_eq(small_store_state(&small).n_objects, 1);
    cr_assert_eq(small_store_state(&small).logical_bytes, other.data_bytes);
    const uint64_t used = small_store_state(&small).used_bytes;
    cr_assert_eq(lp_store_release(small.store, BOB, old_lease, NULL), 0);
    cr_assert_lt(small_store_state(&small).used_bytes, used);
    cr_assert_eq(lp_store_release(small.store, BOB, new_lease, NULL), 0);
    cr_assert(small_reads_as(&small, &new, other.data), "still the content of the name");
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), 0);
    assert_pristine(1);
}

/* The name is free at once; the bytes stay for whoever has a lease, and two of them count. */
Test(store_store, deletes_while_leased)
{
    struct lp_store_info info;
    uint64_t first, second, lease;

    put(ALICE, "n");
    const struct lp_store_info old = open_named(BOB, "n", &first);
    (void)open_named(ALICE, "n", &second);
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), 0);
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), LP_ENOENT);
    cr_assert_eq(lp_store_open(small.store, BOB, SMALL_SPACE, "n", &lease, &info, NULL), LP_ENOENT);
    put(ALICE, "n");
    cr_assert(small_reads_as(&small, &old, table.data));
    cr_assert_eq(lp_store_release(small.store, ALICE, first, NULL), LP_ENOENT, "Bob's");
    cr_assert_eq(lp_store_release(small.store, BOB, first, NULL), 0);
    cr_assert(small_reads_as(&small, &old, table.data), "Alice still has one");
    cr_assert_eq(lp_store_release(small.store, ALICE, second, NULL), 0);
    cr_assert_eq(lp_store_release(small.store, ALICE, second, NULL), LP_ENOENT);
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), 0);
    assert_pristine(1);
}

/* A listing goes on where it was, whatever came and went meanwhile. */
Test(store_store, lists_with_a_stable_cursor)
{
    struct lp_store_info info;
    uint64_t oid;

    put(ALICE, "b1");
    put(ALICE, "b3");
    put(ALICE, "c");
    put(ALICE, "a");
    cr_assert_eq(create_named(ALICE, "b2", &oid, NULL), 0);
    cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, NULL, NULL, &info, NULL), 0);
    cr_assert_str_eq(info.name, "a");
    cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, "b", NULL, &info, NULL), 0);
    cr_assert_str_eq(info.name, "b1");
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "b1", NULL), 0);
    cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, "b", "b1", &info, NULL), 0);
    cr_assert_str_eq(info.name, "b3", "b2 is not sealed");
    put(ALICE, "b4");
    cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, "b", "b3", &info, NULL), 0);
    cr_assert_str_eq(info.name, "b4");
    cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, "b", "b4", &info, NULL), LP_ENOENT);
    cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, "b", "a", &info, NULL), 0);
    cr_assert_str_eq(info.name, "b3");
    cr_assert_eq(lp_store_next(small.store, "other", NULL, NULL, &info, NULL), LP_ENOENT);
}

/* The three sums are what a recount over every object gives; the two ratios follow. */
Test(store_store, sums_agree_with_a_recount)
{
    uint64_t logical = 0, stored = 0, wire = 0, used = 0, n = 0;
    struct lp_store_info info;
    char name[16], after[16] = "";

    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof(name), "t%d", i);
        cr_assert_eq(
            small_put(&small, ALICE, name, i % 3 == 0 ? &other.packed : &table.packed, false, NULL),
            0);
    }
    cr_assert_eq(small_put(&small, ALICE, "t3", &table.packed, true, NULL), 0);
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "t5", NULL), 0);
    while (lp_store_next(small.store, SMALL_SPACE, "", after, &info, NULL) == 0) {
        struct lp_table parsed;
        const uint8_t *map;
        uint64_t bytes;
        int fd;

        cr_assert_eq(lp_store_chunk(small.store, info.extents[0].chunk, &fd, &map, &bytes, NULL),
                     0);
        cr_assert_eq(lp_codec_table_parse(&parsed, map + info.extents[0].offset,
                                          info.extents[0].bytes, NULL),
                     0);
        logical += parsed.geometry.logical_bytes;
        stored += lp_codec_table_stored_bytes(&parsed);
        wire += parsed.wire_bytes;
        lp_codec_table_fini(&parsed);
        for (uint32_t i = 0; i < info.n_extents; i++)
            used += lp_round_up_u64(info.extents[i].bytes, LP_SHM_EXTENT_ALIGN);
        (void)snprintf(after, sizeof(after), "%s", info.name);
        n++;
    }
    const struct lp_store_state state = small_store_state(&small);
    cr_assert_eq(state.n_objects, n);
    cr_assert_eq(n, 11);
    cr_assert_eq(state.logical_bytes, logical);
    cr_assert_eq(state.stored_bytes, stored);
    cr_assert_eq(state.wire_bytes, wire);
    cr_assert_eq(state.used_bytes, used);
    cr_assert_gt(logical, stored);
    cr_assert_gt(logical, wire);
}

/* --- ends ------------------------------------------------------------------------------------ */

/* Life ends at the deadline, for what is not sealed, the oldest first. */
Test(store_store, expires_unsealed_objects)
{
    uint64_t oid, lease;

    put(ALICE, "sealed");
    cr_assert_eq(create_named(ALICE, "old", &oid, NULL), 0);
    small.now_ns += SMALL_TTL_NS / 2;
    cr_assert_eq(create_named(ALICE, "young", &oid, NULL), 0);
    cr_assert_eq(lp_store_expire(small.store), 0);
    small.now_ns += SMALL_TTL_NS / 2;
    cr_assert_eq(lp_store_expire(small.store), 1);
    cr_assert_eq(create_named(BOB, "old", &oid, NULL), 0);
    cr_assert_eq(create_named(BOB, "young", &oid, NULL), LP_EPENDING);
    small.now_ns += SMALL_TTL_NS * 2;
    cr_assert_eq(lp_store_expire(small.store), 2);
    cr_assert_eq(small_store_state(&small).n_unsealed, 0);
    (void)open_named(BOB, "sealed", &lease);
}

/* An ephemeral object goes with its owner, its bytes with the last lease of others. */
Test(store_store, ends_ephemeral_objects_with_their_owner)
{
    struct lp_store_create create = small_create("n", &table.packed);
    struct lp_store_part parts[4];
    struct lp_store_info info;
    struct small_arena arena;
    uint64_t oid, lease;

    create.ephemeral = true;
    cr_assert_eq(lp_store_create(small.store, ALICE, &create, &oid, NULL), 0);
    small_arena_open(&small, ALICE, &arena);
    const uint32_t n = small_arena_add_packed(&arena, &table.packed, false, parts);
    cr_assert_eq(small_seal(&small, ALICE, oid, parts, n, NULL, NULL), 0);
    small_arena_unmap(&arena);
    info = open_named(BOB, "n", &lease);
    cr_assert(info.ephemeral);
    lp_store_owner_end(small.store, ALICE);
    cr_assert_eq(lp_store_info(small.store, SMALL_SPACE, "n", &info, NULL), LP_ENOENT);
    cr_assert_neq(small_store_state(&small).used_bytes, 0);
    lp_store_owner_end(small.store, BOB);
    assert_pristine(1);
    ASSERT_NO_LEAK();
}

/* A connection may end before or after any of the steps that a put and a read consist of. */
Test(store_store, gives_everything_back_at_every_step)
{
    for (int stop = 0; stop < 9; stop++) {
        const uint64_t owner = 100 + (uint64_t)stop;
        struct lp_store_seal *seal = NULL;
        struct lp_store_part parts[4];
        struct small_arena arena = {0};
        struct lp_store_info info;
        uint64_t oid = 0, lease;
        uint32_t n = 0;
        int rc = 0;

        small_store_replenish(&small);
        if (stop > 0)
            small_arena_open(&small, owner, &arena);
        if (stop > 1)
            cr_assert_eq(create_named(owner, "n", &oid, NULL), 0);
        if (stop > 2)
            n = small_arena_add_packed(&arena, &table.packed, false, parts);
        if (stop > 3)
            cr_assert_eq(lp_store_seal_begin(small.store, owner, oid, parts, n, &seal, NULL), 0);
        if (stop == 4)
            lp_store_owner_end(small.store, owner);
        if (stop > 3)
            rc = lp_store_seal_run(seal, NULL);
        if (stop == 5)
            lp_store_owner_end(small.store, owner);
        if (stop > 3) {
            const int want = stop == 4 || stop == 5 ? LP_ECANCELED : 0;

            cr_assert_eq(lp_store_seal_end_take(small.store, seal, rc, &info, NULL), want);
        }
        if (stop > 6)
            (void)open_named(owner, "n", &lease);
        if (stop > 7)
            cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), 0);
        small_arena_unmap(&arena);
        lp_store_owner_end(small.store, owner);
        lp_store_owner_end(small.store, owner);
        (void)lp_store_delete(small.store, SMALL_SPACE, "n", NULL);
        assert_pristine(stop > 3);
    }
}

/* A store ends with everything still in it. */
Test(store_store, frees_what_is_left)
{
    struct small_store own;
    struct lp_store_info info;
    uint64_t oid, lease;
    uint32_t arena, chunk;
    int fd;

    small_store_init(&own, 4, true);
    cr_assert_eq(small_put(&own, ALICE, "n", &table.packed, false, NULL), 0);
    cr_assert_eq(lp_store_open(own.store, BOB, SMALL_SPACE, "n", &lease, &info, NULL), 0);
    cr_assert_eq(lp_store_delete(own.store, SMALL_SPACE, "n", NULL), 0);
    cr_assert_eq(small_put(&own, ALICE, "n", &table.packed, false, NULL), 0);
    const struct lp_store_create create = small_create("m", &table.packed);
    cr_assert_eq(lp_store_create(own.store, BOB, &create, &oid, NULL), 0);
    cr_assert_eq(lp_store_arena_open(own.store, BOB, &arena, &chunk, &fd, NULL), 0);
    small_store_fini(&own);
    lp_store_free(NULL);
    ASSERT_NO_LEAK();
}

/* Descriptors of chunks are for objects, not for the asking. */
Test(store_store, names_only_chunks_that_hold_objects)
{
    struct lp_store_info info;
    const uint8_t *map;
    uint64_t bytes, lease;
    int fd;

    put(ALICE, "n");
    info = open_named(BOB, "n", &lease);
    for (uint32_t chunk = 0; chunk < 8; chunk++)
        cr_assert_eq(lp_store_chunk(small.store, chunk, &fd, &map, &bytes, NULL),
                     chunk == info.extents[0].chunk ? 0 : LP_ENOENT);
}
