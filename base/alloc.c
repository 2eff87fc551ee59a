/* SPDX-License-Identifier: Apache-2.0 */
/* The heap behind one fault site. */
#include "base/alloc.h"

#include "base/fault.h"

#include <stdlib.h>
#include <string.h>

/* malloc(0) may be NULL, which would read as failure. */
static size_t at_least_one(size_t bytes)
{
    return bytes > 0 ? bytes : 1;
}

void *lp_mem_alloc(size_t bytes)
{
    if (lp_fault(LP_FAULT_ALLOC))
        return NULL;
    return malloc(at_least_one(bytes));
}

void *lp_mem_zalloc(size_t bytes)
{
    if (lp_fault(LP_FAULT_ALLOC))
        return NULL;
    return calloc(1, at_least_one(bytes));
}

void *lp_mem_alloc_array(size_t n, size_t each)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, each, &bytes))
        return NULL;
    return lp_mem_alloc(bytes);
}

void *lp_mem_realloc_array(void *memory, size_t n, size_t each)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, each, &bytes) || lp_fault(LP_FAULT_ALLOC))
        return NULL;
    return realloc(memory, at_least_one(bytes));
}

void *lp_mem_alloc_aligned(size_t align, size_t bytes)
{
    void *memory = NULL;

    if (lp_fault(LP_FAULT_ALLOC))
        return NULL;
    /* posix_memalign wants at least the size of a pointer; a larger alignment serves as well. */
    if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align,
                       at_least_one(bytes)) != 0)
        return NULL;
    return memory;
}

char *lp_mem_strdup(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = lp_mem_alloc(bytes);

    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

void lp_mem_free(void *memory)
{
    free(memory);
}
