/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "store/index.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static struct lp_index index_;

/* The index never looks at an object; any address does. */
static char object_memory;
#define OBJECT ((struct lp_object *)(void *)&object_memory)

static void init(void)
{
    lp_store_index_init(&index_, 42);
}

static void fini(void)
{
    lp_store_index_fini(&index_);
}

TestSuite(store_index, .init = init, .fini = fini);

static struct lp_entry *add(const char *name_space, const char *name)
{
    struct lp_entry *entry;

    cr_assert_eq(lp_store_index_add(&index_, name_space, name, &entry, NULL), 0);
    entry->sealed = OBJECT;
    return entry;
}

static const char *name_from(const char *name_space, const char *name, bool or_equal)
{
    const struct lp_entry *entry = lp_store_index_from(&index_, name_space, name, or_equal);

    return entry != NULL ? entry->name : "(none)";
}

Test(store_index, finds_by_namespace_and_name)
{
    struct lp_entry *a = add("x", "one");

    cr_assert_eq(lp_store_index_find(&index_, "x", "one"), a);
    cr_assert_null(lp_store_index_find(&index_, "x", "on"));
    cr_assert_null(lp_store_index_find(&index_, "x", "onee"));
    cr_assert_null(lp_store_index_find(&index_, "y", "one"));
    cr_assert_null(lp_store_index_find(&index_, "", "one"));
    cr_assert_eq(add("x", "one"), a, "the same entry");
    cr_assert_eq(index_.n, 1);
}

/* The zero between the halves keeps "a" + "bc" apart from "ab" + "c". */
Test(store_index, keeps_namespaces_apart)
{
    struct lp_entry *a = add("a", "bc"), *b = add("ab", "c"), *c = add("abc", "");

    cr_assert(a != b && b != c);
    cr_assert_eq(lp_store_index_find(&index_, "ab", "c"), b);
    cr_assert_str_eq(name_from("a", "", true), "bc");
    cr_assert_str_eq(name_from("a", "bc", false), "(none)");
    cr_assert_str_eq(name_from("ab", "", true), "c");
}

/* Names are ordered as unsigned bytes; a prefix comes first. */
Test(store_index, goes_in_the_order_of_bytes)
{
    static const char *const sorted[] = {"!", "A", "a", "aa", "ab", "b", "\xc3\xa9"};

    for (size_t i = LP_ARRAY_LEN(sorted); i > 0; i--)
        (void)add("s", sorted[i - 1]);
    cr_assert_str_eq(name_from("s", "", true), sorted[0]);
    for (size_t i = 0; i + 1 < LP_ARRAY_LEN(sorted); i++)
        cr_assert_str_eq(name_from("s", sorted[i], false), sorted[i + 1]);
    cr_assert_str_eq(name_from("s", "a", true), "a");
    cr_assert_str_eq(name_from("s", "ac", true), "b");
}

/* An entry stays while it has either object. */
Test(store_index, settles_when_both_objects_are_gone)
{
    struct lp_entry *entry = add("s", "n");

    entry->pending = OBJECT;
    entry->sealed = NULL;
    lp_store_index_settle(&index_, entry);
    cr_assert_eq(lp_store_index_find(&index_, "s", "n"), entry);
    entry->pending = NULL;
    lp_store_index_settle(&index_, entry);
    cr_assert_null(lp_store_index_find(&index_, "s", "n"));
    cr_assert_eq(index_.n, 0);
}

Test(store_index, says_when_there_is_no_memory)
{
    struct fault_loop fault;
    struct lp_entry *entry = NULL;

    fault_arm(&fault, LP_FAULT_ALLOC, 1);
    cr_assert_eq(lp_store_index_add(&index_, "s", "n", &entry, NULL), LP_ENOMEM);
    fault_disarm();
    cr_assert_null(entry);
    cr_assert_eq(index_.n, 0);
    cr_assert_not_null(add("s", "n"));
}

static size_t depth(const struct lp_entry *entry)
{
    if (entry == NULL)
        return 0;
    const size_t left = depth(entry->left), right = depth(entry->right);
    return 1 + LP_MAX(left, right);
}

/* Names in order would make a plain tree a list of 4096. */
Test(store_index, stays_shallow_for_names_in_order)
{
    char name[32];

    for (int i = 0; i < 4096; i++) {
        (void)snprintf(name, sizeof(name), "layer.%06d", i);
        (void)add("s", name);
    }
    cr_assert_lt(depth(index_.root), 48);
    lp_store_index_fini(&index_);
    cr_assert_eq(index_.n, 0);
    ASSERT_NO_LEAK();
}

/* Random adds, removals and walks give what a flag per name gives. */
Test(store_index, agrees_with_a_naive_model)
{
    enum { NAMES = 400 };
    bool there[NAMES] = {0};
    char name[32];
    uint64_t state = 9;

    for (int step = 0; step < 20000; step++) {
        const int i = (int)(samples_next(&state) % NAMES);

        (void)snprintf(name, sizeof(name), "n%03d", i);
        struct lp_entry *entry = lp_store_index_find(&index_, "s", name);
        cr_assert_eq(entry != NULL, there[i]);
        if (entry == NULL) {
            (void)add("s", name);
        } else {
            entry->sealed = NULL;
            lp_store_index_settle(&index_, entry);
        }
        there[i] = !there[i];
        int next = i + 1;
        while (next < NAMES && !there[next])
            next++;
        char want[16] = "(none)";
        if (next < NAMES)
            (void)snprintf(want, sizeof(want), "n%03d", next);
        cr_assert_str_eq(name_from("s", name, false), want);
    }
}
