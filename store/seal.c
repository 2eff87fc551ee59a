/* SPDX-License-Identifier: Apache-2.0 */
/* A ticket: what one seal has to copy, adopt and check, apart from the store, so that a worker can
 * run it while the owner's thread goes on.
 *
 * begin -> run -> end, as store.h says. Whoever writes the arena meanwhile can spoil only its own
 * object: a copied part is read once and checked where it then lies, in memory that no client can
 * write; an adopted one is sealed first. Ownership: the ticket has the extents of its copies until
 * end gives them to the object or back; it counts in the arenas' n_tickets; the object is borrowed,
 * and the ticket's alone once it is aborted. docs/SHM.md, section 3. */
#include "base/alloc.h"
#include "codec/view.h"
#include "store/store_impl.h"

#include <assert.h>
#include <string.h>

#define COPY_BYTES (8ull << 20) /* between two looks at whether the object was aborted */
#define CHECKS_AT_ONCE 64u      /* likewise */

struct seal_part {
    const uint8_t *source; /* a copy's, in its arena */
    uint8_t *copy;         /* a copy's, in a pool chunk */
    const uint8_t *base;   /* where the bytes to be checked, and later read, lie */
    struct lp_arena *arena;
    bool adopt;
    struct lp_shm_extent extent; /* bytes 0: not taken yet */
};

struct lp_store_seal {
    struct lp_pool *pool;
    struct lp_object *object;
    struct seal_part *part;        /* owned; n_parts */
    struct lp_shm_extent *extents; /* owned; for the object */
    const uint8_t **segments;      /* owned; for the view; n_parts - 1 */
    uint32_t n_parts, n_arenas;
    struct lp_arena *arena[LP_STORE_ARENAS_MAX]; /* each once */
    struct lp_table table;                       /* of the head, once run has parsed it */
};

/* --- begin ----------------------------------------------------------------------------------- */

static void ticket_free(struct lp_store_seal *seal)
{
    lp_codec_table_fini(&seal->table);
    lp_mem_free(seal->part);
    lp_mem_free(seal->extents);
    lp_mem_free(seal->segments);
    lp_mem_free(seal);
}

static int ticket_new(struct lp_store *store, struct lp_object *object, uint32_t n_parts,
                      struct lp_store_seal **ret_seal, struct lp_error *err)
{
    struct lp_store_seal *seal = lp_mem_zalloc(sizeof(*seal));

    if (seal == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a ticket");
    seal->pool = &store->pool;
    seal->object = object;
    seal->n_parts = n_parts;
    seal->part = lp_mem_zalloc(n_parts * sizeof(seal->part[0]));
    seal->extents = lp_mem_alloc_array(n_parts, sizeof(seal->extents[0]));
    seal->segments = lp_mem_alloc_array(n_parts, sizeof(seal->segments[0]));
    if (seal->part == NULL || seal->extents == NULL || seal->segments == NULL) {
        ticket_free(seal);
        return lp_error_set(err, LP_ENOMEM, "no memory for a ticket of %u parts", n_parts);
    }
    *ret_seal = seal;
    return 0;
}

static bool has_arena(const struct lp_store_seal *seal, const struct lp_arena *arena)
{
    for (uint32_t i = 0; i < seal->n_arenas; i++)
        if (seal->arena[i] == arena)
            return true;
    return false;
}

/* The ticket reads, or with adopt takes, this arena from now on. */
static int use_arena(struct lp_store_seal *seal, struct lp_arena *arena, bool adopt,
                     struct lp_error *err)
{
    int rc;

    if (has_arena(seal, arena)) {
        if (arena->adopting == adopt)
            return 0;
        return lp_error_set(err, LP_EINVAL, "arena %u is both copied and adopted", arena->id);
    }
    if (arena->adopting || (adopt && arena->n_tickets > 0))
        return lp_error_set(err, LP_EBUSY, "arena %u is in use by another seal", arena->id);
    LP_TRY(rc, lp_store_chunk_remap(arena->chunk, err));
    if (adopt)
        LP_TRY(rc, lp_store_pool_begin_adopt(seal->pool, err));
    assert(seal->n_arenas < LP_STORE_ARENAS_MAX);
    seal->arena[seal->n_arenas++] = arena;
    arena->n_tickets++;
    arena->adopting = adopt;
    return 0;
}

static int check_range(const struct lp_store_part *part, uint64_t chunk_bytes, uint32_t number,
                       struct lp_error *err)
{
    const uint64_t end = chunk_bytes - LP_SHM_CHUNK_TAIL_BYTES;

