/* SPDX-License-Identifier: Apache-2.0 */
/* What base promises to any thread: log lines while topics are reloaded, the first look at the CPU,
 * and publication of plain memory by a release store. */
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 2000

static uint64_t lines;
static uint64_t published[ROUNDS]; /* written before turn says so */
static uint64_t turn;

static void count_line(enum lp_log_level level, const char *topic, const char *line, void *user)
{
    (void)level;
    (void)topic;
    (void)line;
    (void)lp_atomic_fetch_add_relaxed_u64(user, 1);
}

static void *log_lines(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        LP_LOG_INFO("pool", "line %d", i);
        LP_LOG_WARN("pool", "line %d", i);
    }
    return arg;
}

static void *reload_topics(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        (void)lp_log_set_topics(i % 2 != 0 ? "all" : "conn,jobs");
    return arg;
}

static void *look_at_cpu(void *arg)
{
    *(uint32_t *)arg = lp_cpu_flags();
    return arg;
}

static void *publish(void *arg)
{
    for (uint64_t i = 0; i < ROUNDS; i++) {
        published[i] = i * 3;
        lp_atomic_store_release_u64(&turn, i + 1);
    }
    return arg;
}

static void *follow(void *arg)
{
    uint64_t seen = 0;

    while (seen < ROUNDS) {
        const uint64_t now = lp_atomic_load_acquire_u64(&turn);
        for (; seen < now; seen++) {
            if (published[seen] != seen * 3)
                *(uint64_t *)arg += 1;
        }
    }
    return arg;
}

static void check(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

int main(void)
{
    void *(*const bodies[])(void *) = {log_lines,   log_lines, reload_topics, look_at_cpu,
                                       look_at_cpu, publish,   follow};
    pthread_t threads[7];
    uint32_t flags[2] = {1, 2};
    uint64_t wrong = 0;
    void *const args[] = {NULL, NULL, NULL, &flags[0], &flags[1], NULL, &wrong};

    lp_log_set_sink(count_line, &lines);
    for (size_t i = 0; i < 7; i++)
        check(lp_sys_thread_create(&threads[i], bodies[i], args[i]) == 0, "thread");
    for (size_t i = 0; i < 7; i++)
        check(pthread_join(threads[i], NULL) == 0, "join");
    check(lines >= 2 * ROUNDS && lines <= 4 * ROUNDS, "every warning is logged");
    check(flags[0] == flags[1], "threads agree on the CPU");
    check(wrong == 0, "published memory is seen whole");
    return 0;
}
