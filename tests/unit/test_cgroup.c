/* SPDX-License-Identifier: Apache-2.0 */
#include "store/cgroup.h"
#include "tests/lib/fake_host.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <string.h>

#define MOUNT_V1 "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define MOUNT_V2 "38 31 0:35 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define ROOT_V1 "/sys/fs/cgroup/memory"
#define NONE_V1 "9223372036854771712\n"

static struct fake_host host;
static char label[48];

static void init(void)
{
    fake_host_init(&host, 1000);
}

static void fini(void)
{
    fake_host_fini(&host);
}

TestSuite(store_cgroup, .init = init, .fini = fini);

static void set(const char *groups, const char *mounts)
{
    fake_host_write(&host, "/proc/self/cgroup", groups);
    fake_host_write(&host, "/proc/self/mountinfo", mounts);
}

static uint64_t room(void)
{
    struct lp_error err = LP_ERROR_INIT;
    uint64_t bytes;

    cr_assert_eq(lp_store_cgroup_room(host.dir.path, &bytes, label, sizeof(label), &err), 0, "%s",
                 err.text);
    return bytes;
}

Test(store_cgroup, has_no_limit_without_cgroups)
{
    cr_assert_eq(room(), UINT64_MAX);
    cr_assert_str_eq(label, "");
    set("4:memory:/a\n0::/a\n", "1 0 0:1 / / rw - ext4 /dev/vda rw\n");
    cr_assert_eq(room(), UINT64_MAX, "not mounted");
    set("3:cpu:/a\n", MOUNT_V1);
    cr_assert_eq(room(), UINT64_MAX, "in no memory group");
}

/* limit - usage + file pages of both lists, of the group and those below it. */
Test(store_cgroup, counts_version_1)
{
    set("5:cpu,cpuacct:/other\n4:memory:/a\n", MOUNT_V1);
    fake_host_group_v1(&host, ROOT_V1, NONE_V1, "5000\n", NULL);
    fake_host_group_v1(&host, ROOT_V1 "/a", "1000000\n", "400000\n",
                       "inactive_file 1\nactive_file 1\ntotal_inactive_file 30000\n"
                       "total_active_file 20000\n");
    cr_assert_eq(room(), 1000000 - 400000 + 50000);
    cr_assert_str_eq(label, "cgroup v1 /a");
}

Test(store_cgroup, counts_version_2)
{
    set("0::/a\n", MOUNT_V2);
    fake_host_group_v2(&host, "/sys/fs/cgroup/a", "max\n", "400000\n", NULL);
    cr_assert_eq(room(), UINT64_MAX);
    fake_host_group_v2(&host, "/sys/fs/cgroup/a", "1000000\n", "400000\n",
                       "anon 5\ninactive_file 30000\nactive_file 20000\n");
    cr_assert_eq(room(), 650000);
    cr_assert_str_eq(label, "cgroup v2 /a");
    fake_host_write(&host, "/sys/fs/cgroup/a/memory.high", "900000\n");
    cr_assert_eq(room(), 550000, "memory.high throttles before memory.max refuses");
}

/* The tightest group on the way up counts, wherever it is. */
Test(store_cgroup, takes_the_tightest_of_nested_groups)
{
    set("4:memory:/a/b/c\n", MOUNT_V1);
    fake_host_group_v1(&host, ROOT_V1, NONE_V1, "0\n", NULL);
    fake_host_group_v1(&host, ROOT_V1 "/a", "900\n", "0\n", NULL);
    fake_host_group_v1(&host, ROOT_V1 "/a/b", "800\n", "300\n", NULL);
    fake_host_group_v1(&host, ROOT_V1 "/a/b/c", "700\n", "100\n", NULL);
    cr_assert_eq(room(), 500);
    cr_assert_str_eq(label, "cgroup v1 /a/b");
    fake_host_group_v1(&host, ROOT_V1 "/a", "900\n", "850\n", NULL);
    cr_assert_eq(room(), 50);
    cr_assert_str_eq(label, "cgroup v1 /a");
    fake_host_group_v1(&host, ROOT_V1, "40\n", "0\n", NULL);
    cr_assert_eq(room(), 40);
    cr_assert_str_eq(label, "cgroup v1 /");
}

/* A host with both: memory may be in either. */
Test(store_cgroup, looks_at_both_versions)
{
    set("4:memory:/a\n0::/b\n",
        MOUNT_V1 "38 31 0:35 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n");
    fake_host_group_v1(&host, ROOT_V1 "/a", "900\n", "0\n", NULL);
    cr_assert_eq(room(), 900);
    fake_host_group_v2(&host, "/sys/fs/cgroup/unified/b", "800\n", "0\n", NULL);
    cr_assert_eq(room(), 800);
    cr_assert_str_eq(label, "cgroup v2 /b");
}

