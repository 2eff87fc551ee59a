/* SPDX-License-Identifier: Apache-2.0 */
/* inspect: how tensors are packed, in an .lpk file or in the daemon. */
#include "base/error.h"
#include "cli/report.h"
#include "store/lpk_file.h"

#include <stdio.h>
#include <string.h>

/* Reports of all items: told as they come, or kept for --json. */
struct inspect {
    json_t *results;
    uint64_t n;
};

static void tell(struct inspect *inspect, const struct lp_cli_report *report)
{
    if (inspect->results != NULL) {
        (void)json_array_append_new(inspect->results, lp_cli_report_json(report));
    } else {
        if (inspect->n == 0)
            lp_cli_report_heading(report->how != NULL);
        lp_cli_report_line(report);
    }
    inspect->n++;
}

static int inspect_tensor(struct inspect *inspect, struct lp_lpk_file *file, uint32_t i,
                          struct lp_error *err)
{
    struct lp_lpk_tensor *tensor;
    struct lp_lpk_info info;
    int rc;

    LP_TRY(rc, lp_lpk_tensor_open(&tensor, file, i, err));
    lp_lpk_tensor_info(tensor, &info);
    tell(inspect, &(struct lp_cli_report){.name = info.name,
                                          .geometry = info.geometry,
                                          .codec = info.codec,
                                          .layout = info.layout,
                                          .stored_bytes = info.stored_bytes,
                                          .wire_bytes = info.wire_bytes,
                                          .record_bytes = (uint64_t)info.record_elements *
                                                          info.geometry.elem_bytes,
                                          .n_records = info.n_records,
                                          .raw_records = info.raw_records,
                                          .how = info.how});
    lp_lpk_tensor_close(tensor);
    return 0;
}

static int inspect_file(struct inspect *inspect, const char *path, struct lp_error *err)
{
    struct lp_lpk_file *file;
    int rc;

    LP_TRY(rc, lp_lpk_open(&file, path, err));
    for (uint32_t i = 0; rc == 0 && i < lp_lpk_count(file); i++)
        rc = inspect_tensor(inspect, file, i, err);
    lp_lpk_close(file);
    return rc;
}

static int inspect_name(struct inspect *inspect, lp_client *client, const char *name,
                        struct lp_error *err)
{
    struct lp_tensor_info info = {.struct_size = sizeof(info)};
    struct lp_cli_report report;
    lp_tensor *tensor;
    char how[LP_TABLE_HOW_BYTES] = "";
    int rc;

    LP_TRY(rc, lp_client_open(client, &name, 1, &tensor, NULL, err));
    (void)lp_tensor_get_info(tensor, &info);
    (void)lp_tensor_describe(tensor, how, sizeof(how));
    report = lp_cli_report_of_info(name, &info);
    report.how = how;
    tell(inspect, &report);
    lp_tensor_close(tensor);
    return 0;
}

static bool is_file_name(const char *item)
{
    const size_t n = strlen(item);

    return lp_lpk_probe(item) || (n > 4 && strcmp(item + n - 4, ".lpk") == 0);
}

int lp_cli_verb_inspect(const struct lp_cli_args *args)
{
    struct inspect inspect = {.results = lp_cli_has(args, LP_CLI_JSON) ? json_array() : NULL};
    struct lp_error err = LP_ERROR_INIT;
    lp_client *client = NULL;
    int rc = 0;

    for (int i = 0; rc == 0 && i < args->n_items; i++) {
        if (is_file_name(args->items[i])) {
            rc = inspect_file(&inspect, args->items[i], &err);
            continue;
        }
        if (client == NULL)
            rc = lp_cli_connect(args, &client, &err);
        if (rc == 0)
            rc = inspect_name(&inspect, client, args->items[i], &err);
    }
    lp_client_close(client);
    if (rc < 0) {
        (void)fflush(stdout);
        json_decref(inspect.results);
        return lp_cli_fail(args, rc, &err);
    }
    if (inspect.results != NULL)
        return lp_cli_print_json_take(json_pack("{s:o}", "tensors", inspect.results));
    return lp_cli_finish_output();
}
