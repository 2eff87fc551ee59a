/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the control socket, as request and as answer, and their parameters against every schema.
 * What is taken must come out again as it went in. */
#include "base/alloc.h"
#include "proto/message.h"
#include "proto/method.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

static void require(int condition)
{
    if (!condition)
        abort();
}

/* A request that was taken survives being written and read again. */
static void write_again(const struct lp_proto_request *request)
{
    struct lp_proto_request again;
    size_t bytes;
    char *line;

    require(lp_proto_request_emit(1, "x", request->params, &line, &bytes, NULL) == 0);
    require(memchr(line, '\n', bytes) == line + bytes - 1);
    require(lp_proto_request_parse(line, bytes, &again, NULL) == 0);
    require(request->params == NULL || json_equal(again.params, request->params));
    lp_proto_request_fini(&again);
    lp_mem_free(line);
}

static void check_schemas(const json_t *value)
{
    for (int id = 0; id < LP_METHODS; id++) {
        const struct lp_method *method = lp_proto_method((enum lp_method_id)id);
        struct lp_error err = LP_ERROR_INIT;
        const int rc = lp_proto_schema_check(method->params, value, "params", &err);
        require(rc == 0 || (rc == LP_RPC_EPARAMS && err.text[0] != '\0'));
        (void)lp_proto_schema_check(method->result, value, "result", NULL);
    }
}

/* Whatever an error says, its line is good JSON. */
static void emit_error(const json_t *id, const struct lp_error *error)
{
    char line[LP_PROTO_ERROR_LINE_BYTES];
    const size_t bytes = lp_proto_error_emit(id, error, line);
    json_t *read = json_loadb(line, bytes, 0, NULL);

    require(read != NULL);
    json_decref(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_proto_request request;
    struct lp_proto_answer answer;

    lp_proto_use_our_memory();
    const int rc = lp_proto_request_parse((const char *)data, size, &request, &err);
    require(rc == 0 || rc == LP_RPC_EPARSE || rc == LP_RPC_EREQUEST);
    if (rc == 0) {
        write_again(&request);
        (void)lp_proto_method_find(request.method, &err);
        check_schemas(request.params);
    }
    if (err.code != 0)
        emit_error(request.id, &err);
    lp_proto_request_fini(&request);
    lp_error_clear(&err);
    if (lp_proto_answer_parse((const char *)data, size, &answer, &err) == 0 &&
        answer.result != NULL)
        check_schemas(answer.result);
    lp_proto_answer_fini(&answer);
    return 0;
}
