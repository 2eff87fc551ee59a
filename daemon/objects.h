/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the store as the protocol writes them. */
#ifndef LP_DAEMON_OBJECTS_H
#define LP_DAEMON_OBJECTS_H

#include "store/store.h"

#include <jansson.h>

/* The `info` of docs/PROTOCOL.md. Returns new, or NULL when there is no memory. */
json_t *lp_daemon_objects_info_json(const struct lp_store_info *info);

/* [[chunk, offset, bytes], ...]. Returns new, or NULL. */
json_t *lp_daemon_objects_extents_json(const struct lp_store_info *info);

/* A list that an answer may hold: it keeps room for an error for each item that is still to come,
 * so the answer stays within a line. */
struct lp_items {
    json_t *list;   /* NULL: there was no memory */
    size_t left;    /* bytes that items may still take */
    size_t to_come; /* items */
};

/* n_items to come in an answer of at most line_bytes. */
void lp_daemon_items_init(struct lp_items *items, size_t n_items, size_t line_bytes);

/* Bytes that the next item may have at most. */
size_t lp_daemon_items_room(const struct lp_items *items);

/* Put an item (takes) at the end. false: it is larger than lp_daemon_items_room(), and an error of
 * code LP_ESIZE stands in its place; or there was no memory, and list is NULL from now on. */
bool lp_daemon_items_put_take(struct lp_items *items, json_t *item);

/* Put {"error": ...} at the end; without its details where they have no room. */
void lp_daemon_items_put_error(struct lp_items *items, const struct lp_error *error);

/* {"items": list}; returns new or NULL. items is finished. */
json_t *lp_daemon_items_result_take(struct lp_items *items);

#endif
