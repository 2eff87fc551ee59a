/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/ibp_starts.h"

#include "base/bytes.h"

#include <string.h>

#define COMPARED_WORDS 64u /* of 8 bytes, at most twice as many */

/* The CPU may have no instruction for it. */
static uint32_t count_ones(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (uint32_t)(x * 0x0101010101010101ull >> 56);
}

static uint32_t distance(const uint8_t *a, const uint8_t *b, uint32_t record_bytes)
{
    const uint32_t step = LP_MAX(record_bytes / 8 / COMPARED_WORDS, 1u) * 8;
    uint32_t sum = 0;

    for (uint32_t at = 0; at + 8 <= record_bytes; at += step)
        sum += count_ones(lp_load_u64(a + at) ^ lp_load_u64(b + at));
    return sum;
}

/* What all records are from the nearest start, were this one too. */
static uint64_t sum_with(const uint32_t *nearest, const uint32_t *distances, uint32_t n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += LP_MIN(nearest[i], distances[i]);
    return sum;
}

static uint32_t next_start(const struct lp_ibp_starts *starts, const uint32_t *nearest)
{
    uint64_t fewest = UINT64_MAX;
    uint32_t best = 0;

    for (uint32_t c = 0; c < LP_IBP_STARTS_FROM; c++) {
        const uint64_t sum = sum_with(nearest, starts->distance[c], starts->n);

        if (sum < fewest) {
            fewest = sum;
            best = c;
        }
    }
    return best;
}

void lp_codec_ibp_find_starts(struct lp_ibp_starts *ret_starts, const uint8_t *const *records,
                              uint32_t n, uint32_t record_bytes)
{
    struct lp_ibp_starts *const starts = ret_starts;
    uint32_t nearest[LP_IBP_STARTS_RECORDS];

    starts->n = n;
    memset(nearest, 0xff, sizeof(nearest));
    for (uint32_t c = 0; c < LP_IBP_STARTS_FROM; c++)
        for (uint32_t i = 0; i < n; i++)
            starts->distance[c][i] =
                distance(records[c * n / LP_IBP_STARTS_FROM], records[i], record_bytes);
    for (uint32_t k = 0; k < LP_IBP_STARTS_MAX; k++) {
        const uint32_t start = next_start(starts, nearest);

        starts->start[k] = start;
        for (uint32_t i = 0; i < n; i++)
            nearest[i] = LP_MIN(nearest[i], starts->distance[start][i]);
    }
}

uint32_t lp_codec_ibp_nearest_start(const struct lp_ibp_starts *starts, uint32_t i,
                                    uint32_t n_groups)
{
    uint32_t best = 0;

    for (uint32_t k = 1; k < n_groups; k++)
        if (starts->distance[starts->start[k]][i] < starts->distance[starts->start[best]][i])
            best = k;
    return best;
}
