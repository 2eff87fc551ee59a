/* SPDX-License-Identifier: Apache-2.0 */
/* What the control socket does with peers that break the rules: a typed answer for them, nothing
 * for the others. docs/PROTOCOL.md, section 1. */
#include "base/clock.h"
#include "base/sys.h"
#include "proto/message.h"
#include "tests/integration/wire_put.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static json_int_t error_code(const json_t *answer)
{
    return json_integer_value(json_object_get(json_object_get(answer, "error"), "code"));
}

/* Send one line; the code of the error that comes back. */
static json_int_t line_error(struct wire *wire, const char *line)
{
    CHECK(wire_send(wire, line), "closed before %s", line);
    json_t *answer = wire_answer(wire);
    CHECK(answer != NULL, "closed by %s", line);
    const json_int_t code = error_code(answer);
    json_decref(answer);
    return code;
}

/* Nothing but hello comes first, hello comes once, and versions must meet. */
static void hello_comes_first(const struct spawn *daemon)
{
    struct wire wire;
    char text[256];

    wire_open(&wire, daemon);
    CHECK(wire_call_error(&wire, "object.list", NULL, NULL) == LP_EPROTO, "before hello");
    CHECK(wire_call_error(&wire, "no.such", NULL, NULL) == LP_EPROTO, "unknown, before hello");
    CHECK(wire_call_error(&wire, "hello", json_pack("{s:[ii]}", "proto", 5, 9), text) ==
              LP_EVERSION,
          "a later protocol");
    CHECK(strstr(text, "5 to 9") != NULL && strstr(text, "0 to 0") != NULL, "%s", text);
    CHECK(wire_call_error(&wire, "hello", NULL, NULL) == LP_RPC_EPARAMS, "no proto");
    CHECK(wire_call_error(&wire, "hello", json_pack("{s:[i]}", "proto", 0), NULL) == LP_RPC_EPARAMS,
          "half a range");
    CHECK(wire_call_error(&wire, "hello", json_pack("{s:[ii]}", "proto", 1, 0), NULL) ==
              LP_RPC_EPARAMS,
          "a range upside down");
    CHECK(wire_call_error(&wire, "hello",
                          json_pack("{s:[ii], s:s}", "proto", 0, 0, "namespace", "a\tb"),
                          NULL) == LP_ENAME,
          "a control character");
    CHECK(wire_call_error(&wire, "hello",
                          json_pack("{s:[ii], s:s}", "proto", 0, 0, "namespace", ""),
                          NULL) == LP_ENAME,
          "an empty namespace");
    json_decref(wire_call(&wire, "hello", json_pack("{s:[ii]}", "proto", 0, 99)));
    CHECK(wire_call_error(&wire, "hello", json_pack("{s:[ii]}", "proto", 0, 0), NULL) == LP_EPROTO,
          "a second hello");
    wire_close(&wire);
}

/* Malformed calls get JSON-RPC's codes; the connection lives on. */
static void malformed_lines_are_answered(const struct spawn *daemon)
{
    static const struct {
        const char *line;
        int code;
    } rows[] = {
        {"\n", LP_RPC_EPARSE},
        {"nonsense\n", LP_RPC_EPARSE},
        {"{\n", LP_RPC_EPARSE},
        {"\xff\xfe\n", LP_RPC_EPARSE},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"object.list\"}\n", LP_RPC_EPARSE},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.list\",\"params\":"
         "{\"prefix\":[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}}\n",
         LP_RPC_EPARSE},
        {"[]\n", LP_RPC_EREQUEST},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.list\"}]\n", LP_RPC_EREQUEST},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"object.list\"}\n", LP_RPC_EREQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.list\",\"params\":[]}\n",
         LP_RPC_EREQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.lst\"}\n", LP_RPC_EMETHOD},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}\n", LP_RPC_EMETHOD},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.list\",\"params\":{\"prefx\":\"\"}}\n",
         LP_RPC_EPARAMS},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.list\",\"params\":{\"prefix\":1}}\n",
         LP_RPC_EPARAMS},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.open\"}\n", LP_RPC_EPARAMS},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.open\",\"params\":{\"names\":[1]}}\n",
         LP_RPC_EPARAMS},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.status\",\"params\":{\"x\":1}}\n",
         LP_RPC_EPARAMS},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"arena.open\",\"params\":"
         "{\"deadline_ms\":9999999}}\n",
         LP_RPC_EPARAMS},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"arena.close\",\"params\":"
         "{\"arena\":4294967297}}\n",
         LP_ENOENT},
    };
    struct wire wire;

    wire_hello(&wire, daemon);
    for (int storm = 0; storm < 20; storm++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            CHECK(line_error(&wire, rows[i].line) == rows[i].code, "%s", rows[i].line);
    }
    json_t *stats = wire_call(&wire, "daemon.stats", NULL);
    CHECK(wire_number(stats, "protocol_errors") >= 20 * 18, "not counted");
    json_decref(stats);
    wire_close(&wire);
}

