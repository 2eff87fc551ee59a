/* SPDX-License-Identifier: Apache-2.0 */
/* Namespace and name to object, ordered by the bytes of both.
 *
 * An entry stands for a name: it has the object that readers find, the one that is being made, or
 * both (a replacement under way), and is removed when it has neither. One caller at a time. */
#ifndef LP_STORE_INDEX_H
#define LP_STORE_INDEX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lp_object;

struct lp_entry {
    struct lp_entry *left, *right;      /* index.c only */
    uint64_t priority;                  /* index.c only */
    struct lp_object *sealed, *pending; /* borrowed */
    const char *name;                   /* in key, behind the namespace */
    size_t key_bytes;                   /* both names and the zero between them */
    char key[];                         /* namespace, 0, name, 0 */
};

struct lp_index {
    struct lp_entry *root;
    uint64_t seed; /* makes the tree's shape unpredictable to those who choose names */
    size_t n;
};

void lp_store_index_init(struct lp_index *index, uint64_t seed);

/* Frees the entries that are left. */
void lp_store_index_fini(struct lp_index *index);

/* The entry, or NULL. */
struct lp_entry *lp_store_index_find(const struct lp_index *index, const char *name_space,
                                     const char *name);

/* The entry, made when there is none; it belongs to the index. LP_ENOMEM. */
int lp_store_index_add(struct lp_index *index, const char *name_space, const char *name,
                       struct lp_entry **ret_entry, struct lp_error *err);

/* Remove the entry if it has no object any more, else nothing. */
void lp_store_index_settle(struct lp_index *index, struct lp_entry *entry);

/* The first entry of the namespace whose name is greater than name, or with or_equal also equal to
 * it; NULL at the end. */
struct lp_entry *lp_store_index_from(const struct lp_index *index, const char *name_space,
                                     const char *name, bool or_equal);

#endif
