/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/atomic.h"
#include "store/store.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"
#include "tests/lib/small_store.h"

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ALICE 1u
#define BOB 2u

static struct small_store small;
static struct small_table table;
static struct small_arena arena;
static struct lp_store_part parts[8];
static uint32_t n_parts;
static uint64_t oid;

static void init(void)
{
    small_store_init(&small, 4, true);
    small_table_init(&table, 500, 1);
}

static void fini(void)
{
    small_arena_unmap(&arena);
    small_table_fini(&table);
    small_store_fini(&small);
}

TestSuite(store_seal, .init = init, .fini = fini);

static void create(void)
{
    const struct lp_store_create ask = small_create("n", &table.packed);

    cr_assert_eq(lp_store_create(small.store, ALICE, &ask, &oid, NULL), 0);
}

/* An arena with the table in it, and the name reserved. */
static void prepare(bool adopt)
{
    small_store_replenish(&small);
    small_arena_open(&small, ALICE, &arena);
    n_parts = small_arena_add_packed(&arena, &table.packed, adopt, parts);
    create();
}

static int seal(struct lp_error *err)
{
    return small_seal(&small, ALICE, oid, parts, n_parts, NULL, err);
}

/* The object is gone, its name is free, and no byte of the pool is taken. */
static void assert_aborted(void)
{
    struct lp_store_info info;
    const struct lp_store_state state = small_store_state(&small);

    cr_assert_eq(lp_store_info(small.store, SMALL_SPACE, "n", &info, NULL), LP_ENOENT);
    cr_assert_eq(lp_store_abort(small.store, ALICE, oid, NULL), LP_ENOENT);
    cr_assert_eq(state.used_bytes, 0);
    cr_assert_eq(state.n_unsealed, 0);
    cr_assert_eq(state.n_objects, 0);
}

static void assert_reads(void)
{
    struct lp_store_info info;

    cr_assert_eq(lp_store_info(small.store, SMALL_SPACE, "n", &info, NULL), 0);
    cr_assert(small_reads_as(&small, &info, table.data));
}

/* --- the parts ------------------------------------------------------------------------------- */

/* Each rule for parts, broken alone; the object is aborted, the arena stays. */
Test(store_seal, checks_the_parts)
{
    static const struct {
        struct lp_store_part change; /* of part 1; UINT64_MAX keeps */
        int rc;
    } cases[] = {
        {{0, UINT64_MAX, UINT64_MAX, false}, LP_ENOENT},
        {{1, 4096 + 32, UINT64_MAX, false}, LP_EINVAL},
        {{1, 0, UINT64_MAX, false}, LP_ERANGE},
        {{1, 4096 - 64, UINT64_MAX, false}, LP_ERANGE},
        {{1, UINT64_MAX - 63, UINT64_MAX, false}, LP_ERANGE},
        {{1, SMALL_CHUNK_BYTES - 64, 1, false}, LP_ERANGE},
        {{1, SMALL_CHUNK_BYTES - 128, 65, false}, LP_ERANGE},
        {{1, UINT64_MAX, 0, false}, LP_EINVAL},
        {{1, UINT64_MAX, UINT64_MAX - 1, false}, LP_ERANGE},
        {{1, UINT64_MAX, UINT64_MAX, true}, LP_EINVAL}, /* part 0 of it is copied */
    };

    prepare(false);
    const struct lp_store_part good = parts[1];
    lp_store_abort(small.store, ALICE, oid, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lp_store_part change = cases[i].change;

        create();
        change.arena = change.arena == 0 ? 12345 : good.arena;
        change.offset = change.offset == UINT64_MAX ? good.offset : change.offset;
        change.bytes = change.bytes == UINT64_MAX ? good.bytes : change.bytes;
        parts[1] = change;
        cr_assert_eq(seal(NULL), cases[i].rc, "case %zu", i);
        assert_aborted();
    }
    parts[1] = good;
    create();
    n_parts = 0;
    cr_assert_eq(seal(NULL), LP_EINVAL);
    create();
    n_parts = LP_SHM_EXTENTS_MAX + 1;
    cr_assert_eq(seal(NULL), LP_EINVAL);
    assert_aborted();
    create();
    n_parts = 2;
    cr_assert_eq(seal(NULL), 0);
    assert_reads();
}

