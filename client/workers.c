/* SPDX-License-Identifier: Apache-2.0 */
#include "client/workers.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/sys.h"

#include <pthread.h>
#include <stdbool.h>

/* What a run is made of; lives on the stack of lp_workers_run(). */
struct run {
    lp_workers_slice slice;
    void *work;
    uint64_t n_slices;
    uint64_t next;         /* atomic: the next slice to take */
    int rc;                /* under the lock: the first failure ... */
    struct lp_error error; /* ... and its sentence */
};

struct lp_workers {
    pthread_mutex_t running; /* held by the thread whose run it is */
    pthread_mutex_t lock;    /* over all below */
    pthread_cond_t wake, done;
    struct run *run; /* NULL: nothing to do */
    uint32_t wanted; /* threads that may still join the run */
    uint32_t inside; /* threads that are in it */
    uint32_t begun;  /* threads that have come to wait at all */
    bool ending;
    uint32_t n_threads;
    pthread_t threads[];
};

static void take_slices(struct lp_workers *workers, struct run *run)
{
    for (;;) {
        const uint64_t slice = lp_atomic_fetch_add_u64(&run->next, 1);
        struct lp_error error = LP_ERROR_INIT;
        int rc;

        if (slice >= run->n_slices)
            return;
        rc = run->slice(run->work, slice, &error);
        if (rc >= 0)
            continue;
        lp_atomic_store_release_u64(&run->next, run->n_slices);
        (void)pthread_mutex_lock(&workers->lock);
        if (run->rc == 0) {
            run->rc = rc;
            run->error = error;
        }
        (void)pthread_mutex_unlock(&workers->lock);
    }
}

static void *worker_main(void *arg)
{
    struct lp_workers *workers = arg;

    (void)pthread_mutex_lock(&workers->lock);
    workers->begun++;
    (void)pthread_cond_signal(&workers->done);
    for (;;) {
        struct run *run;

        while (!workers->ending && workers->wanted == 0)
            (void)pthread_cond_wait(&workers->wake, &workers->lock);
        if (workers->ending)
            break;
        run = workers->run;
        workers->wanted--;
        workers->inside++;
        (void)pthread_mutex_unlock(&workers->lock);
        take_slices(workers, run);
        (void)pthread_mutex_lock(&workers->lock);
        if (--workers->inside == 0)
            (void)pthread_cond_signal(&workers->done);
    }
    (void)pthread_mutex_unlock(&workers->lock);
    return NULL;
}

int lp_workers_new(uint32_t n_threads, struct lp_workers **ret_workers, struct lp_error *err)
{
    struct lp_workers *workers =
        lp_mem_zalloc(sizeof(*workers) + n_threads * sizeof(workers->threads[0]));

    if (workers == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for %u workers", n_threads);
    (void)pthread_mutex_init(&workers->running, NULL);
    (void)pthread_mutex_init(&workers->lock, NULL);
    (void)pthread_cond_init(&workers->wake, NULL);
    (void)pthread_cond_init(&workers->done, NULL);
    while (workers->n_threads < n_threads) {
        const int rc =
            lp_sys_thread_create(&workers->threads[workers->n_threads], worker_main, workers);

        if (rc != 0) {
            (void)lp_error_set_errno(err, LP_ELIMIT, rc, "worker thread %u of %u",
                                     workers->n_threads + 1, n_threads);
            lp_workers_free(workers, false);
            return LP_ELIMIT;
        }
        workers->n_threads++;
    }
    /* A thread that begins makes system calls of its own, which belong here and into no run. */
    (void)pthread_mutex_lock(&workers->lock);
    while (workers->begun < n_threads)
        (void)pthread_cond_wait(&workers->done, &workers->lock);
    (void)pthread_mutex_unlock(&workers->lock);
    *ret_workers = workers;
    return 0;
}

void lp_workers_free(struct lp_workers *workers, bool inherited)
{
    if (workers == NULL)
        return;
    if (!inherited) {
        (void)pthread_mutex_lock(&workers->running);
        (void)pthread_mutex_lock(&workers->lock);
        workers->ending = true;
        (void)pthread_cond_broadcast(&workers->wake);
        (void)pthread_mutex_unlock(&workers->lock);
        for (uint32_t i = 0; i < workers->n_threads; i++)
            (void)pthread_join(workers->threads[i], NULL);
        (void)pthread_mutex_unlock(&workers->running);
        (void)pthread_cond_destroy(&workers->done);
        (void)pthread_cond_destroy(&workers->wake);
        (void)pthread_mutex_destroy(&workers->lock);
        (void)pthread_mutex_destroy(&workers->running);
    }
    lp_mem_free(workers);
}

int lp_workers_run(struct lp_workers *workers, uint32_t n_threads, uint64_t n_slices,
                   lp_workers_slice slice, void *work, struct lp_error *err)
{
    struct run run = {.slice = slice, .work = work, .n_slices = n_slices, .error = LP_ERROR_INIT};

    (void)pthread_mutex_lock(&workers->running);
    (void)pthread_mutex_lock(&workers->lock);
    workers->run = &run;
    workers->wanted = n_threads < workers->n_threads ? n_threads : workers->n_threads;
    (void)pthread_cond_broadcast(&workers->wake);
    (void)pthread_mutex_unlock(&workers->lock);

    take_slices(workers, &run);

    (void)pthread_mutex_lock(&workers->lock);
    workers->wanted = 0; /* whoever has not come by now is not needed */
    while (workers->inside != 0)
        (void)pthread_cond_wait(&workers->done, &workers->lock);
    workers->run = NULL;
    (void)pthread_mutex_unlock(&workers->lock);
    (void)pthread_mutex_unlock(&workers->running);
    if (run.rc < 0 && err != NULL)
        return lp_error_set(err, run.rc, "%s", run.error.text);
    return run.rc;
}
