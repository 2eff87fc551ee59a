/* SPDX-License-Identifier: Apache-2.0 */
/* Reading rows: by number and in order, by this thread and by workers, and what a bad call gets. */
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <limits.h>
#include <pthread.h>
#include <string.h>

#define ROWS 4000
#define COLUMNS 100 /* records do not end with rows */
#define N 3000

struct numbers {
    int64_t wide[N];
    int32_t narrow[N];
};

static void random_rows(struct numbers *numbers, uint64_t n_rows, uint64_t seed)
{
    for (size_t i = 0; i < N; i++) {
        numbers->wide[i] = (int64_t)(samples_next(&seed) % n_rows);
        if (i % 7 == 1)
            numbers->wide[i] = numbers->wide[i - 1]; /* repeats */
        numbers->narrow[i] = (int32_t)numbers->wide[i];
    }
}

static struct lp_gather gather_of(const void *rows, uint32_t index_bytes, uint64_t n_rows,
                                  void *dst, uint64_t dst_bytes)
{
    struct lp_gather gather;

    lp_options_init(&gather, sizeof(gather));
    gather.rows = rows;
    gather.index_bytes = index_bytes;
    gather.n_rows = n_rows;
    gather.dst = dst;
    gather.dst_bytes = dst_bytes;
    return gather;
}

static void assert_rows(const struct client_tensor *tensor, const int64_t *rows, size_t n,
                        const uint8_t *back)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(memcmp(back + i * tensor->row_bytes,
                            tensor->data + (uint64_t)rows[i] * tensor->row_bytes,
                            tensor->row_bytes),
                     0, "row %lld at %zu", (long long)rows[i], i);
}

/* Numbers of 32 and of 64 bits, at any address, of every dtype that has its own decoder. */
CLIENT_TEST(client_read, gathers_by_number)
{
    static const uint32_t dtypes[] = {LP_DTYPE_F64,     LP_DTYPE_F32, LP_DTYPE_BF16,
                                      LP_DTYPE_F8_E4M3, LP_DTYPE_I32, LP_DTYPE_U8};
    struct numbers numbers;
    uint8_t askew[sizeof(numbers.narrow) + 1];

    random_rows(&numbers, ROWS, 3);
    memcpy(askew + 1, numbers.narrow, sizeof(numbers.narrow));
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        struct client_tensor tensor;

        client_tensor_init(&tensor, dtypes[i], ROWS, COLUMNS, SAMPLES_NORMAL, i);
        client_put(env->client, "t", &tensor, LP_PUT_REPLACE);
        lp_tensor *reader = client_open(env->client, "t");
        uint8_t *back = malloc(N * tensor.row_bytes);
        const void *const rows[] = {numbers.wide, numbers.wide, numbers.narrow, askew + 1};
        const uint32_t sizes[] = {0, 8, 4, 4};
        for (size_t k = 0; k < 4; k++) {
            const struct lp_gather gather =
                gather_of(rows[k], sizes[k], N, back, N * tensor.row_bytes);

            memset(back, 0xa5, N * tensor.row_bytes);
            cr_assert_eq(lp_tensor_gather(reader, &gather, &err), 0, "%s", err.text);
            assert_rows(&tensor, numbers.wide, N, back);
        }
        free(back);
        lp_tensor_close(reader);
        client_tensor_fini(&tensor);
    }
}

/* Without numbers all rows come, in order; with none at all, nothing is written. */
CLIENT_TEST(client_read, gathers_all_and_none)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    const uint64_t nothing = 0;

    client_tensor_init(&tensor, LP_DTYPE_F32, ROWS, COLUMNS, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env->client, "t");
    uint8_t *back = malloc(tensor.bytes + 1);
    back[tensor.bytes] = 0x5a;
    struct lp_gather gather = gather_of(NULL, 0, 0, back, tensor.bytes);
    cr_assert_eq(lp_tensor_gather(reader, &gather, &err), 0, "%s", err.text);
    cr_assert_eq(memcmp(back, tensor.data, tensor.bytes), 0);
    gather.n_rows = 17; /* is not looked at */
    cr_assert_eq(lp_tensor_gather(reader, &gather, &err), 0, "%s", err.text);
    memset(back, 0xa5, tensor.bytes);
    gather = gather_of(&nothing, 8, 0, back, 0);
    cr_assert_eq(lp_tensor_gather(reader, &gather, &err), 0, "%s", err.text);
    cr_assert_eq(lp_tensor_read(reader, &nothing, 0, NULL, 0, &err), 0, "%s", err.text);
    cr_assert_eq(back[0], 0xa5);
    cr_assert_eq(back[tensor.bytes], 0x5a);
    free(back);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
}

