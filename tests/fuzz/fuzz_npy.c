/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files: as they are, and with the magic put right, so that mutations reach the header. */
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/load_input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct lp_load_options cast = {.as_dtype = LP_DTYPE_BF16};
    uint8_t *mended = malloc(size > 0 ? size : 1);

    if (mended == NULL)
        abort();
    memcpy(mended, data, size);
    if (size >= 8)
        memcpy(mended, "\x93NUMPY", 6);
    load_input_try(data, size, NULL);
    load_input_try(mended, size, &cast);
    free(mended);
    return 0;
}
