/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, and peers that are no good daemon: a scripted one stands in for those that no real
 * one can be made to be. */
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path, uint32_t timeout_ms, lp_client **ret_client,
                      struct lp_error *err)
{
    struct lp_connect_options options;

    lp_options_init(&options, sizeof(options));
    options.path = path;
    options.timeout_ns = timeout_ms * UINT64_C(1000000);
    return lp_client_connect(&options, ret_client, err);
}

/* --- where the daemon is -----------------------------------------------------------------------
 */

/* No daemon there: the sentence names the path and says what to do. */
Test(client_connect, says_that_nobody_listens)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    lp_client *client = NULL;
    struct tmpdir dir;
    char path[128], long_path[200];

    tmpdir_init(&dir);
    (void)tmpdir_join(&dir, "none", path, sizeof(path));
    cr_assert_eq(connect_to(path, 0, &client, &err), LP_ECONN);
    cr_assert_not_null(strstr(err.text, path), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "start lanepackd"), "%s", err.text);
    tmpdir_write(&dir, "file", "x", 1);
    (void)tmpdir_join(&dir, "file", path, sizeof(path));
    cr_assert_eq(connect_to(path, 0, &client, &err), LP_ECONN);
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    cr_assert_eq(connect_to(long_path, 0, &client, &err), LP_EINVAL);
    cr_assert_eq(connect_to("", 0, &client, &err), LP_EINVAL);
    cr_assert_null(client);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Options that make no sense are refused before anything is tried. */
Test(client_connect, refuses_bad_options)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    static const char *const bad_spaces[] = {
        "", "a\tb", "\xff", "0123456789012345678901234567890123456789012345678901234567890123x"};
    struct lp_connect_options options;
    lp_client *client = NULL;

    lp_options_init(&options, sizeof(options));
    options.path = "local:";
    cr_assert_eq(lp_client_connect(&options, NULL, &err), LP_EINVAL);
    options.struct_size = 4;
    cr_assert_eq(lp_client_connect(&options, &client, &err), LP_EINVAL);
    options.struct_size = sizeof(options);
    options.flags = 1;
    cr_assert_eq(lp_client_connect(&options, &client, &err), LP_EINVAL);
    options.flags = 0;
    options.workers = 1u << 20;
    cr_assert_eq(lp_client_connect(&options, &client, &err), LP_EINVAL);
    options.workers = 0;
    for (size_t i = 0; i < sizeof(bad_spaces) / sizeof(bad_spaces[0]); i++) {
        options.name_space = bad_spaces[i];
        cr_assert_eq(lp_client_connect(&options, &client, &err), LP_ENAME, "%zu", i);
    }
    options.name_space = NULL;
    options.local_bytes = UINT64_C(1) << 44;
    cr_assert_eq(lp_client_connect(&options, &client, &err), LP_ELIMIT, "%s", err.text);
    cr_assert_null(client);
    lp_client_close(NULL);
    ASSERT_NO_LEAK();
}

