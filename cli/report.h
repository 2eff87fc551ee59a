/* SPDX-License-Identifier: Apache-2.0 */
/* How a packed tensor is told about, the same for files and for the daemon. */
#ifndef LP_CLI_REPORT_H
#define LP_CLI_REPORT_H

#include "cli/source.h"

struct lp_cli_report {
    const char *name; /* borrowed */
    struct lp_geometry geometry;
    uint32_t codec, layout;
    uint64_t stored_bytes, wire_bytes;
    uint64_t record_bytes, n_records, raw_records;
    const char *reason;  /* borrowed; NULL or empty: not known */
    const char *how;     /* borrowed; the codec's parameters in words; likewise */
    double bound_saving; /* share of raw bytes; 0: not known */
    uint64_t version;    /* 0: a file has none */
};

/* From what the client library says. */
struct lp_cli_report lp_cli_report_of_info(const char *name, const struct lp_tensor_info *info);

/* One tensor as a JSON object. Returns new. */
json_t *lp_cli_report_json(const struct lp_cli_report *report);

/* A table: the heading, then a line for each tensor. with_how: reports have a how, where there is
 * one. */
void lp_cli_report_heading(bool with_how);
void lp_cli_report_line(const struct lp_cli_report *report);

#endif
