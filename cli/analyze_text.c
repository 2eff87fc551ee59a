/* SPDX-License-Identifier: Apache-2.0 */
/* analyze for people at a terminal. */
#include "base/bytes.h"
#include "cli/analyze.h"
#include "cli/source.h"

#include <string.h>

#define BARS_MAX 12u    /* lines of the distribution; the rest is summed up */
#define BAR_COLUMNS 40u /* of the longest bar */

/* Share of ones as a sign: what is never or always set, tenths, and what a coin would do. */
static char shade(uint64_t ones, uint64_t n)
{
    static const char shades[] = "0123456789";
    const double share = n > 0 ? (double)ones / (double)n : 0;

    if (ones == 0)
        return '.';
    if (ones == n)
        return '#';
    if (share > 0.45 && share < 0.55)
        return '-';
    return shades[LP_MIN((uint32_t)(10 * share), 9)];
}

static void tell_entropy(const char *label, const struct lp_analysis_entropy *entropy)
{
    if (entropy->bits >= 0)
        (void)printf("  %-22s %6.3f bits, %5.1f %% saved at best\n", label, entropy->bits,
                     100 * entropy->saving);
}

static void tell_bounds(const struct lp_analysis *found)
{
    char label[40];

    if (found->field_bits == 0)
        return;
    tell_entropy(found->field_bits == 8 && found->element_bits == 8 ? "bytes" : "exponents",
                 &found->whole);
    (void)snprintf(label, sizeof(label), "  by column (%llu)", (unsigned long long)found->columns);
    tell_entropy(label, &found->by_column);
    tell_entropy("  by 4,096 elements", &found->by_block);
}

static void tell_elements(const struct lp_analysis *found)
{
    (void)printf("  %-22s %.2f %% zero", "elements",
                 100.0 * (double)found->zeros / (double)LP_MAX(found->n_elements, UINT64_C(1)));
    if (found->element_entropy >= 0)
        (void)printf(", %llu distinct, %.2f bits of entropy", (unsigned long long)found->distinct,
                     found->element_entropy);
    (void)putchar('\n');
}

/* "  108.3 %", where that was asked for. */
#define MOVED_TEXT 16
static const char *moved_text(const struct lp_cli_analysis *analysis, const struct lp_price *price,
                              char *text)
{
    const double moved = lp_cli_price_moved(analysis, price);

    text[0] = '\0';
    if (moved >= 0)
        (void)snprintf(text, MOVED_TEXT, "  %7.1f %%", 100 * LP_MIN(moved, 1e6));
    return text;
}

static void tell_prices(const struct lp_cli_analysis *analysis)
{
    char name[LP_CLI_PRICE_TEXT], stored[LP_CLI_BYTES_TEXT], moved[MOVED_TEXT];

    (void)printf("  %-12s %7s %12s%s\n", "codec", "saved", "stored",
                 analysis->prices->by_rows ? "  rows move" : "");
    for (uint32_t i = 0; i < analysis->prices->n; i++) {
        const struct lp_price *const price = &analysis->prices->price[i];

        (void)printf("%c %-12s ", lp_cli_price_is_chosen(analysis, price) ? '*' : ' ',
                     lp_cli_price_name(price, name));
        if (price->possible)
            (void)printf(" %5.1f %% %12s%s%s%s\n", 100 * lp_cli_price_saving(analysis, price),
                         lp_cli_bytes(lp_cli_price_stored(analysis, price), stored),
                         moved_text(analysis, price, moved), price->note[0] != '\0' ? "  " : "",
                         price->note);
        else
            (void)printf("      -  %s\n", price->note);
    }
    (void)printf("  %s\n", analysis->chosen->reason);
}