    if (part->bytes == 0 || part->offset % LP_SHM_EXTENT_ALIGN != 0)
        return lp_error_set(err, LP_EINVAL,
                            "part %u: %llu bytes at %llu, want more than 0 at a multiple of %u",
                            number, (unsigned long long)part->bytes,
                            (unsigned long long)part->offset, LP_SHM_EXTENT_ALIGN);
    if (part->offset < LP_SHM_CHUNK_HEADER_BYTES || part->offset > end ||
        part->bytes > end - part->offset)
        return lp_error_set(
            err, LP_ERANGE, "part %u: %llu bytes at %llu do not lie in %u to %llu of the arena",
            number, (unsigned long long)part->bytes, (unsigned long long)part->offset,
            LP_SHM_CHUNK_HEADER_BYTES, (unsigned long long)end);
    return 0;
}

static int enter_parts(struct lp_store *store, uint64_t owner, const struct lp_store_part *parts,
                       struct lp_store_seal *seal, struct lp_error *err)
{
    int rc;

    for (uint32_t i = 0; i < seal->n_parts; i++) {
        struct seal_part *part = &seal->part[i];

        LP_TRY(rc, lp_store_arena_find(store, owner, parts[i].arena, &part->arena, err));
        LP_TRY(rc, check_range(&parts[i], part->arena->chunk->bytes, i, err));
        LP_TRY(rc, use_arena(seal, part->arena, parts[i].adopt, err));
        part->adopt = parts[i].adopt;
        part->source = part->arena->chunk->map + parts[i].offset;
        if (part->adopt)
            part->extent =
                (struct lp_shm_extent){part->arena->chunk->number, parts[i].offset, parts[i].bytes};
    }
    return 0;
}

/* The sentence for a pool that is too full. */
static int no_space(struct lp_store *store, uint64_t need, uint32_t n, struct lp_error *err)
{
    struct lp_store_state state;

    lp_store_get_state(store, &state);
    return lp_error_set(err, LP_ENOSPC,
                        "need %llu bytes in %u extents, have %llu free (largest %llu): delete "
                        "objects, or raise pool.size",
                        (unsigned long long)need, n, (unsigned long long)state.free_bytes,
                        (unsigned long long)state.largest_free_bytes);
}

static void give_back_copies(struct lp_store *store, struct lp_store_seal *seal)
{
    for (uint32_t i = 0; i < seal->n_parts; i++) {
        struct seal_part *part = &seal->part[i];

        if (part->copy != NULL)
            lp_store_pool_give_back(&store->pool, &part->extent);
        part->copy = NULL;
    }
}

static int take_extents(struct lp_store *store, const struct lp_store_part *parts,
                        struct lp_store_seal *seal, struct lp_error *err)
{
    uint64_t need = 0;
    uint32_t n_copies = 0;
    int rc = 0;

    for (uint32_t i = 0; i < seal->n_parts; i++)
        if (!seal->part[i].adopt) {
            need += lp_store_extent_room(parts[i].bytes);
            n_copies++;
        }
    for (uint32_t i = 0; i < seal->n_parts && rc == 0; i++) {
        struct seal_part *part = &seal->part[i];

        if (part->adopt)
            continue;
        rc = lp_store_pool_take(&store->pool, parts[i].bytes, &part->extent, err);
        if (rc == 0)
            part->copy =
                lp_store_pool_find(&store->pool, part->extent.chunk)->map + part->extent.offset;
    }
    if (rc != LP_ENOSPC)
        return rc;
    give_back_copies(store, seal); /* so that what is said to be free is free */
    return no_space(store, need, n_copies, err);
}

/* The ticket is done with its arenas; those that were adopted are no arenas any more. */
static void let_go_of_arenas(struct lp_store *store, struct lp_store_seal *seal)
{
    for (uint32_t i = 0; i < seal->n_arenas; i++) {
        struct lp_arena *arena = seal->arena[i];

        if (arena->adopting)
            lp_store_pool_end_adopt(&store->pool);
        arena->adopting = false;
        if (arena->chunk->use == LP_CHUNK_ADOPTED)
            lp_store_arena_end(store, arena);
        lp_store_arena_unref(store, arena);
    }
}

/* Everything that the ticket holds comes back. */
static void ticket_give_back(struct lp_store *store, struct lp_store_seal *seal)
{
    give_back_copies(store, seal);
    let_go_of_arenas(store, seal);
}

static int find_created(struct lp_store *store, uint64_t owner, uint64_t oid,
                        struct lp_object **ret_object, struct lp_error *err)
{
    struct lp_object *object = lp_store_idmap_find(&store->unsealed, oid);

