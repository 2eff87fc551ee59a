/* SPDX-License-Identifier: Apache-2.0 */
/* Peers in Python: peers_python.py, which lies beside this program, measures them in a process of
 * its own and tells in JSON. */
#include "base/bytes.h"
#include "bench/peers.h"
#include "codec/shape.h"

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX 65536u
#define ANSWER_SECONDS_MAX 300

extern char **environ;

/* What one start needs. */
struct helper {
    char script[4096], python[4096], input[64];
    int answer_fd; /* our end of its standard output */
    pid_t pid;
};

static bool place_helper(struct helper *helper, const struct peer_places *places)
{
    char self[3072];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n <= 0)
        return false;
    self[n] = '\0';
    slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    (void)snprintf(helper->script, sizeof(helper->script), "%s/peers_python.py", self);
    (void)snprintf(helper->python, sizeof(helper->python), "python3");
    if (places->folder != NULL) {
        (void)snprintf(helper->python, sizeof(helper->python), "%s/bin/python3", places->folder);
        if (access(helper->python, X_OK) != 0)
            (void)snprintf(helper->python, sizeof(helper->python), "python3");
    }
    if (places->python != NULL)
        (void)snprintf(helper->python, sizeof(helper->python), "%s", places->python);
    return access(helper->script, R_OK) == 0;
}

/* The bytes before they repeat, in a file of our own that close and unlink end. */
static int write_input(struct helper *helper, const struct peer_input *input, struct lp_error *err)
{
    const uint64_t n = LP_MIN(input->n_bytes, input->repeat_bytes);
    uint64_t done = 0;
    int fd;

    (void)snprintf(helper->input, sizeof(helper->input), "/tmp/lanepack-bench-XXXXXX");
    fd = mkstemp(helper->input);
    if (fd < 0)
        return lp_error_set_errno(err, LP_EIO, errno, "a file for the Python peers");
    while (done < n) {
        const ssize_t wrote = write(fd, (const uint8_t *)input->bytes + done, n - done);

        if (wrote <= 0)
            break;
        done += (uint64_t)wrote;
    }
    (void)close(fd);
    if (done == n)
        return 0;
    (void)unlink(helper->input);
    return lp_error_set(err, LP_EIO, "a file for the Python peers could not be written");
}

static int start(struct helper *helper, const struct peer_input *input, struct lp_error *err)
{
    char bytes[24], piece[24], runs[12];
    char *const argv[] = {helper->python,
                          helper->script,
                          (char *)"--input",
                          helper->input,
                          (char *)"--dtype",
                          (char *)(uintptr_t)lp_codec_dtype_info(input->dtype)->name,
                          (char *)"--bytes",
                          bytes,
                          (char *)"--piece",
                          piece,
                          (char *)"--runs",
                          runs,
                          NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], rc;

    (void)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)input->n_bytes);
    (void)snprintf(piece, sizeof(piece), "%llu",
                   (unsigned long long)LP_MIN(PEER_PIECE_BYTES, input->repeat_bytes));
    (void)snprintf(runs, sizeof(runs), "%u", (unsigned)input->runs);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return lp_error_set_errno(err, LP_EIO, errno, "a pipe for the Python peers");
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    rc = posix_spawnp(&helper->pid, helper->python, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    helper->answer_fd = ends[0];
    if (rc == 0)
        return 0;
    (void)close(ends[0]);
    return lp_error_set_errno(err, LP_ENOENT, rc, "%s", helper->python);
}