Test(store_seal, belongs_to_its_owner)
{
    struct lp_store_seal *first, *second;

    prepare(false);
    cr_assert_eq(lp_store_seal_begin(small.store, BOB, oid, parts, n_parts, &first, NULL),
                 LP_ENOENT, "Alice's object");
    cr_assert_eq(lp_store_seal_begin(small.store, ALICE, 999, parts, n_parts, &first, NULL),
                 LP_ENOENT);
    cr_assert_eq(lp_store_seal_begin(small.store, ALICE, oid, parts, n_parts, &first, NULL), 0);
    cr_assert_eq(lp_store_seal_begin(small.store, ALICE, oid, parts, n_parts, &second, NULL),
                 LP_EPENDING);
    cr_assert_eq(lp_store_seal_run(first, NULL), 0);
    cr_assert_eq(lp_store_seal_end_take(small.store, first, 0, NULL, NULL), 0);
    const struct lp_store_create ask = small_create("m", &table.packed);
    cr_assert_eq(lp_store_create(small.store, BOB, &ask, &oid, NULL), 0);
    cr_assert_eq(lp_store_seal_begin(small.store, BOB, oid, parts, n_parts, &first, NULL),
                 LP_ENOENT, "Alice's arena");
}

/* What the head says must be what create said, and what the parts are. */
Test(store_seal, compares_head_and_create)
{
    struct lp_store_create ask = small_create("n", &table.packed);
    struct lp_error err = LP_ERROR_INIT;

    prepare(false);
    lp_store_abort(small.store, ALICE, oid, NULL);
    for (int i = 0; i < 6; i++) {
        ask = small_create("n", &table.packed);
        ask.dtype = i == 0 ? LP_DTYPE_I32 : ask.dtype;
        ask.ndim = i == 1 ? 1 : ask.ndim;
        ask.dims[0] -= i == 2;
        ask.dims[1] += i == 3;
        ask.codec = i == 4 ? LP_CODEC_RAW : ask.codec;
        ask.layout = i == 5 ? LP_LAYOUT_SLOTTED : ask.layout;
        cr_assert_eq(lp_store_create(small.store, ALICE, &ask, &oid, NULL), 0);
        cr_assert_eq(seal(&err), LP_EINVAL, "case %d", i);
        cr_assert_not_null(strstr(err.text, "create said"), "%s", err.text);
        assert_aborted();
    }
    create();
    parts[1].bytes -= 4;
    cr_assert_eq(seal(&err), LP_EINVAL);
    cr_assert_not_null(strstr(err.text, "part 1 has"), "%s", err.text);
    create();
    cr_assert_eq(small_seal(&small, ALICE, oid, parts, 1, NULL, &err), LP_EINVAL);
    assert_aborted();
    parts[1].bytes += 4;
    ask = small_create("n", &table.packed);
    ask.codec = LP_CODEC_AUTO;
    ask.layout = 0;
    cr_assert_eq(lp_store_create(small.store, ALICE, &ask, &oid, NULL), 0);
    cr_assert_eq(seal(NULL), 0, "whatever the head says");
    assert_reads();
}

/* A bit that is wrong in any part of head or data is found, and nothing of the object stays. */
Test(store_seal, finds_every_flipped_bit)
{
    uint64_t state = 3;

    prepare(false);
    lp_store_abort(small.store, ALICE, oid, NULL);
    for (int i = 0; i < 60; i++) {
        const struct lp_store_part *part = &parts[i % 2];
        const uint64_t at = part->offset + samples_next(&state) % part->bytes;
        const uint8_t bit = (uint8_t)(1u << (samples_next(&state) % 8));
        int rc;

        create();
        arena.map[at] ^= bit;
        rc = seal(NULL);
        arena.map[at] ^= bit;
        if (rc == 0) {
            /* Padding between sections, which means nothing and is read by nobody. */
            cr_assert_eq(i % 2, 0);
            assert_reads();
            cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), 0);
            continue;
        }
        cr_assert(rc == LP_ECORRUPT || rc == LP_EVERSION || rc == LP_EINVAL, "%d", rc);
        assert_aborted();
    }
    create();
    cr_assert_eq(seal(NULL), 0);
    assert_reads();
}

