/* SPDX-License-Identifier: Apache-2.0 */
/* A gather makes no system call on the thread that asks for it, and futexes alone with workers: the
 * kernel kills whoever makes another. Ends with 77 where the kernel has no filters. */
#include "tests/lib/client_env.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS 20000
#define N 12000u /* rows of a gather: several slices for workers */
#define WAIVED 77

/* From here on any system call but the end of the process, and one more where number is not -1,
 * kills this process; in every thread. Returns 0, or WAIVED. */
static int forbid_calls(int number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        return WAIVED;
    return 0;
}

/* End the process. Not through _exit(): before calls of functions that do not return a sanitizer
 * makes system calls of its own. */
static void end(int status)
{
    for (;;)
        (void)syscall(SYS_exit_group, status);
}

/* What one case needs, made before calls are forbidden. */
struct gathering {
    lp_tensor *tensor;
    const struct client_tensor *expected;
    struct lp_gather gather;
    struct lp_gather bad; /* with a row number that is out of range */
    const int64_t *rows;
};

/* 0, or the line that failed: nothing can be said here. */
static int run(const struct gathering *gathering)
{
    const struct client_tensor *expected = gathering->expected;
    const uint8_t *back = gathering->gather.dst;

    for (int i = 0; i < 5; i++) {
        memset(gathering->gather.dst, 0, gathering->gather.dst_bytes);
        if (lp_tensor_gather(gathering->tensor, &gathering->gather, NULL) != 0)
            return __LINE__ % 64 + 1;
        for (size_t k = 0; k < N; k++)
            if (memcmp(back + k * expected->row_bytes,
                       expected->data + (uint64_t)gathering->rows[k] * expected->row_bytes,
                       expected->row_bytes) != 0)
                return __LINE__ % 64 + 1;
        if (lp_tensor_gather(gathering->tensor, &gathering->bad, NULL) != LP_ERANGE)
            return __LINE__ % 64 + 1;
    }
    return 0;
}

/* In a child of its own, with a client of its own. allowed: a system call, or -1. */
static void be_reader(const struct spawn *daemon, const char *name,
                      const struct client_tensor *expected, uint32_t threads, int allowed)
{
    static int64_t rows[N], bad_rows[N];
    lp_client *client = client_connect(daemon, threads, 0);
    struct gathering gathering = {client_open(client, name), expected, {0}, {0}, rows};
    uint64_t state = 5;

    for (size_t i = 0; i < N; i++)
        bad_rows[i] = rows[i] = (int64_t)(samples_next(&state) % ROWS);
    bad_rows[N - 1] = ROWS;
    lp_options_init(&gathering.gather, sizeof(gathering.gather));
    gathering.gather.rows = rows;
    gathering.gather.n_rows = N;
    gathering.gather.dst_bytes = N * expected->row_bytes;
    gathering.gather.dst = malloc(gathering.gather.dst_bytes);
    gathering.gather.threads = threads;
    gathering.bad = gathering.gather;
    gathering.bad.rows = bad_rows;
    CHECK(run(&gathering) == 0, "a gather failed before any call was forbidden");
    end(forbid_calls(allowed) != 0 ? WAIVED : run(&gathering));
}

/* That the filter bites at all. */
static void be_culprit(int allowed, int called)
{
    if (forbid_calls(allowed) != 0)
        end(WAIVED);
    (void)syscall(called, NULL, 0, 0, NULL, NULL, 0);
    end(0);
}

static int status_of(pid_t child)
{
    int status;

    CHECK(waitpid(child, &status, 0) == child, "waitpid: %s", strerror(errno));
    return status;
}

/* False: filters are not to be had here. */
static bool filter_bites(void)
{
    pid_t child = fork();

    if (child == 0)
        be_culprit(-1, SYS_getpid);
    int status = status_of(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == WAIVED)
        return false;
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "the filter let a call pass");
    child = fork();
    if (child == 0)
        be_culprit(SYS_futex, SYS_futex);
    status = status_of(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the filter stopped what it allows: 0x%x",
          (unsigned)status);
    return true;
}

static void check_reader(const struct spawn *daemon, const char *name,
                         const struct client_tensor *expected, uint32_t threads, int allowed)
{
    const pid_t child = fork();

    CHECK(child >= 0, "fork: %s", strerror(errno));
    if (child == 0)
        be_reader(daemon, name, expected, threads, allowed);
    const int status = status_of(child);
    CHECK(!WIFSIGNALED(status), "%s, %u threads: ended by signal %d: a system call", name, threads,
          WTERMSIG(status));
    CHECK(WEXITSTATUS(status) == 0, "%s, %u threads: ended with %d", name, threads,
          WEXITSTATUS(status));
}

int main(void)
{
    static const struct {
        uint32_t codec, dtype;
        enum samples_kind kind;
    } cases[] = {{LP_CODEC_RAW, LP_DTYPE_F32, SAMPLES_NORMAL},
                 {LP_CODEC_IBP, LP_DTYPE_F32, SAMPLES_NORMAL},
                 {LP_CODEC_LANE, LP_DTYPE_F32, SAMPLES_NORMAL},
                 {LP_CODEC_DICT, LP_DTYPE_I32, SAMPLES_NORMAL},
                 {LP_CODEC_SPARSE, LP_DTYPE_F32, SAMPLES_SPARSE}};
    struct client_tensor tensor;
    struct client_env env;

    if (!filter_bites()) {
        (void)printf("waived: no seccomp filters on this kernel\n");
        return WAIVED;
    }
    client_env_daemon(&env, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *name = lp_codec_name(cases[i].codec);

        client_tensor_init(&tensor, cases[i].dtype, ROWS, 64, cases[i].kind, 1);
        tensor.codec = cases[i].codec;
        client_put(env.client, name, &tensor, 0);
        check_reader(&env.daemon, name, &tensor, 0, -1);
        check_reader(&env.daemon, name, &tensor, 3, SYS_futex);
        client_tensor_fini(&tensor);
    }
    client_env_fini(&env);
    return 0;
}
