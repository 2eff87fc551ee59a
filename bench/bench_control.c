/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket: how soon a fresh daemon answers, how many requests one connection gets
 * through, and how long the pool takes to be resident. Wall-clock time: two processes take part.
 *
 * The daemon is the lanepackd beside this program, or the one that --daemon names, on a private
 * socket in a folder of its own. */
#include "base/bytes.h"
#include "base/clock.h"
#include "bench/bench.h"

#include <jansson.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELLO_BAR_MS 100.0   /* docs: the first answer, whatever the pool's size */
#define REQUESTS_BAR 20000.0 /* a second, on one connection */
#define START_WAIT_NS (10 * LP_NS_PER_S)
#define LINE_BYTES 4096

struct control {
    const char *daemon; /* path of the program */
    const char *pool;   /* value of --pool-size */
    uint32_t requests, runs;
    bool json;
    char folder[64], socket[96];
    pid_t pid;
    double start_to_answer_ms, hello_ms, requests_per_s, ready_s, prefault_gib_per_s;
    double pool_bytes;
};

/* --- The daemon --- */

static int start_daemon(struct control *control)
{
    char socket_flag[128], pool_flag[64];

    (void)snprintf(control->folder, sizeof(control->folder), "/tmp/lanepack-bench-XXXXXX");
    if (mkdtemp(control->folder) == NULL)
        return -1;
    (void)snprintf(control->socket, sizeof(control->socket), "%s/s", control->folder);
    (void)snprintf(socket_flag, sizeof(socket_flag), "--control-socket=%s", control->socket);
    (void)snprintf(pool_flag, sizeof(pool_flag), "--pool-size=%s", control->pool);
    control->pid = fork();
    if (control->pid != 0)
        return control->pid > 0 ? 0 : -1;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)execl(control->daemon, control->daemon, socket_flag, pool_flag,
                "--control-group=", "--log-level=warn", (char *)NULL);
    perror(control->daemon);
    _exit(127);
}

static void end_daemon(const struct control *control)
{
    if (control->pid > 0) {
        (void)kill(control->pid, SIGTERM);
        (void)waitpid(control->pid, NULL, 0);
    }
    if (control->folder[0] != '\0') {
        (void)unlink(control->socket);
        (void)rmdir(control->folder);
    }
}

/* --- One connection --- */

static int connect_once(const struct control *control)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", control->socket);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* Until the daemon listens; -1: it does not. */
static int connect_soon(const struct control *control)
{
    const uint64_t end = lp_clock_now_ns() + START_WAIT_NS;

    while (lp_clock_now_ns() < end) {
        const int fd = connect_once(control);
        if (fd >= 0)
            return fd;
        if (waitpid(control->pid, NULL, WNOHANG) != 0)
            return -1;
        (void)poll(NULL, 0, 1);
    }
    return -1;
}

