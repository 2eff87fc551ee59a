/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/jobs.h"

#include "base/atomic.h"

static void on_worker(uv_work_t *work)
{
    struct lp_job *job = LP_CONTAINER_OF(work, struct lp_job, work);

    lp_atomic_store_release_u32(&job->started, 1);
    job->run(job);
}

static void on_done(uv_work_t *work, int status)
{
    struct lp_job *job = LP_CONTAINER_OF(work, struct lp_job, work);

    /* Work is never cancelled through libuv, so it has run. */
    (void)status;
    lp_list_remove(&job->link);
    job->done(job);
}

void lp_daemon_jobs_init(struct lp_jobs *jobs, uv_loop_t *loop)
{
    jobs->loop = loop;
    jobs->last_id = 0;
    lp_list_init(&jobs->running);
}

void lp_daemon_jobs_start(struct lp_jobs *jobs, struct lp_job *job, const char *method,
                          uint64_t total_bytes, lp_job_run_cb run, lp_job_done_cb done)
{
    job->jobs = jobs;
    job->id = ++jobs->last_id;
    job->method = method;
    job->done_bytes = 0;
    job->total_bytes = total_bytes;
    job->canceled = 0;
    job->started = 0;
    job->run = run;
    job->done = done;
    lp_list_append(&jobs->running, &job->link);
    /* Fails only without a callback. */
    (void)uv_queue_work(jobs->loop, &job->work, on_worker, on_done);
}

void lp_daemon_job_advance(struct lp_job *job, uint64_t bytes)
{
    (void)lp_atomic_fetch_add_relaxed_u64(&job->done_bytes, bytes);
}

void lp_daemon_job_cancel(struct lp_job *job)
{
    lp_atomic_store_release_u32(&job->canceled, 1);
}

bool lp_daemon_job_is_canceled(const struct lp_job *job)
{
    return lp_atomic_load_acquire_u32(&job->canceled) != 0;
}

bool lp_daemon_jobs_idle(const struct lp_jobs *jobs)
{
    return lp_list_empty(&jobs->running);
}

static json_t *job_json(const struct lp_job *job)
{
    const uint64_t done = lp_atomic_load_relaxed_u64(&job->done_bytes);
    const bool started = lp_atomic_load_acquire_u32(&job->started) != 0;

    return json_pack("{s:I, s:s, s:I, s:I, s:s}", "id", (json_int_t)job->id, "method", job->method,
                     "done", (json_int_t)done, "total", (json_int_t)job->total_bytes, "state",
                     started ? "running" : "queued");
}

int lp_daemon_jobs_append_json(const struct lp_jobs *jobs, json_t *list)
{
    for (struct lp_list *link = jobs->running.next; link != &jobs->running; link = link->next) {
        const struct lp_job *job = LP_CONTAINER_OF(link, struct lp_job, link);
        if (json_array_append_new(list, job_json(job)) != 0)
            return -1;
    }
    return 0;
}
