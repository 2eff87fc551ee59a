/* SPDX-License-Identifier: Apache-2.0 */
/* Beginnings and ends: of clients, killed at each step of a put; of the daemon, by signal, by
 * request and by force; of the socket file, found stale, alive or inherited. The published failure
 * table, as far as this version has its rows. */
#include "base/clock.h"
#include "base/sys.h"
#include "proto/message.h"
#include "tests/integration/wire_put.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct wire_table table;

static const char *flag_of(char *flag, size_t room, const char *name, const char *value)
{
    (void)snprintf(flag, room, "--%s=%s", name, value);
    return flag;
}

/* --- Clients --- */

/* The first steps of a put, up to the given one; then the process is killed as it stands. */
static _Noreturn void put_until(const struct spawn *daemon, int step)
{
    struct wire_arena arena;
    struct wire wire;

    wire_hello(&wire, daemon);
    if (step >= 1)
        (void)wire_create(&wire, "killed", &table.packed, NULL);
    if (step >= 2)
        wire_arena_open(&wire, &arena);
    if (step >= 3) {
        const uint64_t oid = wire_create(&wire, "killed too", &table.packed, NULL);
        json_t *params = wire_seal_params(oid, wire_lay(&arena, &table.packed, step == 5));
        if (step == 5)
            wire_arena_unmap(&arena);
        if (step == 4 || step == 5)
            (void)wire_request(&wire, "object.seal", json_incref(params));
        json_decref(params);
    }
    if (step == 6)
        json_decref(wire_call(&wire, "object.open", wire_names("kept")));
    (void)raise(SIGKILL);
    _exit(1);
}

/* kill -9 at each step: names, arenas, leases and bytes are back within a second. */
static void killed_clients_leave_nothing(const struct spawn *daemon)
{
    struct wire watcher;

    wire_hello(&watcher, daemon);
    wire_put(&watcher, "kept", &table.packed, NULL);
    json_t *before = wire_call(&watcher, "daemon.status", NULL);
    for (int round = 0; round < 21; round++) {
        const pid_t pid = fork();
        CHECK(pid >= 0, "fork");
        if (pid == 0)
            put_until(daemon, round % 7);
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "the child ended otherwise");
        const uint64_t killed = lp_clock_now_ns();
        wire_await(&watcher, "unsealed", 0);
        wire_await(&watcher, "leases", 0);
        wire_await(&watcher, "pool.arena_bytes", 0);
        /* A seal that was under way may have been done: then it is as if it had been answered. */
        json_decref(wire_call(&watcher, "object.delete", wire_names("killed too")));
        wire_await(&watcher, "pool.used", wire_number(before, "pool.used"));
        wire_await(&watcher, "pool.free", wire_number(before, "pool.free"));
        CHECK(lp_clock_now_ns() - killed < LP_NS_PER_S, "it took longer than a second");
    }
    wire_check(&watcher, "kept", &table.packed);
    json_t *stats = wire_call(&watcher, "daemon.stats", NULL);
    CHECK(wire_number(stats, "client_deaths") >= 12, "deaths were not counted");
    json_decref(stats);
    json_decref(wire_call(&watcher, "object.delete", wire_names("kept")));
    json_decref(before);
    wire_close(&watcher);
}

/* Thousands come and go: neither descriptors nor memory grow. */
static void cycles_leave_nothing(const struct spawn *daemon)
{
    struct wire wire;
    size_t fds = 0, kib = 0;

    for (int i = 0; i < 2200; i++) {
        wire_hello(&wire, daemon);
        if (i % 3 == 0)
            (void)wire_request(&wire, "object.list", NULL);
        if (i % 3 == 1)
            (void)wire_send(&wire, "{\"jsonrpc\":");
        wire_close(&wire);
        if (i == 199) {
            fds = spawn_count_fds(daemon);
            kib = spawn_anonymous_kib(daemon);
        }
    }
    wire_hello(&wire, daemon);
    wire_await(&wire, "clients", 1);
    CHECK(spawn_count_fds(daemon) <= fds + 4, "descriptors grew from %zu to %zu", fds,
          spawn_count_fds(daemon));
    CHECK(spawn_anonymous_kib(daemon) <= kib + LP_TEST_GROWTH_KIB,
          "memory grew from %zu to %zu KiB", kib, spawn_anonymous_kib(daemon));
    wire_close(&wire);
}

