/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bars.h"

#include "base/alloc.h"

#include <jansson.h>

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* A timing on a busy machine still shows the loss of a factor. */
#define LENIENCE 2.0

enum bar_verdict bars_verdict(double figure, double bound, enum bar_sense sense, enum bar_kind kind,
                              bool lenient)
{
    const double slack = kind == BAR_TIMING && lenient ? LENIENCE : 1;
    const bool reached = sense == BAR_AT_MOST ? figure <= bound * slack : figure >= bound / slack;

    return !isnan(figure) && reached ? BAR_PASSED : BAR_MISSED;
}

static struct bar *add(struct bars *bars, const char *what, va_list arguments)
{
    struct bar *bar;

    if (bars->n == bars->room) {
        struct bar *const grown =
            lp_mem_realloc_array(bars->bar, bars->room + 64, sizeof(*bars->bar));

        bars->broken = bars->broken || grown == NULL;
        if (grown == NULL)
            return NULL;
        bars->bar = grown;
        bars->room += 64;
    }
    bar = &bars->bar[bars->n++];
    memset(bar, 0, sizeof(*bar));
    (void)vsnprintf(bar->what, sizeof(bar->what), what, arguments);
    return bar;
}

void bars_add(struct bars *bars, enum bar_kind kind, double figure, enum bar_sense sense,
              double bound, const char *what, ...)
{
    va_list arguments;
    struct bar *bar;

    va_start(arguments, what);
    bar = add(bars, what, arguments);
    va_end(arguments);
    if (bar == NULL)
        return;
    bar->kind = kind;
    bar->figure = figure;
    bar->sense = sense;
    bar->bound = bound;
    bar->verdict = bars_verdict(figure, bound, sense, kind, bars->lenient);
}

void bars_waive(struct bars *bars, const char *why, const char *what, ...)
{
    va_list arguments;
    struct bar *bar;

    va_start(arguments, what);
    bar = add(bars, what, arguments);
    va_end(arguments);
    if (bar == NULL)
        return;
    bar->verdict = BAR_WAIVED;
    (void)snprintf(bar->why, sizeof(bar->why), "%s", why);
}

uint32_t bars_count(const struct bars *bars, enum bar_verdict verdict)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < bars->n; i++)
        n += bars->bar[i].verdict == verdict;
    return n;
}

bool bars_missed(const struct bars *bars)
{
    return bars->broken || bars_count(bars, BAR_MISSED) > 0;
}

const char *bars_verdict_name(enum bar_verdict verdict)
{
    static const char *const names[] = {"pass", "FAIL", "waived"};

    return names[verdict];
}

static const char *sense_name(enum bar_sense sense)
{
    return sense == BAR_AT_MOST ? "<=" : ">=";
}

void bars_print(const struct bars *bars, FILE *file)
{
    (void)fprintf(file, "%-7s %9s    %-8s %s\n", "verdict", "figure", "bar", "what");
    for (uint32_t i = 0; i < bars->n; i++) {
        const struct bar *const bar = &bars->bar[i];

        (void)fprintf(file, "%-7s ", bars_verdict_name(bar->verdict));
        if (bar->verdict == BAR_WAIVED)
            (void)fprintf(file, "%9s    %-8s %s: %s\n", "", "", bar->what, bar->why);
        else
            (void)fprintf(file, "%9.3f %s %-8.3f %s%s\n", bar->figure, sense_name(bar->sense),
                          bar->bound, bar->what,
                          bar->kind == BAR_TIMING && bars->lenient ? " (fails below half)" : "");
    }
    (void)fprintf(file, "bars: %u passed, %u failed, %u waived\n",
                  (unsigned)bars_count(bars, BAR_PASSED), (unsigned)bars_count(bars, BAR_MISSED),
                  (unsigned)bars_count(bars, BAR_WAIVED));
}

void bars_print_markdown(const struct bars *bars, FILE *file)
{
    (void)fprintf(file, "| what | figure | bar | verdict |\n|---|---:|---:|---|\n");
    for (uint32_t i = 0; i < bars->n; i++) {
        const struct bar *const bar = &bars->bar[i];

        if (bar->verdict == BAR_WAIVED)
            (void)fprintf(file, "| %s | | | waived: %s |\n", bar->what, bar->why);
        else
            (void)fprintf(file, "| %s | %.3f | %s %.2f | %s |\n", bar->what, bar->figure,
                          sense_name(bar->sense), bar->bound, bars_verdict_name(bar->verdict));
    }
}

json_t *bars_json(const struct bars *bars)
{
    json_t *const array = json_array();

    for (uint32_t i = 0; i < bars->n; i++) {
        const struct bar *const bar = &bars->bar[i];
        json_t *const object = json_pack("{s:s, s:s, s:s}", "what", bar->what, "kind",
                                         bar->kind == BAR_TIMING ? "timing" : "ratio", "verdict",
                                         bars_verdict_name(bar->verdict));

        if (bar->why[0] != '\0')
            (void)json_object_set_new(object, "why", json_string(bar->why));
        if (bar->verdict != BAR_WAIVED) {
            /* JSON has no NaN; such a bar says null. */
            (void)json_object_set_new(object, "figure",
                                      isfinite(bar->figure) ? json_real(bar->figure) : json_null());
            (void)json_object_set_new(object, "must_be", json_string(sense_name(bar->sense)));
            (void)json_object_set_new(object, "bound", json_real(bar->bound));
        }
        (void)json_array_append_new(array, object);
    }
    return array;
}

void bars_fini(struct bars *bars)
{
    lp_mem_free(bars->bar);
    bars->bar = NULL;
    bars->n = bars->room = 0;
}
