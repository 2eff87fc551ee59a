/* SPDX-License-Identifier: Apache-2.0 */
/* A treap: a search tree by key that is also a heap by priority. Priorities are seeded hashes of
 * the keys, so the shape depends on the set of names alone and is balanced in expectation, whoever
 * chose the names. Source: Seidel and Aragon, "Randomized search trees", 1996. */
#include "store/index.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/table.h"

#include <assert.h>
#include <string.h>

/* A key that is looked for, in its two halves. */
struct key {
    const char *name_space, *name;
    size_t space_bytes, name_bytes;
};

static struct key make_key(const char *name_space, const char *name)
{
    return (struct key){name_space, name, strlen(name_space), strlen(name)};
}

/* Order of a key against an entry; names have no zero bytes, so the zero between the halves sorts
 * namespaces that are prefixes of each other. */
static int compare(const struct key *key, const struct lp_entry *entry)
{
    const int space_order =
        memcmp(key->name_space, entry->key, LP_MIN(key->space_bytes + 1, entry->key_bytes));

    if (space_order != 0)
        return space_order;
    const size_t entry_name_bytes = entry->key_bytes - key->space_bytes - 1;
    const int name_order =
        memcmp(key->name, entry->name, LP_MIN(key->name_bytes, entry_name_bytes));
    if (name_order != 0)
        return name_order;
    return (key->name_bytes > entry_name_bytes) - (key->name_bytes < entry_name_bytes);
}

static struct key key_of(const struct lp_entry *entry)
{
    return make_key(entry->key, entry->name);
}

void lp_store_index_init(struct lp_index *index, uint64_t seed)
{
    index->root = NULL;
    index->seed = seed;
    index->n = 0;
}

void lp_store_index_fini(struct lp_index *index)
{
    /* Rotate left children up until there is none, so that no stack is needed. */
    while (index->root != NULL) {
        struct lp_entry *root = index->root, *left = root->left;

        if (left != NULL) {
            root->left = left->right;
            left->right = root;
            index->root = left;
        } else {
            index->root = root->right;
            lp_mem_free(root);
        }
    }
    index->n = 0;
}

struct lp_entry *lp_store_index_find(const struct lp_index *index, const char *name_space,
                                     const char *name)
{
    const struct key key = make_key(name_space, name);
    struct lp_entry *entry = index->root;

    while (entry != NULL) {
        const int order = compare(&key, entry);

        if (order == 0)
            return entry;
        entry = order < 0 ? entry->left : entry->right;
    }
    return NULL;
}

/* Split a tree by key: what is smaller to *left, the rest to *right. key is not in it. */
static void split(struct lp_entry *tree, const struct key *key, struct lp_entry **left,
                  struct lp_entry **right)
{
    while (tree != NULL) {
        if (compare(key, tree) < 0) {
            *right = tree;
            right = &tree->left;
            tree = tree->left;
        } else {
            *left = tree;
            left = &tree->right;
            tree = tree->right;
        }
    }
    *left = NULL;
    *right = NULL;
}

/* One tree of two, all of left before all of right. */
static struct lp_entry *merge(struct lp_entry *left, struct lp_entry *right)
{
    struct lp_entry *root, **at = &root;

    while (left != NULL && right != NULL) {
        if (left->priority >= right->priority) {
            *at = left;
            at = &left->right;
            left = left->right;
        } else {
            *at = right;
            at = &right->left;
            right = right->left;
        }
    }
    *at = left != NULL ? left : right;
    return root;
}

static struct lp_entry *entry_new(const struct lp_index *index, const struct key *key)
{
    const size_t key_bytes = key->space_bytes + 1 + key->name_bytes;
    struct lp_entry *entry = lp_mem_zalloc(sizeof(*entry) + key_bytes + 1);

    if (entry == NULL)
        return NULL;
    memcpy(entry->key, key->name_space, key->space_bytes);
    memcpy(entry->key + key->space_bytes + 1, key->name, key->name_bytes);
    entry->name = entry->key + key->space_bytes + 1;
    entry->key_bytes = key_bytes;
    /* Two rounds, so that the seed is not merely xored to a hash that others can compute. */
    const uint64_t mixed[2] = {index->seed, lp_codec_hash(entry->key, key_bytes)};
    entry->priority = lp_codec_hash(mixed, sizeof(mixed));
    return entry;
}

/* Hang entry where its priority wants it. */
static void insert(struct lp_index *index, struct lp_entry *entry)
{
    const struct key key = key_of(entry);
    struct lp_entry **at = &index->root;

    while (*at != NULL && (*at)->priority >= entry->priority)
        at = compare(&key, *at) < 0 ? &(*at)->left : &(*at)->right;
    split(*at, &key, &entry->left, &entry->right);
    *at = entry;
    index->n++;
}

int lp_store_index_add(struct lp_index *index, const char *name_space, const char *name,
                       struct lp_entry **ret_entry, struct lp_error *err)
{
    const struct key key = make_key(name_space, name);
    struct lp_entry *entry = lp_store_index_find(index, name_space, name);

    if (entry == NULL) {
        entry = entry_new(index, &key);
        if (entry == NULL)
            return lp_error_set(err, LP_ENOMEM, "no memory for the name of an object");
        insert(index, entry);
    }
    *ret_entry = entry;
    return 0;
}

void lp_store_index_settle(struct lp_index *index, struct lp_entry *entry)
{
    if (entry->sealed != NULL || entry->pending != NULL)
        return;
    const struct key key = key_of(entry);
    struct lp_entry **at = &index->root;
    while (*at != entry) {
        assert(*at != NULL);
        at = compare(&key, *at) < 0 ? &(*at)->left : &(*at)->right;
    }
    *at = merge(entry->left, entry->right);
    lp_mem_free(entry);
    index->n--;
}

struct lp_entry *lp_store_index_from(const struct lp_index *index, const char *name_space,
                                     const char *name, bool or_equal)
{
    const struct key key = make_key(name_space, name);
    struct lp_entry *entry = index->root, *found = NULL;

    while (entry != NULL) {
        const int order = compare(&key, entry);

        if (order < 0 || (order == 0 && or_equal)) {
            found = entry;
            entry = entry->left;
        } else {
            entry = entry->right;
        }
    }
    /* The first key behind may already belong to the next namespace. */
    return found != NULL && strcmp(found->key, name_space) == 0 ? found : NULL;
}
