/* SPDX-License-Identifier: Apache-2.0 */
/* Finding tensors by name: open, exists, remove and list of many, and across clients. */
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <string.h>

#define MANY 700 /* more than a page of a listing, and than a request */
#define NAME_BYTES 512

/* MANY long names in the order of bytes, so that answers need several lines. */
struct many {
    char text[MANY][NAME_BYTES + 1];
    const char *names[MANY];
    struct client_tensor tensor;
};

static struct many *put_many(lp_client *client)
{
    struct many *many = calloc(1, sizeof(*many));

    cr_assert_not_null(many);
    client_tensor_init(&many->tensor, LP_DTYPE_I32, 3, 5, SAMPLES_NORMAL, 1);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(many->text[i], 16, "many/%04zu", i);
        memset(many->text[i] + 9, '"', NAME_BYTES - 9); /* each takes two bytes in JSON */
        many->names[i] = many->text[i];
        client_put(client, many->names[i], &many->tensor, 0);
    }
    return many;
}

static void free_many(struct many *many)
{
    client_tensor_fini(&many->tensor);
    free(many);
}

/* --- list ------------------------------------------------------------------------------------ */

struct listing {
    const struct many *many;
    size_t n;
    size_t stop_at; /* 0: never */
};

static int list_next(void *user, const char *name, const struct lp_tensor_info *info)
{
    struct listing *listing = user;

    CHECK(strcmp(name, listing->many->names[listing->n]) == 0, "another order");
    CHECK(info->dtype == LP_DTYPE_I32 && info->n_rows == 3 && info->row_bytes == 20,
          "another info");
    CHECK(info->struct_size == sizeof(*info), "a struct of another size");
    listing->n++;
    return listing->n == listing->stop_at ? 7 : 0;
}

/* Names come in the order of bytes, page after page; the caller may stop, or begin with a prefix.
 */
