/* SPDX-License-Identifier: Apache-2.0 */
/* The table of control methods, and schemas of what goes in and comes out.
 *
 * Schemas are text, written for people and checked by lp_proto_schema_check():
 *   type    uint | int | num | bool | text | hex | a name of LP_SCHEMA | list | object
 *           uint 0 .. 2^63 - 1, num any number, hex 16 lower-case hex digits
 *   list    [type] or [type*N], at most N entries
 *   object  {} or {key:type,key?:type}; `?` marks what may be left out; {*:type}: any keys
 *   choice  type|type|...
 * No spaces. Keys that a schema does not have are refused. */
#ifndef LP_PROTO_METHOD_H
#define LP_PROTO_METHOD_H

#include "base/error.h"

#include <jansson.h>

#include <stdint.h>

#define LP_METHOD_FIRST 1u /* must be the connection's first request, and only that */
#define LP_METHOD_ADMIN 2u /* for peers with admin rights */
#define LP_METHOD_WAITS 4u /* may be answered later than requests that follow */
#define LP_METHOD_FDS 8u   /* the result brings descriptors */

enum lp_method_id {
#define LP_METHOD(id, name, since, flags, params, result, help) LP_METHOD_##id,
#include "proto/methods.def"
    LP_METHODS /* how many there are; not a method */
};

struct lp_method {
    enum lp_method_id id;
    const char *name;
    uint32_t since;              /* protocol version */
    uint32_t flags;              /* LP_METHOD_* */
    const char *params, *result; /* schemas */
    const char *help;
};

/* The row of a method; static. */
const struct lp_method *lp_proto_method(enum lp_method_id id);

/* Find a method by name. Static, or NULL: LP_RPC_EMETHOD is set in err, with the nearest name. */
const struct lp_method *lp_proto_method_find(const char *name, struct lp_error *err);

/* Check value (NULL: an empty object) against schema. what is the word for value in messages:
 * "params", "result". 0, or LP_RPC_EPARAMS: the text names the key, and the nearest known one. */
int lp_proto_schema_check(const char *schema, const json_t *value, const char *what,
                          struct lp_error *err);

#endif
