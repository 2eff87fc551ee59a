/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of all methods, one per row of proto/methods.def: lp_daemon_method_<id>(), in
 * method_<family>.c.
 *
 * A handler finds its parameters checked by type, and checks what they mean. It sets *ret_result
 * (returns new; NULL: no memory) and returns 0; or an LP_E* code with its sentence in err; or
 * LP_REQUEST_WAITS after lp_daemon_request_wait(). */
#ifndef LP_DAEMON_HANDLERS_H
#define LP_DAEMON_HANDLERS_H

#include "daemon/request.h"

typedef int (*lp_handler)(struct lp_request *request, json_t **ret_result, struct lp_error *err);

#define LP_METHOD(id, name, since, flags, params, result, help)                                    \
    int lp_daemon_method_##id(struct lp_request *request, json_t **ret_result,                     \
                              struct lp_error *err);
#include "proto/methods.def"

#endif