/* The path asked for, else LANEPACK_SOCKET, else the user's daemon, else the system's. */
Test(client_connect, searches_for_the_socket)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_env env;
    lp_client *client;
    char path[TMPDIR_BYTES + 32];

    client_env_daemon(&env, NULL);
    cr_assert_eq(setenv("LANEPACK_SOCKET", env.daemon.socket, 1), 0);
    cr_assert_eq(lp_client_connect(NULL, &client, &err), 0, "%s", err.text);
    lp_client_close(client);
    cr_assert_eq(setenv("LANEPACK_SOCKET", "/nonexistent/s", 1), 0);
    cr_assert_eq(lp_client_connect(NULL, &client, &err), LP_ECONN);
    cr_assert_not_null(strstr(err.text, "/nonexistent/s"), "%s", err.text);
    cr_assert_eq(setenv("LANEPACK_SOCKET", "", 1), 0);
    cr_assert_eq(setenv("XDG_RUNTIME_DIR", env.daemon.dir.path, 1), 0);
    (void)tmpdir_join(&env.daemon.dir, "lanepack", path, sizeof(path));
    cr_assert_eq(mkdir(path, 0700), 0);
    (void)tmpdir_join(&env.daemon.dir, "lanepack/control.sock", path, sizeof(path));
    cr_assert_eq(link(env.daemon.socket, path), 0);
    cr_assert_eq(lp_client_connect(NULL, &client, &err), 0, "%s", err.text);
    lp_client_close(client);
    cr_assert_eq(unlink(path), 0);
    if (access("/run/lanepack/control.sock", F_OK) != 0) {
        cr_assert_eq(lp_client_connect(NULL, &client, &err), LP_ECONN);
        cr_assert_not_null(strstr(err.text, "/run/lanepack/control.sock"), "%s", err.text);
    }
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* More clients than control.max_clients: the daemon's reason arrives. */
Test(client_connect, is_told_of_the_limit)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_env env;
    lp_client *clients[4];
    size_t n = 0;

    client_env_daemon(&env, (const char *const[]){"--control-max-clients=3", NULL});
    while (n < 4 && connect_to(env.daemon.socket, 0, &clients[n], &err) == 0)
        n++;
    cr_assert_leq(n, 2);
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(err.code, LP_ELIMIT, "%s", err.text);
        cr_assert_not_null(strstr(err.text, "max_clients"), "%s", err.text);
        if (n == 2)
            cr_assert_eq(connect_to(env.daemon.socket, 0, &clients[3], &err), LP_ELIMIT);
    }
    while (n > 0)
        lp_client_close(clients[--n]);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* What is asked of the daemon by hand: its own result, its errors, and what is refused here. */
Test(client_connect, passes_calls_on)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_env env, local;
    char *text = NULL;

    client_env_daemon(&env, NULL);
    cr_assert_eq(lp_client_call(env.client, "daemon.status", NULL, &text, &err), 0, "%s", err.text);
    json_t *status = json_loads(text, 0, NULL);
    cr_assert_eq(wire_number(status, "pid"), env.daemon.pid);
    json_decref(status);
    lp_free(text);
    text = NULL;
    cr_assert_eq(lp_client_call(env.client, "object.exists", "{\"names\":[\"x\"]}", &text, &err),
                 0);
    cr_assert_str_eq(text, "{\"hits\":[false]}");
    lp_free(text);
    text = NULL;
    cr_assert_eq(lp_client_call(env.client, "no.such", "{}", &text, &err), LP_EPROTO);
    cr_assert_not_null(strstr(err.text, "no.such"), "%s", err.text);
    cr_assert_eq(
        lp_client_call(env.client, "config.get", "{\"keys\":[\"pool.sise\"]}", &text, &err),
        LP_ENAME);
    cr_assert_not_null(strstr(err.text, "pool.size"), "%s", err.text);
    cr_assert_eq(lp_client_call(env.client, "daemon.status", "[]", &text, &err), LP_EINVAL);
    cr_assert_eq(lp_client_call(env.client, "daemon.status", "{", &text, &err), LP_EINVAL);
    cr_assert_eq(lp_client_call(env.client, "arena.open", "{}", &text, &err), LP_ENOTSUP);
    cr_assert_eq(lp_client_call(env.client, NULL, "{}", &text, &err), LP_EINVAL);
    cr_assert_eq(lp_client_call(env.client, "daemon.status", "{}", NULL, &err), LP_EINVAL);
    client_env_local(&local);
    cr_assert_eq(lp_client_call(local.client, "daemon.status", NULL, &text, &err), LP_ENOTSUP);
    cr_assert_null(text);
    client_env_fini(&local);
    client_env_fini(&env);
    ASSERT_NO_LEAK();
}

/* --- a scripted peer ---------------------------------------------------------------------------
 */

#define HELLO                                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"epoch\":\"00000000000000aa\",\"proto\":0,"        \
    "\"server\":\"scripted 1\",\"limits\":{\"message_bytes\":1048576}}}\n"
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":" result "}\n"

/* Answers each line with the next of answers; NULL ends it and closes. An answer that begins with
 * '+' brings n_fds descriptors of an empty memory file. */
struct script {
    const char *const *answers;
    int n_fds;
    struct tmpdir dir;
    char path[TMPDIR_BYTES + 16];
    int listener;
    pthread_t thread;
};

