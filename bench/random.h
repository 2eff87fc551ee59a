/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers, the same in every run and on every machine: splitmix64, a public-domain
 * generator. */
#ifndef LP_BENCH_RANDOM_H
#define LP_BENCH_RANDOM_H

#include <math.h>
#include <stdint.h>

static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [0, 1). */
static inline double bench_random_share(uint64_t *state)
{
    return (double)(bench_random(state) >> 11) * 0x1p-53;
}

/* Of the bell curve with deviation 1, after Box and Muller. */
static inline float bench_random_normal(uint64_t *state)
{
    const double u = bench_random_share(state) + 0x1p-54;
    const double v = bench_random_share(state);

    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

#endif
