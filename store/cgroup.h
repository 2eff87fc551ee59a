/* SPDX-License-Identifier: Apache-2.0 */
/* Room left in the memory cgroups that this process is in, version 1 and version 2. */
#ifndef LP_STORE_CGROUP_H
#define LP_STORE_CGROUP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The tightest of the groups from our own up to the root of what is mounted here: the least
 * limit - usage + inactive and active file pages, which the kernel drops before it refuses.
 *
 * root            borrows; "" or a folder that stands for /
 * ret_room_bytes  UINT64_MAX when no group has a limit; label then is empty
 * label           "cgroup v1 /path" or "cgroup v2 /path"; label_bytes long, cut on the left
 *
 * A host without memory cgroups, or without the files of one, has no limit. LP_EIO: a file is there
 * but cannot be read or understood; LP_ENOMEM. */
int lp_store_cgroup_room(const char *root, uint64_t *ret_room_bytes, char *label,
                         size_t label_bytes, struct lp_error *err);

#endif
