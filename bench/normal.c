/* SPDX-License-Identifier: Apache-2.0 */
/* Data of a bell curve, the same in every run. */
#include "base/bytes.h"
#include "bench/bench.h"
#include "bench/random.h"

#include <string.h>

#define NORMAL_PERIOD (UINT64_C(1) << 20)
#define NORMAL_SCALE_ELEMENTS 4096u

void bench_store_float(uint32_t dtype, float value, uint8_t *dst)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    if (dtype == LP_DTYPE_BF16)
        lp_store_u16(dst, (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
    else
        lp_store_u32(dst, bits);
}

void bench_fill_normal(uint32_t dtype, uint64_t n, double octaves, double vary, void *dst)
{
    const uint32_t elem_bytes = lp_codec_dtype_info(dtype)->bytes;
    const uint64_t n_made = LP_MIN(n, NORMAL_PERIOD);
    uint64_t state = 1, scale_state = 2;
    double scale = 0;

    for (uint64_t i = 0; i < n_made; i++) {
        if (i % NORMAL_SCALE_ELEMENTS == 0)
            scale = 0.02 * exp2(octaves + vary * bench_random_share(&scale_state));
        bench_store_float(dtype, (float)(scale * bench_random_normal(&state)),
                          (uint8_t *)dst + i * elem_bytes);
    }
    for (uint64_t i = n_made; i < n; i += n_made)
        memcpy((uint8_t *)dst + i * elem_bytes, dst, LP_MIN(n_made, n - i) * elem_bytes);
}
