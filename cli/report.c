/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

struct lp_cli_report lp_cli_report_of_info(const char *name, const struct lp_tensor_info *info)
{
    struct lp_cli_report report = {.name = name,
                                   .codec = info->codec,
                                   .layout = info->layout,
                                   .stored_bytes = info->stored_bytes,
                                   .wire_bytes = info->wire_bytes,
                                   .record_bytes = info->record_bytes,
                                   .n_records = info->n_records,
                                   .raw_records = info->raw_records,
                                   .version = info->version};
    uint64_t dims[LP_FORMAT_DIMS_MAX];

    for (uint32_t i = 0; i < LP_FORMAT_DIMS_MAX; i++)
        dims[i] = (uint64_t)info->dims[i];
    /* The library checked this shape when it opened the tensor. */
    (void)lp_codec_geometry_init(&report.geometry, info->dtype, info->ndim, dims, NULL);
    return report;
}

json_t *lp_cli_report_json(const struct lp_cli_report *report)
{
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "name", report->name,
                  "dtype", lp_codec_dtype_info(report->geometry.dtype)->name, "shape",
                  lp_cli_shape_json(&report->geometry), "codec", lp_codec_id_name(report->codec),
                  "layout", lp_codec_layout_name(report->layout), "logical_bytes",
                  (json_int_t)report->geometry.logical_bytes, "stored_bytes",
                  (json_int_t)report->stored_bytes, "wire_bytes", (json_int_t)report->wire_bytes,
                  "record_bytes", (json_int_t)report->record_bytes, "records",
                  (json_int_t)report->n_records, "raw_records", (json_int_t)report->raw_records);

    if (report->version != 0)
        (void)json_object_set_new(json, "version", json_integer((json_int_t)report->version));
    if (report->reason != NULL && report->reason[0] != '\0')
        (void)json_object_set_new(json, "reason", json_string(report->reason));
    if (report->how != NULL && report->how[0] != '\0')
        (void)json_object_set_new(json, "how", json_string(report->how));
    if (report->bound_saving > 0)
        (void)json_object_set_new(json, "bound_saving", json_real(report->bound_saving));
    return json;
}

void lp_cli_report_heading(bool with_how)
{
    (void)printf("%-32s %-8s %-18s %-5s %-7s %11s %11s %7s %7s %7s%s\n", "name", "dtype", "shape",
                 "codec", "layout", "logical", "stored", "saved", "wire", "bound",
                 with_how ? "  how" : "");
}

void lp_cli_report_line(const struct lp_cli_report *report)
{
    char logical[LP_CLI_BYTES_TEXT], stored[LP_CLI_BYTES_TEXT], shape[LP_CLI_SHAPE_TEXT];
    const char *const how = report->how != NULL ? report->how : "";
    char bound[16] = "-";

    if (report->bound_saving > 0)
        (void)snprintf(bound, sizeof(bound), "%.1f %%", 100.0 * report->bound_saving);
    (void)printf("%-32s %-8s %-18s %-5s %-7s %11s %11s %5.1f %% %5.1f %% %7s%s%s\n", report->name,
                 lp_codec_dtype_info(report->geometry.dtype)->name,
                 lp_cli_shape(&report->geometry, shape), lp_codec_id_name(report->codec),
                 lp_codec_layout_name(report->layout),
                 lp_cli_bytes(report->geometry.logical_bytes, logical),
                 lp_cli_bytes(report->stored_bytes, stored),
                 lp_cli_saving(report->geometry.logical_bytes, report->stored_bytes),
                 lp_cli_saving(report->geometry.logical_bytes, report->wire_bytes), bound,
                 how[0] != '\0' ? "  " : "", how);
}