    if (object == NULL || object->owner->id != owner)
        return lp_error_set(err, LP_ENOENT, "no unsealed object %llu", (unsigned long long)oid);
    if (lp_store_object_state(object) == LP_OBJECT_SEALING)
        return lp_error_set(err, LP_EPENDING, "object %llu is being sealed",
                            (unsigned long long)oid);
    *ret_object = object;
    return 0;
}

static int ticket_fill(struct lp_store *store, uint64_t owner, const struct lp_store_part *parts,
                       struct lp_store_seal *seal, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, enter_parts(store, owner, parts, seal, err));
    return take_extents(store, parts, seal, err);
}

int lp_store_seal_begin(struct lp_store *store, uint64_t owner, uint64_t oid,
                        const struct lp_store_part *parts, uint32_t n_parts,
                        struct lp_store_seal **ret_seal, struct lp_error *err)
{
    struct lp_object *object;
    struct lp_store_seal *seal;
    int rc;

    LP_TRY(rc, find_created(store, owner, oid, &object, err));
    if (n_parts == 0 || n_parts > LP_SHM_EXTENTS_MAX) {
        rc = lp_error_set(err, LP_EINVAL, "an object has 1 to %u parts, not %u", LP_SHM_EXTENTS_MAX,
                          n_parts);
        goto abort;
    }
    LP_TRY_GOTO(rc, ticket_new(store, object, n_parts, &seal, err), abort);
    LP_TRY_GOTO(rc, ticket_fill(store, owner, parts, seal, err), give_back);
    lp_list_remove(&object->ttl_link);
    lp_store_object_move(object, LP_OBJECT_SEALING);
    *ret_seal = seal;
    return 0;

give_back:
    ticket_give_back(store, seal);
    ticket_free(seal);
abort:
    lp_store_object_abort(store, object);
    return rc;
}

/* --- run ------------------------------------------------------------------------------------- */

static int check_wanted(const struct lp_store_seal *seal, struct lp_error *err)
{
    if (lp_store_object_state(seal->object) == LP_OBJECT_SEALING)
        return 0;
    return lp_error_set(err, LP_ECANCELED, "the object was given up while it was sealed");
}

static int copy_part(const struct lp_store_seal *seal, struct seal_part *part, struct lp_error *err)
{
    const uint64_t bytes = part->extent.bytes;
    int rc;

    for (uint64_t at = 0; at < bytes; at += COPY_BYTES) {
        LP_TRY(rc, check_wanted(seal, err));
        memcpy(part->copy + at, part->source + at, LP_MIN(COPY_BYTES, bytes - at));
    }
    /* What an earlier object left in the last 64 bytes is nobody's business. */
    memset(part->copy + bytes, 0, lp_store_extent_room(bytes) - bytes);
    part->base = part->copy;
    return 0;
}

static int bring_in(struct lp_store_seal *seal, struct lp_error *err)
{
    int rc;

    for (uint32_t i = 0; i < seal->n_arenas; i++) {
        LP_TRY(rc, check_wanted(seal, err));
        if (seal->arena[i]->adopting)
            LP_TRY(rc, lp_store_pool_adopt(seal->pool, seal->arena[i]->chunk, err));
    }
    for (uint32_t i = 0; i < seal->n_parts; i++) {
        struct seal_part *part = &seal->part[i];

        if (part->adopt)
            part->base = part->arena->chunk->map + part->extent.offset;
        else
            LP_TRY(rc, copy_part(seal, part, err));
    }
    return 0;
}

