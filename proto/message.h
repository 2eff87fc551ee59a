/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the control socket: one line of JSON-RPC 2.0 each, made and taken apart. No I/O.
 *
 * Lines come from peers: size, depth, types and keys are checked before anything is used.
 * Source: docs/PROTOCOL.md, section 1. */
#ifndef LP_PROTO_MESSAGE_H
#define LP_PROTO_MESSAGE_H

#include "base/error.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LP_PROTO_VERSION_MIN 0u /* range that this build speaks */
#define LP_PROTO_VERSION_MAX 0u
#define LP_PROTO_MESSAGE_BYTES 1048576u /* a line, its newline included, unless configured */
#define LP_PROTO_DEPTH_MAX 16u          /* braces and brackets open at once */
#define LP_PROTO_FDS_MAX 32u            /* descriptors of one message */
#define LP_PROTO_LIST_MAX 1000u         /* entries of a list in a request */
#define LP_PROTO_ID_BYTES_MAX 64u
#define LP_PROTO_NAME_BYTES_MAX 512u
#define LP_PROTO_NAMESPACE_BYTES_MAX 64u
#define LP_PROTO_ERROR_LINE_BYTES 2048u    /* no error line is longer */
#define LP_PROTO_ARENA_WAIT_MS_MAX 600000u /* deadline_ms of arena.open ... */
#define LP_PROTO_SEAL_WAIT_MS_MAX 3600000u /* ... and of object.seal */

/* JSON-RPC's own codes; they stand beside LP_E* in struct lp_error. */
enum lp_rpc_code {
    LP_RPC_EPARSE = -32700,   /* not JSON, too deep, a key twice */
    LP_RPC_EREQUEST = -32600, /* JSON, but no request; or a line too long */
    LP_RPC_EMETHOD = -32601,  /* no such method */
    LP_RPC_EPARAMS = -32602   /* a parameter is missing, unknown or of another type */
};

/* Let jansson take its memory from base/alloc.h, so that tests can make it fail and LP_ENOMEM is
 * told from bad JSON. For programs, before the first use of jansson; not for the client library,
 * which shares jansson with whoever loads it. */
void lp_proto_use_our_memory(void);

/* A request taken apart. All but root borrow from root. */
struct lp_proto_request {
    json_t *root;
    const json_t *id;   /* integer or string; NULL: none that is good was read */
    const char *method; /* NULL after a failure */
    json_t *params;     /* an object, or NULL: none were given */
};

/* Take a line apart; its newline may be there or not. line borrows for the call.
 * ret_request is filled in any case, as far as it was read, and lp_proto_request_fini() ends it.
 * 0, or LP_RPC_EPARSE, LP_RPC_EREQUEST, LP_ENOMEM. */
int lp_proto_request_parse(const char *line, size_t bytes, struct lp_proto_request *ret_request,
                           struct lp_error *err);
void lp_proto_request_fini(struct lp_proto_request *request);

/* An answer taken apart. result and root as above. */
struct lp_proto_answer {
    json_t *root;
    bool has_id;           /* false: null, an error about a line without a good id */
    uint64_t id;           /* Lanepack's own client counts its requests */
    json_t *result;        /* an object; NULL: the request failed, see error */
    struct lp_error error; /* code and sentence of the peer; code 0: it succeeded */
    uint32_t n_fds;        /* descriptors that the line says it brings */
};

/* Take an answer apart; as above. LP_EPROTO: no answer by docs/PROTOCOL.md; LP_ENOMEM. */
int lp_proto_answer_parse(const char *line, size_t bytes, struct lp_proto_answer *ret_answer,
                          struct lp_error *err);
void lp_proto_answer_fini(struct lp_proto_answer *answer);

/* Make lines, newline included. params (NULL: none), result and id (NULL: null) borrow.
 * *ret_line returns new, lp_mem_free() frees it. 0 or LP_ENOMEM. */
int lp_proto_request_emit(uint64_t id, const char *method, const json_t *params, char **ret_line,
                          size_t *ret_bytes, struct lp_error *err);
int lp_proto_result_emit(const json_t *id, const json_t *result, char **ret_line, size_t *ret_bytes,
                         struct lp_error *err);

/* Write an error line without allocating; line has LP_PROTO_ERROR_LINE_BYTES. Returns its bytes. */
size_t lp_proto_error_emit(const json_t *id, const struct lp_error *error, char *line);

/* {"code", "message", "data"} as it stands in an answer and in items of lists. Returns new, or NULL
 * when there is no memory. */
json_t *lp_proto_error_json(const struct lp_error *error);

/* The reverse. Returns false when value is no error object; *ret_error is then untouched. */
bool lp_proto_error_read(const json_t *value, struct lp_error *ret_error);

/* A 64-bit pattern as 16 lower-case hex digits. hex has 17 bytes; returned. */
char *lp_proto_hex_write(uint64_t pattern, char *hex);

/* The reverse; false for anything but exactly 16 lower-case digits. */
bool lp_proto_hex_read(const char *hex, uint64_t *ret_pattern);

#endif
