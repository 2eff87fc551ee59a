/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_time.h"

#include "base/bytes.h"
#include "base/error.h"

#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#define LLC_UNKNOWN_BYTES (UINT64_C(32) << 20)

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

int lp_bench_median(int (*step)(void *user), void *user, uint32_t runs, double *ret_seconds)
{
    double seconds[LP_BENCH_RUNS_MAX];
    int rc;

    runs = LP_MIN(LP_MAX(runs, 1u), LP_BENCH_RUNS_MAX);
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

double lp_bench_gbps(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes / seconds / 1e9 : 0;
}

/* From the kernel's own table: what the C library makes of it is wrong on some machines. */
uint64_t lp_bench_llc_bytes(void)
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

uint8_t *lp_bench_map(uint64_t bytes)
{
    void *const memory = mmap(NULL, LP_MAX(bytes, 1), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

void lp_bench_unmap(void *memory, uint64_t bytes)
{
    if (memory != NULL)
        (void)munmap(memory, LP_MAX(bytes, 1));
}
