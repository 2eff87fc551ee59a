/* SPDX-License-Identifier: Apache-2.0 */
/* .lpk files in memory: written from packed tables, and read with every check that the format asks
 * for. */
#ifndef LP_TESTS_LPK_MEMORY_H
#define LP_TESTS_LPK_MEMORY_H

#include "tests/lib/packed.h"

/* One file of these tables under these names. Returns new memory (lp_mem_free) and its size. Aborts
 * when there is none. */
uint8_t *lpk_memory_write(const struct packed *tables, char *const *names, uint32_t n,
                          uint64_t *ret_bytes);

/* Called for each table of a file, in order. All borrows for the call. Not 0 ends the reading. */
typedef int (*lpk_memory_cb)(void *user, const char *name, const struct lp_view *view,
                             struct lp_error *err);

/* Parse header, directory and heads, and hand out each table. 0, what each returned, or the error.
 */
int lpk_memory_read(const uint8_t *file, uint64_t file_bytes, lpk_memory_cb each, void *user,
                    struct lp_error *err);

#endif
