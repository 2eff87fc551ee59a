/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that ends where it must end: behind it lies a page that nobody may touch, before it bytes
 * that must not change. */
#ifndef LP_TESTS_FENCE_H
#define LP_TESTS_FENCE_H

#include <stddef.h>
#include <stdint.h>

struct fence {
    uint8_t *map; /* owned */
    size_t map_bytes;
    uint8_t *end; /* first byte that must not be touched */
    uint8_t *at;  /* what fence_place() gave last */
};

/* Room for up to bytes. The test ends when there is no memory. */
void fence_init(struct fence *fence, size_t bytes);
void fence_fini(struct fence *fence);

/* Where bytes lie so that gap more bytes reach the forbidden page. Fills everything before the page
 * with one value. */
uint8_t *fence_place(struct fence *fence, size_t bytes, size_t gap);

/* The test fails when a byte before the last place has changed, or one from its start + bytes on.
 */
void fence_check(const struct fence *fence, size_t bytes, const char *what);

#endif
