/* SPDX-License-Identifier: Apache-2.0 */
/* What the failure table promises: killed clients, killed daemons, cut connections, full pools, and
 * a client that writes where it no longer should. */
#include "base/clock.h"
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const name_t[] = {"t"};

static json_int_t status_number(struct wire *wire, const char *path)
{
    json_t *status = wire_call(wire, "daemon.status", NULL);
    const json_int_t number = wire_number(status, path);

    json_decref(status);
    return number;
}

/* --- a client is killed ------------------------------------------------------------------------
 */

/* Put with SIGKILL in the middle: after `rows` rows. Tells through the pipe when it is there. */
static _Noreturn void put_until_killed(const struct spawn *daemon,
                                       const struct client_tensor *tensor, uint64_t rows, int told)
{
    lp_client *client = client_connect(daemon, 0, 0);
    lp_writer *writer;

    client_put(client, "ephemeral", tensor, LP_PUT_EPHEMERAL);
    (void)client_open(client, "ephemeral");
    if (lp_writer_open(client, "half", &tensor->shape, NULL, &writer, NULL) != 0 ||
        lp_writer_append(writer, tensor->data, rows, NULL) != 0)
        _exit(1);
    (void)!write(told, "x", 1);
    for (;;)
        (void)pause();
}

/* All that a killed client held is back within a second; the pool is as it was. */
Test(client_fail, killed_client_leaves_nothing)
{
    static const uint64_t rows[] = {0, 1, 15999, 16000};
    struct client_tensor tensor;
    struct client_env env;
    struct wire wire;
    uint8_t hit = 9;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    wire_await(&wire, "ready", 1);
    const json_int_t used = status_number(&wire, "pool.used");
    client_tensor_init(&tensor, LP_DTYPE_F32, 16000, 192, SAMPLES_RANDOM, 1);
    tensor.codec = LP_CODEC_RAW;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int ends[2], status;
        char byte;

        cr_assert_eq(pipe(ends), 0);
        const pid_t child = fork();
        if (child == 0)
            put_until_killed(&env.daemon, &tensor, rows[i], ends[1]);
        (void)close(ends[1]);
        cr_assert_eq(read(ends[0], &byte, 1), 1);
        (void)close(ends[0]);
        cr_assert_gt(status_number(&wire, "pool.arena_bytes"), 0);
        const uint64_t start_ns = lp_clock_now_ns();
        cr_assert_eq(kill(child, SIGKILL), 0);
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status));
        wire_await(&wire, "pool.arena_bytes", 0);
        wire_await(&wire, "pool.used", used);
        wire_await(&wire, "unsealed", 0);
        wire_await(&wire, "leases", 0);
        cr_assert_lt(lp_clock_now_ns() - start_ns, LP_NS_PER_S);
        cr_assert_eq(lp_client_exists(env.client, (const char *const[]){"half"}, 1, &hit, NULL), 0);
        cr_assert_eq(hit, 0);
    }
    client_put(env.client, "half", &tensor, 0);
    client_check_name(env.client, "half", &tensor);
    wire_close(&wire);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* --- the daemon is killed ----------------------------------------------------------------------
 */

struct gathering {
    lp_tensor *tensor;
    const struct client_tensor *expected;
    uint32_t rounds; /* atomic */
    uint32_t stop;   /* atomic */
};

static void *gather_on(void *arg)
{
    struct gathering *gathering = arg;

    while (__atomic_load_n(&gathering->stop, __ATOMIC_ACQUIRE) == 0) {
        client_check(gathering->tensor, gathering->expected);
        (void)__atomic_add_fetch(&gathering->rounds, 1, __ATOMIC_ACQ_REL);
    }
    return NULL;
}

static void await_rounds(struct gathering *gathering, uint32_t more)
{
    const uint32_t from = __atomic_load_n(&gathering->rounds, __ATOMIC_ACQUIRE);

    while (__atomic_load_n(&gathering->rounds, __ATOMIC_ACQUIRE) < from + more)
        (void)usleep(1000);
}

/* A reader gets right bytes while its daemon is killed and after it; the next call says so; and
 * with a new daemon the same client goes on. */
