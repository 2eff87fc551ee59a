/* SPDX-License-Identifier: Apache-2.0 */
/* .safetensors files: as they are, and the input as a header's text with its length put before it
 * and as many bytes of data behind it as the last offset asks for. */
#include "base/bytes.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/load_input.h"

#include <string.h>

#define TEXT_MAX 4096
#define DATA_MAX 4096

/* The largest number in the text that could be an offset. */
static size_t data_wanted(const uint8_t *text, size_t size)
{
    size_t largest = 0, value = 0;

    for (size_t i = 0; i < size; i++) {
        const bool digit = text[i] >= '0' && text[i] <= '9';

        value = digit ? value * 10 + (size_t)(text[i] - '0') : 0;
        if (value > DATA_MAX)
            value = 0;
        largest = value > largest ? value : largest;
    }
    return largest;
}

static void try_as_text(const uint8_t *text, size_t size)
{
    static uint8_t file[8 + TEXT_MAX + DATA_MAX];

    lp_store_u64(file, size);
    memcpy(file + 8, text, size);
    load_input_try(file, 8 + size + data_wanted(text, size), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load_input_try(data, size, NULL);
    if (size <= TEXT_MAX)
        try_as_text(data, size);
    return 0;
}
