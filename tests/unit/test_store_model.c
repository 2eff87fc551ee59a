/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded random operations on a store and on a model of it that is a few plain arrays: answers,
 * counts, sums, bytes in use and contents must agree after each. */
#include "store/store.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"
#include "tests/lib/small_store.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define NAMES 6u
#define OWNERS 3u
#define TABLES 3u
#define LEASES 32u
#define OBJECTS 64u
#define CHUNKS 6u
#define STEPS 600u

/* A sealed object, kept while a name or a lease leads to it. */
struct model_object {
    bool used, named;
    uint32_t table, n_leases;
    uint64_t owner; /* of an ephemeral one; else 0 */
    uint64_t bytes; /* in use */
    struct lp_store_info info;
    struct lp_shm_extent extents[4];
};

struct model_name {
    struct model_object *sealed;
    uint64_t pending_oid, pending_owner, deadline_ns;
    uint32_t table;
    bool ephemeral;
};

struct model_lease {
    uint64_t id, owner;
    struct model_object *object;
};

static struct small_store small;
static struct small_table tables[TABLES];
static struct model_object objects[OBJECTS];
static struct model_name names[NAMES];
static struct model_lease leases[LEASES];
static uint64_t state, last_version;

static uint32_t pick(uint32_t n)
{
    return (uint32_t)(samples_next(&state) % n);
}

static const char *name_of(uint32_t i)
{
    static const char *const text[NAMES] = {"a", "a.b", "a.c", "b", "ba", "c"};

    return text[i];
}

/* --- the model ------------------------------------------------------------------------------- */

static void settle(struct model_object *object)
{
    if (!object->named && object->n_leases == 0)
        object->used = false;
}

static void model_unname(struct model_name *name)
{
    struct model_object *object = name->sealed;

    if (object == NULL)
        return;
    name->sealed = NULL;
    object->named = false;
    settle(object);
}

static void model_seal(struct model_name *name, const struct lp_store_info *info, bool adopted)
{
    struct model_object *object = objects;

    while (object->used)
        object++;
    cr_assert_lt(object - objects, (ptrdiff_t)OBJECTS);
    *object = (struct model_object){.used = true, .named = true, .table = name->table};
    object->owner = name->ephemeral ? name->pending_owner : 0;
    object->info = *info;
    for (uint32_t i = 0; i < info->n_extents; i++) {
        object->extents[i] = info->extents[i];
        object->bytes += lp_round_up_u64(info->extents[i].bytes, LP_SHM_EXTENT_ALIGN);
    }
    if (adopted)
        object->bytes = lp_shm_chunk_room(SMALL_CHUNK_BYTES);
    object->info.extents = object->extents;
    model_unname(name);
    name->sealed = object;
    name->pending_oid = 0;
}

static void check_counts(void)
{
    const struct lp_store_state now = small_store_state(&small);
    uint64_t n = 0, pending = 0, n_leases = 0, logical = 0, stored = 0, wire = 0, used = 0;

    for (uint32_t i = 0; i < NAMES; i++) {
        const struct model_object *object = names[i].sealed;

        pending += names[i].pending_oid != 0;
        if (object == NULL)
            continue;
        n++;
        logical += tables[object->table].data_bytes;
        stored += lp_codec_table_stored_bytes(&tables[object->table].packed.table);
        wire += tables[object->table].packed.table.wire_bytes;
    }
    for (uint32_t i = 0; i < OBJECTS; i++)
        used += objects[i].used ? objects[i].bytes : 0;
    for (uint32_t i = 0; i < LEASES; i++)
        n_leases += leases[i].id != 0;
    cr_assert_eq(now.n_objects, n);
    cr_assert_eq(now.n_unsealed, pending);
    cr_assert_eq(now.n_leases, n_leases);
    cr_assert_eq(now.logical_bytes, logical);
    cr_assert_eq(now.stored_bytes, stored);
    cr_assert_eq(now.wire_bytes, wire);
    cr_assert_eq(now.used_bytes, used);
}

