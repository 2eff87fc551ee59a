/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/spawn.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/sys.h"
#include "proto/message.h"
#include "proto/method.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPAWN_WAIT_MS 20000
#define SPAWN_ARGUMENTS_MAX 32

/* --- Processes --- */

static _Noreturn void exec_daemon(const char *const *first, const char *const *second)
{
    char *argv[SPAWN_ARGUMENTS_MAX];
    size_t n = 0;

    /* A test that fails leaves no daemon behind. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    argv[n++] = (char *)(uintptr_t)LP_TEST_DAEMON;
    for (; first != NULL && *first != NULL && n < SPAWN_ARGUMENTS_MAX - 1; first++)
        argv[n++] = (char *)(uintptr_t)*first;
    for (; second != NULL && *second != NULL && n < SPAWN_ARGUMENTS_MAX - 1; second++)
        argv[n++] = (char *)(uintptr_t)*second;
    argv[n] = NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no daemon behind */
    (void)execv(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

static int status_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int wait_for(pid_t pid)
{
    int status;

    CHECK(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
    return status_code(status);
}

static int try_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0, "socket: %s", strerror(errno));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        lp_sys_close(&fd);
    return fd;
}

static void sleep_ms(int ms)
{
    (void)poll(NULL, 0, ms);
}

static void await_listening(const struct spawn *daemon)
{
    for (int waited = 0; waited < SPAWN_WAIT_MS; waited += 5) {
        int status;
        int fd = try_connect(daemon->socket);
        if (fd >= 0) {
            lp_sys_close(&fd);
            return;
        }
        CHECK(waitpid(daemon->pid, &status, WNOHANG) == 0, "the daemon ended with %d",
              status_code(status));
        sleep_ms(5);
    }
    CHECK(false, "the daemon does not listen");
}

/* In a folder that is there. */
static void start(struct spawn *daemon, const char *const *flags)
{
    char socket_flag[128];
    const char *const base[] = {socket_flag,
                                "--pool-size=64MiB",
                                "--pool-chunk=8MiB",
                                "--pool-reserve=0",
                                "--control-group=",
                                "--pool-prefault-threads=2",
                                NULL};

    (void)snprintf(socket_flag, sizeof(socket_flag), "--control-socket=%s", daemon->socket);
    daemon->pid = fork();
    CHECK(daemon->pid >= 0, "fork: %s", strerror(errno));
    if (daemon->pid == 0)
        exec_daemon(base, flags);
    await_listening(daemon);
}

void spawn_start(struct spawn *daemon, const char *const *flags)
{
    tmpdir_init(&daemon->dir);
    (void)tmpdir_join(&daemon->dir, "s", daemon->socket, sizeof(daemon->socket));
    start(daemon, flags);
}

void spawn_restart(struct spawn *daemon)
{
    start(daemon, NULL);
}

void spawn_inherit(struct spawn *daemon, int listening, const char *notify_path)
{
    static const char *const flags[] = {"--pool-size=64MiB", "--pool-reserve=0", NULL};
    char pid_text[16];

    daemon->pid = fork();
    CHECK(daemon->pid >= 0, "fork: %s", strerror(errno));
    if (daemon->pid > 0)
        return;
    (void)snprintf(pid_text, sizeof(pid_text), "%d", (int)getpid());
    (void)setenv("LISTEN_PID", pid_text, 1);
    (void)setenv("LISTEN_FDS", "1", 1);
    (void)setenv("NOTIFY_SOCKET", notify_path, 1);
    if (listening == 3)
        (void)fcntl(3, F_SETFD, 0);
    else
        (void)dup2(listening, 3);
    exec_daemon(flags, NULL);
}

int spawn_run(const char *const *arguments, char *output, size_t room)
{
    size_t got = 0;
    int ends[2];

    CHECK(pipe(ends) == 0, "pipe: %s", strerror(errno));
    const pid_t pid = fork();
    CHECK(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        exec_daemon(arguments, NULL);
    }
    (void)close(ends[1]);
    for (ssize_t n = 1; n > 0 && got + 1 < room;) {
        n = read(ends[0], output + got, room - 1 - got);
        got += n > 0 ? (size_t)n : 0;
    }
    output[got] = '\0';
    (void)close(ends[0]);
    return wait_for(pid);
}

int spawn_wait(struct spawn *daemon)
{
    const int code = wait_for(daemon->pid);

    daemon->pid = 0;
    return code;
}

void spawn_clean(struct spawn *daemon)
{
    tmpdir_fini(&daemon->dir);
}

void spawn_end(struct spawn *daemon)
{
    CHECK(kill(daemon->pid, SIGTERM) == 0, "kill: %s", strerror(errno));
    const int code = spawn_wait(daemon);
    CHECK(code == 0, "the daemon ended with %d", code);
    CHECK(access(daemon->socket, F_OK) != 0, "the socket file was left behind");
    spawn_clean(daemon);
}

void spawn_kill(struct spawn *daemon)
{
    CHECK(kill(daemon->pid, SIGKILL) == 0, "kill: %s", strerror(errno));
    CHECK(spawn_wait(daemon) == -SIGKILL, "the daemon ended otherwise");
}

size_t spawn_count_fds(const struct spawn *daemon)
{
    char path[64];
    size_t n = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)daemon->pid);
    DIR *dir = opendir(path);
    CHECK(dir != NULL, "%s: %s", path, strerror(errno));
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

