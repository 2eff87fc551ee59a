/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/client_env.h"

#include "codec/shape.h"

#include <dirent.h>
#include <string.h>

static void open_client(const char *path, uint32_t workers, uint32_t timeout_ms,
                        lp_client **ret_client)
{
    struct lp_connect_options options;
    struct lp_error err = {.struct_size = sizeof(err)};

    lp_options_init(&options, sizeof(options));
    options.path = path;
    options.workers = workers;
    options.timeout_ns = timeout_ms * UINT64_C(1000000);
    options.local_bytes = UINT64_C(96) << 20;
    CHECK(lp_client_connect(&options, ret_client, &err) == 0, "%s", err.text);
}

void client_env_local(struct client_env *env)
{
    memset(env, 0, sizeof(*env));
    env->local = true;
    open_client("local:", 0, 0, &env->client);
}

void client_env_daemon(struct client_env *env, const char *const *flags)
{
    memset(env, 0, sizeof(*env));
    spawn_start(&env->daemon, flags);
    open_client(env->daemon.socket, 0, 0, &env->client);
}

void client_env_fini(struct client_env *env)
{
    lp_client_close(env->client);
    if (!env->local)
        spawn_end(&env->daemon);
}

lp_client *client_connect(const struct spawn *daemon, uint32_t workers, uint32_t timeout_ms)
{
    lp_client *client;

    open_client(daemon->socket, workers, timeout_ms, &client);
    return client;
}

/* --- tensors --- */

void client_tensor_init(struct client_tensor *tensor, uint32_t dtype, int64_t rows, int64_t columns,
                        enum samples_kind kind, uint64_t seed)
{
    const uint64_t n = (uint64_t)rows * (columns != 0 ? (uint64_t)columns : 1);
    const uint32_t elem_bytes = lp_codec_dtype_info(dtype)->bytes;

    memset(tensor, 0, sizeof(*tensor));
    tensor->shape = (struct lp_shape){.struct_size = sizeof(tensor->shape),
                                      .dtype = dtype,
                                      .ndim = columns != 0 ? 2 : 1,
                                      .dims = {rows, columns}};
    tensor->n_rows = (uint64_t)rows;
    tensor->row_bytes = (columns != 0 ? (uint64_t)columns : 1) * elem_bytes;
    tensor->bytes = n * elem_bytes;
    tensor->data = malloc(tensor->bytes + 1);
    CHECK(tensor->data != NULL, "no memory");
    samples_fill(kind, dtype, n, seed, tensor->data);
}

void client_tensor_fini(struct client_tensor *tensor)
{
    free(tensor->data);
    tensor->data = NULL;
}

void client_put(lp_client *client, const char *name, const struct client_tensor *tensor,
                uint32_t flags)
{
    struct lp_put_options options;
    struct lp_error err = {.struct_size = sizeof(err)};

    lp_options_init(&options, sizeof(options));
    options.flags = flags;
    options.codec = tensor->codec;
    CHECK(lp_client_put(client, name, &tensor->shape, tensor->data, &options, &err) == 0, "%s",
          err.text);
}

lp_tensor *client_open(lp_client *client, const char *name)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    lp_tensor *tensor;

    CHECK(lp_client_open(client, &name, 1, &tensor, NULL, &err) == 0, "%s", err.text);
    return tensor;
}

#define SOME_ROWS 100u

void client_check(lp_tensor *tensor, const struct client_tensor *expected)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    uint8_t *back = malloc(expected->bytes + SOME_ROWS * expected->row_bytes + 1);
    uint64_t rows[SOME_ROWS];
    uint64_t state = 7;

    CHECK(back != NULL, "no memory");
    CHECK(lp_tensor_read(tensor, NULL, 0, back, expected->bytes, &err) == 0, "%s", err.text);
    CHECK(memcmp(back, expected->data, expected->bytes) == 0, "other bytes came back");
    for (size_t i = 0; expected->n_rows != 0 && i < SOME_ROWS; i++)
        rows[i] = samples_next(&state) % expected->n_rows;
    if (expected->n_rows != 0)
        CHECK(lp_tensor_read(tensor, rows, SOME_ROWS, back, SOME_ROWS * expected->row_bytes,
                             &err) == 0,
              "%s", err.text);
    for (size_t i = 0; expected->n_rows != 0 && i < SOME_ROWS; i++)
        CHECK(memcmp(back + i * expected->row_bytes, expected->data + rows[i] * expected->row_bytes,
                     expected->row_bytes) == 0,
              "row %llu came back otherwise", (unsigned long long)rows[i]);
    free(back);
}

void client_check_name(lp_client *client, const char *name, const struct client_tensor *expected)
{
    lp_tensor *tensor = client_open(client, name);

    client_check(tensor, expected);
    lp_tensor_close(tensor);
}

/* --- what this process holds --- */

size_t client_count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;

    CHECK(folder != NULL, "no /proc/self/fd");
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

/* A line of /proc/self/maps that is a chunk's, as wanted. */
static bool is_chunk(const char *line, bool writable)
{
    return strstr(line, "lanepack-chunk") != NULL && (!writable || strstr(line, " rw-s ") != NULL);
}

size_t client_count_maps(bool writable)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    size_t n = 0;

    CHECK(file != NULL, "no /proc/self/maps");
    while (fgets(line, sizeof(line), file) != NULL)
        n += is_chunk(line, writable);
    (void)fclose(file);
    return n;
}

uint8_t *client_find_arena(size_t n, size_t *ret_bytes)
{
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned long from = 0, to = 0;
    char line[512];
    bool found = false;

    CHECK(file != NULL, "no /proc/self/maps");
    while (!found && fgets(line, sizeof(line), file) != NULL)
        found = is_chunk(line, true) && n-- == 0 && sscanf(line, "%lx-%lx", &from, &to) == 2;
    (void)fclose(file);
    if (!found)
        return NULL;
    *ret_bytes = to - from;
    return (uint8_t *)(uintptr_t)from; /* a map of this process */
}
