/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of one client that share a gather: each takes the next slice until none is left. The
 * calling thread takes part, so a gather never waits for a worker that is late. Only futexes: no
 * other system call on this path. */
#ifndef LP_CLIENT_WORKERS_H
#define LP_CLIENT_WORKERS_H

#include "base/error.h"

#include <stdbool.h>

struct lp_workers;

/* One slice of the work: 0 or an error. Any thread. */
typedef int (*lp_workers_slice)(void *work, uint64_t slice, struct lp_error *err);

/* n_threads >= 1. Returns new; lp_workers_free() joins them. LP_ELIMIT: a thread could not be made.
 */
int lp_workers_new(uint32_t n_threads, struct lp_workers **ret_workers, struct lp_error *err);

/* Waits for a run in progress. NULL is fine. inherited: the threads live in the parent process,
 * only memory is freed. */
void lp_workers_free(struct lp_workers *workers, bool inherited);

/* Run slices 0 .. n_slices - 1 on at most n_threads of the workers and on this thread; back when
 * all are done. One run at a time: others wait. The first failure is returned, and stops slices
 * that have not begun. */
int lp_workers_run(struct lp_workers *workers, uint32_t n_threads, uint64_t n_slices,
                   lp_workers_slice slice, void *work, struct lp_error *err);

#endif
