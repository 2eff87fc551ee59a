/* SPDX-License-Identifier: Apache-2.0 */
/* The bars of the codec layer that a bench can ask. */
#ifndef LP_BENCH_BARS_CODEC_H
#define LP_BENCH_BARS_CODEC_H

#include "bench/bars.h"
#include "bench/generate.h"
#include "bench/measure.h"
#include "bench/scaling.h"

/* The bell curve in bf16 at 16 scales, lane and zip7: bits per value. Measures. */
int bars_codec_normal(struct bars *bars, struct lp_error *err);

/* One file, by its name: savings against bound and ibp when dense, stored ratio and sectors when
 * sparse. Other than floats have no bars. */
void bars_codec_file(struct bars *bars, const char *file, const struct tensor_figures *all,
                     uint32_t n_tensors);

/* The keys of a cache of keys and values: as they lie, heads outermost, and turned to [tokens,
 * heads x head_dim]. */
void bars_codec_keys(struct bars *bars, const char *file, const struct tensor_figures *lying,
                     const struct tensor_figures *turned);

/* What holds for generated data. */
void bars_codec_kind(struct bars *bars, const struct bench_kind *kind,
                     const struct tensor_figures *tensor);

/* Speeds of one timed tensor in bf16, beside memcpy and peers. */
void bars_codec_speed(struct bars *bars, const struct tensor_figures *tensor);

void bars_codec_scaling(struct bars *bars, const char *name, const struct bench_scaling *scaling);

#endif
