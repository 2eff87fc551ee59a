/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of the client fails once at each of its places: a code and a sentence come back,
 * nothing stays behind on either side, and the same again works. */
#include "tests/lib/client_env.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <string.h>

static const enum lp_fault_site sites[] = {LP_FAULT_ALLOC, LP_FAULT_MMAP, LP_FAULT_SEND,
                                           LP_FAULT_RECV};
#define SITES (sizeof(sites) / sizeof(sites[0]))

static const char *const name_t[] = {"t"};

static void assert_failure(int rc, const struct lp_error *err)
{
    cr_assert_lt(rc, 0);
    cr_assert_eq(err->code, rc);
    cr_assert_gt(strlen(err->text), 5);
    cr_assert_str_neq(lp_error_name(rc), "LP_E?");
}

/* --- connect -----------------------------------------------------------------------------------
 */

/* With workers, so that threads are made, too. */
static int connect_with_workers(const char *path, lp_client **ret_client, struct lp_error *err)
{
    struct lp_connect_options options;

    lp_options_init(&options, sizeof(options));
    options.path = path;
    options.workers = 3;
    options.local_bytes = UINT64_C(64) << 20;
    return lp_client_connect(&options, ret_client, err);
}

static void connect_at(const char *path, enum lp_fault_site site)
{
    const size_t fds = client_count_fds();
    struct fault_loop loop;

    FAULT_LOOP(&loop, site) {
        struct lp_error err = {.struct_size = sizeof(err)};
        lp_client *client = NULL;
        const int rc = connect_with_workers(path, &client, &err);

        if (fault_loop_hit(&loop)) {
            fault_disarm();
            if (rc < 0) {
                assert_failure(rc, &err);
                cr_assert_null(client);
                cr_assert_eq(client_count_fds(), fds);
                if (loop.nth <= 3) /* a store takes its time to come up */
                    cr_assert_eq(connect_with_workers(path, &client, &err), 0, "%s", err.text);
            }
        } else {
            cr_assert_eq(rc, 0, "%s", err.text);
        }
        lp_client_close(client);
        cr_assert_eq(client_count_fds(), fds);
    }
    cr_assert_gt(loop.nth, 1, "no call of site %d was made to fail", (int)site);
}