Test(client_fail, killed_daemon_leaves_readers_alone)
{
    struct lp_client_info before = {.struct_size = sizeof(before)}, after = before;
    struct lp_error err = {.struct_size = sizeof(err)};
    struct gathering gathering = {0};
    struct client_tensor tensor;
    struct client_env env;
    pthread_t thread;
    lp_tensor *none = NULL;
    uint8_t hit = 9;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 9000, 128, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    cr_assert_eq(lp_client_get_info(env.client, &before, NULL), 0);
    gathering.tensor = client_open(env.client, "t");
    gathering.expected = &tensor;
    cr_assert_eq(pthread_create(&thread, NULL, gather_on, &gathering), 0);
    await_rounds(&gathering, 2);
    spawn_kill(&env.daemon);
    await_rounds(&gathering, 2);
    cr_assert_eq(lp_client_exists(env.client, name_t, 1, &hit, &err), LP_ECONN, "%s", err.text);
    cr_assert_eq(lp_client_open(env.client, name_t, 1, &none, NULL, &err), LP_ECONN);
    cr_assert_eq(lp_client_put(env.client, "u", &tensor.shape, tensor.data, NULL, &err), LP_ECONN);
    cr_assert_eq(hit, 9);
    await_rounds(&gathering, 2);

    spawn_restart(&env.daemon);
    cr_assert_eq(lp_client_open(env.client, name_t, 1, &none, NULL, &err), LP_ENOENT, "%s",
                 err.text);
    client_put(env.client, "u", &tensor, 0);
    client_check_name(env.client, "u", &tensor);
    await_rounds(&gathering, 2);
    __atomic_store_n(&gathering.stop, 1, __ATOMIC_RELEASE);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(lp_client_get_info(env.client, &after, NULL), 0);
    cr_assert_neq(before.epoch, after.epoch);
    lp_tensor_close(gathering.tensor);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* What was begun with a daemon that is gone can't be finished with the next one. */
Test(client_fail, restart_ends_writers)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct client_env env;
    lp_writer *writer, *early;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 24000, 128, SAMPLES_RANDOM, 1);
    tensor.codec = LP_CODEC_RAW;
    client_put(env.client, "t", &tensor, 0); /* leaves a spare arena, which the restart outdates */
    cr_assert_eq(lp_writer_open(env.client, "w", &tensor.shape, NULL, &writer, &err), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 18000, &err), 0, "%s", err.text);
    cr_assert_eq(lp_writer_open(env.client, "v", &tensor.shape, NULL, &early, &err), 0);
    cr_assert_eq(lp_writer_append(early, tensor.data, 1, &err), 0);
    spawn_kill(&env.daemon);
    spawn_restart(&env.daemon);
    cr_assert_eq(lp_writer_append(writer, tensor.data + 18000 * tensor.row_bytes, 6000, &err), 0,
                 "%s", err.text);
    cr_assert_eq(lp_writer_seal_take(writer, NULL, &err), LP_ECONN, "%s", err.text);
    /* One that had written nothing yet goes on. */
    cr_assert_eq(lp_writer_append(early, tensor.data + tensor.row_bytes, 23999, &err), 0, "%s",
                 err.text);
    cr_assert_eq(lp_writer_seal_take(early, NULL, &err), 0, "%s", err.text);
    client_check_name(env.client, "v", &tensor);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* --- a connection is cut -----------------------------------------------------------------------
 */

/* Shut the client's socket down: to the daemon it is gone. */
static void cut(const struct client_env *env)
{
    const size_t fds = client_count_fds() + 64;
    size_t n = 0;

    for (int fd = 3; fd < (int)fds; fd++) {
        struct sockaddr_un peer;
        socklen_t bytes = sizeof(peer);

        memset(&peer, 0, sizeof(peer));
        if (getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 && peer.sun_family == AF_UNIX &&
            strcmp(peer.sun_path, env->daemon.socket) == 0) {
            cr_assert_eq(shutdown(fd, SHUT_RDWR), 0);
            n++;
        }
    }
    cr_assert_eq(n, 1);
}

/* When the connection is lost and the daemon lives, its leases are gone: what was open says
 * LP_ESTALE from the next call on; the client itself goes on. */
Test(client_fail, cut_connection_makes_tensors_stale)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct client_env env;
    uint64_t row = 0;
    uint8_t back[512], hit = 9;
    lp_writer *writer;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 20000, 128, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env.client, "t");
    cr_assert_eq(lp_writer_open(env.client, "w", &tensor.shape, NULL, &writer, &err), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 20000, &err), 0, "%s", err.text);
    cut(&env);
    cr_assert_eq(lp_client_exists(env.client, name_t, 1, &hit, &err), 0, "%s", err.text);
    cr_assert_eq(hit, 1);
    cr_assert_eq(lp_tensor_read(reader, &row, 1, back, sizeof(back), &err), LP_ESTALE);
    cr_assert_not_null(strstr(err.text, "open it again"), "%s", err.text);
    cr_assert_eq(lp_tensor_register(reader, 0, NULL, &err), LP_ESTALE);
    cr_assert_eq(lp_writer_seal_take(writer, NULL, &err), LP_ESTALE, "%s", err.text);
    lp_tensor_close(reader);
    client_check_name(env.client, "t", &tensor);
    client_put(env.client, "w", &tensor, 0);
    client_check_name(env.client, "w", &tensor);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* The daemon closes on a line that is too long for it: said once, and then it works again. */
