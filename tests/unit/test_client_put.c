/* SPDX-License-Identifier: Apache-2.0 */
/* Putting tensors, whole and as a stream, and what happens to names. */
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint32_t codecs[] = {LP_CODEC_AUTO, LP_CODEC_RAW,  LP_CODEC_IBP,   LP_CODEC_LANE,
                                  LP_CODEC_ZIP7, LP_CODEC_DICT, LP_CODEC_SPARSE};
#define CODECS (sizeof(codecs) / sizeof(codecs[0]))

static int put_as(lp_client *client, const char *name, const struct client_tensor *tensor,
                  const struct lp_put_options *options, struct lp_error *err)
{
    return lp_client_put(client, name, &tensor->shape, tensor->data, options, err);
}

static struct lp_tensor_info info_of(lp_client *client, const char *name)
{
    struct lp_tensor_info info = {.struct_size = sizeof(info)};
    lp_tensor *tensor = client_open(client, name);

    cr_assert_eq(lp_tensor_get_info(tensor, &info), 0);
    lp_tensor_close(tensor);
    return info;
}

/* Every dtype comes back bit for bit through every codec and both layouts, special values too. */
CLIENT_TEST(client_put, keeps_every_dtype)
{
    for (uint32_t dtype = LP_DTYPE_F64; dtype < LP_DTYPE_END; dtype++) {
        for (size_t i = 0; i < CODECS * 2; i++) {
            struct lp_error err = {.struct_size = sizeof(err)};
            struct lp_put_options options;
            struct client_tensor tensor;

            lp_options_init(&options, sizeof(options));
            options.codec = codecs[i / 2];
            options.layout = i % 2 == 0 ? LP_LAYOUT_PACKED : LP_LAYOUT_SLOTTED;
            options.flags = LP_PUT_REPLACE | LP_PUT_VERIFY;
            client_tensor_init(&tensor, dtype, 300, 24,
                               i % 3 == 0 ? SAMPLES_SPECIAL : SAMPLES_NORMAL, dtype * 10 + i);
            cr_assert_eq(put_as(env->client, "t", &tensor, &options, &err), 0, "%s", err.text);
            client_check_name(env->client, "t", &tensor);
            client_tensor_fini(&tensor);
        }
    }
}

/* Words whose upper byte is 0x7f in five of eight: no threshold masks a bit, so the published
 * choice of masks saves nothing. */
CLIENT_TEST(client_put, ibp_exact_is_the_published_choice)
{
    static const uint32_t flags[] = {0, LP_PUT_IBP_EXACT};
    static const uint32_t codec[] = {LP_CODEC_IBP, LP_CODEC_RAW};
    struct client_tensor tensor;

    client_tensor_init(&tensor, LP_DTYPE_U32, 500, 32, SAMPLES_RANDOM, 3);
    for (uint64_t i = 3; i < tensor.bytes; i += 4)
        tensor.data[i] = tensor.data[i] < 160 ? 0x7f : 0x80;
    for (size_t i = 0; i < 2; i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        struct lp_put_options options;

        lp_options_init(&options, sizeof(options));
        options.codec = LP_CODEC_IBP;
        options.flags = LP_PUT_REPLACE | LP_PUT_VERIFY | flags[i];
        cr_assert_eq(put_as(env->client, "t", &tensor, &options, &err), 0, "%s", err.text);
        cr_assert_eq(info_of(env->client, "t").codec, codec[i]);
        client_check_name(env->client, "t", &tensor);
    }
    client_tensor_fini(&tensor);
}

/* Columns by name, an access, and a sample whose runs are told, come back; what makes no sense is
 * refused. */
