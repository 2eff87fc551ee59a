/* SPDX-License-Identifier: Apache-2.0 */
/* One request from its line to its answer. Loop thread only.
 *
 * Most are answered before the handler returns. One that waits is kept by lp_daemon_request_wait()
 * and ends in one of three ways, each exactly once: the handler's work calls
 * lp_daemon_request_finish_take(), its deadline passes, or its connection ends. In the last two its
 * abandon function is called first, so that the work lets go of it. */
#ifndef LP_DAEMON_REQUEST_H
#define LP_DAEMON_REQUEST_H

#include "daemon/conn.h"
#include "proto/method.h"

#include <jansson.h>

struct lp_request;

/* The request goes away: user's work must forget it. Returns the code to answer with, the sentence
 * in err; nobody reads them when the connection is gone. */
typedef int (*lp_request_abandon_cb)(struct lp_request *request, struct lp_error *err);

struct lp_request {
    struct lp_list link; /* in conn->waiting once it waits */
    struct lp_conn *conn;
    const struct lp_method *method;
    struct lp_proto_request message;
    const json_t *params;      /* checked against the method's schema; never NULL */
    int fds[LP_PROTO_FDS_MAX]; /* borrowed: descriptors of the result, until it is queued */
    size_t n_fds;
    struct lp_deadline deadline;
    lp_request_abandon_cb abandon;
    void *user; /* of the handler */
};

/* What a handler returns besides 0 and errors: lp_daemon_request_wait() has been called. */
#define LP_REQUEST_WAITS 1

/* Answer with a result (takes; NULL counts as LP_ENOMEM) when rc is 0, else with error, whose code
 * is rc. request goes. */
void lp_daemon_request_finish_take(struct lp_request *request, int rc, json_t *result,
                                   const struct lp_error *error);

/* Keep the request until it is finished, at most wait_ms long; then abandon is called. */
void lp_daemon_request_wait(struct lp_request *request, uint64_t wait_ms,
                            lp_request_abandon_cb abandon, void *user);

/* The connection ends: abandon all that wait on it, without answers. */
void lp_daemon_request_abandon_all(struct lp_conn *conn);

/* Parameters, which the schema has checked: the value, or what stands in where it was left out. */
uint64_t lp_daemon_param_uint(const json_t *params, const char *key, uint64_t missing);
bool lp_daemon_param_bool(const json_t *params, const char *key);
const char *lp_daemon_param_text(const json_t *params, const char *key, const char *missing);

#endif
