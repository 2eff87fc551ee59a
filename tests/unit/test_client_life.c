/* SPDX-License-Identifier: Apache-2.0 */
/* Handles over time: closed in any order, inherited by a child, used ten thousand times, and across
 * deadlines that pass. */
#include "base/clock.h"
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const name_t[] = {"t"};

/* Clients, tensors and writers may be closed in any order; what is open reads on. */
CLIENT_TEST(client_life, closes_in_any_order)
{
    struct client_tensor tensor;
    const size_t fds = client_count_fds();

    client_tensor_init(&tensor, LP_DTYPE_F32, 4000, 64, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    lp_tensor *one = client_open(env->client, "t");
    lp_tensor *two = client_open(env->client, "t");
    lp_writer *writer, *other;
    cr_assert_eq(lp_writer_open(env->client, "w", &tensor.shape, NULL, &writer, NULL), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 1000, NULL), 0);
    cr_assert_eq(lp_writer_open(env->client, "v", &tensor.shape, NULL, &other, NULL), 0);
    lp_client_close(env->client);
    env->client = NULL;
    client_check(one, &tensor);
    lp_tensor_close(one);
    cr_assert_eq(lp_writer_append(writer, tensor.data + 1000 * tensor.row_bytes, 3000, NULL), 0);
    cr_assert_eq(lp_writer_seal_take(writer, NULL, NULL), 0);
    client_check(two, &tensor);
    lp_tensor_close(two);
    lp_writer_abort_take(other);
    cr_assert_eq(client_count_maps(false), 0);
    if (!env->local) /* what a store in this process had is gone, too */
        cr_assert_lt(client_count_fds(), fds);
    client_tensor_fini(&tensor);
}

/* --- growth ------------------------------------------------------------------------------------
 */

static size_t resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%*s %lu", &pages), 1);
    (void)fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* Sanitizers keep freed memory for a while. */
#ifdef LP_TESTS_HAVE_LSAN
#define GROWTH_KIB (256 << 10)
#else
#define GROWTH_KIB 1024
#endif

