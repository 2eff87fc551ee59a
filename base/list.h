/* SPDX-License-Identifier: Apache-2.0 */
/* A doubly linked ring whose links live inside the things that are linked.
 *
 *     struct lp_list jobs;                          the head
 *     struct job { int id; struct lp_list link; };
 *
 *     lp_list_init(&jobs);
 *     lp_list_append(&jobs, &job->link);
 *     struct job *first = LP_CONTAINER_OF(jobs.next, struct job, link);
 *
 * Linking and unlinking cannot fail. A link that was initialised or removed may be removed again.
 */
#ifndef LP_BASE_LIST_H
#define LP_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct lp_list {
    struct lp_list *prev, *next;
};

/* The struct of this type whose member is at link. */
#define LP_CONTAINER_OF(link, type, member)                                                        \
    ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* An empty ring, or a link that is in none. */
static inline void lp_list_init(struct lp_list *list)
{
    list->prev = list;
    list->next = list;
}

static inline bool lp_list_empty(const struct lp_list *list)
{
    return list->next == list;
}

/* Put link, which is in no ring, last. */
static inline void lp_list_append(struct lp_list *list, struct lp_list *link)
{
    link->prev = list->prev;
    link->next = list;
    list->prev->next = link;
    list->prev = link;
}

/* Take link out of its ring. */
static inline void lp_list_remove(struct lp_list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    lp_list_init(link);
}

#endif