CLIENT_TEST(client_put, takes_columns_by_name)
{
    static const struct {
        uint64_t run, span;
        uint32_t period, access;
        int rc;
    } cases[] = {{0, 0, 32, 0, 0},
                 {6400, 6400, 32, 0, 0},
                 {0, 0, 0, LP_ACCESS_ROWS, 0},
                 {0, 0, 0, LP_ACCESS_END, LP_EINVAL},
                 {0, 64, 0, 0, LP_EINVAL},
                 {0, 6401, 32, 0, LP_EINVAL},
                 {6401, 0, 0, 0, LP_EINVAL},
                 {320000, 0, 0, 0, LP_EINVAL}};
    struct client_tensor tensor;

    client_tensor_init(&tensor, LP_DTYPE_BF16, 3000, 64, SAMPLES_NORMAL, 5);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        struct lp_put_options options;

        lp_options_init(&options, sizeof(options));
        options.codec = LP_CODEC_LANE;
        options.flags = LP_PUT_REPLACE | LP_PUT_VERIFY;
        options.sample = tensor.data;
        options.sample_elements = 2 * 6400;
        options.sample_run_elements = cases[i].run;
        options.column_period = cases[i].period;
        options.column_span = cases[i].span;
        options.access = cases[i].access;
        cr_assert_eq(put_as(env->client, "t", &tensor, &options, &err), cases[i].rc, "case %zu: %s",
                     i, err.text);
        if (cases[i].rc == 0)
            client_check_name(env->client, "t", &tensor);
    }
    client_tensor_fini(&tensor);
}

/* What is told of a tensor is true: sizes, version, and the daemon's epoch (0 without one). */
CLIENT_TEST(client_put, tells_what_it_made)
{
    struct client_tensor tensor;
    struct lp_client_info client = {.struct_size = sizeof(client)};

    client_tensor_init(&tensor, LP_DTYPE_BF16, 5000, 128, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    cr_assert_eq(lp_client_get_info(env->client, &client, NULL), 0);
    const struct lp_tensor_info info = info_of(env->client, "t");
    cr_assert_eq(info.dtype, LP_DTYPE_BF16);
    cr_assert_eq(info.ndim, 2);
    cr_assert_eq(info.dims[0], 5000);
    cr_assert_eq(info.dims[1], 128);
    cr_assert_eq(info.n_rows, 5000);
    cr_assert_eq(info.row_bytes, 256);
    cr_assert_eq(info.logical_bytes, tensor.bytes);
    cr_assert_eq(info.codec, LP_CODEC_LANE);
    cr_assert_lt(info.stored_bytes, tensor.bytes * 8 / 10);
    cr_assert_lt(info.wire_bytes, tensor.bytes);
    cr_assert_gt(info.version, 0);
    cr_assert_eq(info.epoch, client.epoch);
    cr_assert_eq(info.epoch == 0, env->local);
    client_tensor_fini(&tensor);
}

/* Tensors without elements, and one of a single element, have rows like all others. */
CLIENT_TEST(client_put, keeps_empty_and_scalar)
{
    static const struct lp_shape shapes[] = {
        {sizeof(shapes[0]), LP_DTYPE_F32, 0, 0, {0}},
        {sizeof(shapes[0]), LP_DTYPE_F32, 1, 0, {0}},
        {sizeof(shapes[0]), LP_DTYPE_I64, 2, 0, {0, 16}},
        {sizeof(shapes[0]), LP_DTYPE_BF16, 2, 0, {7, 0}},
        {sizeof(shapes[0]), LP_DTYPE_BOOL, 8, 0, {1, 1, 1, 1, 1, 1, 1, 1}},
    };
    static const uint64_t n_rows[] = {1, 0, 0, 7, 1};
    const uint64_t row = 0;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        const float one = 1.5f;
        float back[32] = {0}; /* the longest row */

        cr_assert_eq(lp_client_put(env->client, "t", &shapes[i], &one, NULL, &err), 0, "%zu: %s", i,
                     err.text);
        const struct lp_tensor_info info = info_of(env->client, "t");
        cr_assert_eq(info.n_rows, n_rows[i]);
        lp_tensor *tensor = client_open(env->client, "t");
        cr_assert_eq(lp_tensor_read(tensor, NULL, 0, back, info.logical_bytes, &err), 0);
        cr_assert_eq(memcmp(back, &one, info.logical_bytes), 0);
        cr_assert_eq(lp_tensor_read(tensor, &row, 1, back, sizeof(back), &err),
                     n_rows[i] == 0 ? LP_ERANGE : 0);
        lp_tensor_close(tensor);
        cr_assert_eq(lp_client_remove(env->client, (const char *const[]){"t"}, 1, NULL, NULL), 0);
    }
}