/* The end of check 0 in segment 0, records being stored one behind the other. */
static uint64_t first_check_bytes(const struct packed *packed)
{
    const struct lp_table *planned = &packed->table;
    const uint64_t n = LP_MIN(planned->check_records, planned->n_records);
    struct lp_place place;

    cr_assert(lp_codec_table_place(planned, packed->head + planned->index_offset, n - 1, &place));
    return place.offset + place.stored_bytes;
}

/* Hashes that are right over a record that is nonsense: it does not decode, so it is not sealed.
 * float32 records keep 3 bytes of each element apart; codes of zero behind them ask for more raw
 * exponents than the record has bytes. */
Test(store_seal, refuses_records_that_do_not_decode)
{
    const struct packed *packed = &table.packed;
    const struct lp_table *planned = &packed->table;
    struct lp_error err = LP_ERROR_INIT;
    struct lp_place place;
    uint8_t check[8];

    cr_assert_eq(planned->codec, LP_CODEC_LANE);
    cr_assert(lp_codec_table_place(planned, packed->head + planned->index_offset, 0, &place));
    const uint64_t kept = planned->record_elements * 3;
    memset(packed->segments[0] + place.offset + kept, 0, place.stored_bytes - kept);
    lp_store_u64(check, lp_codec_hash(packed->segments[0], first_check_bytes(packed)));
    memcpy(packed->head + planned->checks_offset, check, sizeof(check));
    lp_codec_table_emit(planned, packed->head);
    prepare(false);
    cr_assert_eq(seal(&err), LP_ECORRUPT);
    cr_assert_not_null(strstr(err.text, "record"), "%s", err.text);
    assert_aborted();
}

/* --- room ------------------------------------------------------------------------------------ */

/* A full pool says what is needed and what is there; the failed object is gone, others stay. */
Test(store_seal, says_need_and_have_when_full)
{
    struct lp_error err = LP_ERROR_INIT;
    struct small_table big;
    char name[32];
    uint64_t n = 0;
    int rc;

    small_table_init(&big, 9000, 4); /* a little more than 3 MiB stored */
    do {
        (void)snprintf(name, sizeof(name), "t%llu", (unsigned long long)n++);
        rc = small_put(&small, ALICE, name, &big.packed, false, &err);
    } while (rc == 0 && n < 100);
    cr_assert_eq(rc, LP_ENOSPC);
    const struct lp_store_state state = small_store_state(&small);
    cr_assert_eq(state.n_objects, n - 1);
    cr_assert_geq(n, 7, "three chunks hold two each");
    char want[128];
    (void)snprintf(want, sizeof(want), "have %llu free (largest %llu)",
                   (unsigned long long)state.free_bytes,
                   (unsigned long long)state.largest_free_bytes);
    cr_assert_eq(strncmp(err.text, "need ", 5), 0, "%s", err.text);
    cr_assert_not_null(strstr(err.text, want), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "raise pool.size"), "%s", err.text);
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "t0", NULL), 0);
    cr_assert_eq(small_put(&small, ALICE, name, &big.packed, false, &err), 0, "%s", err.text);
    small_table_fini(&big);
}

/* A table in several segments may come from several arenas. */
Test(store_seal, takes_parts_from_several_arenas)
{
    struct small_arena second;
    struct lp_store_info info;
    struct small_table big;

    small_table_init(&big, 13000, 4);
    cr_assert_eq(big.packed.table.n_segments, 2);
    const struct lp_store_create ask = small_create("n", &big.packed);
    cr_assert_eq(lp_store_create(small.store, ALICE, &ask, &oid, NULL), 0);
    small_arena_open(&small, ALICE, &arena);
    small_arena_open(&small, ALICE, &second);
    parts[0] = small_arena_add(&second, big.packed.head, big.packed.table.head_bytes, false);
    for (uint32_t i = 0; i < 2; i++)
        parts[1 + i] = small_arena_add(i == 0 ? &arena : &second, big.packed.segments[i],
                                       lp_codec_table_segment_bytes(&big.packed.table, i), false);
    cr_assert_eq(small_seal(&small, ALICE, oid, parts, 3, &info, NULL), 0);
    cr_assert_eq(info.n_extents, 3);
    cr_assert(small_reads_as(&small, &info, big.data));
    small_arena_unmap(&second);
    small_table_fini(&big);
}

