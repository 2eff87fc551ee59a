/* SPDX-License-Identifier: Apache-2.0 */
/* A device is asked for where there is no driver: LANEPACK_LIBCUDA names a file that is not there.
 */
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <string.h>

/* It is said with its reason, each time, and the host reads on. */
Test(client_nogpu, says_that_there_is_no_device)
{
    struct lp_client_info info = {.struct_size = sizeof(info)};
    struct client_tensor tensor;
    struct client_env env;
    uint8_t back[64];

    client_env_local(&env);
    client_tensor_init(&tensor, LP_DTYPE_F32, 300, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env.client, "t");
    for (int i = 0; i < 2; i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        struct lp_gather gather;

        lp_options_init(&gather, sizeof(gather));
        gather.dst = back;
        gather.dst_bytes = 300 * 64 * 4;
        gather.device = 0;
        cr_assert_eq(lp_tensor_gather(reader, &gather, &err), LP_ENODEV);
        cr_assert_not_null(strstr(err.text, "no driver"), "%s", err.text);
        cr_assert_eq(lp_tensor_register(reader, 0, NULL, &err), LP_ENODEV);
        cr_assert_eq(lp_tensor_unregister(reader, 0), 0);
    }
    cr_assert_eq(lp_client_get_info(env.client, &info, NULL), 0);
    cr_assert_str_eq(info.capability, "none");
    client_check(reader, &tensor);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}