/* A codec that was forced on what it cannot shrink gives way to raw, whole. */
CLIENT_TEST(client_put, packs_random_bits_raw)
{
    struct client_tensor tensor;

    client_tensor_init(&tensor, LP_DTYPE_F32, 4000, 128, SAMPLES_RANDOM, 3);
    for (size_t i = 0; i < CODECS; i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        struct lp_put_options options;

        lp_options_init(&options, sizeof(options));
        options.codec = codecs[i];
        options.flags = LP_PUT_REPLACE | LP_PUT_VERIFY;
        cr_assert_eq(put_as(env->client, "t", &tensor, &options, &err), 0, "%s", err.text);
        const struct lp_tensor_info info = info_of(env->client, "t");
        cr_assert_eq(info.codec, LP_CODEC_RAW);
        cr_assert_leq(info.stored_bytes, tensor.bytes + tensor.bytes / 64 + 8192);
        client_check_name(env->client, "t", &tensor);
    }
    client_tensor_fini(&tensor);
}

/* A name is taken once, made anew only on request, and an open reader keeps what it opened. */
CLIENT_TEST(client_put, replaces_only_on_request)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct lp_put_options options;
    struct client_tensor old, new;

    client_tensor_init(&old, LP_DTYPE_F32, 500, 64, SAMPLES_NORMAL, 1);
    client_tensor_init(&new, LP_DTYPE_F32, 700, 64, SAMPLES_NORMAL, 2);
    client_put(env->client, "t", &old, 0);
    lp_tensor *reader = client_open(env->client, "t");
    const struct lp_tensor_info before = info_of(env->client, "t");

    cr_assert_eq(put_as(env->client, "t", &new, NULL, &err), LP_EEXIST);
    cr_assert_not_null(strstr(err.text, "put t"), "%s", err.text);
    lp_options_init(&options, sizeof(options));
    options.flags = LP_PUT_IF_ABSENT;
    cr_assert_eq(put_as(env->client, "t", &new, &options, &err), 0);
    client_check_name(env->client, "t", &old);
    client_put(env->client, "t", &new, LP_PUT_REPLACE);
    client_check_name(env->client, "t", &new);
    client_check(reader, &old);
    const struct lp_tensor_info after = info_of(env->client, "t");
    cr_assert_gt(after.version, before.version);
    lp_tensor_close(reader);
    client_tensor_fini(&old);
    client_tensor_fini(&new);
}

/* The fingerprint is that of dtype, shape, codec and tag: a tag tells two models apart. */
CLIENT_TEST(client_put, tags_are_part_of_the_fingerprint)
{
    static const char *const tags[] = {NULL, "", "model-1", "model-2", "model-1"};
    uint64_t fingerprints[5];
    struct client_tensor tensor;

    client_tensor_init(&tensor, LP_DTYPE_F32, 500, 64, SAMPLES_NORMAL, 1);
    for (size_t i = 0; i < 5; i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        struct lp_put_options options;

        lp_options_init(&options, sizeof(options));
        options.flags = LP_PUT_REPLACE;
        options.tag = tags[i];
        cr_assert_eq(put_as(env->client, "t", &tensor, &options, &err), 0, "%s", err.text);
        fingerprints[i] = info_of(env->client, "t").fingerprint;
    }
    cr_assert_eq(fingerprints[0], fingerprints[1]);
    cr_assert_neq(fingerprints[0], fingerprints[2]);
    cr_assert_neq(fingerprints[2], fingerprints[3]);
    cr_assert_eq(fingerprints[2], fingerprints[4]);
    client_tensor_fini(&tensor);
}