/* The most frequent values of the field, in their own order. */
static void tell_distribution(const struct lp_analysis *found)
{
    const uint32_t n_values = 1u << found->field_bits;
    uint64_t least = 1, most = 0, left = found->n_elements;
    uint32_t shown = UINT32_MAX;

    if (found->field_bits == 0 || found->n_elements == 0)
        return;
    while (shown > BARS_MAX) { /* the threshold that leaves few enough */
        shown = 0;
        for (uint32_t v = 0; v < n_values; v++)
            shown += found->field_count[v] >= least;
        least += shown > BARS_MAX ? LP_MAX(least / 16, UINT64_C(1)) : 0;
    }
    for (uint32_t v = 0; v < n_values; v++)
        most = LP_MAX(most, found->field_count[v]);
    for (uint32_t v = 0; v < n_values; v++) {
        const uint64_t count = found->field_count[v];
        const int bar = (int)(BAR_COLUMNS * count / most);

        if (count < least)
            continue;
        left -= count;
        (void)printf("  %6u %5.1f %%%s%.*s\n", v, 100.0 * (double)count / (double)found->n_elements,
                     bar > 0 ? " " : "", bar, "########################################");
    }
    if (left > 0)
        (void)printf("  %6s %5.1f %%\n", "others",
                     100.0 * (double)left / (double)found->n_elements);
}

/* One line for all columns, from the highest bit down, with the parts of the element under it. */
static void tell_bits(const struct lp_analysis *found)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < found->n_bins; i++)
        n += found->bin_elements[i];
    (void)printf("  ones by bit, in tenths (. never, # always, - half), from the highest:\n  ");
    for (uint32_t b = found->element_bits; b-- > 0;) {
        uint64_t ones = 0;

        for (uint32_t i = 0; i < found->n_bins; i++)
            ones += found->ones[i][b];
        (void)putchar(shade(ones, n));
    }
    (void)printf("\n  ");
    for (uint32_t b = found->element_bits; b-- > 0;)
        (void)putchar(lp_cli_bit_kind(found, b));
    (void)putchar('\n');
}

static void tell_map(const struct lp_analysis *found)
{
    if (found->n_bins < 2)
        return;
    (void)printf("  the same by column, %llu of them in a sign:\n",
                 (unsigned long long)found->bin_columns);
    for (uint32_t b = found->element_bits; b-- > 0;) {
        (void)printf("  %2u %c ", b, lp_cli_bit_kind(found, b));
        for (uint32_t i = 0; i < found->n_bins; i++)
            (void)putchar(shade(found->ones[i][b], found->bin_elements[i]));
        (void)putchar('\n');
    }
}

/* Bits that have one value in more than a share T of the records: of all bits, and what codec ibp
 * saves by leaving them out. */
static void tell_invariance(const struct lp_cli_analysis *analysis)
{
    if (analysis->n_invariance == 0)
        return;
    (void)printf("  %-22s", "invariant bits at T =");
    for (uint32_t r = 0; r < LP_IBP_INVARIANCE_ROWS; r++)
        (void)printf("%9.2f", (double)analysis->invariance[0].row[r].threshold);
    (void)putchar('\n');
    for (uint32_t t = 0; t < analysis->n_invariance; t++) {
        const struct lp_ibp_invariance *const table = &analysis->invariance[t];

        (void)printf("    %u-byte words, saved ", table->word_bytes);
        for (uint32_t r = 0; r < LP_IBP_INVARIANCE_ROWS; r++)
            (void)printf("%7.1f %%", 100 * table->row[r].saved_share);
        (void)printf("\n    %-20s", "  masked");
        for (uint32_t r = 0; r < LP_IBP_INVARIANCE_ROWS; r++)
            (void)printf("%7.1f %%", 100 * table->row[r].masked_share);
        (void)putchar('\n');
    }
}

void lp_cli_analysis_text(const struct lp_cli_analysis *analysis, bool wide)
{
    char shape[LP_CLI_SHAPE_TEXT], bytes[LP_CLI_BYTES_TEXT], looked[LP_CLI_BYTES_TEXT];
    const struct lp_geometry *const geometry = analysis->geometry;

    (void)printf("%s: %s %s, %s; looked at %s\n", analysis->name,
                 lp_codec_dtype_info(geometry->dtype)->name, lp_cli_shape(geometry, shape),
                 lp_cli_bytes(geometry->logical_bytes, bytes),
                 lp_cli_bytes(analysis->prices->sample_bytes, looked));
    if (analysis->found != NULL) {
        tell_bounds(analysis->found);
        tell_elements(analysis->found);
    }
    tell_prices(analysis);
    tell_invariance(analysis);
    if (analysis->found != NULL) {
        if (wide)
            tell_distribution(analysis->found);
        tell_bits(analysis->found);
        if (wide)
            tell_map(analysis->found);
    }
}