/* More used than allowed, and more reclaimable than used: no room, and the whole limit. */
Test(store_cgroup, never_wraps_around)
{
    set("0::/a\n", MOUNT_V2);
    fake_host_group_v2(&host, "/sys/fs/cgroup/a", "100\n", "500\n", NULL);
    cr_assert_eq(room(), 0);
    fake_host_group_v2(&host, "/sys/fs/cgroup/a", "100\n", "500\n",
                       "inactive_file 18446744073709551615\nactive_file 5\n");
    cr_assert_eq(room(), 100);
}

/* A container sees its own group as the root of the mount; a group that is not below the mount
 * leaves the mount itself; spaces are escaped. */
Test(store_cgroup, follows_what_is_mounted)
{
    set("4:memory:/docker/1234\n",
        "32 31 0:29 /docker/1234 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    fake_host_group_v1(&host, ROOT_V1, "700\n", "0\n", NULL);
    cr_assert_eq(room(), 700);
    set("4:memory:/docker/1234/sub\n",
        "32 31 0:29 /docker/1234 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    fake_host_group_v1(&host, ROOT_V1 "/sub", "600\n", "0\n", NULL);
    cr_assert_eq(room(), 600);
    set("4:memory:/docker/12345/sub\n",
        "32 31 0:29 /docker/1234 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    cr_assert_eq(room(), 700);
    set("4:memory:/../sub\n", MOUNT_V1);
    cr_assert_eq(room(), 700);
    set("4:memory:/a\n", "32 31 0:29 / /c\\040d/m rw - cgroup cgroup rw,memory\n");
    fake_host_group_v1(&host, "/c d/m/a", "500\n", "0\n", NULL);
    cr_assert_eq(room(), 500);
}

Test(store_cgroup, refuses_what_it_does_not_understand)
{
    struct lp_error err = LP_ERROR_INIT;
    uint64_t bytes = 9;

    set("0::/a\n", MOUNT_V2);
    fake_host_group_v2(&host, "/sys/fs/cgroup/a", "lots\n", "0\n", NULL);
    cr_assert_eq(lp_store_cgroup_room(host.dir.path, &bytes, label, sizeof(label), &err), LP_EIO);
    cr_assert_not_null(strstr(err.text, "/sys/fs/cgroup/a/memory.max: not a number"), "%s",
                       err.text);
    cr_assert_eq(bytes, 9, "untouched on failure");
}

/* Lines of any shape are skipped, not trusted. */
Test(store_cgroup, skips_lines_of_another_shape)
{
    set("garbage\n:\n::\n4:memory\n4:memory:/a\n",
        "x\n - \n1 2 3 - cgroup\n1 2 3 4 5 - cgroup cgroup memory\n" MOUNT_V1);
    fake_host_group_v1(&host, ROOT_V1 "/a", "300\n", "0\n", NULL);
    /* The third line is a mount of everything at "5", where there are no files. */
    cr_assert_eq(room(), UINT64_MAX);
}

Test(store_cgroup, cuts_long_names_on_the_left)
{
    set("0::/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/end\n", MOUNT_V2);
    fake_host_group_v2(
        &host,
        "/sys/fs/cgroup/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"
        "end",
        "1\n", "0\n", NULL);
    cr_assert_eq(room(), 1);
    cr_assert_eq(strlen(label), sizeof(label) - 1);
    cr_assert_str_eq(label + strlen(label) - 5, "a/end");
}

Test(store_cgroup, survives_failures)
{
    static const enum lp_fault_site sites[] = {LP_FAULT_ALLOC, LP_FAULT_OPEN, LP_FAULT_READ};

    set("4:memory:/a\n", MOUNT_V1);
    fake_host_group_v1(&host, ROOT_V1 "/a", "900\n", "100\n", "total_inactive_file 5\n");
    for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
        struct fault_loop loop;

        FAULT_LOOP(&loop, sites[i]) {
            uint64_t bytes = 9;
            const int rc = lp_store_cgroup_room(host.dir.path, &bytes, label, sizeof(label), NULL);

            if (fault_loop_hit(&loop))
                cr_assert(rc == LP_ENOMEM || rc == LP_EIO);
            else
                cr_assert(rc == 0 && bytes == 805);
        }
        cr_assert_gt(loop.nth, 3);
    }
    ASSERT_NO_LEAK();
}
