/* SPDX-License-Identifier: Apache-2.0 */
/* One level of codec dict as vector tiers see it. */
#ifndef LP_CODEC_DICT_LEVEL_H
#define LP_CODEC_DICT_LEVEL_H

#include "codec/dict.h"
#include "codec/lane_bits.h"

#define DICT_BLOCK 64u

/* Where a level's codes come from, and the values behind them. */
struct dict_level {
    const uint8_t *src;
    uint64_t bit; /* first bit of the first plane */
    uint32_t count, width;
    uint32_t last_code;   /* the largest code that has a value */
    const uint8_t *table; /* the value of code c, from 1 on, is element number c; as many as codes
                             of this width, and LP_DICT_SLACK_BYTES, are readable */
    const uint8_t *next;  /* values for the zero codes; a block more than count is readable */
};

#endif
