/* SPDX-License-Identifier: Apache-2.0 */
/* analyze as a page: no script, nothing fetched, readable in light and dark. */
#include "base/bytes.h"
#include "cli/analyze.h"
#include "cli/source.h"

#define SHADES 11u /* of the bit map, from never set to always set */
#define MAP_WIDTH 640u
#define MAP_LEFT 76u /* room for the rows' names */
#define ROW_HEIGHT 12u
#define HISTOGRAM_HEIGHT 120u
#define HISTOGRAM_VALUES_MAX 64u

static void put_text(FILE *page, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            (void)fputs("&lt;", page);
            break;
        case '>':
            (void)fputs("&gt;", page);
            break;
        case '&':
            (void)fputs("&amp;", page);
            break;
        case '"':
            (void)fputs("&quot;", page);
            break;
        default:
            (void)fputc(*text, page);
        }
    }
}

void lp_cli_analysis_html_begin(FILE *page, const char *title)
{
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
                page);
    put_text(page, title);
    (void)fputs(
        "</title>\n<style>\n"
        ":root{color-scheme:light dark;--ink:#1c2126;--soft:#5d6873;--rule:#d7dde3;--paper:#fff;"
        "--bar:#2f6fb3;--best:#b3502f;--zero:47,111,179;--one:179,80,47}\n"
        "@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa5b0;--rule:#3a434c;"
        "--paper:#171b1f;--bar:#6aa5e0;--best:#e08a6a;--zero:106,165,224;--one:224,138,106}}\n"
        "body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
        "margin:2rem auto;max-width:60rem;padding:0 1rem}\n"
        "section{border-top:1px solid var(--rule);margin-top:2rem}\n"
        "p,figcaption,.soft{color:var(--soft)}\n"
        "table{border-collapse:collapse}\ntd,th{padding:.2rem .8rem .2rem 0;text-align:left}\n"
        "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\n"
        "tr.chosen{font-weight:600}\nfigure{margin:1rem 0}\n"
        "svg{display:block;max-width:100%;height:auto}\n"
        "svg text{fill:var(--soft);font:10px system-ui,sans-serif}\n"
        ".bar{fill:var(--bar)}\n.chosen .bar{fill:var(--best)}\n",
        page);
    for (uint32_t s = 0; s < SHADES; s++) {
        const double away = 2.0 * s / (SHADES - 1) - 1; /* -1 never set .. 1 always set */

        (void)fprintf(page, ".s%u{fill:rgba(var(--%s),%.2f)}\n", s, away < 0 ? "zero" : "one",
                      away < 0 ? -away : away);
    }
    (void)fputs("</style>\n</head>\n<body>\n<h1>", page);
    put_text(page, title);
    (void)fputs("</h1>\n", page);
}

void lp_cli_analysis_html_end(FILE *page, const struct lp_cli_analysis_sum *sum)
{
    char logical[LP_CLI_BYTES_TEXT], stored[LP_CLI_BYTES_TEXT];

    (void)fprintf(page,
                  "<section>\n<h2>In all</h2>\n<p>%llu tensors, %s, stored in about %s: %.2f %% "
                  "saved.</p>\n</section>\n",
                  (unsigned long long)sum->tensors, lp_cli_bytes(sum->logical_bytes, logical),
                  lp_cli_bytes(sum->stored_bytes, stored),
                  lp_cli_saving(sum->logical_bytes, sum->stored_bytes));
    (void)fputs("</body>\n</html>\n", page);
}

static void put_entropy(FILE *page, const char *label, const struct lp_analysis_entropy *entropy)
{
    if (entropy->bits >= 0)
        (void)fprintf(page,
                      "<tr><td>%s</td><td class=\"n\">%.3f bits</td><td class=\"n\">%.2f %%</td>"
                      "</tr>\n",
                      label, entropy->bits, 100 * entropy->saving);
}

static void put_bounds(FILE *page, const struct lp_analysis *found)
{
    char label[64];

    if (found->field_bits == 0)
        return;
    (void)fprintf(page,
                  "<h3>Bounds</h3>\n<table>\n<tr><th>order-0 entropy of the %s</th>"
                  "<th class=\"n\">per element</th><th class=\"n\">saved at best</th></tr>\n",
                  found->element_bits == 8 && found->field_bits == 8 ? "byte" : "exponent");
    put_entropy(page, "whole tensor", &found->whole);
    (void)snprintf(label, sizeof(label), "in each of %llu columns",
                   (unsigned long long)found->columns);
    put_entropy(page, label, &found->by_column);
    put_entropy(page, "in blocks of 4,096 elements", &found->by_block);
    (void)fputs("</table>\n", page);
}