/* Ten thousand opens and closes leave nothing behind on either side. */
Test(client_life_long, opens_without_growth)
{
    struct client_tensor tensor;
    struct client_env env;
    struct wire wire;
    size_t fds = 0, daemon_fds = 0, kib = 0, daemon_kib = 0;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    client_tensor_init(&tensor, LP_DTYPE_F32, 40, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    for (int i = 0; i < 10000; i++) {
        lp_tensor_close(client_open(env.client, "t"));
        if (i == 1000) {
            fds = client_count_fds();
            daemon_fds = spawn_count_fds(&env.daemon);
            kib = resident_kib();
            daemon_kib = spawn_anonymous_kib(&env.daemon);
        }
    }
    cr_assert_eq(client_count_fds(), fds);
    cr_assert_eq(spawn_count_fds(&env.daemon), daemon_fds);
    cr_assert_eq(client_count_maps(false), 1); /* the spare arena */
    cr_assert_leq(resident_kib(), kib + GROWTH_KIB);
    cr_assert_leq(spawn_anonymous_kib(&env.daemon), daemon_kib + GROWTH_KIB);
    wire_await(&wire, "leases", 0);
    client_check_name(env.client, "t", &tensor);
    wire_close(&wire);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* Put and remove, again and again: neither pool nor arenas run dry. */
Test(client_life_long, puts_without_growth)
{
    struct client_tensor tensor;
    struct client_env env;
    struct wire wire;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    client_tensor_init(&tensor, LP_DTYPE_F32, 20000, 128, SAMPLES_RANDOM, 1);
    tensor.codec = LP_CODEC_RAW;
    for (int i = 0; i < 8; i++) { /* each takes two chunks of eight */
        client_put(env.client, "t", &tensor, 0);
        cr_assert_eq(lp_client_remove(env.client, name_t, 1, NULL, NULL), 0);
    }
    for (int i = 0; i < 8; i++)
        client_put(env.client, "t", &tensor, LP_PUT_REPLACE);
    client_check_name(env.client, "t", &tensor);
    cr_assert_eq(lp_client_remove(env.client, name_t, 1, NULL, NULL), 0);
    wire_await(&wire, "pool.used", 0);
    wire_close(&wire);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* --- fork --------------------------------------------------------------------------------------
 */

#define CHILD_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "child, line %d: %s\n", __LINE__, #condition);                   \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* In the child: every handle says LP_EFORK, closing them is fine, and a new client works. */
static _Noreturn void be_child(struct client_env *env, lp_tensor *reader, lp_writer *writer,
                               const struct client_tensor *tensor)
{
    struct lp_client_info info = {.struct_size = sizeof(info)};
    struct lp_error err = {.struct_size = sizeof(err)};
    uint64_t row = 0;
    uint8_t back[256], hit;
    lp_tensor *none = NULL;
    char *text = NULL;

    CHILD_CHECK(lp_tensor_read(reader, &row, 1, back, sizeof(back), &err) == LP_EFORK);
    CHILD_CHECK(strstr(err.text, "fork") != NULL);
    CHILD_CHECK(lp_client_open(env->client, name_t, 1, &none, NULL, &err) == LP_EFORK);
    CHILD_CHECK(lp_client_exists(env->client, name_t, 1, &hit, &err) == LP_EFORK);
    CHILD_CHECK(lp_client_get_info(env->client, &info, &err) == LP_EFORK);
    CHILD_CHECK(lp_client_call(env->client, "daemon.status", NULL, &text, &err) == LP_EFORK);
    CHILD_CHECK(lp_client_put(env->client, "u", &tensor->shape, tensor->data, NULL, &err) ==
                LP_EFORK);
    CHILD_CHECK(lp_writer_append(writer, tensor->data, 1, &err) == LP_EFORK);
    CHILD_CHECK(lp_tensor_register(reader, 0, NULL, &err) == LP_EFORK);
    CHILD_CHECK(lp_writer_seal_take(writer, NULL, &err) == LP_EFORK);
    lp_client_close(env->client);
    lp_tensor_close(reader);
    lp_client *client = client_connect(&env->daemon, 2, 0);
    client_check_name(client, "t", tensor);
    lp_client_close(client);
    CHILD_CHECK(client_count_maps(false) == 0);
    _exit(0);
}

/* A child of fork() uses nothing of its parent's, harms nothing of it, and connects anew. */
Test(client_life_fork, child_connects_anew)
{
    struct client_tensor tensor;
    struct client_env env;
    lp_writer *writer;
    int status;

    client_env_daemon(&env, NULL);
    lp_client_close(env.client);
    env.client = client_connect(&env.daemon, 3, 0); /* with workers, which a child does not have */
    client_tensor_init(&tensor, LP_DTYPE_F32, 4000, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env.client, "t");
    cr_assert_eq(lp_writer_open(env.client, "w", &tensor.shape, NULL, &writer, NULL), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 1000, NULL), 0);
    const pid_t child = fork();
    if (child == 0)
        be_child(&env, reader, writer, &tensor);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    client_check(reader, &tensor);
    cr_assert_eq(lp_writer_append(writer, tensor.data + 1000 * tensor.row_bytes, 3000, NULL), 0);
    cr_assert_eq(lp_writer_seal_take(writer, NULL, NULL), 0);
    client_check_name(env.client, "w", &tensor);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* --- deadlines ---------------------------------------------------------------------------------
 */

#define TIMEOUT_MS 400u

static void stop_daemon(const struct client_env *env)
{
    int status;

    cr_assert_eq(kill(env->daemon.pid, SIGSTOP), 0);
    cr_assert_eq(waitpid(env->daemon.pid, &status, WUNTRACED), env->daemon.pid);
    cr_assert(WIFSTOPPED(status));
}

static void go_on(const struct client_env *env)
{
    cr_assert_eq(kill(env->daemon.pid, SIGCONT), 0);
}

/* Ran from start_ns until now; about TIMEOUT_MS, and no multiple of it. */
static void assert_waited(uint64_t start_ns)
{
    const uint64_t waited_ms = (lp_clock_now_ns() - start_ns) / LP_NS_PER_MS;

    cr_assert_geq(waited_ms, TIMEOUT_MS - 5);
    cr_assert_lt(waited_ms, 2 * TIMEOUT_MS - 50, "%llu ms", (unsigned long long)waited_ms);
}

/* A daemon that does not answer costs each call its deadline, no more; mapped rows read on. */
Test(client_life_deadline, ends_calls_to_a_stopped_daemon)
{
    struct lp_client_info info = {.struct_size = sizeof(info)};
    struct lp_error err = {.struct_size = sizeof(err)};
    struct lp_connect_options options;
    struct client_tensor tensor;
    struct client_env env;
    lp_client *none = NULL;
    lp_tensor *opened = NULL;
    uint64_t start_ns;

    client_env_daemon(&env, NULL);
    lp_client *client = client_connect(&env.daemon, 0, TIMEOUT_MS);
    client_tensor_init(&tensor, LP_DTYPE_F32, 4000, 64, SAMPLES_NORMAL, 1);
    client_put(client, "t", &tensor, 0);
    lp_tensor *reader = client_open(client, "t");
    stop_daemon(&env);
    start_ns = lp_clock_now_ns();
    cr_assert_eq(lp_client_get_info(client, &info, &err), LP_ETIMEDOUT, "%s", err.text);
    assert_waited(start_ns);
    start_ns = lp_clock_now_ns();
    cr_assert_eq(lp_client_open(client, name_t, 1, &opened, NULL, &err), LP_ETIMEDOUT);
    assert_waited(start_ns);
    start_ns = lp_clock_now_ns();
    cr_assert_eq(lp_client_put(client, "u", &tensor.shape, tensor.data, NULL, &err), LP_ETIMEDOUT);
    assert_waited(start_ns);
    lp_options_init(&options, sizeof(options));
    options.path = env.daemon.socket;
    options.timeout_ns = TIMEOUT_MS * LP_NS_PER_MS;
    start_ns = lp_clock_now_ns();
    cr_assert_eq(lp_client_connect(&options, &none, &err), LP_ETIMEDOUT);
    assert_waited(start_ns);
    client_check(reader, &tensor);
    go_on(&env);
    client_check_name(client, "t", &tensor);
    client_put(client, "u", &tensor, 0);
    client_check(reader, &tensor);
    lp_tensor_close(reader);
    lp_client_close(client);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* What late answers hand out (leases, an arena, a name) is given back by the next call. */
Test(client_life_deadline, gives_back_what_came_late)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    static const char *const names[] = {"t", "t", "t", "u"};
    struct client_tensor tensor;
    lp_tensor *opened[4];
    struct client_env env;
    struct wire wire;
    int codes[4];
    lp_writer *writer;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    wire_await(&wire, "ready", 1);
    lp_client *client = client_connect(&env.daemon, 0, TIMEOUT_MS);
    client_tensor_init(&tensor, LP_DTYPE_F32, 4000, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    cr_assert_eq(lp_writer_open(client, "w", &tensor.shape, NULL, &writer, &err), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 3999, &err), 0);
    json_t *status = wire_call(&wire, "daemon.status", NULL);
    const json_int_t arena_bytes = wire_number(status, "pool.arena_bytes");
    json_decref(status);

    stop_daemon(&env);
    cr_assert_eq(lp_client_open(client, names, 4, opened, codes, &err), LP_ETIMEDOUT);
    /* The first arena is asked for by the last row. */
    cr_assert_eq(lp_writer_append(writer, tensor.data, 1, &err), LP_ETIMEDOUT, "%s", err.text);
    go_on(&env);
    lp_writer_abort_take(writer);
    wire_await(&wire, "leases", 3); /* it took what nobody waits for */
    cr_assert_eq(lp_client_open(client, name_t, 1, opened, NULL, &err), 0, "%s", err.text);
    lp_tensor_close(opened[0]);
    cr_assert_eq(lp_client_open(client, name_t, 1, opened, NULL, &err), 0, "%s", err.text);
    wire_await(&wire, "leases", 1);
    lp_tensor_close(opened[0]);
    wire_await(&wire, "leases", 0);
    wire_await(&wire, "pool.arena_bytes", arena_bytes);
    client_put(client, "w", &tensor, 0);
    client_check_name(client, "w", &tensor);
    lp_client_close(client);
    wire_close(&wire);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

static void *go_on_soon(void *arg)
{
    (void)usleep(TIMEOUT_MS * 1000 / 3);
    go_on(arg);
    return NULL;
}

/* A late answer and one with a descriptor may arrive together: each has its own. */
Test(client_life_deadline, keeps_descriptors_with_their_answer)
{
    struct lp_client_info info = {.struct_size = sizeof(info)};
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct client_env env;
    pthread_t thread;
    lp_writer *writer;

    client_env_daemon(&env, NULL);
    lp_client *client = client_connect(&env.daemon, 0, TIMEOUT_MS);
    client_tensor_init(&tensor, LP_DTYPE_F32, 4000, 64, SAMPLES_NORMAL, 1);
    cr_assert_eq(lp_writer_open(client, "t", &tensor.shape, NULL, &writer, &err), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 3999, &err), 0);
    stop_daemon(&env);
    cr_assert_eq(lp_client_get_info(client, &info, &err), LP_ETIMEDOUT);
    cr_assert_eq(pthread_create(&thread, NULL, go_on_soon, &env), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data + 3999 * tensor.row_bytes, 1, &err), 0, "%s",
                 err.text);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(lp_writer_seal_take(writer, NULL, &err), 0, "%s", err.text);
    client_check_name(client, "t", &tensor);
    lp_client_close(client);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* A seal that is not answered in time: the writer ends at its deadline, and the name stays usable.
 */
Test(client_life_deadline, ends_a_seal)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct lp_put_options options;
    struct client_tensor tensor;
    struct client_env env;
    struct wire wire;
    lp_writer *writer;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    wire_await(&wire, "ready", 1);
    wire_close(&wire);
    lp_client *client = client_connect(&env.daemon, 0, 0);
    client_tensor_init(&tensor, LP_DTYPE_F32, 20000, 128, SAMPLES_NORMAL, 1);
    lp_options_init(&options, sizeof(options));
    options.deadline_ns = TIMEOUT_MS * LP_NS_PER_MS;
    options.flags = LP_PUT_REPLACE;
    cr_assert_eq(lp_writer_open(client, "t", &tensor.shape, &options, &writer, &err), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 20000, &err), 0, "%s", err.text);
    stop_daemon(&env);
    const uint64_t start_ns = lp_clock_now_ns();
    cr_assert_eq(lp_writer_seal_take(writer, NULL, &err), LP_ETIMEDOUT, "%s", err.text);
    assert_waited(start_ns);
    go_on(&env);
    client_put(client, "t", &tensor, LP_PUT_REPLACE);
    client_check_name(client, "t", &tensor);
    lp_client_close(client);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

static void *ask_and_wait(void *arg)
{
    struct lp_client_info info = {.struct_size = sizeof(info)};
    const uint64_t start_ns = lp_clock_now_ns();

    CHECK(lp_client_get_info(arg, &info, NULL) == LP_ETIMEDOUT, "another answer");
    CHECK(lp_clock_now_ns() - start_ns < (2 * TIMEOUT_MS - 50) * LP_NS_PER_MS, "waited twice");
    return NULL;
}

/* Threads that wait for each other's calls on one client end at their own deadlines. */
Test(client_life_deadline, ends_waits_for_other_threads)
{
    struct client_env env;
    pthread_t threads[4];

    client_env_daemon(&env, NULL);
    lp_client *client = client_connect(&env.daemon, 0, TIMEOUT_MS);
    stop_daemon(&env);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, ask_and_wait, client), 0);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    go_on(&env);
    lp_client_close(client);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}
