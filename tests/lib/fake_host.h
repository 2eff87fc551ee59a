/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that stands for the root of a host: the files of /proc and of cgroups that the budget
 * reads. */
#ifndef LP_TESTS_FAKE_HOST_H
#define LP_TESTS_FAKE_HOST_H

#include "tests/lib/tmpdir.h"

#include <stdint.h>

struct fake_host {
    struct tmpdir dir;
};

/* MemAvailable as given, no capability, in no cgroup. */
void fake_host_init(struct fake_host *host, uint64_t available_kib);
void fake_host_fini(struct fake_host *host);

/* A file of this text at path below the root; folders are made. */
void fake_host_write(struct fake_host *host, const char *path, const char *text);

/* Files of one group. limit and usage as the kernel would write them; stat may be NULL. */
void fake_host_group_v1(struct fake_host *host, const char *folder, const char *limit,
                        const char *usage, const char *stat);
void fake_host_group_v2(struct fake_host *host, const char *folder, const char *limit,
                        const char *usage, const char *stat);

#endif