/* 300 connections at a limit of 256: the rest is turned away, and served when there is room. */
static void too_many_are_turned_away(const struct spawn *daemon)
{
    static struct wire wires[300];
    size_t served = 0, refused = 0;

    for (size_t i = 0; i < 300; i++) {
        wire_open(&wires[i], daemon);
        (void)wire_request(&wires[i], "hello", json_pack("{s:[ii]}", "proto", 0, 0));
    }
    for (size_t i = 0; i < 300; i++) {
        json_t *answer = wire_answer(&wires[i]);
        CHECK(answer != NULL, "connection %zu got no answer", i);
        struct lp_error error = LP_ERROR_INIT;
        if (lp_proto_error_read(json_object_get(answer, "error"), &error)) {
            CHECK(error.code == LP_ELIMIT && json_is_null(json_object_get(answer, "id")), "%s",
                  error.text);
            refused++;
        } else {
            served++;
        }
        json_decref(answer);
    }
    CHECK(served == 256 && refused == 44, "%zu served, %zu refused", served, refused);
    for (size_t i = 0; i < 300; i++)
        wire_close(&wires[i]);
    for (int waited = 0;; waited++) {
        wire_open(&wires[0], daemon);
        (void)wire_request(&wires[0], "hello", json_pack("{s:[ii]}", "proto", 0, 0));
        json_t *answer = wire_answer(&wires[0]);
        const bool good = json_object_get(answer, "result") != NULL;
        json_decref(answer);
        wire_close(&wires[0]);
        if (good)
            return;
        CHECK(waited < 1000, "no room comes");
        (void)poll(NULL, 0, 2);
    }
}