static void check_contents(void)
{
    for (uint32_t i = 0; i < OBJECTS; i++)
        if (objects[i].used)
            cr_assert(small_reads_as(&small, &objects[i].info, tables[objects[i].table].data));
}

static void check_listing(void)
{
    struct lp_store_info info;
    char after[8];
    const char *cursor = NULL;

    for (uint32_t i = 0; i < NAMES; i++) {
        if (names[i].sealed == NULL)
            continue;
        cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, "", cursor, &info, NULL), 0);
        cr_assert_str_eq(info.name, name_of(i));
        cr_assert_eq(info.leases, names[i].sealed->n_leases);
        (void)snprintf(after, sizeof(after), "%s", info.name);
        cursor = after;
    }
    cr_assert_eq(lp_store_next(small.store, SMALL_SPACE, "", cursor, &info, NULL), LP_ENOENT);
}

/* --- operations ------------------------------------------------------------------------------ */

static int want_of_create(const struct model_name *name, const struct lp_store_create *create)
{
    if (name->sealed != NULL && create->if_absent)
        return 0;
    if (name->sealed != NULL && !create->replace)
        return LP_EEXIST;
    return name->pending_oid != 0 ? LP_EPENDING : 0;
}

static void do_create(void)
{
    const uint32_t i = pick(NAMES), t = pick(TABLES), flags = pick(3);
    struct model_name *name = &names[i];
    struct lp_store_create create = small_create(name_of(i), &tables[t].packed);
    const uint64_t owner = 1 + pick(OWNERS);
    uint64_t oid = 0;

    create.replace = flags == 1;
    create.if_absent = flags == 2;
    create.ephemeral = pick(4) == 0;
    const int want = want_of_create(name, &create);
    cr_assert_eq(lp_store_create(small.store, owner, &create, &oid, NULL), want);
    if (want < 0 || oid == 0)
        return;
    cr_assert(name->sealed == NULL || create.replace);
    name->pending_oid = oid;
    name->pending_owner = owner;
    name->deadline_ns = small.now_ns + SMALL_TTL_NS;
    name->table = t;
    name->ephemeral = create.ephemeral;
}

static void do_seal(void)
{
    struct model_name *name = &names[pick(NAMES)];
    const bool adopt = pick(3) == 0, spoil = pick(5) == 0;
    struct lp_store_part parts[4];
    struct lp_store_info info;
    struct small_arena arena;

    if (name->pending_oid == 0)
        return;
    small_store_replenish(&small);
    if (small_arena_try_open(&small, name->pending_owner, &arena, NULL) < 0)
        return;
    const uint32_t n = small_arena_add_packed(&arena, &tables[name->table].packed, adopt, parts);
    if (spoil)
        arena.map[parts[n - 1].offset] ^= 0x10;
    small_arena_unmap(&arena);
    const int rc =
        small_seal(&small, name->pending_owner, name->pending_oid, parts, n, &info, NULL);
    if (rc == 0) {
        cr_assert_not(spoil);
        cr_assert_gt(info.version, last_version);
        last_version = info.version;
        model_seal(name, &info, adopt);
    } else {
        cr_assert(rc == LP_ENOSPC || (spoil && rc == LP_ECORRUPT), "%d", rc);
        name->pending_oid = 0;
    }
    (void)lp_store_arena_close(small.store, name->pending_owner, arena.arena, NULL);
}

static void do_abort(void)
{
    struct model_name *name = &names[pick(NAMES)];
    const uint64_t owner = 1 + pick(OWNERS);
    const bool good = name->pending_oid != 0 && name->pending_owner == owner;

    cr_assert_eq(lp_store_abort(small.store, owner, name->pending_oid, NULL), good ? 0 : LP_ENOENT);
    if (good)
        name->pending_oid = 0;
}

