/* SPDX-License-Identifier: Apache-2.0 */
/* Which sign and which trailing mantissa bits are the same everywhere: integers and halves in wide
 * floats have zeros at the end of their mantissa, counts and probabilities one sign.
 *
 * A record that differs is stored raw, so few of them must differ; they may, as one odd row must
 * not cost a whole table its gain. Each record's sign and trailing zeros are found by or-ing and
 * and-ing its elements, records of a kind are counted, and every combination is priced. */
#include "base/bytes.h"
#include "codec/lane_study.h"

#include <string.h>

#define SIGN_KINDS 3u /* all 0, all 1, both */
#define TRAILING_END 53u

struct kinds {
    uint64_t n[SIGN_KINDS][TRAILING_END]; /* records by sign and trailing zeros */
};

/* 64 bits at a time, whatever the element's size; halves are folded at the end. */
struct lp_lane_bits_seen lp_codec_lane_bits_seen(const uint8_t *elements, uint32_t n,
                                                 uint32_t elem_bytes)
{
    const size_t n_bytes = (size_t)n * elem_bytes;
    struct lp_lane_bits_seen seen = {0, ~UINT64_C(0)};
    size_t i = 0;

    for (; i + 8 <= n_bytes; i += 8) {
        const uint64_t word = lp_load_u64(elements + i);

        seen.any |= word;
        seen.all &= word;
    }
    for (; i < n_bytes; i++) {
        const uint32_t at = 8 * (i % 8);

        seen.any |= (uint64_t)elements[i] << at;
        seen.all &= (uint64_t)elements[i] << at | ~(UINT64_C(0xff) << at);
    }
    for (uint32_t size = 4; size >= elem_bytes; size /= 2) {
        seen.any |= seen.any >> (8 * size);
        seen.all &= seen.all >> (8 * size);
    }
    if (elem_bytes < 8) {
        seen.any &= (UINT64_C(1) << (8 * elem_bytes)) - 1;
        seen.all &= (UINT64_C(1) << (8 * elem_bytes)) - 1;
    }
    return seen;
}

/* Bits that may be trailing ones: the mantissa, and of a byte all but the narrowest field. */
static uint32_t mantissa_bits(const struct lp_dtype_info *info)
{
    return info->exponent_bits != 0 ? info->mantissa_bits : 8 - LP_FORMAT_LANE_BYTE_FIELD_MIN;
}

static void count_kinds(const struct lp_lane_study *study, struct kinds *kinds)
{
    const uint32_t mantissa = mantissa_bits(study->info);
    const uint32_t sign_at = 8 * study->info->bytes - 1;

    memset(kinds, 0, sizeof(*kinds));
    for (uint64_t r = 0; r < study->sample->n_records; r++) {
        const struct lp_lane_bits_seen seen = lp_codec_lane_bits_seen(
            lp_lane_study_record(study, r), study->sample->record_elements, study->info->bytes);
        const uint64_t used = seen.any | UINT64_C(1) << mantissa;
        const bool some = seen.any >> sign_at & 1, every = seen.all >> sign_at & 1;

        kinds->n[every ? 1 : some ? 2 : 0][__builtin_ctzll(used)]++;
    }
}

/* Records that have at least these trailing zeros, and this sign, which may be any. */
static uint64_t count_even(const struct kinds *kinds, uint32_t sign, uint32_t trailing)
{
    uint64_t n = 0;

    for (uint32_t kind = 0; kind < SIGN_KINDS; kind++) {
        for (uint32_t t = trailing; t < TRAILING_END; t++) {
            if (sign == LP_LANE_SIGN_STORED || kind == sign - LP_LANE_SIGN_ZERO)
                n += kinds->n[kind][t];
        }
    }
    return n;
}

void lp_codec_lane_set_fixed(struct lp_lane_study *study)
{
    const uint64_t sign = UINT64_C(1) << (8 * study->info->bytes - 1);
    const bool is_byte = study->info->exponent_bits == 0;

    if (is_byte)
        study->trailing_bits = LP_MIN(study->trailing_bits, 8 - study->field_bits);
    study->fixed_mask = (UINT64_C(1) << study->trailing_bits) - 1;
    study->fixed_value = study->sign == LP_LANE_SIGN_ONE ? sign : 0;
    if (study->sign != LP_LANE_SIGN_STORED)
        study->fixed_mask |= sign;
}

void lp_codec_lane_study_fixed(struct lp_lane_study *study, double exponent_bits)
{
    /* What an element of a record that becomes raw loses, at the least a little. */
    const double loss = LP_MAX((double)study->field_bits - exponent_bits, 0.1);
    const uint32_t sign_end =
        study->info->exponent_bits != 0 ? LP_LANE_SIGN_ONE + 1 : LP_LANE_SIGN_STORED + 1;
    struct kinds kinds;
    double best = 0;

    count_kinds(study, &kinds);
    for (uint32_t sign = LP_LANE_SIGN_STORED; sign < sign_end; sign++) {
        for (uint32_t t = 0; t <= mantissa_bits(study->info); t++) {
            const uint64_t even = count_even(&kinds, sign, t);
            const double gain = (double)even * (t + (sign != LP_LANE_SIGN_STORED)) -
                                (double)(study->sample->n_records - even) * loss;

            if (gain > best) {
                best = gain;
                study->sign = sign;
                study->trailing_bits = t;
            }
        }
    }
    lp_codec_lane_set_fixed(study);
}

bool lp_codec_lane_is_odd(const struct lp_lane_study *study, uint64_t r)
{
    struct lp_lane_bits_seen seen;

    if (study->fixed_mask == 0)
        return false;
    seen = lp_codec_lane_bits_seen(lp_lane_study_record(study, r), study->sample->record_elements,
                                   study->info->bytes);
    return ((seen.any ^ study->fixed_value) & study->fixed_mask) != 0 ||
           ((seen.all ^ study->fixed_value) & study->fixed_mask) != 0;
}