/* Ids come back as they were, whatever their kind. */
static void ids_come_back(const struct spawn *daemon)
{
    struct wire wire;

    wire_hello(&wire, daemon);
    CHECK(wire_send(&wire, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"\\u00e9\",\"method\":\"no\"}\n"),
          "closed");
    json_t *answer = wire_answer(&wire);
    CHECK(strcmp(json_string_value(json_object_get(answer, "id")), "a\"\xc3\xa9") == 0, "the id");
    json_decref(answer);
    CHECK(wire_send(&wire, "{\"jsonrpc\":\"2.0\",\"id\":-5,\"method\":\"object.list\"}\n"),
          "closed");
    answer = wire_answer(&wire);
    CHECK(json_integer_value(json_object_get(answer, "id")) == -5, "the id");
    CHECK(json_object_get(answer, "result") != NULL, "no result");
    json_decref(answer);
    CHECK(wire_send(&wire, "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"object.list\"}\n"),
          "closed");
    answer = wire_answer(&wire);
    CHECK(json_is_null(json_object_get(answer, "id")), "an id out of nothing");
    json_decref(answer);
    wire_close(&wire);
}

/* A line in pieces is a line; several lines in one piece are answered in order. */
static void lines_come_as_they_like(const struct spawn *daemon)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"object.list\"}\n";
    char piece[2] = "";
    struct wire wire;

    wire_hello(&wire, daemon);
    for (size_t i = 0; i < sizeof(line) - 1; i++) {
        piece[0] = line[i];
        CHECK(wire_send(&wire, piece), "closed");
    }
    json_decref(wire_answer(&wire));
    const uint64_t first = wire_request(&wire, "object.list", NULL);
    for (int i = 0; i < 500; i++)
        (void)wire_request(&wire, "object.list", NULL);
    for (uint64_t i = 0; i <= 500; i++) {
        json_t *answer = wire_answer(&wire);
        CHECK(wire_number(answer, "id") == (json_int_t)(first + i), "the order");
        json_decref(answer);
    }
    wire_close(&wire);
}

/* A line beyond the limit: an error, then the end; no newline is needed for that. */
static void long_lines_end_the_connection(const struct spawn *daemon)
{
    const size_t bytes = (1 << 20) + 10;
    char *line = malloc(bytes + 1);
    struct wire wire;

    memset(line, ' ', bytes);
    line[bytes] = '\0';
    wire_hello(&wire, daemon);
    (void)wire_send(&wire, line);
    json_t *answer = wire_answer(&wire);
    CHECK(answer != NULL && error_code(answer) == LP_RPC_EREQUEST, "no error");
    json_decref(answer);
    CHECK(wire_line(&wire) == NULL, "a line after the end");
    wire_close(&wire);

    /* Just within: padded with spaces, and still a request. */
    static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"object.list\"}";
    memcpy(line, request, sizeof(request) - 1);
    memcpy(line + (1 << 20) - 1, "\n", 2);
    wire_hello(&wire, daemon);
    CHECK(wire_send(&wire, line), "closed");
    answer = wire_answer(&wire);
    CHECK(answer != NULL && json_object_get(answer, "result") != NULL, "no result");
    json_decref(answer);
    wire_close(&wire);
    free(line);
}

/* Descriptors are not welcome: the connection ends and none of them stays. */
static void descriptors_are_refused(const struct spawn *daemon)
{
    const size_t before = spawn_count_fds(daemon);
    struct lp_error err = LP_ERROR_INIT;
    struct wire wire;
    size_t sent;

    wire_hello(&wire, daemon);
    const int fds[] = {0, 1, 2};
    CHECK(lp_fdpass_send(wire.fd, "{", 1, fds, 3, &sent, &err) == 0, "%s", err.text);
    CHECK(wire_line(&wire) == NULL, "an answer");
    wire_close(&wire);
    CHECK(spawn_count_fds(daemon) <= before, "descriptors stayed");
}

