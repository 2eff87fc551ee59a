/* SPDX-License-Identifier: Apache-2.0 */
/* Elements to pack, made from a seed: the same on every machine. */
#ifndef LP_TESTS_SAMPLES_H
#define LP_TESTS_SAMPLES_H

#include <stdint.h>

enum samples_kind {
    SAMPLES_NORMAL,  /* floats of a bell curve, small signed integers: what codecs are made for */
    SAMPLES_RANDOM,  /* random bits: what no codec can shrink */
    SAMPLES_EQUAL,   /* one value everywhere */
    SAMPLES_SPECIAL, /* NaN payloads, both zeros, denormals, infinities, extremes */
    SAMPLES_SPARSE,  /* nine zeros to one value of a bell curve */
    SAMPLES_KINDS
};

/* A small generator of random bits; state is any number. */
uint64_t samples_next(uint64_t *state);

/* n elements of dtype (enum lp_dtype) into dst. */
void samples_fill(enum samples_kind kind, uint32_t dtype, uint64_t n, uint64_t seed, void *dst);

#endif
