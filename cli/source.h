/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor files and packing parameters as the command line names them. */
#ifndef LP_CLI_SOURCE_H
#define LP_CLI_SOURCE_H

#include "cli/cli.h"
#include "codec/plan.h"
#include "store/load.h"

/* --as, --dtype, --shape, --offset. LP_CLI_USAGE after a mistake was printed. */
int lp_cli_read_source(const struct lp_cli_args *args, struct lp_load_options *ret_options);

/* --codec, --layout, --align, --record-rows, --record-elements, --column-period, --column-span,
 * --ibp-exact; likewise. */
int lp_cli_read_plan(const struct lp_cli_args *args, struct lp_plan_params *ret_params);

/* "[20941, 128]" into text, which has LP_CLI_SHAPE_TEXT bytes; returned. And as a JSON array. */
#define LP_CLI_SHAPE_TEXT 192
const char *lp_cli_shape(const struct lp_geometry *geometry, char *text);
json_t *lp_cli_shape_json(const struct lp_geometry *geometry);

#endif
