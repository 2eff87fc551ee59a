/* SPDX-License-Identifier: Apache-2.0 */
/* Data made here, the same in every run: what benches take where there are no files. */
#ifndef LP_BENCH_GENERATE_H
#define LP_BENCH_GENERATE_H

#include "codec/shape.h"

enum kind_class {
    KIND_DENSE,  /* values around zero: an exponent code saves most of the bound */
    KIND_TAILED, /* the same, with heavy tails */
    KIND_SPARSE, /* mostly or half zeros */
    KIND_NOISE,  /* nothing to save */
    KIND_CONST   /* one value */
};

struct bench_kind {
    const char *name;
    uint32_t dtype; /* bf16 or f32 */
    enum kind_class is;
    bool timed;
    double parameter; /* octaves of scales, share of zeros */
    void (*fill)(const struct bench_kind *kind, uint8_t *dst);
};

/* Every kind is a matrix of BENCH_KIND_ROWS x BENCH_KIND_ROW_ELEMENTS: rows are records. */
#define BENCH_KIND_ROWS 512u
#define BENCH_KIND_ROW_ELEMENTS 4096u

#define BENCH_KINDS 13u
extern const struct bench_kind bench_kinds[BENCH_KINDS];

/* Shape and elements of a kind; *ret_elements is new, freed by lp_bench_unmap() with
 * logical_bytes. LP_ENOMEM. */
int bench_generate(const struct bench_kind *kind, struct lp_geometry *ret_geometry,
                   uint8_t **ret_elements, struct lp_error *err);

#endif
