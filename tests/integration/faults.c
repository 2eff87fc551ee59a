/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon inside this process, and its n-th allocation, send, receive, map, memfd, seal or mlock
 * fails, n = 1, 2, ... until a whole conversation goes through. Each time: every request gets a
 * result, an error with a code, or the end of its connection; the next conversation works; nothing
 * is left behind. */
#include "base/atomic.h"
#include "base/fault.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "proto/message.h"
#include "tests/integration/wire_put.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct wire_table table;
static struct spawn daemon_place;
static struct lp_config config;
static int daemon_rc;
static uint32_t daemon_ended; /* atomic */

/* --- The fault --- */

static pthread_t test_thread;
static uint32_t fault_site, fault_nth, fault_calls; /* atomic; nth 0: none is armed */

/* Of the daemon's threads only. */
static bool on_fault(enum lp_fault_site site, void *user)
{
    (void)user;
    if (site != lp_atomic_load_acquire_u32(&fault_site) ||
        pthread_equal(pthread_self(), test_thread))
        return false;
    const uint32_t nth = lp_atomic_load_acquire_u32(&fault_nth);
    return nth > 0 && lp_atomic_fetch_add_u32(&fault_calls, 1) + 1 == nth;
}

static void arm(uint32_t nth)
{
    lp_atomic_store_release_u32(&fault_calls, 0);
    lp_atomic_store_release_u32(&fault_nth, nth);
}

static bool was_hit(void)
{
    return lp_atomic_load_acquire_u32(&fault_calls) >= lp_atomic_load_acquire_u32(&fault_nth);
}

/* --- The conversation --- */

/* Send and take the answer: the result (decref it), or NULL: an error, or the end. */
static json_t *try_call(struct wire *wire, const char *method, json_t *params)
{
    lp_fdset_close(&wire->fds);
    (void)wire_request(wire, method, params);
    json_t *answer = wire_answer(wire);
    struct lp_error error = LP_ERROR_INIT;
    json_t *result = json_incref(json_object_get(answer, "result"));

    CHECK(answer == NULL || result != NULL ||
              (lp_proto_error_read(json_object_get(answer, "error"), &error) && error.code < 0),
          "%s: an answer that is none", method);
    json_decref(answer);
    return result;
}

/* As much of a put and its reading as the fault lets through. */
static void converse(void)
{
    struct wire wire;
    char text[64];

    wire_open(&wire, &daemon_place);
    json_decref(try_call(&wire, "hello", json_pack("{s:[ii]}", "proto", 0, 0)));
    json_t *arena = try_call(&wire, "arena.open", json_pack("{s:i}", "deadline_ms", 200));
    json_t *created =
        try_call(&wire, "object.create",
                 json_pack("{s:[o]}", "items", wire_create_item("f", &table.packed, "replace")));
    const json_t *item = json_array_get(json_object_get(created, "items"), 0);
    if (arena != NULL && json_object_get(item, "oid") != NULL)
        json_decref(
            try_call(&wire, "object.seal",
                     json_pack("{s:[{s:O, s:[{s:O, s:i, s:i}]}]}", "items", "oid",
                               json_object_get(item, "oid"), "parts", "arena",
                               json_object_get(arena, "arena"), "offset", 4096, "bytes", 512)));
    json_decref(created);
    json_decref(arena);
    json_decref(try_call(&wire, "object.open", wire_names("k")));
    json_decref(try_call(&wire, "object.info", wire_names("k")));
    json_decref(try_call(&wire, "object.list", NULL));
    json_decref(try_call(&wire, "object.exists", wire_names("k")));
    json_decref(try_call(&wire, "daemon.status", NULL));
    json_decref(try_call(&wire, "daemon.stats", NULL));
    json_decref(try_call(&wire, "config.get", NULL));
    json_decref(try_call(&wire, "object.delete", wire_names("f")));
    (void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"x\"}\nx\n");
    if (wire_send(&wire, text))
        json_decref(wire_answer(&wire));
    wire_close(&wire);
}

/* Work off the loop is done: chunks that were used up have been replaced, or could not be. */
static void await_idle(void)
{
    struct wire wire;
    bool idle = false;

    wire_hello(&wire, &daemon_place);
    while (!idle) {
        json_t *status = wire_call(&wire, "daemon.status", NULL);
        idle = json_array_size(json_object_get(status, "jobs")) == 0 &&
               wire_number(status, "clients") == 1;
        json_decref(status);
        (void)usleep(500);
    }
    wire_close(&wire);
}

/* All works again, and nothing of the failed conversation is left. A put takes its time, so it is
 * not tried after each of a thousand failures. */
static void recover(bool put)
{
    struct wire wire;

    wire_hello(&wire, &daemon_place);
    wire_await(&wire, "clients", 1);
    wire_await(&wire, "unsealed", 0);
    wire_await(&wire, "leases", 0);
    wire_await(&wire, "objects", 1);
    wire_await(&wire, "pool.arena_bytes", 0);
    if (put) {
        wire_put(&wire, "r", &table.packed, NULL);
        wire_check(&wire, "r", &table.packed);
        json_decref(wire_call(&wire, "object.delete", wire_names("r")));
    }
    wire_close(&wire);
}

