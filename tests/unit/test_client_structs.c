/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of an application whose header is older or newer than the library. */
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 100
#define COLUMNS 40

/* What a newer header has more than this one. */
struct more {
    uint64_t fields[3];
};
struct more_gather {
    struct lp_gather known;
    struct more more;
};
struct more_put_options {
    struct lp_put_options known;
    struct more more;
};
struct more_connect_options {
    struct lp_connect_options known;
    struct more more;
};
struct more_shape {
    struct lp_shape known;
    struct more more;
};

/* An older header's struct ends behind device and threads; what stands there then is not looked at.
 */
CLIENT_TEST(client_structs, gathers_of_other_headers)
{
    static const int64_t rows[] = {7, 0, 99};
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct more_gather gather;
    uint8_t *back;

    client_tensor_init(&tensor, LP_DTYPE_F32, ROWS, COLUMNS, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env->client, "t");
    back = calloc(3, tensor.row_bytes);
    memset(&gather, 0xa5, sizeof(gather));
    lp_gather_init(&gather.known);
    cr_assert_eq(gather.known.struct_size, sizeof(gather.known));
    cr_assert_eq(gather.known.device, -1);
    gather.known.rows = rows;
    gather.known.n_rows = 3;
    gather.known.dst = back;
    gather.known.dst_bytes = 3 * tensor.row_bytes;

    gather.known.struct_size = offsetof(struct lp_gather, out_dtype);
    gather.known.out_dtype = 0xa5a5a5a5;
    gather.known.default_row = back + 1;
    cr_assert_eq(lp_tensor_gather(reader, &gather.known, &err), 0, "%s", err.text);
    cr_assert_eq(memcmp(back, tensor.data + 7 * tensor.row_bytes, tensor.row_bytes), 0);
    cr_assert_eq(memcmp(back + tensor.row_bytes, tensor.data, tensor.row_bytes), 0);

    memset(back, 0x5a, 3 * tensor.row_bytes);
    gather.known.struct_size = sizeof(gather);
    gather.known.out_dtype = 0;
    gather.known.default_row = NULL;
    cr_assert_eq(lp_tensor_gather(reader, &gather.known, &err), LP_ENOTSUP);
    cr_assert_neq(strstr(err.text, "newer"), NULL, "%s", err.text);
    cr_assert_eq(back[0], 0x5a);
    memset(&gather.more, 0, sizeof(gather.more));
    cr_assert_eq(lp_tensor_gather(reader, &gather.known, &err), 0, "%s", err.text);
    cr_assert_eq(memcmp(back, tensor.data + 7 * tensor.row_bytes, tensor.row_bytes), 0);
    free(back);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
}

/* Sizes that no header can have had: too short for what a call needs, through a pointer, unset. */
CLIENT_TEST(client_structs, refuses_sizes_that_are_none)
{
    static const uint32_t sizes[] = {0,  3,        offsetof(struct lp_gather, device),
                                     60, 1u << 20, UINT32_MAX};
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct lp_gather gather;
    struct lp_shape shape;
    uint8_t back[16 * 4];

    client_tensor_init(&tensor, LP_DTYPE_F32, 4, 4, SAMPLES_NORMAL, 1);
    client_put(env->client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env->client, "t");
    lp_gather_init(&gather);
    gather.dst = back;
    gather.dst_bytes = sizeof(back);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct lp_put_options options = {.struct_size = i == 2 ? 4 : sizes[i]};

        gather.struct_size = sizes[i];
        shape = tensor.shape;
        shape.struct_size = i == 3 ? 72 : sizes[i];
        cr_assert_eq(lp_tensor_gather(reader, &gather, &err), LP_EINVAL, "%zu", i);
        cr_assert_eq(lp_client_put(env->client, "u", &shape, tensor.data, NULL, &err), LP_EINVAL);
        cr_assert_eq(lp_client_put(env->client, "u", &tensor.shape, tensor.data, &options, &err),
                     LP_EINVAL);
        cr_assert_neq(strstr(err.text, "lp_put_options.struct_size"), NULL, "%s", err.text);
    }
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
}

/* Shapes and put options: the first fields alone are enough, more must be 0. */
CLIENT_TEST(client_structs, puts_of_other_headers)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct more_put_options options;
    struct client_tensor tensor;
    struct more_shape shape;

    client_tensor_init(&tensor, LP_DTYPE_F32, ROWS, COLUMNS, SAMPLES_NORMAL, 1);
    memset(&options, 0xa5, sizeof(options));
    options.known.struct_size = offsetof(struct lp_put_options, codec);
    options.known.flags = LP_PUT_VERIFY;
    memset(&shape, 0, sizeof(shape));
    shape.known = tensor.shape;
    shape.known.struct_size = sizeof(shape);
    cr_assert_eq(lp_client_put(env->client, "t", &shape.known, tensor.data, &options.known, &err),
                 0, "%s", err.text);
    client_check_name(env->client, "t", &tensor);

    shape.more.fields[2] = 1;
    cr_assert_eq(lp_client_put(env->client, "u", &shape.known, tensor.data, NULL, &err),
                 LP_ENOTSUP);
    memset(&options, 0, sizeof(options));
    options.known.struct_size = sizeof(options);
    options.more.fields[0] = UINT64_C(1) << 63;
    cr_assert_eq(lp_client_put(env->client, "u", &tensor.shape, tensor.data, &options.known, &err),
                 LP_ENOTSUP);
    options.more.fields[0] = 0;
    cr_assert_eq(lp_client_put(env->client, "u", &tensor.shape, tensor.data, &options.known, &err),
                 0, "%s", err.text);
    client_check_name(env->client, "u", &tensor);
    client_tensor_fini(&tensor);
}

/* Connecting: the path is not looked at by who says that there is none yet. */
Test(client_structs, connects_with_other_headers)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct more_connect_options options;
    lp_client *client = NULL;

    memset(&options, 0, sizeof(options));
    options.known.struct_size = sizeof(options);
    options.known.path = "local:";
    options.more.fields[1] = 1;
    cr_assert_eq(lp_client_connect(&options.known, &client, &err), LP_ENOTSUP);
    cr_assert_null(client);
    options.more.fields[1] = 0;
    options.known.local_bytes = UINT64_C(64) << 20;
    cr_assert_eq(lp_client_connect(&options.known, &client, &err), 0, "%s", err.text);
    lp_client_close(client);
    options.known.struct_size = offsetof(struct lp_connect_options, name_space);
    options.known.timeout_ns = 1;
    cr_assert_eq(lp_client_connect(&options.known, &client, &err), 0, "%s", err.text);
    lp_client_close(client);
    options.known.struct_size = offsetof(struct lp_connect_options, path) + 4;
    cr_assert_eq(lp_client_connect(&options.known, &client, &err), LP_EINVAL);
    options.known.struct_size = 4;
    cr_assert_eq(lp_client_connect(&options.known, &client, &err), LP_EINVAL);
    ASSERT_NO_LEAK();
}
