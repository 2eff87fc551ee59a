/* SPDX-License-Identifier: Apache-2.0 */
/* A client and what is behind it, a daemon of its own or "local:", and tensors to put and to find
 * again. Everything here ends the test (with what went wrong) when it fails, unless it says
 * otherwise. */
#ifndef LP_TESTS_CLIENT_ENV_H
#define LP_TESTS_CLIENT_ENV_H

#include "lanepack/lanepack.h"
#include "tests/lib/samples.h"
#include "tests/lib/spawn.h"

struct client_env {
    bool local;
    struct spawn daemon; /* not used when local */
    lp_client *client;
};

/* A store of 96 MiB in chunks of 32 MiB, or a daemon of 64 MiB in chunks of 8 MiB; connected. */
void client_env_local(struct client_env *env);
void client_env_daemon(struct client_env *env, const char *const *flags);

/* Close the client, unless it is NULL, and end the daemon, which must end with 0. */
void client_env_fini(struct client_env *env);

/* Test `name` of suites `suite_local` and `suite_daemon`, with the same body:
 *
 *     CLIENT_TEST(client_put, says_why) { lp_client_put(env->client, ...); } */
#define CLIENT_TEST(suite, name)                                                                   \
    static void name(struct client_env *env);                                                      \
    Test(suite##_local, name)                                                                      \
    {                                                                                              \
        struct client_env env;                                                                     \
                                                                                                   \
        client_env_local(&env);                                                                    \
        name(&env);                                                                                \
        client_env_fini(&env);                                                                     \
        ASSERT_NO_LEAK();                                                                          \
    }                                                                                              \
    Test(suite##_daemon, name)                                                                     \
    {                                                                                              \
        struct client_env env;                                                                     \
                                                                                                   \
        client_env_daemon(&env, NULL);                                                             \
        name(&env);                                                                                \
        client_env_fini(&env);                                                                     \
        ASSERT_NO_LEAK();                                                                          \
    }                                                                                              \
    static void name(struct client_env *env)

/* Another client of the same daemon. timeout_ms 0: the default. */
lp_client *client_connect(const struct spawn *daemon, uint32_t workers, uint32_t timeout_ms);

/* A tensor in memory, rows x columns (columns 0: one dimension). */
struct client_tensor {
    struct lp_shape shape;
    uint32_t codec; /* that client_put() asks for; 0: auto, which takes its time to choose */
    uint8_t *data;  /* owned */
    uint64_t bytes, n_rows, row_bytes;
};
void client_tensor_init(struct client_tensor *tensor, uint32_t dtype, int64_t rows, int64_t columns,
                        enum samples_kind kind, uint64_t seed);
void client_tensor_fini(struct client_tensor *tensor);

/* Put it; flags of enum lp_put_flag. */
void client_put(lp_client *client, const char *name, const struct client_tensor *tensor,
                uint32_t flags);

/* Open one tensor. */
lp_tensor *client_open(lp_client *client, const char *name);

/* All rows, and rows by number, must be those of expected. */
void client_check(lp_tensor *tensor, const struct client_tensor *expected);

/* Open, check, close. */
void client_check_name(lp_client *client, const char *name, const struct client_tensor *expected);

/* What this process has open, and maps of chunks; writable ones alone on request. */
size_t client_count_fds(void);
size_t client_count_maps(bool writable);

/* The start of the n-th writable map of a chunk (from 0), and its bytes; NULL when there is none.
 */
uint8_t *client_find_arena(size_t n, size_t *ret_bytes);

#endif