static void put_prices(FILE *page, const struct lp_cli_analysis *analysis)
{
    char name[LP_CLI_PRICE_TEXT], stored[LP_CLI_BYTES_TEXT];

    (void)fputs("<h3>Codecs</h3>\n<table>\n<tr><th>codec</th><th class=\"n\">saved</th><th></th>"
                "<th class=\"n\">stored</th><th></th></tr>\n",
                page);
    for (uint32_t i = 0; i < analysis->prices->n; i++) {
        const struct lp_price *const price = &analysis->prices->price[i];
        const double saving = price->possible ? lp_cli_price_saving(analysis, price) : 0;

        (void)fprintf(page, "<tr%s><td>%s</td>",
                      lp_cli_price_is_chosen(analysis, price) ? " class=\"chosen\"" : "",
                      lp_cli_price_name(price, name));
        if (price->possible)
            (void)fprintf(page,
                          "<td class=\"n\">%.2f %%</td><td><svg width=\"160\" height=\"10\">"
                          "<rect class=\"bar\" width=\"%.1f\" height=\"10\"/></svg></td>"
                          "<td class=\"n\">%s</td><td class=\"soft\">",
                          100 * saving, saving > 0 ? 160 * saving : 0,
                          lp_cli_bytes(lp_cli_price_stored(analysis, price), stored));
        else
            (void)fputs("<td class=\"n\">-</td><td></td><td></td><td class=\"soft\">", page);
        put_text(page, price->note);
        (void)fputs("</td></tr>\n", page);
    }
    (void)fputs("</table>\n<p>", page);
    put_text(page, analysis->chosen->reason);
    (void)fputs("</p>\n", page);
}

/* The values from the first to the last that occur; the rare ends are cut where there are many. */
static void put_distribution(FILE *page, const struct lp_analysis *found)
{
    const uint32_t n_values = found->field_bits > 0 ? 1u << found->field_bits : 0;
    uint32_t low = n_values, high = 0;
    uint64_t most = 1, least = 1;

    for (uint32_t v = 0; v < n_values; v++)
        most = LP_MAX(most, found->field_count[v]);
    do {
        low = n_values;
        for (uint32_t v = 0; v < n_values; v++) {
            if (found->field_count[v] < least)
                continue;
            low = LP_MIN(low, v);
            high = v;
        }
        least *= 2;
    } while (low < n_values && high - low >= HISTOGRAM_VALUES_MAX);
    if (low >= n_values)
        return;
    (void)fprintf(
        page, "<figure>\n<svg width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\">\n",
        MAP_WIDTH + MAP_LEFT, HISTOGRAM_HEIGHT + 16, MAP_WIDTH + MAP_LEFT, HISTOGRAM_HEIGHT + 16);
    const double pitch = LP_MIN((double)MAP_WIDTH / (high - low + 1), 24.0);
    const uint32_t every = 1 + (high - low) / 24;

    for (uint32_t v = low; v <= high; v++) {
        const double height =
            (double)HISTOGRAM_HEIGHT * (double)found->field_count[v] / (double)most;
        const double x = MAP_LEFT + pitch * (v - low);

        (void)fprintf(page,
                      "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                      "<title>%u: %.3f %%</title></rect>\n",
                      x, HISTOGRAM_HEIGHT - height, pitch - 1, height, v,
                      100.0 * (double)found->field_count[v] / (double)found->n_elements);
        if ((v - low) % every == 0)
            (void)fprintf(page, "<text x=\"%.1f\" y=\"%u\">%u</text>\n", x, HISTOGRAM_HEIGHT + 12,
                          v);
    }
    (void)fputs("</svg>\n<figcaption>How often each value of the field occurs, as codec lane sees "
                "it.</figcaption>\n</figure>\n",
                page);
}

static uint32_t shade_of(const struct lp_analysis *found, uint32_t bin, uint32_t b)
{
    const uint64_t n = found->bin_elements[bin], ones = found->ones[bin][b];

    /* The ends are for bits that never change; what nearly never changes is next to them. */
    if (n == 0 || ones == 0)
        return 0;
    if (ones == n)
        return SHADES - 1;
    return 1 + (uint32_t)((double)(SHADES - 2) * (double)ones / ((double)n + 1));
}

/* One row of the map; neighbours of one shade are one rectangle. */
static void put_map_row(FILE *page, const struct lp_analysis *found, uint32_t b, uint32_t y)
{
    const double pitch = (double)MAP_WIDTH / found->n_bins;

    (void)fprintf(page, "<text x=\"0\" y=\"%u\">%u %s</text>\n", y + ROW_HEIGHT - 2, b,
                  lp_cli_bit_kind(found, b) == 's'   ? "sign"
                  : lp_cli_bit_kind(found, b) == 'e' ? "exponent"
                  : lp_cli_bit_kind(found, b) == 'm' ? "mantissa"
                                                     : "");
    for (uint32_t i = 0; i < found->n_bins;) {
        const uint32_t shade = shade_of(found, i, b);
        uint32_t end = i + 1;

        while (end < found->n_bins && shade_of(found, end, b) == shade)
            end++;
        (void)fprintf(page,
                      "<rect class=\"s%u\" x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%u\"/>\n",
                      shade, MAP_LEFT + pitch * i, y, pitch * (end - i), ROW_HEIGHT - 1);
        i = end;
    }
}

