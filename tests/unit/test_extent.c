/* SPDX-License-Identifier: Apache-2.0 */
#include "store/extent.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <string.h>

#define START LP_SHM_CHUNK_HEADER_BYTES

static struct lp_extents extents;

static void init(void)
{
    lp_store_extents_init(&extents);
}

static void fini(void)
{
    lp_store_extents_fini(&extents);
}

TestSuite(store_extent, .init = init, .fini = fini);

static struct lp_shm_extent take(uint64_t bytes)
{
    struct lp_shm_extent extent;

    cr_assert_eq(lp_store_extents_take(&extents, bytes, &extent, NULL), 0);
    return extent;
}

/* What was asked for is what is told; what is occupied is whole units of 64. */
Test(store_extent, takes_whole_units)
{
    cr_assert_eq(lp_store_extents_add(&extents, 3, START, 6400, NULL), 0);
    const struct lp_shm_extent a = take(1), b = take(65), c = take(64);

    cr_assert_eq(a.chunk, 3);
    cr_assert_eq(a.offset, START);
    cr_assert_eq(a.bytes, 1);
    cr_assert_eq(b.offset, START + 64);
    cr_assert_eq(c.offset, START + 64 + 128);
    cr_assert_eq(extents.taken_bytes, 256);
    cr_assert_eq(extents.free_bytes, 6400 - 256);
}

/* The smallest range that is large enough, and of equals the first. */
Test(store_extent, takes_the_best_fit)
{
    cr_assert_eq(lp_store_extents_add(&extents, 1, START, 640, NULL), 0);
    cr_assert_eq(lp_store_extents_add(&extents, 2, START, 128, NULL), 0);
    cr_assert_eq(lp_store_extents_add(&extents, 5, START, 128, NULL), 0);
    cr_assert_eq(take(100).chunk, 2);
    cr_assert_eq(take(128).chunk, 5);
    cr_assert_eq(take(64).chunk, 1);
}

/* Ranges merge with both neighbours, and never over a chunk's end. */
Test(store_extent, merges_what_comes_back)
{
    cr_assert_eq(lp_store_extents_add(&extents, 1, START, 192, NULL), 0);
    cr_assert_eq(lp_store_extents_add(&extents, 2, START + 192, 64, NULL), 0);
    const struct lp_shm_extent z = take(64);
    cr_assert_eq(z.chunk, 2);
    const struct lp_shm_extent a = take(64), b = take(64), c = take(64);

    cr_assert_eq(extents.n_ranges, 0);
    lp_store_extents_give_back(&extents, &a);
    lp_store_extents_give_back(&extents, &c);
    lp_store_extents_give_back(&extents, &z);
    cr_assert_eq(extents.n_ranges, 3);
    lp_store_extents_give_back(&extents, &b);
    cr_assert_eq(extents.n_ranges, 2);
    cr_assert_eq(lp_store_extents_largest(&extents), 192);
    cr_assert_eq(extents.n_taken, 0);
}

Test(store_extent, says_when_there_is_no_room)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_shm_extent extent = {9, 9, 9};

    cr_assert_eq(lp_store_extents_take(&extents, 1, &extent, &err), LP_ENOSPC);
    cr_assert_eq(lp_store_extents_add(&extents, 1, START, 128, NULL), 0);
    cr_assert_eq(lp_store_extents_take(&extents, 129, &extent, &err), LP_ENOSPC);
    cr_assert_eq(lp_store_extents_take(&extents, UINT64_MAX, &extent, &err), LP_ENOSPC);
    cr_assert_eq(extent.bytes, 9, "untouched on failure");
    cr_assert_eq(lp_store_extents_largest(&extents), 128);
}

