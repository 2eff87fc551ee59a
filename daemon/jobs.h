/* SPDX-License-Identifier: Apache-2.0 */
/* Long work off the loop thread, on libuv's own workers, with progress that status shows.
 *
 * A job is embedded in what its owner allocates. run is called once on a worker, then done once on
 * the loop thread, where the memory may go. */
#ifndef LP_DAEMON_JOBS_H
#define LP_DAEMON_JOBS_H

#include "base/list.h"

#include <jansson.h>
#include <uv.h>

#include <stdbool.h>
#include <stdint.h>

struct lp_job;

typedef void (*lp_job_run_cb)(struct lp_job *job);  /* on a worker */
typedef void (*lp_job_done_cb)(struct lp_job *job); /* on the loop thread; the job may go */

struct lp_job {
    uv_work_t work;
    struct lp_list link;
    struct lp_jobs *jobs;
    uint64_t id;
    const char *method;  /* static */
    uint64_t done_bytes; /* written by the worker through lp_daemon_job_advance() */
    uint64_t total_bytes;
    uint32_t canceled; /* 1: run should end soon; atomic */
    uint32_t started;  /* 1: a worker has it; atomic */
    lp_job_run_cb run;
    lp_job_done_cb done;
};

struct lp_jobs {
    uv_loop_t *loop;
    struct lp_list running; /* struct lp_job, in the order of starting */
    uint64_t last_id;
};

void lp_daemon_jobs_init(struct lp_jobs *jobs, uv_loop_t *loop);

/* Start a job. method is static; the other fields are set here. Loop thread. */
void lp_daemon_jobs_start(struct lp_jobs *jobs, struct lp_job *job, const char *method,
                          uint64_t total_bytes, lp_job_run_cb run, lp_job_done_cb done);

/* Count bytes as done. On the worker. */
void lp_daemon_job_advance(struct lp_job *job, uint64_t bytes);

/* Ask run to end soon (loop thread), and has one asked (worker)? */
void lp_daemon_job_cancel(struct lp_job *job);
bool lp_daemon_job_is_canceled(const struct lp_job *job);

/* True when no job runs. */
bool lp_daemon_jobs_idle(const struct lp_jobs *jobs);

/* The running jobs as daemon.status shows them, put behind those of list (borrows). -1: no memory.
 */
int lp_daemon_jobs_append_json(const struct lp_jobs *jobs, json_t *list);

#endif