/* Send a line, receive one; line has LINE_BYTES. false: an error, or the connection ended. */
static bool talk(int fd, const char *request, char *line)
{
    const size_t bytes = strlen(request);
    size_t got = 0;

    if (send(fd, request, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        return false;
    while (got == 0 || line[got - 1] != '\n') {
        const ssize_t n = recv(fd, line + got, LINE_BYTES - 1 - got, 0);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    line[got] = '\0';
    return strstr(line, "\"result\":") != NULL;
}

static bool hello(int fd, char *line)
{
    return talk(
        fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"proto\":[0,0]}}\n",
        line);
}

/* --- Measurements --- */

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *values, uint32_t n)
{
    qsort(values, n, sizeof(values[0]), compare_doubles);
    return values[n / 2];
}

static bool measure_start(struct control *control)
{
    char line[LINE_BYTES];
    const uint64_t start = lp_clock_now_ns();

    if (start_daemon(control) != 0)
        return false;
    const int fd = connect_soon(control);
    const bool good = fd >= 0 && hello(fd, line);
    control->start_to_answer_ms = (double)(lp_clock_now_ns() - start) / 1e6;
    if (fd >= 0)
        (void)close(fd);
    return good;
}

/* Connect and hello, while the pool is still being touched. */
static bool measure_hello(struct control *control)
{
    double ms[21];

    for (uint32_t i = 0; i < LP_ARRAY_LEN(ms); i++) {
        char line[LINE_BYTES];
        const uint64_t start = lp_clock_now_ns();
        const int fd = connect_once(control);
        const bool good = fd >= 0 && hello(fd, line);
        ms[i] = (double)(lp_clock_now_ns() - start) / 1e6;
        if (fd >= 0)
            (void)close(fd);
        if (!good)
            return false;
    }
    control->hello_ms = median(ms, LP_ARRAY_LEN(ms));
    return true;
}

/* Ask until the pool is resident, gently; then the daemon's own figures. */
static bool measure_ready(struct control *control)
{
    char line[LINE_BYTES];
    const int fd = connect_once(control);
    bool good = fd >= 0 && hello(fd, line);

    while (good) {
        good = talk(fd, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"daemon.status\"}\n", line);
        if (!good || strstr(line, "\"ready\":true") != NULL)
            break;
        (void)poll(NULL, 0, 20);
    }
    json_t *answer = good ? json_loads(line, 0, NULL) : NULL;
    const json_t *status = json_object_get(answer, "result");
    control->ready_s = json_number_value(json_object_get(status, "prefault_seconds"));
    control->prefault_gib_per_s =
        json_number_value(json_object_get(status, "prefault_bytes_per_s")) / (double)(1u << 30);
    control->pool_bytes =
        json_number_value(json_object_get(json_object_get(status, "pool"), "bytes"));
    json_decref(answer);
    if (fd >= 0)
        (void)close(fd);
    return good;
}

static bool measure_requests(struct control *control)
{
    char line[LINE_BYTES];
    double rate[16];
    const int fd = connect_once(control);
    bool good = fd >= 0 && hello(fd, line);

    for (uint32_t run = 0; run < control->runs && good; run++) {
        const uint64_t start = lp_clock_now_ns();
        for (uint32_t i = 0; i < control->requests && good; i++)
            good = talk(fd,
                        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"object.exists\",\"params\":"
                        "{\"names\":[\"layers.0.k\"]}}\n",
                        line);
        rate[run] = control->requests / ((double)(lp_clock_now_ns() - start) / 1e9);
    }
    if (good)
        control->requests_per_s = median(rate, control->runs);
    if (fd >= 0)
        (void)close(fd);
    return good;
}

/* --- Report --- */

static int report(const struct control *control)
{
    const bool met =
        control->start_to_answer_ms < HELLO_BAR_MS && control->requests_per_s >= REQUESTS_BAR;

    if (control->json) {
        (void)printf("{\"bench\":\"control\",\"pool_bytes\":%.0f,\"start_to_answer_ms\":%.2f,"
                     "\"hello_ms\":%.3f,\"requests_per_s\":%.0f,\"prefault_seconds\":%.4f,"
                     "\"prefault_gib_per_s\":%.3f,\"met\":%s}\n",
                     control->pool_bytes, control->start_to_answer_ms, control->hello_ms,
                     control->requests_per_s, control->ready_s, control->prefault_gib_per_s,
                     met ? "true" : "false");
        return met ? BENCH_OK : BENCH_FAILED;
    }
    (void)printf("control socket, pool of %.0f MiB\n", control->pool_bytes / (double)(1u << 20));
    (void)printf("  start to first answer   %8.2f ms   (bar: below %.0f)\n",
                 control->start_to_answer_ms, HELLO_BAR_MS);
    (void)printf("  connect and hello       %8.3f ms   while the pool is made resident\n",
                 control->hello_ms);
    (void)printf("  object.exists           %8.0f /s   one connection, one at a time (bar: %.0f)\n",
                 control->requests_per_s, REQUESTS_BAR);
    (void)printf("  pool resident           %8.3f s    %.2f GiB/s\n", control->ready_s,
                 control->prefault_gib_per_s);
    return met ? BENCH_OK : BENCH_FAILED;
}

/* lanepackd in the folder of this program. */
static const char *beside(char *path, size_t room)
{
    const ssize_t n = readlink("/proc/self/exe", path, room - 16);

    if (n <= 0)
        return "lanepackd";
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    (void)snprintf(slash, room - (size_t)(slash - path), "/lanepackd");
    return path;
}

static bool read_arguments(int argc, char **argv, struct control *control)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0) {
            control->json = true;
            continue;
        }
        if (value == NULL)
            return false;
        if (strcmp(argv[i], "--daemon") == 0)
            control->daemon = value;
        else if (strcmp(argv[i], "--pool") == 0)
            control->pool = value;
        else if (strcmp(argv[i], "--requests") == 0)
            control->requests = (uint32_t)strtoul(value, NULL, 10);
        else
            return false;
        i++;
    }
    return control->requests > 0;
}

int bench_control_main(int argc, char **argv)
{
    struct control control = {.pool = "1GiB", .requests = 20000, .runs = 5};
    char path[4096];

    control.daemon = beside(path, sizeof(path));
    if (!read_arguments(argc, argv, &control)) {
        (void)fprintf(stderr, "usage: lanepack-bench control [--daemon PROGRAM] [--pool SIZE] "
                              "[--requests N] [--json]\n");
        return BENCH_USAGE;
    }
    const bool good = measure_start(&control) && measure_hello(&control) &&
                      measure_ready(&control) && measure_requests(&control);
    end_daemon(&control);
    if (!good) {
        (void)fprintf(stderr, "lanepack-bench: no answer from %s\n", control.daemon);
        return BENCH_FAILED;
    }
    return report(&control);
}
