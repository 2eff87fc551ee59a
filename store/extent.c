/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted array: plain, dense, and fast enough, since a put costs far more than one scan of it. */
#include "store/extent.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

static bool before(const struct lp_shm_extent *a, uint32_t chunk, uint64_t offset)
{
    return a->chunk < chunk || (a->chunk == chunk && a->offset < offset);
}

/* Position of the first range at or behind (chunk, offset). */
static size_t position(const struct lp_extents *extents, uint32_t chunk, uint64_t offset)
{
    size_t low = 0, high = extents->n_ranges;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (before(&extents->range[middle], chunk, offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_at(struct lp_extents *extents, size_t at, struct lp_shm_extent range)
{
    memmove(&extents->range[at + 1], &extents->range[at],
            (extents->n_ranges - at) * sizeof(extents->range[0]));
    extents->range[at] = range;
    extents->n_ranges++;
}

static void remove_at(struct lp_extents *extents, size_t at)
{
    extents->n_ranges--;
    memmove(&extents->range[at], &extents->range[at + 1],
            (extents->n_ranges - at) * sizeof(extents->range[0]));
}

/* Room for one range more than could ever come back. */
int lp_store_extents_reserve(struct lp_extents *extents, struct lp_error *err)
{
    const size_t need = extents->n_ranges + extents->n_taken + 1;

    if (need <= extents->room)
        return 0;
    const size_t room = LP_MAX(need, extents->room * 2);
    struct lp_shm_extent *grown =
        lp_mem_realloc_array(extents->range, room, sizeof(extents->range[0]));
    if (grown == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a list of %zu free ranges", room);
    extents->range = grown;
    extents->room = room;
    return 0;
}

static bool touches(const struct lp_shm_extent *left, const struct lp_shm_extent *right)
{
    return left->chunk == right->chunk && left->offset + left->bytes == right->offset;
}

/* Insert a range and merge it with its neighbours. There is room. */
static void insert_merged(struct lp_extents *extents, struct lp_shm_extent range)
{
    const size_t at = position(extents, range.chunk, range.offset);
    struct lp_shm_extent *left = at > 0 ? &extents->range[at - 1] : NULL;
    struct lp_shm_extent *right = at < extents->n_ranges ? &extents->range[at] : NULL;
    const bool joins_left = left != NULL && touches(left, &range);
    const bool joins_right = right != NULL && touches(&range, right);

    if (joins_left && joins_right) {
        left->bytes += range.bytes + right->bytes;
        remove_at(extents, at);
    } else if (joins_left) {
        left->bytes += range.bytes;
    } else if (joins_right) {
        right->offset = range.offset;
        right->bytes += range.bytes;
    } else {
        insert_at(extents, at, range);
    }
    extents->free_bytes += range.bytes;
}

void lp_store_extents_init(struct lp_extents *extents)
{
    memset(extents, 0, sizeof(*extents));
}

void lp_store_extents_fini(struct lp_extents *extents)
{
    if (extents == NULL)
        return;
    lp_mem_free(extents->range);
    memset(extents, 0, sizeof(*extents));
}

int lp_store_extents_add(struct lp_extents *extents, uint32_t chunk, uint64_t offset,
                         uint64_t bytes, struct lp_error *err)
{
    int rc;

    assert(offset % LP_SHM_EXTENT_ALIGN == 0 && bytes % LP_SHM_EXTENT_ALIGN == 0);
    LP_TRY(rc, lp_store_extents_reserve(extents, err));
    insert_merged(extents, (struct lp_shm_extent){chunk, offset, bytes});
    return 0;
}

void lp_store_extents_remove(struct lp_extents *extents, uint32_t chunk)
{
    const size_t at = position(extents, chunk, 0);

    assert(at < extents->n_ranges && extents->range[at].chunk == chunk);
    assert(at + 1 == extents->n_ranges || extents->range[at + 1].chunk != chunk);
    extents->free_bytes -= extents->range[at].bytes;
    remove_at(extents, at);
}

/* Position of the smallest range of at least bytes; n_ranges when there is none. */
static size_t best_fit(const struct lp_extents *extents, uint64_t bytes)
{
    size_t best = extents->n_ranges;

    for (size_t i = 0; i < extents->n_ranges; i++) {
        const uint64_t have = extents->range[i].bytes;

        if (have == bytes)
            return i;
        if (have > bytes && (best == extents->n_ranges || have < extents->range[best].bytes))
            best = i;
    }
    return best;
}

int lp_store_extents_take(struct lp_extents *extents, uint64_t bytes,
                          struct lp_shm_extent *ret_extent, struct lp_error *err)
{
    const uint64_t need = lp_store_extent_room(bytes);
    int rc;

    assert(bytes > 0);
    const size_t at = need < bytes ? extents->n_ranges : best_fit(extents, need);
    if (at == extents->n_ranges)
        return lp_error_set(err, LP_ENOSPC, "no free range of %llu bytes",
                            (unsigned long long)bytes);
    LP_TRY(rc, lp_store_extents_reserve(extents, err));
    struct lp_shm_extent *range = &extents->range[at];
    *ret_extent = (struct lp_shm_extent){range->chunk, range->offset, bytes};
    range->offset += need;
    range->bytes -= need;
    if (range->bytes == 0)
        remove_at(extents, at);
    extents->n_taken++;
    extents->free_bytes -= need;
    extents->taken_bytes += need;
    return 0;
}

void lp_store_extents_give_back(struct lp_extents *extents, const struct lp_shm_extent *extent)
{
    const uint64_t bytes = lp_store_extent_room(extent->bytes);

    assert(extents->n_taken > 0 && extents->taken_bytes >= bytes);
    extents->n_taken--;
    extents->taken_bytes -= bytes;
    insert_merged(extents, (struct lp_shm_extent){extent->chunk, extent->offset, bytes});
}

uint64_t lp_store_extents_largest(const struct lp_extents *extents)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < extents->n_ranges; i++)
        largest = LP_MAX(largest, extents->range[i].bytes);
    return largest;
}
