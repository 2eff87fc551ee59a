/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: the only malloc in the tree, so that tests can make every allocation fail.
 *
 * Each function returns new memory that lp_mem_free() frees, or NULL when there is none (or, for
 * arrays, when the size overflows). A size of 0 gives a valid pointer to no bytes. */
#ifndef LP_BASE_ALLOC_H
#define LP_BASE_ALLOC_H

#include <stddef.h>

#define LP_MEM_NEW __attribute__((malloc, warn_unused_result))

/* bytes of undefined content, aligned for any type. */
LP_MEM_NEW void *lp_mem_alloc(size_t bytes);

/* bytes of zeros. */
LP_MEM_NEW void *lp_mem_zalloc(size_t bytes);

/* n elements of each bytes, undefined content; NULL when n * each overflows. */
LP_MEM_NEW void *lp_mem_alloc_array(size_t n, size_t each);

/* Grow or shrink to n elements of each bytes. memory: from this file, or NULL. On NULL the old
 * memory stands untouched and still belongs to the caller. */
__attribute__((warn_unused_result)) void *lp_mem_realloc_array(void *memory, size_t n, size_t each);

/* bytes at a multiple of align, a power of two. */
LP_MEM_NEW void *lp_mem_alloc_aligned(size_t align, size_t bytes);

/* A copy of text, including its 0. */
LP_MEM_NEW char *lp_mem_strdup(const char *text);

/* Frees what any of the above returned; NULL is fine. */
void lp_mem_free(void *memory);

#endif