size_t spawn_anonymous_kib(const struct spawn *daemon)
{
    char path[64], line[256];
    size_t kib = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)daemon->pid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtoul(line + 8, NULL, 10);
    }
    (void)fclose(file);
    return kib;
}

/* --- Lines --- */

void wire_open(struct wire *wire, const struct spawn *daemon)
{
    memset(wire, 0, sizeof(*wire));
    wire->fd = try_connect(daemon->socket);
    CHECK(wire->fd >= 0, "connect: %s", strerror(errno));
}

void wire_hello(struct wire *wire, const struct spawn *daemon)
{
    wire_open(wire, daemon);
    json_decref(
        wire_call(wire, "hello", json_pack("{s:[ii], s:s}", "proto", 0, 0, "client", "test/1")));
}

void wire_close(struct wire *wire)
{
    lp_fdset_close(&wire->fds);
    lp_sys_close(&wire->fd);
    free(wire->in);
    wire->in = NULL;
    wire->in_bytes = 0;
    wire->in_room = 0;
}

bool wire_send(struct wire *wire, const char *text)
{
    const size_t bytes = strlen(text);
    size_t done = 0;

    while (done < bytes) {
        const ssize_t n = send(wire->fd, text + done, bytes - done, MSG_NOSIGNAL);
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return false;
        CHECK(n > 0, "send: %s", strerror(errno));
        done += (size_t)n;
    }
    return true;
}

/* Receive some; false at the end of the stream. */
static bool receive(struct wire *wire)
{
    struct lp_error err = LP_ERROR_INIT;
    struct pollfd look = {.fd = wire->fd, .events = POLLIN};
    struct lp_fdset fds;
    size_t received;

    if (wire->in_room < wire->in_bytes + 65536) {
        wire->in_room = wire->in_bytes + 65536;
        wire->in = realloc(wire->in, wire->in_room);
        CHECK(wire->in != NULL, "no memory");
    }
    CHECK(poll(&look, 1, SPAWN_WAIT_MS) == 1, "no answer comes");
    const int rc = lp_fdpass_recv(wire->fd, wire->in + wire->in_bytes,
                                  wire->in_room - wire->in_bytes, &fds, &received, &err);
    if (rc == LP_ECONN)
        return false;
    CHECK(rc == 0, "%s", err.text);
    if (fds.count > 0) {
        lp_fdset_close(&wire->fds);
        wire->fds = fds;
    }
    wire->in_bytes += received;
    return true;
}

