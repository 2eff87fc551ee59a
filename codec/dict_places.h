/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a dictionary. */
#ifndef LP_CODEC_DICT_PLACES_H
#define LP_CODEC_DICT_PLACES_H

#include "codec/dict.h"

/* Factors of the hash, in the order in which they are tried. */
#define LP_DICT_FACTORS 16u

static inline uint32_t lp_dict_factor(uint32_t i)
{
    return (2 * i + 1) * 0x9e3779b1u; /* odd multiples of 2^32 over the golden ratio (Knuth) */
}

/* Tables for a dictionary whose levels and n_values are set: its values, copied from values, in the
 * order of their symbols, and what lp_dict_find() needs. LP_ECORRUPT: a value appears twice.
 * LP_ENOMEM. lp_codec_dict_fini() frees, after a failure as well. */
int lp_codec_dict_place(struct lp_dict *dict, const void *values, struct lp_error *err);

#endif
