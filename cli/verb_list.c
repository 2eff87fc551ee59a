/* SPDX-License-Identifier: Apache-2.0 */
/* list, rm: names in the daemon. */
#include "base/error.h"
#include "cli/report.h"

#include <stdio.h>

struct list {
    json_t *results; /* NULL: a table */
    uint64_t n;
};

static int list_one(void *user, const char *name, const struct lp_tensor_info *info)
{
    struct list *list = user;
    const struct lp_cli_report report = lp_cli_report_of_info(name, info);

    if (list->results != NULL) {
        (void)json_array_append_new(list->results, lp_cli_report_json(&report));
    } else {
        if (list->n == 0)
            lp_cli_report_heading(false);
        lp_cli_report_line(&report);
    }
    list->n++;
    return 0;
}

int lp_cli_verb_list(const struct lp_cli_args *args)
{
    const char *prefix = args->n_items != 0 ? args->items[0] : NULL;
    struct list list = {.results = lp_cli_has(args, LP_CLI_JSON) ? json_array() : NULL};
    struct lp_error err = LP_ERROR_INIT;
    lp_client *client;
    int rc;

    rc = lp_cli_connect(args, &client, &err);
    if (rc == 0) {
        rc = lp_client_list(client, prefix, list_one, &list, &err);
        lp_client_close(client);
    }
    if (rc < 0) {
        json_decref(list.results);
        return lp_cli_fail(args, rc, &err);
    }
    if (list.results != NULL)
        return lp_cli_print_json_take(json_pack("{s:o}", "tensors", list.results));
    return lp_cli_finish_output();
}

int lp_cli_verb_rm(const struct lp_cli_args *args)
{
    struct lp_error err = LP_ERROR_INIT;
    uint64_t removed = 0;
    lp_client *client;
    int rc;

    rc = lp_cli_connect(args, &client, &err);
    if (rc == 0) {
        rc = lp_client_remove(client, args->items, (size_t)args->n_items, &removed, &err);
        lp_client_close(client);
    }
    if (rc == 0 && removed != (uint64_t)args->n_items)
        rc = lp_error_set(&err, LP_ENOENT, "%llu of %d names were there and are removed",
                          (unsigned long long)removed, args->n_items);
    if (rc < 0)
        return lp_cli_fail(args, rc, &err);
    if (lp_cli_has(args, LP_CLI_JSON))
        return lp_cli_print_json_take(json_pack("{s:I}", "removed", (json_int_t)removed));
    (void)printf("removed %llu\n", (unsigned long long)removed);
    return lp_cli_finish_output();
}