/* Calls that make no sense are refused, by a code and a sentence, before anything is stored. */
CLIENT_TEST(client_put, refuses_bad_calls)
{
    static const struct {
        const char *what;
        uint32_t options_size, flags, codec, layout, align, rows, elements;
        const char *tag;
        int code;
    } cases[] = {
        {"struct_size", 4, 0, 0, 0, 0, 0, 0, NULL, LP_EINVAL},
        {"flags", 0, 1u << 20, 0, 0, 0, 0, 0, NULL, LP_EINVAL},
        {"both", 0, LP_PUT_IF_ABSENT | LP_PUT_REPLACE, 0, 0, 0, 0, 0, NULL, LP_EINVAL},
        {"codec", 0, 0, 77, 0, 0, 0, 0, NULL, LP_EINVAL},
        {"layout", 0, 0, 0, 9, 0, 0, 0, NULL, LP_EINVAL},
        {"align", 0, 0, 0, 0, 3, 0, 0, NULL, LP_EINVAL},
        {"records", 0, 0, 0, 0, 0, 2, 64, NULL, LP_EINVAL},
        {"tag", 0, 0, 0, 0, 0, 0, 0, "a\nb", LP_ENAME},
        {"tag bytes", 0, 0, 0, 0, 0, 0, 0, "\xff", LP_ENAME},
    };
    /* The second is sampled before it is packed, which must not hide a bad call. */
    static const int64_t rows[] = {100, 40000};

    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t k = i / 2;
        struct lp_error err = {.struct_size = sizeof(err)};
        struct client_tensor tensor;
        struct lp_put_options options = {
            .struct_size = cases[k].options_size != 0 ? cases[k].options_size : sizeof(options),
            .flags = cases[k].flags,
            .codec = cases[k].codec,
            .layout = cases[k].layout,
            .align_bytes = cases[k].align,
            .record_rows = cases[k].rows,
            .record_elements = cases[k].elements,
            .tag = cases[k].tag};

        client_tensor_init(&tensor, LP_DTYPE_F32, rows[i % 2], 64, SAMPLES_EQUAL, 1);
        cr_assert_eq(put_as(env->client, "t", &tensor, &options, &err), cases[k].code, "%s: %d %s",
                     cases[k].what, err.code, err.text);
        cr_assert_eq(err.code, cases[k].code);
        cr_assert_gt(strlen(err.text), 10);
        client_tensor_fini(&tensor);
    }
    uint8_t hit = 9;
    cr_assert_eq(lp_client_exists(env->client, (const char *const[]){"t"}, 1, &hit, NULL), 0);
    cr_assert_eq(hit, 0);
}

