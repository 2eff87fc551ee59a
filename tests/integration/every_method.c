/* SPDX-License-Identifier: Apache-2.0 */
/* Every method, called against a real daemon in good order and in bad; the result of each is
 * checked against its schema, and at the end no method may have been left out. */
#include "proto/message.h"
#include "proto/method.h"
#include "tests/integration/wire_put.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct wire_table small, large;

static json_int_t item_error(const json_t *result, size_t i)
{
    const json_t *item = json_array_get(json_object_get(result, "items"), i);

    return json_integer_value(json_object_get(json_object_get(item, "error"), "code"));
}

/* One call of a list method with one item, whose error is wanted. */
static void check_item_error(struct wire *wire, const char *method, json_t *params, int code)
{
    json_t *result = wire_call(wire, method, params);
    char *text = json_dumps(result, 0);

    CHECK(item_error(result, 0) == code, "%s: wanted %d: %s", method, code, text);
    free(text);
    json_decref(result);
}

/* What the daemon says of itself is there, and true where a client can know. */
static void daemon_answers(struct wire *wire, const struct spawn *daemon)
{
    json_t *status = wire_call(wire, "daemon.status", NULL);
    CHECK(wire_number(status, "pid") == daemon->pid, "another pid");
    CHECK(wire_number(status, "pool.bytes") == 64 << 20, "another pool");
    CHECK(wire_number(status, "pool.chunk") == 8 << 20, "another chunk");
    CHECK(wire_number(status, "clients") == 1, "another number of clients");
    json_decref(status);

    json_t *config = wire_call(wire, "config.get",
                               json_pack("{s:[ss]}", "keys", "pool.chunk", "store.create_ttl_ms"));
    const json_t *item = json_array_get(json_object_get(config, "items"), 0);
    CHECK(strcmp(json_string_value(json_object_get(item, "value")), "8MiB") == 0, "the chunk");
    CHECK(strcmp(json_string_value(json_object_get(item, "origin")), "flag") == 0, "its origin");
    json_decref(config);
    char text[256];
    CHECK(wire_call_error(wire, "config.get", json_pack("{s:[s]}", "keys", "pool.chnk"), text) ==
              LP_ENAME,
          "an unknown key");
    CHECK(strstr(text, "pool.chunk") != NULL, "%s", text);
}

/* Put by copy, read, list, look up, delete. */
static void objects_live(struct wire *wire)
{
    wire_put(wire, "a/1", &small.packed, NULL);
    wire_put(wire, "a/2", &large.packed, "ephemeral");
    wire_check(wire, "a/1", &small.packed);
    wire_check(wire, "a/2", &large.packed);

    json_t *info = wire_call(wire, "object.info", json_pack("{s:[ss]}", "names", "a/2", "none"));
    const json_t *first = json_array_get(json_object_get(info, "items"), 0);
    CHECK(wire_number(first, "logical_bytes") == (json_int_t)(large.rows * 512), "logical");
    CHECK(wire_number(first, "ephemeral") == 1, "not ephemeral");
    CHECK(wire_number(first, "leases") == 0, "a lease is left");
    CHECK(item_error(info, 1) == LP_ENOENT, "an object that is not there");
    json_decref(info);

    json_t *hits =
        wire_call(wire, "object.exists", json_pack("{s:[sss]}", "names", "a/1", "b", "a/2"));
    const json_t *list = json_object_get(hits, "hits");
    CHECK(json_is_true(json_array_get(list, 0)) && json_is_false(json_array_get(list, 1)) &&
              json_is_true(json_array_get(list, 2)),
          "the hits");
    json_decref(hits);
    json_t *run = wire_call(wire, "object.exists",
                            json_pack("{s:[sss], s:b}", "names", "a/1", "a/2", "b", "run", 1));
    CHECK(wire_number(run, "run") == 2, "the run");
    json_decref(run);

    json_t *gone =
        wire_call(wire, "object.delete", json_pack("{s:[sss]}", "names", "a/1", "none", "a/2"));
    CHECK(wire_number(gone, "deleted") == 2, "deleted");
    CHECK(json_array_size(json_object_get(gone, "errors")) == 0, "errors");
    json_decref(gone);
    wire_await(wire, "pool.used", 0);
}

