/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "proto/message.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(proto_message, .init = lp_proto_use_our_memory);

static int parse(const char *line, struct lp_error *err)
{
    struct lp_proto_request request;
    const int rc = lp_proto_request_parse(line, strlen(line), &request, err);

    lp_proto_request_fini(&request);
    return rc;
}

/* A good request gives its id, method and parameters; the newline is optional. */
Test(proto_message, takes_a_request_apart)
{
    static const char line[] =
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"hello\",\"params\":{\"proto\":[0,0]}}\n";
    struct lp_proto_request request;

    for (size_t cut = 0; cut < 2; cut++) {
        cr_assert_eq(lp_proto_request_parse(line, sizeof(line) - 1 - cut, &request, NULL), 0);
        cr_assert_eq(json_integer_value(request.id), 7);
        cr_assert_str_eq(request.method, "hello");
        cr_assert_eq(json_array_size(json_object_get(request.params, "proto")), 2);
        lp_proto_request_fini(&request);
    }
    ASSERT_NO_LEAK();
}

/* What is no JSON, too deep, or has a key twice is -32700 and says where. */
Test(proto_message, refuses_what_is_no_json)
{
    static const char *const lines[] = {
        "",
        "\n",
        "{",
        "nonsense",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"} {}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"hello\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"hello\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"he\xff\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"he\\u0000llo\"}",
        "{\"a\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}",
    };
    struct lp_error err = LP_ERROR_INIT;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cr_assert_eq(parse(lines[i], &err), LP_RPC_EPARSE, "%s", lines[i]);
        cr_assert_neq(err.text[0], '\0');
    }
    ASSERT_NO_LEAK();
}

/* Sixteen levels pass, braces in strings do not count, seventeen levels fail. */
Test(proto_message, counts_depth_outside_of_strings)
{
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":"
                       "[[[[[[[[[[[[[[]]]]]]]]]]]]]],\"b\":\"[[[[\\\"{{{{{[[[[[[[[[[[[[\"}}",
                       &err),
                 0, "%s", err.text);
    cr_assert_eq(parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":"
                       "[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]}}",
                       &err),
                 LP_RPC_EPARSE);
}

/* JSON that is no request by our rules is -32600. */
Test(proto_message, refuses_what_is_no_request)
{
    static const char *const lines[] = {
        "[]",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"}]",
        "{}",
        "{\"id\":1,\"method\":\"hello\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"hello\"}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"hello\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"hello\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"hello\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"hello\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"hello\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"hello\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"parms\":{}}",
        ("{\"jsonrpc\":\"2.0\",\"id\":\"12345678901234567890123456789012345678901234567890"
         "123456789012345\",\"method\":\"hello\"}"),
    };
    struct lp_error err = LP_ERROR_INIT;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        cr_assert_eq(parse(lines[i], &err), LP_RPC_EREQUEST, "%s", lines[i]);
    ASSERT_NO_LEAK();
}

/* An id that was read stays known when the rest of the request is wrong. */
Test(proto_message, keeps_the_id_of_a_bad_request)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":5}";
    struct lp_proto_request request;

    cr_assert_eq(lp_proto_request_parse(line, sizeof(line) - 1, &request, NULL), LP_RPC_EREQUEST);
    cr_assert_str_eq(json_string_value(request.id), "a");
    cr_assert_null(request.method);
    lp_proto_request_fini(&request);
}

/* What one side writes the other side reads. */
Test(proto_message, writes_what_it_reads)
{
    json_t *params = json_pack("{s:s}", "name", "t\xc3\xa9\n");
    struct lp_proto_request request;
    struct lp_proto_answer answer;
    size_t bytes;
    char *line;

    cr_assert_eq(
        lp_proto_request_emit(UINT64_C(1) << 53, "object.info", params, &line, &bytes, NULL), 0);
    cr_assert_eq(memchr(line, '\n', bytes), line + bytes - 1);
    cr_assert_eq(lp_proto_request_parse(line, bytes, &request, NULL), 0);
    cr_assert(json_equal(request.params, params));
    lp_mem_free(line);
    json_decref(params);

    json_t *result = json_pack("{s:i, s:s}", "fds", 2, "x", "y");
    cr_assert_eq(lp_proto_result_emit(request.id, result, &line, &bytes, NULL), 0);
    cr_assert_eq(lp_proto_answer_parse(line, bytes, &answer, NULL), 0);
    cr_assert(answer.has_id && answer.id == UINT64_C(1) << 53 && answer.n_fds == 2);
    cr_assert(json_equal(answer.result, result));
    lp_proto_answer_fini(&answer);
    lp_proto_request_fini(&request);
    lp_mem_free(line);
    json_decref(result);
    ASSERT_NO_LEAK();
}