static void answer(int sock, const char *text, int n_fds)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    const bool with_fds = text[0] == '+';
    struct lp_fdset fds = {.count = 0};
    size_t sent;

    for (int i = 0; with_fds && i < n_fds; i++)
        fds.fd[fds.count++] = memfd_create("scripted", MFD_CLOEXEC);
    text += with_fds;
    (void)lp_fdpass_send(sock, text, strlen(text), fds.fd, fds.count, &sent, &err);
    lp_fdset_close(&fds);
}

static void *serve(void *arg)
{
    const struct script *script = arg;
    const int sock = accept(script->listener, NULL, NULL);
    char line[65536];

    for (size_t i = 0; script->answers[i] != NULL; i++) {
        if (recv(sock, line, sizeof(line), 0) <= 0)
            break;
        answer(sock, script->answers[i], script->n_fds);
    }
    (void)close(sock);
    return NULL;
}

static void script_start(struct script *script, const char *const *answers, int n_fds)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *script = (struct script){.answers = answers, .n_fds = n_fds};
    tmpdir_init(&script->dir);
    (void)tmpdir_join(&script->dir, "s", script->path, sizeof(script->path));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", script->path);
    script->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(script->listener, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
    CHECK(listen(script->listener, 4) == 0, "listen");
    CHECK(pthread_create(&script->thread, NULL, serve, script) == 0, "no thread");
}

static void script_end(struct script *script)
{
    (void)shutdown(script->listener, SHUT_RDWR);
    (void)pthread_join(script->thread, NULL);
    (void)close(script->listener);
    tmpdir_fini(&script->dir);
}

/* Answers to hello that are none: each is told by its kind, and nothing is left. */
Test(client_connect, refuses_bad_greetings)
{
    static const struct {
        const char *answer;
        int code;
        const char *text;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-43,\"message\":\"you speak protocol "
         "0 to 0, this daemon 3 to 4\"}}\n",
         LP_EVERSION, "3 to 4"},
        {RESULT(1, "{\"epoch\":\"00000000000000aa\",\"proto\":7,\"server\":\"x\","
                   "\"limits\":{\"message_bytes\":1048576}}"),
         LP_EVERSION, "protocol 7"},
        {RESULT(1, "{\"epoch\":\"xyz\",\"proto\":0,\"server\":\"x\","
                   "\"limits\":{\"message_bytes\":1048576}}"),
         LP_EPROTO, "epoch"},
        {RESULT(1, "{\"epoch\":\"00000000000000aa\",\"proto\":0,\"server\":\"x\","
                   "\"limits\":{\"message_bytes\":12}}"),
         LP_EPROTO, "message_bytes"},
        {RESULT(1, "{}"), LP_EPROTO, "epoch"},
        {RESULT(2, "{}"), LP_EPROTO, "nobody asked"},
        {"HTTP/1.1 400 Bad Request\n", LP_EPROTO, "JSON"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"no\"}}\n",
         LP_EPROTO, "no"},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-44,\"message\":\"not you\"}}\n",
         LP_EPERM, "not you"},
        {"+" HELLO, LP_EPROTO, "descriptors"},
        {"{\"jsonrpc\":\"2.0\",", LP_ECONN, "closed"},
        {NULL, LP_ECONN, "closed"},
    };
    const size_t fds = client_count_fds();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        const char *const answers[] = {cases[i].answer, NULL};
        lp_client *client = NULL;
        struct script script;

        script_start(&script, answers, 1);
        cr_assert_eq(connect_to(script.path, 2000, &client, &err), cases[i].code, "%zu: %d %s", i,
                     err.code, err.text);
        if (cases[i].answer != NULL)
            cr_assert_not_null(strstr(err.text, cases[i].text), "%s", err.text);
        cr_assert_null(client);
        script_end(&script);
        cr_assert_eq(client_count_fds(), fds);
    }
    ASSERT_NO_LEAK();
}

#define INFO                                                                                       \
    "{\"name\":\"t\",\"dtype\":\"f32\",\"shape\":[4],\"codec\":\"raw\",\"layout\":\"packed\","     \
    "\"version\":1,\"logical_bytes\":16,\"stored_bytes\":16,\"wire_bytes\":16,"                    \
    "\"record_bytes\":16,\"records\":1,\"raw_records\":1,\"fingerprint\":\"00000000000000bb\","    \
    "\"tag\":\"\",\"leases\":1,\"ephemeral\":false}"
