/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fence.h"

#include <criterion/criterion.h>

#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u
#define FILL 0xa5
#define GUARD_BYTES 256u /* before the place; more would only cost time */

void fence_init(struct fence *fence, size_t bytes)
{
    const size_t room = (bytes + GUARD_BYTES + 2 * PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

    fence->map_bytes = room + PAGE_BYTES;
    fence->map =
        mmap(NULL, fence->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(fence->map, MAP_FAILED, "no memory for a fence");
    fence->end = fence->map + room;
    fence->at = fence->end;
    cr_assert_eq(mprotect(fence->end, PAGE_BYTES, PROT_NONE), 0);
}

void fence_fini(struct fence *fence)
{
    (void)munmap(fence->map, fence->map_bytes);
}

uint8_t *fence_place(struct fence *fence, size_t bytes, size_t gap)
{
    const size_t used = bytes + gap;

    cr_assert_leq(used + GUARD_BYTES, (size_t)(fence->end - fence->map));
    fence->at = fence->end - used;
    memset(fence->at - GUARD_BYTES, FILL, used + GUARD_BYTES);
    return fence->at;
}

void fence_check(const struct fence *fence, size_t bytes, const char *what)
{
    for (const uint8_t *p = fence->at - GUARD_BYTES; p < fence->end; p++) {
        if (p == fence->at)
            p += bytes;
        if (p < fence->end && *p != FILL)
            cr_assert_fail("%s wrote byte %td of %zu", what, p - fence->at, bytes);
    }
}