/* Names and shapes are checked before the daemon hears of them. */
CLIENT_TEST(client_put, refuses_bad_names_and_shapes)
{
    static char long_name[514];
    const struct lp_shape good = {sizeof(good), LP_DTYPE_F32, 1, 0, {4}};
    const char *const names[] = {"", "a\nb", "\x7f", "\xc3(", long_name};
    const struct lp_shape shapes[] = {
        {8, LP_DTYPE_F32, 1, 0, {4}},
        {sizeof(good), 0, 1, 0, {4}},
        {sizeof(good), LP_DTYPE_END, 1, 0, {4}},
        {sizeof(good), LP_DTYPE_F32, 9, 0, {4}},
        {sizeof(good), LP_DTYPE_F32, 1, 1, {4}},
        {sizeof(good), LP_DTYPE_F32, 1, 0, {-1}},
        {sizeof(good), LP_DTYPE_F32, 3, 0, {INT64_MAX, INT64_MAX, 2}},
    };
    const float data[4] = {1, 2, 3, 4};
    struct lp_error err = {.struct_size = sizeof(err)};

    memset(long_name, 'x', 513);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cr_assert_eq(lp_client_put(env->client, names[i], &good, data, NULL, &err), LP_ENAME);
        cr_assert_gt(strlen(err.text), 5);
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        cr_assert_eq(lp_client_put(env->client, "t", &shapes[i], data, NULL, &err),
                     i == 6 ? LP_ESIZE : LP_EINVAL, "%zu: %s", i, err.text);
    cr_assert_eq(lp_client_put(env->client, "t", &good, NULL, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_client_put(env->client, NULL, &good, data, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_client_put(NULL, "t", &good, data, NULL, &err), LP_EINVAL);
    cr_assert_eq(lp_client_put(env->client, "t", NULL, data, NULL, NULL), LP_EINVAL);
    long_name[512] = '\0'; /* the longest that is good */
    cr_assert_eq(lp_client_put(env->client, long_name, &good, data, NULL, &err), 0, "%s", err.text);
    uint64_t removed = 0;
    cr_assert_eq(lp_client_remove(env->client, names + 4, 1, &removed, &err), 0, "%s", err.text);
    cr_assert_eq(removed, 1);
}

/* --- as a stream ----------------------------------------------------------------------------- */

static lp_writer *open_writer(lp_client *client, const struct client_tensor *tensor,
                              const struct lp_put_options *options)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    lp_writer *writer;

    cr_assert_eq(lp_writer_open(client, "t", &tensor->shape, options, &writer, &err), 0, "%s",
                 err.text);
    return writer;
}

/* Append all rows, up to at_once at a time. */
static void append_all(lp_writer *writer, const struct client_tensor *tensor, uint64_t at_once)
{
    struct lp_error err = {.struct_size = sizeof(err)};

    for (uint64_t row = 0; row < tensor->n_rows; row += at_once) {
        const uint64_t n = tensor->n_rows - row < at_once ? tensor->n_rows - row : at_once;

        cr_assert_eq(lp_writer_append(writer, tensor->data + row * tensor->row_bytes, n, &err), 0,
                     "%s", err.text);
    }
}

static void seal(lp_writer *writer, struct lp_tensor_info *ret_info)
{
    struct lp_error err = {.struct_size = sizeof(err)};

    cr_assert_eq(lp_writer_seal_take(writer, ret_info, &err), 0, "%s", err.text);
}

/* Rows in pieces of any size make the tensor that all at once make; nobody sees it before. */
CLIENT_TEST(client_put, streams_rows)
{
    static const uint64_t steps[] = {1, 7, 1000, 100000};
    struct client_tensor tensor;

    client_tensor_init(&tensor, LP_DTYPE_F32, 3000, 100, SAMPLES_NORMAL, 5);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct lp_tensor_info info = {.struct_size = sizeof(info)};
        struct lp_put_options options;
        uint8_t hit = 9;

        lp_options_init(&options, sizeof(options));
        options.flags = i % 2 == 0 ? LP_PUT_VERIFY : 0;
        lp_writer *writer = open_writer(env->client, &tensor, &options);
        append_all(writer, &tensor, steps[i]);
        cr_assert_eq(lp_client_exists(env->client, (const char *const[]){"t"}, 1, &hit, NULL), 0);
        cr_assert_eq(hit, 0);
        seal(writer, &info);
        cr_assert_eq(info.logical_bytes, tensor.bytes);
        client_check_name(env->client, "t", &tensor);
        cr_assert_eq(lp_client_remove(env->client, (const char *const[]){"t"}, 1, NULL, NULL), 0);
    }
    client_tensor_fini(&tensor);
}

/* With a sample the codec is chosen before the first row; elements may come across rows. */
CLIENT_TEST(client_put, streams_with_a_sample)
{
    struct client_tensor tensor;
    struct lp_put_options options;
    struct lp_tensor_info info = {.struct_size = sizeof(info)};
    struct lp_error err = {.struct_size = sizeof(err)};
    const uint64_t step = 100 * 128 + 17;

    client_tensor_init(&tensor, LP_DTYPE_BF16, 3000, 128, SAMPLES_NORMAL, 5);
    lp_options_init(&options, sizeof(options));
    options.sample = tensor.data;
    options.sample_elements = tensor.bytes / 2;
    lp_writer *writer = open_writer(env->client, &tensor, &options);
    for (uint64_t at = 0; at < tensor.bytes / 2; at += step) {
        const uint64_t left = tensor.bytes / 2 - at;

        cr_assert_eq(lp_writer_append_elements(writer, tensor.data + at * 2,
                                               left < step ? left : step, &err),
                     0, "%s", err.text);
    }
    seal(writer, &info);
    cr_assert_eq(info.codec, LP_CODEC_LANE);
    client_check_name(env->client, "t", &tensor);
    options.flags = LP_PUT_REPLACE;
    options.sample_elements = 1; /* no whole record */
    cr_assert_eq(lp_writer_open(env->client, "t", &tensor.shape, &options, &writer, &err),
                 LP_EINVAL, "%s", err.text);
    client_tensor_fini(&tensor);
}