/* A page at a time, in the order of bytes, while objects come and go. */
static void listing_is_stable(struct wire *wire)
{
    static const char *const names[] = {"l/a", "l/b", "l/c", "l/d", "m", "l/\"q\\"};
    char cursor[600] = "";
    size_t seen = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        wire_put(wire, names[i], &small.packed, NULL);
    do {
        json_t *page =
            wire_call(wire, "object.list",
                      json_pack("{s:s, s:s, s:i}", "prefix", "l/", "cursor", cursor, "limit", 2));
        const json_t *items = json_object_get(page, "items");
        seen += json_array_size(items);
        (void)snprintf(cursor, sizeof(cursor), "%s",
                       json_string_value(json_object_get(page, "cursor")));
        json_decref(page);
        if (seen == 2)
            json_decref(
                wire_call(wire, "object.delete", json_pack("{s:[ss]}", "names", "l/a", "l/c")));
    } while (cursor[0] != '\0');
    CHECK(seen == 4, "%zu objects were listed", seen);
    json_t *all = wire_call(wire, "object.list", NULL);
    CHECK(json_array_size(json_object_get(all, "items")) == 4, "the rest");
    json_decref(all);
    json_decref(wire_call(wire, "object.delete",
                          json_pack("{s:[ssss]}", "names", "l/b", "l/d", "m", "l/\"q\\")));
    CHECK(wire_call_error(wire, "object.list", json_pack("{s:i}", "limit", 0), NULL) ==
              LP_RPC_EPARAMS,
          "a limit of 0");
}

/* A whole arena is taken over without a copy, once its client has unmapped it. */
static void arenas_are_adopted(struct wire *wire)
{
    struct wire_arena arena;

    wire_arena_open(wire, &arena);
    uint64_t oid = wire_create(wire, "adopted", &large.packed, NULL);
    json_t *parts = wire_lay(&arena, &large.packed, true);
    check_item_error(wire, "object.seal", wire_seal_params(oid, json_incref(parts)), LP_EBUSY);
    check_item_error(wire, "object.seal", wire_seal_params(oid, json_incref(parts)), LP_ENOENT);
    oid = wire_create(wire, "adopted", &large.packed, NULL);
    wire_arena_unmap(&arena);
    json_decref(wire_call(wire, "object.seal", wire_seal_params(oid, parts)));
    wire_check(wire, "adopted", &large.packed);
    json_t *stats = wire_call(wire, "daemon.stats", NULL);
    CHECK(wire_number(stats, "adoptions") == large.packed.table.n_segments + 1, "adoptions");
    json_decref(stats);
    json_decref(wire_call(wire, "object.delete", wire_names("adopted")));
    wire_await(wire, "pool.used", 0);
}

/* Names are reserved, aborted, replaced, kept if present, and expire. */
static void names_are_reserved(struct wire *wire, const struct spawn *daemon)
{
    struct wire other;

    wire_hello(&other, daemon);
    const uint64_t oid = wire_create(wire, "n", &small.packed, NULL);
    json_t *item = wire_create_item("n", &small.packed, NULL);
    check_item_error(&other, "object.create", json_pack("{s:[O]}", "items", item), LP_EPENDING);
    check_item_error(&other, "object.info", wire_names("n"), LP_EPENDING);
    json_t *aborted =
        wire_call(&other, "object.abort", json_pack("{s:[I]}", "oids", (json_int_t)oid));
    CHECK(wire_number(aborted, "aborted") == 0, "another connection's object was aborted");
    json_decref(aborted);
    aborted = wire_call(wire, "object.abort",
                        json_pack("{s:[II]}", "oids", (json_int_t)oid, (json_int_t)999999));
    CHECK(wire_number(aborted, "aborted") == 1, "the object was not aborted");
    json_decref(aborted);

    wire_put(&other, "n", &small.packed, NULL);
    check_item_error(wire, "object.create", json_pack("{s:[o]}", "items", item), LP_EEXIST);
    json_t *result =
        wire_call(wire, "object.create",
                  json_pack("{s:[o]}", "items", wire_create_item("n", &small.packed, "if_absent")));
    CHECK(json_is_true(
              json_object_get(json_array_get(json_object_get(result, "items"), 0), "exists")),
          "if_absent");
    json_decref(result);
    wire_put(wire, "n", &large.packed, "replace");
    wire_check(&other, "n", &large.packed);
    json_decref(wire_call(wire, "object.delete", wire_names("n")));
    wire_close(&other);
}

