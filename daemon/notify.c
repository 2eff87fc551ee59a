/* SPDX-License-Identifier: Apache-2.0 */
/* Source: sd_notify(3), unix(7). */
#include "daemon/notify.h"

#include "base/sys.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int lp_daemon_notify(const char *state, struct lp_error *err)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int rc = 0;

    if (path == NULL || path[0] == '\0')
        return 0;
    const size_t length = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || length >= sizeof(address.sun_path))
        return lp_error_set(err, LP_EINVAL, "NOTIFY_SOCKET names no socket: '%.64s'", path);
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "socket to notify the service manager");
    if (sendto(sock, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
        rc = lp_error_set_errno(err, LP_EIO, errno, "notify the service manager");
    lp_sys_close(&sock);
    return rc;
}
