/* SPDX-License-Identifier: Apache-2.0 */
#include "store/idmap.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#define KEYS 512u

static uint64_t values[KEYS + 1];

Test(store_idmap, is_empty_at_first)
{
    struct lp_idmap map;

    lp_store_idmap_init(&map);
    cr_assert_null(lp_store_idmap_find(&map, 1));
    cr_assert_null(lp_store_idmap_take(&map, 1));
    cr_assert_null(lp_store_idmap_any(&map));
    lp_store_idmap_fini(&map);
    lp_store_idmap_fini(NULL);
}

/* Random puts, takes and looks give what an array of all keys gives. */
Test(store_idmap, agrees_with_an_array)
{
    const void *model[KEYS + 1] = {0};
    struct lp_idmap map;
    uint64_t state = 5;
    size_t n = 0;

    lp_store_idmap_init(&map);
    for (int step = 0; step < 50000; step++) {
        const uint64_t key = 1 + samples_next(&state) % KEYS;

        cr_assert_eq(lp_store_idmap_find(&map, key), model[key]);
        if (model[key] == NULL) {
            cr_assert_eq(lp_store_idmap_put(&map, key, &values[key], NULL), 0);
            model[key] = &values[key];
            n++;
        } else if (samples_next(&state) % 3 != 0) {
            cr_assert_eq(lp_store_idmap_take(&map, key), model[key]);
            model[key] = NULL;
            n--;
        }
        cr_assert_eq(map.n, n);
    }
    for (void *value; (value = lp_store_idmap_any(&map)) != NULL;) {
        const uint64_t key = (uint64_t)((uint64_t *)value - values);

        cr_assert_eq(lp_store_idmap_take(&map, key), model[key]);
        n--;
    }
    cr_assert_eq(n, 0);
    lp_store_idmap_fini(&map);
    ASSERT_NO_LEAK();
}

/* A table that cannot grow keeps what it has. */
Test(store_idmap, survives_allocation_failure)
{
    struct fault_loop fault;
    struct lp_idmap map;
    uint64_t key = 1;
    int rc = 0;

    lp_store_idmap_init(&map);
    fault_arm(&fault, LP_FAULT_ALLOC, 2);
    for (; rc == 0 && key < KEYS; key += rc == 0)
        rc = lp_store_idmap_put(&map, key, &values[key], NULL);
    fault_disarm();
    cr_assert_eq(rc, LP_ENOMEM);
    for (uint64_t old = 1; old < key; old++)
        cr_assert_eq(lp_store_idmap_find(&map, old), &values[old]);
    cr_assert_null(lp_store_idmap_find(&map, key));
    cr_assert_eq(lp_store_idmap_put(&map, key, &values[key], NULL), 0);
    cr_assert_eq(lp_store_idmap_find(&map, key), &values[key]);
    lp_store_idmap_fini(&map);
    ASSERT_NO_LEAK();
}