/* A bad number is told with its place, and dst is as it was; a default row stands in for it. */
CLIENT_TEST(client_read, tells_bad_rows)
{
    static const int64_t bad[] = {-1, ROWS, INT64_MAX, INT64_MIN, INT32_MIN};
    struct client_tensor tensor;
    struct numbers numbers;

    random_rows(&numbers, ROWS, 3);
    client_tensor_init(&tensor, LP_DTYPE_BF16, ROWS, COLUMNS, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env->client, "t");
    uint8_t *back = malloc(N * tensor.row_bytes);
    uint8_t *zeros = calloc(1, tensor.row_bytes);
    for (size_t i = 0; i < 2 * sizeof(bad) / sizeof(bad[0]); i++) {
        const bool narrow = i % 2 == 1;
        struct lp_error err = {.struct_size = sizeof(err)};
        struct numbers with = numbers;

        if (narrow && (bad[i / 2] > INT32_MAX || bad[i / 2] < INT32_MIN))
            continue;
        with.wide[1234] = bad[i / 2];
        with.narrow[1234] = (int32_t)bad[i / 2];
        struct lp_gather gather =
            gather_of(narrow ? (const void *)with.narrow : (const void *)with.wide, narrow ? 4 : 8,
                      N, back, N * tensor.row_bytes);
        memset(back, 0xa5, N * tensor.row_bytes);
        cr_assert_eq(lp_tensor_gather(reader, &gather, &err), LP_ERANGE);
        cr_assert_not_null(strstr(err.text, "1234"), "%s", err.text);
        for (size_t k = 0; k < N * tensor.row_bytes; k++)
            cr_assert_eq(back[k], 0xa5);
        gather.default_row = zeros;
        cr_assert_eq(lp_tensor_gather(reader, &gather, &err), 0, "%s", err.text);
        assert_rows(&tensor, numbers.wide, 1234, back);
        cr_assert_eq(memcmp(back + 1234 * tensor.row_bytes, zeros, tensor.row_bytes), 0);
        assert_rows(&tensor, numbers.wide + 1235, N - 1235, back + 1235 * tensor.row_bytes);
    }
    free(zeros);
    free(back);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
}

