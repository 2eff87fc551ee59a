/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share one client: some gather with its workers, some open and close, some put,
 * replace and remove, one asks for everything else; and while they do, the daemon is killed and
 * started again. */
#include "base/atomic.h"
#include "tests/lib/client_env.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define READERS 3
#define OPENERS 2
#define WRITERS 2
#define THREADS (READERS + OPENERS + WRITERS + 1)
#define ROUNDS 20

struct shared {
    struct client_env env;
    struct client_tensor tensor;
    lp_tensor *reader; /* gathered from by all readers */
    uint32_t lost_ok;  /* atomic: the daemon may be gone */
};

struct worker {
    struct shared *shared;
    pthread_t thread;
    int number;
};

static bool is_fine(struct shared *shared, int rc)
{
    return rc >= 0 || (lp_atomic_load_acquire_u32(&shared->lost_ok) != 0 &&
                       (rc == LP_ECONN || rc == LP_ESTALE || rc == LP_ENOENT));
}

static void *read_rows(void *arg)
{
    struct worker *worker = arg;
    const struct client_tensor *tensor = &worker->shared->tensor;
    uint8_t *back = malloc(tensor->bytes);

    for (int i = 0; i < ROUNDS; i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        struct lp_gather gather;

        lp_options_init(&gather, sizeof(gather));
        gather.dst = back;
        gather.dst_bytes = tensor->bytes;
        gather.threads = (uint32_t)(i % 4);
        CHECK(lp_tensor_gather(worker->shared->reader, &gather, &err) == 0, "%s", err.text);
        CHECK(memcmp(back, tensor->data, tensor->bytes) == 0, "other bytes");
    }
    free(back);
    return NULL;
}

static void *open_and_close(void *arg)
{
    static const char *const names[] = {"t", "w0", "none", "w1"};
    struct worker *worker = arg;
    uint64_t row = 17;
    uint8_t back[512];

    for (int i = 0; i < ROUNDS; i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        lp_tensor *tensors[4] = {NULL, NULL, NULL, NULL};
        int codes[4];
        const int rc = lp_client_open(worker->shared->env.client, names, 4, tensors, codes, &err);

        CHECK(rc == LP_ENOENT || is_fine(worker->shared, rc), "%s", err.text);
        for (size_t k = 0; k < 4; k++) {
            if (tensors[k] != NULL)
                CHECK(lp_tensor_read(tensors[k], &row, 1, back, sizeof(back), &err) == 0 ||
                          err.code == LP_ESTALE,
                      "%s", err.text);
            lp_tensor_close(tensors[k]);
        }
    }
    return NULL;
}

static void *write_and_remove(void *arg)
{
    struct worker *worker = arg;
    struct shared *shared = worker->shared;
    const struct lp_put_options options = {.struct_size = sizeof(options),
                                           .flags = LP_PUT_REPLACE | LP_PUT_VERIFY};
    char name[8];
    const char *const names[] = {name};

    (void)snprintf(name, sizeof(name), "w%d", worker->number % WRITERS);
    for (int i = 0; i < ROUNDS / 2; i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        int rc = lp_client_put(shared->env.client, name, &shared->tensor.shape, shared->tensor.data,
                               &options, &err);

        CHECK(is_fine(shared, rc), "%s", err.text);
        rc = lp_client_remove(shared->env.client, names, 1, NULL, &err);
        CHECK(is_fine(shared, rc), "%s", err.text);
    }
    return NULL;
}

static int look(void *user, const char *name, const struct lp_tensor_info *info)
{
    (void)user;
    (void)info;
    return name[0] == '\0';
}

static void *ask_the_rest(void *arg)
{
    struct worker *worker = arg;
    static const char *const names[] = {"t", "w0"};
    lp_client *client = worker->shared->env.client;

    for (int i = 0; i < ROUNDS; i++) {
        struct lp_client_info info = {.struct_size = sizeof(info)};
        uint8_t hits[2];
        char *text = NULL;

        CHECK(is_fine(worker->shared, lp_client_exists(client, names, 2, hits, NULL)), "exists");
        CHECK(is_fine(worker->shared, lp_client_list(client, NULL, look, NULL, NULL)), "list");
        CHECK(is_fine(worker->shared, lp_client_get_info(client, &info, NULL)), "info");
        CHECK(is_fine(worker->shared, lp_client_call(client, "daemon.stats", NULL, &text, NULL)),
              "call");
        lp_free(text);
    }
    return NULL;
}

static void start_all(struct shared *shared, struct worker *workers)
{
    for (int i = 0; i < THREADS; i++) {
        void *(*const body)(void *) = i < READERS                       ? read_rows
                                      : i < READERS + OPENERS           ? open_and_close
                                      : i < READERS + OPENERS + WRITERS ? write_and_remove
                                                                        : ask_the_rest;

        workers[i] = (struct worker){.shared = shared, .number = i};
        CHECK(pthread_create(&workers[i].thread, NULL, body, &workers[i]) == 0, "no thread");
    }
}

static void join_all(struct worker *workers)
{
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0, "join");
}

int main(void)
{
    struct worker workers[THREADS];
    struct shared shared = {.lost_ok = 0};

    client_env_daemon(&shared.env, NULL);
    lp_client_close(shared.env.client);
    shared.env.client = client_connect(&shared.env.daemon, 3, 30000);
    client_tensor_init(&shared.tensor, LP_DTYPE_F32, 2000, 128, SAMPLES_NORMAL, 1);
    client_put(shared.env.client, "t", &shared.tensor, 0);
    shared.reader = client_open(shared.env.client, "t");
    start_all(&shared, workers);
    join_all(workers);

    lp_atomic_store_release_u32(&shared.lost_ok, 1);
    start_all(&shared, workers);
    (void)usleep(100000);
    spawn_kill(&shared.env.daemon);
    (void)usleep(50000);
    spawn_restart(&shared.env.daemon);
    join_all(workers);
    lp_tensor_close(shared.reader);
    client_tensor_fini(&shared.tensor);
    client_env_fini(&shared.env);
    return 0;
}