/* Errors travel with code and sentence; the name of the code only where Lanepack has one. */
Test(proto_message, carries_errors)
{
    char line[LP_PROTO_ERROR_LINE_BYTES];
    struct lp_proto_answer answer;
    struct lp_error err = LP_ERROR_INIT;

    (void)lp_error_set(&err, LP_ENOENT, "no \"x\" in \t'default'");
    size_t bytes = lp_proto_error_emit(NULL, &err, line);
    cr_assert_eq(lp_proto_answer_parse(line, bytes, &answer, NULL), 0);
    cr_assert(!answer.has_id);
    cr_assert_null(answer.result);
    cr_assert_eq(answer.error.code, LP_ENOENT);
    cr_assert_str_eq(answer.error.text, err.text);
    cr_assert_not_null(strstr(line, "\"data\":{\"name\":\"LP_ENOENT\"}"));
    lp_proto_answer_fini(&answer);

    (void)lp_error_set(&err, LP_RPC_EPARAMS, "x");
    bytes = lp_proto_error_emit(NULL, &err, line);
    cr_assert_null(memmem(line, bytes, "data", 4));
}

/* The longest and most awkward sentence and id still make one line of good JSON. */
Test(proto_message, makes_good_lines_of_any_error)
{
    char line[LP_PROTO_ERROR_LINE_BYTES];
    char id_text[LP_PROTO_ID_BYTES_MAX + 1];
    struct lp_error err = LP_ERROR_INIT;

    memset(id_text, '\1', sizeof(id_text));
    id_text[LP_PROTO_ID_BYTES_MAX] = '\0';
    json_t *id = json_string(id_text);
    for (int c = 1; c < 256; c++) {
        memset(err.text, c, sizeof(err.text));
        err.text[sizeof(err.text) - 1] = '\0';
        err.code = LP_EINTERNAL;
        const size_t bytes = lp_proto_error_emit(id, &err, line);
        cr_assert_lt(bytes, sizeof(line));
        json_t *read = json_loadb(line, bytes, 0, NULL);
        cr_assert_not_null(read, "byte %d", c);
        json_decref(read);
        json_t *item = lp_proto_error_json(&err);
        cr_assert_not_null(item, "byte %d", c);
        json_decref(item);
    }
    json_decref(id);
    ASSERT_NO_LEAK();
}

/* A character cut in two at the end of a sentence is replaced, a whole one is kept. */
Test(proto_message, mends_cut_characters)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_error read = LP_ERROR_INIT;

    (void)lp_error_set(&err, LP_EINVAL, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x82");
    json_t *item = lp_proto_error_json(&err);
    cr_assert(lp_proto_error_read(item, &read));
    cr_assert_str_eq(read.text, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 ??");
    json_decref(item);
}

/* Answers that break the protocol are refused as such. */
Test(proto_message, refuses_bad_answers)
{
    static const char *const lines[] = {
        "x",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"fds\":33}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"fds\":-1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"fds\":\"1\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":-1,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":0,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1}}",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct lp_proto_answer answer;
        cr_assert_eq(lp_proto_answer_parse(lines[i], strlen(lines[i]), &answer, NULL), LP_EPROTO,
                     "%s", lines[i]);
        lp_proto_answer_fini(&answer);
    }
    ASSERT_NO_LEAK();
}

/* Patterns survive the way through text; other spellings are refused. */
Test(proto_message, reads_and_writes_patterns)
{
    char hex[17];
    uint64_t pattern = 5;

    cr_assert_str_eq(lp_proto_hex_write(UINT64_C(0x0123456789abcdef), hex), "0123456789abcdef");
    cr_assert(lp_proto_hex_read("fedcba9876543210", &pattern));
    cr_assert_eq(pattern, UINT64_C(0xfedcba9876543210));
    cr_assert_not(lp_proto_hex_read("FEDCBA9876543210", &pattern));
    cr_assert_not(lp_proto_hex_read("fedcba987654321", &pattern));
    cr_assert_not(lp_proto_hex_read("fedcba98765432100", &pattern));
    cr_assert_eq(pattern, UINT64_C(0xfedcba9876543210));
}

/* Every allocation that fails gives LP_ENOMEM, leaks nothing, and the next try works. */
Test(proto_message, survives_failing_allocations)
{
    static const char line[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":{\"x\":[1,\"y\",true]}}";
    struct lp_proto_request request;
    struct fault_loop loop;
    size_t bytes;
    char *text;

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct lp_error err = LP_ERROR_INIT;
        int rc = lp_proto_request_parse(line, sizeof(line) - 1, &request, &err);
        if (rc == 0) {
            rc = lp_proto_result_emit(request.id, request.params, &text, &bytes, &err);
            if (rc == 0)
                lp_mem_free(text);
        }
        lp_proto_request_fini(&request);
        cr_assert_eq(rc, fault_loop_hit(&loop) ? LP_ENOMEM : 0, "call %u: %s", loop.nth, err.text);
    }
    cr_assert_gt(loop.nth, 4);
    ASSERT_NO_LEAK();
}