/* After each refused allocation the same call works; giving back never allocates. */
Test(store_extent, survives_every_allocation_failure)
{
    struct fault_loop loop;

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct lp_extents own;
        struct lp_shm_extent extent[8];
        uint32_t n = 0;
        int rc;

        lp_store_extents_init(&own);
        rc = lp_store_extents_add(&own, 1, START, 64 * 8, NULL);
        for (; rc == 0 && n < 8; n += rc == 0)
            rc = lp_store_extents_take(&own, 64, &extent[n], NULL);
        if (fault_loop_hit(&loop))
            cr_assert_eq(rc, LP_ENOMEM);
        fault_disarm();
        if (rc == LP_ENOMEM && own.n_ranges + own.n_taken == 0)
            cr_assert_eq(lp_store_extents_add(&own, 1, START, 64 * 8, NULL), 0);
        for (; n < 8; n++)
            cr_assert_eq(lp_store_extents_take(&own, 64, &extent[n], NULL), 0);
        fault_arm(&(struct fault_loop){0}, LP_FAULT_ALLOC, 1);
        while (n > 0)
            lp_store_extents_give_back(&own, &extent[--n]);
        fault_disarm();
        cr_assert_eq(own.free_bytes, 64 * 8);
        cr_assert_eq(own.n_ranges, 1);
        lp_store_extents_fini(&own);
        if (rc == 0)
            break;
    }
    cr_assert_gt(loop.nth, 1);
    ASSERT_NO_LEAK();
}

/* --- against a naive model: one byte for each unit of two chunks -------------------------------
 */

#define UNITS 512u
#define HELD 64u

static uint8_t taken[2][UNITS];

/* The first smallest run of free units that has n, by looking at every unit. */
static bool model_take(uint32_t n, uint32_t *ret_chunk, uint32_t *ret_unit)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t chunk = 0; chunk < 2; chunk++)
        for (uint32_t unit = 0; unit < UNITS;) {
            uint32_t run = 0;

            while (unit + run < UNITS && taken[chunk][unit + run] == 0)
                run++;
            if (run >= n && run < best) {
                best = run;
                *ret_chunk = chunk;
                *ret_unit = unit;
            }
            unit += run + 1;
        }
    if (best == UINT32_MAX)
        return false;
    memset(&taken[*ret_chunk][*ret_unit], 1, n);
    return true;
}

static void run_against_model(uint64_t seed)
{
    struct lp_shm_extent held[HELD];
    uint32_t n_held = 0;
    uint64_t state = seed;

    memset(taken, 0, sizeof(taken));
    for (uint32_t chunk = 0; chunk < 2; chunk++)
        cr_assert_eq(lp_store_extents_add(&extents, chunk, START, UNITS * 64, NULL), 0);
    for (int step = 0; step < 5000; step++) {
        if (n_held < HELD && samples_next(&state) % 2 == 0) {
            const uint64_t bytes = 1 + samples_next(&state) % 3000;
            const uint32_t units = (uint32_t)((bytes + 63) / 64);
            uint32_t chunk = 0, unit = 0;
            const bool fits = model_take(units, &chunk, &unit);
            const int rc = lp_store_extents_take(&extents, bytes, &held[n_held], NULL);

            cr_assert_eq(rc, fits ? 0 : LP_ENOSPC);
            if (!fits)
                continue;
            cr_assert_eq(held[n_held].chunk, chunk);
            cr_assert_eq(held[n_held].offset, START + unit * 64);
            n_held++;
        } else if (n_held > 0) {
            const uint32_t i = (uint32_t)(samples_next(&state) % n_held);
            const struct lp_shm_extent extent = held[i];

            lp_store_extents_give_back(&extents, &extent);
            memset(&taken[extent.chunk][(extent.offset - START) / 64], 0, (extent.bytes + 63) / 64);
            held[i] = held[--n_held];
        }
    }
    while (n_held > 0)
        lp_store_extents_give_back(&extents, &held[--n_held]);
    cr_assert_eq(extents.n_ranges, 2);
    cr_assert_eq(extents.free_bytes, 2 * UNITS * 64);
    lp_store_extents_fini(&extents);
}

/* Place by place the same answers as a search over every unit. */
Test(store_extent, agrees_with_a_naive_model)
{
    for (uint64_t seed = 1; seed <= 8; seed++)
        run_against_model(seed);
}