static void do_open(void)
{
    const uint32_t i = pick(NAMES);
    const uint64_t owner = 1 + pick(OWNERS);
    struct model_lease *lease = &leases[pick(LEASES)];
    struct lp_store_info info;
    int want = 0;

    if (lease->id != 0)
        return;
    if (names[i].sealed == NULL)
        want = names[i].pending_oid != 0 ? LP_EPENDING : LP_ENOENT;
    cr_assert_eq(
        lp_store_open(small.store, owner, SMALL_SPACE, name_of(i), &lease->id, &info, NULL), want);
    if (want < 0)
        return;
    lease->owner = owner;
    lease->object = names[i].sealed;
    lease->object->n_leases++;
    cr_assert_eq(info.oid, lease->object->info.oid);
}

static void model_release(struct model_lease *lease)
{
    lease->object->n_leases--;
    settle(lease->object);
    lease->id = 0;
}

static void do_release(void)
{
    struct model_lease *lease = &leases[pick(LEASES)];
    const uint64_t owner = 1 + pick(OWNERS);
    const bool good = lease->id != 0 && lease->owner == owner;

    cr_assert_eq(lp_store_release(small.store, owner, lease->id, NULL), good ? 0 : LP_ENOENT);
    if (good)
        model_release(lease);
}

static void do_delete(void)
{
    const uint32_t i = pick(NAMES);

    cr_assert_eq(lp_store_delete(small.store, SMALL_SPACE, name_of(i), NULL),
                 names[i].sealed != NULL ? 0 : LP_ENOENT);
    model_unname(&names[i]);
}

static void do_owner_end(void)
{
    const uint64_t owner = 1 + pick(OWNERS);

    lp_store_owner_end(small.store, owner);
    for (uint32_t i = 0; i < LEASES; i++)
        if (leases[i].id != 0 && leases[i].owner == owner)
            model_release(&leases[i]);
    for (uint32_t i = 0; i < NAMES; i++) {
        if (names[i].pending_oid != 0 && names[i].pending_owner == owner)
            names[i].pending_oid = 0;
        if (names[i].sealed != NULL && names[i].sealed->owner == owner)
            model_unname(&names[i]);
    }
}

static void do_expire(void)
{
    uint32_t want = 0;

    small.now_ns += SMALL_TTL_NS / 3;
    for (uint32_t i = 0; i < NAMES; i++)
        if (names[i].pending_oid != 0 && names[i].deadline_ns <= small.now_ns) {
            names[i].pending_oid = 0;
            want++;
        }
    cr_assert_eq(lp_store_expire(small.store), want);
}

static void run(uint64_t seed)
{
    static void (*const ops[])(void) = {do_create, do_create, do_seal,    do_seal,     do_seal,
                                        do_open,   do_open,   do_release, do_release,  do_release,
                                        do_delete, do_abort,  do_expire,  do_owner_end};

    state = seed;
    small_store_init(&small, CHUNKS, true);
    last_version = 0;
    memset(objects, 0, sizeof(objects));
    memset(names, 0, sizeof(names));
    memset(leases, 0, sizeof(leases));
    for (uint32_t step = 0; step < STEPS; step++) {
        ops[pick(sizeof(ops) / sizeof(ops[0]))]();
        check_counts();
        if (step % 16 == 0) {
            check_listing();
            check_contents();
        }
    }
    small_store_fini(&small);
}

/* Tables of which a pool of six chunks holds some, but not all that are asked for. */
Test(store_model, agrees_with_plain_arrays, .timeout = 120)
{
    small_table_init(&tables[0], 40, 1);
    small_table_init(&tables[1], 3000, 2);
    small_table_init(&tables[2], 9000, 3);
    for (uint64_t seed = 1; seed <= 5; seed++)
        run(seed);
    for (uint32_t i = 0; i < TABLES; i++)
        small_table_fini(&tables[i]);
    ASSERT_NO_LEAK();
}