/* What cannot be made is refused by its cause. */
static void bad_objects_are_refused(struct wire *wire)
{
    json_t *item = wire_create_item("x", &small.packed, "append");
    check_item_error(wire, "object.create", json_pack("{s:[o]}", "items", item), LP_EINVAL);
    item = wire_create_item("x", &small.packed, NULL);
    (void)json_object_set_new(item, "codec", json_string("auto"));
    check_item_error(wire, "object.create", json_pack("{s:[o]}", "items", item), LP_EINVAL);
    item = wire_create_item("x", &small.packed, NULL);
    (void)json_object_set_new(json_object_get(item, "tensor"), "dtype", json_string("c128"));
    check_item_error(wire, "object.create", json_pack("{s:[o]}", "items", item), LP_EINVAL);
    item = wire_create_item("bad\nname", &small.packed, NULL);
    check_item_error(wire, "object.create", json_pack("{s:[o]}", "items", item), LP_ENAME);
    item = wire_create_item("", &small.packed, NULL);
    check_item_error(wire, "object.create", json_pack("{s:[o]}", "items", item), LP_ENAME);
    check_item_error(wire, "object.seal", wire_seal_params(12345, json_array()), LP_ENOENT);
    const uint64_t oid = wire_create(wire, "x", &small.packed, NULL);
    check_item_error(wire, "object.seal", wire_seal_params(oid, json_array()), LP_EINVAL);
    CHECK(wire_call_error(wire, "pool.attach", json_pack("{s:i, s:[i]}", "pool", 1, "chunks", 0),
                          NULL) == LP_ENOENT,
          "another pool");
    CHECK(wire_call_error(wire, "pool.attach",
                          json_pack("{s:i, s:[I]}", "pool", 0, "chunks", (json_int_t)1 << 40),
                          NULL) == LP_ENOENT,
          "a chunk that is not there");
    CHECK(wire_call_error(wire, "arena.close", json_pack("{s:i}", "arena", 77), NULL) == LP_ENOENT,
          "an arena that is not there");
    wire_await(wire, "unsealed", 0);
}

/* Bytes that break the format are found in the copy; nothing of them stays. */
static void corrupt_bytes_are_found(struct wire *wire)
{
    struct wire_arena arena;

    wire_arena_open(wire, &arena);
    const uint64_t oid = wire_create(wire, "c", &large.packed, NULL);
    json_t *parts = wire_lay(&arena, &large.packed, false);
    arena.map[arena.used - 4096] ^= 1;
    check_item_error(wire, "object.seal", wire_seal_params(oid, parts), LP_ECORRUPT);
    wire_arena_unmap(&arena);
    json_decref(wire_call(wire, "arena.close", json_pack("{s:I}", "arena", (json_int_t)arena.id)));
    check_item_error(wire, "object.open", wire_names("c"), LP_ENOENT);
    json_t *stats = wire_call(wire, "daemon.stats", NULL);
    CHECK(wire_number(stats, "checksum_failures") == 1, "not counted");
    json_decref(stats);
    wire_await(wire, "pool.used", 0);
}