/* --- adoption -------------------------------------------------------------------------------- */

/* No copy is made: the object lies in the chunk that was the arena, which ends with the object. */
Test(store_seal, adopts_a_whole_arena)
{
    struct lp_store_info info;

    prepare(true);
    small_arena_unmap(&arena);
    cr_assert_eq(small_seal(&small, ALICE, oid, parts, n_parts, &info, NULL), 0);
    cr_assert_eq(info.extents[0].chunk, arena.chunk);
    cr_assert_eq(info.extents[1].chunk, arena.chunk);
    assert_reads();
    cr_assert_eq(lp_store_arena_close(small.store, ALICE, arena.arena, NULL), LP_ENOENT);
    cr_assert_eq(small_store_state(&small).arena_bytes, 0);
    cr_assert_eq(small_store_state(&small).used_bytes, lp_shm_chunk_room(SMALL_CHUNK_BYTES));
    lp_store_owner_end(small.store, ALICE);
    assert_reads();
    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), 0);
    cr_assert_eq(small_store_state(&small).missing_chunks, 1);
    small_store_replenish(&small);
    cr_assert_eq(small_store_state(&small).blank_chunks, 4);
    ASSERT_NO_LEAK();
}

/* EBUSY while the client has it mapped; the arena is as before, and can then be copied. */
Test(store_seal, can_copy_what_it_could_not_adopt)
{
    struct lp_error err = LP_ERROR_INIT;

    prepare(true);
    cr_assert_eq(seal(&err), LP_EBUSY);
    assert_aborted();
    cr_assert_eq(small_store_state(&small).arena_bytes, SMALL_CHUNK_BYTES);
    arena.map[SMALL_CHUNK_BYTES - 1] = 1; /* still the client's to write */
    create();
    for (uint32_t i = 0; i < n_parts; i++)
        parts[i].adopt = false;
    cr_assert_eq(seal(&err), 0, "%s", err.text);
    assert_reads();
    cr_assert_eq(lp_store_arena_close(small.store, ALICE, arena.arena, NULL), 0);
}

/* An arena that was adopted and then found corrupt can be written by nobody: it ends. */
Test(store_seal, ends_an_adopted_arena_that_is_corrupt)
{
    prepare(true);
    arena.map[parts[1].offset + 5] ^= 1;
    small_arena_unmap(&arena);
    cr_assert_eq(seal(NULL), LP_ECORRUPT);
    assert_aborted();
    cr_assert_eq(lp_store_arena_close(small.store, ALICE, arena.arena, NULL), LP_ENOENT);
    cr_assert_eq(small_store_state(&small).missing_chunks, 1);
    small_store_replenish(&small);
    cr_assert_eq(small_store_state(&small).blank_chunks, 4);
}

/* An arena to be adopted serves one ticket, one to be copied any number. */
Test(store_seal, adopts_for_one_ticket_alone)
{
    struct lp_store_seal *first, *second;
    const struct lp_store_create ask = small_create("m", &table.packed);
    uint64_t other;

    prepare(true);
    small_arena_unmap(&arena);
    cr_assert_eq(lp_store_seal_begin(small.store, ALICE, oid, parts, n_parts, &first, NULL), 0);
    cr_assert_eq(lp_store_create(small.store, ALICE, &ask, &other, NULL), 0);
    cr_assert_eq(lp_store_seal_begin(small.store, ALICE, other, parts, n_parts, &second, NULL),
                 LP_EBUSY);
    cr_assert_eq(lp_store_arena_close(small.store, ALICE, arena.arena, NULL), 0,
                 "its ticket goes on");
    cr_assert_eq(lp_store_seal_run(first, NULL), 0);
    cr_assert_eq(lp_store_seal_end_take(small.store, first, 0, NULL, NULL), 0);
    assert_reads();
}

/* --- meanwhile ------------------------------------------------------------------------------- */