static void fail_each(enum lp_fault_site site, const char *name, uint32_t at_least)
{
    uint32_t nth = 0;

    lp_atomic_store_release_u32(&fault_site, site);
    do {
        arm(++nth);
        converse();
        if (site >= LP_FAULT_MEMFD && site <= LP_FAULT_SEAL)
            await_idle();
        const bool hit = was_hit();
        arm(0);
        recover(nth % 16 == 1);
        if (!hit)
            break;
    } while (nth < 5000);
    CHECK(nth < 5000 && nth > at_least, "%s: %u failures", name, nth - 1);
    (void)fprintf(stderr, "%s: %u failures survived\n", name, nth - 1);
}

/* --- The daemon --- */

static void *run_daemon(void *arg)
{
    struct lp_error err = LP_ERROR_INIT;

    (void)arg;
    daemon_rc = lp_daemon_run(&config, &err);
    CHECK(daemon_rc == 0 || err.text[0] != '\0', "it ends with %d and says nothing", daemon_rc);
    lp_atomic_store_release_u32(&daemon_ended, 1);
    return NULL;
}

static pthread_t start_daemon(void)
{
    pthread_t thread;

    lp_atomic_store_release_u32(&daemon_ended, 0);
    CHECK(pthread_create(&thread, NULL, run_daemon, NULL) == 0, "a thread");
    return thread;
}

/* Connected, or false: it does not listen, or no more. */
static bool try_open(struct wire *wire)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memset(wire, 0, sizeof(*wire));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", daemon_place.socket);
    wire->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(wire->fd >= 0, "a socket");
    if (connect(wire->fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return true;
    wire_close(wire);
    return false;
}

/* Until it ends: by itself, or because it is asked to. */
static void end_daemon(pthread_t thread)
{
    struct wire wire;

    while (lp_atomic_load_acquire_u32(&daemon_ended) == 0) {
        if (try_open(&wire)) {
            json_decref(try_call(&wire, "hello", json_pack("{s:[ii]}", "proto", 0, 0)));
            json_decref(try_call(&wire, "daemon.shutdown", NULL));
            wire_close(&wire);
        }
        (void)usleep(1000);
    }
    CHECK(pthread_join(thread, NULL) == 0, "join");
    CHECK(access(daemon_place.socket, F_OK) != 0, "the socket file stays");
}

/* Each call on the way to a resident pool fails once: the daemon ends with a sentence, or goes on
 * without what it did not need; it never hangs and leaves nothing. */
static void fail_starts(enum lp_fault_site site, const char *name)
{
    uint32_t nth = 0, refused = 0;
    bool hit;

    lp_atomic_store_release_u32(&fault_site, site);
    do {
        arm(++nth);
        end_daemon(start_daemon());
        hit = was_hit();
        refused += daemon_rc < 0;
        arm(0);
        CHECK(hit || daemon_rc == 0, "%s: ended with %d without a failure", name, daemon_rc);
    } while (hit && nth < 500);
    CHECK(!hit && refused > 0, "%s: %u starts were refused", name, refused);
    (void)fprintf(stderr, "%s: %u starts failed, %u were refused\n", name, nth - 1, refused);
}

static void configure(void)
{
    lp_conf_init(&config);
    tmpdir_init(&daemon_place.dir);
    (void)tmpdir_join(&daemon_place.dir, "s", daemon_place.socket, sizeof(daemon_place.socket));
    (void)lp_conf_set(&config, "control.socket", daemon_place.socket, LP_CONF_FROM_FLAG, NULL);
    (void)lp_conf_set(&config, "control.group", "", LP_CONF_FROM_FLAG, NULL);
    (void)lp_conf_set(&config, "pool.size", "32MiB", LP_CONF_FROM_FLAG, NULL);
    (void)lp_conf_set(&config, "pool.reserve", "0", LP_CONF_FROM_FLAG, NULL);
    (void)lp_conf_set(&config, "pool.prefault_threads", "1", LP_CONF_FROM_FLAG, NULL);
    daemon_place.pid = getpid();
}

int main(void)
{
    pthread_t thread;
    struct wire wire;

    lp_proto_use_our_memory();
    (void)signal(SIGPIPE, SIG_IGN);
    lp_log_set_level(LP_LOG_LEVEL_ERROR);
    wire_table_init(&table, 64, 9);
    configure();
    test_thread = pthread_self();
    lp_fault_set_hook(on_fault, NULL);
    thread = start_daemon();
    while (access(daemon_place.socket, F_OK) != 0)
        (void)usleep(1000);
    wire_hello(&wire, &daemon_place);
    wire_await(&wire, "ready", 1);
    wire_put(&wire, "k", &table.packed, NULL);
    wire_close(&wire);

    fail_each(LP_FAULT_ALLOC, "allocations", 100);
    fail_each(LP_FAULT_SEND, "sends", 10);
    fail_each(LP_FAULT_RECV, "receives", 10);
    fail_each(LP_FAULT_MMAP, "maps", 1);
    fail_each(LP_FAULT_MEMFD, "memfds", 1);
    fail_each(LP_FAULT_SEAL, "seals", 1);

    end_daemon(thread);
    CHECK(daemon_rc == 0, "the daemon ended with %d", daemon_rc);
    fail_starts(LP_FAULT_MEMFD, "memfds");
    fail_starts(LP_FAULT_FTRUNCATE, "ftruncates");
    fail_starts(LP_FAULT_MMAP, "maps");
    fail_starts(LP_FAULT_THREAD, "threads");
    fail_starts(LP_FAULT_OPEN, "opens");
    lp_fault_set_hook(NULL, NULL);
    spawn_clean(&daemon_place);
    wire_table_fini(&table);
    return 0;
}