/* The parts have the sizes that the head says. */
static int check_sizes(const struct lp_store_seal *seal, struct lp_error *err)
{
    const struct lp_table *table = &seal->table;

    if (table->n_segments + 1 != seal->n_parts)
        return lp_error_set(err, LP_EINVAL, "head has %u segments, there are %u parts beside it",
                            table->n_segments, seal->n_parts - 1);
    for (uint32_t i = 0; i < seal->n_parts; i++) {
        const uint64_t want =
            i == 0 ? table->head_bytes : lp_codec_table_segment_bytes(table, i - 1);

        if (seal->part[i].extent.bytes != want)
            return lp_error_set(err, LP_EINVAL, "part %u has %llu bytes, the head says %llu", i,
                                (unsigned long long)seal->part[i].extent.bytes,
                                (unsigned long long)want);
    }
    return 0;
}

/* Every check, and that every record decodes: a reader then meets no surprise. */
static int check_records(struct lp_store_seal *seal, void *scratch, struct lp_error *err)
{
    const struct lp_table *table = &seal->table;
    const uint8_t *head = seal->part[0].base;
    const uint64_t n_checks = table->checks_bytes / sizeof(uint64_t);
    int rc;

    for (uint32_t i = 1; i < seal->n_parts; i++)
        seal->segments[i - 1] = seal->part[i].base;
    const struct lp_view view = {
        .table = table,
        .index = head + table->index_offset,
        .checks = head + table->checks_offset,
        .segments = seal->segments,
    };
    for (uint64_t at = 0; at < n_checks; at += CHECKS_AT_ONCE) {
        LP_TRY(rc, check_wanted(seal, err));
        LP_TRY(rc, lp_codec_view_verify(&view, at, LP_MIN(CHECKS_AT_ONCE, n_checks - at), true,
                                        scratch, err));
    }
    return 0;
}

static int check_table(struct lp_store_seal *seal, struct lp_error *err)
{
    struct lp_table table;
    int rc;

    LP_TRY(rc, lp_codec_table_parse(&table, seal->part[0].base, seal->part[0].extent.bytes, err));
    seal->table = table;
    LP_TRY(rc, lp_store_object_match(seal->object, &seal->table, err));
    LP_TRY(rc, check_sizes(seal, err));
    void *scratch = lp_mem_alloc_aligned(LP_SHM_EXTENT_ALIGN, LP_FORMAT_RECORD_BYTES_MAX);
    if (scratch == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory to decode a record");
    rc = check_records(seal, scratch, err);
    lp_mem_free(scratch);
    return rc;
}

int lp_store_seal_run(struct lp_store_seal *seal, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, bring_in(seal, err));
    return check_table(seal, err);
}

/* --- end ------------------------------------------------------------------------------------- */

/* Hand what the ticket holds to the object, and let go of the arenas. */
static void ticket_hand_over(struct lp_store *store, struct lp_store_seal *seal)
{
    struct lp_object *object = seal->object;

    for (uint32_t i = 0; i < seal->n_parts; i++) {
        seal->extents[i] = seal->part[i].extent;
        if (seal->part[i].adopt)
            seal->part[i].arena->chunk->uses++;
    }
    object->extents = seal->extents;
    object->n_extents = seal->n_parts;
    seal->extents = NULL;
    lp_store_object_describe(object, &seal->table);
    let_go_of_arenas(store, seal);
}

int lp_store_seal_end_take(struct lp_store *store, struct lp_store_seal *seal, int run_rc,
                           struct lp_store_info *ret_info, struct lp_error *err)
{
    struct lp_object *object = seal->object;
    int rc = run_rc;

    const bool aborted = lp_store_object_state(object) == LP_OBJECT_ABORTED;
    if (aborted && rc == 0)
        rc = lp_error_set(err, LP_ECANCELED, "the object was given up while it was sealed");
    if (rc == 0) {
        ticket_hand_over(store, seal);
        lp_store_object_publish(store, object);
        if (ret_info != NULL)
            lp_store_object_info(object, ret_info);
    } else {
        ticket_give_back(store, seal);
        if (!aborted)
            lp_store_object_abort(store, object); /* sealing: leaves it to us */
        lp_store_object_free(object);
    }
    ticket_free(seal);
    return rc;
}