/* Admin methods are for root, the daemon's user and the admin group. */
static void others_are_no_admins(const struct spawn *daemon)
{
    const struct passwd *nobody = getpwnam("nobody");

    if (geteuid() != 0 || nobody == NULL) {
        (void)fprintf(stderr, "waived: another user (not root)\n");
        return;
    }
    CHECK(chmod(daemon->dir.path, 0755) == 0 && chmod(daemon->socket, 0666) == 0, "chmod");
    const pid_t pid = fork();
    if (pid == 0) {
        struct wire wire;
        if (setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0)
            _exit(2);
        wire_hello(&wire, daemon);
        const int code = wire_call_error(&wire, "daemon.shutdown", NULL, NULL);
        json_decref(wire_call(&wire, "daemon.status", NULL));
        _exit(code == LP_EPERM ? 0 : 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "not refused");
}

/* --- The daemon's end --- */

/* Killed: mapped bytes stay as they are, the next request says that it is gone. */
static void readers_outlive_a_killed_daemon(void)
{
    struct spawn daemon;
    struct wire wire;

    spawn_start(&daemon, NULL);
    wire_hello(&wire, &daemon);
    wire_put(&wire, "t", &table.packed, NULL);
    json_t *result = wire_call(&wire, "object.open", wire_names("t"));
    const json_t *item = json_array_get(json_object_get(result, "items"), 0);
    const json_t *extent = json_array_get(json_object_get(item, "extents"), 0);
    json_decref(
        wire_call(&wire, "pool.attach",
                  json_pack("{s:i, s:[O]}", "pool", 0, "chunks", json_array_get(extent, 0))));
    const uint8_t *map = mmap(NULL, 8 << 20, PROT_READ, MAP_SHARED, wire.fds.fd[0], 0);
    CHECK(map != MAP_FAILED, "map: %s", strerror(errno));
    spawn_kill(&daemon);
    const size_t offset = (size_t)json_integer_value(json_array_get(extent, 1));
    CHECK(memcmp(map + offset, table.packed.head, table.packed.table.head_bytes) == 0,
          "other bytes");
    (void)wire_request(&wire, "object.list", NULL);
    CHECK(wire_line(&wire) == NULL, "an answer from the dead");
    json_decref(result);
    (void)munmap((void *)(uintptr_t)map, 8 << 20);
    wire_close(&wire);

    /* What it left at its place is replaced by the next one. */
    struct spawn next = daemon;
    char flag[128], output[4096];
    CHECK(access(daemon.socket, F_OK) == 0, "no stale socket to find");
    const char *const check[] = {"--check-config", NULL};
    CHECK(spawn_run(check, output, sizeof(output)) == 0, "%s", output);
    spawn_restart(&next);
    wire_hello(&wire, &next);
    const char *const busy[] = {flag_of(flag, sizeof(flag), "control-socket", next.socket),
                                "--pool-size=16MiB", "--pool-reserve=0", NULL};
    CHECK(spawn_run(busy, output, sizeof(output)) == 1, "a second daemon at one socket");
    CHECK(strstr(output, "LP_EBUSY") != NULL, "%s", output);
    json_decref(wire_call(&wire, "object.list", NULL));
    wire_close(&wire);
    spawn_end(&next);
}

/* SIGTERM and SIGINT in the middle of work: an orderly end, what waits is answered. */
static void signals_end_in_order(void)
{
    static const int signals[] = {SIGTERM, SIGINT};

    for (size_t i = 0; i < 2; i++) {
        struct wire_arena arenas[8];
        struct spawn daemon;
        struct wire wire;
        spawn_start(&daemon, NULL);
        wire_hello(&wire, &daemon);
        for (size_t j = 0; j < 8; j++)
            wire_arena_open(&wire, &arenas[j]);
        (void)wire_request(&wire, "arena.open", json_pack("{s:i}", "deadline_ms", 600000));
        json_decref(wire_call(&wire, "object.list", NULL));
        CHECK(kill(daemon.pid, signals[i]) == 0, "kill");
        json_t *answer = wire_answer(&wire);
        struct lp_error error = LP_ERROR_INIT;
        CHECK(answer != NULL && lp_proto_error_read(json_object_get(answer, "error"), &error) &&
                  error.code == LP_ECANCELED,
              "no answer");
        json_decref(answer);
        CHECK(wire_line(&wire) == NULL, "a line after the end");
        CHECK(spawn_wait(&daemon) == 0, "the exit code");
        CHECK(access(daemon.socket, F_OK) != 0, "the socket file stays");
        for (size_t j = 0; j < 8; j++)
            wire_arena_unmap(&arenas[j]);
        wire_close(&wire);
        spawn_clean(&daemon);
    }
}

/* --- Beginnings --- */

/* What cannot start says why, and leaves nothing. */
static void bad_starts_are_refused(void)
{
    struct tmpdir dir;
    char path[128], flag[160], output[4096];

    tmpdir_init(&dir);
    tmpdir_write(&dir, "file", "x", 1);
    flag_of(flag, sizeof(flag), "control-socket", tmpdir_join(&dir, "file", path, sizeof(path)));
    const char *const rows[][5] = {
        {"LP_EEXIST", flag, "--pool-size=16MiB", "--pool-reserve=0", NULL},
        {"need", "--control-socket=/tmp/none/s", "--pool-size=900TiB", "--pool-reserve=0", NULL},
        {"LP_EIO", "--control-socket=/no/such/folder/s", "--pool-size=16MiB", "--pool-reserve=0",
         NULL},
        {"no absolute path", "--control-socket=s", "--pool-size=16MiB", "--pool-reserve=0", NULL},
        {"two chunks", "--pool-size=16MiB", "--pool-chunk=16MiB", "--pool-reserve=0", NULL},
        {"no group", flag, "--control-group=no-such-group", "--pool-size=16MiB", NULL},
        {"no group", flag, "--control-admin-group=no-such-group", "--pool-size=16MiB", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int code = spawn_run(&rows[i][1], output, sizeof(output));
        CHECK(code == 1, "%s: ended with %d: %s", rows[i][0], code, output);
        CHECK(i == 5 || strstr(output, rows[i][0]) != NULL, "wanted %s: %s", rows[i][0], output);
    }
    const char *const usage[] = {"--pool-siz=1G", NULL};
    CHECK(spawn_run(usage, output, sizeof(output)) == 2, "usage: %s", output);
    tmpdir_fini(&dir);
}

/* Anybody may lock a folder that he can read: the start ends with an error, it does not hang. */
static void a_locked_folder_is_no_hang(void)
{
    struct tmpdir dir;
    char path[128], flag[160], output[4096];

    tmpdir_init(&dir);
    flag_of(flag, sizeof(flag), "control-socket", tmpdir_join(&dir, "s", path, sizeof(path)));
    int fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0, "lock %s", dir.path);
    const char *const arguments[] = {flag, "--pool-size=16MiB", "--pool-reserve=0", NULL};
    CHECK(spawn_run(arguments, output, sizeof(output)) == 1, "%s", output);
    CHECK(strstr(output, "LP_EBUSY") != NULL, "%s", output);
    lp_sys_close(&fd);
    tmpdir_fini(&dir);
}

/* A limit of file sizes below a chunk's is an error like others, not a signal. */
static void file_sizes_are_no_signal(void)
{
    const struct rlimit small = {1 << 20, 1 << 20};
    char output[4096];

    const pid_t pid = fork();
    if (pid == 0) {
        if (setrlimit(RLIMIT_FSIZE, &small) != 0)
            _exit(2);
        const char *const arguments[] = {"--control-socket=/tmp/none/s", "--pool-size=16MiB",
                                         "--pool-reserve=0", NULL};
        const int code = spawn_run(arguments, output, sizeof(output));
        _exit(code == 1 && strstr(output, "File too large") != NULL ? 0 : 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "not refused");
}

/* The configuration is checked without a start: 0 or 1. */
static void configurations_are_checked(void)
{
    struct tmpdir dir;
    char path[128], flag[160], output[4096];

    tmpdir_init(&dir);
    tmpdir_write(&dir, "c.json", "{\"pool\": {\"sizes\": \"1G\"}}", 25);
    flag_of(flag, sizeof(flag), "config", tmpdir_join(&dir, "c.json", path, sizeof(path)));
    const char *const check[] = {"--check-config", flag, NULL};
    CHECK(spawn_run(check, output, sizeof(output)) == 1, "a bad file was taken");
    CHECK(strstr(output, "unknown key 'pool.sizes'; nearest is 'pool.size'") != NULL, "%s", output);
    tmpdir_write(&dir, "c.json", "{\"pool\": {\"size\": \"1G\"}}", 24);
    CHECK(spawn_run(check, output, sizeof(output)) == 0, "%s", output);
    const char *const bad_flag[] = {"--check-config", "--pool-size=lots", NULL};
    CHECK(spawn_run(bad_flag, output, sizeof(output)) == 1, "a bad flag was taken");
    tmpdir_fini(&dir);
}

/* Few descriptors: refused with need and have, before anything is made. */
static void descriptors_are_budgeted(void)
{
    const struct rlimit few = {64, 64};
    char output[4096];

    const pid_t pid = fork();
    if (pid == 0) {
        if (setrlimit(RLIMIT_NOFILE, &few) != 0)
            _exit(2);
        const char *const arguments[] = {"--control-socket=/tmp/none/s", "--pool-size=64MiB",
                                         "--pool-reserve=0", NULL};
        const int code = spawn_run(arguments, output, sizeof(output));
        _exit(code == 1 && strstr(output, "descriptors: need") != NULL ? 0 : 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "not refused");
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
              listen(fd, 16) == 0,
          "listen: %s", strerror(errno));
    return fd;
}

/* Socket activation, and what the service manager is told. */
static void sockets_are_inherited(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct spawn daemon = {.pid = 0};
    char message[256] = "", path[128];
    struct wire wire;

    tmpdir_init(&daemon.dir);
    (void)tmpdir_join(&daemon.dir, "s", daemon.socket, sizeof(daemon.socket));
    const int listening = listen_at(daemon.socket);
    const int notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                   tmpdir_join(&daemon.dir, "n", path, sizeof(path)));
    CHECK(bind(notify, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
    spawn_inherit(&daemon, listening, path);
    CHECK(recv(notify, message, sizeof(message) - 1, 0) > 0, "no message");
    CHECK(strncmp(message, "READY=1\n", 8) == 0, "%s", message);
    wire_hello(&wire, &daemon);
    wire_await(&wire, "ready", 1);
    json_decref(wire_call(&wire, "daemon.shutdown", NULL));
    CHECK(spawn_wait(&daemon) == 0, "the exit code");
    CHECK(access(daemon.socket, F_OK) == 0, "the manager's socket file is gone");
    bool stopping = false;
    for (ssize_t n = 1; n > 0;) {
        memset(message, 0, sizeof(message));
        n = recv(notify, message, sizeof(message) - 1, MSG_DONTWAIT);
        stopping = stopping || strcmp(message, "STOPPING=1") == 0;
    }
    CHECK(stopping, "it did not say that it stops");
    wire_close(&wire);
    (void)close(listening);
    (void)close(notify);
    spawn_clean(&daemon);
}

/* Mode bits as configured. */
static void socket_mode_is_set(void)
{
    const char *const flags[] = {"--control-mode=0640", NULL};
    struct spawn daemon;
    struct stat info;

    spawn_start(&daemon, flags);
    CHECK(stat(daemon.socket, &info) == 0 && (info.st_mode & 0777) == 0640, "mode %o",
          (unsigned)info.st_mode);
    spawn_end(&daemon);
}

/* The first answer comes before the pool is resident. */
static void hello_does_not_wait(void)
{
    const char *const flags[] = {"--pool-size=1GiB", "--pool-chunk=64MiB",
                                 "--pool-prefault-threads=1", NULL};
    struct spawn daemon;
    struct wire wire;

    spawn_start(&daemon, flags);
    wire_open(&wire, &daemon);
    json_t *hello = wire_call(&wire, "hello", json_pack("{s:[ii]}", "proto", 0, 0));
    CHECK(wire_number(hello, "ready") == 0, "a GiB was resident at once");
    json_decref(hello);
    wire_close(&wire);
    spawn_end(&daemon);
}

/* An object that nobody seals ends by itself. */
static void unsealed_objects_expire(void)
{
    const char *const flags[] = {"--store-create-ttl-ms=300", NULL};
    struct spawn daemon;
    struct wire wire;

    spawn_start(&daemon, flags);
    wire_hello(&wire, &daemon);
    (void)wire_create(&wire, "late", &table.packed, NULL);
    wire_await(&wire, "unsealed", 0);
    (void)wire_create(&wire, "late", &table.packed, NULL);
    wire_close(&wire);
    spawn_end(&daemon);
}

int main(void)
{
    struct spawn daemon;

    wire_table_init(&table, 3000, 5);
    spawn_start(&daemon, NULL);
    killed_clients_leave_nothing(&daemon);
    cycles_leave_nothing(&daemon);
    too_many_are_turned_away(&daemon);
    others_are_no_admins(&daemon);
    spawn_end(&daemon);
    readers_outlive_a_killed_daemon();
    signals_end_in_order();
    bad_starts_are_refused();
    a_locked_folder_is_no_hang();
    file_sizes_are_no_signal();
    configurations_are_checked();
    descriptors_are_budgeted();
    sockets_are_inherited();
    socket_mode_is_set();
    hello_does_not_wait();
    unsealed_objects_expire();
    wire_table_fini(&table);
    return 0;
}