#define OPENED(extents)                                                                            \
    RESULT(2, "{\"items\":[{\"oid\":1,\"lease\":5,\"info\":" INFO ",\"extents\":" extents "}]}")
#define RELEASED RESULT(4, "{\"released\":1}")

/* Answers to open that hold no tensor: the codes say what is wrong, the lease goes back, and the
 * descriptors are closed. */
Test(client_connect, refuses_bad_objects)
{
    static const struct {
        const char *opened, *attached;
        int code;
    } cases[] = {
        {RESULT(2, "{\"items\":[]}"), NULL, LP_EPROTO},
        {RESULT(2, "{\"items\":[{}]}"), NULL, LP_EPROTO},
        {RESULT(2, "{\"items\":[{\"error\":{\"code\":-20,\"message\":\"none\"}}]}"), NULL,
         LP_ENOENT},
        {RESULT(2, "{\"items\":[{\"error\":{\"code\":-32000,\"message\":\"x\"}}]}"), NULL,
         LP_EPROTO},
        {OPENED("[]"), NULL, LP_EPROTO},
        {OPENED("[[0]]"), NULL, LP_EPROTO},
        {OPENED("[[0,-4096,64]]"), NULL, LP_EPROTO},
        {OPENED("[[0,4096,64],[0,8192,64]]"), NULL, LP_ECONN},
        {OPENED("[[0,4096,64]]"), RESULT(3, "{\"chunks\":[],\"fds\":0}"), LP_EPROTO},
        {OPENED("[[0,4096,64]]"),
         "+" RESULT(3, "{\"chunks\":[{\"chunk\":0,\"bytes\":8388608}],\"fds\":2}"), LP_EPROTO},
        {OPENED("[[0,4096,64]]"),
         "+" RESULT(3, "{\"chunks\":[{\"chunk\":1,\"bytes\":8388608}],\"fds\":1}"), LP_EPROTO},
        /* a memory file without seals */
        {OPENED("[[0,4096,64]]"),
         "+" RESULT(3, "{\"chunks\":[{\"chunk\":0,\"bytes\":8388608}],\"fds\":1}"), LP_EMAP},
    };
    static const char *const names[] = {"t"};
    const size_t fds = client_count_fds();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        const char *const answers[] = {HELLO, cases[i].opened, cases[i].attached, RELEASED, NULL};
        lp_tensor *tensor = NULL;
        struct script script;
        lp_client *client;

        script_start(&script, answers, 1);
        cr_assert_eq(connect_to(script.path, 300, &client, &err), 0, "%s", err.text);
        const int rc = lp_client_open(client, names, 1, &tensor, NULL, &err);
        cr_assert(rc == cases[i].code || (cases[i].code == LP_ECONN && rc == LP_ESTALE),
                  "%zu: %d %s", i, rc, err.text);
        cr_assert_null(tensor);
        lp_client_close(client);
        script_end(&script);
        cr_assert_eq(client_count_fds(), fds);
        cr_assert_eq(client_count_maps(false), 0);
    }
    ASSERT_NO_LEAK();
}

/* A line without an end is given up at the limit, not kept in memory for ever. */
Test(client_connect, gives_up_endless_lines)
{
    static char endless[3 << 20];
    struct lp_error err = {.struct_size = sizeof(err)};
    const char *const answers[] = {HELLO, endless, NULL};
    char *text = NULL;
    struct script script;
    lp_client *client;

    memset(endless, ' ', sizeof(endless) - 1);
    script_start(&script, answers, 0);
    cr_assert_eq(connect_to(script.path, 0, &client, &err), 0, "%s", err.text);
    cr_assert_eq(lp_client_call(client, "daemon.status", NULL, &text, &err), LP_EPROTO, "%d %s",
                 err.code, err.text);
    cr_assert_not_null(strstr(err.text, "1048576"), "%s", err.text);
    lp_client_close(client);
    script_end(&script);
    ASSERT_NO_LEAK();
}