Test(client_fail, recovers_from_a_refused_line)
{
    const size_t bytes = 400000;
    struct lp_error err = {.struct_size = sizeof(err)};
    char *params = malloc(bytes + 64), *text = NULL;
    struct client_env env;

    client_env_daemon(&env, (const char *const[]){"--control-max-message=256KiB", NULL});
    (void)snprintf(params, 64, "{\"prefix\":\"");
    memset(params + 11, 'x', bytes);
    memcpy(params + 11 + bytes, "\"}", 3);
    cr_assert_eq(lp_client_call(env.client, "object.list", params, &text, &err), LP_ESIZE, "%s",
                 err.text);
    cr_assert_eq(lp_client_call(env.client, "daemon.status", NULL, &text, &err), 0, "%s", err.text);
    lp_free(text);
    free(params);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* --- a full pool -------------------------------------------------------------------------------
 */

/* A tensor that does not fit gets need and have, and the pool is as before. */
Test(client_fail, full_pool_is_told)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    const struct lp_put_options raw = {.struct_size = sizeof(raw), .codec = LP_CODEC_RAW};
    struct client_tensor small, large;
    struct client_env env;
    struct wire wire;

    client_env_daemon(&env, NULL);
    lp_client_close(env.client);
    env.client = client_connect(&env.daemon, 0, 1000); /* as long it waits for room */
    wire_hello(&wire, &env.daemon);
    wire_await(&wire, "ready", 1);
    client_tensor_init(&small, LP_DTYPE_F32, 1000, 256, SAMPLES_NORMAL, 1);
    client_tensor_init(&large, LP_DTYPE_F32, 75000, 256, SAMPLES_RANDOM, 1);
    client_put(env.client, "t", &small, 0);
    const json_int_t used = status_number(&wire, "pool.used");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(lp_client_put(env.client, "large", &large.shape, large.data, &raw, &err),
                     LP_ENOSPC, "%s", err.text);
        cr_assert_not_null(strstr(err.text, "put large"), "%s", err.text);
        cr_assert_not_null(strstr(err.text, "need"), "%s", err.text);
        cr_assert_not_null(strstr(err.text, "have"), "%s", err.text);
        wire_await(&wire, "pool.used", used);
        wire_await(&wire, "unsealed", 0);
        wire_await(&wire, "pool.arena_bytes", 8 << 20); /* the spare one */
    }
    client_check_name(env.client, "t", &small);
    client_put(env.client, "more", &small, 0);
    client_check_name(env.client, "more", &small);
    wire_close(&wire);
    client_tensor_fini(&small);
    client_tensor_fini(&large);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* In a store of this process, too. */
Test(client_fail, full_store_is_told)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    const struct lp_put_options raw = {.struct_size = sizeof(raw), .codec = LP_CODEC_RAW};
    struct client_tensor small, large;
    struct client_env env;

    client_env_local(&env);
    client_tensor_init(&small, LP_DTYPE_F32, 1000, 256, SAMPLES_NORMAL, 1);
    client_tensor_init(&large, LP_DTYPE_F32, 110000, 256, SAMPLES_RANDOM, 1);
    client_put(env.client, "t", &small, 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(lp_client_put(env.client, "large", &large.shape, large.data, &raw, &err),
                     LP_ENOSPC, "%s", err.text);
        client_check_name(env.client, "t", &small);
    }
    client_put(env.client, "more", &small, 0);
    client_check_name(env.client, "more", &small);
    client_tensor_fini(&small);
    client_tensor_fini(&large);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* --- a client writes its arena after the seal --------------------------------------------------
 */

/* The copy was checked and is out of reach; an adopted arena takes no write. */
CLIENT_TEST(client_fail, scribbled_arena_harms_nobody)
{
    struct client_tensor tensor;
    size_t bytes;

    client_tensor_init(&tensor, LP_DTYPE_F32, 4000, 128, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env->client, "t");
    uint8_t *arena = client_find_arena(0, &bytes);
    if (env->local) { /* a store in this process maps all of its chunks: only the daemon can hide */
        lp_tensor_close(reader);
        client_tensor_fini(&tensor);
        return;
    }
    cr_assert_not_null(arena);
    cr_assert_eq(bytes, 8 << 20);
    memset(arena, 0xff, bytes);
    client_check(reader, &tensor);
    client_check_name(env->client, "t", &tensor);
    lp_tensor_close(reader);
    client_put(env->client, "u", &tensor, 0); /* and the arena still serves its owner */
    client_check_name(env->client, "u", &tensor);
    client_tensor_fini(&tensor);
}

/* Bytes that are spoilt before the daemon looks are found by it, and stay unseen. */
Test(client_fail, spoilt_arena_is_refused)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct client_env env;
    lp_writer *writer;
    size_t bytes;
    uint8_t hit = 9;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 4000, 128, SAMPLES_NORMAL, 1);
    cr_assert_eq(lp_writer_open(env.client, "t", &tensor.shape, NULL, &writer, &err), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 4000, &err), 0);
    uint8_t *arena = client_find_arena(0, &bytes);
    cr_assert_not_null(arena);
    arena[100000] ^= 1;
    cr_assert_eq(lp_writer_seal_take(writer, NULL, &err), LP_ECORRUPT, "%s", err.text);
    cr_assert_eq(lp_client_exists(env.client, name_t, 1, &hit, &err), 0);
    cr_assert_eq(hit, 0);
    client_put(env.client, "t", &tensor, 0);
    client_check_name(env.client, "t", &tensor);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}