static int64_t seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* All it says until it ends. Returns the length, or -1: too long, too late, or it failed. */
static ssize_t hear(struct helper *helper, char *answer)
{
    const int64_t until = seconds_now() + ANSWER_SECONDS_MAX;
    size_t used = 0;
    bool ended = false;
    int status = 0;

    while (!ended && used < ANSWER_BYTES_MAX && seconds_now() < until) {
        struct pollfd poll_fd = {helper->answer_fd, POLLIN, 0};
        ssize_t n;

        if (poll(&poll_fd, 1, 1000) <= 0)
            continue;
        n = read(helper->answer_fd, answer + used, ANSWER_BYTES_MAX - used);
        ended = n == 0 || (n < 0 && errno != EINTR);
        used += n > 0 ? (size_t)n : 0;
    }
    (void)close(helper->answer_fd);
    if (!ended)
        (void)kill(helper->pid, SIGKILL);
    while (waitpid(helper->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? (ssize_t)used : -1;
}

static void take_text(char *dst, size_t room, const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));

    (void)snprintf(dst, room, "%s", text != NULL ? text : "?");
}

static uint64_t take_count(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (uint64_t)value : 0;
}

static void take_figures(struct peer_figures *ret_figures, const json_t *object,
                         const struct peer_input *input)
{
    struct peer_figures figures = {.state = PEER_FAILED};
    char state[16];

    take_text(figures.name, sizeof(figures.name), object, "name");
    take_text(figures.why, sizeof(figures.why), object, "reason");
    take_text(state, sizeof(state), object, "state");
    if (strcmp(state, "waived") == 0)
        figures.state = PEER_WAIVED;
    if (strcmp(state, "measured") == 0) {
        take_text(figures.version, sizeof(figures.version), object, "version");
        figures.raw_bytes = take_count(object, "raw_bytes");
        figures.stored_bytes = take_count(object, "stored_bytes");
        figures.encode_seconds = json_number_value(json_object_get(object, "encode_seconds"));
        figures.decode_seconds = json_number_value(json_object_get(object, "decode_seconds"));
        if (figures.raw_bytes >= input->n_bytes && figures.stored_bytes > 0)
            figures.state = PEER_MEASURED;
    }
    *ret_figures = figures;
}

/* One row in place of all. */
static uint32_t tell_once(struct peer_figures *figures, uint32_t n, enum peer_state state,
                          const char *why)
{
    memset(&figures[n], 0, sizeof(figures[n]));
    (void)snprintf(figures[n].name, sizeof(figures[n].name), "Python peers");
    (void)snprintf(figures[n].why, sizeof(figures[n].why), "%.100s", why);
    figures[n].state = state;
    return n + 1;
}

static uint32_t take_answer(struct peer_figures *figures, uint32_t n, const char *answer,
                            size_t answer_bytes, const struct peer_input *input)
{
    json_t *const root = json_loadb(answer, answer_bytes, JSON_REJECT_DUPLICATES, NULL);
    const json_t *const peers = json_object_get(root, "peers");

    if (!json_is_array(peers))
        n = tell_once(figures, n, PEER_FAILED, "peers_python.py gave no JSON");
    for (size_t i = 0; i < json_array_size(peers) && n < PEERS_MAX; i++)
        take_figures(&figures[n++], json_array_get(peers, i), input);
    json_decref(root);
    return n;
}

int bench_peers_python(const struct peer_input *input, const struct peer_places *places,
                       struct peer_figures ret_figures[PEERS_MAX], uint32_t n, struct lp_error *err)
{
    static char answer[ANSWER_BYTES_MAX];
    struct lp_error why = LP_ERROR_INIT;
    struct helper helper;
    ssize_t n_answer;
    int rc;

    if (!place_helper(&helper, places))
        return (int)tell_once(ret_figures, n, PEER_WAIVED,
                              "peers_python.py is not beside the bench");
    LP_TRY(rc, write_input(&helper, input, err));
    if (start(&helper, input, &why) < 0) {
        (void)unlink(helper.input);
        return (int)tell_once(ret_figures, n, PEER_WAIVED, why.text);
    }
    n_answer = hear(&helper, answer);
    (void)unlink(helper.input);
    if (n_answer < 0)
        return (int)tell_once(ret_figures, n, PEER_FAILED,
                              "peers_python.py ended badly or took too long");
    return (int)take_answer(ret_figures, n, answer, (size_t)n_answer, input);
}
