/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance with one row of the table. Source: R. Wagner, M. Fischer, "The String-to-String
 * Correction Problem", 1974. */
#include "base/nearest.h"

#include "base/bytes.h"

#include <string.h>

#define NEAREST_BYTES_MAX 64

static size_t distance_of(const char *a, const char *b)
{
    const size_t a_bytes = strnlen(a, NEAREST_BYTES_MAX - 1);
    const size_t b_bytes = strnlen(b, NEAREST_BYTES_MAX - 1);
    size_t row[NEAREST_BYTES_MAX];

    for (size_t j = 0; j <= b_bytes; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);
            const size_t shorter = LP_MIN(row[j], row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = LP_MIN(change, shorter);
        }
    }
    return row[b_bytes];
}

void lp_nearest_init(struct lp_nearest *nearest, const char *word)
{
    nearest->word = word;
    nearest->best = NULL;
    nearest->distance = strnlen(word, NEAREST_BYTES_MAX - 1) / 2 + 1;
}

void lp_nearest_offer(struct lp_nearest *nearest, const char *candidate)
{
    const size_t distance = distance_of(nearest->word, candidate);

    if (distance >= nearest->distance)
        return;
    nearest->best = candidate;
    nearest->distance = distance;
}
