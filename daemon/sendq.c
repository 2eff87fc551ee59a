/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors are duplicated when a line is queued: the arena or chunk that they belong to may end
 * before a slow client has taken them. */
#include "daemon/sendq.h"

#include "base/alloc.h"
#include "base/fdpass.h"

#include <errno.h>
#include <fcntl.h>

struct line {
    struct lp_list link;
    char *text; /* owned */
    size_t bytes, sent;
    struct lp_fdset fds; /* owned; empty once the first byte has left */
};

static struct line *first_line(struct lp_sendq *queue)
{
    return LP_CONTAINER_OF(queue->lines.next, struct line, link);
}

static void line_free_take(struct line *line)
{
    lp_list_remove(&line->link);
    lp_fdset_close(&line->fds);
    lp_mem_free(line->text);
    lp_mem_free(line);
}

void lp_daemon_sendq_init(struct lp_sendq *queue)
{
    lp_list_init(&queue->lines);
    queue->bytes = 0;
    queue->n_fds = 0;
}

void lp_daemon_sendq_fini(struct lp_sendq *queue)
{
    while (!lp_list_empty(&queue->lines))
        line_free_take(first_line(queue));
    queue->bytes = 0;
    queue->n_fds = 0;
}

static int duplicate_fds(struct lp_fdset *set, const int *fds, size_t n_fds, struct lp_error *err)
{
    for (set->count = 0; set->count < n_fds; set->count++) {
        const int fd = fcntl(fds[set->count], F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return lp_error_set_errno(err, LP_ELIMIT, errno, "duplicate a descriptor");
        set->fd[set->count] = fd;
    }
    return 0;
}

int lp_daemon_sendq_put_take(struct lp_sendq *queue, char *line, size_t bytes, const int *fds,
                             size_t n_fds, struct lp_error *err)
{
    struct line *entry = lp_mem_zalloc(sizeof(*entry));

    if (entry == NULL) {
        lp_mem_free(line);
        return lp_error_set(err, LP_ENOMEM, "no memory to queue an answer");
    }
    lp_list_init(&entry->link);
    entry->text = line;
    entry->bytes = bytes;
    const int rc = duplicate_fds(&entry->fds, fds, n_fds, err);
    if (rc < 0) {
        line_free_take(entry);
        return rc;
    }
    lp_list_append(&queue->lines, &entry->link);
    queue->bytes += bytes;
    queue->n_fds += n_fds;
    return 0;
}

int lp_daemon_sendq_flush(struct lp_sendq *queue, int sock, bool *ret_sent, struct lp_error *err)
{
    int rc;

    *ret_sent = false;
    while (!lp_list_empty(&queue->lines)) {
        struct line *line = first_line(queue);
        size_t sent;
        LP_TRY(rc, lp_fdpass_send(sock, line->text + line->sent, line->bytes - line->sent,
                                  line->fds.fd, line->fds.count, &sent, err));
        if (sent == 0)
            return 0;
        *ret_sent = true;
        queue->n_fds -= line->fds.count;
        lp_fdset_close(&line->fds);
        line->sent += sent;
        queue->bytes -= sent;
        if (line->sent == line->bytes)
            line_free_take(line);
    }
    return 0;
}
