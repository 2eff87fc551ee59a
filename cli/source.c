/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* "20941,128": whole numbers between commas. */
static bool read_shape(const char *text, struct lp_load_options *options)
{
    while (options->ndim < LP_FORMAT_DIMS_MAX) {
        char *end;

        errno = 0;
        options->dims[options->ndim++] = strtoumax(text, &end, 10);
        if (*text < '0' || *text > '9' || errno != 0)
            return false;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

int lp_cli_read_source(const struct lp_cli_args *args, struct lp_load_options *ret_options)
{
    const char *as = args->value[LP_CLI_AS];
    const char *dtype = args->value[LP_CLI_DTYPE];
    const char *shape = args->value[LP_CLI_SHAPE];

    *ret_options = (struct lp_load_options){0};
    if (as != NULL && lp_codec_dtype_by_name(as) != LP_DTYPE_BF16)
        return lp_cli_usage(args, "--as takes bf16, not %s", as);
    if (as != NULL)
        ret_options->as_dtype = LP_DTYPE_BF16;
    if (dtype == NULL && shape == NULL && !lp_cli_has(args, LP_CLI_OFFSET))
        return LP_CLI_DONE;
    if (dtype == NULL || shape == NULL)
        return lp_cli_usage(args, "raw binary needs both --dtype and --shape");
    ret_options->dtype = lp_codec_dtype_by_name(dtype);
    if (ret_options->dtype == 0)
        return lp_cli_usage(args, "there is no dtype %s", dtype);
    if (!read_shape(shape, ret_options))
        return lp_cli_usage(args, "--shape takes up to %u numbers between commas, not %s",
                            LP_FORMAT_DIMS_MAX, shape);
    if (!lp_cli_number(args, LP_CLI_OFFSET, INT64_MAX, &ret_options->offset))
        return LP_CLI_USAGE;
    return LP_CLI_DONE;
}

int lp_cli_read_plan(const struct lp_cli_args *args, struct lp_plan_params *ret_params)
{
    const char *codec = args->value[LP_CLI_CODEC];
    const char *layout = args->value[LP_CLI_LAYOUT];
    const char *access = args->value[LP_CLI_ACCESS];
    uint64_t align = 0, rows = 0, elements = 0, period = 0;

    *ret_params = (struct lp_plan_params){0};
    if (codec != NULL && lp_codec_id_by_name(codec) < 0)
        return lp_cli_usage(
            args, "there is no codec %s: auto, raw, ibp, lane, zip7, dict or sparse", codec);
    if (layout != NULL && lp_codec_layout_by_name(layout) < 0)
        return lp_cli_usage(args, "there is no layout %s: packed or slotted", layout);
    if (access != NULL && strcmp(access, "whole") != 0 && strcmp(access, "rows") != 0)
        return lp_cli_usage(args, "there is no access %s: whole or rows", access);
    if (!lp_cli_number(args, LP_CLI_ALIGN, 32, &align) ||
        !lp_cli_number(args, LP_CLI_RECORD_ROWS, UINT32_MAX, &rows) ||
        !lp_cli_number(args, LP_CLI_RECORD_ELEMENTS, UINT32_MAX, &elements) ||
        !lp_cli_number(args, LP_CLI_COLUMN_PERIOD, UINT32_MAX, &period) ||
        !lp_cli_number(args, LP_CLI_COLUMN_SPAN, INT64_MAX, &ret_params->column_span))
        return LP_CLI_USAGE;
    ret_params->codec = codec != NULL ? (uint32_t)lp_codec_id_by_name(codec) : LP_CODEC_AUTO;
    ret_params->layout = layout != NULL ? (uint32_t)lp_codec_layout_by_name(layout) : 0;
    ret_params->align_bytes = (uint32_t)align;
    if (access != NULL)
        ret_params->access = strcmp(access, "rows") == 0 ? LP_ACCESS_ROWS : LP_ACCESS_WHOLE;
    ret_params->record_rows = (uint32_t)rows;
    ret_params->record_elements = (uint32_t)elements;
    ret_params->column_period = (uint32_t)period;
    ret_params->ibp_exact = lp_cli_has(args, LP_CLI_IBP_EXACT);
    return LP_CLI_DONE;
}

const char *lp_cli_shape(const struct lp_geometry *geometry, char *text)
{
    int used = snprintf(text, LP_CLI_SHAPE_TEXT, "[");

    for (uint32_t i = 0; i < geometry->ndim; i++)
        used += snprintf(text + used, LP_CLI_SHAPE_TEXT - (size_t)used, "%s%" PRIu64,
                         i == 0 ? "" : ", ", geometry->dims[i]);
    (void)snprintf(text + used, LP_CLI_SHAPE_TEXT - (size_t)used, "]");
    return text;
}

json_t *lp_cli_shape_json(const struct lp_geometry *geometry)
{
    json_t *shape = json_array();

    for (uint32_t i = 0; i < geometry->ndim; i++)
        (void)json_array_append_new(shape, json_integer((json_int_t)geometry->dims[i]));
    return shape;
}
