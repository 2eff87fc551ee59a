/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager is told: the notify protocol of sd_notify(3), without its library. */
#ifndef LP_DAEMON_NOTIFY_H
#define LP_DAEMON_NOTIFY_H

#include "base/error.h"

/* Send state ("READY=1", lines divided by newlines) to the socket that NOTIFY_SOCKET names.
 * 0 also where there is none; LP_EINVAL: the variable names no socket; LP_EIO. */
int lp_daemon_notify(const char *state, struct lp_error *err);

#endif