CLIENT_TEST(client_names, lists_many)
{
    struct many *many = put_many(env->client);
    struct lp_error err = {.struct_size = sizeof(err)};
    struct listing listing = {many, 0, 0};

    client_put(env->client, "zzz", &many->tensor, 0);
    cr_assert_eq(lp_client_list(env->client, "many/", list_next, &listing, &err), 0, "%s",
                 err.text);
    cr_assert_eq(listing.n, MANY);
    listing = (struct listing){many, 0, 300};
    cr_assert_eq(lp_client_list(env->client, NULL, list_next, &listing, &err), 7);
    cr_assert_eq(listing.n, 300);
    listing = (struct listing){many, 100, 0};
    cr_assert_eq(lp_client_list(env->client, "many/01", list_next, &listing, &err), 0);
    cr_assert_eq(listing.n, 200);
    listing = (struct listing){many, 0, 0};
    cr_assert_eq(lp_client_list(env->client, "none", list_next, &listing, &err), 0);
    cr_assert_eq(listing.n, 0);
    cr_assert_eq(lp_client_list(env->client, "a\nb", list_next, &listing, &err), LP_ENAME);
    cr_assert_eq(lp_client_list(env->client, NULL, NULL, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_client_list(NULL, NULL, list_next, &listing, &err), LP_EINVAL);
    free_many(many);
}

static int remove_it(void *user, const char *name, const struct lp_tensor_info *info)
{
    const char *const names[] = {name};

    (void)info;
    CHECK(lp_client_remove(user, names, 1, NULL, NULL) == 0, "not removed");
    return 0;
}

/* A callback may use the client: here it takes away what is being listed. */
CLIENT_TEST(client_names, may_change_while_listed)
{
    struct many *many = put_many(env->client);
    struct listing listing = {many, 0, 0};

    cr_assert_eq(lp_client_list(env->client, NULL, remove_it, env->client, NULL), 0);
    cr_assert_eq(lp_client_list(env->client, NULL, list_next, &listing, NULL), 0);
    cr_assert_eq(listing.n, 0);
    free_many(many);
}

/* --- open, exists, remove -------------------------------------------------------------------- */

/* Many at once, some of which are not there: each has its own code. */
CLIENT_TEST(client_names, opens_many)
{
    struct many *many = put_many(env->client);
    struct lp_error err = {.struct_size = sizeof(err)};
    static lp_tensor *tensors[MANY];
    static int codes[MANY];
    static uint8_t hits[MANY];
    uint64_t removed = 0;

    for (size_t i = 0; i < MANY; i += 100) /* some that are not there */
        many->text[i][5] = 'x';
    cr_assert_eq(lp_client_open(env->client, many->names, MANY, tensors, codes, &err), LP_ENOENT);
    cr_assert_eq(strncmp(err.text, many->names[0], 80), 0);
    cr_assert_not_null(strstr(err.text, "no object"), "%s", err.text);
    cr_assert_eq(lp_client_exists(env->client, many->names, MANY, hits, NULL), 0);
    for (size_t i = 0; i < MANY; i++) {
        const bool there = i % 100 != 0;

        cr_assert_eq(codes[i], there ? 0 : LP_ENOENT, "%zu: %d", i, codes[i]);
        cr_assert_eq(tensors[i] != NULL, there);
        cr_assert_eq(hits[i], there);
        if (there)
            client_check(tensors[i], &many->tensor);
    }
    cr_assert_eq(lp_client_remove(env->client, many->names, MANY, &removed, &err), 0, "%s",
                 err.text);
    cr_assert_eq(removed, MANY - MANY / 100);
    for (size_t i = 0; i < MANY; i++) { /* open readers keep their bytes */
        if (tensors[i] != NULL)
            client_check(tensors[i], &many->tensor);
        lp_tensor_close(tensors[i]);
    }
    cr_assert_eq(lp_client_remove(env->client, many->names, MANY, &removed, &err), 0);
    cr_assert_eq(removed, 0);
    free_many(many);
}

/* With short lines an answer has no room for all that were asked for: the rest is asked for again.
 */
Test(client_names_apart, short_lines_bring_many_all_the_same)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    static lp_tensor *tensors[MANY];
    static int codes[MANY];
    struct client_env env;
    struct wire wire;

    client_env_daemon(&env, (const char *const[]){"--control-max-message=256KiB", NULL});
    wire_hello(&wire, &env.daemon);
    struct many *many = put_many(env.client);
    struct listing listing = {many, 0, 0};
    json_t *before = wire_call(&wire, "daemon.stats", NULL);
    cr_assert_eq(lp_client_open(env.client, many->names, MANY, tensors, codes, &err), 0, "%s",
                 err.text);
    json_t *after = wire_call(&wire, "daemon.stats", NULL);
    /* More requests than names alone would make. */
    cr_assert_gt(wire_number(after, "requests") - wire_number(before, "requests"), MANY / 256 + 2);
    json_decref(before);
    json_decref(after);
    wire_await(&wire, "leases", MANY);
    for (size_t i = 0; i < MANY; i++) {
        client_check(tensors[i], &many->tensor);
        lp_tensor_close(tensors[i]);
    }
    wire_await(&wire, "leases", 0);
    cr_assert_eq(lp_client_list(env.client, NULL, list_next, &listing, &err), 0, "%s", err.text);
    cr_assert_eq(listing.n, MANY);
    wire_close(&wire);
    free_many(many);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* Calls that make no sense, and names that cannot be, change nothing. */
CLIENT_TEST(client_names, refuses_bad_calls)
{
    static const char *const bad[] = {"good", "a\nb"};
    static const char *const null[] = {"good", NULL};
    struct lp_error err = {.struct_size = sizeof(err)};
    lp_tensor *tensors[2] = {(lp_tensor *)&err, (lp_tensor *)&err};
    uint8_t hits[2] = {9, 9};
    uint64_t removed = 9;
    int codes[2] = {9, 9};

    cr_assert_eq(lp_client_open(env->client, bad, 2, tensors, codes, &err), LP_ENAME);
    cr_assert_eq(lp_client_open(env->client, null, 2, tensors, codes, &err), LP_EINVAL);
    cr_assert_eq(lp_client_open(env->client, NULL, 2, tensors, codes, &err), LP_EINVAL);
    cr_assert_eq(lp_client_open(env->client, bad, 2, tensors, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_client_open(env->client, bad, 1, NULL, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_client_open(NULL, bad, 1, tensors, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_client_open(env->client, NULL, 0, NULL, NULL, &err), 0);
    cr_assert_eq(lp_client_exists(env->client, bad, 2, hits, &err), LP_ENAME);
    cr_assert_eq(lp_client_exists(env->client, bad, 1, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_client_exists(env->client, NULL, 0, NULL, &err), 0);
    cr_assert_eq(lp_client_remove(env->client, bad, 2, &removed, &err), LP_ENAME);
    cr_assert_eq(lp_client_remove(NULL, bad, 1, &removed, &err), LP_EINVAL);
    cr_assert_eq(tensors[0], (lp_tensor *)&err);
    cr_assert_eq(codes[0], 9);
    cr_assert_eq(hits[0], 9);
    cr_assert_eq(removed, 9);
}

/* Two clients of one daemon see each other's tensors, and none of another namespace. */
Test(client_names_apart, clients_share_and_namespaces_do_not)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct lp_connect_options options;
    struct client_tensor one, two;
    struct client_env env;
    lp_client *apart;

    client_env_daemon(&env, NULL);
    lp_client *other = client_connect(&env.daemon, 0, 0);
    lp_options_init(&options, sizeof(options));
    options.path = env.daemon.socket;
    options.name_space = "apart";
    options.app = "a name that is longer than what a daemon takes, and not of ASCII alone: "
                  "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü";
    cr_assert_eq(lp_client_connect(&options, &apart, &err), 0, "%s", err.text);
    client_tensor_init(&one, LP_DTYPE_F32, 100, 8, SAMPLES_NORMAL, 1);
    client_tensor_init(&two, LP_DTYPE_F32, 100, 8, SAMPLES_NORMAL, 2);
    client_put(env.client, "t", &one, 0);
    client_put(apart, "t", &two, 0);
    client_check_name(other, "t", &one);
    client_check_name(apart, "t", &two);
    cr_assert_eq(lp_client_remove(other, (const char *const[]){"t"}, 1, NULL, NULL), 0);
    lp_tensor *none;
    cr_assert_eq(lp_client_open(env.client, (const char *const[]){"t"}, 1, &none, NULL, &err),
                 LP_ENOENT);
    cr_assert_null(none);
    client_check_name(apart, "t", &two);
    lp_client_close(apart);
    lp_client_close(other);
    client_tensor_fini(&one);
    client_tensor_fini(&two);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}