static void put_map(FILE *page, const struct lp_analysis *found)
{
    const uint32_t height = found->element_bits * ROW_HEIGHT;

    (void)fprintf(page,
                  "<figure>\n<svg width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\">\n",
                  MAP_WIDTH + MAP_LEFT, height, MAP_WIDTH + MAP_LEFT, height);
    for (uint32_t b = found->element_bits; b-- > 0;)
        put_map_row(page, found, b, (found->element_bits - 1 - b) * ROW_HEIGHT);
    (void)fprintf(page,
                  "</svg>\n<figcaption>Bits of an element, the highest on top, over %s: blue bits "
                  "are nearly never set, red ones nearly always; pale ones are noise."
                  "</figcaption>\n</figure>\n",
                  found->n_bins > 1 ? "the columns of the last dimension" : "all elements");
}

/* One row for each threshold: how much is invariant, and where in a word. */
static void put_invariance_rows(FILE *page, const struct lp_ibp_invariance *table)
{
    const uint32_t bits = 8 * table->word_bytes;
    const double pitch = 320.0 / bits;

    for (uint32_t r = 0; r < LP_IBP_INVARIANCE_ROWS; r++) {
        (void)fprintf(page,
                      "<tr><td>%u bytes</td><td class=\"n\">%.2f</td><td class=\"n\">%.1f %%</td>"
                      "<td class=\"n\">%.1f %%</td><td><svg width=\"320\" height=\"%u\">\n",
                      table->word_bytes, (double)table->row[r].threshold,
                      100 * table->row[r].masked_share, 100 * table->row[r].saved_share,
                      ROW_HEIGHT);
        for (uint32_t b = bits; b-- > 0;)
            if (table->row[r].bit_share[b] > 0)
                (void)fprintf(page,
                              "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                              "height=\"%.1f\"/>\n",
                              pitch * (bits - 1 - b), ROW_HEIGHT * (1 - table->row[r].bit_share[b]),
                              pitch - 0.5, ROW_HEIGHT * table->row[r].bit_share[b]);
        (void)fputs("</svg></td></tr>\n", page);
    }
}

static void put_invariance(FILE *page, const struct lp_cli_analysis *analysis)
{
    if (analysis->n_invariance == 0)
        return;
    (void)fputs("<h3>Invariant bits</h3>\n<p>Bits of a word that have one value in more than a "
                "share T of the records, the highest bit left; bars tell in how many positions of "
                "a record.</p>\n<table>\n<tr><th>word</th><th class=\"n\">T</th><th class=\"n\">"
                "masked</th><th class=\"n\">saved by ibp</th><th></th></tr>\n",
                page);
    for (uint32_t t = 0; t < analysis->n_invariance; t++)
        put_invariance_rows(page, &analysis->invariance[t]);
    (void)fputs("</table>\n", page);
}

void lp_cli_analysis_html(FILE *page, const struct lp_cli_analysis *analysis)
{
    char shape[LP_CLI_SHAPE_TEXT], bytes[LP_CLI_BYTES_TEXT], looked[LP_CLI_BYTES_TEXT];
    const struct lp_analysis *const found = analysis->found;

    (void)fputs("<section>\n<h2>", page);
    put_text(page, analysis->name);
    (void)fprintf(page, "</h2>\n<p>%s %s, %s; looked at %s.",
                  lp_codec_dtype_info(analysis->geometry->dtype)->name,
                  lp_cli_shape(analysis->geometry, shape),
                  lp_cli_bytes(analysis->geometry->logical_bytes, bytes),
                  lp_cli_bytes(analysis->prices->sample_bytes, looked));
    if (found != NULL && found->n_elements > 0)
        (void)fprintf(page, " %.2f %% zero.",
                      100.0 * (double)found->zeros / (double)found->n_elements);
    if (found != NULL && found->element_entropy >= 0)
        (void)fprintf(page, " %llu distinct values.", (unsigned long long)found->distinct);
    (void)fputs("</p>\n", page);
    if (found != NULL)
        put_bounds(page, found);
    put_prices(page, analysis);
    if (found != NULL) {
        (void)fputs("<h3>Where the bits are</h3>\n", page);
        put_distribution(page, found);
        put_map(page, found);
    }
    put_invariance(page, analysis);
    (void)fputs("</section>\n", page);
}
