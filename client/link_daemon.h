/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind the daemon's link share: the connection, one request, and its answer taken
 * apart. link_connect.c, link_answer.c; the requests themselves are in link_daemon.c. */
#ifndef LP_CLIENT_LINK_DAEMON_H
#define LP_CLIENT_LINK_DAEMON_H

#include "client/call.h"
#include "client/link.h"

#define LP_LINK_ITEMS_A_REQUEST 256u

struct lp_link_daemon {
    struct lp_call call;
    char *path, *name_space, *app; /* owned */
    uint64_t connection;           /* counts hellos */
    uint64_t cut_up_to;            /* atomic: connections up to this one count as cut */
    uint64_t epoch;
    uint32_t protocol;
    char server[60];
};

/* What may be asked again on a new connection. */
enum lp_link_again { LP_LINK_ASK_ONCE, LP_LINK_ASK_AGAIN };

/* One request. params steals; NULL is LP_EINVAL. With LP_LINK_ASK_ONCE connection must be the
 * current one, else LP_ESTALE. *ret_result returns new, ret_fds (NULL: none) owns n_fds. */
int lp_link_ask(struct lp_link_daemon *link, enum lp_link_again again, uint64_t connection,
                const char *method, json_t *params, json_t **ret_result, struct lp_fdset *ret_fds,
                size_t n_fds, uint64_t deadline_ns, struct lp_error *err);

/* As lp_link_ops.close. */
void lp_link_daemon_close(void *user, bool inherited);

/* A whole number from 0 under key; false: there is none. */
bool lp_link_read_u64(const json_t *object, const char *key, uint64_t *ret);

/* An `info` of the protocol; false: it is none. *ret_name borrows from json. */
bool lp_link_read_info(const struct lp_link_daemon *link, const json_t *json,
                       struct lp_tensor_info *ret_info, const char **ret_name);

/* LP_EPROTO: the answer is not that of docs/PROTOCOL.md. */
int lp_link_protocol_error(const char *method, struct lp_error *err);

/* The error of one item: its code, or 0 when the item is none. */
int lp_link_item_error(const json_t *item, struct lp_error *err);

/* The only item of a one-item request; its error is the call's. */
int lp_link_only_item(const char *method, const json_t *result, const json_t **ret_item,
                      struct lp_error *err);

#endif
