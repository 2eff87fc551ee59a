/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/objects.h"
#include "proto/message.h"
#include "proto/method.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <string.h>

static void setup(void)
{
    lp_proto_use_our_memory();
}

TestSuite(daemon_objects, .init = setup);

static const struct lp_shm_extent extents[] = {{1, 4096, 64}, {2, 8192, UINT64_C(1) << 40}};

static struct lp_store_info sample(void)
{
    return (struct lp_store_info){
        .name = "n",
        .tag = "",
        .oid = 5,
        .dtype = LP_DTYPE_BF16,
        .ndim = 2,
        .codec = LP_CODEC_LANE,
        .layout = LP_LAYOUT_PACKED,
        .dims = {3, UINT64_C(1) << 40},
        .fingerprint = UINT64_C(0x8000000000000001),
        .n_extents = 2,
        .extents = extents,
    };
}

/* What is written is what the schema says. */
Test(daemon_objects, writes_info_by_its_schema)
{
    const struct lp_store_info info = sample();
    struct lp_error err = LP_ERROR_INIT;

    json_t *json = lp_daemon_objects_info_json(&info);
    cr_assert_eq(lp_proto_schema_check("info", json, "info", &err), 0, "%s", err.text);
    cr_assert_str_eq(json_string_value(json_object_get(json, "fingerprint")), "8000000000000001");
    cr_assert_eq(json_integer_value(json_array_get(json_object_get(json, "shape"), 1)), INT64_C(1)
                                                                                            << 40);
    json_decref(json);
    json = lp_daemon_objects_extents_json(&info);
    cr_assert_eq(json_array_size(json), 2);
    cr_assert_eq(json_integer_value(json_array_get(json_array_get(json, 1), 2)), INT64_C(1) << 40);
    json_decref(json);
    ASSERT_NO_LEAK();
}

/* However large items and errors are, the answer stays within the line. */
Test(daemon_objects, keeps_answers_within_a_line)
{
    struct lp_error err = LP_ERROR_INIT;
    char text[400];

    memset(text, '"', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memset(err.text, '\\', sizeof(err.text) - 1);
    err.code = LP_ENOENT;
    for (size_t n = 0; n <= 1000; n += 125) {
        struct lp_items items;
        size_t kept = 0;
        lp_daemon_items_init(&items, n, 256 << 10);
        for (size_t i = 0; i < n; i++) {
            if (i % 3 == 0)
                lp_daemon_items_put_error(&items, &err);
            else
                kept += lp_daemon_items_put_take(&items, json_pack("{s:s}", "x", text));
        }
        json_t *result = lp_daemon_items_result_take(&items);
        cr_assert_eq(json_array_size(json_object_get(result, "items")), n);
        cr_assert_leq(json_dumpb(result, NULL, 0, JSON_COMPACT), (256 << 10) - 600);
        cr_assert(n == 0 || kept > 0);
        json_decref(result);
    }
    ASSERT_NO_LEAK();
}

/* Without memory there is no answer, and nothing leaks. */
Test(daemon_objects, survives_failing_allocations)
{
    const struct lp_store_info info = sample();
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;

    (void)lp_error_set(&err, LP_ENOENT, "no object");
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct lp_items items;
        lp_daemon_items_init(&items, 2, 1 << 20);
        (void)lp_daemon_items_put_take(&items, lp_daemon_objects_info_json(&info));
        lp_daemon_items_put_error(&items, &err);
        json_t *result = lp_daemon_items_result_take(&items);
        const bool good = json_array_size(json_object_get(result, "items")) == 2;
        /* Counting bytes allocates, too, and is tried twice: some failures are made up for. */
        cr_assert(good || fault_loop_hit(&loop), "call %u", loop.nth);
        cr_assert(good || result == NULL, "call %u: half an answer", loop.nth);
        json_decref(result);
    }
    cr_assert_gt(loop.nth, 10);
    ASSERT_NO_LEAK();
}