struct scribbler {
    uint8_t *bytes;
    uint64_t n;
    uint32_t stop;
};

static void *scribble(void *user)
{
    struct scribbler *s = user;
    uint64_t state = 11;

    while (lp_atomic_load_relaxed_u32(&s->stop) == 0) {
        volatile uint8_t *byte = &s->bytes[samples_next(&state) % s->n];

        *byte ^= 1;
        *byte ^= 1;
    }
    return NULL;
}

/* The client writes its arena all the while: either the copy that was checked was whole, and then
 * it reads right for ever, or it was not, and then nothing of it stays. */
Test(store_seal, checks_the_copy_not_the_arena, .timeout = 60)
{
    struct scribbler s = {0};
    int sealed = 0, corrupt = 0;
    pthread_t thread;

    prepare(false);
    lp_store_abort(small.store, ALICE, oid, NULL);
    s.bytes = arena.map + parts[0].offset;
    s.n = parts[1].offset + parts[1].bytes - parts[0].offset;
    cr_assert_eq(pthread_create(&thread, NULL, scribble, &s), 0);
    for (int i = 0; i < 300; i++) {
        create();
        const int rc = seal(NULL);

        if (rc == 0) {
            assert_reads();
            cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, "n", NULL), 0);
            sealed++;
        } else {
            cr_assert(rc == LP_ECORRUPT || rc == LP_EVERSION || rc == LP_EINVAL, "%d", rc);
            assert_aborted();
            corrupt++;
        }
    }
    lp_atomic_store_relaxed_u32(&s.stop, 1);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_log_info("%d sealed, %d corrupt", sealed, corrupt);
    create();
    cr_assert_eq(seal(NULL), 0);
    assert_reads();
}

/* Given up before, and while, its ticket runs: nothing is published and everything comes back. */
Test(store_seal, can_be_given_up_meanwhile)
{
    for (int late = 0; late < 2; late++) {
        struct lp_error err = LP_ERROR_INIT;
        struct lp_store_seal *ticket;
        int rc = 0;

        prepare(late == 1);
        small_arena_unmap(&arena);
        cr_assert_eq(lp_store_seal_begin(small.store, ALICE, oid, parts, n_parts, &ticket, NULL),
                     0);
        small.now_ns += SMALL_TTL_NS * 5;
        cr_assert_eq(lp_store_expire(small.store), 0, "sealing has no deadline");
        if (late)
            rc = lp_store_seal_run(ticket, &err);
        cr_assert_eq(lp_store_abort(small.store, ALICE, oid, NULL), 0);
        create(); /* the name is free at once */
        cr_assert_eq(lp_store_abort(small.store, ALICE, oid, NULL), 0);
        if (!late)
            rc = lp_store_seal_run(ticket, &err);
        cr_assert_eq(rc, late ? 0 : LP_ECANCELED);
        cr_assert_eq(lp_store_seal_end_take(small.store, ticket, rc, NULL, &err), LP_ECANCELED);
        assert_aborted();
        lp_store_owner_end(small.store, ALICE);
    }
    ASSERT_NO_LEAK();
}

/* An empty tensor is a head and nothing else; a scalar is one record. */
Test(store_seal, takes_empty_tensors_and_scalars)
{
    const uint64_t dims[2] = {0, 5};
    const float scalar = 2.5f;
    struct packed empty, one;
    struct lp_store_info info;

    packed_must(&empty, LP_DTYPE_F32, 2, dims, NULL, &scalar);
    packed_must(&one, LP_DTYPE_F32, 0, dims, NULL, &scalar);
    cr_assert_eq(small_put(&small, ALICE, "empty", &empty, false, NULL), 0);
    cr_assert_eq(small_put(&small, ALICE, "one", &one, false, NULL), 0);
    cr_assert_eq(lp_store_info(small.store, SMALL_SPACE, "empty", &info, NULL), 0);
    cr_assert_eq(info.n_extents, 1);
    cr_assert_eq(info.logical_bytes, 0);
    cr_assert_eq(lp_store_info(small.store, SMALL_SPACE, "one", &info, NULL), 0);
    cr_assert(small_reads_as(&small, &info, &scalar));
    packed_fini(&one);
    packed_fini(&empty);
}