char *wire_line(struct wire *wire)
{
    for (;;) {
        char *newline = wire->in_bytes > 0 ? memchr(wire->in, '\n', wire->in_bytes) : NULL;
        if (newline != NULL) {
            const size_t bytes = (size_t)(newline - wire->in);
            char *line = strndup(wire->in, bytes);
            CHECK(line != NULL, "no memory");
            wire->in_bytes -= bytes + 1;
            memmove(wire->in, newline + 1, wire->in_bytes);
            return line;
        }
        if (!receive(wire))
            return NULL;
    }
}

json_t *wire_answer(struct wire *wire)
{
    char *line = wire_line(wire);

    if (line == NULL)
        return NULL;
    json_t *answer = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    CHECK(answer != NULL, "no JSON: %s", line);
    free(line);
    return answer;
}

/* --- Calls --- */

static bool called[LP_METHODS];

bool wire_has_called(const char *method)
{
    const struct lp_method *row = lp_proto_method_find(method, NULL);

    return row != NULL && called[row->id];
}

uint64_t wire_request(struct wire *wire, const char *method, json_t *params)
{
    char *line;
    size_t bytes;

    CHECK(lp_proto_request_emit(++wire->last_id, method, params, &line, &bytes, NULL) == 0,
          "no memory");
    json_decref(params);
    char *text = strndup(line, bytes);
    lp_mem_free(line);
    (void)wire_send(wire, text);
    free(text);
    return wire->last_id;
}

static json_t *call(struct wire *wire, const char *method, json_t *params)
{
    lp_fdset_close(&wire->fds);
    const uint64_t id = wire_request(wire, method, params);
    json_t *answer = wire_answer(wire);
    CHECK(answer != NULL, "%s: the connection was closed", method);
    CHECK(json_integer_value(json_object_get(answer, "id")) == (json_int_t)id,
          "%s: an answer to another request", method);
    return answer;
}

json_t *wire_call(struct wire *wire, const char *method, json_t *params)
{
    const struct lp_method *row = lp_proto_method_find(method, NULL);
    struct lp_error err = LP_ERROR_INIT;

    json_t *answer = call(wire, method, params);
    json_t *result = json_incref(json_object_get(answer, "result"));
    char *text = json_dumps(answer, 0);
    CHECK(result != NULL, "%s: %s", method, text);
    free(text);
    CHECK(lp_proto_schema_check(row->result, result, "result", &err) == 0, "%s: %s", method,
          err.text);
    CHECK((size_t)json_integer_value(json_object_get(result, "fds")) == wire->fds.count,
          "%s: %zu descriptors came", method, wire->fds.count);
    json_decref(answer);
    called[row->id] = true;
    return result;
}

int wire_call_error(struct wire *wire, const char *method, json_t *params, char *text)
{
    struct lp_error error = LP_ERROR_INIT;

    json_t *answer = call(wire, method, params);
    char *all = json_dumps(answer, 0);
    CHECK(lp_proto_error_read(json_object_get(answer, "error"), &error), "%s: %s", method, all);
    free(all);
    CHECK(wire->fds.count == 0, "%s: descriptors came with an error", method);
    json_decref(answer);
    if (text != NULL)
        (void)snprintf(text, 256, "%s", error.text);
    return error.code;
}

json_int_t wire_number(const json_t *value, const char *path)
{
    char part[64];

    while (*path != '\0') {
        const size_t n = strcspn(path, ".");
        (void)snprintf(part, sizeof(part), "%.*s", (int)n, path);
        value = json_object_get(value, part);
        path += n + (path[n] == '.');
    }
    CHECK(json_is_integer(value) || json_is_boolean(value), "no number at %s", part);
    return json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
}

void wire_await(struct wire *wire, const char *path, json_int_t wanted)
{
    const uint64_t end = lp_clock_now_ns() + 10 * LP_NS_PER_S;

    for (;;) {
        json_t *status = wire_call(wire, "daemon.status", NULL);
        const json_int_t now = wire_number(status, path);
        json_decref(status);
        if (now == wanted)
            return;
        CHECK(lp_clock_now_ns() < end, "%s stays %lld", path, (long long)now);
        sleep_ms(2);
    }
}