/* More than the pool holds: refused with need and have, and room again after a delete. */
static void full_pool_is_refused(struct wire *wire)
{
    struct wire_arena arenas[8];
    char text[256];

    for (size_t i = 0; i < 8; i++)
        wire_arena_open(wire, &arenas[i]);
    CHECK(wire_call_error(wire, "arena.open", json_pack("{s:i}", "deadline_ms", 0), text) ==
              LP_ENOSPC,
          "a ninth arena of eight");
    CHECK(strstr(text, "have") != NULL, "%s", text);
    CHECK(wire_call_error(wire, "arena.open", json_pack("{s:i}", "deadline_ms", 50), text) ==
              LP_ENOSPC,
          "a ninth arena, after a wait");
    /* Waits, and gets the one that is given back. */
    const uint64_t waiting =
        wire_request(wire, "arena.open", json_pack("{s:i}", "deadline_ms", 10000));
    const uint64_t closing =
        wire_request(wire, "arena.close", json_pack("{s:I}", "arena", (json_int_t)arenas[0].id));
    for (int i = 0; i < 2; i++) {
        json_t *answer = wire_answer(wire);
        CHECK(wire_number(answer, "id") == (json_int_t)(i == 0 ? closing : waiting), "the order");
        CHECK(json_object_get(answer, "result") != NULL, "an answer without a result");
        json_decref(answer);
    }
    for (size_t i = 0; i < 8; i++)
        wire_arena_unmap(&arenas[i]);
}

/* Leases keep bytes until they end, also those of a connection that ends. */
static void leases_keep_bytes(const struct spawn *daemon)
{
    struct wire writer, reader;

    wire_hello(&writer, daemon);
    wire_hello(&reader, daemon);
    wire_put(&writer, "k", &large.packed, NULL);
    json_decref(wire_call(&reader, "object.open", json_pack("{s:[ss]}", "names", "k", "k")));
    json_decref(wire_call(&writer, "object.delete", wire_names("k")));
    json_t *status = wire_call(&writer, "daemon.status", NULL);
    CHECK(wire_number(status, "leases") == 2 && wire_number(status, "pool.used") > 0, "leases");
    json_decref(status);
    wire_close(&reader);
    wire_await(&writer, "leases", 0);
    wire_await(&writer, "pool.used", 0);
    wire_close(&writer);
}

/* Two namespaces do not see each other. */
static void namespaces_are_apart(const struct spawn *daemon)
{
    struct wire one, two;

    wire_hello(&one, daemon);
    wire_open(&two, daemon);
    json_decref(
        wire_call(&two, "hello", json_pack("{s:[ii], s:s}", "proto", 0, 7, "namespace", "two")));
    wire_put(&one, "x", &small.packed, NULL);
    check_item_error(&two, "object.info", wire_names("x"), LP_ENOENT);
    wire_put(&two, "x", &large.packed, NULL);
    wire_check(&one, "x", &small.packed);
    wire_check(&two, "x", &large.packed);
    json_decref(wire_call(&one, "object.delete", wire_names("x")));
    json_decref(wire_call(&two, "object.delete", wire_names("x")));
    wire_close(&one);
    wire_close(&two);
}

static void no_method_was_skipped(void)
{
    for (int id = 0; id < LP_METHODS; id++) {
        const char *name = lp_proto_method((enum lp_method_id)id)->name;
        CHECK(wire_has_called(name), "%s was not called", name);
    }
}

int main(void)
{
    struct spawn daemon;
    struct wire wire;

    wire_table_init(&small, 100, 1);
    wire_table_init(&large, 6000, 2);
    spawn_start(&daemon, NULL);
    wire_hello(&wire, &daemon);
    wire_await(&wire, "ready", 1);
    daemon_answers(&wire, &daemon);
    objects_live(&wire);
    listing_is_stable(&wire);
    arenas_are_adopted(&wire);
    names_are_reserved(&wire, &daemon);
    bad_objects_are_refused(&wire);
    corrupt_bytes_are_found(&wire);
    full_pool_is_refused(&wire);
    wire_close(&wire);
    leases_keep_bytes(&daemon);
    namespaces_are_apart(&daemon);
    wire_hello(&wire, &daemon);
    json_decref(wire_call(&wire, "daemon.shutdown", NULL));
    CHECK(wire_line(&wire) == NULL, "a line after the shutdown");
    CHECK(spawn_wait(&daemon) == 0, "the daemon's exit code");
    wire_close(&wire);
    spawn_clean(&daemon);
    no_method_was_skipped();
    wire_table_fini(&small);
    wire_table_fini(&large);
    return 0;
}
