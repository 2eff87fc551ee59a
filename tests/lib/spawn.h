/* SPDX-License-Identifier: Apache-2.0 */
/* A real lanepackd on a private socket, and a plain client of it that speaks raw lines.
 *
 * Everything here ends the test program (with what went wrong) when it fails, unless it says
 * otherwise: tests read like the conversation that they check. */
#ifndef LP_TESTS_SPAWN_H
#define LP_TESTS_SPAWN_H

#include "base/fdpass.h"
#include "tests/lib/tmpdir.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* End the test program when condition does not hold; what is printf-like. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                  \
            (void)fprintf(stderr, __VA_ARGS__);                                                    \
            (void)fputc('\n', stderr);                                                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct spawn {
    struct tmpdir dir; /* holds socket, and whatever a test puts there */
    char socket[TMPDIR_BYTES + 16];
    pid_t pid;
};

/* Start lanepackd with a pool of 64 MiB in chunks of 8 MiB, and the flags (NULL ends them; NULL
 * itself: none) behind, which count. Returns when it accepts. */
void spawn_start(struct spawn *daemon, const char *const *flags);

/* Start another in the folder of one that was killed, as spawn_start() without flags does. */
void spawn_restart(struct spawn *daemon);

/* Start one that inherits the listening socket, as from systemd, and notifies the socket at that
 * path. dir and socket are the caller's; returns at once. */
void spawn_inherit(struct spawn *daemon, int listening, const char *notify_path);

/* Run lanepackd with just these arguments until it ends by itself; its standard error goes into
 * output (at most room - 1 bytes and a zero). Returns its exit code, or -signal. */
int spawn_run(const char *const *arguments, char *output, size_t room);

/* SIGTERM, and the folder goes; it must end with 0. */
void spawn_end(struct spawn *daemon);

/* SIGKILL; the folder stays until spawn_clean(). */
void spawn_kill(struct spawn *daemon);
void spawn_clean(struct spawn *daemon);

/* Its end by itself is expected: returns exit code or -signal. */
int spawn_wait(struct spawn *daemon);

/* From /proc: open descriptors, and resident anonymous memory in KiB. */
size_t spawn_count_fds(const struct spawn *daemon);
size_t spawn_anonymous_kib(const struct spawn *daemon);

/* --- The client --- */

struct wire {
    int fd;
    uint64_t last_id;
    char *in; /* received, not yet given out */
    size_t in_bytes, in_room;
    struct lp_fdset fds; /* that came with the last answer; owned until the next call */
};

/* Connect; no hello. */
void wire_open(struct wire *wire, const struct spawn *daemon);

/* Connect and say hello with the default namespace. */
void wire_hello(struct wire *wire, const struct spawn *daemon);
void wire_close(struct wire *wire);

/* Send text as it is. false: the peer is gone. */
bool wire_send(struct wire *wire, const char *text);

/* The next line without its newline, or NULL at the end of the stream; free() it. */
char *wire_line(struct wire *wire);

/* The same, parsed; NULL at the end of the stream. */
json_t *wire_answer(struct wire *wire);

/* Send a request (params takes; NULL: none) and return its id. */
uint64_t wire_request(struct wire *wire, const char *method, json_t *params);

/* Call and return the result, which must be one and fit the method's schema; descriptors are in
 * wire->fds. json_decref() it. */
json_t *wire_call(struct wire *wire, const char *method, json_t *params);

/* Call and return the error's code; there must be an error. text, of 256 bytes, may be NULL. */
int wire_call_error(struct wire *wire, const char *method, json_t *params, char *text);

/* Which methods wire_call() has seen succeed in this program. */
bool wire_has_called(const char *method);

/* daemon.status, until its number or truth value at a dotted path is wanted; ends the test after
 * 10 s. */
void wire_await(struct wire *wire, const char *path, json_int_t wanted);

/* An integer or truth value at a dotted path of value. */
json_int_t wire_number(const json_t *value, const char *path);

#endif
