/* SPDX-License-Identifier: Apache-2.0 */
/* From a line to the method's handler. Loop thread only. */
#ifndef LP_DAEMON_DISPATCH_H
#define LP_DAEMON_DISPATCH_H

#include "daemon/conn.h"

/* Take a line apart, check it and call the handler; every line is answered, now or later.
 * line borrows for the call. */
void lp_daemon_dispatch_line(struct lp_conn *conn, const char *line, size_t bytes);

#endif
