/* SPDX-License-Identifier: Apache-2.0 */
/* What `lanepack analyze` found about one tensor, told in three ways: text, JSON, HTML. */
#ifndef LP_CLI_ANALYZE_H
#define LP_CLI_ANALYZE_H

#include "cli/cli.h"
#include "codec/analysis.h"
#include "codec/codec_ibp.h"
#include "codec/plan.h"

#include <stdio.h>

struct lp_cli_analysis {
    const char *name; /* borrowed, as everything here */
    const struct lp_geometry *geometry;
    const struct lp_analysis *found; /* NULL: elements of this dtype are not looked into */
    const struct lp_prices *prices;
    const struct lp_ibp_invariance *invariance; /* for words of 4 and 8 bytes ... */
    uint32_t n_invariance;                      /* ... as far as a record consists of them */
    const struct lp_table *chosen;              /* what `pack` would make of it, with its reason */
};

/* Share of the raw bytes that a codec's price saves, as payload, and the size that packing the
 * whole tensor would store by this sample: data, index and metadata. */
double lp_cli_price_saving(const struct lp_cli_analysis *analysis, const struct lp_price *price);
uint64_t lp_cli_price_stored(const struct lp_cli_analysis *analysis, const struct lp_price *price);

/* Sectors touched by rows read one by one, as a multiple of those of raw; -1: nobody asked. */
double lp_cli_price_moved(const struct lp_cli_analysis *analysis, const struct lp_price *price);

/* "lane", "ibp s=4": the codec of a price. text has LP_CLI_PRICE_TEXT bytes; returned. */
#define LP_CLI_PRICE_TEXT 16
const char *lp_cli_price_name(const struct lp_price *price, char *text);

/* Is this the price of what would be packed? */
bool lp_cli_price_is_chosen(const struct lp_cli_analysis *analysis, const struct lp_price *price);

/* All tensors that were analyzed, as they would be packed. */
struct lp_cli_analysis_sum {
    uint64_t tensors, logical_bytes, stored_bytes;
};
void lp_cli_analysis_add(struct lp_cli_analysis_sum *sum, const struct lp_cli_analysis *analysis);

/* The part of an element that bit b belongs to: 's' sign, 'e' exponent, 'm' mantissa, or 'b'. */
char lp_cli_bit_kind(const struct lp_analysis *found, uint32_t b);

/* As text, with the map of bits over columns when wide, else one line of it. */
void lp_cli_analysis_text(const struct lp_cli_analysis *analysis, bool wide);

/* Returns new. */
json_t *lp_cli_analysis_json(const struct lp_cli_analysis *analysis);

/* A self-contained page: begin, one section for each tensor, end. */
void lp_cli_analysis_html_begin(FILE *page, const char *title);
void lp_cli_analysis_html(FILE *page, const struct lp_cli_analysis *analysis);
void lp_cli_analysis_html_end(FILE *page, const struct lp_cli_analysis_sum *sum);

#endif
