/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"

#include <criterion/criterion.h>

struct thing {
    int id;
    struct lp_list link;
};

/* The ids in the ring, as decimal digits from the front. */
static int digits(const struct lp_list *list)
{
    int sum = 0;

    for (const struct lp_list *at = list->next; at != list; at = at->next)
        sum = sum * 10 + LP_CONTAINER_OF(at, struct thing, link)->id;
    return sum;
}

Test(base_list, appends_and_removes_in_order)
{
    struct thing things[4];
    struct lp_list list;

    lp_list_init(&list);
    cr_assert(lp_list_empty(&list));
    for (int i = 0; i < 4; i++) {
        things[i].id = i + 1;
        lp_list_append(&list, &things[i].link);
    }
    cr_assert_eq(digits(&list), 1234);
    lp_list_remove(&things[1].link);
    cr_assert_eq(digits(&list), 134);
    lp_list_remove(&things[3].link);
    lp_list_remove(&things[0].link);
    cr_assert_eq(digits(&list), 3);
    lp_list_append(&list, &things[1].link);
    cr_assert_eq(digits(&list), 32);
}

/* A link that is in no ring may be removed again. */
Test(base_list, removes_twice)
{
    struct lp_list list, link;

    lp_list_init(&list);
    lp_list_append(&list, &link);
    lp_list_remove(&link);
    lp_list_remove(&link);
    cr_assert(lp_list_empty(&list));
    cr_assert(lp_list_empty(&link));
}