/* A dst that is too small, and calls that make no sense, touch nothing. */
CLIENT_TEST(client_read, refuses_bad_calls)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct numbers numbers;
    uint8_t *back;

    random_rows(&numbers, ROWS, 3);
    client_tensor_init(&tensor, LP_DTYPE_F32, ROWS, COLUMNS, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env->client, "t");
    back = malloc(N * tensor.row_bytes);
    memset(back, 0xa5, N * tensor.row_bytes);
    const struct lp_gather good = gather_of(numbers.wide, 8, N, back, N * tensor.row_bytes);
    struct lp_gather cases[10];
    static const int codes[10] = {LP_EINVAL, LP_EINVAL, LP_EINVAL, LP_EINVAL, LP_ENOTSUP,
                                  LP_ESIZE,  LP_EINVAL, LP_ESIZE,  LP_ESIZE,  LP_EINVAL};
    for (size_t i = 0; i < 10; i++)
        cases[i] = good;
    cases[0].struct_size = 16;
    cases[1].flags = 1;
    cases[2].index_bytes = 2;
    cases[3].index_space = 2;
    cases[4].out_dtype = LP_DTYPE_BF16;
    cases[5].dst_bytes--;
    cases[6].dst = NULL;
    cases[7].n_rows = UINT64_MAX / 2;
    cases[8].rows = NULL;
    cases[9].device = -2;
    for (size_t i = 0; i < 10; i++) {
        cr_assert_eq(lp_tensor_gather(reader, &cases[i], &err), codes[i], "%zu: %s", i, err.text);
        cr_assert_gt(strlen(err.text), 10);
    }
    for (size_t k = 0; k < N * tensor.row_bytes; k++)
        cr_assert_eq(back[k], 0xa5);
    cases[0] = good;
    cases[0].out_dtype = LP_DTYPE_F32; /* as it is stored */
    cr_assert_eq(lp_tensor_gather(reader, &cases[0], &err), 0, "%s", err.text);
    lp_options_init(NULL, sizeof(good));
    cr_assert_eq(lp_tensor_gather(NULL, &good, &err), LP_EINVAL);
    cr_assert_eq(lp_tensor_gather(reader, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_tensor_register(reader, -1, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_tensor_unregister(reader, -1), 0);
    cr_assert_eq(lp_tensor_unregister(NULL, 0), 0);
    cr_assert_eq(lp_tensor_get_info(NULL, NULL), LP_EINVAL);
    free(back);
    lp_tensor_close(reader);
    lp_tensor_close(NULL);
    client_tensor_fini(&tensor);
}

/* Structs are filled as far as the caller knows them. */
CLIENT_TEST(client_read, structs_grow)
{
    struct lp_tensor_info info;
    struct lp_client_info client;
    struct client_tensor tensor;
    struct lp_error err = {.struct_size = 24};

    client_tensor_init(&tensor, LP_DTYPE_F32, ROWS, COLUMNS, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env->client, "t");
    memset(&info, 0xa5, sizeof(info));
    info.struct_size = offsetof(struct lp_tensor_info, codec);
    cr_assert_eq(lp_tensor_get_info(reader, &info), 0);
    cr_assert_eq(info.struct_size, offsetof(struct lp_tensor_info, codec));
    cr_assert_eq(info.ndim, 2);
    cr_assert_eq(info.codec, 0xa5a5a5a5);
    info.struct_size = 3;
    cr_assert_eq(lp_tensor_get_info(reader, &info), LP_EINVAL);
    info.struct_size = sizeof(info) + 64; /* of a newer caller */
    cr_assert_eq(lp_tensor_get_info(reader, &info), 0);
    cr_assert_eq(info.struct_size, sizeof(info));

    lp_options_init(&client, sizeof(client));
    for (size_t i = 4; i < sizeof(client); i++)
        cr_assert_eq(((const uint8_t *)&client)[i], 0);
    client.struct_size = 8;
    cr_assert_eq(lp_client_get_info(env->client, &client, NULL), 0);
    cr_assert_eq(client.struct_size, 8);
    cr_assert_eq(client.pool_bytes, 0);
    client.struct_size = 0;
    cr_assert_eq(lp_client_get_info(env->client, &client, NULL), LP_EINVAL);

    /* An error of 24 bytes has room for 16 of text. */
    memset(err.text, 0x5a, sizeof(err.text));
    cr_assert_eq(lp_client_put(env->client, "t", &tensor.shape, tensor.data, NULL, &err),
                 LP_EEXIST);
    cr_assert_eq(err.code, LP_EEXIST);
    cr_assert_eq(err.text[15], '\0');
    cr_assert_eq(err.text[16], 0x5a);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
}

/* How a codec was tuned is told in words, cut where they find no room. */
CLIENT_TEST(client_read, describes_the_codec)
{
    struct client_tensor tensor;
    lp_tensor *reader;
    char text[96];

    client_tensor_init(&tensor, LP_DTYPE_F32, ROWS, COLUMNS, SAMPLES_NORMAL, 1);
    tensor.codec = LP_CODEC_LANE;
    client_put(env->client, "lane", &tensor, 0);
    tensor.codec = LP_CODEC_RAW;
    client_put(env->client, "raw", &tensor, 0);
    reader = client_open(env->client, "lane");
    cr_assert_eq(lp_tensor_describe(reader, text, sizeof(text)), 0);
    cr_assert_neq(strstr(text, " by "), NULL, "%s", text);
    text[4] = 'x';
    cr_assert_eq(lp_tensor_describe(reader, text, 4), 0);
    cr_assert_eq(strlen(text), 3);
    cr_assert_eq(text[4], 'x');
    cr_assert_eq(lp_tensor_describe(reader, text, 0), LP_EINVAL);
    cr_assert_eq(lp_tensor_describe(reader, NULL, 8), LP_EINVAL);
    cr_assert_eq(lp_tensor_describe(NULL, text, sizeof(text)), LP_EINVAL);
    lp_tensor_close(reader);
    reader = client_open(env->client, "raw");
    cr_assert_eq(lp_tensor_describe(reader, text, sizeof(text)), 0);
    cr_assert_str_empty(text);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
}

/* --- workers --------------------------------------------------------------------------------- */

/* 1 to 8 threads, of a client with 4 workers, give what one thread gives. */
Test(client_read_workers, give_what_one_thread_gives)
{
    struct client_env env;
    struct client_tensor tensor;
    struct numbers numbers;

    client_env_daemon(&env, NULL);
    random_rows(&numbers, 20000, 3);
    client_tensor_init(&tensor, LP_DTYPE_F32, 20000, 130, SAMPLES_NORMAL, 1);
    lp_client *client = client_connect(&env.daemon, 4, 0);
    client_put(client, "t", &tensor, 0);
    lp_tensor *reader = client_open(client, "t");
    uint8_t *back = malloc(tensor.bytes);
    for (uint32_t threads = 0; threads <= 8; threads++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        struct lp_gather gather = gather_of(NULL, 0, 0, back, tensor.bytes);

        gather.threads = threads;
        memset(back, 0xa5, tensor.bytes);
        cr_assert_eq(lp_tensor_gather(reader, &gather, &err), 0, "%s", err.text);
        cr_assert_eq(memcmp(back, tensor.data, tensor.bytes), 0);
        gather = gather_of(numbers.narrow, 4, N, back, N * tensor.row_bytes);
        gather.threads = threads;
        cr_assert_eq(lp_tensor_gather(reader, &gather, &err), 0, "%s", err.text);
        assert_rows(&tensor, numbers.wide, N, back);
        numbers.narrow[N - 1] = -1;
        memset(back, 0xa5, N * tensor.row_bytes);
        cr_assert_eq(lp_tensor_gather(reader, &gather, &err), LP_ERANGE);
        cr_assert_eq(back[0], 0xa5);
        numbers.narrow[N - 1] = (int32_t)numbers.wide[N - 1];
    }
    /* Its workers end with the client; its tensors still read. */
    lp_client_close(client);
    struct lp_gather gather = gather_of(NULL, 0, 0, back, tensor.bytes);
    gather.threads = 4;
    cr_assert_eq(lp_tensor_gather(reader, &gather, NULL), 0);
    cr_assert_eq(memcmp(back, tensor.data, tensor.bytes), 0);
    lp_tensor_close(reader);
    free(back);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

struct reading {
    lp_tensor *tensor;
    const struct client_tensor *expected;
    pthread_t thread;
};

static void *read_again(void *arg)
{
    const struct reading *reading = arg;
    uint8_t *back = malloc(reading->expected->bytes);

    for (int i = 0; i < 20; i++) {
        struct lp_gather gather = gather_of(NULL, 0, 0, back, reading->expected->bytes);

        gather.threads = 3;
        CHECK(lp_tensor_gather(reading->tensor, &gather, NULL) == 0, "a gather failed");
        CHECK(memcmp(back, reading->expected->data, reading->expected->bytes) == 0, "other bytes");
    }
    free(back);
    return NULL;
}

/* Threads that share one client's workers wait for each other, and get their own rows. */
Test(client_read_workers, serve_several_threads)
{
    struct reading readings[4];
    struct client_tensor tensors[4];
    struct client_env env;

    client_env_daemon(&env, NULL);
    lp_client *client = client_connect(&env.daemon, 2, 0);
    for (size_t i = 0; i < 4; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "t%zu", i);
        client_tensor_init(&tensors[i], LP_DTYPE_F32, 4000, 128, SAMPLES_NORMAL, i);
        client_put(client, name, &tensors[i], 0);
        readings[i] = (struct reading){client_open(client, name), &tensors[i], 0};
    }
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&readings[i].thread, NULL, read_again, &readings[i]), 0);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(pthread_join(readings[i].thread, NULL), 0);
        lp_tensor_close(readings[i].tensor);
        client_tensor_fini(&tensors[i]);
    }
    lp_client_close(client);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}