/* Missing rows, too many, and a writer given up: nothing is stored, and the name is free. */
CLIENT_TEST(client_put, refuses_unfinished_streams)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    uint8_t hit = 9;

    client_tensor_init(&tensor, LP_DTYPE_F32, 1000, 100, SAMPLES_NORMAL, 5);
    lp_writer *writer = open_writer(env->client, &tensor, NULL);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 999, &err), 0);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 2, &err), LP_ESIZE);
    cr_assert_eq(lp_writer_append(writer, tensor.data, UINT64_MAX, &err), LP_ESIZE);
    cr_assert_eq(lp_writer_append(writer, NULL, 1, &err), LP_EINVAL);
    cr_assert_eq(lp_writer_seal_take(writer, NULL, &err), LP_ESIZE);
    cr_assert_not_null(strstr(err.text, "100 of 100000"), "%s", err.text);

    writer = open_writer(env->client, &tensor, NULL);
    append_all(writer, &tensor, 300);
    lp_writer_abort_take(writer);
    lp_writer_abort_take(NULL);
    lp_writer_abort_take(open_writer(env->client, &tensor, NULL));

    /* What was refused was not taken. */
    writer = open_writer(env->client, &tensor, NULL);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 1001, &err), LP_ESIZE);
    cr_assert_eq(lp_client_exists(env->client, (const char *const[]){"t"}, 1, &hit, NULL), 0);
    cr_assert_eq(hit, 0);
    append_all(writer, &tensor, 1000);
    seal(writer, NULL);
    client_check_name(env->client, "t", &tensor);

    struct lp_tensor_info info = {.struct_size = 0};
    writer = open_writer(env->client, &tensor,
                         &(struct lp_put_options){.struct_size = sizeof(struct lp_put_options),
                                                  .flags = LP_PUT_IF_ABSENT});
    append_all(writer, &tensor, 1000);
    cr_assert_eq(lp_writer_seal_take(writer, &info, &err), LP_EINVAL);
    client_tensor_fini(&tensor);
}

/* Two writers of one name: the second to seal is told. */
CLIENT_TEST(client_put, one_name_is_sealed_once)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;

    client_tensor_init(&tensor, LP_DTYPE_F32, 1000, 100, SAMPLES_NORMAL, 5);
    lp_writer *one = open_writer(env->client, &tensor, NULL);
    lp_writer *two = open_writer(env->client, &tensor, NULL);
    append_all(one, &tensor, 400);
    append_all(two, &tensor, 300);
    seal(one, NULL);
    cr_assert_eq(lp_writer_seal_take(two, NULL, &err), LP_EEXIST, "%s", err.text);
    client_check_name(env->client, "t", &tensor);
    client_tensor_fini(&tensor);
}

/* --- segments and adoption ------------------------------------------------------------------- */

static json_int_t daemon_stat(struct wire *wire, const char *name)
{
    json_t *stats = wire_call(wire, "daemon.stats", NULL);
    const json_int_t number = wire_number(stats, name);

    json_decref(stats);
    return number;
}