/* A client that sends and never reads is stopped, not served into memory. */
static void slow_readers_are_bounded(const struct spawn *daemon)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"config.get\"}\n";
    const size_t before = spawn_anonymous_kib(daemon);
    struct wire wire, other;
    size_t sent = 0;

    wire_hello(&wire, daemon);
    wire_hello(&other, daemon);
    for (int quiet = 0; quiet < 20;) {
        const ssize_t n = send(wire.fd, line, sizeof(line) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n == (ssize_t)sizeof(line) - 1) {
            sent++;
            quiet = 0;
            continue;
        }
        CHECK(n < 0 && errno == EAGAIN, "a part of a line, or %s", strerror(errno));
        quiet++;
        (void)poll(NULL, 0, 5);
        json_decref(wire_call(&other, "object.list", NULL));
    }
    CHECK(spawn_anonymous_kib(daemon) < before + 8192 + LP_TEST_GROWTH_KIB,
          "the daemon grew from %zu to %zu KiB", before, spawn_anonymous_kib(daemon));
    /* It reads at last: every request is answered. */
    for (size_t i = 0; i < sent; i++) {
        json_t *answer = wire_answer(&wire);
        CHECK(answer != NULL && json_object_get(answer, "result") != NULL, "answer %zu", i);
        json_decref(answer);
    }
    wire_close(&wire);
    wire_close(&other);
}

/* More waiting requests than the limit: reading pauses, and goes on when they end. */
static void waiting_requests_are_bounded(const struct spawn *daemon)
{
    struct wire_arena arenas[8];
    struct wire holder, wire;

    wire_hello(&holder, daemon);
    wire_hello(&wire, daemon);
    for (size_t i = 0; i < 8; i++)
        wire_arena_open(&holder, &arenas[i]);
    for (int i = 0; i < 70; i++)
        (void)wire_request(&wire, "arena.open", json_pack("{s:i}", "deadline_ms", 300));
    for (int i = 0; i < 70; i++) {
        json_t *answer = wire_answer(&wire);
        CHECK(error_code(answer) == LP_ENOSPC, "answer %d", i);
        json_decref(answer);
    }
    json_decref(wire_call(&wire, "object.list", NULL));
    /* Killed while it waits, reading paused: all is forgotten. */
    for (int i = 0; i < 70; i++)
        (void)wire_request(&wire, "arena.open", json_pack("{s:i}", "deadline_ms", 600000));
    wire_close(&wire);
    wire_await(&holder, "clients", 3); /* with the two idlers */
    for (size_t i = 0; i < 8; i++)
        wire_arena_unmap(&arenas[i]);
    wire_close(&holder);
}

/* The sending side shut down: what was asked is still answered. */
static void half_closed_clients_are_answered(const struct spawn *daemon)
{
    struct wire wire;

    wire_hello(&wire, daemon);
    for (int i = 0; i < 2000; i++)
        (void)wire_request(&wire, "object.list", NULL);
    CHECK(shutdown(wire.fd, SHUT_WR) == 0, "shutdown");
    for (int i = 0; i < 2000; i++) {
        json_t *answer = wire_answer(&wire);
        CHECK(answer != NULL, "answer %d is missing", i);
        json_decref(answer);
    }
    CHECK(wire_line(&wire) == NULL, "a line after the end");
    wire_close(&wire);
}

