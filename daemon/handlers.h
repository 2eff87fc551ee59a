/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of all methods, one per row of proto/methods.def.
 *
 * A handler finds its parameters checked by type, and checks what they mean. It sets *ret_result
 * (returns new; NULL: no memory) and returns 0; or an LP_E* code with its sentence in err; or
 * LP_REQUEST_WAITS after lp_daemon_request_wait(). */
#ifndef LP_DAEMON_HANDLERS_H
#define LP_DAEMON_HANDLERS_H

#include "daemon/request.h"

typedef int (*lp_handler)(struct lp_request *request, json_t **ret_result, struct lp_error *err);

int lp_daemon_method_hello(struct lp_request *request, json_t **ret_result, struct lp_error *err);

int lp_daemon_method_pool_attach(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err);
int lp_daemon_method_arena_open(struct lp_request *request, json_t **ret_result,
                                struct lp_error *err);
int lp_daemon_method_arena_close(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err);

int lp_daemon_method_object_create(struct lp_request *request, json_t **ret_result,
                                   struct lp_error *err);
int lp_daemon_method_object_seal(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err);
int lp_daemon_method_object_abort(struct lp_request *request, json_t **ret_result,
                                  struct lp_error *err);
int lp_daemon_method_object_open(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err);
int lp_daemon_method_object_release(struct lp_request *request, json_t **ret_result,
                                    struct lp_error *err);
int lp_daemon_method_object_exists(struct lp_request *request, json_t **ret_result,
                                   struct lp_error *err);
int lp_daemon_method_object_list(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err);
int lp_daemon_method_object_info(struct lp_request *request, json_t **ret_result,
                                 struct lp_error *err);
int lp_daemon_method_object_delete(struct lp_request *request, json_t **ret_result,
                                   struct lp_error *err);

int lp_daemon_method_daemon_status(struct lp_request *request, json_t **ret_result,
                                   struct lp_error *err);
int lp_daemon_method_daemon_stats(struct lp_request *request, json_t **ret_result,
                                  struct lp_error *err);
int lp_daemon_method_daemon_shutdown(struct lp_request *request, json_t **ret_result,
                                     struct lp_error *err);

int lp_daemon_method_config_get(struct lp_request *request, json_t **ret_result,
                                struct lp_error *err);

#endif