/* A tensor larger than a chunk lies in several; full arenas are taken over without a copy. */
Test(client_put_segments, are_adopted)
{
    struct client_env env;
    struct client_tensor tensor;
    struct wire wire;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    client_tensor_init(&tensor, LP_DTYPE_F32, 45000, 128, SAMPLES_NORMAL, 9);
    client_put(env.client, "t", &tensor, LP_PUT_VERIFY);
    cr_assert_geq(daemon_stat(&wire, "adoptions"), 2);
    cr_assert_eq(daemon_stat(&wire, "copies"), 2); /* the last segment, and the head */
    client_check_name(env.client, "t", &tensor);
    cr_assert_eq(lp_client_remove(env.client, (const char *const[]){"t"}, 1, NULL, NULL), 0);
    wire_await(&wire, "pool.used", 0);
    client_put(env.client, "t", &tensor, 0);
    client_check_name(env.client, "t", &tensor);
    wire_close(&wire);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* While a child of fork() still maps an arena it cannot be taken over: it is copied. */
Test(client_put_segments, are_copied_while_a_child_maps_them)
{
    struct client_env env;
    struct client_tensor tensor;
    struct wire wire;
    int ends[2];

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    client_tensor_init(&tensor, LP_DTYPE_F32, 45000, 128, SAMPLES_NORMAL, 9);
    lp_writer *writer = open_writer(env.client, &tensor, NULL);
    append_all(writer, &tensor, 45000);
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char byte;

        (void)close(ends[1]);
        (void)!read(ends[0], &byte, 1); /* until the parent is done */
        _exit(0);
    }
    (void)close(ends[0]);
    seal(writer, NULL);
    cr_assert_eq(daemon_stat(&wire, "adoptions"), 0);
    client_check_name(env.client, "t", &tensor);
    (void)close(ends[1]);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    wire_close(&wire);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* A child that closes what it inherited is no longer in the way. */
Test(client_put_segments, are_adopted_after_the_child_has_closed)
{
    struct client_env env;
    struct client_tensor tensor;
    struct wire wire;
    int status;

    client_env_daemon(&env, NULL);
    wire_hello(&wire, &env.daemon);
    client_tensor_init(&tensor, LP_DTYPE_F32, 45000, 128, SAMPLES_NORMAL, 9);
    client_put(env.client, "before", &tensor, 0); /* leaves a spare arena */
    cr_assert_eq(lp_client_remove(env.client, (const char *const[]){"before"}, 1, NULL, NULL), 0);
    lp_writer *writer = open_writer(env.client, &tensor, NULL);
    cr_assert_eq(lp_writer_append(writer, tensor.data, 44000, NULL), 0);
    const pid_t child = fork();
    if (child == 0) {
        lp_writer_abort_take(writer);
        lp_client_close(env.client);
        _exit(client_count_maps(false) == 0 ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    struct lp_error err = {.struct_size = sizeof(err)};
    cr_assert_eq(lp_writer_append(writer, tensor.data + 44000 * tensor.row_bytes, 1000, &err), 0,
                 "%s", err.text);
    const json_int_t adoptions = daemon_stat(&wire, "adoptions");
    seal(writer, NULL);
    cr_assert_gt(daemon_stat(&wire, "adoptions"), adoptions);
    client_check_name(env.client, "t", &tensor);
    wire_close(&wire);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* Several segments that nothing shrinks: packed twice, stored once. */
Test(client_put_segments, are_packed_again_as_raw)
{
    struct client_env env;
    struct client_tensor tensor;
    struct lp_put_options options;
    struct lp_error err = {.struct_size = sizeof(err)};

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 24000, 128, SAMPLES_RANDOM, 9);
    lp_options_init(&options, sizeof(options));
    options.codec = LP_CODEC_LANE;
    cr_assert_eq(put_as(env.client, "t", &tensor, &options, &err), 0, "%s", err.text);
    cr_assert_eq(info_of(env.client, "t").codec, LP_CODEC_RAW);
    client_check_name(env.client, "t", &tensor);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* Ephemeral tensors end with their client; the others outlive it. */
Test(client_put_segments, ephemeral_ends_with_its_client)
{
    static const char *const names[] = {"kept", "gone"};
    struct client_env env;
    struct client_tensor tensor;
    uint8_t hits[2];

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 1000, 128, SAMPLES_NORMAL, 9);
    lp_client *other = client_connect(&env.daemon, 0, 0);
    client_put(other, "kept", &tensor, 0);
    client_put(other, "gone", &tensor, LP_PUT_EPHEMERAL);
    client_check_name(env.client, "gone", &tensor);
    lp_client_close(other);
    do
        cr_assert_eq(lp_client_exists(env.client, names, 2, hits, NULL), 0);
    while (hits[1] != 0);
    cr_assert_eq(hits[0], 1);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}