/* An answer never gets longer than a line: items that have no room say so. */
static void answers_stay_within_a_line(const struct spawn *daemon)
{
    struct wire_table table;
    struct wire wire;
    char name[513];

    wire_table_init(&table, 4, 3);
    wire_hello(&wire, daemon);
    memset(name, '"', 512);
    name[512] = '\0';
    wire_put(&wire, name, &table.packed, NULL);
    json_t *names = json_array();
    for (int i = 0; i < 1000; i++)
        (void)json_array_append_new(names, json_string(name));
    (void)wire_request(&wire, "object.info", json_pack("{s:O}", "names", names));
    char *line = wire_line(&wire);
    CHECK(line != NULL && strlen(line) + 1 <= 1 << 20, "%zu bytes", strlen(line));
    json_t *answer = json_loads(line, 0, NULL);
    const json_t *items = json_object_get(json_object_get(answer, "result"), "items");
    CHECK(json_array_size(items) == 1000, "%zu items: %.300s", json_array_size(items), line);
    CHECK(json_object_get(json_array_get(items, 0), "name") != NULL, "the first");
    CHECK(error_code(json_array_get(items, 999)) == LP_ESIZE, "the last");
    json_decref(answer);
    free(line);
    (void)json_array_append_new(names, json_string(name));
    CHECK(wire_call_error(&wire, "object.info", json_pack("{s:o}", "names", names), NULL) ==
              LP_RPC_EPARAMS,
          "1001 names");
    json_decref(wire_call(&wire, "object.delete", wire_names(name)));
    wire_close(&wire);
    wire_table_fini(&table);
}

/* Started and not ended within 10 s, or no hello within 30 s: the end, for that client alone. */
static void half_sent_lines_time_out(const struct spawn *daemon)
{
    struct wire half, idle, wire;

    wire_hello(&half, daemon);
    wire_hello(&idle, daemon);
    CHECK(wire_send(&half, "{\"jsonrpc\":\"2.0\",\"id\":1,"), "closed");
    const uint64_t start = lp_clock_now_ns();
    json_t *answer = wire_answer(&half);
    const uint64_t waited = lp_clock_now_ns() - start;
    CHECK(answer != NULL && error_code(answer) == LP_ETIMEDOUT, "no error");
    CHECK(waited > 8 * LP_NS_PER_S && waited < 13 * LP_NS_PER_S, "after %llu ns",
          (unsigned long long)waited);
    json_decref(answer);
    CHECK(wire_line(&half) == NULL, "a line after the end");
    json_decref(wire_call(&idle, "object.list", NULL));
    wire_hello(&wire, daemon);
    wire_close(&wire);
    wire_close(&half);
    wire_close(&idle);
}

/* Two that do nothing: one never says hello, one never takes its answers. */
struct idlers {
    struct wire silent, stuffed;
    uint64_t start_ns;
};

static void start_idlers(const struct spawn *daemon, struct idlers *idlers)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"config.get\"}\n";

    wire_open(&idlers->silent, daemon);
    wire_hello(&idlers->stuffed, daemon);
    for (int quiet = 0; quiet < 20;) {
        if (send(idlers->stuffed.fd, line, sizeof(line) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
            continue;
        quiet++;
        (void)poll(NULL, 0, 5);
    }
    idlers->start_ns = lp_clock_now_ns();
}

/* Both are closed after half a minute, the first with an error. */
static void idlers_are_closed(struct idlers *idlers)
{
    struct pollfd look = {.fd = idlers->stuffed.fd};

    while (lp_clock_now_ns() - idlers->start_ns < 28 * LP_NS_PER_S)
        (void)poll(NULL, 0, 100);
    CHECK(poll(&look, 1, 0) == 0, "closed too early");
    json_t *answer = wire_answer(&idlers->silent);
    CHECK(answer != NULL && error_code(answer) == LP_ETIMEDOUT, "no error");
    json_decref(answer);
    CHECK(wire_line(&idlers->silent) == NULL, "a line after the end");
    CHECK(poll(&look, 1, 6000) == 1 && (look.revents & POLLHUP) != 0, "not closed");
    wire_close(&idlers->silent);
    wire_close(&idlers->stuffed);
}

int main(void)
{
    struct idlers idlers;
    struct spawn daemon;

    spawn_start(&daemon, NULL);
    start_idlers(&daemon, &idlers);
    hello_comes_first(&daemon);
    malformed_lines_are_answered(&daemon);
    ids_come_back(&daemon);
    lines_come_as_they_like(&daemon);
    long_lines_end_the_connection(&daemon);
    descriptors_are_refused(&daemon);
    slow_readers_are_bounded(&daemon);
    waiting_requests_are_bounded(&daemon);
    half_closed_clients_are_answered(&daemon);
    answers_stay_within_a_line(&daemon);
    half_sent_lines_time_out(&daemon);
    idlers_are_closed(&idlers);
    spawn_end(&daemon);
    return 0;
}
