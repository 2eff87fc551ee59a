/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fake_host.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Each folder on the way to path; those that exist are fine. */
static void make_folders(const struct fake_host *host, const char *path)
{
    char full[1024];

    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(full, sizeof(full), "%s%.*s", host->dir.path, (int)(slash - path), path);
        (void)mkdir(full, 0700);
    }
}

void fake_host_write(struct fake_host *host, const char *path, const char *text)
{
    make_folders(host, path);
    tmpdir_write(&host->dir, path + 1, text, strlen(text));
}

void fake_host_init(struct fake_host *host, uint64_t available_kib)
{
    char text[128];

    tmpdir_init(&host->dir);
    (void)snprintf(text, sizeof(text), "MemTotal: 999999999 kB\nMemAvailable: %llu kB\n",
                   (unsigned long long)available_kib);
    fake_host_write(host, "/proc/meminfo", text);
    fake_host_write(host, "/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
    fake_host_write(host, "/proc/self/cgroup", "");
    fake_host_write(host, "/proc/self/mountinfo", "1 0 0:1 / / rw - ext4 /dev/vda rw\n");
}

void fake_host_fini(struct fake_host *host)
{
    tmpdir_fini(&host->dir);
}

static void write_in(struct fake_host *host, const char *folder, const char *file, const char *text)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    fake_host_write(host, path, text);
}

void fake_host_group_v1(struct fake_host *host, const char *folder, const char *limit,
                        const char *usage, const char *stat)
{
    write_in(host, folder, "memory.limit_in_bytes", limit);
    write_in(host, folder, "memory.usage_in_bytes", usage);
    if (stat != NULL)
        write_in(host, folder, "memory.stat", stat);
}

void fake_host_group_v2(struct fake_host *host, const char *folder, const char *limit,
                        const char *usage, const char *stat)
{
    write_in(host, folder, "memory.max", limit);
    write_in(host, folder, "memory.current", usage);
    if (stat != NULL)
        write_in(host, folder, "memory.stat", stat);
}
