/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define RUNS_MAX 31u
#define LLC_UNKNOWN_BYTES (UINT64_C(32) << 20)
#define NORMAL_PERIOD (UINT64_C(1) << 20)
#define NORMAL_SCALE_ELEMENTS 4096u

static void sort(double *values, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const double value = values[i];
        uint32_t at = i;

        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

/* This thread's own time: neighbours on a busy machine then cost a figure little. */
static double thread_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int bench_median(int (*step)(void *user), void *user, uint32_t runs, double *ret_seconds)
{
    double seconds[RUNS_MAX];
    int rc;

    runs = LP_MIN(runs, RUNS_MAX);
    LP_TRY(rc, step(user));
    for (uint32_t i = 0; i < runs; i++) {
        const double start = thread_seconds();

        LP_TRY(rc, step(user));
        seconds[i] = thread_seconds() - start;
    }
    sort(seconds, runs);
    *ret_seconds = seconds[runs / 2];
    return 0;
}

double bench_gbps(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes / seconds / 1e9 : 0;
}

/* From the kernel's own table: what the C library makes of it is wrong on some machines. */
uint64_t bench_llc_bytes(void)
{
    FILE *const file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
    unsigned kib = 0;
    int n = 0;

    if (file != NULL) {
        n = fscanf(file, "%uK", &kib);
        (void)fclose(file);
    }
    return n == 1 && kib > 0 ? (uint64_t)kib << 10 : LLC_UNKNOWN_BYTES;
}

uint8_t *bench_map(uint64_t bytes)
{
    void *const memory = mmap(NULL, LP_MAX(bytes, 1), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

void bench_unmap(void *memory, uint64_t bytes)
{
    if (memory != NULL)
        (void)munmap(memory, LP_MAX(bytes, 1));
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static float next_normal(uint64_t *state)
{
    const double u = (double)(next_random(state) >> 11) * 0x1p-53 + 0x1p-54;
    const double v = (double)(next_random(state) >> 11) * 0x1p-53;

    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

static void store_float(uint32_t dtype, float value, uint8_t *dst)
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
            scale =
                0.02 * exp2(octaves + vary * (double)(next_random(&scale_state) >> 11) * 0x1p-53);
        store_float(dtype, (float)(scale * next_normal(&state)), (uint8_t *)dst + i * elem_bytes);
    }
    for (uint64_t i = n_made; i < n; i += n_made)
        memcpy((uint8_t *)dst + i * elem_bytes, dst, LP_MIN(n_made, n - i) * elem_bytes);
}