Test(client_fault, connect_gives_everything_back)
{
    struct client_env env;

    client_env_daemon(&env, NULL);
    for (size_t i = 0; i < SITES; i++)
        if (sites[i] != LP_FAULT_MMAP)
            connect_at(env.daemon.socket, sites[i]);
    connect_at(env.daemon.socket, LP_FAULT_THREAD);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

Test(client_fault, local_gives_everything_back)
{
    static const enum lp_fault_site local_sites[] = {LP_FAULT_ALLOC,     LP_FAULT_MEMFD,
                                                     LP_FAULT_FTRUNCATE, LP_FAULT_MMAP,
                                                     LP_FAULT_SEAL,      LP_FAULT_THREAD};

    for (size_t i = 0; i < sizeof(local_sites) / sizeof(local_sites[0]); i++)
        connect_at("local:", local_sites[i]);
    cr_assert_eq(client_count_maps(false), 0);
    ASSERT_NO_LEAK();
}

/* --- put ---------------------------------------------------------------------------------------
 */

static int put_verified(lp_client *client, const struct client_tensor *tensor, struct lp_error *err)
{
    const struct lp_put_options options = {.struct_size = sizeof(options),
                                           .flags = LP_PUT_REPLACE | LP_PUT_VERIFY,
                                           .codec = tensor->codec,
                                           .tag = "tag"};

    return lp_client_put(client, "t", &tensor->shape, tensor->data, &options, err);
}

/* A failed put leaves the old tensor, which an open handle reads on (or is told that its
 * connection was lost), and the next put works. */
static void put_at(lp_client *client, enum lp_fault_site site, const struct client_tensor *old,
                   const struct client_tensor *tensor)
{
    struct fault_loop loop;

    FAULT_LOOP(&loop, site) {
        struct lp_error err = {.struct_size = sizeof(err)};
        int rc;

        fault_disarm();
        client_put(client, "t", old, LP_PUT_REPLACE);
        fault_arm(&loop, site, loop.nth);
        rc = put_verified(client, tensor, &err);
        fault_disarm();
        if (fault_loop_hit(&loop)) {
            if (rc < 0)
                assert_failure(rc, &err);
            cr_assert_eq(put_verified(client, tensor, &err), 0, "%s", err.text);
        } else {
            cr_assert_eq(rc, 0, "%s", err.text);
        }
        client_check_name(client, "t", tensor);
    }
    if (site != LP_FAULT_MMAP || tensor->bytes > 8 << 20) /* else the spare arena is all it takes */
        cr_assert_gt(loop.nth, 1);
}

/* Parts of the daemon's memory that must be as before when all is done. */
static void assert_daemon_is_clean(struct wire *wire)
{
    wire_await(wire, "leases", 0);
    wire_await(wire, "unsealed", 0);
}

Test(client_fault, put_gives_everything_back)
{
    struct client_tensor old, tensor;
    struct client_env env;
    struct wire wire;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    wire_await(&wire, "ready", 1);
    client_tensor_init(&old, LP_DTYPE_F32, 100, 64, SAMPLES_NORMAL, 1);
    client_tensor_init(&tensor, LP_DTYPE_F32, 400, 64, SAMPLES_NORMAL, 2);
    for (size_t i = 0; i < SITES; i++) {
        put_at(env.client, sites[i], &old, &tensor);
        assert_daemon_is_clean(&wire);
    }
    wire_close(&wire);
    client_tensor_fini(&old);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* The same of what is forced into a codec and packed again as raw, one segment and two. */
Test(client_fault, repacking_gives_everything_back)
{
    struct client_tensor old, tensor, large;
    struct client_env env;
    struct wire wire;

    client_env_daemon(&env, (const char *const[]){"--pool-size=96MiB", NULL});
    wire_hello(&wire, &env.daemon);
    wire_await(&wire, "ready", 1);
    client_tensor_init(&old, LP_DTYPE_F32, 100, 64, SAMPLES_NORMAL, 1);
    client_tensor_init(&tensor, LP_DTYPE_U8, 200, 1024, SAMPLES_RANDOM, 2);
    client_tensor_init(&large, LP_DTYPE_U8, 9000, 1024, SAMPLES_RANDOM, 2);
    tensor.codec = large.codec = LP_CODEC_IBP;
    put_at(env.client, LP_FAULT_ALLOC, &old, &tensor);
    put_at(env.client, LP_FAULT_MMAP, &old, &large);
    assert_daemon_is_clean(&wire);
    client_tensor_fini(&large);
    wire_close(&wire);
    client_tensor_fini(&old);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* --- open and the rest -------------------------------------------------------------------------
 */

static void open_at(lp_client *client, enum lp_fault_site site, const struct client_tensor *tensor)
{
    const size_t fds = client_count_fds();
    const size_t maps = client_count_maps(false);
    struct fault_loop loop;

    FAULT_LOOP(&loop, site) {
        static const char *const names[] = {"t", "none", "t"};
        struct lp_error err = {.struct_size = sizeof(err)};
        lp_tensor *opened[3] = {NULL, NULL, NULL};
        int codes[3] = {0, 0, 0};
        const int rc = lp_client_open(client, names, 3, opened, codes, &err);
        const bool hit = fault_loop_hit(&loop);

        fault_disarm();
        if (!hit)
            cr_assert_eq(rc, LP_ENOENT);
        assert_failure(rc, &err);
        for (size_t i = 0; i < 3; i++) {
            cr_assert_eq(opened[i] != NULL && i == 1, false);
            if (opened[i] != NULL)
                client_check(opened[i], tensor);
            lp_tensor_close(opened[i]);
        }
        client_check_name(client, "t", tensor);
        cr_assert_eq(client_count_fds(), fds);
        cr_assert_eq(client_count_maps(false), maps);
    }
    cr_assert_gt(loop.nth, 1);
}

Test(client_fault, open_gives_everything_back)
{
    struct client_tensor tensor;
    struct client_env env;
    struct wire wire;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    client_tensor_init(&tensor, LP_DTYPE_F32, 400, 64, SAMPLES_NORMAL, 2);
    client_put(env.client, "t", &tensor, 0);
    lp_client *reader = client_connect(&env.daemon, 0, 0);
    for (size_t i = 0; i < SITES; i++)
        open_at(reader, sites[i], &tensor);
    wire_await(&wire, "leases", 0); /* none was lost on the way */
    lp_client_close(reader);
    wire_close(&wire);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

static int count_name(void *user, const char *name, const struct lp_tensor_info *info)
{
    (void)name;
    (void)info;
    ++*(int *)user;
    return 0;
}

/* exists, remove, list, info and call. */
static int ask(lp_client *client, int what, struct lp_error *err)
{
    struct lp_client_info info = {.struct_size = sizeof(info)};
    uint64_t removed = 9;
    uint8_t hit = 9;
    char *text = NULL;
    int names = 0;
    int rc;

    switch (what) {
    case 0:
        rc = lp_client_exists(client, name_t, 1, &hit, err);
        cr_assert_eq(hit, rc == 0 ? 1 : 9);
        return rc;
    case 1:
        rc = lp_client_list(client, NULL, count_name, &names, err);
        cr_assert_eq(names, rc == 0 ? 1 : 0);
        return rc;
    case 2:
        return lp_client_get_info(client, &info, err);
    case 3:
        rc = lp_client_call(client, "daemon.stats", NULL, &text, err);
        cr_assert_eq(text != NULL, rc == 0);
        lp_free(text);
        return rc;
    default:
        rc = lp_client_remove(client, (const char *const[]){"none"}, 1, &removed, err);
        cr_assert_eq(removed, rc == 0 ? 0 : 9);
        return rc;
    }
}

CLIENT_TEST(client_fault, questions_give_everything_back)
{
    struct client_tensor tensor;

    client_tensor_init(&tensor, LP_DTYPE_F32, 400, 64, SAMPLES_NORMAL, 2);
    client_put(env->client, "t", &tensor, 0);
    for (int k = 0; k < (int)SITES * 5; k++) {
        struct fault_loop loop;

        if (env->local && k % 5 == 3) /* there is nobody to call */
            continue;
        FAULT_LOOP(&loop, sites[k / 5]) {
            struct lp_error err = {.struct_size = sizeof(err)};
            const int rc = ask(env->client, k % 5, &err);

            if (fault_loop_hit(&loop)) {
                fault_disarm();
                if (rc < 0)
                    assert_failure(rc, &err);
                cr_assert_eq(ask(env->client, k % 5, &err), 0, "%s", err.text);
            } else {
                cr_assert_eq(rc, 0, "%s", err.text);
            }
        }
    }
    client_check_name(env->client, "t", &tensor);
    client_tensor_fini(&tensor);
}

/* When there is no memory for an answer the connection is kept, and with it what is open. */
Test(client_fault, want_of_memory_keeps_the_connection)
{
    struct client_tensor tensor;
    struct client_env env;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 400, 64, SAMPLES_NORMAL, 2);
    client_put(env.client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env.client, "t");
    for (int k = 0; k < 5; k++) {
        struct fault_loop loop;

        FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
            (void)ask(env.client, k, NULL);
        }
    }
    client_check(reader, &tensor);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}
