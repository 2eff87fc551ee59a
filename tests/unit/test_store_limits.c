/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the host at hand, as the kernel enforces them: a memory cgroup, RLIMIT_MEMLOCK. What
 * they need is probed; where it is not to be had the test is waived (exit 77). */
#include "base/error.h"
#include "tests/lib/small_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ull << 20)
#define GROUP "/sys/fs/cgroup/memory/lanepack-test"
#define NOBODY 65534u

static int failures;

static void check(bool good, const char *what, const char *text)
{
    if (good)
        return;
    (void)fprintf(stderr, "failed: %s: %s\n", what, text);
    failures++;
}

static bool write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    const bool good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    (void)close(fd);
    return good;
}

/* Run body in a child of its own; true when it ended with no failure. */
static bool in_child(void (*body)(void))
{
    int status;

    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        failures = 0;
        body();
        (void)fflush(NULL);
        _exit(failures != 0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* Resident shared memory of this process, in bytes. */
static uint64_t resident_shmem(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    unsigned long long kib = 0;
    char line[256];

    if (file == NULL)
        return UINT64_MAX;
    while (fgets(line, sizeof(line), file) != NULL)
        (void)sscanf(line, "RssShmem: %llu", &kib);
    (void)fclose(file);
    return kib * 1024;
}

/* --- a cgroup of 64 MiB ---------------------------------------------------------------------- */

/* Over the group's limit: refused with need, have and remedy before a page is taken; within it the
 * pool becomes resident and nobody is killed. */
static void in_small_group(void)
{
    struct lp_error err = LP_ERROR_INIT;
    struct small_store small;
    struct lp_store_params params = small_store_params(&small, 16); /* 128 MiB */
    struct lp_store *store = NULL;
    char pid[32];

    (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
    check(write_file(GROUP "/cgroup.procs", pid), "join the group", strerror(errno));
    const uint64_t before = resident_shmem();
    const int rc = lp_store_new(&params, &store, &err);
    check(rc == LP_ELIMIT, "128 MiB in a group of 64 MiB", err.text);
    check(strstr(err.text, "need 134217728 bytes, have ") != NULL, "need and have", err.text);
    check(strstr(err.text, "lanepack-test") != NULL, "names the group", err.text);
    check(strstr(err.text, "raise the group's limit") != NULL, "remedy", err.text);
    check(resident_shmem() == before, "nothing allocated", "RssShmem grew");
    small_store_init(&small, 5, true); /* 40 MiB */
    const struct lp_store_state state = small_store_state(&small);
    check(state.ready == 1 && state.resident_bytes == 40 * MIB, "40 MiB fit", "not resident");
    check(state.budget.cgroup_bytes < 64 * MIB, "budget shows the group", state.budget.source);
    small_store_fini(&small);
}

static int test_group(void)
{
    if (mkdir(GROUP, 0700) < 0 && errno != EEXIST) {
        (void)printf("waived: no cgroup v1 of our own (%s)\n", strerror(errno));
        return 77;
    }
    int rc = 0;
    if (!write_file(GROUP "/memory.limit_in_bytes", "67108864")) {
        (void)printf("waived: cannot limit a cgroup (%s)\n", strerror(errno));
        rc = 77;
    } else if (!in_child(in_small_group)) {
        rc = 1;
    }
    (void)rmdir(GROUP);
    return rc;
}

/* --- RLIMIT_MEMLOCK as an ordinary user ------------------------------------------------------ */

static struct lp_store_params locked_params(struct small_store *small, enum lp_store_lock lock)
{
    struct lp_store_params params = small_store_params(small, 4); /* 32 MiB */

    params.lock = lock;
    return params;
}

static void as_nobody(void)
{
    const struct rlimit limit = {8 * MIB, 8 * MIB};
    struct lp_error err = LP_ERROR_INIT;
    struct small_store small = {.now_ns = 1};
    struct lp_store_params params = locked_params(&small, LP_STORE_LOCK_ON);

    check(setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "setrlimit", strerror(errno));
    check(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "become nobody", strerror(errno));
    check(lp_store_new(&params, &small.store, &err) == LP_ELIMIT, "lock=on is refused", err.text);
    check(strstr(err.text, "need 33554432 bytes, have 8388608 (RLIMIT_MEMLOCK") != NULL,
          "need and have", err.text);
    check(strstr(err.text, "LimitMEMLOCK=infinity") != NULL, "remedy", err.text);
    params = locked_params(&small, LP_STORE_LOCK_AUTO);
    check(lp_store_new(&params, &small.store, &err) == 0, "lock=auto goes on", err.text);
    small_store_prefault(&small);
    const struct lp_store_state state = small_store_state(&small);
    check(state.resident_bytes == 32 * MIB && state.ready == 1, "resident", "not ready");
    check(state.locked_bytes == 0, "not locked", "locked bytes are counted");
    check(strstr(state.lock_note, "RLIMIT_MEMLOCK is 8388608 bytes") != NULL, "note",
          state.lock_note);
    small_store_fini(&small);
}

/* With CAP_IPC_LOCK the limit is none: all of it is locked, and adoption keeps it so. */
static void as_root(void)
{
    const struct rlimit limit = {MIB, MIB};
    struct lp_error err = LP_ERROR_INIT;
    struct small_store small = {.now_ns = 1};
    const struct lp_store_params params = locked_params(&small, LP_STORE_LOCK_ON);
    struct small_table table;
    struct lp_store_part parts[4];
    struct small_arena arena;
    uint64_t oid;

    check(setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "setrlimit", strerror(errno));
    check(lp_store_new(&params, &small.store, &err) == 0, "lock=on", err.text);
    small_store_prefault(&small);
    struct lp_store_state state = small_store_state(&small);
    check(state.locked_bytes == 32 * MIB, "all is locked", state.lock_note);
    check(state.lock_note[0] == 0, "no note", state.lock_note);
    small_table_init(&table, 500, 1);
    const struct lp_store_create create = small_create("n", &table.packed);
    check(lp_store_create(small.store, 1, &create, &oid, &err) == 0, "create", err.text);
    small_arena_open(&small, 1, &arena);
    const uint32_t n = small_arena_add_packed(&arena, &table.packed, true, parts);
    small_arena_unmap(&arena);
    check(small_seal(&small, 1, oid, parts, n, NULL, &err) == 0, "adopt", err.text);
    state = small_store_state(&small);
    check(state.locked_bytes == 32 * MIB, "still locked", state.lock_note);
    small_table_fini(&table);
    small_store_fini(&small);
}

static int test_memlock(void)
{
    if (geteuid() != 0) {
        (void)printf("waived: becoming nobody needs root\n");
        return 77;
    }
    return in_child(as_nobody) && in_child(as_root) ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "group") == 0)
        return test_group();
    if (argc == 2 && strcmp(argv[1], "memlock") == 0)
        return test_memlock();
    (void)fprintf(stderr, "usage: unit_store_limits group|memlock\n");
    return 2;
}
